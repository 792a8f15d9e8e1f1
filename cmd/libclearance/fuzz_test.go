//go:build cgo && linux

package main

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/dataset"
	"clearance/geom"
	"clearance/internal/memory"
	"clearance/tests/need"
)

// Variables of the environment: the number of calls, the seed, and a library that is built with the address sanitizer.
const (
	envFuzzCalls = "CLEARANCE_FUZZ_CALLS"
	envFuzzSeed  = "CLEARANCE_FUZZ_SEED"
	envSanitized = "CLEARANCE_SANITIZED_LIBRARY"
)

// TestFuzz calls every function of the header from several threads with arguments of which some are wrong, see
// testdata/fuzz.c: no call ends the process, panics, or touches memory beyond its arrays. With CLEARANCE_TESTS=all
// there are 10^6 calls, of a library and a caller with the address sanitizer.
func TestFuzz(t *testing.T) {
	folder := t.TempDir()
	library, calls, seed := os.Getenv(envLibrary), "4000", "1"
	flags := []string{"-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-I."}
	if need.All() {
		calls = "1000000"
		library = os.Getenv(envSanitized)
		if library == "" {
			library = filepath.Join(folder, "libsanitized.so")
			run(t, "go", "build", "-asan", "-tags", "netgo quickkernels", "-buildmode=c-shared", "-o", library, ".")
		}
		flags = append(flags, "-fsanitize=address")
	} else if library == "" {
		need.Full(t, "'make python', which builds the library, repeats it")
	}
	if n := os.Getenv(envFuzzCalls); n != "" {
		calls = n
	}
	if s := os.Getenv(envFuzzSeed); s != "" {
		seed = s
	}
	writeFuzzFiles(t, folder)
	fuzz := filepath.Join(folder, "fuzz")
	run(t, need.CC(t), append(flags, "-o", fuzz, "testdata/fuzz.c", library, "-lm", "-lpthread")...)
	command := exec.Command(fuzz, folder, seed, calls, "4")
	command.Dir = t.TempDir() // for files whose names are some text
	// The stacks of Go are none that the sanitizer of leaks can read.
	command.Env = append(os.Environ(), "ASAN_OPTIONS=detect_leaks=0", "GOTRACEBACK=all")
	out, err := command.CombinedOutput()
	text := string(out)
	if err != nil {
		t.Fatalf("seed %s: %v\n%s", seed, err, text[:min(len(text), 20000)])
	}
	count := func(name string) int {
		m := regexp.MustCompile(`(?m)^` + name + ` (\d+)$`).FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("no line of %q in\n%s", name, text)
		}
		n, _ := strconv.Atoi(m[1])
		return n
	}
	for _, name := range declared(t) {
		if count(name) == 0 {
			t.Errorf("%s was not called", name)
		}
	}
	good := count("code 0")
	if n := count("calls"); good < n/5 || count("code 2") < n/20 || count("code 5") == 0 {
		t.Errorf("of %d calls %d succeeded, %d had wrong arguments, %d closed handles: the fuzzer is blunt", n, good,
			count("code 2"), count("code 5"))
	}
	t.Logf("seed %s:\n%s", seed, text[strings.Index(text, "code 0"):])
}

// writeFuzzFiles writes the files that the calls name: good ones, and broken ones.
func writeFuzzFiles(t *testing.T, folder string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(folder, name) }
	shapes := []geom.Shape{geom.Sphere{R: 1}, geom.Box{HalfExtents: r3.Vec{X: 1, Y: 2, Z: 3}}, geom.Sphere{R: 2},
		geom.Capsule{HalfLength: 1, R: .5}, geom.Sphere{R: .1}}
	lib, err := batch.NewLibrary(shapes, []string{"a", "b", "c", "d", "e"})
	must(err)
	must(dataset.WriteLibrary(at("shapes.json"), lib))
	var list []batch.Body
	for i := range int32(3) {
		list = append(list, batch.Body{Name: fmt.Sprint(i), Parts: []batch.Part{{Shape: i, Pose: geom.IdentityPose()}}})
	}
	table, err := batch.NewBodies(lib, list)
	must(err)
	must(dataset.WriteScene(at("scene.json"), table, dataset.BodyPairs{}))
	const n = 20
	p := &batch.Pairs{ShapeA: slices.Repeat([]int32{0, 1}, n/2), ShapeB: slices.Repeat([]int32{2, 3}, n/2),
		PositionA: make([]float64, 3*n), PositionB: slices.Repeat([]float64{4, 0, 0}, n),
		RotationA: slices.Repeat([]float64{1, 0, 0, 0}, n), RotationB: slices.Repeat([]float64{1, 0, 0, 0}, n)}
	must(dataset.WritePairs(at("pairs.npz"), p))
	must(dataset.WritePairs(at("pairs.parquet"), p))
	poses := slices.Repeat([]float64{0, 0, 0, 1, 0, 0, 0, 5, 0, 0, 1, 0, 0, 0, 0, 9, 0, 1, 0, 0, 0}, 6)
	pairs := [2][]int32{{0, 1}, {1, 2}}
	must(dataset.WriteRollout(at("worlds.npz"), &batch.Worlds{M: 3, Bodies: []int32{0, 1, 2}, TemplateA: pairs[0],
		TemplateB: pairs[1], Poses: poses[:63]}, table))
	must(dataset.WriteMotions(at("motions.npz"), &batch.Motions{M: 3, T: 2, Bodies: []int32{0, 1, 2},
		TemplateA: pairs[0], TemplateB: pairs[1], Poses: poses}, table))
	whole, err := os.ReadFile(at("worlds.npz"))
	must(err)
	for name, text := range map[string]string{
		"mesh.obj":    "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n",
		"broken.obj":  "v 0 0\nf 1 2 99999999999\n",
		"broken.json": `{"shapes": [{"kind": "sphere", "radius": -1}], "bodies": 7}`,
		"broken.npz":  string(whole[:len(whole)/2]), "broken.parquet": "PAR1\x00\x00\x00\xff\x7fPAR1",
	} {
		must(os.WriteFile(at(name), []byte(text), 0o600))
	}
}

