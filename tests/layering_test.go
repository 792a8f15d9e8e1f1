package tests

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "clearance"

// anything, in the table of layers, allows every package of the module.
const anything = "*"

// layers is the table of ARCHITECTURE.md: the packages of the module that each
// package may import. A package without a line here is an error, so that a new one
// gets its place on purpose. "." is the root package.
var layers = map[string][]string{
	".":              {"geom", "batch", "derive", "dispatch", "engine", "cpu", "rollout", "rollout/sweep"},
	"geom":           {"geom/hull", "geom/mesh"},
	"geom/hull":      {"internal/poll"},
	"geom/mesh":      {"geom/hull", "internal/poll"},
	"ref":            {"geom"},
	"geom/cells":     {},
	"derive":         {"geom", "geom/hull", "batch", "ref", "kernels", "kernels/derive", "internal/fault"},
	"batch":          {"geom"},
	"internal/score": {"batch", "contact", "dataset", "dispatch", "verify"},
	"internal/audit": {"batch", "cpu", "dataset", "derive", "dispatch", "geom", "internal/fault", "internal/memory",
		"internal/score", "ref", "rollout", "rollout/sweep", "verify"},
	"dataset/stream":   {"batch", "dataset", "dispatch"},
	"internal/console": {"dataset/output", "dispatch", "internal/memory"},
	"internal/memory":  {},
	"internal/poll":    {},
	"internal/fault":   {"internal/meter"},
	"internal/meter":   {},
	"internal/layout":  {"batch", "geom", "geom/cells", "internal/fault"},
	"internal/testkit": {"geom"},
	// for viewers
	"internal/scenefile":  {},
	"internal/rowtrace":   {"batch", "cpu", "internal/scenefile", "ref"},
	"internal/tessellate": {"geom", "geom/hull"},
	"internal/camera":     {},
	"internal/picture": {"geom", "internal/camera", "internal/fault", "internal/scenefile",
		"internal/tessellate"},
	"internal/view": {".", "batch", "contact", "dataset", "geom", "internal/camera", "internal/rowtrace",
		"internal/scenefile", "internal/score", "internal/tessellate", "rollout", "rollout/sweep"},
	// below the C interface
	"internal/kinematics": {},
	// for tests alone
	"internal/testkit/arm":      {"batch", "geom", "internal/testkit"},
	"internal/testkit/rowcheck": {"batch", "geom", "internal/testkit", "verify"},
	"shaders":                   {},
	"engine": {"batch", "geom", "internal/fault", "internal/layout", "shaders",
		"engine/internal/vk"},
	"engine/internal/vk": {},
	"cpu":                {"batch", "geom", "internal/fault", "internal/memory", "ref", "kernels"},
	"kernels": {"batch", "geom", "geom/hull", "kernels/boxes", "kernels/contact/variant", "kernels/derive/variant",
		"kernels/growth/variant", "kernels/hullcells", "kernels/pairs/variant", "kernels/shape"},
	"kernels/hullcells": {"geom/cells"},
	// so that no change in Go compiles the kernels anew
	"kernels/isa":            {},
	"kernels/shape":          {},
	"kernels/pairs":          {},
	"kernels/growth":         {},
	"kernels/boxes":          {"kernels/isa"},
	"kernels/pairs/variant":  {"kernels/isa", "kernels/pairs", "kernels/shape"},
	"kernels/growth/variant": {"kernels/growth", "kernels/isa", "kernels/pairs", "kernels/shape"},

	"dispatch": {"batch", "internal/fault"},
	"rollout": {"batch", "dispatch", "geom", "internal/fault", "internal/memory", "kernels",
		"rollout/broadphase", "rollout/sweep"},
	"contact": {"batch", "kernels", "kernels/contact", "contact/internal/proximal", "geom", "geom/hull",
		"internal/fault",
		"internal/memory"},
	"contact/internal/modes":    {"batch", "contact"},
	"contact/internal/proximal": {},
	"contact/adjoint": {"batch", "contact", "contact/internal/modes", "derive", "geom", "internal/fault",
		"internal/memory"},
	"kernels/derive":          {"batch", "kernels"},
	"kernels/derive/variant":  {"kernels/derive/include", "kernels/isa", "kernels/shape"},
	"kernels/derive/include":  {},
	"kernels/contact":         {"kernels"},
	"kernels/contact/variant": {"kernels/contact/include", "kernels/isa", "kernels/shape"},
	"kernels/contact/include": {},
	"contact/system": {"contact", "contact/adjoint", "contact/internal/modes", "contact/internal/proximal",
		"internal/fault"},
	"contact/scenes": {"batch", "contact", "geom", "internal/memory"},
	"verify": {"geom", "batch", "contact", "contact/system", "internal/fault", "internal/memory",
		"ref"},
	"rollout/broadphase": {"internal/fault", "kernels"},
	"rollout/sweep":      {"batch", "geom", "internal/fault"},
	"dataset": {"geom", "geom/mesh", "batch", "dataset/npz", "dataset/output", "dataset/parquet", "dataset/table",
		"internal/memory", "internal/meter"},
	"dataset/table":          {"batch", "internal/fault", "internal/memory"},
	"dataset/npz":            {"dataset/output", "dataset/table"},
	"dataset/parquet":        {"dataset/output", "dataset/parquet/thrift", "dataset/table"},
	"dataset/parquet/thrift": {},
	"dataset/output":         {},
	"dataset/generate":       {"geom", "geom/mesh", "batch", "ref"},
	"dataset/fit":            {"geom"},
	"cmd/batchbench":         {anything},
	"cmd/clearview":          {anything},
	"cmd/genlayout":          {"batch", "geom", "internal/layout"},
	"cmd/libclearance": {".", "batch", "contact", "contact/adjoint", "contact/system", "cpu", "dataset",
		"dataset/stream", "derive", "dispatch", "engine", "geom", "geom/hull", "geom/mesh", "internal/audit",
		"internal/kinematics",
		"internal/memory", "internal/picture", "internal/rowtrace", "internal/scenefile", "internal/score",
		"rollout", "rollout/sweep"},
	"tests": {anything}, // and the packages below it
	// the laboratory, whose table is in lab/README.md
	"lab/cmd/lab": {anything},
	"lab/papers": {"batch", "derive", "geom", "geom/mesh", "ref", "dataset/fit", "lab/folder",
		"lab/plots"},
	"lab/folder":  {"internal/console", "internal/memory"},
	"lab/plots":   {},
	"lab/stats":   {},
	"lab/regress": {"lab/folder", "lab/stats"},
	"lab/peers": {"geom", "batch", "cpu", "dataset", "dataset/generate", "derive", "verify", "lab/folder",
		"lab/plots", "lab/stats"},
	"lab/matrix": {".", "geom", "batch", "dispatch", "dataset/generate", "verify", "lab/folder",
		"lab/plots", "lab/stats"},
	"lab/scaling": {".", "batch", "dataset", "dataset/generate", "dispatch", "internal/meter", "internal/score",
		"rollout", "rollout/sweep", "verify", "lab/folder", "lab/plots"},
	"lab/gpucost":  {"batch", "dataset/generate", "engine", "internal/console", "shaders", "lab/folder"},
	"lab/mutation": {},
}

