package ref

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
)

// tracedPairs are pairs of every kind with every kind: separated, touching and penetrating.
func tracedPairs(rounds int) []placed {
	set := mixedPairs(71, rounds)
	g := rand.New(rand.NewPCG(72, 1))
	made := slices.Sorted(maps.Keys(everyKind))
	shapes := []geom.Shape{geom.Halfspace{}, geom.WithMargin(geom.Halfspace{}, 0.1), growthKinds["smooth hull"](g),
		growthKinds["smooth revolution"](g)}
	for _, s := range shapes {
		for _, name := range made {
			for i := range 3 {
				set = append(set, scatter(g, s, everyKind[name](g), i+2), scatter(g, everyKind[name](g), s, i+2))
			}
		}
		for _, other := range shapes {
			set = append(set, scatter(g, s, other, 3), scatter(g, s, other, 2))
		}
	}
	return set
}

// TestTraceEndsAtTheAnswer: of every kind with every kind, by every method, recording changes no bit of the answer, the
// last step has its bounds, there is a step for every evaluation, and what each step states is true of the shapes.
func TestTraceEndsAtTheAnswer(t *testing.T) {
	var ws Workspace
	kinds, by := map[[2]geom.Kind]bool{}, map[StepSolver]int{}
	proved := map[StepSolver]int{}
	for i, q := range tracedPairs(rounds(4)) {
		p, f := q.pair(), q.frame()
		kinds[[2]geom.Kind{q.a.Kind(), q.b.Kind()}] = true
		for m := range MethodCount {
			o := Options{Method: m, Tolerance: float64(i%2) * 1e-6 * p.Size(), Boolean: i%7 == 3}
			if m == MethodFrankWolfe {
				o.MaxIterations = 100
			}
			want := used(Solve(&p, o, &ws))
			var trace Trace
			o.Trace = &trace
			r := used(Solve(&p, o, &ws))
			if r != want && !(r.Status == Invalid && want.Status == Invalid) {
				t.Fatalf("pair %d, %v: traced %+v, want %+v\n%s", i, m, r, want, q.describe())
			}
			last := trace.last()
			if last.Solver != StepAnswer || last.Lower != want.Lower || last.Upper != want.Upper ||
				last.Support.A != want.WitnessA || last.Support.B != want.WitnessB {
				t.Fatalf("pair %d, %v: ends at %+v, the answer is %+v", i, m, last, want)
			}
			if want.Status == Invalid {
				continue
			}
			steps := len(trace.Steps) - 1
			if steps > want.Iterations || steps < want.Iterations && want.Ended != EndedByEPA {
				t.Fatalf("pair %d, %v: %d steps, %d evaluations", i, m, steps, want.Iterations)
			}
			best := Step{Lower: math.Inf(-1), Upper: math.Inf(1)}
			for k, s := range trace.Steps[:len(trace.Steps)-1] {
				by[s.Solver]++
				checkStep(t, &f, &p, &s, k, &want)
				best.Lower, best.Upper = max(best.Lower, s.Lower), min(best.Upper, s.Upper)
			}
			// Where the steps prove the answer, their bounds are those of the answer, but for rounding.
			if r.Status == Separated && !o.Boolean {
				if !(best.Lower >= want.Lower-2*f.slack && best.Upper <= want.Upper+2*f.slack+p.tolerance(&o, 1e-12)) {
					t.Fatalf("pair %d, %v: steps prove [%g, %g], the answer is [%g, %g]\n%s", i, m,
						best.Lower, best.Upper, want.Lower, want.Upper, q.describe())
				}
				proved[last.Solver]++
			}
		}
	}
	for s := StepGJK; s <= StepFormula; s++ {
		if by[s] == 0 && s != StepInscribed {
			t.Errorf("no step by %v", s)
		}
	}
	for k := range geom.KindCount {
		for l := range geom.KindCount {
			if !kinds[[2]geom.Kind{k, l}] {
				t.Errorf("no pair of %v and %v", k, l)
			}
		}
	}
	t.Logf("steps by solver %v, answers %v", by, proved)
}

