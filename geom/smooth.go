package geom

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// powered is a body about the local point 0 that is known by its support function.
type powered interface {
	Smooth
	// about returns the support value and point, relative to the center; d ≠ 0.
	about(d r3.Vec) (h float64, x r3.Vec)
}

// radii are the bounding and the inscribed radius about the center.
type radii struct{ outer, inner float64 }

// BoundingRadius is at least the largest distance of a point from the center, and at
// most 1 % more.
func (r *radii) BoundingRadius() float64 { return r.outer }

// Inradius is at most the smallest support value, and at least 99 % of it unless the
// body is some hundred times as long as thick: then it is at least that of the polytope.
func (r *radii) Inradius() float64 { return r.inner }

// radiiTolerance is the relative tolerance at which the search for the radii ends, and maxRadiiNodes
// the number of triangles after which it goes on for the bounding radius alone.
const (
	radiiTolerance = 0.01
	maxRadiiNodes  = 1 << 14
)

// measure finds both radii by branch and bound over the sphere of directions, cut into
// triangles that begin as the faces of an octahedron.
//
// A unit d in the triangle of d₁, d₂, d₃ is a sum Σ λₖdₖ with λₖ ≥ 0 and 1 ≤ Σ λₖ ≤ 1/ρ, where ρ
// is the distance of the plane of the three from the origin. So h(d) ≤ max h(dₖ)/ρ
// for the convex h; and for any point x of the body h(d) ≥ <x, d> ≥ min <x, dₖ>, if that is
// not negative. A relative margin of 2⁻⁴⁰ covers the rounding. floor is a lower bound of
// the inscribed radius that is known.
func (r *radii) measure(b powered, center r3.Vec, floor float64) {
	type node struct {
		d [3]r3.Vec
		h [3]float64
	}
	value := func(d r3.Vec) float64 { h, _ := b.about(d); return h }
	var stack []node
	for i := range 8 {
		sign := func(bit int) float64 { return float64(1 - 2*(i>>bit&1)) }
		n := node{d: [3]r3.Vec{{X: sign(0)}, {Y: sign(1)}, {Z: sign(2)}}}
		for k, d := range n.d {
			n.h[k] = value(d)
		}
		stack = append(stack, n)
	}
	least, most := math.Inf(1), 0.0 // attained
	for _, n := range stack {
		least, most = min(least, n.h[0], n.h[1], n.h[2]), max(most, n.h[0], n.h[1], n.h[2])
	}
	lower, upper := math.Inf(1), 0.0
	for nodes := 0; len(stack) > 0; nodes++ {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		c := r3.Unit(r3.Add(n.d[0], r3.Add(n.d[1], n.d[2])))
		h, x := b.about(c)
		least, most = min(least, h), max(most, h)
		normal := r3.Unit(r3.Cross(r3.Sub(n.d[1], n.d[0]), r3.Sub(n.d[2], n.d[0])))
		rho := math.Abs(r3.Dot(normal, n.d[0]))
		hi := max(n.h[0], n.h[1], n.h[2]) / rho
		lo := min(r3.Dot(x, n.d[0]), r3.Dot(x, n.d[1]), r3.Dot(x, n.d[2]))
		if hi <= most*(1+radiiTolerance) && (lo >= least*(1-radiiTolerance) || nodes > maxRadiiNodes) {
			lower, upper = min(lower, lo), max(upper, hi)
			continue
		}
		var mid [3]r3.Vec
		var hm [3]float64
		for k := range 3 {
			mid[k] = r3.Unit(r3.Add(n.d[k], n.d[(k+1)%3]))
			hm[k] = value(mid[k])
			least, most = min(least, hm[k]), max(most, hm[k])
		}
		stack = append(stack, node{mid, hm})
		for k := range 3 {
			stack = append(stack, node{[3]r3.Vec{n.d[k], mid[k], mid[(k+2)%3]}, [3]float64{n.h[k], hm[k], hm[(k+2)%3]}})
		}
	}
	r.outer, r.inner = upper*(1+0x1p-40), max(lower, floor)*(1-0x1p-40)
	// Coordinates far from the local origin are rounded.
	r.outer += 4 * 0x1p-53 * math.Sqrt(r3.Norm2(center))
}

