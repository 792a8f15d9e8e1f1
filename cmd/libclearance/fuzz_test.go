//go:build cgo && linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/dataset"
	"clearance/geom"
	"clearance/tests/need"

	"gonum.org/v1/gonum/spatial/r3"
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
