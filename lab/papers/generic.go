package papers

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"clearance/geom"
	"clearance/ref"

	"gonum.org/v1/gonum/spatial/r3"
)

// GenericRow compares a general QP solver with GJK on pairs of one polyhedron with
// itself (GJK++, Table II).
type GenericRow struct {
	Vertices int     `json:"vertices"`
	Faces    int     `json:"faces"`
	Pairs    int     `json:"pairs"`
	QP       float64 `json:"qp_ns"` // a pair, mean
	QPSD     float64 `json:"qp_ns_sd"`
	QPSteps  float64 `json:"qp_steps"` // changes of the active set, mean

	Methods []string  `json:"methods"`
	Mean    []float64 `json:"ns"`
	SD      []float64 `json:"ns_sd"`
}

// paperGeneric holds Table II of GJK++, µs on an Apple M1 Max: mean and standard deviation
// by vertices and method.
var paperGeneric = map[int]map[string][2]float64{
	8:   {"qp": {5.3, 2.7}, "gjk": {0.2, 0.03}, "nesterov-normalized": {0.2, 0.05}, "polyak": {0.2, 0.05}},
	250: {"qp": {2000, 600}, "gjk": {0.8, 0.3}, "nesterov-normalized": {0.7, 0.2}, "polyak": {0.6, 0.2}},
	940: {"qp": {20000, 14000}, "gjk": {2.1, 0.5}, "nesterov-normalized": {1.4, 0.3}, "polyak": {1.4, 0.4}},
}

// generic measures the QP solver, GJK and the accelerated methods.
func generic(ctx context.Context, lab *Lab, r *Results) error {
	n, times := lab.pick(10, 100), lab.pick(2, 5)
	solvers := []solver{{"gjk", ref.MethodGJK}, {"polyak", ref.MethodPolyak},
		{"nesterov-normalized", ref.MethodNesterovNormalized}}
	r.Generic = nil
	var ws ref.Workspace
	for k, vertices := range []int{8, 250, 940} {
		shape := geom.Shape(geom.Box{HalfExtents: r3.Vec{X: 0.1, Y: 0.1, Z: 0.1}})
		faces := 6
		if vertices > 8 {
			c, err := geom.NewConvex(sphere(vertices, 0.15))
			if err != nil {
				return err
			}
			shape, faces = c, len(c.Hull().FaceStart)-1
		}
		pairs, err := sample{func(*rand.Rand) geom.Shape { return shape }, span("close", 0, 0.1),
			850 + uint64(k)}.pairs(n)
		if err != nil {
			return err
		}
		row := GenericRow{Vertices: vertices, Faces: faces, Pairs: n}
		qp := make([]float64, n)
		for j := range pairs {
			if err := ctx.Err(); err != nil {
				return err
			}
			p := &pairs[j].pair
			best := math.Inf(1)
			for range times {
				start := time.Now()
				d, steps, err := ref.QuadraticProgram(p)
				if err != nil {
					return err
				}
				best = min(best, float64(time.Since(start)))
				if !(math.Abs(d-pairs[j].want) <= 1e-6*p.Size()) {
					return fmt.Errorf("the QP solver finds %g, placed at %g", d, pairs[j].want)
				}
				row.QPSteps += float64(steps) / float64(n*times)
			}
			qp[j] = best
		}
		row.QP, row.QPSD = meanSD(qp)
		for _, s := range solvers {
			ns := make([]float64, n)
			for j := range pairs {
				ns[j] = fastest(&pairs[j].pair, s, false, times, 10, &ws)
			}
			mean, sd := meanSD(ns)
			row.Methods, row.Mean, row.SD = append(row.Methods, s.name), append(row.Mean, mean), append(row.SD, sd)
		}
		r.Generic = append(r.Generic, row)
	}
	return nil
}

func (r *Results) printGeneric() string {
	var rows [][]string
	for _, g := range r.Generic {
		paper := paperGeneric[g.Vertices]
		line := func(method, ours string, ns float64) {
			p := paper[method]
			rows = append(rows, []string{
				fmt.Sprint(g.Vertices), fmt.Sprint(g.Faces), method,
				fmt.Sprintf("%g ± %g", p[0], p[1]), ours, fmt.Sprintf("%.2f", ns/1e3/p[0]),
				fmt.Sprintf("%.0f", paper["qp"][0]/p[0]), fmt.Sprintf("%.0f", g.QP/ns),
			})
		}
		line("qp", fmt.Sprintf("%.1f ± %.1f", g.QP/1e3, g.QPSD/1e3), g.QP)
		for k, m := range g.Methods {
			line(m, fmt.Sprintf("%.2f ± %.2f", g.Mean[k]/1e3, g.SD[k]/1e3), g.Mean[k])
		}
	}
	return printTable([]string{
		"vertices", "faces", "method", "paper, µs", "ours, µs", "ratio", "paper: QP's time / its time", "ours",
	}, rows)
}
