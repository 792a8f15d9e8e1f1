package rollout

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
)

// TestBadPose: an invalid pose makes its rows, or its world, invalid, and changes no bit of any other.
func TestBadPose(t *testing.T) {
	d := dispatcher(t)
	rng := rand.New(rand.NewPCG(5, 6))
	bodies := table(t, rng)
	w := scene(rng, bodies, 20, 6, 15, false)
	const bad, place = 7, 3
	for _, reduce := range []Reduce{ReduceNone, ReduceWorld} {
		for _, v := range []float64{math.NaN(), math.Inf(1), 1e10} {
			o := Options{MaxDistance: 0.2, HasMaxDistance: true, Reduce: reduce}
			want := run(t, d, bodies, w, o)
			broken := *w
			broken.Poses = append([]float64(nil), w.Poses...)
			broken.Poses[7*(bad*6+place)+1] = v
			job := &Job{Bodies: bodies, Worlds: &broken, Options: o}
			rep, err := Run(t.Context(), d, job, dispatch.Options{Backend: "cpu"})
			if err != nil {
				t.Fatal(err)
			}
			got, rows := job.Results, 1
			if reduce == ReduceNone {
				rows = len(w.TemplateA)
			}
			invalid := 0
			for i := range got.N {
				p := i % rows
				hit := i/rows == bad && (reduce == ReduceWorld || w.TemplateA[p] == place || w.TemplateB[p] == place)
				switch {
				case hit:
					invalid++
					if batch.Status(got.Status()[i]) != batch.Invalid || !math.IsNaN(got.Distance().At(i)) ||
						got.PartA[i] != -1 {
						t.Errorf("%v, row %d: %v", v, i, batch.Status(got.Status()[i]))
					}
				case got.Status()[i] != want.Status()[i] || got.Distance().F32[i] != want.Distance().F32[i]:
					t.Errorf("%v, row %d: %v, want %v", v, i, got.Distance().At(i), want.Distance().At(i))
				}
			}
			if rep.Counts[batch.Invalid] != invalid || invalid == 0 || len(rep.RowErrors) != 1 {
				t.Fatalf("report %+v, %d invalid", rep, invalid)
			}
			if e := rep.RowErrors[0]; e.World != bad || e.Body != place ||
				!strings.Contains(rep.Err().Error(), "world 7, body 3, column poses: ") {
				t.Errorf("error %v", rep.Err())
			}
			if reduce == ReduceWorld && got.Any[bad] == AnyNone {
				t.Error("an invalid world is proved to have no contact")
			}
		}
	}
}

// TestInvalidPair: two half-spaces have no distance; the world says which pair it is.
func TestInvalidPair(t *testing.T) {
	d := dispatcher(t)
	bodies := table(t, rand.New(rand.NewPCG(5, 6)))
	ground := int32(bodies.Len() - 1)
	w := &batch.Worlds{Bodies: []int32{ground, 0, ground}, TemplateA: []int32{0, 0}, TemplateB: []int32{1, 2}}
	for range 2 * 3 {
		w.Poses = append(w.Poses, 0, 0, 5, 1, 0, 0, 0)
	}
	job := &Job{Bodies: bodies, Worlds: w, Options: Options{Reduce: ReduceWorld}}
	rep, err := Run(t.Context(), d, job, dispatch.Options{Backend: "cpu"})
	if err != nil || rep.Counts[batch.Invalid] != 2 || len(rep.RowErrors) != 2 || rep.RowErrors[1].World != 1 ||
		rep.RowErrors[1].Pair != 1 {
		t.Errorf("report %+v, %v, %v", rep, rep.RowErrors, err)
	}
}

// TestRefused: input and options that are wrong as a whole are an error that names the place.
func TestRefused(t *testing.T) {
	d := dispatcher(t)
	bodies := table(t, rand.New(rand.NewPCG(5, 6)))
	poses := func(n int) []float64 { return make([]float64, 7*n) }
	two, zero, one := []int32{0, 1}, []int32{0}, []int32{1}
	ok := func() *batch.Worlds {
		return &batch.Worlds{Bodies: two, Poses: poses(4), TemplateA: zero, TemplateB: one}
	}
	for _, c := range []struct {
		want string
		w    *batch.Worlds
		o    Options
	}{
		{"poses have 15 numbers", &batch.Worlds{Bodies: two, Poses: make([]float64, 15)}, Options{}},
		{"poses have 7 numbers for no bodies", &batch.Worlds{Poses: poses(1)}, Options{}},
		{"bodies have 3 numbers, want 2, or 2 × 2", &batch.Worlds{M: 2, Bodies: []int32{0, 1, 2}, Poses: poses(4)},
			Options{}},
		{"M = -1", &batch.Worlds{M: -1}, Options{}},
		{"bodies[3] (world 1, body 1) = 99", &batch.Worlds{M: 2, Bodies: []int32{0, -1, 2, 99}, Poses: poses(4)},
			Options{}},
		{"bodies[0] (world 0, body 0) = -2", &batch.Worlds{Bodies: []int32{-2}, Poses: poses(1)}, Options{}},
		{"template_b has 0 numbers, want 1", &batch.Worlds{Bodies: two, Poses: poses(2), TemplateA: zero}, Options{}},
		{"template_b[0] = 5", &batch.Worlds{Bodies: two, Poses: poses(2), TemplateA: zero, TemplateB: []int32{5}},
			Options{}},
		{"template pair 0 is body 1 and itself", &batch.Worlds{Bodies: two, Poses: poses(2), TemplateA: one,
			TemplateB: one}, Options{}},
		{"skip_a[0] = -1", &batch.Worlds{Bodies: two, Poses: poses(2), AllPairs: true, SkipA: []int32{-1}, SkipB: zero},
			Options{}},
		{"without all pairs", &batch.Worlds{Bodies: two, Poses: poses(2), SkipA: one, SkipB: zero}, Options{}},
		{"no worlds", nil, Options{}},
		{"max_distance -1", ok(), Options{HasMaxDistance: true, MaxDistance: -1}},
		{"max_distance NaN", ok(), Options{HasMaxDistance: true, MaxDistance: math.NaN()}},
		{"does not apply to the query growth", ok(), Options{HasMaxDistance: true,
			Options: batch.Options{Query: batch.Growth}}},
		{"warm start", ok(), Options{Options: batch.Options{WarmStart: poses(1)}}},
		{"unknown reduction(7)", ok(), Options{Reduce: 7}},
		{"blocks of -1", ok(), Options{BlockPairs: -1}},
		{"-1 workers", ok(), Options{Workers: -1}},
		{"tolerance -1", ok(), Options{Options: batch.Options{Tolerance: -1}}},
	} {
		_, err := Run(t.Context(), d, &Job{Bodies: bodies, Worlds: c.w, Options: c.o}, dispatch.Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.want, err)
		}
	}
	if _, err := Run(t.Context(), d, &Job{Worlds: ok()}, dispatch.Options{}); err == nil {
		t.Error("no bodies")
	}
	_, err := Run(t.Context(), d, &Job{Bodies: bodies, Worlds: ok()}, dispatch.Options{Backend: "abacus"})
	if !errors.Is(err, dispatch.ErrNoBackend) {
		t.Errorf("no back end of that name: %v", err)
	}
}

