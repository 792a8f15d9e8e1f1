package contact

import (
	"math"
	"math/big"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
	native "clearance/kernels/contact"
)

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
func rotate(f *native.Fixed, q quat.Number, m *geom.Mat3, l r3.Vec, dt float64) (next quat.Number, angle float64,
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

// The numbers of a body that its rotation without torque needs, see [Simulation.rotate].

// setRotation sets the principal axes of a movable body and what follows from its moments.
func setRotation(f *native.Fixed) {
	moments, axes := principalAxes(f.Inertia)
	for i, axis := range axes {
		f.Axes[i], f.Axes[3+i], f.Axes[6+i] = axis.X, axis.Y, axis.Z
	}
	for i, m := range moments {
		f.Turn[i] = 1 / m
	}
	difference := func(i, j int) float64 { return (moments[j] - moments[i]) / (moments[i] * moments[j]) }
	f.Spread = [3]float64{difference(0, 1), difference(1, 2), difference(0, 2)}
	if moments[2]-moments[0] <= roundMoments*moments[2] {
		f.Round = 1
	}
	f.Series = seriesOf(moments)
}

// roundMoments is the relative difference of principal moments up to which a body rotates as one whose moments are
// equal, about its angular momentum. That rotation keeps energy and momentum whatever the moments are; its rate is off
// by the same share.
const roundMoments = 0x1p-40

// principalAxes returns the principal moments of an inertia, in ascending order, and right-handed axes, by Jacobi's
// rotations. Those of a diagonal inertia are exact.
func principalAxes(in [6]float64) (moments [3]float64, axes [3]r3.Vec) {
	a := [3][3]float64{{in[0], in[3], in[4]}, {in[3], in[1], in[5]}, {in[4], in[5], in[2]}}
	v := [3][3]float64{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}} // columns are axes
	for range 30 {                                      // it converges quadratically, in less than ten
		done := true
		for _, pair := range [3][2]int{{0, 1}, {0, 2}, {1, 2}} {
			p, q := pair[0], pair[1]
			if math.Abs(a[p][q]) <= 0x1p-60*math.Sqrt(a[p][p])*math.Sqrt(a[q][q]) {
				continue // it changes both moments by less than their rounding
			}
			done = false
			jacobi(&a, &v, p, q)
		}
		if done {
			break
		}
	}
	order := [3]int{0, 1, 2}
	for _, i := range [3]int{0, 1, 0} {
		if a[order[i+1]][order[i+1]] < a[order[i]][order[i]] {
			order[i], order[i+1] = order[i+1], order[i]
		}
	}
	for i, k := range order {
		moments[i], axes[i] = a[k][k], r3.Vec{X: v[0][k], Y: v[1][k], Z: v[2][k]}
	}
	axes[2] = r3.Cross(axes[0], axes[1])
	return moments, axes
}

// jacobi is a rotation of Jacobi's method: it makes element p, q zero.
func jacobi(a, v *[3][3]float64, p, q int) {
	theta := (a[q][q] - a[p][p]) / (2 * a[p][q])
	t := 1 / (math.Abs(theta) + math.Sqrt(theta*theta+1))
	if theta < 0 {
		t = -t
	}
	c := 1 / math.Sqrt(t*t+1)
	s := t * c
	a[p][p], a[q][q] = a[p][p]-t*a[p][q], a[q][q]+t*a[p][q]
	a[p][q], a[q][p] = 0, 0
	r := 3 - p - q
	a[r][p], a[r][q] = c*a[r][p]-s*a[r][q], s*a[r][p]+c*a[r][q]
	a[p][r], a[q][r] = a[r][p], a[r][q]
	for i := range v {
		v[i][p], v[i][q] = c*v[i][p]-s*v[i][q], s*v[i][p]+c*v[i][q]
	}
}

// seriesTerm is num/den·e1^e[0]·e2^e[1]·e3^e[2]·H^h·C^c, where e1, e2 and e3 are the elementary symmetric polynomials
// of the inverse moments, H the energy and C half the square of the angular momentum.
type seriesTerm struct {
	num, den int64
	e        [3]int
	h, c     int
}

