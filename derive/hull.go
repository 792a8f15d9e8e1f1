package derive

import (
	"math"
	"slices"

	"clearance/geom/hull"

	"gonum.org/v1/gonum/spatial/r3"
)

// hull finds the face, edge or vertex of a hull that supports it in the direction d, up to the angle theta. The
// vertices of an exposed face are connected by edges, so they are found from one of them.
func (w *Workspace) hull(l *local, h *hull.Hull, d, hint r3.Vec, theta float64) {
	first := h.Support(d)
	x := h.Vertices[first]
	l.x = x
	w.face = append(w.face[:0], int32(first))
	for k := 0; k < len(w.face); k++ {
		i := w.face[k]
		for _, j := range h.Adj[h.Start[i]:h.Start[i+1]] {
			v := r3.Sub(x, h.Vertices[j])
			if r3.Dot(d, v) <= theta*r3.Norm(v) && !slices.Contains(w.face, j) {
				w.face = append(w.face, j)
			}
		}
	}
	if len(w.face) == 1 {
		return
	}
	far, length := x, 0.0
	for _, i := range w.face[1:] {
		if s := r3.Norm(r3.Sub(h.Vertices[i], x)); s > length {
			far, length = h.Vertices[i], s
		}
	}
	l.t[0] = r3.Scale(1/length, r3.Sub(far, x))
	l.flat = 1
	var side r3.Vec
	across := 0.0
	for _, i := range w.face[1:] {
		v := r3.Sub(h.Vertices[i], x)
		v = r3.Sub(v, r3.Scale(r3.Dot(v, l.t[0]), l.t[0]))
		if s := r3.Norm(v); s > across {
			side, across = v, s
		}
	}
	rel := r3.Sub(hint, x)
	if len(w.face) == 2 || !(across > 1e-12*length) {
		along := r3.Dot(rel, l.t[0])
		l.x = r3.Add(x, r3.Scale(along, l.t[0]))
		l.inside = min(along, length-along)
		return
	}
	l.t[1] = r3.Scale(1/across, side)
	l.flat = 2
	p := vec2{r3.Dot(rel, l.t[0]), r3.Dot(rel, l.t[1])}
	l.x = r3.Add(x, r3.Add(r3.Scale(p[0], l.t[0]), r3.Scale(p[1], l.t[1])))
	l.inside = w.insidePolygon(h, x, l.t, p)
}

// insidePolygon returns the distance of p from the nearest side of the polygon of the vertices w.face, negative
// outside. Coordinates are along t, from x. The corners are in convex position, so that their angles about the
// mean order them.
func (w *Workspace) insidePolygon(h *hull.Hull, x r3.Vec, t [2]r3.Vec, p vec2) float64 {
	w.corners = w.corners[:0]
	var mean vec2
	for _, i := range w.face {
		v := r3.Sub(h.Vertices[i], x)
		c := vec2{r3.Dot(v, t[0]), r3.Dot(v, t[1])}
		mean[0] += c[0] / float64(len(w.face))
		mean[1] += c[1] / float64(len(w.face))
		w.corners = append(w.corners, c)
	}
	slices.SortFunc(w.corners, func(a, b vec2) int {
		angleA := math.Atan2(a[1]-mean[1], a[0]-mean[0])
		angleB := math.Atan2(b[1]-mean[1], b[0]-mean[0])
		switch {
		case angleA < angleB:
			return -1
		case angleA > angleB:
			return 1
		}
		return 0
	})
	inside := math.Inf(1)
	for i, a := range w.corners {
		b := w.corners[(i+1)%len(w.corners)]
		side := vec2{b[0] - a[0], b[1] - a[1]}
		if s := math.Hypot(side[0], side[1]); s > 0 {
			inside = min(inside, cross2(side, vec2{p[0] - a[0], p[1] - a[1]})/s)
		}
	}
	return inside
}
