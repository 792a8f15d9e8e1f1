package contact

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
	native "clearance/kernels/contact"
)

// The derivative of the rotation of a body in a step, see rotation.go, and of the rotation of the contacts of a body
// that is moved.
//
// Rotations change by rotation vectors: δR = [θ]R in world axes, or δP = P[ξ] in those of the body, where [θ] is the
// matrix of the cross product. The rotation of a step depends on the angular momentum in the axes of the body alone,
// y = RᵀL:
//
//	R⁺ = R·P(y),  δR⁺ = [θ⁺]R⁺,  θ⁺ = θ + R⁺ξ,  ξ = P′(y)·δy,  δy = Rᵀ(δL + L×θ).
//
// So the 3×3 matrix P′ has all of it. It follows the Moser-Veselov steps of [rotate]. Each of them solves f(c) = 0 with
// the Jacobian that Newton's method has, and its rotation changes by ξ = 2(δc − c×δc)/(1 + c²). The inverse moments of
// a step include a series in the energy and the square of the momentum, which have the derivatives of y before the
// first step, since the steps keep both.
//
// Of a change of the inertia all numbers are functions of the matrix K = I⁻¹ that do not depend on axes: the series is
// one of the invariants of K, of H = ½yᵀKy and of C = ½|y|². So equal moments need no care.

// rotating is a chain of Moser-Veselov steps in principal axes with tangents in some directions: three changes of y,
// and six of the inertia where they are asked for.
type rotating struct {
	y0, i, g   r3.Vec // momentum before the first step; ½h times the inverse moments; see moserVeselov
	half       float64
	matrix     geom.Mat3 // of the rotation so far
	directions int
	dy, di, dg [3]r3.Vec // of the three directions of y
	xi         [9]r3.Vec
	change     [6]sym3 // of the inverse inertia of a step, for the six directions of the inertia
}

// rotationVJP multiplies a cotangent of ξ with the derivatives by y and, if asked, by the six numbers of the inertia in
// principal axes. The body is not too fast for [rotate].
func rotationVJP(f *native.Fixed, y r3.Vec, dt float64, xi r3.Vec, inertia bool) (byY r3.Vec, byInertia sym3) {
	t, turns, h, s := startRotating(f, y, dt)
	switch {
	case turns == 0:
		return byY, byInertia
	case turns == 1:
		return t.stepVJP(f, h, s, xi, inertia)
	}
	columns := t.steps(f, turns, h, s, inertia)
	for n := range byInertia {
		byInertia[n] = dotVec(columns[3+n], xi)
	}
	return r3.Vec{X: dotVec(columns[0], xi), Y: dotVec(columns[1], xi), Z: dotVec(columns[2], xi)}, byInertia
}

// startRotating prepares the Moser-Veselov steps of a step of length dt, and returns their number, their length and
// 1 + s of the series. The number is 0 of a body that is too fast.
func startRotating(f *native.Fixed, y r3.Vec, dt float64) (t rotating, turns int, h, s float64) {
	a, b := &f.Turn, &f.Spread
	yy := r3.Vec{X: y.X * y.X, Y: y.Y * y.Y, Z: y.Z * y.Z}
	half := 0.5 * (yy.X + yy.Y + yy.Z)
	above := 0.5 * (b[2]*yy.X + b[1]*yy.Y)
	angle := dt * math.Sqrt(2*(a[0]*above+a[2]*(above+a[2]*half)))
	if !(angle <= turnAngle*mostTurns) {
		return t, 0, 0, 0
	}
	number := math.Floor(angle*(1/turnAngle)) + 1
	h = dt / number
	x, z := h*a[0]*(h*(0.5*(b[0]*yy.X-b[1]*yy.Z))), h*a[1]*(h*a[1]*half)
	s = 1 + series(f.Series[:9], x, z)
	d := a[1] * series(f.Series[9:], x, z)
	i := r3.Vec{X: a[0]*s + d, Y: a[1]*s + d, Z: a[2]*s + d}
	t = rotating{y0: y, half: 0.5 * h, matrix: geom.Mat3{0: 1, 4: 1, 8: 1}, directions: 3}
	t.g = r3.Vec{X: s * b[1] * i.X / (i.Y * i.Z), Y: -(s * b[2] * i.Y / (i.X * i.Z)), Z: s * b[0] * i.Z / (i.X * i.Y)}
	t.i = r3.Scale(t.half, i)

	sx, sz := slopeOfSeries(f.Series[:9], x, z)
	dx, dz := slopeOfSeries(f.Series[9:], x, z)
	xy := r3.Scale(h*a[0]*h, r3.Vec{X: b[0] * y.X, Z: -b[1] * y.Z}) // ∂x/∂y and ∂z/∂y
	zy := r3.Scale(h*a[1]*h*a[1], y)
	for k := range 3 {
		t.dy[k] = unitVec(k)
		ds := sx*part(xy, k) + sz*part(zy, k)
		dd := a[1] * (dx*part(xy, k) + dz*part(zy, k))
		di := r3.Vec{X: a[0]*ds + dd, Y: a[1]*ds + dd, Z: a[2]*ds + dd}
		rate := r3.Vec{X: di.X / i.X, Y: di.Y / i.Y, Z: di.Z / i.Z}
		t.di[k] = r3.Scale(t.half, di)
		t.dg[k] = r3.Vec{X: t.g.X * (ds/s + rate.X - rate.Y - rate.Z), Y: t.g.Y * (ds/s + rate.Y - rate.Z - rate.X),
			Z: t.g.Z * (ds/s + rate.Z - rate.X - rate.Y)}
	}
	return t, int(number), h, s
}

