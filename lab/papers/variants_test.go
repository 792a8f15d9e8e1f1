package papers

import (
	"math"
	"testing"

	"clearance/ref"
)

// TestChain: with the authors' sampling and counting every mean comes within one
// standard deviation of the paper's.
func TestChain(t *testing.T) {
	got := quick(t, "chain").Chain
	last := got[len(got)-1].Counts
	for _, reg := range publishedRegimes {
		for _, m := range variantMethods {
			mean, sd := paperFigure("ellipsoids", reg.name, m.String())
			if s := last[column(reg.name, m)]; !(math.Abs(s.Mean-mean) <= sd) {
				t.Errorf("%s, %v: %v, paper %g ± %g", reg.name, m, s, mean, sd)
			}
		}
	}
	compareSteps(t, committed(t).Chain, got)
}

// TestRules compares with the committed counts and checks that the printed algorithms and
// package ref count alike.
func TestRules(t *testing.T) {
	compareSteps(t, committed(t).Rules, quick(t, "rules").Rules)
	var ws ref.Workspace
	for _, g := range []group{ellipsoids, cubes} {
		for i, reg := range g.regimes {
			pairs, err := g.sample(i).pairs(reducedPairs)
			if err != nil {
				t.Fatal(err)
			}
			cell := g.name + "/" + reg.name
			alike(t, cell, pairs, rules{method: ref.MethodGJK}, &ws)
			alike(t, cell, pairs, rules{method: ref.MethodNesterov, halfGrad: true}, &ws)
			alike(t, cell, pairs, rules{method: ref.MethodPolyak, halfGrad: true}, &ws)
		}
	}
}

// alike checks ref against the printed algorithm pair by pair. They round
// differently, so a run may end a step sooner or later where a gap falls on ε, and on
// cubes the last bit of a direction that is square to a face picks one of its four
// corners: one pair in ten may differ. The answers must agree within √ε.
func alike(t *testing.T, cell string, pairs []placed, r rules, ws *ref.Workspace) {
	t.Helper()
	r.tolerance = epsilon
	differ := 0
	for i := range pairs {
		p := &pairs[i].pair
		a, b := run(p, r.method, fullCap, ws), textbook(p, pairs[i].centers, r)
		if a.Iterations != b.supports {
			differ++
		}
		if d := math.Sqrt(b.x.X*b.x.X + b.x.Y*b.x.Y + b.x.Z*b.x.Z); !(math.Abs(d-a.Upper) <= math.Sqrt(epsilon)) {
			t.Errorf("%s, %v, pair %d: distance %g as printed, %g in ref", cell, r.method, i, d, a.Upper)
		}
	}
	if differ*10 > len(pairs) {
		t.Errorf("%s, %v: %d of %d counts differ from the printed algorithm", cell, r.method, differ, len(pairs))
	}
}

// TestCubeGap: O(1/ε), ten times the accuracy costs about ten times the steps (more than
// five times even where some pairs meet vertex to vertex and end early).
func TestCubeGap(t *testing.T) {
	small := quick(t, "cubes").CubeGap[0].Counts
	if a, b := small["1e-05"].Mean, small["1e-06"].Mean; !(b > 5*a && b < 20*a) {
		t.Errorf("edge 0.05: %g steps at 1e-5, %g at 1e-6, want about ten times as many", a, b)
	}
}

func compareSteps(t *testing.T, want, got []Step) {
	t.Helper()
	w, g := Table{}, Table{}
	for _, s := range want {
		w[s.Change] = s.Counts
	}
	for _, s := range got {
		g[s.Change] = s.Counts
	}
	compare(t, w, g)
}
