package rollout

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/engine"
	"clearance/geom"
	"clearance/tests/need"

	"gonum.org/v1/gonum/spatial/r3"
)

// answer is an answer of a pair of parts.
type answer struct {
	status   batch.Status
	distance float64
	gap      float32
}

func leastOf(answers ...answer) least {
	res := batch.NewResults(len(answers), &batch.Options{Precision: batch.Double})
	l := noLeast()
	for i, a := range answers {
		res.Status()[i], res.Distance().F64[i], res.Gap()[i] = uint8(a.status), a.distance, a.gap
		l.solved(int32(i), i, res, 0)
	}
	return l
}

// TestLeast: the bounds are those of the minimum, and what is undecided matters only if it could be the least.
func TestLeast(t *testing.T) {
	inf, nan := float32(math.Inf(1)), math.NaN()
	for _, c := range []struct {
		name         string
		answers      []answer
		status       batch.Status
		lower, upper float64
		best         int32
		boolean      batch.Status
	}{
		{"the least of two", []answer{{batch.Separated, 2, 0.25}, {batch.Separated, 1, 0.25}}, batch.Separated, 0.75,
			1.25, 1, batch.Separated},
		{"a wider one", []answer{{batch.Separated, 2, 1.5}, {batch.Separated, 1, 0.25}}, batch.Separated, 0.5, 1.25, 1,
			batch.Separated},
		{"touching", []answer{{batch.Separated, 2, 0.25}, {batch.Touching, 0, 0.25}}, batch.Touching, -0.25, 0.25, 1,
			batch.Touching},
		{"a wide gap beyond a contact", []answer{{batch.Penetrating, -0.5, 0.25}, {batch.Separated, 1, 3}},
			batch.Penetrating, -0.75, -0.25, 0, batch.Penetrating},
		{"deepest", []answer{{batch.Penetrating, -1, 0}, {batch.Touching, 0, 0}, {batch.Penetrating, -2, 0}},
			batch.Penetrating, -2, -2, 2, batch.Penetrating},
		{"undecided and far", []answer{{batch.Separated, 1, 0}, {batch.Undecided, 5, 2}}, batch.Separated, 1, 1, 0,
			batch.Undecided},
		{"undecided and near", []answer{{batch.Separated, 1, 0}, {batch.Undecided, 1.5, 2}}, batch.Undecided, -0.5,
			1, 0, batch.Undecided},
		{"unknown", []answer{{batch.Penetrating, -1, 0}, {batch.Undecided, nan, inf}}, batch.Undecided, math.Inf(-1),
			-1, 0, batch.Penetrating},
		{"nothing known", []answer{{batch.Undecided, nan, inf}}, batch.Undecided, math.Inf(-1), math.Inf(1),
			-1, batch.Undecided},
		{"invalid", []answer{{batch.Penetrating, -1, 0}, {batch.Invalid, nan, inf}}, batch.Invalid, -1, -1, 0,
			batch.Invalid},
	} {
		l := leastOf(c.answers...)
		near := func(a, b float64) bool { return a == b || math.Abs(a-b) < 1e-12 }
		if l.status(false) != c.status || !near(l.lower, c.lower) || !near(l.upper, c.upper) || l.best != c.best {
			t.Errorf("%s: %v in [%v, %v] by %d", c.name, l.status(false), l.lower, l.upper, l.best)
		}
		if l.status(true) != c.boolean {
			t.Errorf("%s: a Boolean query gives %v, want %v", c.name, l.status(true), c.boolean)
		}
	}
}

