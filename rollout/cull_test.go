package rollout

import (
	"math"
	"math/rand/v2"
	"testing"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/geom"
	"clearance/internal/testkit"
	"clearance/tests/need"

	"gonum.org/v1/gonum/spatial/r3"
)

// TestCulling: culling loses no row within the largest distance, changes no bit of those, and the bounds of the rows
// that it answers hold. `make test-all` does so for ten million rows.
func TestCulling(t *testing.T) {
	d := dispatcher(t)
	rounds := 2
	if need.All() {
		rounds = 100
	}
	for round := range rounds {
		rng := rand.New(rand.NewPCG(7, uint64(round)))
		bodies := table(t, rng)
		worlds := 100
		if need.All() {
			worlds = 1000
		}
		w := scene(rng, bodies, worlds, 12, 100, round%2 == 1)
		o := Options{MaxDistance: []float64{0, 0.1, 0.5}[round%3], HasMaxDistance: true}
		o.Precision = batch.Precision(round / 2 % 2)
		o.Columns = batch.ColDistance | batch.ColGap | batch.ColStatus | batch.ColMethod
		all := o
		all.NoCulling = true
		got, want := run(t, d, bodies, w, o), run(t, d, bodies, w, all)
		culled := 0
		for i := range want.N {
			slack := roundOff(&o, want.Distance().At(i)) + float64(want.Gap()[i])
			lower, upper := want.Distance().At(i)-slack, want.Distance().At(i)+slack
			x, gap := got.Distance().At(i), float64(got.Gap()[i])
			switch {
			case got.Status()[i] != want.Status()[i]:
				t.Fatalf("round %d, row %d: %v, want %v", round, i, batch.Status(got.Status()[i]),
					batch.Status(want.Status()[i]))
			case math.IsInf(want.Distance().At(i), 1): // an absent body
			case batch.Solver(got.Method()[i]) == batch.SolverBounds:
				culled++
				if !(upper > o.MaxDistance) || !(x-gap <= upper) || !(x+gap >= lower) || math.IsInf(gap, 0) {
					t.Fatalf("round %d, row %d: %v ± %v by bounds, within [%v, %v]", round, i, x, gap, lower, upper)
				}
			case want.Distance().At(i) <= o.MaxDistance && (x != want.Distance().At(i) ||
				got.PartA[i] != want.PartA[i]):
				t.Fatalf("round %d, row %d: %v, want %v", round, i, x, want.Distance().At(i))
			}
		}
		if culled < want.N/100 || culled == want.N {
			t.Fatalf("round %d: %d of %d rows culled", round, culled, want.N)
		}
	}
}

// run answers a rollout.
func run(t testing.TB, d *dispatch.Dispatcher, bodies *batch.Bodies, w *batch.Worlds, o Options) *Results {
	t.Helper()
	job := &Job{Bodies: bodies, Worlds: w, Options: o}
	if _, err := Run(t.Context(), d, job, dispatch.Options{Backend: "cpu"}); err != nil {
		t.Fatal(err)
	}
	return job.Results
}

