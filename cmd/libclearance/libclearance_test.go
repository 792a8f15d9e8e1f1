//go:build cgo

package main

import (
	"context"
	"debug/elf"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"clearance"
	"clearance/batch"
	"clearance/contact"
	"clearance/contact/scenes"
	"clearance/dispatch"
	"clearance/geom"
	"clearance/internal/testkit"
	"clearance/kernels"
	"clearance/rollout"
	"clearance/tests/need"

	"gonum.org/v1/gonum/spatial/r3"
)

// TestCodes: the codes of the header are those of Go.
func TestCodes(t *testing.T) {
	want := map[string]code{"OK": codeOK, "RUNNING": codeRunning, "ARGUMENT": codeArgument, "FAILED": codeFailed,
		"CANCELLED": codeCancelled, "CLOSED": codeClosed, "NO_BACKEND": codeNoBackend, "REFUSED": codeRefused,
		"FILE": codeFile, "STILL": codeStill,
		"FLOAT32": code(batch.Float32), "FLOAT64": code(batch.Float64), "UINT8": code(batch.Uint8),
		"UINT16": code(batch.Uint16), "BITS": code(batch.BitSet), "INT32": elementInt32, "INT64": elementInt64,
		"UINT64": elementUint64}
	for _, c := range batch.EveryColumn() {
		want["COLUMN_"+strings.ToUpper(c.Info().Name)] = code(c.Index())
	}
	found := regexp.MustCompile(`(?m)^\s+CLEARANCE_(\w+) = (\d+)`).FindAllStringSubmatch(header(t), -1)
	if len(found) != len(want) {
		t.Fatalf("the header has %d codes, want %d", len(found), len(want))
	}
	for _, m := range found {
		if c, ok := want[m[1]]; !ok || fmt.Sprint(int(c)) != m[2] {
			t.Errorf("CLEARANCE_%s is %s, want %d", m[1], m[2], c)
		}
	}
}

// TestSimulationKernels: the option and the environment variable choose the kernels that steps enter C by, of pairs and
// of contacts; none at all with "off".
func TestSimulationKernels(t *testing.T) {
	enters := func(option string) map[kernels.Kernel][]string {
		scene, state, err := scenes.Simulation("heap", 64, 1)
		if err != nil {
			t.Fatal(err)
		}
		state.Momentum = make([]float64, 3*len(state.Pose)/7) // at rest
		o := contact.StepOptions{TimeStep: 5e-3, Gravity: r3.Vec{Z: -9.81}}
		o.Solve.SIMD = option
		var lock sync.Mutex
		entered := map[kernels.Kernel][]string{}
		kernels.Observe(func(k kernels.Kernel, variant string) {
			lock.Lock()
			defer lock.Unlock()
			if !slices.Contains(entered[k], variant) {
				entered[k] = append(entered[k], variant)
			}
		})
		defer kernels.Observe(nil)
		h, err := newSimulation(scene, state, o)
		if err != nil {
			t.Fatal(err)
		}
		defer h.pairs.Close()
		if err := h.sim.Step(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		return entered
	}
	for _, name := range append(kernels.Supported(), kernels.Off) {
		for _, environment := range []bool{false, true} {
			option := name
			t.Setenv(kernels.EnvSIMD, kernels.Off)
			if environment {
				t.Setenv(kernels.EnvSIMD, name)
				option = ""
			}
			entered := enters(option)
			for _, k := range []kernels.Kernel{kernels.Pairs, kernels.Contacts} {
				var want []string
				if name != kernels.Off {
					want = []string{name}
				}
				got := slices.Clone(entered[k])
				if k == kernels.Contacts && name == "avx512" { // few worlds take AVX2
					got = slices.DeleteFunc(got, func(variant string) bool { return variant == "avx2" })
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s, of the environment: %v: kernel %d: entered %v, want %v", name, environment, k,
						entered[k], want)
				}
			}
		}
	}
}

