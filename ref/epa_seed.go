package ref

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// seed builds the first tetrahedron from the start simplex and support points. If D
// has no extent beyond the tolerance along some direction, that direction
// bounds the depth: seed sets the answer and reports that D is flat.
func (e *expansion) seed(start *Simplex) (flat bool) {
	var t [4]Vertex
	if start != nil && start.N == 4 && e.healthy(start) {
		e.poly.tetrahedron(&start.V)
		return false
	}
	if start != nil && start.N > 0 {
		t[0] = start.V[0]
	} else {
		e.support(r3.Vec{X: 1}, &t[0])
	}
	n := 1
	// Each step takes the farthest vertex from the affine hull of the ones before,
	// of the start simplex and of support points along and against the given axes.
	var basis [3]r3.Vec // orthonormal; the first n−1 span the affine hull
	basis[0], basis[1], basis[2] = r3.Vec{X: 1}, r3.Vec{Y: 1}, r3.Vec{Z: 1}
	for n < 4 {
		v, dist := e.farthest(start, &t[0], &basis, n)
		// Half the stop gap: the flat answer below is then within it.
		if !(dist > e.stop/2) {
			e.flatAnswer(start, &t, n, &basis)
			return true
		}
		t[n] = v
		e.extend(&basis, n, r3.Sub(v.W, t[0].W))
		n++
	}
	e.poly.tetrahedron(&t)
	return false
}

// healthy reports whether the altitude of the tetrahedron is well above rounding.
func (e *expansion) healthy(s *Simplex) bool {
	a, b, c := r3.Sub(s.V[1].W, s.V[0].W), r3.Sub(s.V[2].W, s.V[0].W), r3.Sub(s.V[3].W, s.V[0].W)
	n := cross(a, b)
	m := cross(r3.Sub(s.V[2].W, s.V[1].W), r3.Sub(s.V[3].W, s.V[1].W))
	area := math.Max(norm(n), norm(m))
	return math.Abs(r3.Dot(n, c)) > 4*e.rounding*area
}

// farthest returns the candidate farthest from the affine hull that passes
// through o and is spanned by the first n−1 vectors of the basis.
func (e *expansion) farthest(start *Simplex, o *Vertex, basis *[3]r3.Vec, n int) (best Vertex, dist float64) {
	dist = -1
	consider := func(v *Vertex) {
		r := r3.Sub(v.W, o.W)
		for k := range n - 1 {
			r = r3.Sub(r, r3.Scale(r3.Dot(r, basis[k]), basis[k]))
		}
		if d := norm(r); d > dist {
			best, dist = *v, d
		}
	}
	var v Vertex
	for k := n - 1; k < 3; k++ {
		e.support(basis[k], &v)
		consider(&v)
		e.support(r3.Scale(-1, basis[k]), &v)
		consider(&v)
	}
	if start != nil {
		for i := range start.N {
			consider(&start.V[i])
		}
	}
	return best, dist
}

// extend makes vector n−1 of the basis the part of r orthogonal to those before,
// and completes the basis to an orthonormal one.
func (e *expansion) extend(basis *[3]r3.Vec, n int, r r3.Vec) {
	for range 2 { // twice is enough: the second pass removes the rounding of the first
		for k := range n - 1 {
			r = r3.Sub(r, r3.Scale(r3.Dot(r, basis[k]), basis[k]))
		}
		r = unit(r)
	}
	basis[n-1] = r
	switch n {
	case 1:
		a := r3.Vec{X: 1}
		if math.Abs(r.X) > 0.6 {
			a = r3.Vec{Y: 1}
		}
		basis[1] = unit(r3.Cross(r, a))
		basis[2] = r3.Cross(r, basis[1])
	case 2:
		basis[2] = unit(r3.Cross(basis[0], basis[1]))
	}
}

// flatAnswer answers for a D that has no extent along basis[n−1]: the depth is at
// most the support value along it or against it, and the origin is at most as
// far away as the nearest point of the start simplex, or of the vertices found.
func (e *expansion) flatAnswer(start *Simplex, t *[4]Vertex, n int, basis *[3]r3.Vec) {
	s := Simplex{V: *t, N: n}
	if start != nil && start.N > 0 {
		s = *start
	}
	signedVolumes(&s, true)
	s.reduce()
	if s.N == 3 {
		s.straighten()
	}
	e.near = s.vertex()
	e.upper = norm(e.near.W)
	e.lower = math.Inf(-1)
	var v Vertex
	for k := n - 1; k < 3; k++ {
		for _, sign := range [2]float64{1, -1} {
			a := r3.Scale(sign, basis[k])
			if h := e.support(a, &v); -h > e.lower {
				e.lower, e.axis = -h, a
			}
		}
	}
	if e.upper-e.lower > e.stop {
		e.nearestEdge(start)
		e.nearestEdge(&Simplex{V: *t, N: n})
	}
}

// nearestEdge moves the near point to an edge of the simplex that comes closer to the origin. Of a needle the weights
// of a point within have errors of rounding over its width, and the wrong edge may seem to be the closest.
func (e *expansion) nearestEdge(s *Simplex) {
	if s == nil {
		return
	}
	for i := range s.N {
		for j := range i {
			edge := Simplex{N: 2, Lambda: [4]float64{1, 0}}
			edge.V[0], edge.V[1] = s.V[i], s.V[j]
			along := r3.Sub(s.V[j].W, s.V[i].W)
			for range 2 { // the second step removes the rounding of the first
				edge.slide(0, 1, along)
			}
			if v := edge.vertex(); norm(v.W) < e.upper {
				e.upper, e.near = norm(v.W), v
			}
		}
	}
}
