package ref

import (
	"math"

	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// mostCorners bounds the polygon; every step divides its error by four, so far fewer are needed.
const mostCorners = 200

// revolved is [EPA] in a half-plane, for two solids of revolution with parallel axes. D is a solid of revolution
// too, and a whole circle of its boundary is closest to the origin, or nearly so: a polytope needs facets all
// around the axis to prove that, a polygon revolved about the axis does not.
//
// The half-plane is bounded by the axis of D and contains the origin. With coordinates t along the axis and r
// across it, from the origin, the axis is at r = -aside. The polygon has vertices of D, rotated into the half-plane.
// Revolved about the axis it lies in D, so its closest edge bounds the depth from below, as the
// closest face of a polytope does: the plane through an edge with normal n, revolved by φ, is
// aside·n_r·(1 - cos φ) farther from the origin, where n_r ≥ 0. All edges, with the mirrored half, have the origin on
// their inner side, so the polygon encloses it. The support plane along the normal of that edge bounds the
// depth from above.
//
// It returns false where the shapes are not solids of revolution with parallel axes, or where it proves nothing;
// otherwise the answer is in e.bounds.
func (e *expansion) revolved() bool {
	c, ok := e.p.commonAxis()
	if !ok || !(c.slack <= max(e.rounding, e.stop/8)) || e.p.polytopes() {
		return false
	}
	m := &e.meridian
	*m = meridian{axes: c, corners: m.corners[:0], edges: m.edges[:0], short: 2 * e.rounding}
	for _, n := range [...]r3.Vec{c.axis, c.across, r3.Scale(-1, c.axis)} {
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
		h := near.key // of an end
		var v corner
		if at >= 0 {
			v = e.corner(m, near.normal)
			h = r3.Dot(near.normal, v.W)
		}
		if !(h > e.rounding) {
			return false // the origin is outside, or within rounding of the boundary
		}
		// Rotating a vertex of D moves it off D by at most the slack, and so does rotating D itself.
		loose := 2*c.slack + m.loose
		inside, done := near.key > e.rounding, h-near.key <= max(e.stop-loose, e.stop/2)
		if inside && (done || e.iter >= e.limit) {
			b := bounds{lower: -h, upper: -near.key + loose, axis: near.normal}
			x := r3.Scale(near.key, near.normal)
			var on rim
			var share float64
			b.near, on, share = m.closest(x, ends[:])
			if c.slack > e.rounding {
				if h < 4*e.stop {
					return false // near touching, witnesses may be farther from one another than the bound
				}
				b.near = e.unrotated(m, &on, share)
			}
			if done && norm(r3.Sub(b.near.W, x)) > e.stop {
				return false // rounding made the polygon concave, or rotating moved the vertices too far
			}
			e.bounds = b
			return true
		}
		if e.iter >= e.limit || !(h > near.key+4*eps*e.p.scale) {
			return false // within rounding of the edge: it cannot be expanded
		}
		m.corners = append(m.corners, v)
		last := len(m.corners) - 1
		m.edges[at] = m.rim(near.from, last)
		m.edges = append(m.edges, m.rim(last, near.to))
	}
	return false
}

// axes are the axes of two solids of revolution: parallel up to a slack, and a distance apart.
type axes struct {
	axis, across r3.Vec  // unit and orthogonal; across points from the axis of D towards the origin
	aside        float64 // distance of the origin from the axis of D, at least 0
	a, b         r3.Vec  // points of both axes
	slack        float64 // how far D may be off a solid of revolution about its axis
}

// commonAxis returns the axis of D if both cores are solids of revolution, or nearly so, with parallel axes.
func (p *Pair) commonAxis() (c axes, ok bool) {
	a, offA, okA := nearRevolution(p.A)
	b, offB, okB := nearRevolution(p.B)
	if !okA || !okB {
		return c, false
	}
	c.a, c.b = a.At, r3.Add(p.rot.MulVec(b.At), p.trans)
	apart := r3.Sub(c.b, c.a)
	other := p.rot.MulVec(b.Axis)
	c.axis = a.Axis
	switch {
	case a.Ball && b.Ball && norm(apart) > p.Roundoff():
		c.axis = unit(apart)
	case a.Ball && !b.Ball:
		c.axis = other
	}
	c.slack = offA + offB
	if !a.Ball && !b.Ball {
		c.slack += 1.1 * norm(cross(c.axis, other)) * (p.B.BoundingRadius() + norm(r3.Sub(p.B.Center(), b.At)))
	}
	if p.A.Kind().Family() == geom.FamilyHull || p.B.Kind().Family() == geom.FamilyHull {
		c.slack += 4 * eps * p.scale // the line through two vertices and their middle are rounded
	}
	side := r3.Sub(apart, r3.Scale(r3.Dot(apart, c.axis), c.axis))
	c.across, _ = tangents(c.axis)
	if c.aside = norm(side); c.aside > p.Roundoff() {
		side = r3.Scale(1/c.aside, side)
		c.across = unit(r3.Sub(side, r3.Scale(r3.Dot(side, c.axis), c.axis))) // without the rounding of the first
	} else {
		c.slack, c.aside = c.slack+c.aside, 0
	}
	return c, true
}

// nearRevolution is [geom.RevolutionOf] with an ellipsoid taken for the spheroid with the mean of its two most similar
// semi-axes: no support value differs by more than off between two directions that a rotation about the axis maps to
// one another.
func nearRevolution(s geom.Shape) (r geom.Revolution, off float64, ok bool) {
	if r, ok = geom.RevolutionOf(s); ok {
		return r, 0, true
	}
	core, _ := geom.WithoutMargin(s)
	if e, is := core.(geom.Ellipsoid); is {
		x, y, z := e.SemiAxes.X, e.SemiAxes.Y, e.SemiAxes.Z
		r.Axis, off = r3.Vec{Z: 1}, math.Abs(x-y)
		if d := math.Abs(y - z); d < off {
			r.Axis, off = r3.Vec{X: 1}, d
		}
		if d := math.Abs(z - x); d < off {
			r.Axis, off = r3.Vec{Y: 1}, d
		}
		return r, off, true
	}
	return r, 0, false
}

// meridian is the half of a polygon on one side of the axis, from the corner farthest along the axis to
// that farthest against it; the edges are in no order.
type meridian struct {
	axes
	corners      []corner
	edges        []rim
	short, loose float64 // edges no longer than short are ignored, which loosens the upper bound by loose
}

// corner is a vertex in the half-plane: t along the axis and r across, from the origin.
type corner struct {
	Vertex
	t, r float64
	was  Vertex // before it was rotated
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
	v.was = v.Vertex
	side := r3.Sub(v.W, r3.Scale(r3.Dot(v.W, m.axis), m.axis))
	side = r3.Add(side, r3.Scale(m.aside, m.across)) // from the axis of D
	if radius := norm(side); radius > e.rounding {
		cos, sin := r3.Dot(side, m.across)/radius, -r3.Dot(side, cross(m.axis, m.across))/radius
		v.A, v.B = m.rotate(v.A, m.a, cos, sin), m.rotate(v.B, m.b, cos, sin)
		v.W = m.rotate(v.W, r3.Scale(-m.aside, m.across), cos, sin)
	}
	v.t, v.r = r3.Dot(v.W, m.axis), r3.Dot(v.W, m.across)
	return v
}

// rotate rotates x about the axis through the point at.
func (m *meridian) rotate(x, at r3.Vec, cos, sin float64) r3.Vec {
	x = r3.Sub(x, at)
	up := r3.Scale(r3.Dot(x, m.axis), m.axis)
	side := r3.Sub(x, up)
	return r3.Add(at, r3.Add(up, r3.Add(r3.Scale(cos, side), r3.Scale(sin, cross(m.axis, side)))))
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
	key := math.Min(nt*a.t+nr*a.r, nt*b.t+nr*b.r)
	return rim{from, to, key + 2*m.aside*math.Min(nr, 0), // nr is less than 0 by rounding only
		unit(r3.Add(r3.Scale(nt, m.axis), r3.Scale(nr, m.across)))}
}

// end is the edge between the first or the last corner and its mirror image.
func (m *meridian) end(at int, sign float64) rim {
	return rim{at, at, sign * m.corners[at].t, r3.Scale(sign, m.axis)}
}

// closest returns the point of the polygon, or of its ends, closest to x, with the edge that it is on and its share
// of the second corner. Where several edges lie on one line, the edge that contains x need not be the one that was
// found closest to the origin.
func (m *meridian) closest(x r3.Vec, ends []rim) (at Vertex, on rim, share float64) {
	best := math.Inf(1)
	for _, edges := range [][]rim{ends, m.edges} {
		for i := range edges {
			v, k := m.nearest(&edges[i], x)
			if d := norm(r3.Sub(v.W, x)); d < best {
				best, at, on, share = d, v, edges[i], k
			}
		}
	}
	return at, on, share
}

// nearest is the point of an edge that is nearest to x, and its share of the second corner.
func (m *meridian) nearest(e *rim, x r3.Vec) (Vertex, float64) {
	a, b := m.corners[e.from].Vertex, m.corners[e.to].Vertex
	if e.from == e.to {
		b = m.mirrored(&a)
	}
	d := r3.Sub(b.W, a.W)
	k := math.Max(r3.Dot(r3.Sub(x, a.W), d)/r3.Dot(d, d), 0)
	if !(k <= 1) { // or not a number
		k = 1
	}
	return mix(&a, &b, k), k
}

func mix(a, b *Vertex, k float64) Vertex {
	on := func(x, y r3.Vec) r3.Vec { return r3.Add(x, r3.Scale(k, r3.Sub(y, x))) }
	return Vertex{W: on(a.W, b.W), A: on(a.A, b.A), B: on(a.B, b.B)}
}

// mirrored is the vertex on the other side of the axis.
func (m *meridian) mirrored(v *Vertex) Vertex {
	return Vertex{W: m.rotate(v.W, r3.Scale(-m.aside, m.across), -1, 0), A: m.rotate(v.A, m.a, -1, 0),
		B: m.rotate(v.B, m.b, -1, 0)}
}

// unrotated is the point of an edge with a share of the second corner, made of points of the cores: a vertex that is
// rotated about the axis of D is as far off them as D is off a solid of revolution.
func (e *expansion) unrotated(m *meridian, on *rim, share float64) Vertex {
	a, b := e.unrotatedCorner(m, on.from, false), e.unrotatedCorner(m, on.to, on.from == on.to)
	return mix(&a, &b, share)
}

// unrotatedCorner is a point of D close to a corner, or to its mirror image. The vertices found along the axis, those
// of the ends, may be on any side of it: others are found along directions that are tilted towards the half-plane.
func (e *expansion) unrotatedCorner(m *meridian, at int, mirror bool) Vertex {
	best := m.corners[at].was
	if at != 0 && at != 2 {
		return best
	}
	want, n, sign := m.corners[at].Vertex, r3.Scale(float64(1-at), m.axis), 1.0
	if mirror {
		want, sign = m.mirrored(&want), -1
	}
	for _, tilt := range [...]float64{0.25, 1e-2, 1e-4, 1e-6} {
		var v Vertex
		e.support(unit(r3.Add(n, r3.Scale(sign*tilt, m.across))), &v)
		if norm(r3.Sub(v.W, want.W)) < norm(r3.Sub(best.W, want.W)) {
			best = v
		}
	}
	return best
}
