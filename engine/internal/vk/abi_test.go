package vk

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/printer"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"clearance/tests/need"
)

var (
	abiStruct  = regexp.MustCompile(`(?s)typedef struct (\w+) \{\n(.*?)\n\} (\w+);`)
	abiField   = regexp.MustCompile(`(\w+)(?:\[[^\]]*\])*$`)
	abiEnum    = regexp.MustCompile(`(?m)^\s+(VK_\w+) = `)
	abiHandle  = regexp.MustCompile(`VKC_HANDLE\((Vk\w+)\)`)
	abiTypedef = regexp.MustCompile(`(?m)^typedef u?int\d+_t ((?:\w+,?\s*)+);`)
)

// abiListing is C that prints the size of every structure, handle and integer type, the
// offset and size of every field, and the value of every constant that abi.h declares.
func abiListing(t *testing.T) (code string, structs, fields, constants int) {
	t.Helper()
	var text strings.Builder
	for _, name := range []string{"abi.h", "abi_structs.h"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(data)
	}
	comment := regexp.MustCompile(`(?m)//.*$`)
	source := comment.ReplaceAllString(text.String(), "")
	var b strings.Builder
	b.WriteString("#include <stddef.h>\n#include <stdio.h>\nint main(void) {\n")
	size := func(name string) {
		fmt.Fprintf(&b, "printf(\"sizeof %s %%zu\\n\", sizeof(%s));\n", name, name)
	}
	for _, m := range abiStruct.FindAllStringSubmatch(source, -1) {
		if m[1] != m[3] {
			t.Fatalf("struct %s is called %s", m[1], m[3])
		}
		structs++
		size(m[1])
		for statement := range strings.SplitSeq(m[2], ";") {
			if strings.TrimSpace(statement) == "" {
				continue
			}
			for declarator := range strings.SplitSeq(statement, ",") {
				f := abiField.FindStringSubmatch(strings.TrimSpace(declarator))
				if f == nil {
					t.Fatalf("struct %s: no field in %q", m[1], declarator)
				}
				fields++
				fmt.Fprintf(&b, "printf(\"%s.%s at %%zu of %%zu\\n\", offsetof(%s, %s), sizeof(((%s *)0)->%s));\n",
					m[1], f[1], m[1], f[1], m[1], f[1])
			}
		}
	}
	for _, m := range abiEnum.FindAllStringSubmatch(source, -1) {
		constants++
		fmt.Fprintf(&b, "printf(\"%s %%lld\\n\", (long long)%s);\n", m[1], m[1])
	}
	for _, m := range abiHandle.FindAllStringSubmatch(source, -1) {
		size(m[1])
	}
	for _, m := range abiTypedef.FindAllStringSubmatch(source, -1) {
		for name := range strings.SplitSeq(m[1], ",") {
			size(strings.TrimSpace(name))
		}
	}
	b.WriteString("return 0;\n}\n")
	return b.String(), structs, fields, constants
}

// compileAndRun compiles a C file against the headers named and returns what it prints.
func compileAndRun(t *testing.T, cc, code string, include ...string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	file, binary := filepath.Join(dir, "listing.c"), filepath.Join(dir, "listing")
	var head strings.Builder
	for _, h := range include {
		fmt.Fprintf(&head, "#include %s\n", h)
	}
	if err := os.WriteFile(file, []byte(head.String()+code), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(cc, "-std=c11", "-Wall", "-Wextra", "-Werror", "-Wno-type-limits", "-I.", "-o", binary,
		file).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	out, err := exec.Command(binary).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out), nil
}

// needHeaders returns a C compiler that finds the official headers.
func needHeaders(t *testing.T) string {
	t.Helper()
	cc := need.CC(t)
	if strings.Contains(runtime.GOARCH, "386") {
		t.Skip("abi.h is for 64-bit systems")
	}
	probe := exec.Command(cc, "-E", "-x", "c", "-")
	probe.Stdin = strings.NewReader("#include <vulkan/vulkan.h>\n")
	if err := probe.Run(); err != nil {
		need.Vulkan(t, "vulkan/vulkan.h is not installed, so abi.h is not compared with it; install libvulkan-dev")
	}
	return cc
}

// TestABI compares abi.h with the official headers: structures, fields, constants.
func TestABI(t *testing.T) {
	cc := needHeaders(t)
	code, structs, fields, constants := abiListing(t)
	if structs < 60 || fields < 500 || constants < 100 {
		t.Fatalf("abi.h was not read: %d structures, %d fields, %d constants", structs, fields, constants)
	}
	ours, err := compileAndRun(t, cc, code, `"abi.h"`)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := compileAndRun(t, cc, code, `<vulkan/vulkan.h>`)
	if err != nil {
		t.Fatalf("a name in abi.h is not official: %v", err)
	}
	a, b := strings.Split(ours, "\n"), strings.Split(theirs, "\n")
	if len(a) != len(b) {
		t.Fatalf("%d lines and %d lines", len(a), len(b))
	}
	for i := range a {
		if a[i] != b[i] {
			t.Errorf("abi.h: %s, official: %s", a[i], b[i])
		}
	}
	t.Logf("%d structures, %d fields, %d constants agree", structs, fields, constants)
}

