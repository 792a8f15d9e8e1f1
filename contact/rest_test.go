package contact_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/contact"
	"clearance/contact/scenes"
	"clearance/cpu"
	"clearance/geom"
	"clearance/verify"
)

// lying is a body that lies on the ground, or on a slope.
type lying struct {
	name     string
	shape    geom.Shape
	upright  quat.Number // in which it lies on the plane z = 0; zero: as it is
	mass     float64     // kg
	dt       float64     // s
	friction float64
	slope    float64 // of the ground, rad, downwards along x
}

// onItsSide rotates the axis z of a shape to x.
var onItsSide = geom.Rotate(r3.Vec{Y: 1}, math.Pi/2).Rotation

// world puts the body on the ground of one world. Both are rotated by the slope.
func (l *lying) world(t *testing.T) (*contact.Scene, *contact.State) {
	t.Helper()
	lib, err := batch.NewLibrary([]geom.Shape{geom.Halfspace{}, l.shape}, nil)
	if err != nil {
		t.Fatal(err)
	}
	scene, err := contact.NewScene(batch.BodiesOfShapes(lib), []int32{0, 1}, []batch.Physics{{}, {Mass: &l.mass}},
		batch.Physics{Friction: &l.friction})
	if err != nil {
		t.Fatal(err)
	}
	slope := geom.Rotate(r3.Vec{Y: 1}, l.slope)
	up := geom.Pose{Rotation: l.upright}
	if l.upright == (quat.Number{}) {
		up = geom.IdentityPose()
	}
	m := up.Matrix()
	down := geom.Support(l.shape, m.MulVecT(r3.Vec{Z: -1}))
	up.Position.Z = -m.MulVec(down).Z
	state := &contact.State{Worlds: 1}
	for _, p := range []geom.Pose{slope, slope.Compose(up)} {
		state.Pose = append(state.Pose, p.Position.X, p.Position.Y, p.Position.Z, p.Rotation.Real, p.Rotation.Imag,
			p.Rotation.Jmag, p.Rotation.Kmag)
	}
	return scene, state
}

// simulate steps the body for some seconds with default options, and calls each after every step.
func (l *lying) simulate(t *testing.T, simd string, seconds float64, each func(s *contact.Simulation, step int)) {
	t.Helper()
	scene, state := l.world(t)
	solver := must(cpu.New(cpu.Options{Workers: 1}))
	defer solver.Close()
	s, err := contact.NewSimulation(scene, state, solver, contact.StepOptions{TimeStep: l.dt,
		Gravity: r3.Vec{Z: -gravity}, Solve: contact.Options{SIMD: simd, Workers: 1}})
	if err != nil {
		t.Fatal(err)
	}
	for step := range int(math.Round(seconds / l.dt)) {
		if err := s.Step(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		if v := s.State().Status[0]; v != contact.Advanced {
			t.Fatalf("%s, %s: step %d: %v", l.name, simd, step, v)
		}
		each(s, step)
	}
}

// size is the radius of the ball around the body.
func (l *lying) size() float64 { return l.shape.BoundingRadius() }

func place(s *contact.Simulation, body int) r3.Vec {
	p := s.State().Pose[7*body:]
	return r3.Vec{X: p[0], Y: p[1], Z: p[2]}
}

// TestRest: what lies on the ground stays where it is, with default options: in 2 s it moves by at most 1e-6 of its
// size and never rotates by more than 1e-4 rad/s.
func TestRest(t *testing.T) {
	cube := func(half float64) geom.Shape { return geom.Box{HalfExtents: r3.Vec{X: half, Y: half, Z: half}} }
	hull := func(size float64) geom.Shape {
		return must(geom.NewConvex([]r3.Vec{{X: -size, Y: -size}, {X: size, Y: -size}, {X: size, Y: size},
			{X: -size, Y: size}, {Z: 1.5 * size}}))
	}
	for _, l := range []lying{
		{name: "M3 nut", shape: geom.Cylinder{R: 3e-3, HalfLength: 1.2e-3}, mass: 0.3e-3, dt: 0.5e-3, friction: 0.4},
		{name: "pin", shape: geom.Cylinder{R: 1e-3, HalfLength: 2.65e-3}, mass: 65e-6, dt: 0.2e-3, friction: 0.4},
		{name: "can", shape: geom.Cylinder{R: 33e-3, HalfLength: 60e-3}, mass: 65e-3, dt: 0.1e-3, friction: 0.4},
		{name: "cube on a slope", shape: cube(1e-2), mass: 1e-3, dt: 1e-3, friction: 0.5, slope: 20 * math.Pi / 180},
		{name: "die", shape: cube(2e-3), mass: 1e-4, dt: 1e-3, friction: 0.4},
		{name: "crate", shape: cube(1), mass: 8000, dt: 1.0 / 60, friction: 0.6, slope: 0.3},
		{name: "rod on its side", shape: geom.Cylinder{R: 2e-3, HalfLength: 0.1}, upright: onItsSide, mass: 0.01,
			dt: 1e-3, friction: 0.3},
		{name: "capsule", shape: geom.Capsule{R: 5e-3, HalfLength: 0.02}, upright: onItsSide, mass: 5e-3, dt: 5e-3,
			friction: 0.3},
		{name: "ball", shape: geom.Sphere{R: 1e-2}, mass: 5e-3, dt: 1e-3, friction: 0.3},
		{name: "cone", shape: geom.Cone{R: 0.02, HalfLength: 0.03}, mass: 0.02, dt: 1e-3, friction: 0.3},
		{name: "frustum", shape: geom.Frustum{RBottom: 2, RTop: 1, HalfLength: 1}, mass: 3000, dt: 1e-2, friction: 0.5,
			slope: 0.2},
		{name: "lens", shape: geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.15, Y: 0.1, Z: 0.01}}, mass: 0.6, dt: 5e-3,
			friction: 0.3},
		{name: "pill", shape: geom.Superquadric{SemiAxes: r3.Vec{X: 6e-3, Y: 5e-3, Z: 2e-3}, Alpha1: 0.8, Alpha2: 0.6},
			mass: 2e-4, dt: 1e-3, friction: 0.3},
		{name: "hull", shape: hull(5e-3), mass: 1e-3, dt: 1e-3, friction: 0.5, slope: 0.2},
		{name: "rounded box", shape: geom.WithMargin(cube(4e-3), 1e-3), mass: 1e-3, dt: 1e-3, friction: 0.5,
			slope: 0.2},
	} {
		for _, simd := range []string{"", contact.Off} {
			moved, spun := 0.0, 0.0
			var start r3.Vec
			l.simulate(t, simd, 2, func(s *contact.Simulation, step int) {
				if step == 0 {
					_, first := l.world(t)
					start = r3.Vec{X: first.Pose[7], Y: first.Pose[8], Z: first.Pose[9]}
				}
				moved = max(moved, r3.Norm(r3.Sub(place(s, 1), start)))
				spun = max(spun, r3.Norm(s.Spin(0, 1)))
			})
			t.Logf("%-16s moves by %.1e of its size and rotates by %.1e rad/s at most", l.name, moved/l.size(), spun)
			if !(moved <= 1e-6*l.size()) || !(spun <= 1e-4) {
				t.Errorf("%s, %q: moves by %g of its size, and rotates by %g rad/s", l.name, simd, moved/l.size(), spun)
			}
		}
	}
}

