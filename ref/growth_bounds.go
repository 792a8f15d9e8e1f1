package ref

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
)

// The two bounds of the growth distance. Both are proofs from the shapes alone: they hold for any direction
// and any points, however these were found.

// primal is a bound from above: a convex combination of points of D on the ray or close to it.
type primal struct {
	factor, upper float64 // without and with rounding
	simplex       Simplex // A and B relative to the centers
}

// polytopeBody reports whether a shape, its ball included, is a polytope.
func polytopeBody(s geom.Shape) bool { return polytopeCore(s) && s.Radius() == 0 }

// dualBound raises the lower bound by a unit direction n and the support value h of D along it:
//
//	α ≥ <n, p>/h(n), since p ∈ α·D [Growth, eq. 13, 22].
//
// h is positive, because D contains a ball around 0. Rounding moves <n, p> by roundRay and h by roundSupport.
func (g *growth) dualBound(n r3.Vec, h float64) {
	l := g.dual(n, h)
	if l > g.lower || g.normal == (r3.Vec{}) && r3.Dot(n, g.ray) > 0 {
		g.lower, g.normal = math.Max(l, 0), n
	}
}

// dual is the bound that n and h prove; below 0 it says nothing.
func (g *growth) dual(n r3.Vec, h float64) float64 {
	return (r3.Dot(n, g.ray) - g.roundRay) / (h + g.roundSupport)
}

// primalBound lowers the upper bound by the point s of a simplex, s = Σ λᵢwᵢ with λ ≥ 0, Σ λ = 1.
//
// With the unit vector u along p let τ = <s, u> and e = s − τu. D contains the ball of radius r around 0, so
// −(r/|e|)·e ∈ D, and the convex combination of s and this point with weights r/(r+|e|) and |e|/(r+|e|) is
// the point τ·r/(r+|e|)·u of D on the ray. So α ≤ |p|·(r+|e|)/(τ·r).
//
// The points of the shapes that s is made of are off by at most roundSupport, which adds to |e| and takes
// from τ; u is off by roundRay/|p|, which adds τ·roundRay/|p| to |e|; |p| is off by roundRay.
func (g *growth) primalBound(s *Simplex) {
	w := s.point()
	along := r3.Dot(w, g.axis)
	off := norm(r3.Sub(w, r3.Scale(along, g.axis)))
	factor := g.length * (g.inradius + off) / (along * g.inradius)
	moved := off + g.roundSupport + along*g.roundRay/g.length
	upper := (g.length + g.roundRay) * (g.inradius + moved) / ((along - g.roundSupport) * g.inradius)
	if !(along > g.roundSupport) {
		return
	}
	if g.o.Trace != nil {
		g.tracedPrimal(s, upper)
	}
	if upper < g.best.upper {
		g.best.factor, g.best.upper, g.best.simplex = factor, upper, *s
	}
}

// clearance is the least distance of the ray from the edges of a triangle that [growth.insideBound] takes, in units of
// the rounding across the ray.
const clearance = 64

// insideBound lowers the upper bound by the point s of the triangle, where the ray meets it clear of its edges. It does
// not divide by the inradius, which is small for needles and plates.
//
// Let η bound what is between s and the ray: the distance |e| that is computed and the rounding of points and axis, as
// in primalBound. Suppose that the ray keeps a distance of at least 64·η from each edge, seen along it. The exact
// corners are within η of the computed ones, so their triangle meets the ray too. The point of the computed triangle
// with the weights of the exact one on the ray is at most η from the ray, and 2·η from s, in the plane of the triangle.
// Its slope γ moves the point along the ray by at most γ as much. So the ray leaves D beyond τ − 3·(1 + γ)·η: the third
// part is for the rounding of the slope, which the clearance keeps below a tenth of it.
func (g *growth) insideBound(s *Simplex) {
	n, ok := g.triangleNormal()
	if !ok {
		return
	}
	w := s.point()
	along, up := r3.Dot(w, g.axis), r3.Dot(n, g.axis)
	off := norm(r3.Sub(w, r3.Scale(along, g.axis))) + g.roundSupport + along*g.roundRay/g.length
	c := &g.x.c
	for i := range c {
		a, b := &c[(i+1)%3], &c[(i+2)%3]
		if !(diffOfProducts(a.x, b.y, a.y, b.x) >= clearance*off*math.Hypot(b.x-a.x, b.y-a.y)) {
			return
		}
	}
	slope := norm(r3.Sub(n, r3.Scale(up, g.axis))) / up
	low := along - 3*(1+slope)*off
	if !(low > 0) {
		return
	}
	upper := (g.length + g.roundRay) / low * (1 + 8*eps)
	if g.o.Trace != nil {
		g.tracedPrimal(s, upper)
	}
	if upper < g.best.upper {
		g.best.factor, g.best.upper, g.best.simplex = g.length/along, upper, *s
	}
}