// checkStep compares a step with the shapes: its vertex, its lower bound and its iterate.
func checkStep(t *testing.T, f *frame, p *Pair, s *Step, k int, want *Result) {
	t.Helper()
	slack := 4 * f.slack * max(residualUnits(p.A), residualUnits(p.B))
	if s.Evaluation != k+1 || math.Abs(norm(s.Direction)-1) > 8*eps {
		t.Fatalf("step %d: %+v", k, s)
	}
	if !(norm(r3.Sub(s.Support.W, r3.Sub(s.Support.A, s.Support.B))) <= slack) {
		t.Fatalf("step %d: %v is not the difference of %v and %v", k, s.Support.W, s.Support.A, s.Support.B)
	}
	if h := f.value(s.Direction); !(math.Abs(-h-s.Lower) <= slack) {
		t.Fatalf("step %d by %v: lower bound %g, the support value is %g\n%s", k, s.Solver, s.Lower, h, f.q.describe())
	}
	if !(s.Lower <= want.Upper+slack) || !(s.Upper >= want.Lower-slack) {
		t.Fatalf("step %d by %v proves [%g, %g], the answer is [%g, %g]\n%s", k, s.Solver, s.Lower, s.Upper,
			want.Lower, want.Upper, f.q.describe())
	}
	if s.Known && s.Solver <= StepFrankWolfe {
		sum, x := 0.0, r3.Vec{}
		for i := range s.Simplex.N {
			sum += s.Simplex.Lambda[i]
			x = r3.Add(x, r3.Scale(s.Simplex.Lambda[i], s.Simplex.V[i].W))
		}
		if math.Abs(sum-1) > 16*eps || norm(r3.Sub(x, s.Iterate)) > slack {
			t.Fatalf("step %d by %v: iterate %v, its simplex gives %v, weights %g", k, s.Solver, s.Iterate, x, sum)
		}
	}
}

// TestTraceOfBoxes: GJK begins along the line of the centers, which proves the distance of these boxes at once.
func TestTraceOfBoxes(t *testing.T) {
	p := NewPair(geom.Box{HalfExtents: r3.Vec{X: 1, Y: 1, Z: 1}}, geom.Box{HalfExtents: r3.Vec{X: 1, Y: 1, Z: 1}},
		geom.IdentityPose(), geom.Pose{Position: r3.Vec{X: 3}, Rotation: geom.IdentityPose().Rotation})
	var trace Trace
	r := Solve(&p, Options{Trace: &trace}, nil)
	first, last := trace.Steps[0], trace.last()
	if first.Direction != (r3.Vec{X: 1}) || math.Abs(first.Lower-1) > 1e-13 || !math.IsInf(first.Upper, 1) {
		t.Errorf("the first step %+v, want one along x that proves 1", first)
	}
	if !(last.Lower <= 1 && 1 <= last.Upper) || last.Upper-last.Lower > 1e-12 || last.Lower != r.Lower {
		t.Errorf("the last step proves [%g, %g], want 1", last.Lower, last.Upper)
	}
}

// TestTraceAllocatesSteps: beside the steps, recording allocates nothing. TestNoAllocations covers the rest.
func TestTraceAllocatesSteps(t *testing.T) {
	set := mixedPairs(62, 4)
	var ws Workspace
	var trace Trace
	run := func() {
		trace.Steps = trace.Steps[:0]
		for i := range set {
			p := set[i].pair()
			Solve(&p, Options{Trace: &trace, Tolerance: 1e-4 * p.Size()}, &ws)
		}
	}
	run()
	if n := testing.AllocsPerRun(3, run); n != 0 {
		t.Errorf("%g allocations beside the steps, want 0", n)
	}
}

