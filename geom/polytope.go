package geom

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom/hull"
)

// Box is a rectangular block around the local origin with its edges along the
// axes. Its core is the box itself. It does not implement [Smooth].
type Box struct {
	HalfExtents r3.Vec // half the edge lengths, metres
}

// Kind returns KindBox.
func (Box) Kind() Kind { return KindBox }

func (b Box) values() values { return values{numbers(b.HalfExtents)} }

func (Box) of(v values) (Shape, error) {
	return Box{HalfExtents: v.vector(0)}, nil
}

// Validate reports the first size out of range.
func (b Box) Validate() error { return KindBox.check(b.values()) }

// CoreSupport returns a corner.
func (b Box) CoreSupport(d r3.Vec) r3.Vec {
	return r3.Vec{
		X: math.Copysign(b.HalfExtents.X, d.X),
		Y: math.Copysign(b.HalfExtents.Y, d.Y),
		Z: math.Copysign(b.HalfExtents.Z, d.Z),
	}
}

// Radius returns 0.
func (Box) Radius() float64 { return 0 }

// Residual is the exact signed distance.
func (b Box) Residual(p r3.Vec) float64 {
	x := math.Abs(p.X) - b.HalfExtents.X
	y := math.Abs(p.Y) - b.HalfExtents.Y
	z := math.Abs(p.Z) - b.HalfExtents.Z
	xo, yo, zo := max(x, 0), max(y, 0), max(z, 0)
	return math.Sqrt(xo*xo+yo*yo+zo*zo) + min(max(x, y, z), 0)
}

// Center returns the origin.
func (Box) Center() r3.Vec { return r3.Vec{} }

// BoundingRadius returns half the diagonal.
func (b Box) BoundingRadius() float64 { return math.Sqrt(r3.Norm2(b.HalfExtents)) }

// Inradius returns the smallest half extent.
func (b Box) Inradius() float64 { return min(b.HalfExtents.X, b.HalfExtents.Y, b.HalfExtents.Z) }

// AABB returns the box itself.
func (b Box) AABB() (lo, hi r3.Vec) {
	return symmetricAABB(b.HalfExtents.X, b.HalfExtents.Y, b.HalfExtents.Z)
}

// Halfspace is everything with local z ≤ 0. It is unbounded: its support function
// is finite for d along +z alone, and support-based solvers must treat it by
// itself. Its core is the half-space itself.
type Halfspace struct{}

// Kind returns KindHalfspace.
func (Halfspace) Kind() Kind { return KindHalfspace }

func (Halfspace) values() values { return nil }

func (Halfspace) of(values) (Shape, error) { return Halfspace{}, nil }

// Validate returns nil: there are no parameters.
func (Halfspace) Validate() error { return nil }

// CoreSupport returns the local origin, which is a support point for d along +z.
func (Halfspace) CoreSupport(r3.Vec) r3.Vec { return r3.Vec{} }

// Radius returns 0.
func (Halfspace) Radius() float64 { return 0 }

// Residual is the exact signed distance from the plane.
func (Halfspace) Residual(p r3.Vec) float64 { return p.Z }

// Center returns the origin, a point of the boundary.
func (Halfspace) Center() r3.Vec { return r3.Vec{} }

// BoundingRadius returns +Inf.
func (Halfspace) BoundingRadius() float64 { return math.Inf(1) }

// Inradius returns 0: the center lies on the boundary.
func (Halfspace) Inradius() float64 { return 0 }

// AABB returns infinite corners but for the top, z = 0.
func (Halfspace) AABB() (lo, hi r3.Vec) {
	inf := math.Inf(1)
	return r3.Vec{X: -inf, Y: -inf, Z: -inf}, r3.Vec{X: inf, Y: inf}
}

// Convex is the convex hull of 1 to 65,535 points: a point, a segment, a flat
// polygon or a polyhedron. Its core is the hull itself. It does not implement
// [Smooth]. The zero value is not a shape; use [NewConvex].
type Convex struct {
	points []r3.Vec
	hull   *hull.Hull

	center   r3.Vec
	bounding float64
	inradius float64
	lo, hi   r3.Vec

	// In coordinates relative to center, so that accuracy does not depend on how far
	// from the local origin the vertices lie:
	rel    []r3.Vec // vertices [V]
	planes []plane  // faces [len(hull.FaceStart)-1]
}

