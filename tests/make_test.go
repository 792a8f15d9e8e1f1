package tests

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestRaceList: every test that the Makefile names for the race detector exists. A renamed one would silently drop
// out.
func TestRaceList(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join("..", "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?m)^RACE_TESTS *:= *\^\(([A-Za-z|]+)\)\$\$$`).FindSubmatch(makefile)
	if list == nil {
		t.Fatal("the Makefile has no RACE_TESTS of the form ^(TestA|TestB)$$")
	}
	declared := map[string]bool{}
	for _, file := range slices.Concat(testFiles(t, "cpu"), testFiles(t, "engine"), testFiles(t, "contact"),
		testFiles(t, "cmd/batchbench")) {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(source, -1) {
			declared[string(f[1])] = true
		}
	}
	for name := range strings.SplitSeq(string(list[1]), "|") {
		if !declared[name] {
			t.Errorf("RACE_TESTS names %s, which none of the packages has", name)
		}
	}
}

// TestKernelsCompileOnce: a package that compiles kernels has no tests of its own. With a test file of the package, go
// vet and go test compile the kernels twice, which takes minutes.
func TestKernelsCompileOnce(t *testing.T) {
	units, err := filepath.Glob("../kernels/*/*/*.c")
	if err != nil || len(units) < 8 {
		t.Fatalf("%d units, %v", len(units), err)
	}
	for _, unit := range units {
		folder := filepath.Dir(unit)
		if strings.HasSuffix(folder, "testdata") {
			continue
		}
		if tests := testFiles(t, strings.TrimPrefix(filepath.ToSlash(folder), "../")); len(tests) > 0 {
			t.Errorf("%s has tests", folder)
		}
	}
}

// TestUnitsImportHeaders: a package that compiles kernels imports every package whose headers it includes, directly or
// not. Go compiles it anew if the content of a direct import has changed.
func TestUnitsImportHeaders(t *testing.T) {
	units, err := filepath.Glob("../kernels/*/*/*.c")
	if err != nil {
		t.Fatal(err)
	}
	boxes, err := filepath.Glob("../kernels/boxes/*.c")
	if err != nil {
		t.Fatal(err)
	}
	include := regexp.MustCompile(`(?m)^#\s*include\s+"([^"]+)"`)
	checked := 0
	for _, unit := range append(units, boxes...) {
		if strings.Contains(unit, "testdata") {
			continue
		}
		folders, done := map[string]bool{}, map[string]bool{}
		var visit func(file string)
		visit = func(file string) {
			if done[file] {
				return
			}
			done[file] = true
			for _, m := range include.FindAllStringSubmatch(read(t, file), -1) {
				next := filepath.Join(filepath.Dir(file), m[1])
				if _, err := os.Stat(next); err != nil {
					next = filepath.Join("../kernels", m[1])
				}
				folders[filepath.Dir(next)] = true
				visit(next)
			}
		}
		visit(unit)
		own, err := filepath.Glob(filepath.Join(filepath.Dir(unit), "*.go"))
		if err != nil || len(own) != 1 {
			t.Fatalf("%s: %v, %v", unit, own, err)
		}
		for folder := range folders {
			if folder == filepath.Dir(unit) {
				continue
			}
			checked++
			name := module + strings.TrimPrefix(filepath.ToSlash(folder), "..")
			if !strings.Contains(read(t, own[0]), `"`+name+`"`) {
				t.Errorf("%s includes headers of %s, which %s does not import", unit, name, own[0])
			}
		}
	}
	if checked < 20 {
		t.Errorf("%d folders of headers checked", checked)
	}
}

func testFiles(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}
