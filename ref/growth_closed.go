package ref

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
)

// Growth distances in closed form.

// halfspace answers for a half-space and a bounded shape. With m the outward normal, c the center of the bounded
// shape at the distance v outside the plane and h its support function about c,
//
//	α = max(0, v/h(−m)).
//
// The normal is m or −m, whichever points from A to B; the witness of the bounded shape is its support point
// towards the plane, that of the half-space the point where the scaled shape meets it. The ball about c makes h
// positive; a shape without one is invalid, since a flat shape parallel to the plane never meets it.
func (g *growth) halfspace() Result {
	p := &g.p
	r := Result{Iterations: 1, Ended: EndedByFormula}
	var center, touch r3.Vec // of the bounded shape in the frame of the pair; its support point about the center
	var m r3.Vec
	var v float64
	if unbounded(p.A) {
		m = r3.Vec{Z: 1}
		center = r3.Add(g.centerA, g.ray)
		touch = p.rot.MulVec(r3.Sub(p.B.CoreSupport(p.rot.MulVecT(r3.Scale(-1, m))), g.centerB))
		touch = r3.Sub(touch, r3.Scale(g.radiusB, m))
		v, r.Normal = g.ray.Z, m
	} else {
		m = p.rot.MulVec(r3.Vec{Z: 1})
		center = g.centerA
		touch = r3.Sub(r3.Sub(p.A.CoreSupport(r3.Scale(-1, m)), center), r3.Scale(g.radiusA, m))
		v, r.Normal = -r3.Dot(m, g.ray), r3.Scale(-1, m)
	}
	h := math.Max(-r3.Dot(m, touch), g.inradius)
	r.Distance = math.Max(0, v/h)
	r.Lower = math.Max(0, (v-g.roundRay)/(h+g.roundSupport))
	r.Upper = math.Max(0, (v+g.roundRay)/math.Max(h-g.roundSupport, g.inradius))
	meet := r3.Add(center, r3.Scale(r.Distance, touch))
	touch = r3.Add(center, touch)
	if r.WitnessA, r.WitnessB = meet, touch; unbounded(p.B) {
		r.WitnessA, r.WitnessB = touch, meet
	}
	r.classifyGrowth(&g.o, g.tolerance(r.Distance))
	if g.o.Trace != nil {
		g.tracedHalfspace(&r, m)
	}
	return r
}

// formula answers the pairs that have a closed form and reports whether this is one.
func (g *growth) formula() bool {
	g.by = StepFormula
	a, b := g.p.A.Kind().Family(), g.p.B.Kind().Family()
	if a == geom.FamilyPoint && b == geom.FamilyPoint {
		return g.spheres()
	}
	return a == geom.FamilyBox && b == geom.FamilyBox && g.boxes()
}

// spheres answers two spheres: D is a ball of radius R about a point q within it, the difference of their
// middles relative to the centers, and |p − αq| = αR, of which the only positive root is
//
//	α = |p|²/(<p, q> + √(<p, q>² + |p|²(R² − |q|²))).
//
// The point of D on the ray is p/α, its normal that of the ball there.
func (g *growth) spheres() bool {
	middleA := r3.Sub(g.p.A.Center(), g.centerA)
	middleB := g.p.rot.MulVec(r3.Sub(g.p.B.Center(), g.centerB))
	q := r3.Sub(middleA, middleB)
	radius := g.radiusA + g.radiusB
	along := r3.Dot(g.axis, q)
	reach := along + math.Sqrt(along*along+(radius-norm(q))*(radius+norm(q)))
	n := unit(r3.Sub(r3.Scale(reach, g.axis), q))
	s := Simplex{N: 1, Lambda: [4]float64{1}}
	g.dualBound(n, g.support(n, &s.V[0]))
	g.primalBound(&s)
	g.ended = EndedByFormula
	return true
}

// The growth distance of two boxes. The normals of the facets of D are those of the separating axis test
// [Gottschalk1996]: three of A, three of B, nine cross products of edges. So α is the largest of the dual
// bounds of the fifteen axes, each with the sign that makes it positive. The witnesses lie in the faces,
// edges or vertices that the best axis exposes.

// parallelCosine is the cosine up to which an edge counts as orthogonal to the axis, and so as free.
const parallelCosine = 1e-13

