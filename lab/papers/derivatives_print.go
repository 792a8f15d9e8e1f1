package papers

import (
	"fmt"
	"math"
)

// paperTargets are the median, Q3 and D9 of [Smoothing, Table I], by the estimator of ours that repeats it.
var paperTargets = map[string][3]float64{
	differences(1e-6).name:                        {3e-3, 4e-2, 8e-2},
	differences(1e-3).name:                        {4e-14, 1e-2, 5e-2},
	zeroth(50, 1e-2).name:                         {2e-13, 2e-3, 5e-3},
	gaussianOfVector(20, 1e-3, false, false).name: {4e-8, 3e-7, 2e-6},
	gumbelOfVector(1e-4, false).name:              {1e-8, 7e-8, 2e-5},
}

// paperDerivativeTimes are means and deviations of [Smoothing, Table II], in µs: with a collision, and without.
var paperDerivativeTimes = map[string][2][2]float64{
	differences(1e-6).name:        {{78, 48}, {11.0, 7.3}},
	zeroth(10, 1e-2).name:         {{65, 36}, {9, 6}},
	zeroth(20, 1e-2).name:         {{122, 130}, {17, 10}},
	zeroth(50, 1e-2).name:         {{338, 391}, {47, 30}},
	zeroth(100, 1e-2).name:        {{613, 402}, {86, 45}},
	gaussian(10, 0.1, false).name: {{4.8, 1.4}, {3.1, 0.3}}, gaussian(20, 0.1, false).name: {{8.9, 2.8}, {5.8, 0.5}},
	gaussian(50, 0.1, false).name:  {{22, 8}, {15, 3}},
	gaussian(100, 0.1, false).name: {{42, 13}, {27, 3}},
	gumbel(1, 1e-2, false).name:    {{1.7, 0.5}, {1.6, 0.5}},
	gumbel(3, 1e-2, false).name:    {{4.1, 1.8}, {3.9, 1.4}},
	gumbel(5, 1e-2, false).name:    {{9.6, 7.8}, {9.7, 8.1}},
}

// printDerivativeTargets prints [Smoothing, Table I].
func (r *Results) printDerivativeTargets() string {
	header := []string{"derivatives", "paper"}
	for _, angle := range targetStarts {
		header = append(header, fmt.Sprintf("ours, start %.0f° away", angle*180/math.Pi))
	}
	var rows [][]string
	for _, t := range r.Derivatives.Targets {
		row := []string{t.Method, "–"}
		if q, ok := paperTargets[t.Method]; ok {
			row[1] = costs(q[:])
		}
		for _, q := range t.Quantiles {
			row = append(row, costs(q[2:]))
		}
		rows = append(rows, row)
	}
	return printTable(header, rows)
}

func costs(q []float64) string { return fmt.Sprintf("%.0e, %.0e, %.0e", q[0], q[1], q[2]) }

// printDerivativeCauses prints what Table I depends on.
func (r *Results) printDerivativeCauses() string {
	header := []string{"changed"}
	for _, m := range causeEstimators() {
		header = append(header, m.name)
	}
	var rows [][]string
	for _, c := range r.Derivatives.Causes {
		row := []string{c.Change}
		for k, q := range c.Quantiles {
			row = append(row, fmt.Sprintf("%.0f %%: %s", 100*c.Solved[k], costs(q[2:])))
		}
		rows = append(rows, row)
	}
	return printTable(header, rows)
}

// printDerivativeTimes prints [Smoothing, Table II].
func (r *Results) printDerivativeTimes() string {
	cell := func(v [2]float64) string { return plain(v[0]) + " ± " + plain(v[1]) }
	var rows [][]string
	for _, t := range r.Derivatives.Times {
		row := []string{t.Method, "–", cell(t.Collision), "–", "–", cell(t.Apart), "–"}
		if p, ok := paperDerivativeTimes[t.Method]; ok {
			row[1], row[4] = cell(p[0]), cell(p[1])
		}
		for side, v := range t.Batch {
			if v > 0 {
				row[3*side+3] = plain(v)
			}
		}
		rows = append(rows, row)
	}
	return printTable([]string{"derivatives", "collision: paper, µs", "ours", "in a batch", "none: paper, µs", "ours",
		"in a batch"}, rows)
}

// printDerivativeErrors prints bias and deviation.
func (r *Results) printDerivativeErrors() string {
	var rows [][]string
	for _, e := range r.Derivatives.Errors {
		row := []string{e.Method, "–", "–", fmt.Sprintf("%.2f", e.Bias), "–"}
		if e.Epsilon > 0 {
			row[1] = fmt.Sprint(e.Epsilon)
		}
		if e.Samples > 0 {
			row[2], row[4] = fmt.Sprint(e.Samples), fmt.Sprintf("%.2f", e.Deviation)
		}
		rows = append(rows, row)
	}
	return printTable([]string{"estimate", "ε", "samples", "bias", "deviation"}, rows)
}

// derivativeFigures draws [Smoothing, Fig. 5 and 6].
func (r *Results) derivativeFigures() (out []figure) {
	if r.Derivatives == nil {
		return nil
	}
	for _, c := range r.Derivatives.Curves {
		name := "derivatives-" + c.Figure
		if len(out) == 0 || out[len(out)-1].name != name {
			out = append(out, figure{name: name, title: "target witnesses on hulls of objects, starts 90° away",
				x: "steps of Gauss-Newton", y: "cost, m², median", logY: true, beside: true})
		}
		f := &out[len(out)-1]
		l := line{name: c.Method, colorFrom: len(f.lines)}
		for k, q := range c.Cost {
			l.x, l.y = append(l.x, float64(k)), append(l.y, max(q[1], smallestCost))
		}
		f.lines = append(f.lines, l)
	}
	return out
}

// smallestCost is where the axes of the figures end: below it costs are rounding.
const smallestCost = 1e-34
