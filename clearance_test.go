package clearance

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/geom"
	"clearance/tests/need"

	"gonum.org/v1/gonum/spatial/r3"
)

// balls returns pairs of unit balls at the given distances of their centers.
func balls(t *testing.T, centers ...float64) (*batch.Library, *batch.Pairs) {
	t.Helper()
	lib, err := batch.NewLibrary([]geom.Shape{geom.Sphere{R: 1}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := batch.NewPairs(len(centers))
	for i, x := range centers {
		at := geom.IdentityPose()
		at.Position.Y = x
		p.SetRow(i, &batch.Row{PoseA: geom.IdentityPose(), PoseB: at})
	}
	return lib, p
}

func TestQueries(t *testing.T) {
	done := 0
	h, err := Open(WithBackend("cpu"), WithWorkers(2), WithChunkRows(64), WithProgress(func(d, total int) { done = d }))
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	lib, pairs := balls(t, 5, 1.5)
	ctx := context.Background()

	r, rep, err := h.Distance(ctx, lib, pairs)
	if err != nil || math.Abs(r.Distance().At(0)-3) > 1e-6 || math.Abs(r.Distance().At(1)+0.5) > 1e-6 || done != 2 {
		t.Errorf("distances %v, %v, %d done", r.Distance(), err, done)
	}
	if rep.Rows != 2 || rep.Done != 2 || rep.Backend != "cpu" || rep.Counts[batch.Separated] != 1 || rep.Err() != nil {
		t.Errorf("report %+v", rep)
	}
	r, rep, err = h.Penetration(ctx, lib, pairs)
	if err != nil || batch.Status(r.Status()[0]) != batch.Separated || math.Abs(r.Distance().At(1)+0.5) > 1e-6 {
		t.Errorf("depths %v, %v", r.Distance(), err)
	}
	if rep.Counts[batch.Penetrating] != 1 {
		t.Errorf("report %+v", rep)
	}
	r, rep, err = h.Growth(ctx, lib, pairs)
	if err != nil || math.Abs(r.Distance().At(0)-2.5) > 1e-6 || math.Abs(r.Distance().At(1)-0.75) > 1e-6 ||
		rep.Counts[batch.Penetrating] != 1 {
		t.Errorf("factors %v, report %+v, %v", r.Distance(), rep, err)
	}
	r, _, err = h.Collide(ctx, lib, pairs)
	if err != nil || r.Bit(0) || !r.Bit(1) || r.Distance().Len() != 0 {
		t.Errorf("bits %b, %v", r.Bits(), err)
	}
	job := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Query: batch.Collide, Columns: batch.ColBits}}
	rep, err = h.Run(ctx, job)
	if err != nil || rep.Done != 2 || job.Results.Bit(0) || !job.Results.Bit(1) || job.Results.Status() != nil {
		t.Errorf("bits alone: %b, report %+v, %v", job.Results.Bits(), rep, err)
	}
}

func TestRowsWithoutAnswer(t *testing.T) {
	h, err := Open(WithMaxRowErrors(2))
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	nan := math.NaN()
	lib, pairs := balls(t, 5, nan, 1, nan, nan)
	r, rep, err := h.Collide(context.Background(), lib, pairs)
	if err != nil {
		t.Fatalf("bad rows fail the call: %v", err)
	}
	if rep.Rows != 5 || rep.Done != 5 || rep.Counts[batch.Invalid] != 3 || len(rep.RowErrors) != 2 ||
		rep.RowErrors[1].Row != 3 {
		t.Errorf("report %+v", rep)
	}
	var rows *dispatch.RowsError
	if err := rep.Err(); !errors.As(err, &rows) || rows.Invalid != 3 || rows.First.Row != 1 ||
		rows.First.Column != "position_b" {
		t.Errorf("error of the report: %v", err)
	}
	if r.Bit(0) || !r.Bit(1) || !r.Bit(2) || batch.Status(r.Status()[1]) != batch.Invalid ||
		batch.Status(r.Status()[2]) != batch.Penetrating {
		t.Errorf("bits %b, status %v", r.Bits(), r.Status())
	}

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r, rep, err = h.Distance(ctx, lib, pairs)
	if !errors.Is(err, context.Canceled) || batch.Status(r.Status()[0]) != batch.Undecided || rep.Done != 0 ||
		rep.Counts[batch.Undecided] != 5 {
		t.Errorf("cancelled: status %v, report %+v, %v", r.Status(), rep, err)
	}
}