// TestWorldLeast: a world is never better known than its rows, and any contact is one.
func TestWorldLeast(t *testing.T) {
	inf, nan := float32(math.Inf(1)), math.NaN()
	separated, far := leastOf(answer{batch.Separated, 1, 0.1}), noLeast()
	far.cull(3, 4)
	contact := leastOf(answer{batch.Penetrating, -1, 0.1})
	unknown, known := leastOf(answer{batch.Undecided, nan, inf}), leastOf(answer{batch.Undecided, 5, 1})
	bad := leastOf(answer{batch.Invalid, nan, inf})
	for _, c := range []struct {
		name             string
		rows             []least
		status           batch.Status
		any              uint8
		contacts, failed int32
		pair             int32
	}{
		{"one contact", []least{separated, contact, far}, batch.Penetrating, AnyContact, 1, 0, 1},
		{"none", []least{far, separated}, batch.Separated, AnyNone, 0, 0, 1},
		{"beyond", []least{far, far}, batch.Separated, AnyNone, 0, 0, -1},
		{"an unknown row", []least{separated, unknown}, batch.Undecided, AnyUnknown, 0, 1, 0},
		{"an unknown row besides a contact", []least{unknown, contact}, batch.Undecided, AnyContact, 1, 1, 1},
		{"an undecided row that is far", []least{known, contact}, batch.Penetrating, AnyContact, 1, 1, 1},
		{"an invalid row", []least{bad, contact, separated}, batch.Invalid, AnyContact, 1, 1, 1},
	} {
		w := noWorld()
		for p := range c.rows {
			w.add(&c.rows[p], int32(p), false)
		}
		if w.status(false) != c.status || w.any() != c.any || w.contacts != c.contacts || w.failures != c.failed ||
			w.bestPair != c.pair {
			t.Errorf("%s: %v, any %d, %d contacts, %d failed, pair %d", c.name, w.status(false), w.any(), w.contacts,
				w.failures, w.bestPair)
		}
	}
}

// TestHold: a held rollout answers like a new one at every step, in the same memory.
func TestHold(t *testing.T) {
	d := dispatcher(t)
	rng := rand.New(rand.NewPCG(9, 9))
	bodies := table(t, rng)
	w := scene(rng, bodies, 30, 8, 20, true)
	for _, o := range variants() {
		o.Workers = 2
		h, err := Hold(d, bodies, w, o, dispatch.Options{Backend: "cpu"})
		if err != nil {
			t.Fatal(err)
		}
		var first *Results
		for range 3 {
			for i := range w.Poses {
				w.Poses[i] += 0.02 * rng.NormFloat64()
			}
			if err := h.Update(w); err != nil {
				t.Fatal(err)
			}
			got, _, err := h.Run(t.Context())
			if err != nil || first != nil && first != got {
				t.Fatalf("other results: %v", err)
			}
			first = got
			want := run(t, d, bodies, w, o)
			for i := range want.N {
				if got.Status()[i] != want.Status()[i] || got.PartA[i] != want.PartA[i] || got.Distance().Len() > 0 &&
					math.Float64bits(got.Distance().At(i)) != math.Float64bits(want.Distance().At(i)) {
					t.Fatalf("%v %v: row %d differs", o.Query, o.Reduce, i)
				}
			}
		}
		if err := h.Update(&batch.Worlds{Bodies: w.Bodies}); err == nil {
			t.Error("an update with no poses")
		}
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
		if _, _, err := h.Run(t.Context()); err == nil {
			t.Error("a run after Close")
		}
	}
}

// TestVulkan: a device gives the answers of its own pair list.
func TestVulkan(t *testing.T) {
	device, err := engine.Open(engine.Options{})
	if err != nil {
		need.Vulkan(t, err.Error())
	}
	d := dispatch.New(device, dispatcher(t).Backends()[0])
	defer d.Close()
	rng := rand.New(rand.NewPCG(1, 2))
	bodies := table(t, rng)
	w := scene(rng, bodies, 20, 9, 24, true)
	for _, o := range variants() {
		want, list := expanded(t, d, bodies, w, &o, "vulkan")
		job := &Job{Bodies: bodies, Worlds: w, Options: o}
		rep, err := Run(t.Context(), d, job, dispatch.Options{Backend: "vulkan"})
		if err != nil || rep.Backend != "vulkan" {
			t.Fatal(rep.Backend, err)
		}
		if o.Reduce == ReduceWorld {
			checkWorlds(t, job.Results, want, len(w.TemplateA), &o)
		} else {
			checkRows(t, job.Results, want, list, &o)
		}
	}
}

