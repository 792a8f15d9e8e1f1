package ref

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// coverSteps is the number of faces examined for one minimum before the proof is left to [EPA].
const coverSteps = 120

// verdict is what a polytope with apices proves about the smallest known support value of D.
type verdict uint8

const (
	unproved verdict = iota
	proved
	refuted
)

// cover examines whether h_D ≥ low in all directions, given local minima of h_D, each with a cap of
// directions over which h_D ≥ low is proved (cap_certificate.go). If it is refuted, lower is a
// direction with a smaller support value. start has begun the polytope.
//
// The polytope has one apex per cap, which is no point of D: n·low·√(1+t²). Once the ball of radius
// low lies inside the polytope, every direction has a vertex with a support value of at least low.
// If that vertex is an apex, the direction is within acos(1/√(1+t²)) = atan(t) of n, that is, in its
// cap; otherwise it is a point of D. So h_D ≥ low in all directions. Most faces of a polytope
// without apices lie near the closest point of D, more of them for every digit, and here that
// point is under the apex.
//
// All apices belong to the same low, not to the larger one of their own caps: with that, their
// support value would exceed low beyond the rims.
func (e *expansion) cover(caps []capCertificate, low float64) (v verdict, lower r3.Vec) {
	for i := range caps {
		apex, ok := caps[i].apex(low, e.rounding)
		if f, live := e.poly.nearest(); ok && live && e.poly.expand(f, &apex) {
			e.apices++ // otherwise the polytope contains the apex, or rounding keeps it out
		}
	}
	for last := min(e.iter+coverSteps, e.cap); e.iter < last; {
		f, live := e.poly.nearest()
		if !live {
			return unproved, r3.Vec{}
		}
		if face := &e.poly.faces[f]; !face.out && !face.unsure && face.key >= low {
			return proved, r3.Vec{}
		}
		expanded := false
		for _, n := range e.expansionDirections(f) {
			if n == (r3.Vec{}) || expanded {
				continue
			}
			var w Vertex
			if e.support(n, &w) < low {
				return refuted, n
			}
			expanded = e.poly.expand(f, &w)
		}
		if !expanded {
			return unproved, r3.Vec{}
		}
	}
	return unproved, r3.Vec{}
}

// expansionDirections returns the directions in which to expand a face: from the origin to the
// face's closest point, as in step, and the face's normal.
func (e *expansion) expansionDirections(f int32) [2]r3.Vec {
	face := &e.poly.faces[f]
	_, towards, interior := e.poly.nearestPoint(f)
	n := unit(towards)
	switch {
	case interior || !(norm(towards) > e.rounding):
		n = r3.Vec{}
	case face.out:
		n = r3.Scale(-1, n)
	}
	return [2]r3.Vec{n, face.n}
}

// seedTilt is the tilt (tangent of the angle) of the first directions from the known one.
const seedTilt = 0.5

// start begins a polytope with support points of directions tilted from x, along which D's support
// value is small, and with known points of D. It reports whether D has a volume.
func (e *expansion) start(x r3.Vec, tilt float64, known []Vertex) bool {
	a, b := tangents(x)
	start := Simplex{N: 4}
	for i := range 3 {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / 3)
		e.support(unit(r3.Add(x, r3.Scale(tilt, r3.Add(r3.Scale(cos, a), r3.Scale(sin, b))))), &start.V[i])
	}
	e.support(r3.Scale(-1, x), &start.V[3])
	if flat := e.seed(&start); flat {
		return false
	}
	for i := range known {
		if f, live := e.poly.nearest(); live {
			e.poly.expand(f, &known[i]) // a point inside, or one that rounding keeps out, is no loss
		}
	}
	e.firstApex, e.apices = len(e.poly.verts), 0
	return true
}

// points appends the vertices that are points of D to list.
func (e *expansion) points(list []Vertex) []Vertex {
	list = append(list, e.poly.verts[:e.firstApex]...)
	return append(list, e.poly.verts[e.firstApex+e.apices:]...)
}