// TestBounds: the bounds of pairs of parts contain the distance, whatever the sizes and however far from the origin.
func TestBounds(t *testing.T) {
	d := dispatcher(t)
	rng := rand.New(rand.NewPCG(3, 4))
	tight := 0
	for _, c := range []struct{ scale, far float64 }{{1, 0}, {1, 1e3}, {1e-4, 0}, {1e-3, 1e2}, {1e4, 1e6}, {1, 1e8}} {
		bodies := scaled(t, table(t, rng), c.scale)
		m := bodies.Len()
		w := &batch.Worlds{TemplateA: []int32{0}, TemplateB: []int32{1}, M: 2}
		for range 400 {
			a, b := rng.Int32N(int32(m)), rng.Int32N(int32(m-1)) // the last is a half-space
			if rng.IntN(2) == 0 {
				a, b = b, a
			}
			w.Bodies = append(w.Bodies, a, b)
			origin := r3.Scale(c.far, testkit.Normal(rng))
			for range 2 {
				p := testkit.Pose(rng, c.scale*0.5)
				p.Position = r3.Add(p.Position, origin)
				w.Poses = appendPose(w.Poses, &p)
			}
		}
		want := run(t, d, bodies, w, Options{NoCulling: true, Options: batch.Options{Precision: batch.Double}})
		p := newPlacement(bodies, w, []int32{0, 1})
		for i := range want.N {
			if batch.Status(want.Status()[i]) >= batch.Undecided {
				continue // two half-spaces
			}
			p.place(i)
			p.of(0)
			bs, lower, upper := p.of(1), math.Inf(1), math.Inf(1)
			for _, a := range p.of(0) {
				for _, b := range bs {
					lower = min(lower, max(lowerOfBalls(&a, &b), lowerOfBoxes(&a, &b)))
					upper = min(upper, upperOfParts(&a, &b))
				}
			}
			x, gap := want.Distance().At(i), float64(want.Gap()[i])
			if lower := max(lower, p.lower(0, 1)); lower > 0 && !(lower <= x+gap) {
				t.Errorf("%+v, world %d: lower bound %v, distance %v ± %v", c, i, lower, x, gap)
			}
			if inner := p.upper(0, 1); !(min(upper, inner) >= x-gap) {
				t.Errorf("%+v, world %d: upper bound %v, distance %v ± %v", c, i, min(upper, inner), x, gap)
			}
			if lower > 0.8*x && x > 0 {
				tight++
			}
		}
	}
	if tight < 300 {
		t.Errorf("%d bounds are within a fifth of the distance", tight)
	}
}

// scaled returns the bodies k times as large.
func scaled(t *testing.T, b *batch.Bodies, k float64) *batch.Bodies {
	t.Helper()
	var shapes []geom.Shape
	for i := range int32(b.Library().Len()) {
		s, err := geom.Scaled(b.Library().Shape(i), k)
		if err != nil {
			t.Fatal(err)
		}
		shapes = append(shapes, s)
	}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	var list []batch.Body
	for i := range int32(b.Len()) {
		var body batch.Body
		for _, p := range b.Parts(i) {
			p.Pose.Position = r3.Scale(k, p.Pose.Position)
			body.Parts = append(body.Parts, p)
		}
		list = append(list, body)
	}
	bodies, err := batch.NewBodies(lib, list)
	if err != nil {
		t.Fatal(err)
	}
	return bodies
}

// TestStop: worlds whose contact bounds prove need no solver, and have the answers of those that are solved.
func TestStop(t *testing.T) {
	d := dispatcher(t)
	rng := rand.New(rand.NewPCG(4, 4))
	bodies := table(t, rng)
	w := scene(rng, bodies, 300, 12, 40, true)
	for i := range w.Poses { // closer
		if i%7 < 3 {
			w.Poses[i] *= 0.4
		}
	}
	o := Options{Reduce: ReduceWorld, Options: batch.Options{Query: batch.Collide}}
	stopped := &Job{Bodies: bodies, Worlds: w, Options: o}
	rep, err := Run(t.Context(), d, stopped, dispatch.Options{Backend: "cpu"})
	if err != nil {
		t.Fatal(err)
	}
	o.NoCulling = true
	want := run(t, d, bodies, w, o)
	got, fewer := stopped.Results, 0
	for i := range want.N {
		if got.Status()[i] != want.Status()[i] || got.Any[i] != want.Any[i] || got.Contacts[i] > want.Contacts[i] ||
			(got.Pair[i] < 0) != (want.Pair[i] < 0) || got.Bit(i) != want.Bit(i) {
			t.Fatalf("world %d: %v, any %d, %d contacts, pair %d; want %v, %d, %d, %d", i,
				batch.Status(got.Status()[i]),
				got.Any[i], got.Contacts[i], got.Pair[i], batch.Status(want.Status()[i]), want.Any[i], want.Contacts[i],
				want.Pair[i])
		}
		if got.Contacts[i] < want.Contacts[i] {
			fewer++
		}
	}
	if got.ContactsComplete || !want.ContactsComplete || fewer < 50 || rep.Solved*4 > rep.PartPairs {
		t.Errorf("complete %t and %t, %d worlds stopped, %d of %d pairs of parts solved", got.ContactsComplete,
			want.ContactsComplete, fewer, rep.Solved, rep.PartPairs)
	}
}