// TestSlideDown: a cube of 1 g slides down a slope of 20° at a friction of 0.3, as g(sin α − μ cos α) says: after n
// steps its speed is n times that, and its way n(n+1)/2 times, times Δt and Δt². It neither rotates nor lifts off. With
// the largest tolerances that are solved the errors of a step would add up in one direction.
func TestSlideDown(t *testing.T) {
	const slope, mu = 20 * math.Pi / 180, 0.3
	for _, half := range []float64{1e-2, 1e-3, 1} {
		l := lying{name: fmt.Sprint("cube of ", half), shape: geom.Box{HalfExtents: r3.Vec{X: half, Y: half, Z: half}},
			mass: 1e3 * half * half * half, dt: 1e-3, friction: mu, slope: slope}
		down := r3.Vec{X: math.Cos(slope), Z: -math.Sin(slope)}
		up := r3.Vec{X: math.Sin(slope), Z: math.Cos(slope)}
		a := gravity * (math.Sin(slope) - mu*math.Cos(slope))
		for _, simd := range []string{"", contact.Off} {
			speed, way, lift, spin := 0.0, 0.0, 0.0, 0.0
			l.simulate(t, simd, 2, func(s *contact.Simulation, step int) {
				v, n := s.State().Velocity[3:6], float64(step+1)
				speed = max(speed, math.Abs(v[0]*down.X+v[2]*down.Z-n*l.dt*a)/(n*l.dt*a))
				way = max(way, math.Abs(r3.Dot(place(s, 1), down)-n*(n+1)/2*l.dt*l.dt*a)/(n*(n+1)/2*l.dt*l.dt*a))
				lift = max(lift, math.Abs(r3.Dot(place(s, 1), up)-half)/half)
				spin = max(spin, r3.Norm(s.Spin(0, 1)))
			})
			t.Logf("%s: speed and way off by %.1e and %.1e, lifts by %.1e of its size, rotates by %.1e rad/s", l.name,
				speed, way, lift, spin)
			if !(speed <= 1e-5) || !(way <= 1e-5) || !(lift <= 1e-6) || !(spin <= 1e-4) {
				t.Errorf("%s, %q: speed and way off by %g and %g, lifts by %g of its size, rotates by %g rad/s", l.name,
					simd, speed, way, lift, spin)
			}
		}
	}
}

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
