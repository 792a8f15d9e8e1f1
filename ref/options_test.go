package ref

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/internal/testkit"
)

// solved is a pair with its full answer, which other questions are compared with.
type solved struct {
	placed
	p Pair
	r Result
}

func solvedPairs(t *testing.T, seed uint64, n int, ws *Workspace) []solved {
	t.Helper()
	var out []solved
	for _, q := range mixedPairs(seed, rounds(n)) {
		s := solved{placed: q, p: q.pair()}
		s.r = Solve(&s.p, Options{}, ws)
		if err := certify(&q, &Options{}, &s.r); err != nil || s.r.Status == Undecided {
			t.Fatalf("%+v: %v\n%s", s.r, err, q.describe())
		}
		out = append(out, s)
	}
	return out
}

// TestMethodsAgree solves every pair with every method. Frank-Wolfe, which needs a number
// of steps that grows like one over the gap, has a loose tolerance.
func TestMethodsAgree(t *testing.T) {
	var ws Workspace
	for i, s := range solvedPairs(t, 71, 8, &ws) {
		for m := range MethodCount {
			o := Options{Method: m}
			if m == MethodFrankWolfe {
				o.Tolerance = 1e-3 * s.p.Size()
			}
			r := Solve(&s.p, o, &ws)
			err := agree(&s.r, &r, 0)
			if err == nil {
				err = certify(&s.placed, &o, &r)
			}
			if err != nil || r.Status == Undecided {
				t.Fatalf("pair %d, %v: status %v: %v\n%+v\n%s", i, m, r.Status, err, r, s.describe())
			}
		}
	}
}

// TestBoolean compares the yes-or-no answer of every method with the sign of the distance.
func TestBoolean(t *testing.T) {
	var ws Workspace
	var full, boolean int
	seen := map[Status]int{}
	for i, s := range solvedPairs(t, 72, 8, &ws) {
		for m := range MethodFrankWolfe {
			o := Options{Boolean: true, Method: m}
			r := Solve(&s.p, o, &ws)
			seen[r.Status]++
			err := agree(&s.r, &r, 0)
			if err == nil {
				err = certify(&s.placed, &o, &r)
			}
			if err != nil || s.r.Status != Touching && r.Status != s.r.Status {
				t.Fatalf("pair %d, %v: %v, the distance says %v: %v\n%+v\n%s", i, m, r.Status, s.r.Status, err, r,
					s.describe())
			}
			if m == MethodGJK {
				full, boolean = full+s.r.Iterations, boolean+r.Iterations
			}
		}
	}
	if seen[Separated] == 0 || seen[Penetrating] == 0 {
		t.Errorf("statuses %v: the sample misses an outcome", seen)
	}
	if boolean >= full {
		t.Errorf("%d support evaluations for the Boolean question, %d for the distance", boolean, full)
	}
}

// TestCutOff asks for the distance up to a limit. Nearer pairs get the full answer;
// of farther ones the solver proves that they are farther.
func TestCutOff(t *testing.T) {
	var ws Workspace
	stopped, answered := 0, 0
	for i, s := range solvedPairs(t, 73, 8, &ws) {
		for _, limit := range []float64{0, 0.05, 1, -0.01} {
			for m := range MethodFrankWolfe {
				o := Options{HasCutOff: true, CutOff: limit, Method: m}
				r := Solve(&s.p, o, &ws)
				err := agree(&s.r, &r, 0)
				if err == nil {
					err = certify(&s.placed, &o, &r)
				}
				if err != nil || r.Status == Undecided {
					t.Fatalf("pair %d, %v, cut off at %g: %v\n%+v\n%s", i, m, limit, err, r, s.describe())
				}
				f := s.frame()
				full := r.Gap() <= f.tolerance(&o, &r)
				switch {
				case full:
					answered++
				case r.Lower > limit:
					stopped++
				default:
					t.Fatalf("pair %d, %v: neither a distance nor a proof of more than %g: %+v\n%s", i, m, limit, r,
						s.describe())
				}
			}
		}
	}
	if stopped == 0 || answered == 0 {
		t.Errorf("%d stopped at the limit, %d answered in full: the sample misses an outcome", stopped, answered)
	}
}