// plane is the half-space <n, x − center> ≤ offset, n outward and unit.
type plane struct {
	n      r3.Vec
	offset float64
}

// NewConvex builds the hull of vertices, which it copies. Duplicate, collinear,
// coplanar and interior points are tolerated; of more than 65,535 points, those that are
// no vertices of the hull are left out. It reports an error if there are no vertices or the
// hull has more than 65,535, or if a coordinate is not finite or is larger than 1e9 in magnitude.
func NewConvex(vertices []r3.Vec) (*Convex, error) {
	return NewConvexContext(context.Background(), vertices)
}

// NewConvexContext is [NewConvex]; it ends soon after the context, with the error of that.
func NewConvexContext(ctx context.Context, vertices []r3.Vec) (*Convex, error) {
	if len(vertices) == 0 {
		return nil, fmt.Errorf("convex: 0 vertices, want 1 to %d", hull.MaxPoints)
	}
	for i, v := range vertices {
		for axis, x := range [3]float64{v.X, v.Y, v.Z} {
			if !(math.Abs(x) <= hull.MaxCoordinate) {
				return nil, fmt.Errorf("convex: vertices[%d].%c = %g, want finite and at most %g in magnitude",
					i, "xyz"[axis], x, float64(hull.MaxCoordinate))
			}
		}
	}
	vertices, err := extreme(ctx, vertices)
	if err != nil {
		return nil, err
	}
	h, err := hull.BuildContext(ctx, vertices)
	if err != nil {
		return nil, fmt.Errorf("convex: %w", err)
	}
	return ConvexOf(vertices, h), nil
}

// ConvexOf makes the hull of vertices, which it copies, of what [hull.Build] has made of them.
func ConvexOf(vertices []r3.Vec, h *hull.Hull) *Convex {
	c := &Convex{points: slices.Clone(vertices), hull: h}
	c.measure()
	return c
}

// extreme returns at most as many points as [hull.Build] takes, with the same hull: of more, the vertices of the hulls
// of parts of them, which all vertices of the whole are among. The predicates of the hull are exact, so none is lost.
func extreme(ctx context.Context, points []r3.Vec) ([]r3.Vec, error) {
	for len(points) > hull.MaxPoints {
		var left []r3.Vec
		for part := range slices.Chunk(points, hull.MaxPoints) {
			h, err := hull.BuildContext(ctx, part)
			if err != nil {
				return nil, fmt.Errorf("convex: %w", err)
			}
			for _, i := range slices.Sorted(slices.Values(h.Index)) {
				left = append(left, part[i])
			}
		}
		if len(left) == len(points) {
			return nil, fmt.Errorf("convex: a hull of more than %d vertices, among %d points", hull.MaxPoints,
				len(points))
		}
		points = left
	}
	return points, nil
}

// Hull returns the hull, which must not be changed.
func (c *Convex) Hull() *hull.Hull { return c.hull }

// Points returns the points that NewConvex was given, which must not be changed.
func (c *Convex) Points() []r3.Vec { return c.points }

// Kind returns KindConvex.
func (*Convex) Kind() Kind { return KindConvex }

func (c *Convex) values() values { return values{flattened(c.points)} }

func (*Convex) of(v values) (Shape, error) {
	return shape(NewConvex(v.points(0)))
}

func (*Convex) within(ctx context.Context, v values) (Shape, error) {
	return shape(NewConvexContext(ctx, v.points(0)))
}

// Validate reports a Convex that NewConvex did not make, and one of several points smaller
// than [MinSize]; NewConvex checks the rest.
func (c *Convex) Validate() error {
	if c == nil || c.hull == nil {
		return errors.New("convex: no vertices, build it with NewConvex")
	}
	// The largest distance of a point from the first along an axis: it is above 0 also where
	// squares underflow.
	extent := 0.0
	for _, v := range c.points {
		d := r3.Sub(v, c.points[0])
		extent = max(extent, math.Abs(d.X), math.Abs(d.Y), math.Abs(d.Z))
	}
	if extent < MinSize {
		return checkSizeOrZero(KindConvex, "extent", extent)
	}
	return nil
}