// TestEmpty: worlds without pairs, and no worlds, have answers.
func TestEmpty(t *testing.T) {
	d := dispatcher(t)
	bodies := table(t, rand.New(rand.NewPCG(5, 6)))
	w := &batch.Worlds{Bodies: []int32{0, batch.Absent}, Poses: make([]float64, 7*4), TemplateA: []int32{0},
		TemplateB: []int32{1}}
	for i := range 4 {
		w.Poses[7*i+3] = 1
	}
	for _, c := range []struct {
		w    *batch.Worlds
		rows int
	}{{w, 2}, {&batch.Worlds{Bodies: []int32{0}, Poses: w.Poses}, 4}, {&batch.Worlds{Bodies: []int32{0}}, 0},
		{&batch.Worlds{}, 0}} {
		got := run(t, d, bodies, c.w, Options{Reduce: ReduceWorld})
		if got.N != c.rows {
			t.Fatalf("%d worlds, want %d", got.N, c.rows)
		}
		for i := range got.N {
			if batch.Status(got.Status()[i]) != batch.Separated || !math.IsInf(got.Distance().At(i), 1) ||
				got.Gap()[i] != 0 || got.Any[i] != AnyNone || got.Pair[i] != -1 {
				t.Errorf("world %d: %v, %v ± %v", i, batch.Status(got.Status()[i]), got.Distance().At(i), got.Gap()[i])
			}
		}
	}
}

// TestStopped: a call that ends early leaves the rows that it did not reach undecided.
func TestStopped(t *testing.T) {
	d := dispatcher(t)
	rng := rand.New(rand.NewPCG(5, 6))
	bodies := table(t, rng)
	w := scene(rng, bodies, 40, 6, 15, false)
	for _, reduce := range []Reduce{ReduceNone, ReduceWorld} {
		ctx, cancel := context.WithCancel(t.Context())
		job := &Job{Bodies: bodies, Worlds: w, Options: Options{BlockPairs: 100, Reduce: reduce}}
		rep, err := Run(ctx, d, job, dispatch.Options{Backend: "cpu", Progress: func(done, total int) {
			if done > total/2 {
				cancel()
			}
		}})
		if !errors.Is(err, context.Canceled) || rep.Done == 0 || rep.Done == job.Results.N {
			t.Fatalf("%v after %d of %d", err, rep.Done, job.Results.N)
		}
		for i := range job.Results.N {
			if s := batch.Status(job.Results.Status()[i]); (s == batch.Undecided) != (i >= rep.Done) {
				t.Fatalf("row %d of %d done is %v", i, rep.Done, s)
			}
		}
		if rep.Counts[batch.Undecided] != job.Results.N-rep.Done {
			t.Errorf("report %+v", rep)
		}
	}
}

// TestWorldsOfShapes: worlds of shapes have the answers of worlds of one body for each shape.
func TestWorldsOfShapes(t *testing.T) {
	rng := rand.New(rand.NewPCG(30, 5))
	bodies := table(t, rng)
	single := batch.BodiesOfShapes(bodies.Library())
	w := scene(rng, single, 5, 4, 6, false)
	w.Bodies = []int32{0, 1, 2, 3}
	for _, all := range []bool{false, true} {
		if all {
			w.AllPairs, w.TemplateA, w.TemplateB = true, nil, nil
		}
		o := Options{MaxDistance: 3, HasMaxDistance: true}
		shapes := *w
		shapes.Shapes, shapes.Bodies, shapes.M = w.Bodies, nil, 0
		want, _ := mustRun(t, dispatcher(t), single, w, o, "ref")
		got, _ := mustRun(t, dispatcher(t), bodies, &shapes, o, "ref")
		if !slices.Equal(got.Status(), want.Status()) || !sameBits(got.Distance().F32, want.Distance().F32) ||
			!slices.Equal(got.BodyB, want.BodyB) {
			t.Errorf("all pairs %v: other answers than those of bodies", all)
		}
	}
}
