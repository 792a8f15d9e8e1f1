package contact

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
	"clearance/internal/testkit"
	native "clearance/kernels/contact"
)

// rotationCase is the rotation of a body in a step as a function of a change in some direction.
type rotationCase struct {
	f       native.Fixed
	movable bool
	q       quat.Number
	l       r3.Vec
	dt      float64
}

// changed returns the case with the rotation changed by a rotation vector, another momentum and another inertia.
func (c *rotationCase) changed(rotation, momentum r3.Vec, inertia *[6]float64, by float64) *rotationCase {
	d := *c
	d.q = quat.Mul(exponential(r3.Scale(by, rotation)), c.q)
	d.l = addScaled(c.l, by, momentum)
	if *inertia != [6]float64{} {
		d.f = native.Fixed{}
		for i := range d.f.Inertia {
			d.f.Inertia[i] = c.f.Inertia[i] + by*inertia[i]
		}
		setRotation(&d.f)
	}
	return &d
}

func (c *rotationCase) next() quat.Number {
	m := geom.Pose{Rotation: c.q}.Matrix()
	if !c.movable {
		next, _, _ := rotateSteady(c.q, r3.Scale(c.dt, c.l))
		return next
	}
	next, _, _ := rotate(&c.f, c.q, &m, c.l, c.dt)
	return next
}

// vjp is that of the derivative.
func (c *rotationCase) vjp(cotangent r3.Vec, inertia *[6]float64) (rotation, momentum r3.Vec) {
	mass := math.Inf(1)
	if c.movable {
		mass = 1
	}
	s := Simulation{scene: &Scene{Mass: []float64{mass}}, fixed: []native.Fixed{c.f}}
	r := BodyRecord{Matrix: geom.Pose{Rotation: c.q}.Matrix(), NextMatrix: geom.Pose{Rotation: c.next()}.Matrix(),
		Rotating: c.l}
	return s.RotationVJP(0, c.dt, &r, cotangent, inertia)
}

// fourth is the derivative of f at 0 by differences of the fourth order with steps h.
func fourth(h float64, f func(x float64) float64) float64 {
	return (8*(f(h)-f(-h)) - (f(2*h) - f(-2*h))) / (12 * h)
}

// along is how far a rotation is from q along an axis.
func along(q, next quat.Number, axis r3.Vec) float64 {
	return r3.Dot(axis, rotationVector(quat.Mul(next, quat.Conj(q))))
}

