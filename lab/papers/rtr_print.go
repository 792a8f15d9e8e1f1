package papers

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
)

// printRTR prints [RTR, Table II].
func (r *Results) printRTR() string {
	var rows [][]string
	at := 0
	for i := range paperRTR {
		for j := i; j < len(paperRTR); j++ {
			c, paper := r.RTR.Cells[at], paperRTR[i][j]
			at++
			rows = append(rows, []string{
				c.A + ", " + c.B,
				fmt.Sprintf("%.0f", paper[0]), fmt.Sprintf("%.1f", c.EPA), fmt.Sprintf("%.2f", c.EPA/paper[0]),
				fmt.Sprintf("%.0f", paper[1]), fmt.Sprintf("%.1f", c.RTR), fmt.Sprintf("%.2f", c.RTR/paper[1]),
				fmt.Sprintf("%.1f", paper[0]/paper[1]), fmt.Sprintf("%.1f", c.EPA/c.RTR),
				fmt.Sprintf("%.1f", c.Certified), fmt.Sprintf("%.0f", c.EPASteps), fmt.Sprintf("%.0f", c.RTRSteps),
				fmt.Sprintf("%.0e", c.EPAOptimality), fmt.Sprintf("%.0e", c.RTROptimality), fmt.Sprint(c.Local),
			})
		}
	}
	return printTable([]string{
		"pair", "EPA: paper, µs", "ours, µs", "ratio", "RTR: paper, µs", "ours, µs", "ratio",
		"paper: EPA / RTR", "ours", "RTR certified, µs", "EPA steps", "RTR steps", "EPA optimality", "RTR optimality",
		"local minima",
	}, rows)
}

// printRTRShare prints how RTR's depths compare with EPA's.
func (r *Results) printRTRShare() string {
	t := r.RTR.totals()
	share := func(n int) string { return fmt.Sprintf("%.2f %%", 100*float64(n)/float64(t.Pairs)) }
	ratio := func(n int) string { return fmt.Sprintf("%.2f", 100*float64(n)/float64(t.Pairs)/99.96) }
	return printTable([]string{"RTR's depth, beside EPA's", "paper", "ours", "ratio"}, [][]string{
		{"smaller or equal, as computed", "99.96 %", share(t.NotAbove), ratio(t.NotAbove)},
		{"smaller or equal within the tolerance of both, 1e-4 m", "99.96 %", share(t.Smaller + t.Equal),
			ratio(t.Smaller + t.Equal)},
		{"… of these equal within the tolerance", "–", share(t.Equal), "–"},
		{"larger by more: a local minimum", "0.04 %", share(t.Pairs - t.Smaller - t.Equal),
			fmt.Sprintf("%.0f", 100*float64(t.Pairs-t.Smaller-t.Equal)/float64(t.Pairs)/0.04)},
	})
}

// printRTRDepths prints local minima by depth and number of starts.
func (r *Results) printRTRDepths() string {
	header := []string{"depth / sum of bounding radii", "pairs"}
	for _, s := range r.RTR.Starts {
		header = append(header, fmt.Sprintf("local minima, starts: %d", s), "µs")
	}
	var rows [][]string
	for _, d := range r.RTR.Depths {
		row := []string{fmt.Sprintf("%g to %g", d.Lo, d.Hi), fmt.Sprint(d.Pairs)}
		for k := range r.RTR.Starts {
			row = append(row, fmt.Sprintf("%.2f %%", 100*float64(d.Local[k])/float64(max(d.Pairs, 1))),
				fmt.Sprintf("%.1f", d.Time[k]))
		}
		rows = append(rows, row)
	}
	return printTable(header, rows)
}

// printRTRChoice prints the figures behind method auto.
func (r *Results) printRTRChoice() string {
	var rows [][]string
	for _, c := range r.RTR.Choice {
		regime := "overlapping"
		if c.Apart {
			regime = "apart"
		}
		rows = append(rows, []string{
			c.Shape, regime, fmt.Sprintf("%.0e", c.Tolerance), fmt.Sprintf("%.2f", c.GJK), fmt.Sprintf("%.2f", c.RTR),
			fmt.Sprintf("%.2f", c.Auto), fmt.Sprintf("%.0f %%", 100*c.Taken), fmt.Sprintf("%.2f", c.GJK/c.Auto),
		})
	}
	return printTable([]string{
		"shape, with itself", "regime", "tolerance / size", "GJK and EPA, µs", "RTR certified, µs", "auto, µs",
		"auto takes RTR", "GJK and EPA / auto",
	}, rows)
}

// printRTRMeshes prints Fig. 8 as a table.
func (r *Results) printRTRMeshes() string {
	var rows [][]string
	for _, m := range r.RTR.Meshes {
		for k, n := range m.Vertices {
			row := []string{m.Mesh, fmt.Sprint(n), fmt.Sprintf("%.1f", m.Hull[k]), "", "", "", "", ""}
			if k == 0 {
				row = append(row[:3], fmt.Sprintf("%.1f", m.FitRTR), fmt.Sprintf("%.1f", m.Certified),
					fmt.Sprintf("%.1f", m.FitEPA),
					fmt.Sprintf("%.1f, %.1f", 1e3*m.Errors.Outside, 1e3*m.Errors.Inside),
					fmt.Sprintf("%.1f %%", 100*float64(m.Local)/float64(m.Pairs)))
			}
			rows = append(rows, row)
		}
	}
	return printTable([]string{
		"object, with itself", "vertices of the hull", "GJK and EPA on it, µs", "RTR on the fit, µs", "certified, µs",
		"GJK and EPA on the fit, µs",
		"fit sticks out, falls short, mm", "local minima of RTR",
	}, rows)
}

// rtrFigures draws Fig. 6 and [RTR, Fig. 8].
func (r *Results) rtrFigures() []figure {
	if r.RTR == nil {
		return nil
	}
	depth := figure{
		name: "rtr-depth", title: "cube 1 with itself, overlapping", x: "depth, m",
		y: "time per pair, µs, median of rounds",
		lines: []line{{name: "GJK and EPA", colorFrom: 0}, {name: "RTR", colorFrom: 1},
			{name: "RTR, certified", colorFrom: 2}},
	}
	for _, t := range r.RTR.Times {
		for k, y := range []float64{t.EPA, t.RTR, t.Certified} {
			depth.lines[k].x, depth.lines[k].y = append(depth.lines[k].x, t.Depth), append(depth.lines[k].y, y)
		}
	}
	meshes := figure{
		name: "rtr-meshes", title: "an object with itself: EPA on hulls, RTR on a smooth hull (dashed)",
		x: "vertices of both hulls", y: "time per pair, µs", ticks: countTicks(),
	}
	for i, m := range r.RTR.Meshes {
		hull := line{name: m.Mesh, colorFrom: i}
		for k, n := range m.Vertices {
			hull.x, hull.y = append(hull.x, math.Log10(float64(2*n))), append(hull.y, m.Hull[k])
		}
		smooth := line{colorFrom: i, dashed: true, x: []float64{hull.x[0], hull.x[len(hull.x)-1]},
			y: []float64{m.FitRTR, m.FitRTR}}
		meshes.lines = append(meshes.lines, hull, smooth)
	}
	return []figure{depth, meshes}
}

// countTicks labels an axis of logarithms to base 10.
func countTicks() plot.ConstantTicks {
	var out plot.ConstantTicks
	for _, n := range []float64{20, 50, 100, 200, 500, 1000, 2000, 5000, 10000} {
		out = append(out, plot.Tick{Value: math.Log10(n), Label: fmt.Sprint(n)})
	}
	return out
}