// TestABIFunctions compares the declarations of functions: C11 lets a typedef be repeated
// only with the same type.
func TestABIFunctions(t *testing.T) {
	cc := needHeaders(t)
	const empty = "int main(void) { return 0; }\n"
	if _, err := compileAndRun(t, cc, empty, `<vulkan/vulkan.h>`, `"abi_funcs.h"`); err != nil {
		t.Errorf("abi_funcs.h differs from the official headers: %v", err)
	}
	// The check can fail: a function with one parameter more is found.
	data, err := os.ReadFile("abi_funcs.h")
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.Replace(data, []byte("(VKAPI_PTR *PFN_vkDeviceWaitIdle)(VkDevice device)"),
		[]byte("(VKAPI_PTR *PFN_vkDeviceWaitIdle)(VkDevice device, int more)"), 1)
	if bytes.Equal(changed, data) {
		t.Fatal("vkDeviceWaitIdle is not declared as expected")
	}
	file := filepath.Join(t.TempDir(), "changed.h")
	if err := os.WriteFile(file, changed, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := compileAndRun(t, cc, empty, `<vulkan/vulkan.h>`, fmt.Sprintf("%q", file)); err == nil {
		t.Error("a wrong declaration was not found")
	}
}

// TestABIListingSeesChanges shows that the listing differs when a structure or a constant does.
func TestABIListingSeesChanges(t *testing.T) {
	cc := needHeaders(t)
	code, _, _, _ := abiListing(t)
	want, err := compileAndRun(t, cc, code, `"abi.h"`)
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range []struct{ file, from, to string }{
		{"abi_structs.h", "VkDeviceSize srcOffset, dstOffset, size;", "VkDeviceSize dstOffset, srcOffset, size;"},
		{"abi_structs.h", "float *pQueuePriorities;", "float *pQueuePriorities; int more;"},
		{"abi.h", "VK_ERROR_DEVICE_LOST = -4", "VK_ERROR_DEVICE_LOST = -5"},
	} {
		dir := t.TempDir()
		for _, name := range []string{"abi.h", "abi_structs.h", "abi_funcs.h"} {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if name == change.file {
				if !strings.Contains(string(data), change.from) {
					t.Fatalf("%s does not contain %q", name, change.from)
				}
				data = bytes.Replace(data, []byte(change.from), []byte(change.to), 1)
			}
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := compileAndRun(t, cc, code, fmt.Sprintf("%q", filepath.Join(dir, "abi.h")))
		if err != nil {
			t.Fatal(err)
		}
		if got == want {
			t.Errorf("changing %q to %q goes unnoticed", change.from, change.to)
		}
	}
}

// exported returns the exported functions and methods of the files whose build constraint
// holds with the tags given, as text without parameter names.
func exported(t *testing.T, tags ...string) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	api := map[string]string{}
	set := token.NewFileSet()
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || !builds(t, file, tags) {
			continue
		}
		f, err := parser.ParseFile(set, file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range f.Decls {
			fn, isFunc := decl.(*ast.FuncDecl)
			if !isFunc || !fn.Name.IsExported() {
				continue
			}
			var b strings.Builder
			if fn.Recv != nil {
				if err := printer.Fprint(&b, set, fn.Recv.List[0].Type); err != nil {
					t.Fatal(err)
				}
				if !ast.IsExported(strings.TrimPrefix(b.String(), "*")) {
					continue
				}
				b.WriteString(".")
			}
			api[b.String()+fn.Name.Name] = signature(t, set, fn.Type)
		}
	}
	return api
}

// signature is the types of parameters and results.
func signature(t *testing.T, set *token.FileSet, fn *ast.FuncType) string {
	t.Helper()
	var b strings.Builder
	for _, list := range []*ast.FieldList{fn.Params, fn.Results} {
		b.WriteString("(")
		if list != nil {
			for _, field := range list.List {
				for range max(1, len(field.Names)) {
					if err := printer.Fprint(&b, set, field.Type); err != nil {
						t.Fatal(err)
					}
					b.WriteString(", ")
				}
			}
		}
		b.WriteString(")")
	}
	return b.String()
}

func builds(t *testing.T, file string, tags []string) bool {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if constraint.IsGoBuild(line) {
			expr, err := constraint.Parse(line)
			if err != nil {
				t.Fatal(err)
			}
			return expr.Eval(func(tag string) bool { return slices.Contains(tags, tag) })
		}
	}
	return true
}

// TestSameAPIWithoutCgo compares the functions and methods with and without cgo.
func TestSameAPIWithoutCgo(t *testing.T) {
	with, without := exported(t, "cgo", "amd64"), exported(t, "amd64")
	if len(with) < 50 {
		t.Fatalf("found %d functions; the files were not read", len(with))
	}
	if !maps.Equal(with, exported(t, "cgo", "arm64")) || !maps.Equal(without, exported(t, "cgo", "386")) {
		t.Error("build constraints differ between files")
	}
	names := maps.Clone(with)
	maps.Copy(names, without)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if with[name] != without[name] {
			t.Errorf("%s: %q with cgo, %q without", name, with[name], without[name])
		}
	}
}