// A call that cannot begin is an error of the call, whatever its rows are.
func TestCallFails(t *testing.T) {
	h, err := Open(WithBackend("ref"))
	if err != nil {
		t.Fatal(err)
	}
	lib, pairs := balls(t, 5)
	if r, _, err := h.Distance(t.Context(), lib, nil); err == nil || r != nil {
		t.Errorf("no input: %v, %v", r, err)
	}
	job := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Tolerance: -1}}
	if _, err := h.Run(t.Context(), job); err == nil {
		t.Error("a negative tolerance")
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if r, _, err := h.Distance(t.Context(), lib, pairs); !errors.Is(err, dispatch.ErrClosed) || r != nil {
		t.Errorf("after Close: %v, %v", r, err)
	}
	if err := h.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	if _, err := Open(WithBackend("abacus")); !errors.Is(err, dispatch.ErrNoBackend) || !strings.Contains(err.Error(),
		`"abacus", want one of [vulkan cpu ref]`) {
		t.Errorf("unknown back end: %v", err)
	}
	if _, err := Open(WithWorkers(-2)); err == nil || !strings.Contains(err.Error(), "-2 workers") {
		t.Errorf("-2 workers: %v", err)
	}
	h, err := Open(WithBackend("ref"))
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if b := h.Backends(); len(b) != 3 || b[1].Name() != "cpu" || h.Notes() != nil {
		t.Errorf("back ends %v, notes %q", b, h.Notes())
	}
	if d := h.Backends()[0].Device(); d.Usable() || !strings.Contains(d.Reason, "another back end was selected") {
		t.Errorf("vulkan, which was not selected: %+v", d)
	}
}

