package geom

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

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
