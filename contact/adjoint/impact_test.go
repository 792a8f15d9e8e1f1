package adjoint

import (
	"context"
	"math"
	"testing"

	"clearance/contact"
)

// TestPushedBalls: a constant force pushes a ball into another one that rests, with e = 1 [Zhong et al., arXiv
// 2207.05060, Table 3]. With the acceleration a and the gap d the impact is at t = √(2d/a), with the speed v = a·t, and
// at the time T the second ball is at x₂ + v(T − t). So its derivative by x₂ is (a/v)(T − t), and by x₁ the rest to 1.
// Steps are of the first order: the derivative of the second ball by the time of impact is off by as many steps as the
// motion itself, of which ten seconds⁻¹ are a bound; the step as it is knows nothing of x₁ after the impact.
func TestPushedBalls(t *testing.T) {
	solver := kernelSolver(t)
	scene := ballsScene(t, 2, 0, 1)
	a, d := 3*math.Sqrt2, math.Sqrt2-0.4
	at := math.Sqrt(2 * d / a)
	second := (1 - at) / at
	for _, steps := range []int{480, 7680} {
		state := &contact.State{Worlds: 1, Velocity: make([]float64, 9), Momentum: make([]float64, 9),
			Pose: []float64{0, 0, -5, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, d + 0.2, 0, 0, 1, 0, 0, 0}}
		dt := 1 / float64(steps)
		s, err := contact.NewSimulation(scene, state, solver, contact.StepOptions{TimeStep: dt, BounceSpeed: 1e-9,
			Solve: contact.Options{Tolerance: 1e-12}})
		if err != nil {
			t.Fatal(err)
		}
		force := make([]float64, 18)
		force[6] = a
		tape, err := Run(context.Background(), s, steps, force, nil)
		if err != nil {
			t.Fatal(err)
		}
		if x, want := s.State().Pose[14]-d-0.2, a*at*(1-at); math.Abs(x-want) > 10*dt {
			t.Fatalf("%d steps: the second ball has moved by %.6g, want %.6g", steps, x, want)
		}
		c := RunCotangents{At: []int{steps}, Pose: make([]float64, 18), Impacts: TimeOfImpact}
		c.Pose[12] = 1
		var g RunGradient
		if err := tape.VJP(context.Background(), &c, &g); err != nil {
			t.Fatal(err)
		}
		t.Logf("%d steps: by x₁ %.6f, want %.6f; by x₂ %.6f, want %.6f", steps, g.Pose[6], 1-second, g.Pose[12], second)
		if off := math.Abs(g.Pose[6]-(1-second)) + math.Abs(g.Pose[12]-second); off > 10*dt {
			t.Errorf("%d steps: by x₁ %.6f, want %.6f; by x₂ %.6f, want %.6f", steps, g.Pose[6], 1-second, g.Pose[12],
				second)
		}
		c.Impacts = DiscreteImpacts
		if err := tape.VJP(context.Background(), &c, &g); err != nil {
			t.Fatal(err)
		}
		if math.Abs(g.Pose[6]) > 1e-9 {
			t.Errorf("%d steps, discrete: by x₁ %.6g, want 0", steps, g.Pose[6])
		}
	}
}
