package ref

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// polytope is the closed triangulated surface that EPA expands, with a heap of its
// faces by distance from the origin.
type polytope struct {
	verts    []Vertex
	faces    []face
	heap     []int32 // indices of faces, live or not; smallest key first
	horizon  []edge
	stack    []int32
	from     []int32 // of a vertex: new face that starts there, valid where mark == stamp
	mark     []int32
	stamp    int32
	scanned  int     // faces tried by visible, see mostScanned
	rounding float64 // rounding error of plane distances
	far      float64 // more than any distance in the frame
}

// face is a triangle, counter-clockwise seen from outside.
type face struct {
	v    [3]int32
	adj  [3]int32 // face across the edge v[i] → v[i+1]
	n    r3.Vec   // unit outward normal; zero if the triangle has no area
	key  float64  // order of expansion, see setKey
	seen int32    // stamp of the visibility search
	dead bool

	out    bool // the origin lies on the outer side of the plane
	unsure bool // that side is within rounding, and the projection of the origin outside the triangle
}

// edge is an edge of the horizon, the boundary of the visible region: new faces replace what lies inside.
type edge struct {
	a, b  int32
	outer int32 // face beyond the edge
}

func (p *polytope) reset(rounding, far float64) {
	p.verts, p.faces, p.heap = p.verts[:0], p.faces[:0], p.heap[:0]
	p.mark, p.from = p.mark[:0], p.from[:0]
	p.stamp, p.scanned = 0, 0
	p.rounding, p.far = rounding, far
}

func (p *polytope) addVertex(v *Vertex) int32 {
	p.verts = append(p.verts, *v)
	p.from = append(p.from, 0)
	p.mark = append(p.mark, 0)
	return int32(len(p.verts) - 1)
}

// addFace appends the triangle abc; its neighbours are set by the caller.
func (p *polytope) addFace(a, b, c int32) int32 {
	f := face{v: [3]int32{a, b, c}}
	va := p.verts[a].W
	f.n = unit(cross(r3.Sub(p.verts[b].W, va), r3.Sub(p.verts[c].W, va)))
	p.setKey(&f)
	p.faces = append(p.faces, f)
	i := int32(len(p.faces) - 1)
	p.push(i)
	return i
}

// setKey computes the distance of the origin to the triangle. Faces that have the
// origin on their outer side come before all others: while there is one, the
// origin lies outside the polytope.
//
// Thin triangles are no exception. The normal is accurate in every component, so a
// tilt across a triangle of altitude h is rounding/h, and over the altitude it moves
// the plane by rounding; on which side of an edge the projection of the origin lies is known up to
// rounding as well.
func (p *polytope) setKey(f *face) {
	a, b, c := p.verts[f.v[0]].W, p.verts[f.v[1]].W, p.verts[f.v[2]].W
	plane := r3.Dot(f.n, a)
	f.out = plane < -p.rounding
	l0, l1, l2 := s2d(a, b, c)
	if l0 > 0 && l1 > 0 && l2 > 0 {
		f.key = math.Abs(plane)
	} else {
		f.key = math.Sqrt(norm2Of3(l0, a, l1, b, l2, c))
		// Beyond a sharp edge the origin can be much farther out than it is above
		// either plane.
		f.unsure = plane <= p.rounding
	}
	if f.out {
		f.key -= p.far
	}
}

// nearestPoint returns the point of face f nearest to the origin with the points of
// the cores that produce it, and the direction from the origin towards it: itself, made orthogonal
// to the edge to full precision if it lies on one.
// interior says that it lies inside the triangle.
func (p *polytope) nearestPoint(f int32) (v Vertex, towards r3.Vec, interior bool) {
	s := Simplex{N: 3}
	for i, k := range p.faces[f].v {
		s.V[i] = p.verts[k]
	}
	l := &s.Lambda
	l[0], l[1], l[2] = s2d(s.V[0].W, s.V[1].W, s.V[2].W)
	if interior = l[0] > 0 && l[1] > 0 && l[2] > 0; interior {
		s.straighten()
	} else {
		s.reduce()
	}
	v = s.vertex()
	towards = v.W
	if s.N == 2 {
		towards = orthogonal(towards, r3.Sub(s.V[1].W, s.V[0].W))
	}
	return v, towards, interior
}

// tetrahedron starts the surface with four vertices in general position.
func (p *polytope) tetrahedron(t *[4]Vertex) {
	var i [4]int32
	for k := range t {
		i[k] = p.addVertex(&t[k])
	}
	a, b, c, d := t[0].W, t[1].W, t[2].W, t[3].W
	if r3.Dot(cross(r3.Sub(b, a), r3.Sub(c, a)), r3.Sub(d, a)) > 0 {
		i[1], i[2] = i[2], i[1] // d must lie below abc
	}
	f0 := p.addFace(i[0], i[1], i[2])
	f1 := p.addFace(i[0], i[3], i[1])
	f2 := p.addFace(i[1], i[3], i[2])
	f3 := p.addFace(i[2], i[3], i[0])
	p.faces[f0].adj = [3]int32{f1, f2, f3}
	p.faces[f1].adj = [3]int32{f3, f2, f0}
	p.faces[f2].adj = [3]int32{f1, f3, f0}
	p.faces[f3].adj = [3]int32{f2, f1, f0}
}

