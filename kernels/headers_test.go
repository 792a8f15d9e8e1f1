//go:build cgo

package kernels_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"clearance/tests/need"
)

// once are the headers without a guard: what a unit consists of, which includes each of them once.
var once = []string{"pairs/kernel.h", "growth/growth.h", "boxes/cull.h", "boxes/rows.h", "derive/include/kernel.h",
	"contact/include/kernel.h", "contact/include/manifold.h", "contact/include/contacts.h", "contact/include/sweeps.h",
	"contact/include/newton.h", "contact/include/bodies.h"}

// Every header includes what it needs: it compiles alone, with the vectors of the portable variant, whichever
// precision was selected before it, and again after itself. alone.h is the middle of sweeps.h.
func TestHeadersCompileAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles every header")
	}
	cc := need.CC(t)
	dir := t.TempDir()
	folder, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"-std=c11", "-Wall", "-Wno-unused", "-Werror", "-fsyntax-only", "-I", folder}
	for _, header := range headers(t) {
		base := filepath.Base(header)
		if base != "isa_vec.h" && (strings.HasPrefix(base, "isa_") || base == "target.h") {
			continue // of one processor; isa.h includes it there
		}
		if header == "contact/include/alone.h" {
			continue
		}
		unit := "clr_derive_portable"
		if filepath.Dir(header) == "contact/include" {
			unit = "contact_kernels_portable"
		}
		for _, bits := range []int{32, 64} {
			file := filepath.Join(dir, fmt.Sprintf("%s_%d.c", strings.ReplaceAll(header, "/", "_"), bits))
			text := fmt.Sprintf("#define KERNEL clr_run_portable\n#define GROWTH clr_growth_portable\n"+
				"#define CULL clr_cull_portable\n#define FIND_ROWS clr_rows_portable\n#define UNIT %s\n"+
				"#include \"isa/real%d.h\"\n#include %q\n", unit, bits, header)
			if !slices.Contains(once, header) {
				text += fmt.Sprintf("#include %q\n", header) // the guards
			}
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			args = append(args, file)
		}
	}
	if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Errorf("%v: %.6000s", err, out)
	}
}

var includes = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*include[ \t]+(?:"([^"]+)"|(ISA))`)

// No header includes itself, directly or indirectly.
func TestIncludesHaveNoCircle(t *testing.T) {
	if c := circle(map[string][]string{"a.h": {"b.h"}, "b.h": {"c.h"}, "c.h": {"b.h"}}); !slices.Equal(c,
		[]string{"b.h", "c.h", "b.h"}) {
		t.Fatalf("the circle of b.h and c.h is taken for %v", c)
	}
	graph := map[string][]string{}
	edges := 0
	for _, header := range headers(t) {
		graph[header] = []string{}
		for _, m := range includes.FindAllSubmatch(read(t, header), -1) {
			if len(m[2]) > 0 { // any instruction set
				graph[header] = append(graph[header], "isa/isa_avx512.h", "isa/isa_avx2.h", "isa/isa_neon.h",
					"isa/isa_vec.h")
			} else {
				graph[header] = append(graph[header], filepath.Join(filepath.Dir(header), string(m[1])))
			}
		}
		edges += len(graph[header])
	}
	if edges < len(graph) {
		t.Fatalf("%d headers with %d includes: the test does not find them", len(graph), edges)
	}
	for header, of := range graph {
		for _, other := range of {
			if _, ok := graph[other]; !ok {
				t.Errorf("%s includes %s, which does not exist", header, other)
			}
		}
	}
	if c := circle(graph); c != nil {
		t.Errorf("a circle: %s", strings.Join(c, " includes "))
	}
}

// circle returns nodes of a graph, each an edge to the next and the last equal to the first, or nil.
func circle(graph map[string][]string) []string {
	done := map[string]bool{}
	var path []string
	var visit func(node string) []string
	visit = func(node string) []string {
		if i := slices.Index(path, node); i >= 0 {
			return append(slices.Clone(path[i:]), node)
		}
		if done[node] {
			return nil
		}
		path = append(path, node)
		for _, next := range graph[node] {
			if c := visit(next); c != nil {
				return c
			}
		}
		path = path[:len(path)-1]
		done[node] = true
		return nil
	}
	nodes := make([]string, 0, len(graph))
	for node := range graph {
		nodes = append(nodes, node)
	}
	slices.Sort(nodes)
	for _, node := range nodes {
		if c := visit(node); c != nil {
			return c
		}
	}
	return nil
}

// Sources are at most 120 columns wide and 800 lines long.
func TestLengths(t *testing.T) {
	const columns, lines = 120, 800
	files := append(headers(t), glob(t, "*/*.c")...)
	files = append(append(files, glob(t, "*/*/*.c")...), glob(t, "testdata/*.h")...)
	for _, file := range files {
		text := bytes.Split(bytes.TrimSuffix(read(t, file), []byte("\n")), []byte("\n"))
		if len(text) > lines {
			t.Errorf("%s has %d lines, more than %d", file, len(text), lines)
		}
		for i, line := range text {
			if n := utf8.RuneCount(line); n > columns {
				t.Errorf("%s:%d has %d columns, more than %d", file, i+1, n, columns)
			}
		}
	}
}

func headers(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, folder := range []string{"isa", "shape", "pairs", "growth", "boxes", "derive/include", "contact/include"} {
		files = append(files, glob(t, folder+"/*.h")...)
	}
	return files
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", pattern, len(files), err)
	}
	return files
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