// steps returns the rotations ξ for a change of y along the principal axes, and if asked those for changes of the
// numbers of the inertia in principal axes.
func (t *rotating) steps(f *native.Fixed, turns int, h, whole float64, inertia bool) (xi [9]r3.Vec) {
	if inertia {
		t.directions = 9
		t.setInertia(f, h, whole)
	}
	for range turns {
		t.step()
	}
	return t.xi
}

// stepVJP is the transpose of [rotating.steps] for one step, nearly always the only one: of step, of byInertia and of
// setInertia, in the opposite order.
func (t *rotating) stepVJP(f *native.Fixed, h, whole float64, xi r3.Vec, inertia bool) (byY r3.Vec, byInertia sym3) {
	y := t.y0
	w := r3.Vec{X: t.i.X * y.X, Y: t.i.Y * y.Y, Z: t.i.Z * y.Z}
	c := moserVeselov(w, t.g)
	square := 1 + dotVec(c, c)
	u, v, q := t.jacobian(w, c)
	vq := crossVec(v, q)
	byC := r3.Scale(2/(square*dotVec(u, vq)), r3.Sub(xi, crossVec(xi, c)))
	bar := addScaled(addScaled(r3.Scale(byC.X, vq), byC.Y, crossVec(q, u)), byC.Z, crossVec(u, v)) // of f
	alongI := r3.Scale(square, r3.Vec{X: bar.X * y.X, Y: bar.Y * y.Y, Z: bar.Z * y.Z})
	alongG := r3.Vec{X: bar.X * c.Y * c.Z, Y: bar.Y * c.Z * c.X, Z: bar.Z * c.X * c.Y}
	byY = r3.Vec{X: square*t.i.X*bar.X + dotVec(alongI, t.di[0]) - dotVec(alongG, t.dg[0]),
		Y: square*t.i.Y*bar.Y + dotVec(alongI, t.di[1]) - dotVec(alongG, t.dg[1]),
		Z: square*t.i.Z*bar.Z + dotVec(alongI, t.di[2]) - dotVec(alongG, t.dg[2])}
	if !inertia {
		return byY, byInertia
	}
	// the change δ of the inverse inertia counts by ⟨left, δ·right⟩
	m := crossVec(r3.Vec{X: t.i.X * bar.X, Y: t.i.Y * bar.Y, Z: t.i.Z * bar.Z}, c)
	left := [3]float64{bar.X + m.X/t.i.X, bar.Y + m.Y/t.i.Y, bar.Z + m.Z/t.i.Z}
	right, at := [3]float64{c.X / t.i.X, c.Y / t.i.Y, c.Z / t.i.Z}, [3]float64{y.X, y.Y, y.Z}
	a := &f.Turn
	k := sym3{a[0], a[1], a[2]}
	e := [3]float64{a[0] + a[1] + a[2], a[0]*a[1] + a[1]*a[2] + a[2]*a[0], a[0] * a[1] * a[2]}
	energy, size := 0.5*dotVec(y, k.Mul(y)), 0.5*dotVec(y, y)
	s, d := slopesOfTerms(stretch, h, e, energy, size), slopesOfTerms(shift, h, e, energy, size)
	byS, byD := 0.0, 0.0
	for j := range 3 {
		byS, byD = byS+a[j]*(left[j]*right[j]), byD+left[j]*right[j]
	}
	var by [4]float64 // e1, e2, e3 and H
	for j := range by {
		by[j] = byS*s[j] + byD*d[j]
	}
	for n, ij := range [6][2]int{{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}} {
		i, j := ij[0], ij[1]
		var g float64 // by −K·δI·K
		if i == j {
			g = whole*(left[i]*right[i]) + by[3]*(0.5*at[i]*at[i]) +
				by[0] + by[1]*(e[0]-a[i]) + by[2]*(a[(i+1)%3]*a[(i+2)%3])
		} else {
			g = whole*(left[i]*right[j]+left[j]*right[i]) + by[3]*(at[i]*at[j])
		}
		byInertia[n] = -t.half * a[i] * a[j] * g
	}
	return byY, byInertia
}