// TestRotationVJP: against differences of the fourth order of the rotation of a step, by rotation, momentum and
// inertia, for angles up to 7 rad. Changes are relative to what they change, and to its sensitivity; those of the
// inertia to its least moment. With steps of 1e-3 differences are off by some 1e-12 of the fifth derivative, and by
// rounding over the step.
func TestRotationVJP(t *testing.T) {
	rng := rand.New(rand.NewPCG(48, 1))
	worst := map[string]float64{}
	for trial := range 300 {
		f := randomBody(rng)
		kind := "any"
		switch trial % 5 {
		case 1:
			x, y := 0.1+rng.Float64(), 0.1+rng.Float64()
			*f, kind = native.Fixed{Inertia: [6]float64{x, x, y * x}}, "symmetric"
			setRotation(f)
		case 2:
			*f, kind = native.Fixed{Inertia: [6]float64{0.3, 0.3, 0.3}}, "round"
			setRotation(f)
		case 3:
			kind = "moved"
		}
		c := &rotationCase{f: *f, movable: kind != "moved", q: testkit.Rotation(rng)}
		m, spin := geom.Pose{Rotation: c.q}.Matrix(), testkit.Unit(rng)
		if c.l = spin; c.movable {
			axes := (*geom.Mat3)(&f.Axes)
			c.l = m.MulVec(axes.MulVec(r3.Vec{X: spin.X / f.Turn[0], Y: spin.Y / f.Turn[1], Z: spin.Z / f.Turn[2]}))
		}
		angles := []float64{1e-3, 0.1, 0.45, 1.8, 5.8}
		c.dt = angles[rng.IntN(len(angles))]
		if c.movable { // away from where a step is added
			_, angle, _ := rotate(&c.f, c.q, &m, c.l, c.dt)
			if part := math.Mod(angle, turnAngle) / turnAngle; part < 0.1 || part > 0.9 {
				c.dt *= 1.3
			}
			_, angle, _ = rotate(&c.f, c.q, &m, c.l, c.dt)
			if part := math.Mod(angle, turnAngle) / turnAngle; angle > turnAngle && (part < 0.1 || part > 0.9) {
				continue
			}
		}
		rotation, cotangent := testkit.Unit(rng), testkit.Unit(rng)
		momentum := r3.Scale(r3.Norm(c.l), testkit.Unit(rng))
		var inertia, none, byInertia [6]float64
		least := 1.0
		if c.movable {
			least = 1 / f.Turn[0]
		}
		for i := range inertia {
			inertia[i] = 0.3 * least * rng.NormFloat64()
		}
		if !c.movable {
			inertia = none
		}
		byRotation, byMomentum := c.vjp(cotangent, &byInertia)
		bySkipped, _ := c.vjp(cotangent, nil)
		if bySkipped != byRotation {
			t.Fatalf("%s: without the inertia %v, with it %v", kind, bySkipped, byRotation)
		}
		// The rate about the axis of a needle is as sensitive as its moment is small, also to rounding.
		ratio := 1.0
		if c.movable {
			ratio = f.Turn[0] / f.Turn[2]
		}
		rotation, momentum = r3.Scale(1/ratio, rotation), r3.Scale(1/ratio, momentum)
		next := c.next()
		check := func(what string, got float64, rotation, momentum r3.Vec, inertia *[6]float64) {
			angle := func(x float64) float64 {
				return along(next, c.changed(rotation, momentum, inertia, x).next(), cotangent)
			}
			want, half := fourth(1e-3, angle), fourth(5e-4, angle)
			// What differences miss is seen from those with half of the step.
			off := math.Abs(got-want) - 16*math.Abs(want-half)
			worst[what+" "+kind] = max(worst[what+" "+kind], off/(1+math.Abs(want)+1e-3*ratio))
		}
		check("rotation", r3.Dot(byRotation, rotation), rotation, r3.Vec{}, &none)
		check("momentum", r3.Dot(byMomentum, momentum), r3.Vec{}, momentum, &none)
		if c.movable && ratio < 1e4 { // of needles the terms of the series cancel, see setInertia
			sum := 0.0
			for i, x := range inertia {
				sum += byInertia[i] * x
			}
			check("inertia", sum, r3.Vec{}, r3.Vec{}, &inertia)
		}
	}
	for what, off := range worst {
		t.Logf("%-20s %.2g", what, off)
	}
	for what, off := range worst {
		tolerance := 2e-9
		if what == "inertia round" { // the steps of its neighbors are off by so much of its exact rotation
			tolerance = 2e-7
		}
		if !(off <= tolerance) {
			t.Errorf("%s: off by %.3g", what, off)
		}
	}
}

// TestHalfRotationVJP: against differences of the fourth order, from rest to where the rotation ends.
func TestHalfRotationVJP(t *testing.T) {
	rng := rand.New(rand.NewPCG(48, 2))
	const dt = 0.01
	for _, angle := range []float64{0, 1e-6, 0.1, 1, 1.6} {
		for range 20 {
			spin, change := r3.Scale(angle/dt, testkit.Unit(rng)), r3.Scale(1/dt, testkit.Unit(rng))
			v, cotangent := testkit.Unit(rng), testkit.Unit(rng)
			m := HalfRotation(spin, dt)
			// c·δ(Hv) = c·(χ×Hv) = χ·(Hv×c)
			got := r3.Dot(HalfRotationVJP(spin, dt, r3.Cross(m.MulVec(v), cotangent)), change)
			want := fourth(2e-3, func(x float64) float64 {
				m := HalfRotation(addScaled(spin, x, change), dt)
				return r3.Dot(cotangent, m.MulVec(v))
			})
			if !(math.Abs(got-want) <= 1e-9) {
				t.Errorf("angle %g: %.12g, want %.12g", angle, got, want)
			}
		}
	}
	if got := HalfRotationVJP(r3.Vec{X: 2.1 / dt}, dt, r3.Vec{X: 1}); got != (r3.Vec{}) {
		t.Errorf("beyond the end: %v", got)
	}
}
