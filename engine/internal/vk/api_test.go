package vk

import (
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/printer"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

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
