package ref

import (
	"testing"
)

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