// ballBound is the upper bound by the ball that D contains: α ≤ |p|/r. It holds in any direction, so that only |p|
// adds to its rounding, besides that of the division.
func (g *growth) ballBound() {
	s := Simplex{N: 1, Lambda: [4]float64{1}}
	s.V[0] = Vertex{A: r3.Scale(g.inradiusA, g.axis), B: r3.Scale(-g.inradiusB, g.axis)}
	s.V[0].W = r3.Sub(s.V[0].A, s.V[0].B)
	g.best = primal{g.length / g.inradius, (g.length + g.roundRay) / g.inradius * (1 + 8*eps), s}
}

// The Internal Expanding procedure (IE), the reference with which [Growth] compares its method: like EPA it
// expands a convex polytope with vertices on D, but always by the face that the ray meets, along its normal.
// The simplex method keeps that face alone.

// internalExpansion runs IE from the tetrahedron of the first triangle of the simplex method and a point of
// the ball behind it, which contains 0.
func (g *growth) internalExpansion(p *polytope) {
	g.by = StepExpansion
	p.reset(g.roundSupport, 4*g.p.scale)
	var t [4]Vertex
	for i := range g.x.c {
		t[i] = g.x.c[i].Vertex
	}
	behind := r3.Scale(-0.999, g.axis)
	t[3] = Vertex{A: r3.Scale(g.inradiusA, behind), B: r3.Scale(-g.inradiusB, behind)}
	t[3].W = r3.Sub(t[3].A, t[3].B)
	p.tetrahedron(&t)
	f := int32(0) // the first triangle
	var s Vertex
	for g.iter < g.limit {
		n := p.faces[f].n
		if !(r3.Dot(n, g.axis) > 0) {
			return
		}
		g.loadFace(p, f)
		h := g.support(n, &s)
		g.dualBound(n, h)
		if g.boundFromTriangle(); g.settled() {
			return
		}
		first := len(p.faces)
		if !p.expand(f, &s) {
			return
		}
		var ok bool
		if f, ok = g.facing(p, first); !ok {
			return
		}
	}
}

// loadFace makes a face of the polytope the triangle.
func (g *growth) loadFace(p *polytope, f int32) {
	for i, v := range p.faces[f].v {
		g.x.c[i].Vertex = p.verts[v]
		g.locate(&g.x.c[i])
	}
}

// facing returns the face that the ray meets among the live faces from index first on.
func (g *growth) facing(p *polytope, first int) (f int32, ok bool) {
	largest := 0.0
	for i := first; i < len(p.faces); i++ {
		if p.faces[i].dead {
			continue
		}
		g.loadFace(p, int32(i))
		if area, meets := g.meetsTriangle(); meets && area > largest {
			f, largest, ok = int32(i), area, true
		}
	}
	return f, ok
}

// meetsTriangle returns twice the area of the triangle seen along the ray, and whether the ray meets it from
// inside.
func (g *growth) meetsTriangle() (area float64, ok bool) {
	c := &g.x.c
	ok = true
	for i := range c {
		j := (i + 1) % 3
		side := diffOfProducts(c[i].x, c[j].y, c[i].y, c[j].x)
		area += side
		ok = ok && side >= 0
	}
	return area, ok
}
