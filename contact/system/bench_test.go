package system_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"clearance/contact"
	"clearance/contact/system"
)

// BenchmarkSolve is a world of n velocities and c contacts without compliance, to 1e-6, and its VJP.
func BenchmarkSolve(b *testing.B) {
	for _, size := range [][2]int{{18, 4}, {38, 8}, {60, 20}, {18, 16}} {
		rng := rand.New(rand.NewPCG(48, 10))
		var problems []*system.Problem
		for range 20 {
			p := random(rng, size[0], size[1])
			p.Compliance, p.Offset, p.Target = nil, nil, nil
			problems = append(problems, p)
		}
		var m system.Solver
		var s system.Solution
		var g system.Gradient
		bar := make([]float64, size[0])
		for _, model := range []contact.Model{contact.NCP, contact.CCP} {
			o := system.Options{Model: model, Workers: 1}
			for _, derivative := range []bool{false, true} {
				b.Run(fmt.Sprint(size[0], "x", size[1], " ", model, " derivative=", derivative), func(b *testing.B) {
					steps := 0
					for i := range b.N {
						p := problems[i%len(problems)]
						if derivative {
							b.StopTimer()
						}
						if err := m.Solve(b.Context(), p, o, &s); err != nil {
							b.Fatal(err)
						}
						steps += int(s.Steps[0])
						if derivative {
							b.StartTimer()
							if err := m.VJP(b.Context(), p, &s, o, bar, nil, &g); err != nil {
								b.Fatal(err)
							}
						}
					}
					b.ReportMetric(float64(steps)/float64(b.N), "steps/op")
				})
			}
		}
	}
}