// jacobian has the columns of the derivative of f at c, see [moserVeselov].
func (t *rotating) jacobian(w, c r3.Vec) (u, v, q r3.Vec) {
	return r3.Vec{X: 1 - 2*w.X*c.X, Y: t.g.Y*c.Z - 2*w.Y*c.X, Z: t.g.Z*c.Y - 2*w.Z*c.X},
		r3.Vec{X: t.g.X*c.Z - 2*w.X*c.Y, Y: 1 - 2*w.Y*c.Y, Z: t.g.Z*c.X - 2*w.Z*c.Y},
		r3.Vec{X: t.g.X*c.Y - 2*w.X*c.Z, Y: t.g.Y*c.X - 2*w.Y*c.Z, Z: 1 - 2*w.Z*c.Z}
}

// slopeOfSeries is the derivative of [series] by x and z.
func slopeOfSeries(c []float64, x, z float64) (byX, byZ float64) {
	byX = c[0] + 2*c[2]*x + c[3]*z + 3*c[5]*x*x + 2*c[6]*x*z + c[7]*z*z
	byZ = c[1] + c[3]*x + 2*c[4]*z + c[6]*x*x + 2*c[7]*x*z + 3*c[8]*z*z
	return byX, byZ
}

// step makes a step and takes the tangents along.
func (t *rotating) step() {
	y := t.matrix.MulVecT(t.y0)
	w := r3.Vec{X: t.i.X * y.X, Y: t.i.Y * y.Y, Z: t.i.Z * y.Z}
	c := moserVeselov(w, t.g)
	square := 1 + dotVec(c, c)
	u, v, q := t.jacobian(w, c)
	vq, qu, uv := crossVec(v, q), crossVec(q, u), crossVec(u, v)
	r := 1 / dotVec(u, vq)
	rot := geom.Pose{Rotation: quaternion([]float64{1, c.X, c.Y, c.Z})}.Matrix()
	for k := range t.directions {
		dy := r3.Scale(-1, crossVec(t.xi[k], y))
		var f r3.Vec // what c must make up for
		if k < 3 {
			dy = r3.Add(dy, t.matrix.MulVecT(t.dy[k]))
			di, dg := t.di[k], t.dg[k]
			f = r3.Vec{X: square*di.X*y.X - dg.X*c.Y*c.Z, Y: square*di.Y*y.Y - dg.Y*c.Z*c.X,
				Z: square*di.Z*y.Z - dg.Z*c.X*c.Y}
		} else {
			f = t.byInertia(&t.change[k-3], c)
		}
		f = r3.Add(f, r3.Scale(square, r3.Vec{X: t.i.X * dy.X, Y: t.i.Y * dy.Y, Z: t.i.Z * dy.Z}))
		dc := r3.Vec{X: r * dotVec(f, vq), Y: r * dotVec(f, qu), Z: r * dotVec(f, uv)}
		t.xi[k] = r3.Add(rot.MulVecT(t.xi[k]), r3.Scale(2/square, r3.Sub(dc, crossVec(c, dc))))
	}
	t.matrix = matrixProduct(&t.matrix, &rot)
}

// byInertia is the right side of the tangent of c for a change of the inverse inertia of the step: with J its inverse
// and r = δK·Jc it is r + K(c×Jr). The factor ½h of i cancels but for that of the change.
func (t *rotating) byInertia(change *sym3, c r3.Vec) r3.Vec {
	r := change.Mul(r3.Vec{X: c.X / t.i.X, Y: c.Y / t.i.Y, Z: c.Z / t.i.Z})
	m := crossVec(c, r3.Vec{X: r.X / t.i.X, Y: r.Y / t.i.Y, Z: r.Z / t.i.Z})
	return r3.Add(r, r3.Vec{X: t.i.X * m.X, Y: t.i.Y * m.Y, Z: t.i.Z * m.Z})
}

