package ref

import (
	"gonum.org/v1/gonum/spatial/r3"
)

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
