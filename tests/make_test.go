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
	for _, file := range slices.Concat(testFiles(t, "cpu"), testFiles(t, "engine"), testFiles(t, "cmd/batchbench")) {
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

// TestKernelsCompileOnce: the tests of a package that compiles the kernels are a package of their own. With a test
// file of the package itself, go vet and go test compile the kernels twice, which takes minutes.
func TestKernelsCompileOnce(t *testing.T) {
	files := testFiles(t, "cpu/simd")
	if len(files) == 0 {
		t.Fatal("cpu/simd has no tests")
	}
	for _, file := range files {
		if source := read(t, file); !strings.Contains(source, "\npackage simd_test\n") {
			t.Errorf("%s is not of package simd_test", file)
		}
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