// vulkanHandle opens Vulkan devices by name, or skips the test.
func vulkanHandle(t *testing.T, name string, o ...Option) *Handle {
	t.Helper()
	h, err := Open(append(o, WithBackend(name))...)
	if errors.Is(err, dispatch.ErrNoBackend) {
		need.Vulkan(t, err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return h
}

// mixedPairs returns pairs of balls and boxes, near and far, some of them overlapping.
func mixedPairs(t *testing.T, n int) (*batch.Library, *batch.Pairs) {
	t.Helper()
	lib, err := batch.NewLibrary([]geom.Shape{geom.Sphere{R: 1}, geom.Box{HalfExtents: r3.Vec{X: 1, Y: 0.5, Z: 0.7}}},
		nil)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(5, 6))
	p := batch.NewPairs(n)
	for i := range n {
		row := batch.Row{ShapeA: int32(i % 2), ShapeB: int32(i / 2 % 2), PoseA: geom.IdentityPose(),
			PoseB: geom.IdentityPose()}
		row.PoseB.Position = r3.Vec{X: 4 * rng.Float64(), Y: 2 * rng.Float64(), Z: rng.Float64()}
		p.SetRow(i, &row)
	}
	return lib, p
}

// Two engines on one device share the rows of a call, and give the bits of one.
func TestTwoEngines(t *testing.T) {
	two := vulkanHandle(t, "vulkan:0+vulkan:0", WithChunkRows(512))
	one := vulkanHandle(t, "vulkan", WithDevice("0"))
	lib, pairs := mixedPairs(t, 8192)
	want := &batch.Job{Library: lib, Input: pairs}
	if _, err := one.Run(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	got := &batch.Job{Library: lib, Input: pairs}
	rep, err := two.Run(t.Context(), got)
	if err != nil {
		t.Fatal(err)
	}
	if rep.Backend != "vulkan:0+vulkan:0" || rep.Done != 8192 || rep.Shares[0].Rows != 8192 ||
		rep.Shares[0].Chunks != 16 || len(rep.Failovers) != 0 {
		t.Errorf("report %+v", rep)
	}
	w, g := want.Results, got.Results
	if !slices.Contains(w.Status(), uint8(batch.Penetrating)) || rep.Declined() != 0 {
		t.Errorf("%d rows were declined; depths should be there, and be the device's", rep.Declined())
	}
	if !slices.Equal(w.Distance().F32, g.Distance().F32) || !slices.Equal(w.Gap(), g.Gap()) ||
		!slices.Equal(w.Normal().F32,
			g.Normal().F32) ||
		!slices.Equal(w.WitnessA().F32, g.WitnessA().F32) || !slices.Equal(w.Status(), g.Status()) ||
		!slices.Equal(w.Iterations(), g.Iterations()) {
		t.Error("the bits are not those of one engine")
	}
}

// Whatever Vulkan there is, Open succeeds: what is not there is told.
func TestOpenAuto(t *testing.T) {
	h, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	d := h.Backends()[0].Device()
	if usable := d.Usable(); usable == (len(h.Notes()) > 0) {
		t.Errorf("device %+v, notes %q", d, h.Notes())
	}
	lib, pairs := mixedPairs(t, 300)
	if r, _, err := h.Distance(t.Context(), lib, pairs); err != nil || r.N != 300 {
		t.Error(err)
	}
}

// A device that is named and does not exist is an error whatever back end answers.
func TestNoSuchDevice(t *testing.T) {
	for _, o := range [][]Option{
		{WithDevice("no such card")},
		{WithDevice("no such card"), WithBackend("cpu")},
		{WithDevice("no such card"), WithBackend("ref")},
		{WithDevice("no such card"), WithBackend("vulkan")},
		{WithBackend("vulkan:no such card")},
		{WithBackend("cpu+vulkan:no such card")},
	} {
		if h, err := Open(o...); !errors.Is(err, dispatch.ErrNoBackend) {
			t.Errorf("opened %v, %v", h, err)
		}
	}
	if _, err := Open(WithSIMD("mmx")); err == nil || !strings.Contains(err.Error(), "mmx") {
		t.Errorf("SIMD: %v", err)
	}
}

// All devices: each has a name of its own, and "vulkan" is all of them.
func TestAllDevices(t *testing.T) {
	h := vulkanHandle(t, "vulkan", WithDevice(AllDevices))
	lib, pairs := mixedPairs(t, 1000)
	if _, _, err := h.Distance(t.Context(), lib, pairs); err != nil {
		t.Error(err)
	}
	if name := h.Backends()[0].Name(); !strings.HasPrefix(name, "vulkan:") {
		t.Errorf("the first device is called %s", name)
	}
}

// A rollout that is held gives the answers of calls that carry everything, on each back
// end, step by step.
func TestHold(t *testing.T) {
	lib, err := batch.NewLibrary([]geom.Shape{geom.Box{HalfExtents: r3.Vec{X: 0.5, Y: 0.4, Z: 0.3}},
		geom.Capsule{R: 0.2, HalfLength: 0.4}, geom.Cylinder{R: 0.3, HalfLength: 0.5}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	const worlds, bodies = 50, 4
	w := &batch.Worlds{
		Shapes: []int32{0, 1, 2, 0}, Poses: make([]float64, 7*worlds*bodies),
		TemplateA: []int32{0, 0, 1, 2}, TemplateB: []int32{1, 2, 3, 3},
	}
	for _, name := range []string{"cpu", "vulkan"} {
		t.Run(name, func(t *testing.T) {
			h := vulkanHandle(t, name)
			o := batch.Options{Columns: batch.AllColumns}
			rng := rand.New(rand.NewPCG(1, 2))
			place(w, rng)
			b, err := h.Hold(t.Context(), lib, w, o)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			if yes, why := b.Resident(); yes != (name == "vulkan") {
				t.Errorf("resident %t: %s", yes, why)
			}
			for range 3 {
				place(w, rng)
				if err := b.Update(t.Context(), w); err != nil {
					t.Fatal(err)
				}
				got, rep, err := b.Run(t.Context())
				if err != nil || rep.Done != w.Len() || rep.Err() != nil {
					t.Fatalf("report %+v, %v", rep, err)
				}
				want := &batch.Job{Library: lib, Input: w, Options: o}
				if _, err := h.Run(t.Context(), want); err != nil {
					t.Fatal(err)
				}
				r := want.Results
				if !slices.Equal(r.Distance().F32, got.Distance().F32) || !slices.Equal(r.Status(), got.Status()) ||
					!slices.Equal(r.Gap(), got.Gap()) || !slices.Equal(r.WitnessB().F32, got.WitnessB().F32) {
					t.Error("other bits than those of a call that carries everything")
				}
			}
		})
	}
}

// place puts the bodies of each world near each other.
func place(w *batch.Worlds, rng *rand.Rand) {
	for k := 0; k < len(w.Poses); k += 7 {
		for i := range 3 {
			w.Poses[k+i] = 1.5 * rng.Float64()
		}
		for i := 3; i < 7; i++ {
			w.Poses[k+i] = rng.NormFloat64()
		}
	}
}