// supportAABB returns the bounding box of a body by its support points on the axes.
func supportAABB(s Shape) (lo, hi r3.Vec) {
	lo = r3.Vec{X: s.CoreSupport(r3.Vec{X: -1}).X, Y: s.CoreSupport(r3.Vec{Y: -1}).Y, Z: s.CoreSupport(r3.Vec{Z: -1}).Z}
	hi = r3.Vec{X: s.CoreSupport(r3.Vec{X: 1}).X, Y: s.CoreSupport(r3.Vec{Y: 1}).Y, Z: s.CoreSupport(r3.Vec{Z: 1}).Z}
	return lo, hi
}

// gaugeResidual is the Residual of a body known by its support function, at q relative
// to its center. start is the normal of a face of an inscribed polytope, beyond which q lies
// or would lie; inner and outer are the radii.
//
// Inside, with g the gauge of q, the magnitude (1-g)·inner is at most the depth, as for
// a superquadric. Outside it is the distance, found as the length of the d that minimises
// ½|d|² + h(d) - <d, q>: d leads from the nearest point to q, and the minimum is minus
// half the squared distance. The gauge, half whose square is minus the minimum of ½h(d)² - <d, q>,
// bounds it from above along the ray from the center.
//
// Both functions are convex and smooth, so Newton's method finds their minima, and the
// values err by the square of what is left of the gradient; see convexMin.bound.
func gaugeResidual(b powered, q, start r3.Vec, inner, outer float64) float64 {
	norm := math.Sqrt(r3.Norm2(q))
	switch {
	case !(norm <= math.MaxFloat64):
		return math.NaN()
	case norm == 0:
		return -inner
	}
	h, _ := b.about(start)
	m := convexMin{b: b, q: q, inner: inner, outer: outer}
	m.minimize(r3.Scale(max(r3.Dot(start, q), 0.5*norm*norm/outer)/(h*h), start))
	g := m.bound()
	if g <= 1 {
		return (g - 1) * inner
	}
	radial := norm * (1 - 1/g)
	if (g-1)*outer/inner < 0x1p-51 {
		return radial // too long by rounding at most: the distance is at least inner/outer of it
	}
	n := r3.Unit(m.d)
	h, _ = b.about(n)
	// At a sharp corner, which has many normals, the ray itself may be the better start.
	u := r3.Scale(1/norm, q)
	if hu, _ := b.about(u); r3.Dot(u, q)-hu > r3.Dot(n, q)-h {
		n, h = u, hu
	}
	p := convexMin{b: b, q: q, inner: inner, outer: outer, metric: true}
	p.minimize(r3.Scale(max(r3.Dot(n, q)-h, (g-1)/g*inner), n))
	return min(radial, p.bound())
}

// convexMin minimises ½N(d)² - <d, q> where N is h, or with metric ½|d|² + h(d) - <d, q>.
type convexMin struct {
	b            powered
	q            r3.Vec
	inner, outer float64
	metric       bool

	d     r3.Vec
	value float64
	h     float64
	e     r3.Vec // minus the gradient
	m     Mat3   // Hessian
}

// at evaluates the function and its gradient, and with hessian its Hessian too. ok is false
// where there is none.
func (c *convexMin) at(d r3.Vec) (value, h float64, e r3.Vec) {
	h, x := c.b.about(d)
	if c.metric {
		return 0.5*r3.Norm2(d) + h - r3.Dot(d, c.q), h, r3.Sub(r3.Sub(c.q, x), d)
	}
	return 0.5*h*h - r3.Dot(d, c.q), h, r3.Sub(c.q, r3.Scale(h, x))
}

func (c *convexMin) hessian() bool {
	m, ok := c.b.SupportHessian(c.d)
	if c.metric {
		m[0], m[4], m[8] = m[0]+1, m[4]+1, m[8]+1
	} else {
		_, x := c.b.about(c.d)
		for i := range m {
			m[i] *= c.h
		}
		addSquare(&m, 1, x)
	}
	c.m = m
	return ok
}

// maxConvexSteps is far more than the damped steps that any shape of the tests takes.
const maxConvexSteps = 200