// CoreSupport returns a vertex.
func (c *Convex) CoreSupport(d r3.Vec) r3.Vec { return c.hull.Vertices[c.hull.Support(d)] }

// Radius returns 0.
func (*Convex) Radius() float64 { return 0 }

// Center returns the centroid: of the volume of a polyhedron, of the area of a flat
// polygon, the middle of a segment.
func (c *Convex) Center() r3.Vec { return c.center }

// BoundingRadius returns the distance from Center to the farthest vertex.
func (c *Convex) BoundingRadius() float64 { return c.bounding }

// Inradius returns the distance from Center to the nearest face, 0 for a flat hull.
func (c *Convex) Inradius() float64 { return c.inradius }

// AABB returns the exact bounds of the vertices.
func (c *Convex) AABB() (lo, hi r3.Vec) { return c.lo, c.hi }

// measure fills everything that follows from the hull.
func (c *Convex) measure() {
	h := c.hull
	c.lo, c.hi = h.Vertices[0], h.Vertices[0]
	for _, v := range h.Vertices {
		c.lo = r3.Vec{X: min(c.lo.X, v.X), Y: min(c.lo.Y, v.Y), Z: min(c.lo.Z, v.Z)}
		c.hi = r3.Vec{X: max(c.hi.X, v.X), Y: max(c.hi.Y, v.Y), Z: max(c.hi.Z, v.Z)}
	}
	c.center = centroid(h)
	c.rel = make([]r3.Vec, len(h.Vertices))
	for i, v := range h.Vertices {
		c.rel[i] = r3.Sub(v, c.center)
		c.bounding = max(c.bounding, math.Sqrt(r3.Norm2(c.rel[i])))
	}
	// The difference, the square and the root lose at most 4 units of roundoff.
	c.bounding *= 1 + 4*0x1p-53
	if len(h.FaceStart) < 2 {
		return
	}
	c.planes = make([]plane, len(h.FaceStart)-1)
	nearest := math.Inf(1)
	for f := range c.planes {
		t := h.FaceStart[f]
		n := h.Normals[t]
		offset := math.Inf(-1)
		for i := range h.FaceCorners(f) {
			offset = max(offset, r3.Dot(n, c.rel[h.FaceCorner(f, i)]))
		}
		c.planes[f] = plane{n: n, offset: offset}
		nearest = min(nearest, c.planes[f].offset)
	}
	if h.Dim == 3 {
		c.inradius = max(0, nearest-c.slack(r3.Vec{}))
	}
}

// centroid returns the centroid of a hull, as a convex combination of points of it.
func centroid(h *hull.Hull) r3.Vec {
	switch h.Dim {
	case 0:
		return h.Vertices[0]
	case 1:
		return r3.Add(h.Vertices[0], r3.Scale(0.5, r3.Sub(h.Vertices[1], h.Vertices[0])))
	}
	// The mean of the vertices is inside: the cones from it over the facets fill the hull.
	base := h.Vertices[0]
	var mean r3.Vec
	for _, v := range h.Vertices {
		mean = r3.Add(mean, r3.Sub(v, base))
	}
	origin := r3.Add(base, r3.Scale(1/float64(len(h.Vertices)), mean))

	var sum r3.Vec
	var total float64
	facets, corners := h.Facets, 4.0 // a cone has its apex as a fourth corner
	if h.Dim == 2 {
		facets, corners = facets[:h.FaceStart[1]], 3
	}
	for i, t := range facets {
		u, v, w := r3.Sub(h.Vertices[t[0]], origin), r3.Sub(h.Vertices[t[1]], origin), r3.Sub(h.Vertices[t[2]], origin)
		weight := r3.Dot(r3.Cross(r3.Sub(v, u), r3.Sub(w, u)), h.Normals[i]) // twice the area
		if h.Dim == 3 {
			weight *= r3.Dot(h.Normals[i], u)
		}
		if weight > 0 { // else rounding; the sum must stay a convex combination
			sum = r3.Add(sum, r3.Scale(weight, r3.Add(u, r3.Add(v, w))))
			total += weight
		}
	}
	if !(total > 0) {
		return origin
	}
	return r3.Add(origin, r3.Scale(1/(corners*total), sum))
}

