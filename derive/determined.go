package derive

import (
	"math"

	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// Let D = A - B, about the centers for a growth distance. The normal of a growth distance is a normal of D at the point
// q where the ray from the origin along the difference of the centers leaves D. The normal of a pair that touches is a
// normal of D at q = 0. If q is a vertex of D or lies in an edge, D has a cone of normals there, and rounding decides
// which of them is the answer.
//
// The extent of D along a tangential direction t is <S(n + εt) - q, t>, where S(d) is a support point of D. It is not
// negative: q is the farthest point along n, and S(n + εt) is the farthest along n + εt. If n + δt is a normal at q as
// well, δ ≥ ε, then so is n + εt, and the extent along t is zero. Within a face the extent is the distance of q from
// the boundary of the face along t.

// touchTolerance, times the size of the pair, is the distance up to which polytopes touch but for rounding. A distance
// beyond it determines the normal.
const touchTolerance = 1e-12

// coresMeet reports whether the shapes without their balls touch or overlap, given the signed distance of the pair: up
// to leastDepth if one is smooth, whose distances are exact to less.
func (p *problem) coresMeet(value float64) bool {
	tolerance := touchTolerance
	if isSmooth(p.a.core) || isSmooth(p.b.core) {
		tolerance = leastDepth
	}
	return value+p.a.radius+p.b.radius <= tolerance*p.size
}

// Constants of undetermined.
const (
	tilt             = 1e-4 // ε, radians
	firstDirections  = 8
	maxFacetSupports = 64 // a polygon takes two per edge, a disc about 20
)

// bearing is a tangential direction with the support point of the normal tilted towards it.
type bearing struct {
	t      vec2
	s      vec2 // support point, relative to q, tangential part
	extent float64
}

// isUndetermined reports whether rounding chooses the normal of a row without all derivatives, of a growth distance or
// of cores that touch. The normal and the distance count as polished where they have been verified: depths of cylinders
// and cones, and so their normals, are exact to less than touchTolerance as they are reported.
func (w *Workspace) isUndetermined(d *Derivative, n r3.Vec, value float64) bool {
	p := &d.p
	if d.smoothness == NotUnique {
		if n = d.s.n; !p.growth {
			value = d.s.value
		}
	}
	radii := p.a.radius + p.b.radius
	switch smooth := isCurved(p.a.core) || isCurved(p.b.core); {
	case p.a.unbounded || p.b.unbounded || p.growth && radii > 0:
		return false // D has one normal at each point of its surface
	case smooth && !(p.growth && d.smoothness == NotUnique):
		return false
	case !p.growth && !(math.Abs(value+radii) <= touchTolerance*p.size):
		return false
	}
	return w.undetermined(p, n, value)
}

// hasCone reports whether D has a cone of normals at a q that is undetermined, each of them that of an answer. Where
// only cores touch, the depth is the radius of the balls along all of them.
func (p *problem) hasCone() bool {
	return !isCurved(p.a.core) && !isCurved(p.b.core) && p.a.radius+p.b.radius == 0
}

// undetermined reports whether q is a vertex of D or lies in an edge, with normals that differ from n by about a tilt
// or more: the least extent is zero. n is no normal at q if an extent is more negative than an error of n by a
// hundredth of the tilt makes it. A smooth shape whose curvature vanishes is such a vertex but for rounding.
func (w *Workspace) undetermined(p *problem, n r3.Vec, value float64) bool {
	f := facet{p: p, n: n, e: tangentBasis(n), tolerance: equalTolerance * p.size}
	if p.growth {
		between := r3.Sub(p.b.center, p.a.center)
		f.q = r3.Sub(r3.Scale(1/value, between), between)
	}
	var list [firstDirections]bearing
	for k := range list {
		phi := 2 * math.Pi * float64(k) / firstDirections
		list[k] = f.towards(vec2{math.Cos(phi), math.Sin(phi)})
	}
	least := math.Inf(1)
	for k := range list {
		least = min(least, f.least(list[k], list[(k+1)%firstDirections]))
	}
	return least <= f.tolerance && least >= -tilt/100*p.size
}

func isSmooth(core geom.Shape) bool {
	_, ok := core.(geom.Smooth)
	return ok
}

// isCurved reports whether a core without its ball is smooth: spheres are points then, and capsules segments.
func isCurved(core geom.Shape) bool {
	switch core.(type) {
	case geom.Sphere, geom.Capsule:
		return false
	}
	return isSmooth(core)
}

// facet is a search for the least extent.
type facet struct {
	p         *problem
	n         r3.Vec
	q         r3.Vec // in axes where A - B is that of the shapes as they are
	e         basis
	tolerance float64
	supports  int
}

// towards returns the support point of the normal tilted towards t.
func (f *facet) towards(t vec2) bearing {
	f.supports++
	d := r3.Unit(r3.Add(f.n, r3.Scale(tilt, f.e.vec(t))))
	s := f.e.of(r3.Sub(r3.Sub(f.p.a.coreSupport(d), f.p.b.coreSupport(r3.Scale(-1, d))), f.q))
	return bearing{t, s, dot2(s, t)}
}

// least returns the least extent along the directions from x to y, or a bound below it that exceeds the tolerance.
// Between them the extent is at least that of either support point, the larger of which is least where both are equal:
// along the normal of the edge from the one to the other, if it lies between.
func (f *facet) least(x, y bearing) float64 {
	ends := min(x.extent, y.extent)
	edge := vec2{y.s[0] - x.s[0], y.s[1] - x.s[1]}
	length := math.Hypot(edge[0], edge[1])
	if ends <= f.tolerance || !(length > f.tolerance) {
		return ends
	}
	t := vec2{edge[1] / length, -edge[0] / length}
	if !(cross2(x.t, t) > 0 && cross2(t, y.t) > 0) {
		return ends
	}
	if bound := dot2(t, x.s); bound > f.tolerance {
		return min(ends, bound)
	}
	if f.supports >= maxFacetSupports {
		return 0
	}
	z := f.towards(t)
	if z.extent <= dot2(t, x.s)+f.tolerance/2 { // the edge is one of the facet
		return z.extent
	}
	return min(f.least(x, z), f.least(z, y))
}
