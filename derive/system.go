package derive

import (
	"math"

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
