package papers

import (
	"fmt"
	"math"
	"testing"

	"clearance/ref"
)

// variantMethods are the columns of Table II that are ours to repeat.
var variantMethods = []ref.Method{ref.MethodFrankWolfe, ref.MethodGJK, ref.MethodNesterov}

// column names a cell of the two tables of variants.
func column(regime string, m ref.Method) string { return regime + "/" + m.String() }

// TestChain goes from the sampling of the text to that of the published code and
// from our counting to theirs, one change a row. It shows which of them moves
// the means of Table II.
func TestChain(t *testing.T) {
	n := reducedPairs
	if *update {
		n = fullPairs
	}
	solvers := func(q *placed, m ref.Method, ws *ref.Workspace) int {
		return run(&q.pair, m, fullCap, ws).Iterations
	}
	printed := func(q *placed, m ref.Method, _ *ref.Workspace) int {
		return textbook(&q.pair, q.centres, rules{method: m, tolerance: epsilon}).supports
	}
	projections := func(q *placed, m ref.Method, _ *ref.Workspace) int {
		return textbook(&q.pair, q.centres, rules{method: m, tolerance: epsilon}).projections
	}
	rows := []struct {
		change string
		group  group
		count  func(*placed, ref.Method, *ref.Workspace) int
	}{
		{"our sampling of the text", ellipsoids, solvers},
		{"semi-axes normal, 0.1 ± 0.025 m, times 1, 5 or 10", group{"", roundEllipsoid(1, 5, 10), textRegimes, 100}, solvers},
		{"the same without the factor", group{"", roundEllipsoid(1), textRegimes, 100}, solvers},
		{"distances ±0.1, ±0.01, ±0.001, ±0.0001 and 0.5, 1, 2.5, 5 m", published, solvers},
		{"algorithms as printed (∇f = 2x, Frank-Wolfe keeps x₀)", published, printed},
		{"counting projections, not support points", published, projections},
	}
	var got []step
	for _, row := range rows {
		s := step{row.change, map[string]summary{}}
		var ws ref.Workspace
		for i, reg := range row.group.regimes {
			pairs := row.group.sample(i).pairs(t, n)
			for _, m := range variantMethods {
				counts := make([]int, 0, n)
				for j := range pairs {
					counts = append(counts, row.count(&pairs[j], m, &ws))
				}
				s.Counts[column(reg.name, m)] = summarize(counts, math.MaxInt)
			}
		}
		got = append(got, s)
	}
	for _, s := range got {
		t.Logf("%s: %v", s.Change, s.Counts)
	}
	// With their sampling and their counting every mean comes within one standard
	// deviation of the paper's.
	last := got[len(got)-1].Counts
	for _, reg := range publishedRegimes {
		for _, m := range variantMethods {
			mean, sd := paperFigure("ellipsoids", reg.name, m.String())
			if s := last[column(reg.name, m)]; !(math.Abs(s.Mean-mean) <= sd) {
				t.Errorf("%s, %v: %v, paper %g ± %g", reg.name, m, s, mean, sd)
			}
		}
	}
	if *update {
		edit(t, func(r *results) { r.Chain = got })
		return
	}
	compareSteps(t, load(t).Chain, got)
}

