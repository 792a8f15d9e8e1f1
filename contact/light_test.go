package contact_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"clearance/batch"
	"clearance/contact"
	"clearance/contact/scenes"
	"clearance/cpu"
	"clearance/geom"
	"clearance/verify"

	"gonum.org/v1/gonum/spatial/r3"
)

// audited requires that the audit of a solution finds nothing wrong.
func audited(t *testing.T, p *contact.Problem, s *contact.Solution) {
	t.Helper()
	r, err := verify.AuditContacts(p, s, verify.ContactAudit{Tolerance: 1e-6})
	if err != nil || len(r.Failures) > 0 {
		t.Errorf("the audit: %v, %+v", err, r)
	}
}

// TestLightAtRest: a cube of 1e-9 kg that a step of gravity presses to the ground stays at rest, whatever the impulses
// to start from: none, those of its weight, and 1e-9 N·s, which are ten times more and small numbers all the same.
func TestLightAtRest(t *testing.T) {
	const mass = 1e-9
	for _, simd := range []string{"", contact.Off} {
		for _, warm := range []float64{0, mass * gravity * step / 4, 1e-9, 1e-6} {
			p := scenes.Pack([]scenes.World{resting(mass, 0.5, r3.Vec{}, 0.3)})
			p.Warm = make([]float64, 3*p.Contacts)
			for i := range 4 {
				p.Warm[3*i+2] = warm
			}
			s := solve(t, p, contact.Options{SIMD: simd})
			sum := 0.0
			for i := range 4 {
				sum += s.Impulse[3*i+2]
			}
			near(t, "weight over impulse", sum/(mass*gravity*step), 1, 1e-6)
			for i, v := range s.Velocity[:6] {
				if !(math.Abs(v) <= 1e-5*gravity*step) {
					t.Errorf("%q, warm %g N·s: component %d of the velocity: %g", simd, warm, i, v)
				}
			}
			audited(t, p, s)
		}
	}
	l := lying{shape: geom.Box{HalfExtents: r3.Vec{X: 1e-4, Y: 1e-4, Z: 1e-4}}, mass: mass, dt: 1e-3, friction: 0.5}
	for _, simd := range []string{"", contact.Off} {
		l.simulate(t, simd, 1, func(s *contact.Simulation, i int) {
			u := s.State().Velocity[3:6]
			if v := r3.Norm(r3.Vec{X: u[0], Y: u[1], Z: u[2]}); v > 1e-8 {
				t.Errorf("%q: step %d: a cube of 1e-9 kg at rest has %g m/s", simd, i, v)
			}
		})
	}
}

// boxesOf is a simulation of boxes on the ground with default options.
func boxesOf(t *testing.T, shapes []geom.Shape, mass []float64, at []r3.Vec, dt float64) *contact.Simulation {
	t.Helper()
	friction := 0.5
	physics, body := []batch.Physics{{}}, []int32{0}
	pose := []float64{0, 0, 0, 1, 0, 0, 0}
	for i := range shapes {
		physics, body = append(physics, batch.Physics{Mass: &mass[i]}), append(body, int32(i+1))
		pose = append(pose, at[i].X, at[i].Y, at[i].Z, 1, 0, 0, 0)
	}
	lib := must(batch.NewLibrary(append([]geom.Shape{geom.Halfspace{}}, shapes...), nil))
	scene := must(contact.NewScene(batch.BodiesOfShapes(lib), body, physics, batch.Physics{Friction: &friction}))
	solver := must(cpu.New(cpu.Options{Workers: 1}))
	t.Cleanup(func() { solver.Close() })
	return must(contact.NewSimulation(scene, &contact.State{Worlds: 1, Pose: pose}, solver,
		contact.StepOptions{TimeStep: dt, Gravity: r3.Vec{Z: -gravity}}))
}

// TestCrates: four crates of 8 t upon each other stand still, and every step is within the tolerance: the residual is
// that of its columns and of the audit.
func TestCrates(t *testing.T) {
	crate := geom.Box{HalfExtents: r3.Vec{X: 1, Y: 1, Z: 1}}
	s := boxesOf(t, slices.Repeat([]geom.Shape{crate}, 4), []float64{8000, 8000, 8000, 8000},
		[]r3.Vec{{Z: 1}, {X: 0.05, Z: 3}, {X: 0.02, Y: 0.1, Z: 5}, {Y: 0.05, Z: 7}}, 5e-3)
	start := slices.Clone(s.State().Pose)
	for i := range 400 {
		if err := s.Step(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		if v := s.State().Status[0]; v != contact.Advanced {
			t.Fatalf("step %d: %v", i, v)
		}
		if x := s.Solution(); !(x.Residual[0] <= 1e-6*x.Scale[0]) || !(x.Scale[0] <= 1.001*gravity*5e-3) {
			t.Errorf("step %d: residual %g m/s at the scale %g", i, x.Residual[0], x.Scale[0])
		}
		if i%100 == 0 {
			audited(t, s.Problem(), s.Solution())
		}
	}
	if d := distance(s.State().Pose, start); !(d <= 1e-6*math.Sqrt(3)) {
		t.Errorf("the crates move by %g m", d)
	}
}

// TestLightBesideHeavy: a ball of 1 g that lies beside a crate of 10 t, on the ground and touching it, stays there.
// With impulses by which it leaves at 0.6 m/s, as small beside those of the crate as the tolerance, the audit refuses
// the answer, whatever it claims.
func TestLightBesideHeavy(t *testing.T) {
	const r = 1e-2
	s := boxesOf(t, []geom.Shape{geom.Box{HalfExtents: r3.Vec{X: 1, Y: 1, Z: 1}}, geom.Sphere{R: r}},
		[]float64{1e4, 1e-3}, []r3.Vec{{Z: 1}, {X: 1 + r, Z: r}}, 5e-3)
	for i := range 200 {
		if err := s.Step(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		v := s.State().Velocity[6:9]
		if n := r3.Norm(r3.Vec{X: v[0], Y: v[1], Z: v[2]}); s.State().Status[0] != contact.Advanced || !(n <= 1e-6) {
			t.Fatalf("step %d: %v, the ball has %g m/s", i, s.State().Status[0], n)
		}
	}
	p, o := s.Problem(), s.Solution()
	audited(t, p, o)
	lie := *o
	lie.Impulse, lie.Velocity = slices.Clone(o.Impulse), slices.Clone(o.Velocity)
	changed := false
	for k := range int(p.Count[0]) {
		if p.BodyB[k] == 2 && p.BodyA[k] == 0 {
			lie.Impulse[3*k+2] += 1e-3 * 0.6
			lie.Velocity[12+2] += 0.6
			changed = true
		}
	}
	if !changed {
		t.Fatal("the ball has no contact with the ground")
	}
	report, err := verify.AuditContacts(p, &lie, verify.ContactAudit{Tolerance: 1e-6})
	if err != nil || len(report.Failures) == 0 || report.Worlds[0].Residual < 0.3 {
		t.Errorf("a ball that leaves at 0.6 m/s: %v, %+v", err, report)
	}
}