// tracedGrowths are pairs of every kind with every kind about centers of their own, half-spaces among them, and centers
// that coincide.
func tracedGrowths(rounds int) (pairs []placed, centers []GrowthCenters) {
	pairs, centers = growthPairs(341, rounds)
	g := rand.New(rand.NewPCG(342, 1))
	planes := []geom.Shape{geom.Halfspace{}, geom.WithMargin(geom.Halfspace{}, 0.1)}
	for _, plane := range planes {
		for _, name := range growthKindNames {
			s := growthKinds[name](g)
			for _, q := range []placed{scatter(g, s, plane, 3), scatter(g, plane, s, 2)} {
				pairs, centers = append(pairs, q), append(centers, centersOf(q.a, q.b))
			}
		}
		for _, other := range planes {
			pairs, centers = append(pairs, scatter(g, plane, other, 2)), append(centers, GrowthCenters{})
		}
	}
	q := scatter(g, geom.Sphere{R: 1}, geom.Box{HalfExtents: r3.Vec{X: 1, Y: 2, Z: 3}}, 2)
	q.pb.Position = q.pa.Position
	return append(pairs, q), append(centers, centersOf(q.a, q.b))
}

// TestGrowthTraceEndsAtTheAnswer: of every kind with every kind, by every method, recording changes no bit of the
// answer, there is a step for every evaluation, what each states is true of the shapes, the best bounds of the steps
// narrow to those of the answer in every bit, and the last step is the answer.
func TestGrowthTraceEndsAtTheAnswer(t *testing.T) {
	var ws Workspace
	kinds, by := map[[2]geom.Kind]bool{}, map[StepSolver]int{}
	pairs, centers := tracedGrowths(rounds(2))
	for i := range pairs {
		q, c := &pairs[i], &centers[i]
		p := q.pair()
		kinds[[2]geom.Kind{q.a.Kind(), q.b.Kind()}] = true
		for m := range GrowthMethodCount {
			o := GrowthOptions{Method: m, Tolerance: float64(i%2) * 1e-6, Boolean: i%7 == 3}
			want := used(Growth(&p, *c, o, &ws))
			var trace Trace
			o.Trace = &trace
			r := used(Growth(&p, *c, o, &ws))
			if r != want && !(r.Status == Invalid && want.Status == Invalid) {
				t.Fatalf("pair %d, %v: traced %+v, want %+v\n%s", i, m, r, want, q.describe())
			}
			last := trace.last()
			if last.Solver != StepAnswer || last.Lower != want.Lower || last.Upper != want.Upper ||
				last.Support.A != want.WitnessA || last.Support.B != want.WitnessB {
				t.Fatalf("pair %d, %v: ends at %+v, the answer is %+v", i, m, last, want)
			}
			steps := trace.Steps[:len(trace.Steps)-1]
			if len(steps) != want.Iterations {
				t.Fatalf("pair %d, %v: %d steps, %d evaluations", i, m, len(steps), want.Iterations)
			}
			v := newGrowthView(q, c)
			lower, upper := 0.0, math.Inf(1)
			for k := range steps {
				s := &steps[k]
				by[s.Solver]++
				checkGrowthStep(t, &v, s, k, &want)
				lower, upper = max(lower, s.Lower), min(upper, s.Upper)
			}
			if len(steps) > 0 && (lower != want.Lower || upper != want.Upper) {
				t.Fatalf("pair %d, %v: the steps prove [%.17g, %.17g], the answer is [%.17g, %.17g]\n%s", i, m, lower,
					upper, want.Lower, want.Upper, q.describe())
			}
		}
	}
	for _, s := range []StepSolver{StepFormula, StepGrowth, StepNewton, StepExpansion} {
		if by[s] == 0 {
			t.Errorf("no step by %v", s)
		}
	}
	for k := range geom.KindCount {
		for l := range geom.KindCount {
			if !kinds[[2]geom.Kind{k, l}] {
				t.Errorf("no pair of %v and %v", k, l)
			}
		}
	}
	t.Logf("steps by solver %v", by)
}