// testLayers holds the test files of some packages to a table as well: the truth
// that everything is measured against must not lean on what it measures. Test
// files of other packages may import any package but a command.
var testLayers = map[string][]string{
	"geom":      {"geom/hull", "geom/mesh", "internal/testkit"},
	"geom/hull": {},
	"geom/mesh": {"geom/hull"},
	"ref":       {"geom", "geom/hull", "geom/mesh", "internal/testkit", "tests/need"},
}

// owners says which parts of the tree may import a third-party module that would
// otherwise spread: a file format, a command-line library.
var owners = map[string][]string{
	"github.com/apache/arrow-go":    {"dataset"},
	"github.com/spf13/cobra":        {"cmd", "internal/console", "lab/cmd"},
	"github.com/schollz":            {"internal/console"},
	"golang.org/x/term":             {"internal/console"},
	"github.com/go-gl":              {"cmd/clearview"}, // under its build tag
	"golang.org/x/image":            {"internal/picture", "internal/view"},
	"github.com/klauspost/compress": {"dataset"},
	"github.com/klauspost/cpuid":    {"kernels"},
	"golang.org/x/perf":             {"lab"},
	"gonum.org/v1/gonum/optimize":   {"dataset/fit"},
	"gonum.org/v1/plot":             {"lab"},
}

