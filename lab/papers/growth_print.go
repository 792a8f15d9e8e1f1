package papers

import (
	"fmt"
	"strings"

	"clearance/lab/plots"
)

// printGrowthTimes prints [Growth, Table III].
func (r *Results) printGrowthTimes() string {
	var rows [][]string
	for _, t := range r.Growth.Times {
		than := r.Growth.time(t.Set, "cold", "IE")
		if t.Start == "warm" {
			than = r.Growth.time(t.Set, "cold", t.Method)
		}
		rows = append(rows, []string{
			t.Set, t.Start, t.Method, fmt.Sprintf("%.2f", t.Median), fmt.Sprintf("%.2f", t.High),
			fmt.Sprintf("%.1f", t.Evaluations), fmt.Sprintf("%.2f", than.Median/t.Median), fmt.Sprintf("%.0e", t.Gap),
			fmt.Sprintf("%.0e", t.Infeasibility), fmt.Sprint(t.Undecided),
		})
	}
	return printTable([]string{
		"set", "start", "method", "median, µs", "95th percentile, µs", "evaluations, mean",
		"cold: IE / method; warm: cold / warm", "largest gap", "largest infeasibility, m", "undecided",
	}, rows)
}

// time returns the row of a set, a start and a method.
func (g *GrowthResults) time(set, start, method string) GrowthTime {
	for _, t := range g.Times {
		if t.Set == set && t.Start == start && t.Method == method {
			return t
		}
	}
	return GrowthTime{}
}

// printGrowthVertices prints [Growth, Fig. 4] as a table.
func (r *Results) printGrowthVertices() string {
	var rows [][]string
	header := []string{"points"}
	for _, v := range r.Growth.Vertices {
		if v.N == r.Growth.Vertices[0].N {
			header = append(header, v.Method+", µs")
		}
		if k := len(rows); k == 0 || rows[k-1][0] != fmt.Sprint(v.N) {
			rows = append(rows, []string{fmt.Sprint(v.N)})
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], fmt.Sprintf("%.2f", v.Median))
	}
	return printTable(header, rows)
}

// printGrowthCurves prints after how many evaluations half of the pairs are within a gap.
func (r *Results) printGrowthCurves() string {
	levels := []float64{1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12}
	header := []string{"set", "method"}
	for _, l := range levels {
		header = append(header, fmt.Sprintf("%.0e", l))
	}
	var rows [][]string
	for _, c := range r.Growth.Curves {
		row := []string{c.Set, c.Method}
		for _, l := range levels {
			row = append(row, firstWithin(c.Gap, l))
		}
		rows = append(rows, row)
	}
	return printTable(header, rows)
}

// growthFigures draws [Growth, Fig. 3 to 5].
func (r *Results) growthFigures() []figure {
	if r.Growth == nil {
		return nil
	}
	times := figure{name: "growth-times", title: "growth distance, relative gap 1.5e-8", y: "median time of a call, µs",
		bars: new(plots.Bars)}
	series := map[string]int{}
	groups := map[string]int{}
	for _, t := range r.Growth.Times {
		if _, ok := groups[t.Set]; !ok {
			groups[t.Set] = len(groups)
			times.bars.Groups = append(times.bars.Groups, t.Set)
		}
	}
	for _, t := range r.Growth.Times {
		name := t.Method + ", " + t.Start
		k, ok := series[name]
		if !ok {
			k = len(series)
			series[name] = k
			times.bars.Series = append(times.bars.Series, plots.Series{Name: name, Color: k,
				Values: emptyBars(len(groups))})
		}
		times.bars.Series[k].Values[groups[t.Set]] = t.Median
	}
	vertices := figure{name: "growth-vertices", title: "random hulls", x: "points of each hull",
		y: "median time of a call, µs", logX: true, logY: true, beside: true}
	vertices.lines = linesOf(r.Growth.Vertices, func(v GrowthVertices) (string, float64, float64) {
		return v.Method, float64(v.N), v.Median
	})
	out := []figure{times, vertices}
	var last string
	for _, c := range r.Growth.Curves {
		if c.Set != last {
			last = c.Set
			out = append(out, figure{
				name: "growth-convergence-" + strings.ReplaceAll(c.Set, " ", "-"), title: c.Set,
				x: "evaluations of the support function", y: "relative gap, quartiles", logY: true,
			})
		}
		f := &out[len(out)-1]
		l := line{name: c.Method, colorFrom: len(f.lines)}
		for k, e := range c.Gap {
			l.x, l.y = append(l.x, float64(k+1)), append(l.y, e[1])
			l.lo, l.hi = append(l.lo, e[0]), append(l.hi, e[2])
		}
		f.lines = append(f.lines, l)
	}
	return out
}

// linesOf makes a line of each name from rows of name, x and y.
func linesOf[T any](rows []T, of func(T) (name string, x, y float64)) (out []line) {
	at := map[string]int{}
	for _, r := range rows {
		name, x, y := of(r)
		k, ok := at[name]
		if !ok {
			k = len(out)
			at[name] = k
			out = append(out, line{name: name, colorFrom: k})
		}
		out[k].x, out[k].y = append(out[k].x, x), append(out[k].y, y)
	}
	return out
}
