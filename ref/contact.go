package ref

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// off is how far the witnesses are from being Distance·Normal apart.
func (e *expansion) off() float64 { return norm(r3.Add(e.near.W, r3.Scale(e.lower, e.axis))) }

const (
	contactSteps  = 64
	contactPasses = 3     // each takes away the rounding of the one before
	leastTilt     = 1e-15 // of a support direction
)

// contact moves the near point within the plane of the bound to where that looks at the origin.
// Where many faces of the polytope lie in the plane (a small shape on the face of one that
// is 1e8 times larger), the nearest of them by rounding need not be the one whose foot it is,
// and its nearest point is beside the foot. The bounds stay as they are, and so does the near point where
// this brings nothing.
func (e *expansion) contact() {
	for range contactPasses {
		was, off := e.near, e.off()
		if !(off > e.stop) || math.IsInf(off, 1) {
			return
		}
		if e.near = e.foot(); !(e.off() < off) {
			e.near = was
			return
		}
	}
}

// foot is the point of D in the plane of the bound, or hardly below it, that is nearest to the foot of
// the origin, by steps of GJK within the plane.
func (e *expansion) foot() Vertex {
	n := e.axis
	flat := func(w r3.Vec) r3.Vec { return r3.Sub(w, r3.Scale(r3.Dot(n, w), n)) }
	s := Simplex{N: 1, Lambda: [4]float64{1}}
	s.V[0] = e.near
	s.V[0].W = flat(e.near.W)
	for range contactSteps {
		x := s.point()
		length := norm(x)
		if s.N == 3 || !(length > e.round/4) {
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

// supportNear finds a vertex of D that leads the near point from where it is, `length` away from the foot,
// along the unit vector u of the plane and hardly below it: one in the plane, or in one turned by so
// little that as far as the foot the two are the same. The least tilt towards u finds no other.
func (e *expansion) supportNear(u r3.Vec, length float64, v *Vertex) bool {
	for tilt := 0.25; tilt > leastTilt && e.iter < e.cap; tilt /= 16 {
		e.support(unit(r3.Add(e.axis, r3.Scale(tilt, u))), v)
		below, ahead := -e.lower-r3.Dot(e.axis, v.W), r3.Dot(u, v.W)+length
		if !(ahead > e.round/4) {
			return false
		}
		if below*min(1, length/ahead) <= e.stop/2 {
			return true
		}
	}
	return false
}
