package contact

// The rotation of a body in a step, at a constant angular momentum L.
//
// The discrete Moser-Veselov step (J. Moser and A. P. Veselov, Comm. Math. Phys. 139, 1991) of the angular momentum y
// in principal axes, y = RᵀL, is the rotation of the quaternion (1, c)/√(1 + c²) with
//
//	½hy(1 + c²) = Ic + c×Ic,  ½hy⁺(1 + c²) = Ic − c×Ic,  R⁺ = R·rot(c).
//
// So |y⁺| = |y| since Ic ⊥ c×Ic, R⁺y⁺ = Ry = L, and the energy ½y·I⁻¹y is kept since c ⊥ c×Ic, all of them for every
// step and exactly; the step is symplectic. With moments that are changed by a series in h², see [stretch], it is the
// exact rotation but for terms of h⁸, so that its phase is right too.

import (
	"math"

	"clearance/contact/lanes"
	"clearance/geom"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

const (
	// turnAngle is the largest angle of a Moser-Veselov step; a time step of a larger one has several. The phase is off
	// by 1e-7 of the angle at most then, by 1e-10 at 0.2 rad (TestRotationOrder).
	turnAngle = 0.5
	// mostTurns is the largest number of Moser-Veselov steps of a time step. Bodies that rotate by more are [TooFast].
	mostTurns = 1024
	// mostAngle is the largest angle in radians that a body rotates about a fixed axis by in a time step. Rounding is
	// below 1e-8 rad then: the small angle has a relative error of some units, and so have those that are doubled.
	mostAngle = 0x1p20
	// turnIterations bounds Newton's method for c, which takes four steps at most from |hIy/2| ≤ ¼.
	turnIterations = 8
	// turnConverged is the last change of c, relative to c, after which that of the next step is below its square.
	turnConverged = 0x1p-28
)

// rotate returns the rotation of a body after a step of length dt at the angular momentum l, in world axes, from the
// rotation q, whose matrix is m, and a bound of the angle. ok is false of a body that is too fast.
func rotate(f *lanes.Fixed, q quat.Number, m *geom.Mat3, l r3.Vec, dt float64) (next quat.Number, angle float64,
	ok bool) {
	if f.Round != 0 {
		return rotateSteady(q, r3.Scale(dt, r3.Scale(f.Turn[1], l)))
	}
	axes := (*geom.Mat3)(&f.Axes)
	y := axes.MulVecT(m.MulVecT(l))
	a, b := &f.Turn, &f.Spread
	yy := r3.Vec{X: y.X * y.X, Y: y.Y * y.Y, Z: y.Z * y.Z}
	half := 0.5 * (yy.X + yy.Y + yy.Z)
	above := 0.5 * (b[2]*yy.X + b[1]*yy.Y) // the energy less a₃·half
	// |ω|² = Σaᵢ²yᵢ² = 2(a₁ + a₃)H − 2a₁a₃C − (a₁ − a₂)(a₂ − a₃)y₂², whose first two terms are constant.
	angle = dt * math.Sqrt(2*(a[0]*above+a[2]*(above+a[2]*half)))
	if !(angle <= turnAngle*mostTurns) {
		return q, angle, false
	}
	turns := math.Floor(angle*(1/turnAngle)) + 1
	h := dt / turns
	x, z := h*a[0]*(h*(0.5*(b[0]*yy.X-b[1]*yy.Z))), h*a[1]*(h*a[1]*half)
	s := 1 + series(f.Series[:9], x, z)
	d := a[1] * series(f.Series[9:], x, z)
	i := r3.Vec{X: a[0]*s + d, Y: a[1]*s + d, Z: a[2]*s + d}
	g := r3.Vec{X: s * b[1] * i.X / (i.Y * i.Z), Y: -(s * b[2] * i.Y / (i.X * i.Z)), Z: s * b[0] * i.Z / (i.X * i.Y)}
	i = r3.Scale(0.5*h, i)
	p := quat.Number{Real: 1}
	for range int(turns) {
		c := moserVeselov(r3.Vec{X: i.X * y.X, Y: i.Y * y.Y, Z: i.Z * y.Z}, g)
		square := 1 + dotVec(c, c)
		t := crossVec(c, y)
		y = addScaled(y, 2/square, r3.Sub(crossVec(c, t), t))
		r := 1 / math.Sqrt(square)
		p = quat.Mul(p, quat.Number{Real: r, Imag: r * c.X, Jmag: r * c.Y, Kmag: r * c.Z})
	}
	v := axes.MulVec(r3.Vec{X: p.Imag, Y: p.Jmag, Z: p.Kmag})
	return unit(quat.Mul(q, quat.Number{Real: p.Real, Imag: v.X, Jmag: v.Y, Kmag: v.Z})), angle, true
}

// series is that of [seriesOf].
func series(c []float64, x, z float64) float64 {
	xx, xz, zz := x*x, x*z, z*z
	return x*(c[0]+c[2]*x+c[3]*z+c[5]*xx+c[6]*xz+c[7]*zz) + z*(c[1]+c[4]*z+c[8]*zz)
}

// moserVeselov solves c = (1 + c²)w − (g₁c₂c₃, g₂c₃c₁, g₃c₁c₂), where w is ½hI⁻¹y and g₁ = (I₃ − I₂)/I₁ and so on,
// which are at most 1 of every body: so the step is as well-conditioned for a needle as for a ball.
func moserVeselov(w, g r3.Vec) r3.Vec {
	more := 1 + dotVec(w, w)
	c := r3.Vec{X: more*w.X - g.X*w.Y*w.Z, Y: more*w.Y - g.Y*w.Z*w.X, Z: more*w.Z - g.Z*w.X*w.Y}
	for range turnIterations {
		square := 1 + dotVec(c, c)
		f := r3.Vec{X: c.X - square*w.X + g.X*c.Y*c.Z, Y: c.Y - square*w.Y + g.Y*c.Z*c.X,
			Z: c.Z - square*w.Z + g.Z*c.X*c.Y}
		// The columns of the derivative of f.
		u := r3.Vec{X: 1 - 2*w.X*c.X, Y: g.Y*c.Z - 2*w.Y*c.X, Z: g.Z*c.Y - 2*w.Z*c.X}
		v := r3.Vec{X: g.X*c.Z - 2*w.X*c.Y, Y: 1 - 2*w.Y*c.Y, Z: g.Z*c.X - 2*w.Z*c.Y}
		t := r3.Vec{X: g.X*c.Y - 2*w.X*c.Z, Y: g.Y*c.X - 2*w.Y*c.Z, Z: 1 - 2*w.Z*c.Z}
		vt := crossVec(v, t)
		r := 1 / dotVec(u, vt)
		change := r3.Vec{X: r * dotVec(f, vt), Y: r * dotVec(f, crossVec(t, u)), Z: r * dotVec(f, crossVec(u, v))}
		c = r3.Sub(c, change)
		if dotVec(change, change) <= turnConverged*turnConverged*dotVec(c, c) {
			break
		}
	}
	return c
}

// rotateSteady returns the rotation q followed by that of the rotation vector v, in world axes, and its angle.
func rotateSteady(q quat.Number, v r3.Vec) (next quat.Number, angle float64, ok bool) {
	angle = length(v)
	if !(angle <= mostAngle) {
		return q, angle, false
	}
	return unit(quat.Mul(exponential(v), q)), angle, true
}

func unit(q quat.Number) quat.Number { return quat.Scale(1/math.Sqrt(squaredNorm(q)), q) }

func squaredNorm(q quat.Number) float64 {
	return q.Real*q.Real + q.Imag*q.Imag + q.Jmag*q.Jmag + q.Kmag*q.Kmag
}

// smallAngle is the square of a half angle below which the next terms of the series are below 1e-21.
const smallAngle = 1e-3

// exponential is the quaternion of the rotation by |v| radians about v, at most [mostAngle]: a small one by its series,
// others by squaring that of a small one. Functions of the library have other bits in C.
func exponential(v r3.Vec) quat.Number {
	square, part, doubled := 0.25*dotVec(v, v), 0.5, 0 // square of the half angle
	for square >= smallAngle {
		square, part = 0.25*square, 0.5*part
		doubled++
	}
	sinc := 1 - square*(1./6)*(1-square*(1./20)*(1-square*(1./42)*(1-square*(1./72))))
	cos := 1 - square*(1./2)*(1-square*(1./12)*(1-square*(1./30)*(1-square*(1./56))))
	k := part * sinc
	q := quat.Number{Real: cos, Imag: k * v.X, Jmag: k * v.Y, Kmag: k * v.Z}
	for range doubled {
		twice := 2 * q.Real
		q = quat.Number{Real: q.Real*q.Real - q.Imag*q.Imag - q.Jmag*q.Jmag - q.Kmag*q.Kmag, Imag: twice * q.Imag,
			Jmag: twice * q.Jmag, Kmag: twice * q.Kmag}
	}
	return q
}