// TestIterationCap stops every method early: what is reported then is less, but true.
func TestIterationCap(t *testing.T) {
	var ws Workspace
	undecided := 0
	for i, s := range solvedPairs(t, 74, 4, &ws) {
		for _, limit := range []int{1, 2, 3, 4, 6, 10, 20} {
			for m := range MethodCount {
				o := Options{MaxIterations: limit, Method: m, Boolean: i%5 == 4}
				r := Solve(&s.p, o, &ws)
				err := agree(&s.r, &r, 0)
				if err == nil {
					err = certify(&s.placed, &o, &r)
				}
				if err != nil {
					t.Fatalf("pair %d, %v with %d steps: %v\n%+v\nfull %+v\n%s", i, m, limit, err, r, s.r, s.describe())
				}
				if r.Status == Undecided {
					undecided++
				}
			}
		}
	}
	if undecided == 0 {
		t.Error("no answer was undecided: the cap was never met")
	}
}

// TestWarmStart begins in the direction of the answer, which saves steps, in random ones
// and in absurd ones, which cost steps at worst.
func TestWarmStart(t *testing.T) {
	g := rand.New(rand.NewPCG(75, 1))
	var ws Workspace
	cold, warm := 0, 0
	for i, s := range solvedPairs(t, 75, 8, &ws) {
		for k, d := range []r3.Vec{
			s.r.Normal, r3.Scale(-1, s.r.Normal), testkit.Unit(g), {Z: -1},
			r3.Scale(1e-3, testkit.Unit(g)), r3.Scale(1e100, testkit.Unit(g)), r3.Scale(1e-200, testkit.Unit(g)),
			{X: math.NaN()},
		} {
			o := Options{WarmStart: d, Method: Method((i + k) % int(MethodFrankWolfe)), Boolean: k%2 == 1 && i%3 == 0}
			r := Solve(&s.p, o, &ws)
			err := agree(&s.r, &r, 0)
			if err == nil {
				err = certify(&s.placed, &o, &r)
			}
			if err != nil || r.Status == Undecided {
				t.Fatalf("pair %d, start %v, %v: %v\n%+v\nfull %+v\n%s", i, d, o.Method, err, r, s.r, s.describe())
			}
		}
		o := Options{WarmStart: s.r.Normal}
		r := Solve(&s.p, o, &ws)
		if s.r.Status == Separated {
			cold, warm = cold+s.r.Iterations, warm+r.Iterations
		}
	}
	if !(warm < cold) {
		t.Errorf("%d support evaluations from the answer's own normal, %d from the centers", warm, cold)
	}
}

// TestToleranceIsHonoured asks for gaps from 1e-1 of the size to less than float64 holds.
func TestToleranceIsHonoured(t *testing.T) {
	var ws Workspace
	last := math.MaxInt
	set := solvedPairs(t, 76, 4, &ws)
	for _, tolerance := range []float64{1e-15, 1e-13, 1e-11, 1e-9, 1e-6, 1e-3, 1e-1} {
		steps := 0
		for i, s := range set {
			o := Options{Tolerance: tolerance * s.p.Size()}
			if tolerance < 1e-9 && s.r.Status != Separated && !s.p.polytopes() {
				continue // a certified depth of curved shapes at that gap costs millions of facets
			}
			r := Solve(&s.p, o, &ws)
			err := agree(&s.r, &r, 0)
			if err == nil {
				err = certify(&s.placed, &o, &r)
			}
			if err != nil || r.Status == Undecided {
				t.Fatalf("pair %d at %g × size: %v\n%+v\n%s", i, tolerance, err, r, s.describe())
			}
			if s.r.Status == Separated {
				steps += r.Iterations
			}
		}
		if steps > last {
			t.Errorf("%d support evaluations at %g × size, %d at the next tighter tolerance", steps, tolerance, last)
		}
		last = steps
	}
}

