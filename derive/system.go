package derive

//go:generate go run ../cmd/genlayout -constants ../derive -glsl ../shaders/derive_constants.glsl -shaders ../shaders -c ../kernels/derive/include/constants.h -kernels ../kernels/derive

import (
	"math"

	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// system is the linear system of a row at a normal, see the comment of the package.
type system struct {
	n          r3.Vec
	e          basis
	a, b       feature
	tA, tB     [2]vec2 // tangential parts of the bases of the features
	value      float64 // signed distance, or growth distance
	k          sym2    // c·P + H_A + H_B with c the signed distance, or 0 for growth distances
	h          float64 // of growth distances: n·(ā - b̄), the support value of D about the centers
	abar, bbar r3.Vec  // of growth distances: witnesses from the centers, zero of a half-space
	point      r3.Vec  // of growth distances: the common point
	least      float64 // least eigenvalue of k across the features, metres
	size       float64

	scaleA, scaleB float64 // what the coordinates y of a witness within its feature are multiplied by

	inverse [4][4]float64 // of the matrix, in the order dn, y_A, y_B
	order   int
}

// verdict says what a linear system allows.
type verdict uint8

const (
	regular   verdict = iota
	parallel          // features have a direction in common
	irregular         // the second-order condition fails
)

// parallelSine is the sine of the angle below which edges count as parallel: coordinates along them lose that
// factor of accuracy.
const parallelSine = 1e-7

// leastCurvature, times the size of the pair, is the least eigenvalue of k: the normal is then exact to about
// 2⁻⁵² / 1e-9.
const leastCurvature = 1e-9

// assemble forms the system of features at n.
func (s *system) assemble(p *problem, n r3.Vec, a, b feature) {
	s.n, s.a, s.b, s.size = n, a, b, p.size
	s.scaleA, s.scaleB = 1, 1
	for i := range a.flat {
		s.tA[i] = s.e.of(a.t[i])
	}
	for i := range b.flat {
		s.tB[i] = s.e.of(b.t[i])
	}
	s.k = a.h
	s.k.add(b.h)
	if p.growth {
		s.growth(p)
		return
	}
	s.value = r3.Dot(n, r3.Sub(b.point, a.point))
	s.k[0] += s.value
	s.k[2] += s.value
}

// growth completes the system of a growth distance. A half-space does not grow: its witness is the common point.
func (s *system) growth(p *problem) {
	s.abar, s.bbar = r3.Sub(s.a.point, p.a.center), r3.Sub(s.b.point, p.b.center)
	from, to := p.a.center, p.b.center
	if p.a.unbounded {
		s.abar, from = r3.Vec{}, s.a.point
	}
	if p.b.unbounded {
		s.bbar, to = r3.Vec{}, s.b.point
	}
	s.h = r3.Dot(s.n, r3.Sub(s.abar, s.bbar))
	s.value = r3.Dot(s.n, r3.Sub(to, from)) / s.h
	switch {
	case p.a.unbounded:
		s.scaleA = s.value
		s.point = r3.Add(p.b.center, r3.Scale(s.value, s.bbar))
	case p.b.unbounded:
		s.scaleB = s.value
		s.point = r3.Add(p.a.center, r3.Scale(s.value, s.abar))
	default:
		s.point = r3.Add(p.a.center, r3.Scale(s.value, s.abar))
	}
}

// solve inverts the matrix. Lengths are divided by the size of the pair, so that pivots compare.
func (s *system) solve() verdict {
	nA, nB := s.a.flat, s.b.flat
	s.least = math.Inf(1)
	switch nA + nB {
	case 0:
		s.least = s.k.least()
	case 1:
		t := s.tA[0]
		if nB == 1 {
			t = s.tB[0]
		}
		f := vec2{-t[1], t[0]}
		s.least = dot2(f, s.k.mul(f))
	case 2:
		if nA == 1 && !(math.Abs(cross2(s.tA[0], s.tB[0])) > parallelSine) {
			return parallel
		}
	default:
		return parallel
	}
	if !(s.least > leastCurvature*s.size) {
		return irregular
	}
	s.order = 2 + nA + nB
	var m [4][8]float64
	m[0][0], m[0][1], m[1][0], m[1][1] = s.k[0]/s.size, s.k[1]/s.size, s.k[1]/s.size, s.k[2]/s.size
	column := 2
	put := func(t vec2, sign float64) {
		for i := range t {
			m[i][column], m[column][i] = sign*t[i], sign*t[i]
		}
		column++
	}
	for i := range nA {
		put(s.tA[i], 1)
	}
	for i := range nB {
		put(s.tB[i], -1)
	}
	if !invert(&m, s.order) {
		return irregular
	}
	for i := range s.order {
		for j := range s.order {
			v := m[i][s.order+j]
			switch {
			case i < 2 && j < 2:
				v /= s.size
			case i >= 2 && j >= 2:
				v *= s.size
			}
			s.inverse[i][j] = v
		}
	}
	return regular
}

// invert replaces the right half of the augmented matrix [M, I] of order n by the inverse of M: Gauss-Jordan
// elimination with partial pivoting. It reports false for a pivot that is zero or not finite.
func invert(m *[4][8]float64, n int) bool {
	for i := range n {
		for j := range n {
			m[i][n+j] = 0
		}
		m[i][n+i] = 1
	}
	for c := range n {
		p := c
		for i := c + 1; i < n; i++ {
			if math.Abs(m[i][c]) > math.Abs(m[p][c]) {
				p = i
			}
		}
		m[c], m[p] = m[p], m[c]
		pivot := m[c][c]
		if !(math.Abs(pivot) > 0) || math.IsInf(pivot, 0) {
			return false
		}
		for j := range 2 * n {
			m[c][j] /= pivot
		}
		for i := range n {
			if f := m[i][c]; i != c && f != 0 {
				for j := range 2 * n {
					m[i][j] -= f * m[c][j]
				}
			}
		}
	}
	return true
}

// unknowns are dn and the coordinates within the features of A and B.
type unknowns struct {
	dn     vec2
	yA, yB [2]float64
}

// apply multiplies by the inverse. Entries beyond the dimensions of the features are zero.
func (s *system) apply(r unknowns) (x unknowns) {
	nA := s.a.flat
	var in, out [4]float64
	in[0], in[1] = r.dn[0], r.dn[1]
	copy(in[2:], r.yA[:nA])
	copy(in[2+nA:], r.yB[:s.b.flat])
	for i := range s.order {
		for j := range s.order {
			out[i] += s.inverse[i][j] * in[j]
		}
	}
	x.dn = vec2{out[0], out[1]}
	copy(x.yA[:nA], out[2:])
	copy(x.yB[:s.b.flat], out[2+nA:])
	return x
}

// along returns T·y in tangential coordinates.
func along(t *[2]vec2, flat int, y [2]float64) (v vec2) {
	for i := range flat {
		v[0] += t[i][0] * y[i]
		v[1] += t[i][1] * y[i]
	}
	return v
}

// project returns Tᵀ·v.
func project(t *[2]vec2, flat int, v vec2) (y [2]float64) {
	for i := range flat {
		y[i] = dot2(t[i], v)
	}
	return y
}

// tangent returns the derivative of the answer along twists.
func (s *system) tangent(p *problem, t *Twists) (d Cotangent) {
	vA, omegaA, vB, omegaB := vec(t, 0), vec(t, 3), vec(t, 6), vec(t, 9)
	atA := r3.Add(vA, r3.Cross(omegaA, s.a.point))
	atB := r3.Add(vB, r3.Cross(omegaB, r3.Sub(s.b.point, p.b.pos)))
	wA, wB := s.e.of(r3.Cross(omegaA, s.n)), s.e.of(r3.Cross(omegaB, s.n))
	var u vec2
	if p.growth {
		relative := r3.Sub(r3.Add(vB, r3.Cross(omegaB, r3.Sub(s.point, p.b.pos))),
			r3.Add(vA, r3.Cross(omegaA, s.point)))
		d.Value = r3.Dot(s.n, relative) / s.h
		u = s.e.of(r3.Sub(relative, r3.Scale(d.Value, r3.Sub(s.abar, s.bbar))))
		u = vec2{u[0] / s.value, u[1] / s.value}
	} else {
		relative := r3.Sub(atB, atA)
		d.Value = r3.Dot(s.n, relative)
		u = s.e.of(relative)
	}
	hA, hB := s.a.h.mul(wA), s.b.h.mul(wB)
	right := unknowns{dn: vec2{u[0] + hA[0] + hB[0], u[1] + hA[1] + hB[1]}, yA: project(&s.tA, s.a.flat, wA)}
	right.yB = project(&s.tB, s.b.flat, vec2{-wB[0], -wB[1]})
	x := s.apply(right)
	d.Normal = s.e.vec(x.dn)
	bentA := s.a.h.mul(vec2{x.dn[0] - wA[0], x.dn[1] - wA[1]})
	bentB := s.b.h.mul(vec2{wB[0] - x.dn[0], wB[1] - x.dn[1]})
	slideA, slideB := along(&s.tA, s.a.flat, x.yA), along(&s.tB, s.b.flat, x.yB)
	d.WitnessA = r3.Add(atA, s.e.vec(vec2{bentA[0] + s.scaleA*slideA[0], bentA[1] + s.scaleA*slideA[1]}))
	d.WitnessB = r3.Add(atB, s.e.vec(vec2{bentB[0] + s.scaleB*slideB[0], bentB[1] + s.scaleB*slideB[1]}))
	return d
}

// cotangent adds the gradient with respect to the twists: the transpose of tangent.
func (s *system) cotangent(p *problem, c *Cotangent, g *Twists) {
	a2, b2 := s.e.of(c.WitnessA), s.e.of(c.WitnessB)
	n2 := s.e.of(c.Normal)
	hA, hB := s.a.h.mul(a2), s.b.h.mul(b2)
	left := unknowns{dn: vec2{n2[0] + hA[0] - hB[0], n2[1] + hA[1] - hB[1]}}
	left.yA = project(&s.tA, s.a.flat, vec2{s.scaleA * a2[0], s.scaleA * a2[1]})
	left.yB = project(&s.tB, s.b.flat, vec2{s.scaleB * b2[0], s.scaleB * b2[1]})
	x := s.apply(left)
	u := x.dn
	hA, hB = s.a.h.mul(vec2{u[0] - a2[0], u[1] - a2[1]}), s.b.h.mul(vec2{u[0] + b2[0], u[1] + b2[1]})
	tA, tB := along(&s.tA, s.a.flat, x.yA), along(&s.tB, s.b.flat, x.yB)
	wA := vec2{hA[0] + tA[0], hA[1] + tA[1]}
	wB := vec2{hB[0] - tB[0], hB[1] - tB[1]}

	g.push(0, c.WitnessA, s.a.point)
	g.push(6, c.WitnessB, r3.Sub(s.b.point, p.b.pos))
	g.spin(3, r3.Cross(s.n, s.e.vec(wA)))
	g.spin(9, r3.Cross(s.n, s.e.vec(wB)))
	s.pushRelative(p, g, c.Value, u)
}

// pushRelative adds the gradient with respect to the relative velocity at the witnesses: of the value, and of the
// tangential part u of the right-hand side.
func (s *system) pushRelative(p *problem, g *Twists, value float64, u vec2) {
	if p.growth {
		if u != (vec2{}) { // of a growth distance of 0 only the value has a derivative
			u = vec2{u[0] / s.value, u[1] / s.value}
			value -= dot2(u, s.e.of(r3.Sub(s.abar, s.bbar)))
		}
		value /= s.h
	}
	f := r3.Add(r3.Scale(value, s.n), s.e.vec(u))
	atA, atB := s.a.point, s.b.point
	if p.growth {
		atA, atB = s.point, s.point
	}
	g.push(0, r3.Scale(-1, f), atA)
	g.push(6, f, r3.Sub(atB, p.b.pos))
}

// push adds the wrench of a force at a point, relative to the position of its body, whose velocity starts at i.
func (g *Twists) push(i int, force, at r3.Vec) {
	g.spin(i, force)
	g.spin(i+3, r3.Cross(at, force))
}

func (g *Twists) spin(i int, v r3.Vec) {
	g[i] += v.X
	g[i+1] += v.Y
	g[i+2] += v.Z
}

func vec(t *Twists, i int) r3.Vec { return r3.Vec{X: t[i], Y: t[i+1], Z: t[i+2]} }

// vec2 is a vector of the tangent plane, in the coordinates of a basis.
type vec2 [2]float64

func dot2(a, b vec2) float64   { return a[0]*b[0] + a[1]*b[1] }
func cross2(a, b vec2) float64 { return a[0]*b[1] - a[1]*b[0] }

// sym2 is a symmetric form on the tangent plane: xx, xy, yy.
type sym2 [3]float64

func (h sym2) mul(v vec2) vec2 { return vec2{h[0]*v[0] + h[1]*v[1], h[1]*v[0] + h[2]*v[1]} }

// least returns the smaller eigenvalue.
func (h sym2) least() float64 {
	mean, half := (h[0]+h[2])/2, (h[0]-h[2])/2
	return mean - math.Hypot(half, h[1])
}

// basis is an orthonormal basis of the plane orthogonal to a unit vector.
type basis [2]r3.Vec

// flippedBelow is the component z of a normal below which its basis is the other one of two. No basis is continuous on
// the whole sphere; normals along axes and planes of axes, where rounding would choose, are far from this jump. The
// first basis loses a factor of 1/(1 + z) of accuracy.
const flippedBelow = -0.4

// tangentBasis returns a basis with e1 × e2 = n, see [geom.TangentBasis].
func tangentBasis(n r3.Vec) basis {
	s := 1.0
	if n.Z < flippedBelow {
		s = -1
	}
	e1, e2 := geom.TangentBasis(n, s)
	return basis{e1, e2}
}

// of returns the coordinates of the tangential part of v.
func (e *basis) of(v r3.Vec) vec2 { return vec2{r3.Dot(e[0], v), r3.Dot(e[1], v)} }

// vec returns the vector of coordinates.
func (e *basis) vec(c vec2) r3.Vec { return r3.Add(r3.Scale(c[0], e[0]), r3.Scale(c[1], e[1])) }

// outer returns k·v·vᵀ for the tangential part of v.
func (e *basis) outer(k float64, v r3.Vec) sym2 {
	c := e.of(v)
	return sym2{k * c[0] * c[0], k * c[0] * c[1], k * c[1] * c[1]}
}

func (h *sym2) add(g sym2) {
	for i := range h {
		h[i] += g[i]
	}
}

// largestResponse bounds the derivatives of a row with all of them, in units of the size of the pair: those of the
// normal and the witnesses by lengths and angles, and the radii of curvature. Beyond it the rounding of the answer,
// 1e-16 of the size, moves them by more than about a thousandth where they vary over the size, and which of them are
// finite would depend on rounding: the Hessians of powers are negative powers of components that ought to be zero.
const largestResponse = 1e6

// mat2 is a matrix on the tangent plane, row by row.
type mat2 [4]float64

func (h sym2) times(m mat2) mat2 {
	return mat2{h[0]*m[0] + h[1]*m[2], h[0]*m[1] + h[1]*m[3], h[1]*m[0] + h[2]*m[2], h[1]*m[1] + h[2]*m[3]}
}

func (h sym2) full() mat2 { return mat2{h[0], h[1], h[1], h[2]} }

func (m *mat2) addOuter(k float64, a, b vec2) {
	m[0] += k * a[0] * b[0]
	m[1] += k * a[0] * b[1]
	m[2] += k * a[1] * b[0]
	m[3] += k * a[1] * b[1]
}

// isLarge reports whether the Frobenius norm of a matrix of the response, or of a Hessian, exceeds largestResponse.
// With w_i = ω_i × n and u the tangential part of the relative velocity of the witnesses, as package lanes has them
// (columns.h),
//
//	dn = N·u + M_A·w_A + M_B·w_B
//	da = v_a + M_Aᵀ·u + Q_AA·w_A + Q_AB·w_B,   db = v_b - (M_Bᵀ·u + Q_ABᵀ·w_A + Q_BB·w_B)
//	M_i = N·H_i + Y_i·T_iᵀ,   Q_ij = H_i·N·H_j + H_i·Y_j·T_jᵀ + T_i·Y_iᵀ·H_j - T_i·Z_ij·T_jᵀ - [i = j]·H_i.
//
// Of growth distances u is the relative velocity at the common point by (1 + |ā - b̄|/h)/α at most.
func (s *system) isLarge(p *problem) bool {
	type columns struct {
		h    sym2
		t, y [2]vec2
		flat int
		at   int // of its coordinates in the inverse
		sign float64
	}
	sides := [2]columns{{h: s.a.h, t: s.tA, flat: s.a.flat, at: 2, sign: 1},
		{h: s.b.h, t: s.tB, flat: s.b.flat, at: 2 + s.a.flat, sign: -1}}
	n := sym2{s.inverse[0][0], s.inverse[0][1], s.inverse[1][1]}
	var m [2]mat2
	for i := range sides {
		x := &sides[i]
		m[i] = n.times(x.h.full())
		for k := range x.flat {
			x.t[k] = vec2{x.sign * x.t[k][0], x.sign * x.t[k][1]}
			x.y[k] = vec2{s.inverse[0][x.at+k], s.inverse[1][x.at+k]}
			m[i].addOuter(1, x.y[k], x.t[k])
		}
	}
	speed, worst := 1.0, 0.0
	if p.growth {
		speed = (1 + r3.Norm(r3.Sub(s.abar, s.bbar))/s.h) / s.value
	}
	note := func(scale float64, m mat2) { // its Frobenius norm, which does not depend on the basis
		if v := scale * math.Sqrt(m[0]*m[0]+m[1]*m[1]+m[2]*m[2]+m[3]*m[3]); !(v <= worst) {
			worst = v
		}
	}
	note(speed*p.size, n.full())
	over := 1 / p.size
	for i := range sides {
		a := &sides[i]
		note(speed, m[i])
		note(over, a.h.full())
		for j := i; j < 2; j++ {
			b := &sides[j]
			q := a.h.times(m[j])
			for k := range a.flat {
				hy := b.h.mul(a.y[k])
				q.addOuter(1, a.t[k], hy)
				for l := range b.flat {
					q.addOuter(s.inverse[a.at+k][b.at+l], a.t[k], b.t[l])
				}
			}
			if i == j {
				q[0], q[1], q[2], q[3] = q[0]-a.h[0], q[1]-a.h[1], q[2]-a.h[1], q[3]-a.h[2]
			}
			note(over, q)
		}
	}
	return !(worst <= largestResponse)
}
