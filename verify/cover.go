package verify

import (
	"math"

	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// This file proves that no direction has a support value below a number, by branch and bound over directions. It uses
// the support functions of package geom and nothing of package ref or of the kernels.
//
// Let D' be D without a ball of radius ρ: the radii of both shapes, and the rolling balls of ellipsoids (Blaschke's
// theorem; MinCurvatureRadius). Then h_D = h_D' + ρ for unit vectors, and only h_D' is to be bounded.
//
// Directions are divided into spherical triangles, at first the faces of an octahedron. A direction of the triangle
// with the corners n₁, n₂, n₃ is n = x/|x| with x = Σλᵢnᵢ, λᵢ ≥ 0, Σλᵢ = 1. Every point s of D' bounds h_D'(n),
//
//	h_D'(n) ≥ ⟨n, s⟩ = Σλᵢ⟨nᵢ, s⟩/|x| ≥ m/|x|,  m = minᵢ⟨nᵢ, s⟩,
//
// which is at least m if m ≥ 0, as |x| ≤ 1, and at least m/√(1 − e²/3) otherwise, where e is the longest edge:
// |x|² = 1 − Σλᵢλⱼ|nᵢ − nⱼ|² over i < j, and that sum of λᵢλⱼ is at most ⅓. s is the convex combination of the support
// points along the three corners for which m is greatest. A triangle that this does not settle is divided into four by
// the midpoints of its edges.
//
// A bound that is not positive, because D' does not contain the origin or touches it, needs no triangles: a point s of
// D' proves h_D'(n) ≥ −|s| in all directions at once (cover_nearest.go).
//
// The loss is of second order in e: where D' is smooth by its curvature, and where three vertices of D' support the
// corners, their face has a point along its own normal. So the number of triangles grows with the logarithm of the gap
// at an isolated minimum, and as its inverse root where the minima form a circle.

// A proof is the outcome for one row.
type proof uint8

const (
	proved proof = iota
	refuted
	unproved // the limit was reached
)

// maxDirections is the limit of the evaluations of the support function of one row.
const maxDirections = 4_000_000

// corner is a direction with the support point of D' along it.
type corner struct{ n, s r3.Vec }

// cover is the state of one proof.
type cover struct {
	p     *placed
	ball  float64 // ρ
	least float64 // to be proved of h_D'
	limit int     // of the evaluations of the support function; 0 is maxDirections
	used  int     // evaluations

	lowest float64 // support value found, of D'
	stack  [][3]corner
}

// depthAtLeast decides whether the support value of D is at least `least` in all directions, but for the rounding error
// of the support values of this package. With a half-space only one direction has a finite value.
func (v *cover) depthAtLeast(p *placed, least float64) proof {
	if v.limit == 0 {
		v.limit = maxDirections
	}
	v.p, v.used, v.lowest = p, 0, math.Inf(1)
	if p.half >= 0 {
		v.used, v.ball = 1, 0
		if v.lowest = p.support(p.halfNormal); v.lowest < least-p.rounding {
			return refuted
		}
		return proved
	}
	v.ball = 0
	for _, s := range p.shape {
		v.ball += s.Radius() + geom.MinCurvatureRadius(s)
	}
	v.least = least - v.ball - p.rounding
	if v.least <= 0 && -v.nearest() >= v.least {
		return proved
	}
	divide := v.divide
	if axis, across, change, ok := p.meridian(); ok {
		v.least += change
		v.arcs(axis, across)
		divide = v.halve
	} else {
		v.octahedron()
	}
	result := proved
	for len(v.stack) > 0 {
		if v.lowest < v.least {
			return refuted
		}
		t := v.stack[len(v.stack)-1]
		v.stack = v.stack[:len(v.stack)-1]
		if v.holds(&t) {
			continue
		}
		if v.used >= v.limit {
			return unproved
		}
		if !divide(&t) {
			result = unproved // rounding decides here; another triangle may refute the bound
		}
	}
	return result
}

// at evaluates a direction.
func (v *cover) at(n r3.Vec) corner {
	v.used++
	_, s := v.p.supportPoint(n)
	s = r3.Sub(s, r3.Scale(v.ball, n))
	v.lowest = math.Min(v.lowest, r3.Dot(n, s))
	return corner{n, s}
}

// octahedron sets the stack to its eight faces.
func (v *cover) octahedron() {
	axes := [3][2]corner{
		{v.at(r3.Vec{X: 1}), v.at(r3.Vec{X: -1})},
		{v.at(r3.Vec{Y: 1}), v.at(r3.Vec{Y: -1})},
		{v.at(r3.Vec{Z: 1}), v.at(r3.Vec{Z: -1})},
	}
	v.stack = v.stack[:0]
	for i := range 8 {
		v.stack = append(v.stack, [3]corner{axes[0][i&1], axes[1][i>>1&1], axes[2][i>>2]})
	}
}

// holds reports whether the bound is proved over a triangle.
func (v *cover) holds(t *[3]corner) bool {
	m := bestCombination(t, v.least)
	if m < 0 {
		m /= math.Sqrt(1 - longestEdge2(t)/3)
	}
	return m >= v.least
}

// divide puts four parts of a triangle on the stack. It reports false if they cannot be told apart.
func (v *cover) divide(t *[3]corner) bool {
	if !(longestEdge2(t) > 16*eps*eps) {
		return false
	}
	var mid [3]corner // opposite to the corners
	for i := range 3 {
		mid[i] = v.at(unit(r3.Add(t[(i+1)%3].n, t[(i+2)%3].n)))
	}
	v.stack = append(v.stack, mid)
	for i := range 3 {
		v.stack = append(v.stack, [3]corner{t[i], mid[(i+1)%3], mid[(i+2)%3]})
	}
	return true
}

func longestEdge2(t *[3]corner) float64 {
	e := 0.0
	for i := range 3 {
		e = math.Max(e, r3.Norm2(r3.Sub(t[i].n, t[(i+1)%3].n)))
	}
	return e
}

// bestCombination returns minᵢ⟨nᵢ, s⟩ of a convex combination s of the three support points: the greatest among single
// points, combinations of two, and that of three which has equal products with all corners. It stops at a value that is
// enough. Any combination proves its value, so errors of the weights do no harm.
func bestCombination(t *[3]corner, enough float64) float64 {
	var a [3][3]float64 // of corner i and support point j
	for i := range 3 {
		for j := range 3 {
			a[i][j] = r3.Dot(t[i].n, t[j].s)
		}
	}
	best := math.Inf(-1)
	try := func(w [3]float64) bool {
		m := math.Inf(1)
		for i := range 3 {
			m = math.Min(m, w[0]*a[i][0]+w[1]*a[i][1]+w[2]*a[i][2])
		}
		best = math.Max(best, m)
		return best >= enough && best >= 0
	}
	third := 1.0 / 3
	if try([3]float64{third, third, 1 - 2*third}) {
		return best
	}
	for j := range 3 {
		var w [3]float64
		if w[j] = 1; try(w) {
			return best
		}
	}
	for j := range 3 {
		k := (j + 1) % 3
		for i := range 3 { // where the products with corners i and l are equal
			l := (i + 1) % 3
			x := (a[l][j] - a[i][j]) / (a[i][k] - a[l][k] + a[l][j] - a[i][j])
			if !(x > 0 && x < 1) {
				continue
			}
			var w [3]float64
			if w[j], w[k] = 1-x, x; try(w) {
				return best
			}
		}
	}
	// Cramer's rule for the differences of the products.
	p, q := a[0][0]-a[1][0], a[0][0]-a[2][0]
	b, c := p-(a[0][1]-a[1][1]), p-(a[0][2]-a[1][2])
	d, e := q-(a[0][1]-a[2][1]), q-(a[0][2]-a[2][2])
	det := b*e - c*d
	x, y := (p*e-c*q)/det, (b*q-p*d)/det
	if x >= 0 && y >= 0 && x+y <= 1 {
		try([3]float64{1 - x - y, x, y})
	}
	return best
}
