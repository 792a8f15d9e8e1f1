package ref

import (
	"math"

	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// mostCorners bounds the polygon; every step divides its error by four, so far fewer are needed.
const mostCorners = 200

// revolved is [EPA] in a half-plane, for two coaxial solids of revolution. D is a solid of revolution
// too, and a whole circle of its boundary is closest to the origin: a polytope needs facets all
// around the axis to prove that, a polygon revolved about the axis does not.
//
// The polygon has vertices of D, rotated into the half-plane of points t·axis + r·across, r ≥ 0.
// Revolved about the axis it lies in D, so its closest edge bounds the depth from below, as the
// closest face of a polytope does: all edges, with the mirrored half, have the origin on their inner
// side, so the polygon encloses it. The support plane along the normal of that edge bounds the
// depth from above.
//
// It returns false where the shapes are not coaxial solids of revolution, or where it proves nothing;
// otherwise the answer is in e.bounds.
func (e *expansion) revolved() bool {
	axis, through, slack, ok := e.p.commonAxis()
	if !ok || slack > e.round || e.p.polytopes() {
		return false
	}
	across, _ := tangents(axis)
	m := &e.meridian
	*m = meridian{axis: axis, across: across, through: through, corners: m.corners[:0], edges: m.edges[:0],
		short: 2 * e.round}
	for _, n := range [...]r3.Vec{axis, across, r3.Scale(-1, axis)} {
		m.corners = append(m.corners, e.corner(m, n))
	}
	// Both ends are flat: the corner there and its mirror image attain D's support value along the axis.
	ends := [2]rim{m.end(0, 1), m.end(2, -1)}
	for _, c := range []int{0, 1} {
		m.edges = append(m.edges, m.rim(c, c+1))
	}
	for len(m.corners) < mostCorners {
		near, at := ends[0], -1
		if ends[1].key < near.key {
			near = ends[1]
		}
		for i := range m.edges {
			if m.edges[i].key < near.key {
				near, at = m.edges[i], i
			}
		}
		if !(near.key > e.round) {
			return false // the origin is outside, or within rounding of the boundary
		}
		h := near.key // of an end
		var v corner
		if at >= 0 {
			v = e.corner(m, near.normal)
			h = r3.Dot(near.normal, v.W)
		}
		// Rotating a vertex of D moves it off D by at most the slack, and so does rotating D itself.
		done := h-near.key <= e.stop
		if b := (bounds{lower: -h, upper: -near.key + 2*slack + m.loose, axis: near.normal}); done || e.iter >= e.cap {
			x := r3.Scale(near.key, near.normal)
			b.near = m.closest(x, ends[:])
			if done && norm(r3.Sub(b.near.W, x)) > e.stop {
				return false // rounding made the polygon concave
			}
			e.bounds = b
			return true
		}
		if !(h > near.key+4*eps*e.p.scale) {
			return false // within rounding of the edge: it cannot be expanded
		}
		m.corners = append(m.corners, v)
		last := len(m.corners) - 1
		m.edges[at] = m.rim(near.from, last)
		m.edges = append(m.edges, m.rim(last, near.to))
	}
	return false
}

// commonAxis returns an axis through the origin of the pair's frame about which D is a solid of
// revolution, up to slack, because both cores have one common axis: the line along axis through a
// point.
func (p *Pair) commonAxis() (axis, through r3.Vec, slack float64, ok bool) {
	a, okA := geom.RevolutionOf(p.A)
	b, okB := geom.RevolutionOf(p.B)
	if !okA || !okB {
		return axis, through, 0, false
	}
	apart := r3.Sub(r3.Add(p.rot.MulVec(b.At), p.trans), a.At)
	other := p.rot.MulVec(b.Axis)
	axis = a.Axis
	switch {
	case a.Ball && b.Ball && norm(apart) > p.Roundoff():
		axis = unit(apart)
	case a.Ball && !b.Ball:
		axis = other
	}
	slack = norm(r3.Sub(apart, r3.Scale(r3.Dot(apart, axis), axis)))
	if !a.Ball && !b.Ball {
		slack += 1.1 * norm(cross(axis, other)) * (p.B.BoundingRadius() + norm(r3.Sub(p.B.Center(), b.At)))
	}
	if p.A.Kind().Family() == geom.FamilyHull || p.B.Kind().Family() == geom.FamilyHull {
		slack += 4 * eps * p.scale // the line through two vertices and their middle are rounded
	}
	return axis, a.At, slack, true
}

// meridian is the half of a polygon on one side of the axis, from the corner farthest along the axis to
// that farthest against it; the edges are in no order.
type meridian struct {
	axis, across r3.Vec
	through      r3.Vec // a point of the common axis of both cores, parallel to D's
	corners      []corner
	edges        []rim
	short, loose float64 // edges no longer than short are ignored, which loosens the upper bound by loose
}

// corner is a vertex in the half-plane: t along the axis, r across.
type corner struct {
	Vertex
	t, r float64
}

// rim is the edge between two corners, or a corner and its mirror image (to is from). key is the
// distance of its line from the origin, along normal.
type rim struct {
	from, to int
	key      float64
	normal   r3.Vec
}

// corner is the support point of D along n, rotated into the half-plane.
func (e *expansion) corner(m *meridian, n r3.Vec) corner {
	var v corner
	e.support(n, &v.Vertex)
	v.t = r3.Dot(v.W, m.axis)
	side := r3.Sub(v.W, r3.Scale(v.t, m.axis))
	if v.r = norm(side); v.r > e.round {
		cos, sin := r3.Dot(side, m.across)/v.r, r3.Dot(side, cross(m.axis, m.across))/v.r
		v.W = m.rotate(v.W, cos, -sin)
		v.A = r3.Add(m.through, m.rotate(r3.Sub(v.A, m.through), cos, -sin))
		v.B = r3.Add(m.through, m.rotate(r3.Sub(v.B, m.through), cos, -sin))
	}
	return v
}

// rotate rotates x about the axis through the origin.
func (m *meridian) rotate(x r3.Vec, cos, sin float64) r3.Vec {
	up := r3.Scale(r3.Dot(x, m.axis), m.axis)
	side := r3.Sub(x, up)
	return r3.Add(up, r3.Add(r3.Scale(cos, side), r3.Scale(sin, cross(m.axis, side))))
}

func (m *meridian) rim(from, to int) rim {
	a, b := &m.corners[from], &m.corners[to]
	// Corners go clockwise, seen with the axis up and across to the right.
	nt, nr := b.r-a.r, a.t-b.t
	length := math.Hypot(nt, nr)
	if length <= m.short { // one corner twice: no point of it is farther from a corner
		m.loose = m.short
		return rim{from, to, math.Inf(1), m.axis}
	}
	nt, nr = nt/length, nr/length
	return rim{from, to, math.Min(nt*a.t+nr*a.r, nt*b.t+nr*b.r),
		unit(r3.Add(r3.Scale(nt, m.axis), r3.Scale(nr, m.across)))}
}

// end is the edge between the first or the last corner and its mirror image.
func (m *meridian) end(at int, sign float64) rim {
	return rim{at, at, sign * m.corners[at].t, r3.Scale(sign, m.axis)}
}

// closest returns the point of the polygon, or of its ends, closest to x. Where several edges lie on one
// line, the edge that contains x need not be the one that was found closest to the origin.
func (m *meridian) closest(x r3.Vec, ends []rim) (at Vertex) {
	best := math.Inf(1)
	for _, edges := range [][]rim{ends, m.edges} {
		for i := range edges {
			v := m.nearest(&edges[i], x)
			if d := norm(r3.Sub(v.W, x)); d < best {
				best, at = d, v
			}
		}
	}
	return at
}

// nearest is the point of an edge that is nearest to x.
func (m *meridian) nearest(e *rim, x r3.Vec) Vertex {
	a, b := &m.corners[e.from], &m.corners[e.to]
	if e.from == e.to { // halfway to the mirror image
		on := func(x, through r3.Vec) r3.Vec {
			return r3.Add(through, r3.Scale(r3.Dot(r3.Sub(x, through), m.axis), m.axis))
		}
		return Vertex{W: on(a.W, r3.Vec{}), A: on(a.A, m.through), B: on(a.B, m.through)}
	}
	d := r3.Sub(b.W, a.W)
	k := math.Max(r3.Dot(r3.Sub(x, a.W), d)/r3.Dot(d, d), 0)
	if !(k <= 1) { // or not a number
		k = 1
	}
	mix := func(x, y r3.Vec) r3.Vec { return r3.Add(x, r3.Scale(k, r3.Sub(y, x))) }
	return Vertex{W: mix(a.W, b.W), A: mix(a.A, b.A), B: mix(a.B, b.B)}
}
