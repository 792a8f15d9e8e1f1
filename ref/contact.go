package ref

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// witnessError returns the length by which the difference of the witnesses is off Distance·Normal.
func (e *expansion) witnessError() float64 { return norm(r3.Add(e.near.W, r3.Scale(e.lower, e.axis))) }

const (
	contactSteps  = 64
	contactPasses = 3     // each removes the rounding of the one before
	minTilt       = 1e-15 // of a support direction
)

// contact moves the near point within the support plane that bounds the depth towards the projection of
// the origin on that plane. Where many faces of the polytope lie in the plane (a small shape on a face
// of one 1e8 times larger), the face found closest by rounding need not contain the projection, and
// its closest point lies beside it. The bounds do not change; the near point changes only if it gets
// closer to the projection.
func (e *expansion) contact() {
	for range contactPasses {
		was, off := e.near, e.witnessError()
		if !(off > e.stop) || math.IsInf(off, 1) {
			return
		}
		if e.near = e.projection(); !(e.witnessError() < off) {
			e.near = was
			return
		}
	}
}

// projection returns the point of D in the support plane, or within the tolerance below it, that is
// closest to the projection of the origin on the plane, by GJK steps within the plane.
func (e *expansion) projection() Vertex {
	n := e.axis
	flat := func(w r3.Vec) r3.Vec { return r3.Sub(w, r3.Scale(r3.Dot(n, w), n)) }
	s := Simplex{N: 1, Lambda: [4]float64{1}}
	s.V[0] = e.near
	s.V[0].W = flat(e.near.W)
	for range contactSteps {
		x := s.point()
		length := norm(x)
		if s.N == 3 || !(length > e.rounding/4) {
			break
		}
		u := r3.Scale(-1/length, x)
		v := &s.V[s.N]
		if !e.supportNear(u, length, v) {
			break
		}
		v.W = flat(v.W)
		s.N++
		signedVolumes(&s, true)
		s.reduce()
	}
	return s.vertex()
}

// supportNear finds a vertex of D ahead of the near point along the unit vector u of the plane, where
// length is the distance to the projection: a support point of the axis tilted towards u, in the plane
// or so little below it that the difference up to the projection is within the tolerance. Smaller
// tilts are tried until the vertex qualifies.
func (e *expansion) supportNear(u r3.Vec, length float64, v *Vertex) bool {
	for tilt := 0.25; tilt > minTilt && e.iter < e.cap; tilt /= 16 {
		e.support(unit(r3.Add(e.axis, r3.Scale(tilt, u))), v)
		below, ahead := -e.lower-r3.Dot(e.axis, v.W), r3.Dot(u, v.W)+length
		if !(ahead > e.rounding/4) {
			return false
		}
		if below*min(1, length/ahead) <= e.stop/2 {
			return true
		}
	}
	return false
}
