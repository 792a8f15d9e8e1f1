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

// radiiGap is the relative gap at which the search for the radii ends, and maxRadiiNodes
// the number of triangles after which it goes on for the bounding radius alone.
const (
	radiiGap      = 0.01
	maxRadiiNodes = 1 << 14
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
		if hi <= most*(1+radiiGap) && (lo >= least*(1-radiiGap) || nodes > maxRadiiNodes) {
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
