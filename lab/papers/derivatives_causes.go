package papers

import (
	"context"
	"fmt"
	"math"
)

// DerivativeCause is what becomes of some methods of Table I if one thing is changed, from starts at paperStart.
type DerivativeCause struct {
	Change    string       `json:"change"`
	Quantiles [][5]float64 `json:"quantiles"` // [k]: of the method number k of causeEstimators
	Solved    []float64    `json:"solved"`    // share of the costs below solvedCost
}

// solvedCost counts as solved: residuals of 4 mm.
const solvedCost = 1e-5

func causeEstimators() []estimator {
	return []estimator{differences(1e-6), gaussianOfVector(20, 1e-3, false, false), gumbelOfVector(1e-4, false),
		gumbel(0, 0, false)}
}

// derivativeCauses repeats Table I with other targets, sizes and starts.
func derivativeCauses(ctx context.Context, lab *Lab) (out []DerivativeCause, err error) {
	base := targetDraw{pairs: lab.pick(4, 50), each: lab.pick(2, 10), angle: paperStart, shape: roughShapes(paperAxes)}
	type change struct {
		name string
		of   func(*targetDraw)
	}
	changes := []change{{"none", func(*targetDraw) {}},
		{"targets anywhere on the surfaces", func(d *targetDraw) { d.surface = true }},
		{"semi-axes of 0.3 to 1 m", func(d *targetDraw) { d.shape = roughShapes(1) }}}
	for _, angle := range []float64{1, 1.5, 2.5, 3} {
		changes = append(changes, change{fmt.Sprintf("starts %.0f° away", angle*180/math.Pi),
			func(d *targetDraw) { d.angle = angle }})
	}
	for _, c := range changes {
		d := base
		c.of(&d)
		problems := d.problems(generator(420))
		row := DerivativeCause{Change: c.name}
		for _, m := range causeEstimators() {
			costs, err := finalCosts(ctx, problems, &m)
			if err != nil {
				return nil, err
			}
			solved := 0.0
			for _, v := range costs {
				if v < solvedCost {
					solved++
				}
			}
			row.Solved = append(row.Solved, solved/float64(len(costs)))
			row.Quantiles = append(row.Quantiles, quantiles(costs))
		}
		out = append(out, row)
	}
	return out, nil
}
