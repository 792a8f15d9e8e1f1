package papers

import (
	"context"
	"fmt"
	"math"

	"clearance/ref"
)

// variantMethods are the columns of Table II that are ours to repeat.
var variantMethods = []ref.Method{ref.MethodFrankWolfe, ref.MethodGJK, ref.MethodNesterov}

// column names a cell of the two tables of variants.
func column(regime string, m ref.Method) string { return regime + "/" + m.String() }

// chain goes from the sampling of the text to that of the published code and from our
// counting to theirs, one change a row. It shows which of them moves the means of
// Table II.
func chain(ctx context.Context, lab *Lab, r *Results) error {
	solvers := func(q *placed, m ref.Method, ws *ref.Workspace) int {
		return run(&q.pair, m, fullCap, ws).Iterations
	}
	printed := func(q *placed, m ref.Method, _ *ref.Workspace) int {
		return textbook(&q.pair, q.centers, rules{method: m, tolerance: epsilon}).supports
	}
	projections := func(q *placed, m ref.Method, _ *ref.Workspace) int {
		return textbook(&q.pair, q.centers, rules{method: m, tolerance: epsilon}).projections
	}
	rows := []struct {
		change string
		group  group
		count  func(*placed, ref.Method, *ref.Workspace) int
	}{
		{"our sampling of the text", ellipsoids, solvers},
		{"semi-axes normal, 0.1 ± 0.025 m, times 1, 5 or 10", group{"", roundEllipsoid(1, 5, 10), textRegimes, 100},
			solvers},
		{"the same without the factor", group{"", roundEllipsoid(1), textRegimes, 100}, solvers},
		{"distances ±0.1, ±0.01, ±0.001, ±0.0001 and 0.5, 1, 2.5, 5 m", published, solvers},
		{"algorithms as printed (∇f = 2x, Frank-Wolfe keeps x₀)", published, printed},
		{"counting projections, not support points", published, projections},
	}
	var got []Step
	for _, row := range rows {
		s := Step{row.change, map[string]Summary{}}
		var ws ref.Workspace
		for i, reg := range row.group.regimes {
			pairs, err := row.group.sample(i).pairs(lab.pairs())
			if err != nil {
				return err
			}
			for _, m := range variantMethods {
				if err := ctx.Err(); err != nil {
					return err
				}
				counts := make([]int, 0, len(pairs))
				for j := range pairs {
					counts = append(counts, row.count(&pairs[j], m, &ws))
				}
				s.Counts[column(reg.name, m)] = summarize(counts, math.MaxInt)
			}
		}
		got = append(got, s)
	}
	r.Chain = got
	return nil
}

// changedRules changes one rule of the algorithms at a time, on the sampling of the text.
func changedRules(ctx context.Context, lab *Lab, r *Results) error {
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
	got := make([]Step, len(variants))
	for i, v := range variants {
		got[i] = Step{v.change, map[string]Summary{}}
	}
	for _, g := range []group{ellipsoids, cubes} {
		for i, reg := range g.regimes {
			pairs, err := g.sample(i).pairs(lab.pairs())
			if err != nil {
				return err
			}
			for k, v := range variants {
				if g.name == cubes.name && v.rules.method == ref.MethodFrankWolfe {
					continue // see cubeGap
				}
				if err := ctx.Err(); err != nil {
					return err
				}
				v.rules.tolerance = epsilon
				counts := make([]int, 0, len(pairs))
				for j := range pairs {
					counts = append(counts, textbook(&pairs[j].pair, pairs[j].centers, v.rules).supports)
				}
				got[k].Counts[g.name+"/"+reg.name] = summarize(counts, textbookCap)
			}
		}
	}
	r.Rules = got
	return nil
}

// cubeGap shows how Frank-Wolfe on cubes grows with the edge and with 1/ε.
func cubeGap(ctx context.Context, lab *Lab, r *Results) error {
	n, limit := lab.pick(20, reducedPairs), lab.limit()
	var got []Step
	var ws ref.Workspace
	for _, edge := range []float64{0.05, 0.2, 1} {
		s := Step{fmt.Sprintf("%g", edge), map[string]Summary{}}
		pairs, err := sample{cubeOf(edge), textRegimes[1], 400}.pairs(n)
		if err != nil {
			return err
		}
		for _, tol := range cubeTolerances {
			if err := ctx.Err(); err != nil {
				return err
			}
			counts := make([]int, 0, n)
			for j := range pairs {
				o := ref.Options{StopRule: ref.StopDuality, Tolerance: tol, MaxIterations: limit}
				counts = append(counts, ref.FrankWolfe(&pairs[j].pair, o, &ws).Iterations)
			}
			s.Counts[fmt.Sprintf("%g", tol)] = summarize(counts, limit)
		}
		got = append(got, s)
	}
	r.CubeGap = got
	return nil
}

var cubeTolerances = []float64{1e-5, 1e-6, 1e-7, 1e-8}

func (r *Results) printChain() string {
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
	return printTable(header, append(rows, paper))
}

func (r *Results) printRules() string {
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
	return printTable(header, rows)
}

func (r *Results) printCubeGap() string {
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
	return printTable(header, rows)
}
