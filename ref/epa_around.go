package ref

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// aroundSteps is how many faces are looked at in one turn, before the proof is left to [EPA]'s polytope.
const aroundSteps = 120

// verdict is what a polytope with apices says of the least height of D that is known.
type verdict uint8

const (
	unproved verdict = iota
	proved
	refuted
)

// around looks whether D is as high as low in all directions, for a pair of which local minima of the support
// function are known, each with a cap of directions over which D is at least that high (rtr_cap.go). If it
// is refuted, lower is a direction in which D is lower. Start has begun the polytope.
//
// The polytope has an apex for each cap, that is no point of D: n·low·√(1+t²). Once the ball of radius low
// is inside, every direction has a vertex that is as high as low. If that is an apex, the direction is
// within acos(1/√(1+t²)) = atan(t) of n, and in its cap; else it is a point of D. So D is as high as low in
// all directions. Most faces of a polytope without apices are those close to the nearest point of D,
// more for every digit, and here that point is under the apex.
//
// All apices belong to the same low, and to no higher one of their caps: they would be higher than low
// beyond the rims as well.
func (e *expansion) around(caps []dirCap, low float64) (v verdict, lower r3.Vec) {
	for i := range caps {
		apex, ok := caps[i].apex(low, e.round)
		if f, live := e.poly.nearest(); ok && live && e.poly.expand(f, &apex) {
			e.apices++ // else the polytope holds it, or has to do without
		}
	}
	for last := min(e.iter+aroundSteps, e.cap); e.iter < last; {
		f, live := e.poly.nearest()
		if !live {
			return unproved, r3.Vec{}
		}
		if face := &e.poly.faces[f]; !face.out && !face.unsure && face.key >= low {
			return proved, r3.Vec{}
		}
		expanded := false
		for _, n := range e.looks(f) {
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

// looks returns the directions in which to expand a face: that in which its nearest point looks from the
// origin, as in step, and its normal.
func (e *expansion) looks(f int32) [2]r3.Vec {
	face := &e.poly.faces[f]
	_, look, interior := e.poly.nearestPoint(f)
	n := unit(look)
	switch {
	case interior || !(norm(look) > e.round):
		n = r3.Vec{}
	case face.out:
		n = r3.Scale(-1, n)
	}
	return [2]r3.Vec{n, face.n}
}

// seedTilt is how far the first directions of a polytope tilt from the one known.
const seedTilt = 0.5

// start begins a polytope with support points around a direction along which D is low, tilted from it by that
// much, and with points of D that are known. It reports whether D is not flat.
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

// points appends the points of D among the vertices to list.
func (e *expansion) points(list []Vertex) []Vertex {
	list = append(list, e.poly.verts[:e.firstApex]...)
	return append(list, e.poly.verts[e.firstApex+e.apices:]...)
}
