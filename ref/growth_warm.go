package ref

import "gonum.org/v1/gonum/spatial/r3"

// Warm starts of the growth distance [Growth, sec. III-F3, eq. 31].

// GrowthState is the end of a query from which another may start, of the same shapes about the same centers at
// other poses: the points of the shapes that bounded the factor from above, and the normal.
type GrowthState struct {
	A, B   [3]r3.Vec // each in the own frame of its shape
	N      int       // points in use; 0 is no state
	Normal r3.Vec    // in the frame of A
}

// GrowthState returns the state in which a query about p ended.
func (p *Pair) GrowthState(r *Result) (s GrowthState) {
	s.N, s.Normal = min(r.Simplex.N, len(s.A)), r.Normal
	for i := range s.N {
		v := &r.Simplex.V[i]
		s.A[i] = v.A
		s.B[i] = p.rot.MulVecT(r3.Sub(v.B, p.trans))
	}
	return s
}

// restore inserts the points of a state into the first triangle, posed anew, and returns the direction to begin
// with. The points lie in the shapes wherever these are now, so that the triangle lies in D.
func (g *growth) restore(w *GrowthState) (n r3.Vec) {
	var v [3]Vertex
	for i := range min(w.N, len(v)) {
		v[i].A = r3.Sub(w.A[i], g.centerA)
		v[i].B = g.p.rot.MulVec(r3.Sub(w.B[i], g.centerB))
		v[i].W = r3.Sub(v[i].A, v[i].B)
	}
	return g.insert(v[:min(w.N, len(v))])
}

// insert makes the best triangle of the corners and some more points of D, and returns its normal: as long as one
// lies beyond the plane of the triangle, it replaces a corner as a support point does.
func (g *growth) insert(points []Vertex) (n r3.Vec) {
	n = g.axis
	var c triangleCorner
	for range points {
		moved := false
		for i := range points {
			c.Vertex = points[i]
			g.locate(&c)
			if g.repeats(&c) || !(r3.Dot(n, r3.Sub(c.W, g.x.c[0].W)) > g.roundSupport) {
				continue
			}
			was := g.x.c
			if !g.exchange(&c, 0) {
				continue
			}
			next, ok := g.triangleNormal()
			if !ok {
				g.x.c = was
				continue
			}
			n, moved = next, true
		}
		if !moved {
			break
		}
	}
	return n
}
