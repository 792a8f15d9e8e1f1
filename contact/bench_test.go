package contact_test

import (
	"context"
	"testing"

	"clearance/contact"
	"clearance/contact/scenes"
	"clearance/cpu"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/spatial/r3"
)

// BenchmarkStep is a step of 256 worlds by one worker, after half a second of simulated time.
func BenchmarkStep(b *testing.B) {
	for _, kind := range scenes.SimulationKinds() {
		b.Run(kind, func(b *testing.B) {
			const worlds = 256
			scene, state, err := scenes.Simulation(kind, worlds, 1)
			if err != nil {
				b.Fatal(err)
			}
			solver, err := cpu.New(cpu.Options{Workers: 1})
			if err != nil {
				b.Fatal(err)
			}
			defer solver.Close()
			s, err := contact.NewSimulation(scene, state, solver, contact.StepOptions{TimeStep: 5e-3,
				Gravity: r3.Vec{Z: -9.81}, Solve: contact.Options{Workers: 1}})
			if err != nil {
				b.Fatal(err)
			}
			step := func() {
				if err := s.Step(context.Background(), nil); err != nil {
					b.Fatal(err)
				}
			}
			for range 100 {
				step()
			}
			b.ReportAllocs()
			before := testkit.CPUTime(b)
			for b.Loop() {
				step()
			}
			used := testkit.CPUTime(b) - before
			b.ReportMetric(1e6*used.Seconds()/float64(worlds*b.N), "µs-CPU/world-step")
			b.ReportMetric(float64(worlds)*float64(b.N)/b.Elapsed().Seconds(), "world-steps/s")
		})
	}
}
