package verify

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// The upper bound by the witnesses divides their distance from the ray by the inradius, which may be small. A
// solver may know more: the triangle of points of D in which the ray leaves it. The audit searches for one of its
// own where the witnesses prove less than is claimed.

// facetSteps is the iteration limit of the search for a triangle: polytopes take some ten, curved shapes some
// forty.
const facetSteps = 256

// Tilts of the normal that is claimed, in radians, and the number of directions around it in which it is tilted,
// where the normal of the triangle leads no further: rounding may leave a triangle too thin for a normal.
var tilts = [...]float64{1e-2, 1e-3, 1e-4, 1e-5, 1e-6}

const tiltDirections = 6

// facetBound returns the least upper bound that it finds by the simplex method [Growth, Alg. 1]. It begins with the
// direction n and a triangle in the ball that D contains; a step replaces a vertex by the support point along the
// normal of the triangle, such that the ray still meets it. The bound is that of upperBound for a point of the
// triangle near the ray, so that it holds whatever the search does. The point of the witnesses, which lies in D up to
// out and was moved by at most off, may be a vertex.
func (p *placed) facetBound(g *grown, n, witness r3.Vec, out, off float64) (bound float64) {
	x := r3.Cross(g.axis, r3.Vec{X: 1})
	if math.Abs(g.axis.X) > 0.7 {
		x = r3.Cross(g.axis, r3.Vec{Y: 1})
	}
	x = unit(x)
	y := r3.Cross(g.axis, x)
	var v [3]r3.Vec
	for k := range v {
		sin, cos := math.Sincos(2 * math.Pi * float64(k) / 3)
		v[k] = r3.Scale(g.inradius, r3.Add(r3.Scale(cos, x), r3.Scale(sin, y)))
	}
	bound = math.Inf(1)
	d, tilted := n, 0
	for range facetSteps {
		w, before := p.growthPoint(g, d), v
		var next [3]r3.Vec
		for k := range v { // in place of vertex k
			t := v
			t[k] = w
			if s, ok := g.onRay(&t, x, y); ok {
				b, _ := p.upperBound(g, s, 0, 0)
				if b = math.Min(b, g.insideBound(&t, s)); b < bound || next == [3]r3.Vec{} {
					next, bound = t, math.Min(b, bound)
				}
			}
		}
		if next != [3]r3.Vec{} {
			v = next
		}
		for k := range v { // the witnesses are a vertex too
			t := v
			t[k] = witness
			if s, ok := g.onRay(&t, x, y); ok {
				b, _ := p.upperBound(g, s, out, off)
				bound = math.Min(b, bound)
			}
		}
		d = unit(r3.Cross(r3.Sub(v[1], v[0]), r3.Sub(v[2], v[0])))
		if r3.Dot(d, g.axis) < 0 {
			d = r3.Scale(-1, d)
		}
		if v != before {
			continue
		}
		if tilted == len(tilts)*tiltDirections {
			break
		}
		sin, cos := math.Sincos(2 * math.Pi * float64(tilted%tiltDirections) / tiltDirections)
		side := r3.Add(r3.Scale(cos, x), r3.Scale(sin, y))
		d = unit(r3.Add(n, r3.Scale(tilts[tilted/tiltDirections], side)))
		tilted++
	}
	return bound
}

// insideBound returns the upper bound by the point s of a triangle of points of D that the ray meets clear of its
// edges, or +Inf. It does not divide by the inradius.
//
// Let η bound the rounding of the points across the ray, and e what s is off it. Where the ray keeps a distance of
// at least 64·(|e| + η) from each edge, seen along it, the triangle of the exact points meets it too: in the point of
// the same weights as one of the computed triangle that is at most 2·(|e| + η) from s, in the plane of the triangle.
// Its slope γ moves the point along the ray by at most as much times γ. Rounding of the slope, at the distance of
// 64·η from the edges, is within the third of the factor 3.
func (g *grown) insideBound(v *[3]r3.Vec, s r3.Vec) float64 {
	along := r3.Dot(s, g.axis)
	off := norm(r3.Sub(s, r3.Scale(along, g.axis))) + g.supportRounding + math.Abs(along)*g.rayRounding/g.length
	n := r3.Cross(r3.Sub(v[1], v[0]), r3.Sub(v[2], v[0]))
	up := math.Abs(r3.Dot(n, g.axis))
	slope := norm(r3.Sub(n, r3.Scale(r3.Dot(n, g.axis), g.axis))) / up
	for k := range v {
		a, b := v[(k+1)%3], v[(k+2)%3]
		edge := r3.Cross(g.axis, r3.Sub(b, a)) // its length is that of the edge, seen along the ray
		if !(math.Abs(r3.Dot(g.axis, r3.Cross(a, b))) >= 64*off*norm(edge)) {
			return math.Inf(1)
		}
	}
	return attained(g.length+g.rayRounding, along-3*(1+slope)*off, 0, 1)
}

// onRay returns the point of a triangle on the ray, up to rounding, and whether there is one; x and y span the plane
// across the ray. Its weights are the areas of the triangles of the ray and each edge, seen along it. They are computed
// from coordinates across the ray, which are small where it matters: a triangle may be 10⁹ times as long as wide. A
// second step takes off the ray what rounding left.
func (g *grown) onRay(v *[3]r3.Vec, x, y r3.Vec) (s r3.Vec, ok bool) {
	var at [3][2]float64
	for k := range v {
		at[k] = [2]float64{r3.Dot(x, v[k]), r3.Dot(y, v[k])}
	}
	twice := func(v, w [2]float64) float64 { return math.FMA(v[0], w[1], -v[1]*w[0]) }
	a, b, c := twice(at[1], at[2]), twice(at[2], at[0]), twice(at[0], at[1])
	sum := a + b + c
	if !(min(a, b, c) >= 0 && sum > 0 || max(a, b, c) <= 0 && sum < 0) {
		return s, false
	}
	weight := [3]float64{a / sum, b / sum, c / sum}
	for range 2 {
		var off [2]float64
		for k := range v {
			off[0] += weight[k] * at[k][0]
			off[1] += weight[k] * at[k][1]
		}
		total := 0.0
		for k := range v {
			p, q := at[(k+1)%3], at[(k+2)%3]
			weight[k] = math.Max(0, weight[k]+twice(off, [2]float64{q[0] - p[0], q[1] - p[1]})/sum)
			total += weight[k]
		}
		for k := range v {
			weight[k] /= total
		}
	}
	for k := range v {
		s = r3.Add(s, r3.Scale(weight[k], v[k]))
	}
	return s, true
}

// growthPoint returns the support point of D about the centers, in the unit direction d (world axes).
func (p *placed) growthPoint(g *grown, d r3.Vec) r3.Vec {
	local := p.rot[0].MulVecT(d)
	a := p.rot[0].MulVec(r3.Sub(p.shape[0].CoreSupport(local), g.local[0]))
	local = p.rot[1].MulVecT(r3.Scale(-1, d))
	b := p.rot[1].MulVec(r3.Sub(p.shape[1].CoreSupport(local), g.local[1]))
	return r3.Add(r3.Sub(a, b), r3.Scale(p.shape[0].Radius()+p.shape[1].Radius(), d))
}