// TestOneOfDistanceAndGap: the gap without the distance, and the distance without the gap, are those of both.
func TestOneOfDistanceAndGap(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 6))
	bodies, d := table(t, rng), dispatcher(t)
	w := scene(rng, bodies, 40, 8, 20, true)
	for _, query := range []batch.Query{batch.Distance, batch.Collide, batch.Penetration} {
		for _, reduce := range []Reduce{ReduceNone, ReduceWorld} {
			o := Options{Reduce: reduce, Options: batch.Options{Query: query}}
			o.Columns = batch.ColDistance | batch.ColGap | batch.ColStatus
			both, _ := mustRun(t, d, bodies, w, o, "cpu")
			for _, columns := range []batch.Columns{batch.ColGap, batch.ColDistance, batch.ColGap | batch.ColStatus} {
				o.Columns = columns
				got, _ := mustRun(t, d, bodies, w, o, "cpu")
				if columns&batch.ColGap != 0 && !sameBits(got.Gap(), both.Gap()) ||
					columns&batch.ColDistance != 0 && !sameBits(got.Distance().F32, both.Distance().F32) ||
					columns&batch.ColStatus != 0 && !slices.Equal(got.Status(), both.Status()) {
					t.Errorf("%v, reduce %v: columns %v are not those of distance, gap and status", query, reduce,
						columns)
				}
			}
		}
	}
}

// TestSolverOfACulledPair: the nearest pair of parts of a row is one that bounds answer, and the solver of the row is
// not that of a pair farther away.
//
// A ball near the corner of the box of an octahedron, |x|+|y|+|z| ≤ 1, cannot be ruled out at 0.1 m, though its
// distance is (1.1 − 1/√3 − 0.01) m. Two balls 0.2 m from one another are, exactly.
func TestSolverOfACulledPair(t *testing.T) {
	octahedron, err := geom.NewConvex([]r3.Vec{{X: 1}, {X: -1}, {Y: 1}, {Y: -1}, {Z: 1}, {Z: -1}})
	if err != nil {
		t.Fatal(err)
	}
	lib, err := batch.NewLibrary([]geom.Shape{octahedron, geom.Sphere{R: 0.01}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	part := func(shape int32, x, y, z float64) batch.Part {
		return batch.Part{Shape: shape, Pose: geom.Translate(x, y, z)}
	}
	corner := 1.1 / math.Sqrt(3)
	bodies, err := batch.NewBodies(lib, []batch.Body{
		{Parts: []batch.Part{part(0, 0, 0, 0), part(1, 9, 0, 0)}},
		{Parts: []batch.Part{part(1, corner, corner, corner), part(1, 9.22, 0, 0)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	at := geom.IdentityPose()
	w := &batch.Worlds{Bodies: []int32{0, 1}, TemplateA: []int32{0}, TemplateB: []int32{1}}
	w.Poses = appendPose(appendPose(nil, &at), &at)
	for _, reduce := range []Reduce{ReduceNone, ReduceWorld} {
		o := Options{MaxDistance: 0.1, HasMaxDistance: true, Reduce: reduce}
		o.Precision = batch.Double
		o.Columns = batch.ColDistance | batch.ColGap | batch.ColStatus | batch.ColMethod
		r, rep := mustRun(t, dispatcher(t), bodies, w, o, "cpu")
		if rep.Solved != 1 || math.Abs(r.Distance().F64[0]-0.2) > 1e-6 || r.PartA[0] != -1 ||
			batch.Solver(r.Method()[0]) != batch.SolverBounds {
			t.Errorf("reduce %v: %d solved, distance %g of part %d by the solver %v, want 0.2 by bounds", reduce,
				rep.Solved, r.Distance().F64[0], r.PartA[0], batch.Solver(r.Method()[0]))
		}
	}
}
