package papers

import (
	"context"
	"fmt"
	"slices"

	"clearance/ref"
)

// MeshRow is the time of the methods on pairs of one mesh with itself, in close
// proximity or overlapping by little (GJK++, Table I, Fig. 8 and 11).
type MeshRow struct {
	Name     string `json:"name"`
	Vertices int    `json:"vertices"`
	Question string `json:"question"`
	Pairs    int    `json:"pairs"`
	// By method, in the order of Methods: time of a pair in nanoseconds, mean and
	// standard deviation over the pairs, mean iterations, and the quartiles of the
	// time of GJK over that of the method, pair by pair.
	Methods    []string     `json:"methods"`
	Mean       []float64    `json:"ns"`
	SD         []float64    `json:"ns_sd"`
	Iterations []float64    `json:"iterations"`
	SpeedUp    [][3]float64 `json:"speed_up"`
}

// meshChoice returns up to n meshes spread over the vertex counts.
func meshChoice(all []Mesh, n int) []Mesh {
	sorted := slices.SortedFunc(slices.Values(all), func(a, b Mesh) int {
		return len(a.Hull.Hull().Vertices) -
			len(b.Hull.Hull().Vertices)
	})
	if len(sorted) <= n {
		return sorted
	}
	var out []Mesh
	for k := range n {
		out = append(out, sorted[k*(len(sorted)-1)/(n-1)])
	}
	return out
}

// meshTimes measures time per pair by mesh and method.
func meshTimes(ctx context.Context, lab *Lab, r *Results) error {
	n, times := lab.pick(20, 300), lab.pick(3, 10)
	near := span("close or shallow", -0.01, 0.1)
	r.Meshes = nil
	var ws ref.Workspace
	for k, m := range meshChoice(lab.meshes(), lab.pick(2, 3)) {
		pairs, err := sample{anyOf([]Mesh{m}), near, 800 + uint64(k)}.pairs(n)
		if err != nil {
			return err
		}
		for q, question := range questions {
			row := MeshRow{Name: m.Name, Vertices: len(m.Hull.Hull().Vertices), Question: question, Pairs: n}
			ns := make([][]float64, len(meshSolvers))
			for j := range pairs {
				if err := ctx.Err(); err != nil {
					return err
				}
				for i, s := range meshSolvers {
					ns[i] = append(ns[i], fastest(&pairs[j].pair, s, q == 1, times, 10, &ws))
				}
			}
			for i, s := range meshSolvers {
				mean, sd := meanSD(ns[i])
				steps, ratio := 0.0, make([]float64, n)
				for j := range pairs {
					steps += float64(solve(&pairs[j].pair, s.method, options(q == 1), &ws).Iterations) / float64(n)
					ratio[j] = ns[0][j] / ns[i][j]
				}
				row.Methods = append(row.Methods, s.name)
				row.Mean, row.SD = append(row.Mean, mean), append(row.SD, sd)
				row.Iterations = append(row.Iterations, steps)
				row.SpeedUp = append(row.SpeedUp, quartiles(ratio))
			}
			r.Meshes = append(r.Meshes, row)
		}
	}
	return nil
}

func (r *Results) printMeshes() string {
	var rows [][]string
	for _, m := range r.Meshes {
		for i, name := range m.Methods {
			rows = append(rows, []string{
				m.Name, fmt.Sprint(m.Vertices), m.Question, name,
				fmt.Sprintf("%.2f ± %.2f", m.Mean[i]/1e3, m.SD[i]/1e3), fmt.Sprintf("%.1f", m.Iterations[i]),
				fmt.Sprintf("%.2f (%.2f to %.2f)", m.SpeedUp[i][1], m.SpeedUp[i][0], m.SpeedUp[i][2]),
			})
		}
	}
	return printTable([]string{"mesh", "vertices", "question", "method", "µs a pair", "iterations",
		"GJK's time / its time: median (quartiles)"}, rows)
}