// TestClosedEngine: an engine that is closed while another thread has found it starts no job.
func TestClosedEngine(t *testing.T) {
	h, err := clearance.Open(clearance.WithBackend("ref"))
	if err != nil {
		t.Fatal(err)
	}
	e := &engineHandle{Handle: h}
	e.ctx, e.cancel = context.WithCancel(t.Context())
	if err := e.begin(); err != nil {
		t.Fatal(err)
	}
	closed := make(chan error)
	go func() { closed <- e.end() }()
	<-e.ctx.Done() // the engine is closing, and waits for the job
	j, err := start(e, 1, func(context.Context, *job) (dispatch.Report, error) {
		t.Error("a job of a closed engine began")
		return dispatch.Report{}, nil
	})
	if j != nil || codeOf(err) != codeClosed {
		t.Errorf("a job of a closed engine: %v, %v", j, err)
	}
	select {
	case <-closed:
		t.Error("the engine closed before its job ended")
	default:
	}
	e.jobs.Done()
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// TestRowsOfScenes: steps whose bodies have many parts do not run in the thread of their caller.
func TestRowsOfScenes(t *testing.T) {
	lib, err := batch.NewLibrary([]geom.Shape{geom.Sphere{R: 1}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	single := batch.Body{Parts: []batch.Part{{Pose: geom.IdentityPose()}}}
	many := batch.Body{Parts: slices.Repeat(single.Parts, 50)}
	for _, c := range []struct {
		body   batch.Body
		worlds batch.Worlds
		rows   int
	}{
		{single, batch.Worlds{M: 3, TemplateA: []int32{0, 1}, TemplateB: []int32{1, 2}}, 12},
		{many, batch.Worlds{M: 3, TemplateA: []int32{0, 1}, TemplateB: []int32{1, 2}}, 20000},
		{many, batch.Worlds{M: 3, AllPairs: true}, 30000},
		{single, batch.Worlds{M: 1 << 20, AllPairs: true}, math.MaxInt32},
	} {
		table, err := batch.NewBodies(lib, []batch.Body{c.body, single})
		if err != nil {
			t.Fatal(err)
		}
		if got := stepRows(&c.worlds, table, 4); got != c.rows {
			t.Errorf("%d places, bodies of up to %d parts: %d rows, want %d", c.worlds.M, len(c.body.Parts), got,
				c.rows)
		}
	}
}

// TestWorkOfRows: rows of large hulls do not run in the thread of their caller, and sweeps count all evaluations that
// they may take.
func TestWorkOfRows(t *testing.T) {
	hull := testkit.Hull(rand.New(rand.NewPCG(1, 2)), r3.Vec{X: 1, Y: 1, Z: 1}, 10_000)
	lib, err := batch.NewLibrary([]geom.Shape{hull, geom.Sphere{R: 1}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := work(lib, 100); got <= inlineRows {
		t.Errorf("100 rows of hulls with 10,000 vertices count as %d rows", got)
	}
	small, err := batch.NewLibrary([]geom.Shape{geom.Sphere{R: 1}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := work(small, inlineRows); got != inlineRows {
		t.Errorf("%d rows of spheres count as %d rows", inlineRows, got)
	}
	bodies, err := batch.NewBodies(small, []batch.Body{{Parts: []batch.Part{{Pose: geom.IdentityPose()}}}})
	if err != nil {
		t.Fatal(err)
	}
	job := &rollout.SweepJob{Bodies: bodies, Motions: &batch.Motions{T: 2}, Results: &batch.SweepResults{N: 1}}
	if got := sweepRows(job); got > inlineRows {
		t.Errorf("a sweep of one row counts as %d rows", got)
	}
	job.Options.MaxEvaluations = math.MaxInt32
	if got := sweepRows(job); got <= inlineRows {
		t.Errorf("a sweep of one row with any number of evaluations counts as %d rows", got)
	}
}

// TestDescription: names stand at their codes, as callers of the interface look them up.
func TestDescription(t *testing.T) {
	data, err := json.Marshal(describe())
	if err != nil {
		t.Fatal(err)
	}
	var d description
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	for i, c := range d.Columns {
		if got := batch.Columns(1 << i).Info(); got.Name != c.Name || got.Width != c.Width ||
			got.Type.String() != c.Type {
			t.Errorf("column %d is %v, want %v", i, c, *got)
		}
	}
	for i, q := range d.Queries {
		if got, err := batch.ParseQuery(q.Name); err != nil || int(got) != i {
			t.Errorf("query %d is %q", i, q.Name)
		}
	}
}

// envLibrary names a shared library that is built already, as 'make python' does.
const envLibrary = "CLEARANCE_LIBRARY"

// TestLibrary: the shared library exports the functions of the header alone, and a C program can use it.
func TestLibrary(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the version script is that of the linkers of Linux")
	}
	folder := t.TempDir()
	library := os.Getenv(envLibrary)
	if library == "" {
		need.Full(t, "'make python', which builds the library, repeats it")
		library = filepath.Join(folder, "libclearance.so")
		run(t, "../../scripts/libclearance.sh", library)
	}
	t.Run("symbols", func(t *testing.T) { checkSymbols(t, library) })
	t.Run("client", func(t *testing.T) {
		client := filepath.Join(folder, "client")
		run(t, "cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-I.", "-o", client, "testdata/client.c", library,
			"-lm")
		if out := run(t, client); out != "good\n" {
			t.Errorf("the client says %q", out)
		}
	})
}

// checkSymbols: the library exports the functions of the header, and nothing else.
func checkSymbols(t *testing.T, library string) {
	file, err := elf.Open(library)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	symbols, err := file.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF {
			got = append(got, s.Name)
		}
	}
	slices.Sort(got)
	if want := declared(t); !slices.Equal(got, want) {
		t.Errorf("the library exports\n%v, want\n%v", got, want)
	}
	checkGlibc(t, file)
}

// newestGlibc is the minor version of glibc 2 that the tag of the wheel promises to suffice: manylinux_2_28.
const newestGlibc = 28

// checkGlibc fails for functions that only a newer glibc has.
func checkGlibc(t *testing.T, file *elf.File) {
	symbols, err := file.ImportedSymbols()
	if err != nil {
		t.Fatal(err)
	}
	versions := 0
	for _, s := range symbols {
		minor, ok := strings.CutPrefix(s.Version, "GLIBC_2.")
		if !ok {
			continue
		}
		versions++
		minor, _, _ = strings.Cut(minor, ".") // of 2.2.5
		if n, err := strconv.Atoi(minor); err != nil || n > newestGlibc {
			t.Errorf("%s of %s: %s, want 2.%d or older: see scripts/libclearance.sh", s.Name, s.Library, s.Version,
				newestGlibc)
		}
	}
	if versions == 0 {
		t.Error("no function of glibc has a version")
	}
}

// TestHeader: the header declares what the Go files export, each function with a comment that begins with its name.
func TestHeader(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var exported []string
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^//export (\w+)$`).FindAllStringSubmatch(string(data), -1) {
			exported = append(exported, m[1])
		}
	}
	slices.Sort(exported)
	want := declared(t)
	if !slices.Equal(exported, want) {
		t.Errorf("exported are\n%v, the header declares\n%v", exported, want)
	}
	for _, name := range want {
		if !strings.Contains(header(t), "\n// "+name+" ") {
			t.Errorf("%s has no comment in the header", name)
		}
	}
}

// declared lists the functions of the header.
func declared(t *testing.T) (names []string) {
	for _, m := range regexp.MustCompile(`(?m)^int(?:32|64)_t (\w+)\(`).FindAllStringSubmatch(header(t), -1) {
		names = append(names, m[1])
	}
	if len(names) < 15 {
		t.Fatalf("the header declares %v only", names)
	}
	slices.Sort(names)
	return names
}

func header(t *testing.T) string {
	data, err := os.ReadFile("clearance.h")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// run runs a command and returns its output.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return string(out)
}