// minimize runs Newton's method from d, damped by a multiple of the identity that grows
// when a step does not lower the function and shrinks when one does (Levenberg and
// Marquardt). It ends where the decrement is lost to rounding.
func (c *convexMin) minimize(d r3.Vec) {
	c.d = d
	c.value, c.h, c.e = c.at(d)
	damp := 0.0
	for range maxConvexSteps {
		if !c.hessian() {
			return
		}
		trace := c.m[0] + c.m[4] + c.m[8]
		better := false
		for range 40 {
			step, ok := c.solve(damp * trace)
			if ok {
				lambda2 := r3.Dot(step, c.e)
				next := r3.Add(c.d, step)
				value, h, e := c.at(next)
				// Below the rounding of the terms that cancel in the value it no longer
				// tells: then a step is right if it lowers the gradient.
				blind := lambda2 <= 0x1p-48*(math.Abs(c.h)+math.Abs(r3.Dot(c.d, c.q)))
				if h > 0 && (!blind && value < c.value || blind && r3.Norm2(e) < 0.9*r3.Norm2(c.e)) {
					c.d, c.value, c.h, c.e = next, value, h, e
					damp /= 8
					if damp < 0x1p-60 {
						damp = 0
					}
					better = true
					break
				}
				if blind && damp <= 0x1p-40 {
					break
				}
			}
			damp = max(8*damp, 0x1p-50)
			if damp > 0x1p20 {
				break
			}
		}
		if !better {
			return
		}
	}
	c.hessian()
}

// solve returns (M + mu·I)⁻¹ e by Cholesky's method. ok is false if that is not
// positive definite to rounding.
func (c *convexMin) solve(mu float64) (z r3.Vec, ok bool) {
	m := &c.m
	a := m[0] + mu
	if !(a > 0) {
		return z, false
	}
	l10, l20 := m[3]/a, m[6]/a
	b := m[4] + mu - l10*m[3]
	if !(b > 0) {
		return z, false
	}
	t := m[7] - l20*m[3]
	l21 := t / b
	d := m[8] + mu - l20*m[6] - l21*t
	if !(d > 0) {
		return z, false
	}
	y1 := c.e.Y - l10*c.e.X
	y2 := c.e.Z - l20*c.e.X - l21*y1
	z.Z = y2 / d
	z.Y = y1/b - l21*z.Z
	z.X = c.e.X/a - l10*z.Y - l20*z.Z
	return z, Finite(z)
}

// bound returns the gauge of q, or with metric its distance from the body, right to
// rounding where the minimum was found, and else a bound from above.
//
// Both are norms N of which d gives a lower bound, and N² = lower² + eᵀM⁻¹e to third order
// in e. Where M is nearly singular e is split, e = Mz + μz: the first part costs zᵀMz, and
// the second at most its length over the inscribed radius (or its length) by the
// triangle inequality, whatever μ. The best of a few μ counts.
func (c *convexMin) bound() float64 {
	norm, least := math.Sqrt(r3.Norm2(c.d)), c.inner
	lower := r3.Dot(c.d, c.q) / c.h
	if c.metric {
		lower, least = (r3.Dot(c.d, c.q)-c.h)/norm, 1
	}
	lower = max(lower, 0)
	length := math.Sqrt(r3.Norm2(c.e))
	best := c.h + length/least // rigorous
	if c.metric {
		best = norm + length
	}
	trace := c.m[0] + c.m[4] + c.m[8]
	for _, damp := range [...]float64{0, 0x1p-50, 0x1p-40, 0x1p-30, 0x1p-20, 0x1p-10, 1} {
		z, ok := c.solve(damp * trace)
		if !ok {
			continue
		}
		cost := max(r3.Dot(z, c.m.MulVec(z)), 0)
		if cost > 0x1p-40*lower*lower && !(c.metric && cost < 0x1p-98*c.outer*c.outer) {
			continue // too far from the minimum for second order, and not by rounding alone
		}
		best = min(best, math.Sqrt(lower*lower+2*cost)+damp*trace*math.Sqrt(r3.Norm2(z))/least)
	}
	return best
}