// slack bounds the rounding error of a plane distance at q, relative to the center, in
// units of roundoff: 4 of the diameter for the normal (see hull.Hull), and at most
// 5 of |q| and of the bounding radius for the differences and the dot products.
func (c *Convex) slack(q r3.Vec) float64 {
	return 16 * 0x1p-53 * (math.Abs(q.X) + math.Abs(q.Y) + math.Abs(q.Z) + c.bounding)
}

// Residual is the exact signed distance, up to rounding: inside, the largest
// distance from the planes of the faces; outside, the distance from the
// nearest point, which lies on a face that sees p. A flat hull has no inside and gives
// its distance, 0 on it. A p that is not finite gives NaN or +Inf.
func (c *Convex) Residual(p r3.Vec) float64 {
	q := r3.Sub(p, c.center)
	slack := c.slack(q)
	if !(slack <= math.MaxFloat64) {
		return slack
	}
	switch c.hull.Dim {
	case 0:
		return math.Sqrt(r3.Norm2(q))
	case 1:
		return math.Sqrt(segmentDistance2(q, c.rel[0], c.rel[1]))
	case 2:
		return math.Sqrt(c.faceDistance2(0, q))
	}
	top, deepest := 0, math.Inf(-1)
	for i := range c.planes {
		if s := r3.Dot(c.planes[i].n, q) - c.planes[i].offset; s > deepest {
			top, deepest = i, s
		}
	}
	if deepest < -slack {
		return deepest
	}
	nearest2 := c.faceDistance2(top, q) // a good first estimate, so that most faces are skipped
	for i := range c.planes {
		s := r3.Dot(c.planes[i].n, q) - c.planes[i].offset
		// A face is no nearer than its plane. One that does not see a point outside does not have the nearest point; a
		// point within rounding of the surface may lie inside, near a face that is lower than others by rounding.
		if s*s >= nearest2 || s < -slack && deepest > slack {
			continue
		}
		nearest2 = min(nearest2, c.faceDistance2(i, q))
	}
	nearest := math.Sqrt(nearest2)
	// Beyond the tip of a needle every plane distance may be lost to rounding though
	// the surface is far; but an inside point this close to a plane is that close to
	// the surface, so a far surface means outside.
	if deepest <= 0 && nearest <= 2*slack {
		return deepest
	}
	return nearest
}

// faceDistance2 returns the squared distance of q, relative to the center, from face f.
func (c *Convex) faceDistance2(f int, q r3.Vec) float64 {
	n := c.planes[f].n
	corners := c.hull.FaceCorners(f)
	within := true
	nearest2 := math.Inf(1)
	a := c.rel[c.hull.FaceCorner(f, corners-1)]
	for i := range corners {
		b := c.rel[c.hull.FaceCorner(f, i)]
		if r3.Dot(r3.Cross(n, r3.Sub(b, a)), r3.Sub(q, a)) < 0 {
			within = false
		}
		nearest2 = min(nearest2, segmentDistance2(q, a, b))
		a = b
	}
	if within {
		s := r3.Dot(n, r3.Sub(q, a))
		nearest2 = min(nearest2, s*s)
	}
	return nearest2
}

// segmentDistance2 returns the squared distance of q from the segment a, b.
func segmentDistance2(q, a, b r3.Vec) float64 {
	u, w := r3.Sub(b, a), r3.Sub(q, a)
	t := r3.Dot(u, w) / r3.Norm2(u)
	switch {
	case !(t > 0):
		return r3.Norm2(w)
	case t >= 1:
		return r3.Norm2(r3.Sub(q, b))
	}
	return r3.Norm2(r3.Sub(w, r3.Scale(t, u)))
}
