package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/internal/layout"
	"clearance/tests/need"
)

const (
	glslFile   = "../../shaders/layout.glsl"
	pythonFile = "../../python/src/clearance/_shapes.py"
	cFile      = "../../kernels/shape/layout.h"
	nativeFile = "../../python/src/clearance/_abi.py"
	headerFile = "../libclearance/clearance.h"

	shaderFolder = "../../shaders"
	kernelFolder = "../../kernels"
)

// The committed files are what the generator writes, byte for byte.
func TestCommittedFilesAreFresh(t *testing.T) {
	dir := t.TempDir()
	glsl, c := filepath.Join(dir, "sub", "layout.glsl"), filepath.Join(dir, "layout.h")
	python, native := filepath.Join(dir, "_shapes.py"), filepath.Join(dir, "_abi.py")
	var stderr bytes.Buffer
	args := []string{"-glsl", glsl, "-shaders", shaderFolder, "-c", c, "-kernels", kernelFolder, "-python", python,
		"-header", headerFile, "-native", native}
	if code := run(args, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	deriveGLSL, deriveC := filepath.Join(dir, "derive.glsl"), filepath.Join(dir, "derive.h")
	args = []string{"-constants", "../../derive", "-glsl", deriveGLSL, "-shaders", shaderFolder, "-c", deriveC,
		"-kernels", "../../kernels/derive"}
	if code := run(args, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	contactC := filepath.Join(dir, "contact.h")
	args = []string{"-constants", "../../contact,../../contact/internal/proximal,../../kernels/contact,../../geom",
		"-c", contactC, "-kernels", "../../kernels/contact"}
	if code := run(args, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	for _, f := range [][2]string{{glsl, glslFile}, {c, cFile}, {python, pythonFile}, {native, nativeFile},
		{deriveGLSL, "../../shaders/derive_constants.glsl"}, {deriveC, "../../kernels/derive/include/constants.h"},
		{contactC, "../../kernels/contact/include/constants.h"}} {
		want, err := os.ReadFile(f[0])
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(f[1])
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is stale, run 'make generate'", f[1])
		}
	}
}

// The header compiles, and has the codes of package batch.
func TestHeaderCompiles(t *testing.T) {
	cc := need.CC(t)
	text, err := generateC(header{groups: layout.CConstants()})
	if err != nil {
		t.Fatal(err)
	}
	compile := func(epa batch.Solver) ([]byte, error) {
		file := filepath.Join(t.TempDir(), "layout_check.c")
		check := fmt.Appendf(bytes.Clone(text), "_Static_assert(CLR_SOLVER_EPA == %d, \"batch.SolverEPA\");\n", epa)
		if err := os.WriteFile(file, check, 0o644); err != nil {
			t.Fatal(err)
		}
		return exec.Command(cc, "-std=c11", "-Wall", "-Werror", "-fsyntax-only", file).CombinedOutput()
	}
	if out, err := compile(batch.SolverEPA); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := compile(batch.SolverEPA + 1); err == nil {
		t.Error("a wrong code compiles")
	}
}

func TestGLSL(t *testing.T) {
	text, err := generateGLSL(header{layout.GLSLConstants(), layout.Records()})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"const uint KIND_SPHERE = 0u;", "const uint KIND_HALFSPACE = 11u;", "const uint STATUS_INVALID = 4u;",
		"const uint FRUSTUM_HALF_LENGTH = 2u;", "const uint MAX_VERTICES = 65535u;", "const uint SOLVER_EPA = 7u;",
		"struct ShapeRecord {\n    float params[8]; // offset 0\n    vec4 ball; // offset 32\n",
		"    float translation_low[3]; // offset 32\n    uint shape_b; // offset 44\n};",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the include lacks %q", want)
		}
	}
}

