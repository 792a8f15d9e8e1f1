package ref

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
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