// setInertia sets ½h times the change of the inverse inertia of the step, K(1 + s) + d, for a unit change of each of
// the six numbers of the inertia in principal axes; whole is 1 + s. Of needles the terms of the series cancel, and the
// derivative has a rounding error of about the ratio of the moments.
func (t *rotating) setInertia(f *native.Fixed, h, whole float64) {
	a, y := &f.Turn, t.y0
	k := sym3{a[0], a[1], a[2]}
	e := [3]float64{a[0] + a[1] + a[2], a[0]*a[1] + a[1]*a[2] + a[2]*a[0], a[0] * a[1] * a[2]}
	energy, square := 0.5*dotVec(y, k.Mul(y)), 0.5*dotVec(y, y)
	s, d := slopesOfTerms(stretch, h, e, energy, square), slopesOfTerms(shift, h, e, energy, square)
	at := [6][2]int{{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}}
	for n, ij := range at {
		i, j := ij[0], ij[1]
		var dk sym3 // −K·δI·K
		dk[n] = -a[i] * a[j]
		de := [4]float64{}
		de[3] = 0.5 * dotVec(y, dk.Mul(y))
		if i == j { // the invariants of a matrix do not change by what is beside its diagonal
			de[0], de[1], de[2] = dk[n], dk[n]*(e[0]-a[i]), dk[n]*a[(i+1)%3]*a[(i+2)%3]
		}
		ds, dd := 0.0, 0.0
		for m := range de {
			ds, dd = ds+s[m]*de[m], dd+d[m]*de[m]
		}
		for m := range dk {
			t.change[n][m] = t.half * whole * dk[m]
		}
		for m := range 3 {
			t.change[n][m] += t.half * (a[m]*ds + dd)
		}
	}
}

// slopesOfTerms are the derivatives of a sum of terms at the step length h by e1, e2, e3 and H. Terms whose products
// are below rounding are left out: of a body that hardly rotates, all of them.
func slopesOfTerms(terms []seriesTerm, h float64, e [3]float64, energy, square float64) (slope [4]float64) {
	x := h * h * (e[0]*energy + e[1]*square) // the terms of a degree go with this power
	if power(x, terms[0].h+terms[0].c) < 0x1p-60 {
		return slope
	}
	var of [4][7]float64
	base := [4]float64{e[0], e[1], e[2], energy}
	for m := range of {
		of[m][0] = 1
		for k := 1; k < len(of[m]); k++ {
			of[m][k] = of[m][k-1] * base[m]
		}
	}
	for i := range terms {
		t := &terms[i]
		degree := t.h + t.c
		if power(x, degree) < 0x1p-60 {
			break // terms are in the order of their degrees
		}
		v := float64(t.num) / float64(t.den) * power(h*h, degree) * power(square, t.c)
		p := [4]float64{of[0][t.e[0]], of[1][t.e[1]], of[2][t.e[2]], of[3][t.h]}
		n := [4]int{t.e[0], t.e[1], t.e[2], t.h}
		low, high := v*p[0]*p[1], v*p[2]*p[3]
		if n[0] > 0 {
			slope[0] += float64(n[0]) * of[0][n[0]-1] * p[1] * high
		}
		if n[1] > 0 {
			slope[1] += float64(n[1]) * of[1][n[1]-1] * p[0] * high
		}
		if n[2] > 0 {
			slope[2] += float64(n[2]) * of[2][n[2]-1] * p[3] * low
		}
		if n[3] > 0 {
			slope[3] += float64(n[3]) * of[3][n[3]-1] * p[2] * low
		}
	}
	return slope
}

// power is xⁿ of a small n.
func power(x float64, n int) float64 {
	p := 1.0
	for range n {
		p *= x
	}
	return p
}

func unitVec(k int) r3.Vec {
	switch k {
	case 0:
		return r3.Vec{X: 1}
	case 1:
		return r3.Vec{Y: 1}
	}
	return r3.Vec{Z: 1}
}

func part(v r3.Vec, k int) float64 {
	switch k {
	case 0:
		return v.X
	case 1:
		return v.Y
	}
	return v.Z
}

// matrixProduct is ab.
func matrixProduct(a, b *geom.Mat3) (out geom.Mat3) {
	for i := range 3 {
		for j := range 3 {
			out[3*i+j] = a[3*i]*b[j] + a[3*i+1]*b[3+j] + a[3*i+2]*b[6+j]
		}
	}
	return out
}

