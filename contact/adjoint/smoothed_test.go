package adjoint

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/contact"
)

// TestSmoothedStep: a ball that falls onto the ground ends the step at max(φ + Δt·v_f, 0) above it, whose derivative by
// φ is 0 or 1. With noise of the scale σ that of the mean is Φ(m/σ) of the margin m = φ + Δt·v_f, by which the smoothed
// step is biased: half of the jump at a margin of zero, 2 % at two σ. The estimate from 4,096 samples is within five of
// its standard deviations, at most (1/64)·√(m²/σ² + 3).
func TestSmoothedStep(t *testing.T) {
	const sigma, gap, samples = 1e-4, 5e-4, 4096
	margins := []float64{-2, -1, 0, 1, 2} // of σ, one a world
	scene := ballsScene(t, 1, 0, 0)
	state := &contact.State{Worlds: len(margins), Momentum: make([]float64, 6*len(margins))}
	for _, m := range margins {
		state.Pose = append(state.Pose, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0.1+gap, 1, 0, 0, 0)
		state.Velocity = append(state.Velocity, 0, 0, 0, 0, 0, (m*sigma-gap)/stepTime)
	}
	s, err := contact.NewSimulation(scene, state, kernelSolver(t), contact.StepOptions{TimeStep: stepTime,
		Solve: contact.Options{Tolerance: 1e-10}})
	if err != nil {
		t.Fatal(err)
	}
	bar := make([]StateCotangent, len(margins))
	for w := range bar {
		bar[w].Resize(2)
		clear(bar[w].Pose)
		clear(bar[w].Velocity)
		clear(bar[w].Momentum)
		bar[w].Pose[6+2] = 1
	}
	var g SmoothedStep
	o := StepNoise{Samples: samples, Seed: 1, Position: sigma}
	if err := Smoothed(context.Background(), s, nil, bar, &o, &g); err != nil {
		t.Fatal(err)
	}
	for w, m := range margins {
		got, want := g.Pose[12*w+6+2], 0.5*math.Erfc(-m/math.Sqrt2)
		exact := 0.0
		if m > 0 {
			exact = 1
		}
		t.Logf("margin %gσ: %.4f, mean %.4f, bias %.4f", m, got, want, want-exact)
		if !(math.Abs(got-want) <= 5./64*math.Sqrt(m*m+3)) || g.Answered[w] != samples {
			t.Errorf("margin %gσ: %.4f of %d samples, want %.4f", m, got, g.Answered[w], want)
		}
		if v := vecOf(g.Velocity[6*w+3:]); v != (r3.Vec{}) {
			t.Errorf("margin %gσ: %v by velocities without noise", m, v)
		}
	}
	// Noise does not depend on the other worlds but by numbers.
	alone, err := contact.NewSimulation(scene, &contact.State{Worlds: 1, Pose: state.Pose[28:42],
		Velocity: state.Velocity[12:18]}, kernelSolver(t), s.Options())
	if err != nil {
		t.Fatal(err)
	}
	var one SmoothedStep
	o.FirstWorld = 2
	if err := Smoothed(context.Background(), alone, nil, bar[:1], &o, &one); err != nil {
		t.Fatal(err)
	}
	if one.Pose[8] != g.Pose[12*2+8] {
		t.Errorf("a world alone: %g, want %g", one.Pose[8], g.Pose[12*2+8])
	}
	o.Samples = 0
	if err := Smoothed(context.Background(), alone, nil, bar[:1], &o, &one); err == nil {
		t.Error("no samples are taken")
	}
}

// TestSmoothedForces: a free body has the derivatives Δt/m of its velocity, Δt²/m of its position and about Δt/I of
// its spin by a force and a torque, and Δt of its angle by its spin. Of linear functions the estimate from N samples
// has the standard deviation g·√((k + 1)/N) at most with noise of k numbers of equal weight; it is within five of
// these.
func TestSmoothedForces(t *testing.T) {
	const samples = 4096
	scene := ballsScene(t, 1, 0, 0)
	copy(scene.Inertia[6:], []float64{4e-3, 4.4e-3, 3.7e-3, 0, 0, 0})
	state := &contact.State{Worlds: 1, Momentum: make([]float64, 6), Velocity: make([]float64, 6),
		Pose: []float64{0, 0, 0, 1, 0, 0, 0, 0, 0, 5, 1, 0, 0, 0}}
	s, err := contact.NewSimulation(scene, state, kernelSolver(t), contact.StepOptions{TimeStep: stepTime,
		Solve: contact.Options{Tolerance: 1e-10}})
	if err != nil {
		t.Fatal(err)
	}
	mass, inertia := scene.Mass[1], scene.Inertia[6+2]
	for _, c := range []struct {
		name    string
		bar     func(*StateCotangent)
		noise   StepNoise
		got     func(*SmoothedStep) float64
		want    float64
		numbers float64 // of noise that change the function
	}{
		{"velocity by force", func(b *StateCotangent) { b.Velocity[3+2] = 1 }, StepNoise{Force: 0.1},
			func(g *SmoothedStep) float64 { return g.Force[6+2] }, stepTime / mass, 1},
		{"position by force", func(b *StateCotangent) { b.Pose[6+2] = 1 }, StepNoise{Force: 0.1},
			func(g *SmoothedStep) float64 { return g.Force[6+2] }, stepTime * stepTime / mass, 1},
		{"spin by torque", func(b *StateCotangent) { b.Momentum[3+2] = 1 }, StepNoise{Torque: 1e-4, BySpin: true},
			func(g *SmoothedStep) float64 { return g.Force[6+5] }, stepTime / inertia, 1},
		{"momentum by torque", func(b *StateCotangent) { b.Momentum[3+2] = 1 }, StepNoise{Torque: 1e-4},
			func(g *SmoothedStep) float64 { return g.Force[6+5] }, stepTime, 1},
		{"spin by spin", func(b *StateCotangent) { b.Momentum[3+2] = 1 }, StepNoise{Spin: 1e-2, BySpin: true},
			func(g *SmoothedStep) float64 { return g.Momentum[3+2] }, 1, 1},
		{"angle by spin", func(b *StateCotangent) { b.Pose[6+5] = 1 }, StepNoise{Spin: 1e-2, BySpin: true},
			func(g *SmoothedStep) float64 { return g.Momentum[3+2] }, stepTime, 1},
	} {
		bar := make([]StateCotangent, 1)
		bar[0].Resize(2)
		clear(bar[0].Pose)
		clear(bar[0].Velocity)
		clear(bar[0].Momentum)
		c.bar(&bar[0])
		c.noise.Samples, c.noise.Seed = samples, 3
		var g SmoothedStep
		if err := Smoothed(context.Background(), s, make([]float64, 12), bar, &c.noise, &g); err != nil {
			t.Fatal(err)
		}
		if got := c.got(&g); !(math.Abs(got-c.want) <= 5*c.want*math.Sqrt((c.numbers+1)/samples)) {
			t.Errorf("%s: %g, want %g", c.name, got, c.want)
		}
		if g.Velocity[3+2] != 0 || g.Pose[6+2] != 0 {
			t.Errorf("%s: %v and %v by what has no noise", c.name, g.Velocity, g.Pose)
		}
	}
}
