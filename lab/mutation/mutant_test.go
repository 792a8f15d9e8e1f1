package main

import (
	"math/rand/v2"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What is done to a line, and what is left alone.
func TestBreaks(t *testing.T) {
	for line, want := range map[string][]change{
		"	if a < b && c { // why": {
			{"operator", "	if a >= b && c { // why"}, {"operator", "	if a < b || c { // why"},
		},
		"	x = y + 2": {
			{"operator", "	x = y - 2"}, {"constant", "	x = y + 3"}, {"statement dropped", ""},
		},
		"	return 0.5f * h;":       {{"operator", "	return 0.5f / h;"}, {"constant", "	return 0.55f * h;"}},
		"	p->count = 0;":          {{"constant", "	p->count = 1;"}, {"statement dropped", ""}},
		"	flush(b)":               {{"statement dropped", ""}},
		"	n := len(v)":            nil,
		"	// a < b":               nil,
		"#define WIDTH 4":         nil,
		"	fmt.Println(\"a < b\")": nil,
		"	const ulp = 0x1p-52":    {{"constant", "	const ulp = 0x1p-53"}},
		"":                        nil,
		"	continue":               {{"statement dropped", ""}},
		"	if m := most(v); m > 0 {": {{"operator", "	if m := most(v); m <= 0 {"},
			{"constant", "	if m := most(v); m > 1 {"}},
	} {
		if got := breaks(line); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

// The draw depends on the seed and the source alone, and reaches every file.
func TestDraw(t *testing.T) {
	files := []*file{
		{name: "a.go", lines: []string{"	x = 1", "	// none", "	y += x"}},
		{name: "b.h", lines: []string{"	z = 2 * w;"}},
	}
	one, two := rand.New(rand.NewPCG(7, 0)), rand.New(rand.NewPCG(7, 0))
	seen := map[string]bool{}
	for range 200 {
		m, ok := draw(one, files)
		n, same := draw(two, files)
		if ok != same || ok && *m != *n {
			t.Fatalf("equal seeds draw %v and %v", m, n)
		}
		if ok {
			seen[m.file.name] = true
			if m.text == m.file.lines[m.line] {
				t.Errorf("%s:%d is not broken", m.file.name, m.line+1)
			}
		}
	}
	if len(seen) != 2 {
		t.Errorf("drawn from %v", seen)
	}
}

// Every guarded folder has sources, no file of another machine is among them, and every folder of kernels with
// headers is guarded.
func TestSources(t *testing.T) {
	files, err := sources("../..")
	if err != nil {
		t.Fatal(err)
	}
	folders := map[string]bool{}
	for _, f := range files {
		folders[path.Dir(f.name)] = true
		if elsewhere(f.name) || len(f.lines) < 2 {
			t.Errorf("%s has no place here", f.name)
		}
	}
	for _, g := range guards {
		if !folders[g.dir] {
			t.Errorf("%s has no sources", g.dir)
		}
	}
	found := 0
	for _, pattern := range []string{"../../kernels/*/*.h", "../../kernels/*/*/*.h"} {
		headers, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, header := range headers {
			dir := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(header)), "../../")
			if found++; dir != "kernels/testdata" && !folders[dir] {
				t.Errorf("%s has headers and is not guarded", dir)
			}
		}
	}
	if found < 50 {
		t.Errorf("%d headers of kernels", found)
	}
}