// steadyVJP multiplies a cotangent of the rotation after one by the vector v with the derivative of exp(v): θ⁺ =
// exp(v)θ + T·δv, T = a + b[v] + c·vvᵀ. It returns the cotangents of θ and v.
func steadyVJP(v, cotangent r3.Vec) (rotation, vector r3.Vec) {
	pose := geom.Pose{Rotation: exponential(v)}
	m := pose.Matrix()
	x := dotVec(v, v)
	var a, b, c float64
	if x < 0.25 { // below rounding are terms of x⁹: sin θ/θ, (1 − cos θ)/θ², (θ − sin θ)/θ³
		a = 1 - x/6*(1-x/20*(1-x/42*(1-x/72*(1-x/110*(1-x/156*(1-x/210))))))
		b = 0.5 * (1 - x/12*(1-x/30*(1-x/56*(1-x/90*(1-x/132*(1-x/182*(1-x/240)))))))
		c = 1. / 6 * (1 - x/20*(1-x/42*(1-x/72*(1-x/110*(1-x/156*(1-x/210*(1-x/272)))))))
	} else {
		angle := math.Sqrt(x)
		sin, cos := math.Sincos(angle)
		a, b, c = sin/angle, (1-cos)/x, (angle-sin)/(x*angle)
	}
	vector = r3.Add(r3.Scale(a, cotangent), r3.Scale(c*dotVec(v, cotangent), v))
	return m.MulVecT(cotangent), r3.Add(vector, r3.Scale(b, crossVec(cotangent, v)))
}

// RotationVJP multiplies a cotangent of the rotation of body b after a step of a record, a rotation vector in world
// axes, with the derivative of the rotation. It returns the cotangents of the rotation before and of the momentum that
// the body rotates with, [BodyRecord].Rotating; of a body of mass +Inf, of its angular velocity. If inertia is not nil,
// the derivatives by the six numbers of the inertia in the axes of the body are added to it.
func (s *Simulation) RotationVJP(b int, dt float64, r *BodyRecord, cotangent r3.Vec, inertia *[6]float64) (rotation,
	momentum r3.Vec) {
	f := &s.fixed[b]
	movable := s.scene.movable(int32(b))
	switch {
	case cotangent == r3.Vec{}:
		return rotation, momentum
	case !movable:
		rotation, momentum = steadyVJP(r3.Scale(dt, r.Rotating), cotangent)
		return rotation, r3.Scale(dt, momentum)
	}
	axes := (*geom.Mat3)(&f.Axes)
	y := axes.MulVecT(r.Matrix.MulVecT(r.Rotating))
	xi := axes.MulVecT(r.NextMatrix.MulVecT(cotangent))
	var byY r3.Vec
	var g sym3
	if f.Round == 0 || inertia != nil {
		byY, g = rotationVJP(f, y, dt, xi, inertia != nil)
	}
	if inertia != nil {
		for n := 3; n < len(g); n++ { // of a symmetric matrix: those beside the diagonal are halves
			g[n] /= 2
		}
		g = rotated(axes, &g)
		for n := range g {
			if n >= 3 {
				g[n] *= 2
			}
			inertia[n] += g[n]
		}
	}
	if f.Round != 0 {
		rotation, momentum = steadyVJP(r3.Scale(dt*f.Turn[1], r.Rotating), cotangent)
		return rotation, r3.Scale(dt*f.Turn[1], momentum)
	}
	momentum = r.Matrix.MulVec(axes.MulVec(byY))
	return r3.Add(cotangent, crossVec(momentum, r.Rotating)), momentum
}

// HalfRotation is the matrix by which the normals and arms of contacts are rotated of a body that is moved with an
// angular velocity, see [halfRotation].
func HalfRotation(spin r3.Vec, dt float64) geom.Mat3 {
	if t := halfRotationBy(r3.Scale(dt, spin)); t.any {
		return t.matrix
	}
	return geom.Mat3{0: 1, 4: 1, 8: 1}
}

// HalfRotationVJP multiplies the cotangent of the rotation vector, in world axes, of what [HalfRotation] has rotated
// with its derivative by the angular velocity: (1, u)/√(1 + u²) is its quaternion, with u = kv and v = Δt·ω.
func HalfRotationVJP(spin r3.Vec, dt float64, cotangent r3.Vec) r3.Vec {
	v := r3.Scale(dt, spin)
	square := dotVec(v, v)
	if !(square < mostCarried) {
		return r3.Vec{}
	}
	root := math.Sqrt(1 - 0.25*square)
	k := 0.5 / (1 + root)
	u := r3.Scale(k, v)
	// δθ = 2(δu + u×δu)/(1 + u²), δu = kδv + v·⟨v, δv⟩/(8·root·(1 + root)²)
	byU := r3.Scale(2/(1+dotVec(u, u)), r3.Add(cotangent, crossVec(cotangent, u)))
	byV := r3.Add(r3.Scale(k, byU), r3.Scale(dotVec(v, byU)/(8*root*(1+root)*(1+root)), v))
	return r3.Scale(dt, byV)
}