// A declaration that the generator cannot read is an error, never left out.
func TestInterfaceWithoutPlace(t *testing.T) {
	const head = "#define CLEARANCE_ABI 1\ntypedef enum {\n    CLEARANCE_OK = 0,\n} clearance_code;\n"
	for text, want := range map[string]string{
		"": "lacks CLEARANCE_ABI", head + "typedef struct {\n    float a;\n} clearance_a;": "float",
		head + "typedef struct {\n    double a[2][2];\n} clearance_a;": "no field",
		head + "int32_t clearance_f(double *a, clearance_thing *b);":   "clearance_thing",
		head + "int32_t clearance_f(double a[3]);":                     "no argument",
		head + "typedef struct {\n    double **a;\n} clearance_a;":     "no type",
	} {
		if _, err := generateInterface([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	declared, err := os.ReadFile(headerFile)
	if err != nil {
		t.Fatal(err)
	}
	text, err := generateInterface(declared)
	if err != nil {
		t.Fatal(err)
	}
	// Every function and every struct of the header, by a plain count of its lines.
	functions := regexp.MustCompile(`(?m)^(int32_t|int64_t) clearance_`).FindAll(declared, -1)
	structs := regexp.MustCompile(`(?m)^typedef struct`).FindAll(declared, -1)
	if got := bytes.Count(text, []byte("\": (_i")); got != len(functions) {
		t.Errorf("%d functions, the header has %d", got, len(functions))
	}
	if got := bytes.Count(text, []byte("(ctypes.Structure):")); got != len(structs) {
		t.Errorf("%d structs, the header has %d", got, len(structs))
	}
}

func TestTypesWithoutPlace(t *testing.T) {
	for _, typ := range []reflect.Type{reflect.TypeFor[int64](), reflect.TypeFor[[2]int](),
		reflect.TypeFor[[]float32]()} {
		if _, _, err := glslType(typ); err == nil {
			t.Errorf("%v has a GLSL type", typ)
		}
	}
}

// A file for given sources declares what they name and nothing else: what they say in comments, or
// in a generated file, does not count.
func TestOnlyWhatIsNamed(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.comp":             "uint x = KIND_BOX; // KIND_CONE\nPoseRecord p;",
		"testdata/b.glsl":    "/* KIND_SPHERE\n*/ if (status == STATUS_INVALID) QueryRecord2();",
		"notes.txt":          "KIND_CAPSULE",
		"layout.glsl":        notice + "KIND_ELLIPSOID",
		"kernels/k.h":        "int a = CLR_SOLVER_EPA + KIND_BOX;",
		"kernels/readme.txt": "CLR_SOLVER_RTR",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	glsl, c := filepath.Join(dir, "layout.glsl"), filepath.Join(dir, "layout.h")
	var stderr bytes.Buffer
	args := []string{"-glsl", glsl, "-shaders", dir, "-c", c, "-kernels", filepath.Join(dir, "kernels")}
	if code := run(args, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	for path, want := range map[string][]string{
		glsl: {"const uint KIND_BOX", "const uint STATUS_INVALID", "#define STORED_DOUBLE", "#define STORED_DOUBLE",
			"struct PoseRecord"},
		c: {"#define CLR_SOLVER_EPA"},
	} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var declared []string
		for line := range strings.Lines(string(text)) {
			if m := declaration.FindString(line); m != "" && !strings.Contains(m, "CLEARANCE_LAYOUT") {
				declared = append(declared, m)
			}
		}
		if !slices.Equal(declared, want) {
			t.Errorf("%s declares %q, want %q", filepath.Base(path), declared, want)
		}
	}
	if code := run([]string{"-glsl", glsl, "-shaders", filepath.Join(dir, "nowhere")}, &stderr); code != 1 {
		t.Errorf("a folder that is not there: exit code %d", code)
	}
}

// The numbers of a package are written as its source has them, with the value of their expressions; constants with a
// type, those of other packages and those that no source names are not.
func TestConstantsOfPackage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shares")
	for name, text := range map[string]string{
		"a.go": "package shares\n\nimport \"math\"\n\nconst (\n\tleastShare = 10 * tiny\n\tmost = 3\n" +
			"\thalf = 1 / 2.\n\tother = 7\n\tcode uint8 = 1\n\tpi = math.Pi\n)\n",
		"b.go":      "package shares\n\nconst tiny = 1e-9\n",
		"c.comp":    "LEAST_SHARE * TINY - HALF; CODE; PI; MIN_SIZE; // OTHER",
		"d/e.h":     "int x = MOST; double y = LEAST_SHARE + TINY;",
		"a_test.go": "package shares\n\nconst (\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out := t.TempDir()
	glsl, c := filepath.Join(out, "g"), filepath.Join(out, "c")
	var stderr bytes.Buffer
	args := []string{"-constants", dir, "-glsl", glsl, "-shaders", dir, "-c", c, "-kernels", filepath.Join(dir, "d")}
	if code := run(args, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	for path, want := range map[string]string{
		glsl: "const double LEAST_SHARE = 1e-8lf;\nconst double HALF = 0.5lf;\nconst double TINY = 1e-9lf;\n" +
			"const double MIN_SIZE = 1e-9lf;\n\n#endif\n",
		c: "#define LEAST_SHARE 1e-8\n#define MOST 3\n#define TINY 1e-9\n\n#endif\n",
	} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, got, _ := strings.Cut(string(text), "\n\n#ifndef"); !strings.HasSuffix(got, want) ||
			strings.Count(got, "\n") != strings.Count(want, "\n")+3 {
			t.Errorf("%s, want at the end\n%s", text, want)
		}
	}
	other := t.TempDir() // one number is the same, one is not
	for name, most := range map[string]int{"same": 3, "other": 4} {
		path := filepath.Join(other, name, "a.go")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, fmt.Appendf(nil, "package a\n\nconst most = %d\n", most), 0o644); err != nil {
			t.Fatal(err)
		}
		stderr.Reset()
		args := []string{"-constants", dir + "," + filepath.Dir(path), "-c", c, "-kernels", filepath.Join(dir, "d")}
		if code := run(args, &stderr); (code == 0) != (most == 3) || most != 3 && !strings.Contains(stderr.String(),
			"MOST is 3 and 4") {
			t.Errorf("%s: exit code %d, %s", name, code, &stderr)
		}
	}
	for _, folder := range []string{filepath.Join(dir, "d"), filepath.Join(dir, "nowhere")} {
		if code := run([]string{"-constants", folder, "-c", c, "-kernels", dir}, &stderr); code != 1 {
			t.Errorf("%s: exit code %d", folder, code)
		}
	}
}

var declaration = regexp.MustCompile(`^(const uint|struct|#define) \w+`)

func TestUsage(t *testing.T) {
	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{nil, 2, "name a file"},
		{[]string{"-c", "x.h", "more"}, 2, "name a file"},
		{[]string{"-rust", "x"}, 2, "not defined"},
		{[]string{"-c", filepath.Join(blocked, "layout.h")}, 1, "file"},
	} {
		var stderr bytes.Buffer
		if code := run(c.args, &stderr); code != c.code || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%v: exit code %d, %q; want %d, %q", c.args, code, &stderr, c.code, c.want)
		}
	}
}
