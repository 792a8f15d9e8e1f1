package tests

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRaceList: every test of package engine that the Makefile names for the race detector exists. A
// renamed one would drop out without a word.
func TestRaceList(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join("..", "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?m)^RACE_ENGINE *:= *\^\(([A-Za-z|]+)\)\$\$$`).FindSubmatch(makefile)
	if list == nil {
		t.Fatal("the Makefile has no RACE_ENGINE of the form ^(TestA|TestB)$$")
	}
	files, err := filepath.Glob(filepath.Join("..", "engine", "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]bool{}
	for _, file := range files {
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
			t.Errorf("RACE_ENGINE names %s, which package engine does not have", name)
		}
	}
}
