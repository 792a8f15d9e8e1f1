package adjoint

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/contact"
	"clearance/geom"
)

// TestRedundantContacts: a body of two balls sticks to the ground with both. While it bounces with a rotation, a tilt
// asks both contacts for what the body cannot do. One of them slides then, so that the derivative is not that of the
// modes, and the step is a [Boundary]. At rest, and with compliance, the step is smooth, and its derivative by the tilt
// is that of differences.
func TestRedundantContacts(t *testing.T) {
	lib, err := batch.NewLibrary([]geom.Shape{geom.Halfspace{}, geom.Sphere{R: 0.05}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	bodies, err := batch.NewBodies(lib, []batch.Body{{Parts: []batch.Part{{Pose: geom.IdentityPose()}}},
		{Parts: []batch.Part{{Shape: 1, Pose: geom.Translate(0.1, 0, 0)}, {Shape: 1,
			Pose: geom.Translate(-0.1, 0, 0)}}}})
	if err != nil {
		t.Fatal(err)
	}
	scene := &contact.Scene{Bodies: bodies, Body: []int32{0, 1}, Mass: []float64{math.Inf(1), 1},
		Inertia:  []float64{0, 0, 0, 0, 0, 0, 0.002, 0.011, 0.011, 0, 0, 0},
		Friction: []float64{0.9, 0.9}, Restitution: []float64{0.5, 0.5}}
	solver := kernelSolver(t)
	for _, x := range []struct {
		name        string
		speed, spin float64
		compliance  float64
		smooth      Smoothness
		least, most float64 // of the error
	}{
		{"bouncing with a rotation", -0.5, 0.3, 0, Boundary, 1e-3, 1},
		{"bouncing without one", -0.5, 0, 0, Smooth, 0, 1e-8},
		{"at rest", 0, 0, 0, Smooth, 0, 1e-5}, // a contact slides by the square of the tilt
		{"compliant", -0.5, 0.3, 1e-3, Smooth, 0, 1e-8},
	} {
		o := contact.StepOptions{TimeStep: 5e-3, Gravity: r3.Vec{Z: -9.81}, Restitution: contact.NewtonRestitution,
			Compliance: x.compliance, Solve: contact.Options{Tolerance: 1e-13, Workers: 1}}
		after := func(tilt float64, record *contact.StepRecord) (s *contact.Simulation, sum float64) {
			pose := geom.Rotate(r3.Vec{Y: 1}, tilt)
			pose.Position.Z = 0.05 - 2e-5
			state := &contact.State{Worlds: 1, Pose: make([]float64, 14), Velocity: []float64{0, 0, 0, 0, 0, x.speed},
				Momentum: []float64{0, 0, 0, 0, 0.011 * x.spin, 0}}
			putPose(state.Pose, geom.IdentityPose())
			putPose(state.Pose[7:], pose)
			s, err := contact.NewSimulation(scene, state, solver, o)
			if err != nil {
				t.Fatal(err)
			}
			s.Record(record)
			if err := s.Step(context.Background(), nil); err != nil {
				t.Fatal(err)
			}
			for i := range 3 {
				sum += float64(i+1)*s.State().Velocity[3+i] + 10*s.State().Momentum[3+i]
			}
			return s, sum
		}
		var record, other contact.StepRecord
		s, _ := after(0, &record)
		for c, l := range record.Worlds[0].Parts[0].Solution.Impulse {
			if c%3 == 2 && !(l > 0) {
				t.Errorf("%s: contact %d does not act", x.name, c/3)
			}
		}
		bar := &StateCotangent{Pose: make([]float64, 12), Velocity: []float64{0, 0, 0, 1, 2, 3},
			Momentum: []float64{0, 0, 0, 10, 10, 10}}
		report := NewSteps(s).VJP(&record.Worlds[0], bar, newGradient(scene))
		const h = 1e-5 // tilts by which gaps do not open
		_, up := after(h, &other)
		_, down := after(-h, &other)
		got, want := bar.Pose[6+4], (up-down)/(2*h)
		off := math.Abs(got-want) / max(1, math.Abs(want))
		t.Logf("%s: %v, margin %.2g, %.10g, differences %.10g", x.name, report.Smoothness, report.Margin, got, want)
		if report.Smoothness != x.smooth || !(off >= x.least && off <= x.most) {
			t.Errorf("%s: %v, off by %g; want %v, %g to %g", x.name, report.Smoothness, off, x.smooth, x.least, x.most)
		}
	}
}
