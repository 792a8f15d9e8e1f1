package contact_test

import (
	"context"
	"testing"

	"clearance/contact"
	"clearance/contact/scenes"
	"clearance/cpu"
	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/spatial/r3"
)

// BenchmarkStep is a step of 256 worlds by one worker, after half a second of simulated time.
func BenchmarkStep(b *testing.B) {
	for _, kind := range scenes.SimulationKinds() {
		b.Run(kind, func(b *testing.B) {
			worlds := 256
			if kind == "pile" {
				worlds = 8
			}
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

// BenchmarkManifold is the contact points of a box on the ground, and of a box on a box.
func BenchmarkManifold(b *testing.B) {
	features := func(s geom.Shape) *contact.Features {
		f, err := contact.NewFeatures(s)
		if err != nil {
			b.Fatal(err)
		}
		return f
	}
	box, ground := features(geom.Box{HalfExtents: r3.Vec{X: 0.1, Y: 0.12, Z: 0.08}}), features(geom.Halfspace{})
	on := geom.Translate(0.01, 0.02, 0.08).Compose(geom.Rotate(r3.Vec{Z: 1}, 0.3))
	up := r3.Vec{Z: 1}
	for _, c := range []struct {
		name string
		pair contact.Pair
	}{
		{"ground", contact.Pair{A: ground, B: box, PoseA: geom.IdentityPose(), PoseB: on, Normal: up, MaxGap: 1e-3}},
		{"box", contact.Pair{A: box, B: box, PoseA: geom.Translate(0, 0, -0.08), PoseB: on, Normal: up, MaxGap: 1e-3}},
	} {
		b.Run(c.name, func(b *testing.B) {
			var w contact.Workspace
			var m contact.Manifold
			for b.Loop() {
				w.Build(&c.pair, &m)
			}
			if m.N != contact.MaxPoints {
				b.Fatalf("%d points", m.N)
			}
		})
	}
}