// source is one Go file as the checker sees it.
type source struct {
	path    string // slash-separated, relative to the root of the module
	imports []string
}

func (s source) dir() string { return path.Dir(s.path) }
func (s source) test() bool  { return strings.HasSuffix(s.path, "_test.go") }

// layerOf is the name that the table has for a package: the packages of the variants of a kernel are one layer.
func layerOf(dir string) string {
	if parent, variant := path.Split(dir); slices.Contains([]string{"avx512", "avx2", "neon", "portable"}, variant) {
		return parent + "variant"
	}
	return dir
}

// inTree reports whether dir is the folder top or lies below it.
func inTree(dir, top string) bool { return dir == top || strings.HasPrefix(dir, top+"/") }

// violations returns one line for every breach of the tables.
func violations(files []source) []string {
	var bad []string
	unlisted := map[string]bool{}
	for _, f := range files {
		layer := layerOf(f.dir())
		if inTree(layer, "tests") {
			layer = "tests"
		}
		allowed, ok := layers[layer]
		free := false
		if strict, held := testLayers[layer]; f.test() {
			free = !held
			allowed = append(slices.Clone(allowed), strict...)
		}
		if !ok {
			if !unlisted[f.dir()] {
				bad = append(bad, fmt.Sprintf("%s: the package has no line in the table of layers; give it one here "+
					"and in ARCHITECTURE.md", f.dir()))
			}
			unlisted[f.dir()] = true
			continue
		}
		for _, imp := range f.imports {
			if imp != module && !strings.HasPrefix(imp, module+"/") {
				bad = append(bad, foreign(f, imp)...)
				continue
			}
			target := layerOf(strings.TrimPrefix(strings.TrimPrefix(imp, module), "/"))
			if target == "" {
				target = "."
			}
			switch {
			case target == layerOf(f.dir()): // an external test of its own package
			case slices.Contains(allowed, anything), slices.Contains(allowed, target):
			case free && !inTree(target, "cmd") && (!inTree(target, "lab") || inTree(layer, "lab")):
			default:
				bad = append(bad, fmt.Sprintf("%s imports %s, which the layer %s may not; it may import %v", f.path,
					imp, f.dir(), allowed))
			}
		}
	}
	return bad
}

// foreign checks an import from outside the module against owners.
func foreign(f source, imp string) []string {
	for prefix, tops := range owners {
		owned := slices.ContainsFunc(tops, func(top string) bool { return inTree(f.dir(), top) })
		if strings.HasPrefix(imp, prefix) && !owned && !inTree(f.dir(), "tests") && !f.test() {
			return []string{fmt.Sprintf("%s imports %s, which only %s may", f.path, imp, strings.Join(tops, ", "))}
		}
	}
	return nil
}

// parseTree reads the imports of every Go file below root, whatever its build
// tags, so that files of another system or without cgo are checked too.
func parseTree(root string) ([]source, error) {
	var files []source
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			name := d.Name()
			if p != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "bin" || name == "build" ||
				name == "vendor") {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(p) != ".go" {
			return nil
		}
		ast, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		f := source{path: filepath.ToSlash(rel)}
		for _, spec := range ast.Imports {
			imp, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			f.imports = append(f.imports, imp)
		}
		files = append(files, f)
		return nil
	})
	return files, err
}

// TestLayers holds the whole tree to the tables above.
func TestLayers(t *testing.T) {
	files, err := parseTree("..")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 10 {
		t.Fatalf("found %d Go files; the walk did not see the module", len(files))
	}
	for _, v := range violations(files) {
		t.Error(v)
	}
}