// expand replaces the faces that v sees, among them f, by a fan around v. It
// reports false, and changes nothing, if rounding makes the horizon anything
// but one simple loop, or if v is not a new point.
func (p *polytope) expand(f int32, v *Vertex) bool {
	for _, i := range p.faces[f].v {
		if p.verts[i].W == v.W {
			return false
		}
	}
	if f = p.visible(f, v.W); f < 0 {
		return false
	}
	p.findHorizon(f, v.W)
	if !p.horizonIsLoop() {
		return false
	}
	apex := p.addVertex(v)
	first := int32(len(p.faces))
	for i := range p.horizon {
		e := p.horizon[i]
		g := p.addFace(e.a, e.b, apex)
		p.from[e.a] = g
		p.faces[g].adj[0] = e.outer
		p.setNeighbour(e.outer, e.b, e.a, g)
	}
	for g := first; g < int32(len(p.faces)); g++ {
		next := p.from[p.faces[g].v[1]] // the fan face that starts where this one ends
		p.faces[g].adj[1] = next
		p.faces[next].adj[2] = g
	}
	for _, g := range p.stack {
		p.faces[g].dead = true
	}
	return true
}

// visible returns f if point w sees it, else the face that sees w best, or −1. A
// vertex found along the nearest point of an edge is seen from one of the faces
// around that edge, which need not be f: most often a neighbor of f or one of theirs. All faces are tried
// only as long as that takes less than mostScanned in all, since there may be a hundred thousand.
func (p *polytope) visible(f int32, w r3.Vec) int32 {
	best, most := int32(-1), p.rounding
	if p.above(&p.faces[f], w) > most {
		return f
	}
	try := func(i int32) {
		if g := &p.faces[i]; !g.dead {
			if h := p.above(g, w); h > most {
				best, most = i, h
			}
		}
	}
	for _, i := range p.faces[f].adj {
		try(i)
		for _, k := range p.faces[i].adj {
			try(k)
		}
	}
	if best >= 0 || p.scanned+len(p.faces) > mostScanned {
		return best
	}
	p.scanned += len(p.faces)
	for i := range p.faces {
		try(int32(i))
	}
	return best
}

// mostScanned is the number of faces that one run may try in search of a visible one: a quarter of a second.
const mostScanned = 50_000_000

// above returns the signed distance of w above the plane of g.
func (p *polytope) above(g *face, w r3.Vec) float64 {
	return r3.Dot(g.n, r3.Sub(w, p.verts[g.v[0]].W))
}

// findHorizon collects the faces that point w sees, connected to f, in p.stack and
// the boundary of that region in p.horizon.
func (p *polytope) findHorizon(f int32, w r3.Vec) {
	p.stamp++
	p.horizon, p.stack = p.horizon[:0], append(p.stack[:0], f)
	p.faces[f].seen = p.stamp
	for k := 0; k < len(p.stack); k++ {
		g := &p.faces[p.stack[k]]
		for _, o := range g.adj {
			h := &p.faces[o]
			if h.seen == p.stamp {
				continue
			}
			if p.above(h, w) > p.rounding {
				h.seen = p.stamp
				p.stack = append(p.stack, o)
			}
		}
	}
	for _, k := range p.stack {
		g := &p.faces[k]
		for i, o := range g.adj {
			if p.faces[o].seen != p.stamp {
				p.horizon = append(p.horizon, edge{g.v[i], g.v[(i+1)%3], o})
			}
		}
	}
}

// horizonIsLoop reports whether the horizon is one simple closed loop.
func (p *polytope) horizonIsLoop() bool {
	if len(p.horizon) < 3 {
		return false
	}
	for i := range p.horizon {
		a := p.horizon[i].a
		if p.mark[a] == p.stamp {
			return false
		}
		p.mark[a] = p.stamp
		p.from[a] = int32(i)
	}
	i, steps := int32(0), 0
	for {
		b := p.horizon[i].b
		if p.mark[b] != p.stamp {
			return false
		}
		i = p.from[b]
		steps++
		if i == 0 {
			return steps == len(p.horizon)
		}
		if steps > len(p.horizon) {
			return false
		}
	}
}

// setNeighbour makes g the neighbour of face f across its edge a → b.
func (p *polytope) setNeighbour(f, a, b, g int32) {
	t := &p.faces[f]
	for i := range 3 {
		if t.v[i] == a && t.v[(i+1)%3] == b {
			t.adj[i] = g
			return
		}
	}
}

// nearest returns the live face with the smallest key.
func (p *polytope) nearest() (f int32, ok bool) {
	for len(p.heap) > 0 {
		f = p.heap[0]
		if !p.faces[f].dead {
			return f, true
		}
		p.pop()
	}
	return 0, false
}

func (p *polytope) push(f int32) {
	p.heap = append(p.heap, f)
	i := len(p.heap) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !(p.faces[p.heap[i]].key < p.faces[p.heap[up]].key) {
			return
		}
		p.heap[i], p.heap[up] = p.heap[up], p.heap[i]
		i = up
	}
}

func (p *polytope) pop() {
	n := len(p.heap) - 1
	p.heap[0] = p.heap[n]
	p.heap = p.heap[:n]
	for i := 0; ; {
		c := 2*i + 1
		if c >= n {
			return
		}
		if c+1 < n && p.faces[p.heap[c+1]].key < p.faces[p.heap[c]].key {
			c++
		}
		if !(p.faces[p.heap[c]].key < p.faces[p.heap[i]].key) {
			return
		}
		p.heap[c], p.heap[i] = p.heap[i], p.heap[c]
		i = c
	}
}
