package contact

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// parallel is the largest sine of the angle between two projected segments that count as parallel.
const parallel = 1e-3

// segmentEnd is an end of the part that two parallel segments have in common, with the points of both over it.
type segmentEnd struct {
	id     uint64
	pa, pb r3.Vec // of the cores
}

// commonEnds are the ends of the part that two parallel segments have in common; ok is false if there is none.
func (w *Workspace) commonEnds(size float64) (ends [2]segmentEnd, ok bool) {
	a, b := &w.fa, &w.fb
	ax, ay, la := direction(a)
	bx, by, lb := direction(b)
	if !(la > 0 && lb > 0 && math.Abs(ax*by-ay*bx) <= parallel) {
		return ends, false
	}
	if ax*bx+ay*by < 0 {
		bx, by = -bx, -by
	}
	// The line along the mean direction, and the ends of both segments on it.
	dx, dy := ax+bx, ay+by
	l := math.Sqrt(dx*dx + dy*dy)
	dx, dy = dx/l, dy/l
	along := func(v r3.Vec) float64 { return v.X*dx + v.Y*dy }
	type end struct {
		at float64
		id uint64
	}
	limits := func(f *flat, id func(uint32) uint64) (lo, hi end) {
		lo, hi = end{along(f.corners[0]), id(f.vertex[0])}, end{along(f.corners[1]), id(f.vertex[1])}
		if lo.at > hi.at {
			lo, hi = hi, lo
		}
		return lo, hi
	}
	loA, hiA := limits(a, func(v uint32) uint64 { return pointID(idVertexA, v, 0) })
	loB, hiB := limits(b, func(v uint32) uint64 { return pointID(idVertexB, 0, v) })
	lo, hi := loA, hiA
	if loB.at > lo.at {
		lo = loB
	}
	if hiB.at < hi.at {
		hi = hiB
	}
	for i, e := range [2]end{lo, hi} {
		ends[i] = segmentEnd{e.id, pointAlong(a, e.at, along), pointAlong(b, e.at, along)}
	}
	return ends, hi.at-lo.at > 1e-6*size
}

// crossSegments adds the ends of the part that two parallel segments have in common. Others have their witnesses only.
func (w *Workspace) crossSegments(size float64) {
	ends, ok := w.commonEnds(size)
	if !ok {
		return
	}
	for i := range ends {
		if c, ok := w.atEnd(&ends[i]); ok {
			w.candidates = append(w.candidates, c)
		}
	}
}

// atEnd is the candidate of an end; ok is false if the line between both segments does not meet the bodies there.
func (w *Workspace) atEnd(e *segmentEnd) (c candidate, ok bool) {
	pa, pb := e.pa, e.pb
	if x, y := pb.X-pa.X, pb.Y-pa.Y; math.Sqrt(x*x+y*y) <= w.round {
		return candidate{pa.X, pa.Y, pa.Z + w.a.radius, pb.Z - w.b.radius, 0, e.id}, true
	}
	// The segments cross at a small angle: the bodies are asked where the line between both meets them.
	c = candidate{x: 0.5 * (pa.X + pb.X), y: 0.5 * (pa.Y + pb.Y), id: e.id}
	var okA, okB bool
	c.a, okA = w.a.leave(c.x, c.y, pa.Z+w.a.radius, -1, w.round)
	c.b, okB = w.b.leave(c.x, c.y, pb.Z-w.b.radius, 1, w.round)
	return c, okA && okB
}

// direction returns the direction of a projected segment and its length.
func direction(f *flat) (x, y, length float64) {
	d := r3.Sub(f.corners[1], f.corners[0])
	length = math.Sqrt(d.X*d.X + d.Y*d.Y)
	return d.X / length, d.Y / length, length
}

// pointAlong is the point of a segment at a coordinate along the line; an end exactly.
func pointAlong(f *flat, at float64, along func(r3.Vec) float64) r3.Vec {
	p, q := f.corners[0], f.corners[1]
	lo, hi := along(p), along(q)
	t := (at - lo) / (hi - lo)
	switch {
	case !(t > 0):
		return p
	case !(t < 1):
		return q
	}
	return r3.Add(p, r3.Scale(t, r3.Sub(q, p)))
}

// leave finds z at which the line over (x, y) meets the surface of the body, between z and the depth of the inscribed
// ball on the side of inward: by bisection of the sign of the signed distance. It returns a point of the body, but for
// rounding, which gaps have added: at an end of a cylinder the line lies in its cap, and rounding would decide where it
// meets the body. ok is false if none is found.
func (p *placed) leave(x, y, z, inward, round float64) (at float64, ok bool) {
	contains := func(z float64) bool {
		v := r3.Sub(r3.Vec{X: x, Y: y, Z: z}, p.origin)
		return p.shape.Residual(p.rot.MulVecT(v)) <= round
	}
	out, in := z, z+inward*p.shape.Inradius()
	if !contains(in) {
		return 0, false
	}
	const halvings = 52
	for range halvings {
		if middle := out + 0.5*(in-out); contains(middle) {
			in = middle
		} else {
			out = middle
		}
	}
	return in, true
}