// TestLayersOfFiles: a program that reads files links no back end and no kernel.
func TestLayersOfFiles(t *testing.T) {
	list, err := exec.Command("go", "list", "-deps", "../dataset").Output()
	if err != nil {
		t.Fatal(err)
	}
	linked := strings.Fields(string(list))
	if !slices.Contains(linked, module+"/batch") {
		t.Fatalf("dataset does not link batch: %v", linked)
	}
	for _, p := range linked {
		dir := strings.TrimPrefix(p, module+"/")
		for _, top := range []string{"cpu", "dispatch", "engine", "ref", "rollout", "shaders"} {
			if dir != p && inTree(dir, top) {
				t.Errorf("dataset links %s", dir)
			}
		}
	}
}

// TestLayersCatchViolations shows that the checker can fail, rule by rule, and
// what it lets pass.
func TestLayersCatchViolations(t *testing.T) {
	tests := []struct {
		name string
		file source
		want string // part of the one violation; "" for none
	}{
		{"ref must not see batch", source{"ref/x.go", []string{"clearance/batch"}}, "ref/x.go imports clearance/batch"},
		{"nor in its tests", source{"ref/x_test.go", []string{"clearance/batch"}},
			"ref/x_test.go imports clearance/batch"},
		{"a back end must not see dispatch", source{"cpu/x.go", []string{"clearance/dispatch"}},
			"cpu/x.go imports clearance/dispatch"},
		{"a sub-package imports nothing", source{"geom/hull/x.go", []string{"clearance/geom"}},
			"geom/hull/x.go imports clearance/geom"},
		{"the root is a layer", source{"geom/x.go", []string{"clearance"}}, "geom/x.go imports clearance,"},
		{"an unlisted package", source{"helpers/x.go", nil}, "helpers: the package has no line"},
		{"a command is no library", source{"verify/x_test.go", []string{"clearance/cmd/batchbench"}}, "may not"},
		{"arrow outside dataset", source{"batch/x.go", []string{"github.com/apache/arrow-go/v18/arrow"}},
			"which only dataset may"},
		{"hulls judge ref in its tests", source{"ref/x_test.go", []string{"clearance/geom/hull"}}, ""},
		{"but take no part in it", source{"ref/x.go", []string{"clearance/geom/hull"}},
			"ref/x.go imports clearance/geom/hull"},
		{"what tests draw is not for others", source{"geom/x.go", []string{"clearance/internal/testkit"}},
			"geom/x.go imports clearance/internal/testkit"},
		{"but for the tests of ref", source{"ref/x_test.go", []string{"clearance/internal/testkit"}}, ""},
		{"allowed by the table", source{"verify/x.go", []string{"clearance/ref", "fmt"}}, ""},
		{"allowed by a sub-package line", source{"dataset/generate/x.go", []string{"clearance/geom/mesh"}}, ""},
		{"a test may look around", source{"dispatch/x_test.go", []string{"clearance/cpu"}}, ""},
		{"an external test of the same package", source{"ref/x_test.go", []string{"clearance/ref"}}, ""},
		{"a package below tests", source{"tests/conformance/x.go", []string{"clearance/ref"}}, ""},
		{"the laboratory is no library", source{"verify/x_test.go", []string{"clearance/lab/stats"}}, "may not"},
		{"but for itself", source{"lab/regress/x.go", []string{"clearance/lab/stats"}}, ""},
		{"a command may import anything", source{"cmd/batchbench/x.go",
			[]string{"clearance/verify", "github.com/spf13/cobra"}}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := violations([]source{tt.file})
			if tt.want == "" {
				if len(got) != 0 {
					t.Fatalf("unexpected violation: %v", got)
				}
				return
			}
			if len(got) != 1 || !strings.Contains(got[0], tt.want) {
				t.Fatalf("violations = %q, want one with %q", got, tt.want)
			}
		})
	}
}