// The discrete Moser-Veselov step of length h with the inverse moments aᵢ(1 + s) + d is the exact rotation of a body of
// the inverse moments aᵢ, where s = h²s₃ + h⁴s₅ + …, d likewise, and s₃, d₃, … are polynomials in H and C, which the
// step keeps (E. Hairer and G. Vilmart, Preprocessed discrete Moser-Veselov algorithm for the full dynamics of a rigid
// body, J. Phys. A 39, 2006: s₃ and d₃). Those of higher order follow from the power series of both rotations, of
// symmetric polynomials of the right degrees; TestRotationOrder shows the order of what is left.
var (
	stretch = []seriesTerm{ // s
		{-1, 3, [3]int{1, 0, 0}, 1, 0}, {1, 6, [3]int{0, 1, 0}, 0, 1},

		{1, 30, [3]int{2, 0, 0}, 2, 0}, {-1, 60, [3]int{0, 1, 0}, 2, 0}, {-1, 30, [3]int{1, 1, 0}, 1, 1},
		{2, 15, [3]int{0, 0, 1}, 1, 1}, {1, 30, [3]int{0, 2, 0}, 0, 2}, {-1, 10, [3]int{1, 0, 1}, 0, 2},

		{-1, 630, [3]int{3, 0, 0}, 3, 0}, {1, 630, [3]int{1, 1, 0}, 3, 0}, {1, 35, [3]int{0, 0, 1}, 3, 0},
		{1, 420, [3]int{2, 1, 0}, 2, 1}, {41, 2520, [3]int{0, 2, 0}, 2, 1}, {-53, 630, [3]int{1, 0, 1}, 2, 1},
		{-1, 70, [3]int{1, 2, 0}, 1, 2}, {11, 210, [3]int{2, 0, 1}, 1, 2}, {-1, 84, [3]int{0, 1, 1}, 1, 2},
		{17, 2520, [3]int{0, 3, 0}, 0, 3}, {-11, 420, [3]int{1, 1, 1}, 0, 3}, {5, 126, [3]int{0, 0, 2}, 0, 3},
	}
	shift = []seriesTerm{ // d
		{1, 6, [3]int{0, 1, 0}, 1, 0}, {-1, 3, [3]int{0, 0, 1}, 0, 1},

		{-1, 60, [3]int{1, 1, 0}, 2, 0}, {-1, 10, [3]int{0, 0, 1}, 2, 0}, {-1, 60, [3]int{0, 2, 0}, 1, 1},
		{2, 15, [3]int{1, 0, 1}, 1, 1}, {-1, 60, [3]int{0, 1, 1}, 0, 2},

		{1, 1260, [3]int{2, 1, 0}, 3, 0}, {-13, 1260, [3]int{0, 2, 0}, 3, 0}, {1, 42, [3]int{1, 0, 1}, 3, 0},
		{13, 2520, [3]int{1, 2, 0}, 2, 1}, {-8, 315, [3]int{2, 0, 1}, 2, 1}, {11, 252, [3]int{0, 1, 1}, 2, 1},
		{1, 1260, [3]int{0, 3, 0}, 1, 2}, {-1, 1260, [3]int{1, 1, 1}, 1, 2}, {-22, 315, [3]int{0, 0, 2}, 1, 2},
		{-19, 2520, [3]int{0, 2, 1}, 0, 3}, {1, 35, [3]int{1, 0, 2}, 0, 3},
	}
)

