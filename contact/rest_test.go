package contact_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"clearance/batch"
	"clearance/contact"
	"clearance/cpu"
	"clearance/geom"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
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