// TestStopDuality repeats the papers' stopping rule: where it holds, the duality gap of
// the answer, computed from its witnesses and normal, is at most the tolerance.
func TestStopDuality(t *testing.T) {
	var ws Workspace
	checked := 0
	for i, s := range solvedPairs(t, 77, 4, &ws) {
		for _, solver := range []func(*Pair, Options, *Workspace) Result{GJK, GJKJohnson,
			func(p *Pair, o Options, ws *Workspace) Result { return Nesterov(p, o, true, ws) },
			func(p *Pair, o Options, ws *Workspace) Result { return Polyak(p, o, false, ws) },
			FrankWolfe,
		} {
			o := Options{StopRule: StopDuality, Tolerance: 1e-6, MaxIterations: 20000}
			r := solver(&s.p, o, &ws)
			if err := agree(&s.r, &r, 0); err != nil {
				t.Fatalf("pair %d: %v\n%+v\n%s", i, err, r, s.describe())
			}
			// Of the cores: the radii count neither for x nor for the plane.
			x, lower := r.Distance+s.p.Radius, r.Lower+s.p.Radius
			if r.Lower <= 0 || r.Iterations >= o.MaxIterations {
				continue
			}
			checked++
			if g := 2 * x * (x - lower); g > o.Tolerance+8*s.p.Roundoff()*x {
				t.Errorf("pair %d: duality gap %g m², want at most %g\n%s", i, g, o.Tolerance, s.describe())
			}
		}
	}
	if checked < 50 {
		t.Errorf("%d answers checked, want more", checked)
	}
}

// used clears what no caller may read: vertices beyond those in use.
func used(r Result) Result {
	for i := r.Simplex.N; i < 4; i++ {
		r.Simplex.V[i], r.Simplex.Lambda[i] = Vertex{}, 0
	}
	return r
}

// TestDeterminism solves the same pairs with a fresh workspace, none, one that has seen
// other pairs, and in reverse order: the answers are equal to the last bit.
func TestDeterminism(t *testing.T) {
	set := mixedPairs(61, rounds(8))
	var shared Workspace
	first := make([]Result, len(set))
	options := func(i int) Options {
		q := set[i].pair()
		return Options{Method: Method(i % int(MethodFrankWolfe)), Tolerance: float64(i%2) * 1e-6 * q.Size()}
	}
	for i := range set {
		p := set[i].pair()
		first[i] = used(Solve(&p, options(i), &shared))
	}
	for i := len(set) - 1; i >= 0; i-- {
		p := set[i].pair()
		var fresh Workspace
		for name, ws := range map[string]*Workspace{"reused": &shared, "fresh": &fresh, "nil": nil} {
			if r := used(Solve(&p, options(i), ws)); r != first[i] {
				t.Fatalf("pair %d with a %s workspace:\n%+v\nfirst:\n%+v\n%s", i, name, r, first[i], set[i].describe())
			}
		}
	}
}

func TestNoAllocations(t *testing.T) {
	set := mixedPairs(62, 4)
	var ws Workspace
	for m := range MethodCount {
		o := Options{Method: m}
		if m == MethodFrankWolfe {
			o.MaxIterations = 200
		}
		run := func() {
			for i := range set {
				p := set[i].pair()
				o.Tolerance = 1e-6 * p.Size()
				Solve(&p, o, &ws)
			}
		}
		run() // the workspace grows to what the hardest pair needs
		if n := testing.AllocsPerRun(3, run); n != 0 {
			t.Errorf("%v: %g allocations for %d pairs, want 0", m, n, len(set))
		}
	}
}
