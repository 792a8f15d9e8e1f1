package contact_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"clearance/batch"
	"clearance/contact"
	"clearance/contact/scenes"
	"clearance/cpu"
	"clearance/geom"
	"clearance/tests/need"

	"gonum.org/v1/gonum/spatial/r3"
)

// scaledBy returns a column times a power of two; nil of nil.
func scaledBy(v []float64, e int) []float64 {
	if v == nil {
		return nil
	}
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = math.Ldexp(x, e)
	}
	return out
}

// scaledTwists scales velocities and angular velocities.
func scaledTwists(v []float64, linear, angular int) []float64 {
	if v == nil {
		return nil
	}
	out := make([]float64, len(v))
	for i, x := range v {
		e := linear
		if i%6 >= 3 {
			e = angular
		}
		out[i] = math.Ldexp(x, e)
	}
	return out
}

// TestSolveScales: scaling masses, lengths or times of a problem by powers of two scales its answer by powers of two,
// bit for bit, by every variant of the kernels and in Go.
func TestSolveScales(t *testing.T) {
	n := 20
	if need.All() {
		n = 500
	}
	rng := rand.New(rand.NewPCG(44, 1))
	exponent := func() int { return rng.IntN(49) - 24 }
	for _, kind := range []string{"random", "slide", "spin", "tip", "stack4", "heavy", "graph"} {
		p, err := scenes.Generate(kind, n, 7)
		if err != nil {
			t.Fatal(err)
		}
		for _, variant := range []string{"", contact.Off} {
			for _, model := range []contact.Model{contact.NCP, contact.CCP} {
				mass, length, time := exponent(), exponent(), exponent()
				speed := length - time
				q := *p
				q.Mass, q.Inertia = scaledBy(p.Mass, mass), scaledBy(p.Inertia, mass+2*length)
				q.Velocity = scaledTwists(p.Velocity, speed, -time)
				q.ArmA, q.ArmB = scaledBy(p.ArmA, length), scaledBy(p.ArmB, length)
				q.Target, q.Warm = scaledBy(p.Target, speed), scaledBy(p.Warm, mass+speed)
				q.Compliance = scaledBy(p.Compliance, -mass)
				o := contact.Options{Model: model, SIMD: variant, Bound: model == contact.CCP}
				var a, b contact.Solution
				if err := contact.Solve(t.Context(), p, o, &a); err != nil {
					t.Fatal(err)
				}
				if err := contact.Solve(t.Context(), &q, o, &b); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(b.Impulse, scaledBy(a.Impulse, mass+speed)) ||
					!slices.Equal(b.Velocity, scaledTwists(a.Velocity, speed, -time)) ||
					!slices.Equal(b.Residual, scaledBy(a.Residual, speed)) ||
					!slices.Equal(b.Scale, scaledBy(a.Scale, speed)) || !slices.Equal(a.Status, b.Status) ||
					model == contact.CCP && !slices.Equal(b.Bound, scaledBy(a.Bound, speed)) ||
					!slices.Equal(b.Complementarity, scaledBy(a.Complementarity, mass+2*speed)) {
					t.Errorf("%s %v %q: other bits, scaled by 2^%d, 2^%d, 2^%d", kind, model, variant, mass, length,
						time)
				}
			}
		}
	}
}

// TestPushAtEverySize: a cube is pushed with a force that grows to twice its friction within 0.4 s. It starts to slide
// at half of that time, and has μg·t²/2T of the rest of it at the end.
func TestPushAtEverySize(t *testing.T) {
	const mu, g, dt, end = 0.4, 9.81, 1e-3, 0.4
	for _, size := range []struct{ mass, half float64 }{{1, 0.1}, {0.1, 0.05}, {1e-2, 1e-2}, {1e-4, 2e-3}} {
		lib, err := batch.NewLibrary([]geom.Shape{geom.Halfspace{},
			geom.Box{HalfExtents: r3.Vec{X: size.half, Y: size.half, Z: size.half}}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		i := size.mass * 2 / 3 * size.half * size.half
		scene := &contact.Scene{Bodies: batch.BodiesOfShapes(lib), Body: []int32{0, 1},
			Mass: []float64{math.Inf(1), size.mass}, Inertia: []float64{0, 0, 0, 0, 0, 0, i, i, i, 0, 0, 0},
			Friction: []float64{mu, mu}}
		state := &contact.State{Worlds: 1, Pose: []float64{0, 0, 0, 1, 0, 0, 0, 0, 0, size.half, 1, 0, 0, 0}}
		s, err := contact.NewSimulation(scene, state, cpu.NewReference(),
			contact.StepOptions{TimeStep: dt, Gravity: r3.Vec{Z: -g}})
		if err != nil {
			t.Fatal(err)
		}
		force, want := make([]float64, 12), 0.0
		for step := range int(math.Round(end / dt)) {
			push := 2 * mu * size.mass * g * float64(step+1) * dt / end
			force[6] = push
			want = max(0, want+dt*(push/size.mass-mu*g))
			if err := s.Step(context.Background(), force); err != nil {
				t.Fatal(err)
			}
			if st := s.State().Status[0]; st != contact.Advanced {
				t.Fatalf("%g kg: step %d: %v", size.mass, step, st)
			}
		}
		got := s.State().Velocity[3]
		t.Logf("%g kg, %g m: %.9g m/s, off by %.1e", size.mass, size.half, got, got-want)
		if !(math.Abs(got-want) <= 4e-4) {
			t.Errorf("%g kg, %g m: %g m/s, want %g", size.mass, size.half, got, want)
		}
	}
}