// checkGrowthStep compares a step with the shapes: its vertex, the plane that proves its lower bound, the points that
// prove its upper bound, and both bounds with the answer.
func checkGrowthStep(t *testing.T, v *growthView, s *Step, k int, want *Result) {
	t.Helper()
	units := max(residualUnits(v.q.a), residualUnits(v.q.b))
	slack := 4 * v.slack * units
	if s.Evaluation != k+1 || math.Abs(norm(s.Direction)-1) > 8*eps {
		t.Fatalf("step %d: %+v", k, s)
	}
	if !(norm(r3.Sub(s.Support.W, r3.Sub(s.Support.A, s.Support.B))) <= slack) {
		t.Fatalf("step %d: %v is not the difference of %v and %v", k, s.Support.W, s.Support.A, s.Support.B)
	}
	if !(s.Lower <= want.Upper && s.Upper >= want.Lower) {
		t.Fatalf("step %d by %v proves [%g, %g], the answer is [%g, %g]\n%s", k, s.Solver, s.Lower, s.Upper, want.Lower,
			want.Upper, v.q.describe())
	}
	if unbounded(v.q.a) || unbounded(v.q.b) {
		return
	}
	h, along := v.value(s.Direction), r3.Dot(s.Direction, v.ray)
	if !(s.Lower*(h-2*v.slack) <= max(along, 0)+2*v.slack) {
		t.Fatalf("step %d by %v: lower bound %g, the plane proves %g/%g\n%s", k, s.Solver, s.Lower, along, h,
			v.q.describe())
	}
	if found := r3.Dot(s.Direction, r3.Add(s.Support.W, v.ray)); !(math.Abs(found-h) <= slack) {
		t.Fatalf("step %d by %v: the vertex is at %g, the support value is %g\n%s", k, s.Solver, found, h,
			v.q.describe())
	}
	if !s.Known {
		return
	}
	sum, x := 0.0, r3.Vec{}
	for i := range s.Simplex.N {
		w := &s.Simplex.V[i]
		sum += s.Simplex.Lambda[i]
		x = r3.Add(x, r3.Scale(s.Simplex.Lambda[i], r3.Sub(w.A, w.B)))
		inA, inB := v.q.a.Residual(w.A), v.q.b.Residual(v.pointB(w.B))
		if !(inA <= slack && inB <= slack) {
			t.Fatalf("step %d by %v: vertex %d lies %g outside A, %g outside B\n%s", k, s.Solver, i, inA, inB,
				v.q.describe())
		}
	}
	if math.Abs(sum-1) > 16*eps || norm(r3.Sub(x, s.Iterate)) > slack {
		t.Fatalf("step %d by %v: iterate %v, its simplex gives %v, weights %g", k, s.Solver, s.Iterate, x, sum)
	}
}

// TestGrowthTraceOfSpheres: balls of radius 1 and 0.5 whose centers are 3 apart meet at the factor 2, which the plane
// across the line of the centers proves from below, and the point where that line leaves A - B from above.
func TestGrowthTraceOfSpheres(t *testing.T) {
	a, b := geom.Sphere{R: 1}, geom.Sphere{R: 0.5}
	p := NewPair(a, b, geom.IdentityPose(), geom.Translate(3, 0, 0))
	var trace Trace
	r := Growth(&p, centersOf(a, b), GrowthOptions{Trace: &trace}, nil)
	first, last := &trace.Steps[0], trace.last()
	if len(trace.Steps) != 2 || first.Solver != StepFormula || first.Direction != (r3.Vec{X: 1}) ||
		math.Abs(first.Lower-2) > 1e-13 || math.Abs(first.Upper-2) > 1e-13 {
		t.Errorf("%d steps, the first %+v, want one along x that proves 2", len(trace.Steps)-1, first)
	}
	if d := r3.Sub(first.Iterate, r3.Vec{X: -1.5}); norm(d) > 1e-13 {
		t.Errorf("the point on the ray is %v, want -1.5, where A - B of center -3 and radius 1.5 ends", first.Iterate)
	}
	if last.Lower != r.Lower || last.Upper != r.Upper || last.Simplex.N != 1 ||
		last.Simplex.V[0].W != r3.Sub(r.WitnessA, r.WitnessB) {
		t.Errorf("the last step is %+v, the answer %+v", last, r)
	}
}
