package ref

import (
	"math"

	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
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