// TestRules changes one rule of the algorithms at a time, on the sampling of the
// text, and checks that the printed algorithms and package ref count alike.
func TestRules(t *testing.T) {
	n := reducedPairs
	if *update {
		n = fullPairs
	}
	shifted := func(k int) float64 { return float64(k+2) / float64(k+3) }
	falling := func(k int) float64 { return 1 / float64(k+1) }
	nesterov, polyak := ref.MethodNesterov, ref.MethodPolyak
	variants := []struct {
		change string
		rules  rules
	}{
		{"GJK as printed", rules{method: ref.MethodGJK}},
		{"GJK, stop at a relative gap of 1e-8", rules{method: ref.MethodGJK, relative: true}},
		{"Frank-Wolfe as printed", rules{method: ref.MethodFrankWolfe}},
		{"Frank-Wolfe, first step to a vertex", rules{method: ref.MethodFrankWolfe, fromVert: true}},
		{"Nesterov as printed", rules{method: nesterov}},
		{"Nesterov, ∇f = x", rules{method: nesterov, halfGrad: true}},
		{"Nesterov, normalised", rules{method: nesterov, normalize: true}},
		{"Nesterov, δ = (k+2)/(k+3)", rules{method: nesterov, delta: shifted}},
		{"Nesterov, normalised, δ = (k+2)/(k+3)", rules{method: nesterov, normalize: true, delta: shifted}},
		{"Nesterov, stop at a relative gap of 1e-8", rules{method: nesterov, relative: true}},
		{"Polyak as printed", rules{method: polyak}},
		{"Polyak, ∇f = x", rules{method: polyak, halfGrad: true}},
		{"Polyak, ∇f = x, δ = 1/(k+1)", rules{method: polyak, halfGrad: true, delta: falling}},
	}
	got := make([]step, len(variants))
	for i, v := range variants {
		got[i] = step{v.change, map[string]summary{}}
	}
	var ws ref.Workspace
	for _, g := range []group{ellipsoids, cubes} {
		for i, reg := range g.regimes {
			pairs := g.sample(i).pairs(t, n)
			cell := g.name + "/" + reg.name
			for k, v := range variants {
				if g.name == cubes.name && v.rules.method == ref.MethodFrankWolfe {
					continue // see TestCubeGap
				}
				v.rules.tolerance = epsilon
				counts := make([]int, 0, n)
				for j := range pairs {
					counts = append(counts, textbook(&pairs[j].pair, pairs[j].centres, v.rules).supports)
				}
				got[k].Counts[cell] = summarize(counts, textbookCap)
			}
			alike(t, cell, pairs, rules{method: ref.MethodGJK}, &ws)
			alike(t, cell, pairs, rules{method: nesterov, halfGrad: true}, &ws)
			alike(t, cell, pairs, rules{method: polyak, halfGrad: true}, &ws)
		}
	}
	for _, s := range got {
		t.Logf("%s: %v", s.Change, s.Counts)
	}
	if *update {
		edit(t, func(r *results) { r.Rules = got })
		return
	}
	compareSteps(t, load(t).Rules, got)
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
		a, b := run(p, r.method, fullCap, ws), textbook(p, pairs[i].centres, r)
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

// TestCubeGap shows how Frank-Wolfe on cubes grows with the edge and with 1/ε.
func TestCubeGap(t *testing.T) {
	n, limit := 20, reducedCap
	if *update {
		n, limit = reducedPairs, fullCap
	}
	var got []step
	var ws ref.Workspace
	for _, edge := range []float64{0.05, 0.2, 1} {
		s := step{fmt.Sprintf("%g", edge), map[string]summary{}}
		pairs := sample{cubeOf(edge), textRegimes[1], 400}.pairs(t, n)
		for _, tol := range cubeTolerances {
			counts := make([]int, 0, n)
			for j := range pairs {
				o := ref.Options{StopRule: ref.StopDuality, Tolerance: tol, MaxIterations: limit}
				counts = append(counts, ref.FrankWolfe(&pairs[j].pair, o, &ws).Iterations)
			}
			s.Counts[fmt.Sprintf("%g", tol)] = summarize(counts, limit)
		}
		got = append(got, s)
	}
	// O(1/ε): ten times the accuracy costs about ten times the steps (more than
	// five times even where some pairs meet vertex to vertex and end early).
	small := got[0].Counts
	if a, b := small["1e-05"].Mean, small["1e-06"].Mean; !(b > 5*a && b < 20*a) {
		t.Errorf("edge 0.05: %g steps at 1e-5, %g at 1e-6, want about ten times as many", a, b)
	}
	for _, s := range got {
		t.Logf("%s: %v", s.Change, s.Counts)
	}
	if *update {
		edit(t, func(r *results) { r.CubeGap = got })
	}
}

var cubeTolerances = []float64{1e-5, 1e-6, 1e-7, 1e-8}

func compareSteps(t *testing.T, want, got []step) {
	t.Helper()
	w, g := map[string]map[string]summary{}, map[string]map[string]summary{}
	for _, s := range want {
		w[s.Change] = s.Counts
	}
	for _, s := range got {
		g[s.Change] = s.Counts
	}
	compare(t, w, g)
}

func (r *results) chain() string {
	header := []string{"change"}
	paper := []string{"**paper**"}
	for _, reg := range textRegimes {
		for _, m := range variantMethods {
			header = append(header, reg.name+", "+m.String())
			mean, sd := paperFigure("ellipsoids", reg.name, m.String())
			paper = append(paper, fmt.Sprintf("**%g ± %g**", mean, sd))
		}
	}
	var rows [][]string
	for _, s := range r.Chain {
		row := []string{s.Change}
		for _, reg := range textRegimes {
			for _, m := range variantMethods {
				row = append(row, s.Counts[column(reg.name, m)].String())
			}
		}
		rows = append(rows, row)
	}
	return table(header, append(rows, paper))
}

func (r *results) rules() string {
	header := []string{"rule"}
	var cells []string
	for _, g := range []group{ellipsoids, cubes} {
		for _, reg := range g.regimes {
			header = append(header, g.name+", "+reg.name)
			cells = append(cells, g.name+"/"+reg.name)
		}
	}
	var rows [][]string
	for _, s := range r.Rules {
		row := []string{s.Change}
		for _, c := range cells {
			if v, ok := s.Counts[c]; ok {
				row = append(row, v.String())
			} else {
				row = append(row, "–")
			}
		}
		rows = append(rows, row)
	}
	return table(header, rows)
}

func (r *results) cubeGap() string {
	header := []string{"edge, m"}
	for _, tol := range cubeTolerances {
		header = append(header, fmt.Sprintf("ε = %g", tol))
	}
	var rows [][]string
	for _, s := range r.CubeGap {
		row := []string{s.Change}
		for _, tol := range cubeTolerances {
			v := s.Counts[fmt.Sprintf("%g", tol)]
			cell := v.String()
			if v.Capped > 0 {
				cell += fmt.Sprintf(" (%d of %d at the cap)", v.Capped, v.N)
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	return table(header, rows)
}