// boxes answers two boxes without margins. Where faces or edges are parallel and the witnesses are not
// determined by one facet of each box, the simplex method finishes from the axis.
func (g *growth) boxes() bool {
	a, okA := g.p.A.(geom.Box)
	b, okB := g.p.B.(geom.Box)
	if !okA || !okB {
		return false
	}
	n, ok := g.bestAxis(a.HalfExtents, b.HalfExtents)
	if !ok {
		return false
	}
	var v Vertex
	g.dualBound(n, g.support(n, &v))
	if g.exposed(n, a.HalfExtents, b.HalfExtents, &v) {
		g.primalBound(&Simplex{V: [4]Vertex{v}, Lambda: [4]float64{1}, N: 1})
	}
	if g.ended = EndedByAxes; g.settled() {
		return true
	}
	g.ended = EndedByMethod
	g.start()
	g.iterate(n)
	return true
}

// bestAxis returns the axis with the largest dual bound, as a unit vector.
func (g *growth) bestAxis(a, b r3.Vec) (best r3.Vec, ok bool) {
	const parallel = 1e-12 // sine of edges whose cross product is no axis
	largest := 0.0
	shift := r3.Sub(g.p.rot.MulVec(g.centerB), g.centerA) // the middle of D is off 0 by the centers
	try := func(n r3.Vec) {
		along := r3.Dot(n, g.ray)
		if along < 0 {
			n, along = r3.Scale(-1, n), -along
		}
		m := g.p.rot.MulVecT(n)
		h := absDot(n, a) + absDot(m, b) + r3.Dot(n, shift)
		if along > largest*h {
			best, largest, ok = n, along/h, true
		}
	}
	axes := [3]r3.Vec{{X: 1}, {Y: 1}, {Z: 1}}
	for _, u := range axes {
		try(u)
		try(g.p.rot.MulVec(u))
	}
	for _, u := range axes {
		for _, w := range axes {
			if n := r3.Cross(u, g.p.rot.MulVec(w)); norm(n) > parallel {
				try(unit(n))
			}
		}
	}
	return best, ok
}

func absDot(n, e r3.Vec) float64 { return math.Abs(n.X)*e.X + math.Abs(n.Y)*e.Y + math.Abs(n.Z)*e.Z }

// exposed sets v to the point where the ray meets the facet of D that n exposes, as a difference of points of
// the exposed faces of the boxes. ok is false unless these have two free edges between them.
func (g *growth) exposed(n, a, b r3.Vec, v *Vertex) (ok bool) {
	m := r3.Scale(-1, g.p.rot.MulVecT(n))
	var localA, localB [3]float64
	var edges [2]boxEdge
	free := 0
	for i := range 3 {
		for k, box := range [2]struct {
			n, half r3.Vec
			at      *[3]float64
		}{{n, a, &localA}, {m, b, &localB}} {
			c, half := component(box.n, i), component(box.half, i)
			if math.Abs(c) > parallelCosine {
				box.at[i] = math.Copysign(half, c)
				continue
			}
			if free == 2 {
				return false
			}
			d := [3]r3.Vec{{X: 1}, {Y: 1}, {Z: 1}}[i]
			if k == 1 {
				d = r3.Scale(-1, g.p.rot.MulVec(d))
			}
			edges[free] = boxEdge{d, half, &box.at[i]}
			free++
		}
	}
	if free < 2 {
		return false
	}
	point := func() {
		v.A = r3.Sub(r3.Vec{X: localA[0], Y: localA[1], Z: localA[2]}, g.centerA)
		v.B = g.p.rot.MulVec(r3.Sub(r3.Vec{X: localB[0], Y: localB[1], Z: localB[2]}, g.centerB))
		v.W = r3.Sub(v.A, v.B)
	}
	// The middle of the facet plus multiples of the two edges is the point t·p of its plane.
	point()
	t := r3.Dot(n, v.W) / r3.Dot(n, g.ray)
	rest := r3.Sub(r3.Scale(t, g.ray), v.W)
	c := r3.Cross(edges[0].d, edges[1].d)
	cc := r3.Dot(c, c)
	x := r3.Dot(r3.Cross(rest, edges[1].d), c) / cc
	y := r3.Dot(r3.Cross(edges[0].d, rest), c) / cc
	*edges[0].at = math.Min(math.Max(x, -edges[0].half), edges[0].half)
	*edges[1].at = math.Min(math.Max(y, -edges[1].half), edges[1].half)
	point()
	return true
}

// boxEdge is a coordinate of a box that the axis leaves free: its direction in D, half its length, and where
// it is stored.
type boxEdge struct {
	d    r3.Vec
	half float64
	at   *float64
}

func component(v r3.Vec, i int) float64 { return [3]float64{v.X, v.Y, v.Z}[i] }