// seriesOf returns the coefficients of s and then those of d/a₂, of a₁ ≥ a₂ ≥ a₃, for the products of X = h²a₁(H − a₂C)
// and Z = h²a₂²C: X, Z, X², XZ, Z², X³, X²Z, XZ², Z³. Triangle inequality gives a₁(a₂ − a₃) ≤ a₂a₃, by which they are
// bounded for every body, as |X| and Z are by the square of the angle of a step. Those of H and C are not: of a needle
// they cancel but for (a₂/a₁)³, which is at least 1e-42 ([inertiaFault]) and the reason for 512 bits.
func seriesOf(moments [3]float64) (out [18]float64) {
	const bits = 512
	number := func(x float64) *big.Float { return new(big.Float).SetPrec(bits).SetFloat64(x) }
	mul := func(x, y *big.Float) *big.Float { return new(big.Float).SetPrec(bits).Mul(x, y) }
	add := func(x, y *big.Float) *big.Float { return new(big.Float).SetPrec(bits).Add(x, y) }
	quo := func(x, y *big.Float) *big.Float { return new(big.Float).SetPrec(bits).Quo(x, y) }
	power := func(x *big.Float, n int) *big.Float {
		p := number(1)
		for range n {
			p = mul(p, x)
		}
		return p
	}
	var a [3]*big.Float // in units of a₁
	for i, m := range moments {
		a[i] = quo(number(moments[0]), number(m))
	}
	e := [3]*big.Float{add(add(a[0], a[1]), a[2]), add(add(mul(a[0], a[1]), mul(a[1], a[2])), mul(a[2], a[0])),
		mul(mul(a[0], a[1]), a[2])}
	var sums [18]*big.Float
	for i := range sums {
		sums[i] = number(0)
	}
	for half, terms := range [2][]seriesTerm{stretch, shift} {
		for _, t := range terms {
			k := t.h + t.c
			v := quo(number(float64(t.num)), number(float64(t.den)))
			for i, n := range t.e {
				v = mul(v, power(e[i], n))
			}
			binomial := 1.0
			for j := range t.h + 1 { // H^h = Σ binomial·(H − a₂C)^(h−j)·(a₂C)^j
				at := [4]int{0, 0, 2, 5}[k] + t.c + j
				sums[9*half+at] = add(sums[9*half+at], mul(number(binomial), mul(v, power(a[1], j))))
				binomial = binomial * float64(t.h-j) / float64(j+1)
			}
		}
	}
	for half := range 2 {
		at := 9 * half
		for k := 1; k <= 3; k++ {
			for z := range k + 1 { // of X^(k−z)·Z^z
				out[at], _ = quo(sums[at], power(a[1], 2*z+half)).Float64()
				at++
			}
		}
	}
	return out
}

// Contacts with a body that is moved and rotates.
//
// A point at the arm r of a body that rotates by θ in the step moves by the chord that is perpendicular to the arm of
// the middle of the step, and not by the tangent θ×r of the beginning, along which it would get farther from the axis
// by θ²/2 of the arm. So arms and normals of contacts with a body that impulses do not move are rotated by half of its
// rotation in the step, about the center of mass of either body: the contact problem is that of the middle of the step
// in axes that rotate with the body. What sticks to it moves by a chord of the length θ|r|. The angle φ has sin φ =
// θ/2, by which the distance from the axis is kept: |r + θ×R(φ)r|² = r² + θ²r² − 2θr²sin φ for r ⊥ θ.
//
// Contacts between two bodies that move freely are those of the beginning: impulses at one point of both keep their
// angular momentum, which the arms of the middle of the step would not.

// mostCarried is the square of the largest angle θ of a step by which contacts are rotated: sin φ is at most 1.
const mostCarried = 4

// halfRotation is that of the contacts of a pair.
type halfRotation struct {
	matrix geom.Mat3
	any    bool
}

// halfRotationOf is the rotation of the contacts of a pair, by nearly half of that of its carrier.
func (s *Simulation) halfRotationOf(w int, p *partPair) (t halfRotation) {
	if p.carrier < 0 {
		return t
	}
	return halfRotationBy(r3.Scale(s.o.TimeStep, s.bodies[w*len(s.scene.Body)+int(p.carrier)].spin))
}

// halfRotationBy is that of a carrier that rotates by v in the step.
func halfRotationBy(v r3.Vec) (t halfRotation) {
	square := dotVec(v, v)
	if !(square > 0 && square <= mostCarried) {
		return t
	}
	k := 0.5 / (1 + math.Sqrt(1-0.25*square)) // tan(φ/2)/θ
	pose := geom.Pose{Rotation: quat.Number{Real: 1, Imag: k * v.X, Jmag: k * v.Y, Kmag: k * v.Z}}
	return halfRotation{pose.Matrix(), true}
}

func (t *halfRotation) apply(v r3.Vec) r3.Vec {
	if !t.any {
		return v
	}
	return t.matrix.MulVec(v)
}
