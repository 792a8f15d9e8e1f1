package papers

import (
	"context"
	"fmt"
	"math"

	"clearance/ref"
)

// Sweep is what the methods took at a range of distances (GJK++, Fig. 7, 9 and 10).
type Sweep struct {
	Shapes   string       `json:"shapes"`   // ellipsoids, hulls
	Question string       `json:"question"` // distance, boolean
	Methods  []string     `json:"methods"`
	Points   []SweepPoint `json:"points"`
}

// SweepPoint is one distance: summaries and times in the order of the methods.
type SweepPoint struct {
	Distance    float64   `json:"distance"` // m, signed
	Iterations  []Summary `json:"iterations"`
	Nanoseconds []float64 `json:"ns"` // a pair, median over rounds
}

// sweepDistances are the fixed values from −0.1 to 1 m (GJK++, sec. IV).
var sweepDistances = []float64{-0.1, -0.05, -0.02, -0.01, -0.005, -0.001, 0.0001, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1,
	0.2, 0.5, 1}

// sweeps counts and times the methods against the distance.
func sweeps(ctx context.Context, lab *Lab, r *Results) error {
	objects := "hulls of scanned objects"
	if len(lab.Meshes) == 0 {
		objects = "random hulls"
	}
	kinds := []struct {
		name    string
		group   group
		solvers []solver
	}{
		{"ellipsoids", group{shape: wideEllipsoid, stream: 600}, curvedSolvers},
		{objects, group{shape: anyOf(lab.meshes()), stream: 700}, meshSolvers},
	}
	n, rounds := lab.pick(60, 1000), lab.pick(3, 7)
	r.Sweeps = nil
	var ws ref.Workspace
	for _, kind := range kinds {
		both := make([]Sweep, len(questions))
		for q := range both {
			both[q] = Sweep{Shapes: kind.name, Question: questions[q]}
			for _, s := range kind.solvers {
				both[q].Methods = append(both[q].Methods, s.name)
			}
		}
		for _, d := range sweepDistances {
			// The same stream at every distance: the same shapes and poses, where a
			// shape is not too small to overlap that far.
			pairs, err := sample{kind.group.shape, oneOf(fmt.Sprintf("%g m", d), d), kind.group.stream}.pairs(n)
			if err != nil {
				return err
			}
			for q := range both {
				if err := ctx.Err(); err != nil {
					return err
				}
				point := SweepPoint{Distance: d}
				for _, s := range kind.solvers {
					counts := make([]int, len(pairs))
					for j := range pairs {
						counts[j] = solve(&pairs[j].pair, s.method, options(q == 1), &ws).Iterations
					}
					point.Iterations = append(point.Iterations, summarize(counts, math.MaxInt))
				}
				point.Nanoseconds = timed(pairs, kind.solvers, q == 1, rounds, &ws)
				both[q].Points = append(both[q].Points, point)
			}
		}
		r.Sweeps = append(r.Sweeps, both...)
	}
	return nil
}

// printSweeps prints the means, one table for iterations and time of both questions.
func (r *Results) printSweeps() string {
	out := ""
	for _, s := range r.Sweeps {
		header := []string{"distance, m"}
		for _, m := range s.Methods {
			header = append(header, m+", iterations")
		}
		for _, m := range s.Methods {
			header = append(header, m+", µs")
		}
		var rows [][]string
		for _, p := range s.Points {
			row := []string{fmt.Sprint(p.Distance)}
			for _, v := range p.Iterations {
				row = append(row, v.String())
			}
			for _, ns := range p.Nanoseconds {
				row = append(row, fmt.Sprintf("%.2f", ns/1e3))
			}
			rows = append(rows, row)
		}
		out += fmt.Sprintf("**%s, %s**, %d pairs a distance\n\n%s\n", s.Shapes, s.Question, s.Points[0].Iterations[0].N,
			printTable(header, rows))
	}
	return out
}