// inRow returns a world of all pairs of bodies of one shape, that many metres apart along x.
func inRow(shapes []int32, step float64) *batch.Worlds {
	w := &batch.Worlds{M: len(shapes), Bodies: shapes, AllPairs: true}
	for k := range shapes {
		p := geom.Translate(step*float64(k), 0, 0)
		w.Poses = appendPose(w.Poses, &p)
	}
	return w
}

// TestLeastOfAChain: the pairs of bodies next to one another are left out, as those of joined links are, and the
// others are beyond the largest distance. The world has a least distance, and its bounds hold.
func TestLeastOfAChain(t *testing.T) {
	bodies := bodiesOf(t, geom.Sphere{R: 0.5})
	w := inRow([]int32{0, 0, 0}, 10)
	w.SkipA, w.SkipB = []int32{0, 1}, []int32{1, 2}
	o := Options{Reduce: ReduceWorld, MaxDistance: 0.1, HasMaxDistance: true}
	r, _ := mustRun(t, dispatcher(t), bodies, w, o, "ref")
	d, gap := r.Distance().At(0), float64(r.Gap()[0])
	if batch.Status(r.Status()[0]) != batch.Separated || !(d-gap >= 0.0999 && d-gap <= 19 && d+gap >= 19) {
		t.Errorf("%v, distance %g ± %g, want an interval that holds 19 and begins about 0.1 or above",
			batch.Status(r.Status()[0]), d, gap)
	}
	w.SkipA, w.SkipB = append(w.SkipA, 0), append(w.SkipB, 2)
	if r, _ := mustRun(t, dispatcher(t), bodies, w, o, "ref"); !math.IsInf(r.Distance().At(0), 1) || r.Gap()[0] != 0 {
		t.Errorf("no pair is asked: distance %g ± %g, want +Inf ± 0", r.Distance().At(0), r.Gap()[0])
	}
}

// TestInvalidPairsOfAllPairs: two half-spaces, which have no depth, beside a body with a bad pose. The report names
// each.
func TestInvalidPairsOfAllPairs(t *testing.T) {
	bodies := bodiesOf(t, geom.Halfspace{}, geom.Sphere{R: 0.5})
	w := inRow([]int32{0, 0, 1}, 1)
	w.Poses[7*2] = math.NaN()
	job := &Job{Bodies: bodies, Worlds: w, Options: Options{MaxDistance: 1, HasMaxDistance: true}}
	rep, err := Run(t.Context(), dispatcher(t), job, dispatch.Options{Backend: "ref"})
	if err != nil {
		t.Fatal(err)
	}
	if rep.Counts[batch.Invalid] != 3 || len(rep.RowErrors) != 2 {
		t.Fatalf("counts %v, %d row errors, want 3 invalid rows by 2 errors", rep.Counts, len(rep.RowErrors))
	}
	for _, e := range rep.RowErrors {
		t.Log(e)
	}
}

// TestUpdateOfAnotherForm: the same poses in one world of many bodies are not those of many worlds of few.
func TestUpdateOfAnotherForm(t *testing.T) {
	bodies := bodiesOf(t, geom.Sphere{R: 0.5})
	w := inRow([]int32{0, 0, 0, 0}, 10)
	w.M, w.AllPairs, w.TemplateA, w.TemplateB = 2, false, []int32{0}, []int32{1}
	b, err := Hold(dispatcher(t), bodies, w, Options{}, dispatch.Options{Backend: "ref"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	other := *w
	other.M = 0
	if err := b.Update(&other); err == nil {
		t.Error("worlds of 2 bodies were updated by one world of 4")
	}
}

// bodiesOf returns bodies of one shape each.
func bodiesOf(t *testing.T, shapes ...geom.Shape) *batch.Bodies {
	t.Helper()
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	return batch.BodiesOfShapes(lib)
}
