package papers

import (
	"context"
	"fmt"
	"math"

	"clearance/ref"
)

// Curve is the error of a method against the number of support points it has asked
// for: the quartiles over the pairs of the distance found, less the true one.
type Curve struct {
	Shapes string       `json:"shapes"`
	Method string       `json:"method"`
	Error  [][3]float64 `json:"error"` // [k-1], m: quartiles after k support points
}

// convergence runs every method with a cap of 1, 2, … support points on pairs in close
// proximity. A method that has ended keeps its last error.
func convergence(ctx context.Context, lab *Lab, r *Results) error {
	n, steps := lab.pick(40, 300), lab.pick(30, 60)
	solvers := append([]solver{{"frank-wolfe", ref.MethodFrankWolfe}}, curvedSolvers...)
	r.Convergence = nil
	var ws ref.Workspace
	for _, g := range []group{ellipsoids, cubes} {
		pairs, err := sample{g.shape, textRegimes[1], g.stream + 50}.pairs(n)
		if err != nil {
			return err
		}
		truth := make([]float64, n)
		for j := range pairs {
			truth[j] = ref.GJK(&pairs[j].pair, ref.Options{}, &ws).Upper
		}
		for _, s := range solvers {
			c := Curve{Shapes: g.name, Method: s.name}
			for k := 1; k <= steps; k++ {
				if err := ctx.Err(); err != nil {
					return err
				}
				errs := make([]float64, n)
				for j := range pairs {
					o := options(false)
					o.Tolerance, o.MaxIterations = 1e-24, k
					got := solve(&pairs[j].pair, s.method, o, &ws)
					errs[j] = math.Abs(got.Upper - truth[j])
				}
				c.Error = append(c.Error, quartiles(errs))
			}
			r.Convergence = append(r.Convergence, c)
		}
	}
	return nil
}

// printConvergence prints how many support points it takes until half of the pairs are
// within a distance of the truth.
func (r *Results) printConvergence() string {
	levels := []float64{1e-2, 1e-4, 1e-6, 1e-8}
	header := []string{"shapes", "method"}
	for _, l := range levels {
		header = append(header, fmt.Sprintf("within %.0e m", l))
	}
	var rows [][]string
	for _, c := range r.Convergence {
		row := []string{c.Shapes, c.Method}
		for _, l := range levels {
			row = append(row, firstWithin(c.Error, l))
		}
		rows = append(rows, row)
	}
	return printTable(header, rows)
}

// firstWithin returns after how many steps the median of the quartiles is within a limit.
func firstWithin(quartiles [][3]float64, limit float64) string {
	for k, q := range quartiles {
		if q[1] <= limit {
			return fmt.Sprint(k + 1)
		}
	}
	return fmt.Sprintf("more than %d", len(quartiles))
}