// TestMemory: what would take more than there is, is refused with both amounts.
func TestMemory(t *testing.T) {
	if err := checkMemory("nothing much", 64<<20); err != nil {
		t.Error(err)
	}
	for _, bytes := range []float64{1 << 60, 0x1p63 * 0x1p63, math.Inf(1)} {
		err := checkMemory("7 worlds", bytes)
		if codeOf(err) != codeArgument || !strings.Contains(err.Error(), "7 worlds would take "+memory.Text(bytes)) {
			t.Errorf("%g bytes: %v", bytes, err)
		}
	}
}

// TestWorlds: no number of worlds, bodies and pairs passes whose products are beyond memory.
func TestWorlds(t *testing.T) {
	const most = math.MaxInt64
	for _, c := range []struct {
		w, m, p int
		results float64
		good    bool
	}{
		{0, 0, 0, 0, true}, {1000, 10, 45, 100, true}, {0, 3, 3, 1000, true},
		{1 << 40, 2, 1, 0, false}, {most, 2, 1, 0, false}, {most, 0, 0, 8, false}, {most, 0, 0, 0, false},
		{1, most, 0, 0, false}, {1, 2, most, 0, false}, {1 << 32, 1 << 30, 1 << 30, 1e9, false},
		{1, 1, 1, 1e18, false},
	} {
		if err := checkWorlds(c.w, c.m, c.p, c.results); (err == nil) != c.good || !c.good &&
			codeOf(err) != codeArgument {
			t.Errorf("%d worlds of %d bodies, %d pairs: %v", c.w, c.m, c.p, err)
		}
	}
	for _, c := range []struct {
		sizes []int
		want  int
	}{{nil, 1}, {[]int{3, 4}, 12}, {[]int{3, -1}, -1}, {[]int{1 << 32, 1 << 32}, -1}, {[]int{1 << 62, 2}, -1},
		{[]int{most, 1}, most}, {[]int{0, most}, 0}, {[]int{most, 0}, 0}} {
		if got := product(c.sizes...); got != c.want {
			t.Errorf("product of %v: %d, want %d", c.sizes, got, c.want)
		}
	}
}

// TestOverlap: outputs that share memory with an input or with each other are refused; inputs may share theirs.
func TestOverlap(t *testing.T) {
	numbers := make([]float64, 100)
	for _, c := range []struct {
		a, b       []float64
		in, others bool // whether each is written
		good       bool
	}{
		{numbers[:10], numbers[5:20], false, false, true},
		{numbers[:10], numbers[10:20], true, true, true},
		{numbers[:10], numbers[9:20], true, false, false},
		{numbers[9:20], numbers[:10], false, true, false},
		{numbers[:10], numbers[:10], true, true, false},
		{numbers[:10], numbers[5:5], true, true, true},
		{numbers[5:5], numbers[:10], true, true, true},
	} {
		err := checkOverlap([]span{spanOf("one", c.a, c.in), spanOf("two", c.b, c.others)})
		if (err == nil) != c.good || !c.good && codeOf(err) != codeArgument {
			t.Errorf("%d and %d numbers: %v", len(c.a), len(c.b), err)
		}
	}
	o := batch.Options{Precision: batch.Double, Columns: batch.FileColumns | batch.ExtraColumns | batch.ColBits}
	r := batch.NewResults(batch.BitsPerWord, &o)
	if n := len(spansOf(nil, r)); n != 10 {
		t.Errorf("%d columns of results, want 10", n)
	}
	if got := rowBytes(&o); got != 8*13+4+1+2+1+1./8 {
		t.Errorf("a row of all columns takes %g bytes", got)
	}
}
