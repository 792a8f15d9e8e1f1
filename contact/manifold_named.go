package contact

// The features that an ID names. An audit compares a point with them.

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// A Named is where a point has to be by its ID.
type Named struct {
	// Known says that the features of the pair along the normal have the ID. IDs of witnesses name no feature.
	Known  bool
	Across float64 // distance of the point from these features, across the normal, in metres
	Gap    float64 // between the features over the point, with rounding, as in [Point]
	Round  float64 // bound of the rounding error of Gap, and of how far faces are from flat
}

// Named returns where a point has to be by its ID, with the features that Build finds. Of the pair it reads A, B, the
// poses, and the normal.
//
// The gap is that over the place of the point, not over that of the crossing of two edges, which is ill-conditioned
// where they are nearly parallel. The point of an ID may be that of another one within 1e-5 of the size, see reduce.
func (w *Workspace) Named(p *Pair, point *Point) (named Named) {
	q := *p
	q.WitnessA, q.WitnessB = point.Position, point.Position // the origin of the frame: the point has x = y = 0
	w.place(&q)
	a, b := &w.fa, &w.fb
	slack := a.slack + b.slack
	named = Named{Across: math.Inf(1), Round: w.round + slack}
	if len(a.corners) == 0 || len(b.corners) == 0 || a.plane && b.plane {
		return named
	}
	if a.segment() && b.segment() {
		w.namedEnd(point.ID, p.A.size+p.B.size, &named)
		named.Gap += w.round
		return named
	}
	found := func(across float64) { named.Known, named.Across = true, min(named.Across, across) }
	for _, f := range [2]struct {
		of    *flat
		other *flat
		id    func(vertex uint32) uint64
	}{{a, b, func(v uint32) uint64 { return pointID(idVertexA, v, 0) }},
		{b, a, func(v uint32) uint64 { return pointID(idVertexB, 0, v) }}} {
		if f.of.plane || f.other.segment() {
			continue
		}
		for i, c := range f.of.corners {
			if f.id(f.of.vertex[i]) == point.ID {
				found(math.Hypot(c.X, c.Y))
			}
		}
	}
	if !a.plane && !b.plane {
		w.namedCrossing(point.ID, found)
	}
	named.Gap = b.heightOver() - w.b.radius - (a.heightOver() + w.a.radius) + slack + w.round
	return named
}

// namedCrossing calls found for each pair of edges with an ID, with the distance of the origin from the farther one.
func (w *Workspace) namedCrossing(id uint64, found func(across float64)) {
	a, b := &w.fa, &w.fb
	for i := range edgeCount(a) {
		p, q := a.corners[i], a.corners[(i+1)%len(a.corners)]
		for j := range edgeCount(b) {
			r, s := b.corners[j], b.corners[(j+1)%len(b.corners)]
			leaves := (q.X-p.X)*(s.Y-r.Y)-(q.Y-p.Y)*(s.X-r.X) < 0
			if crossingID(a, b, i, j, leaves) == id {
				x, y := nearestAcross(p, q), nearestAcross(r, s)
				found(max(math.Hypot(x.X, x.Y), math.Hypot(y.X, y.Y)))
			}
		}
	}
}

// namedEnd is Named of two segments.
func (w *Workspace) namedEnd(id uint64, size float64, named *Named) {
	ends, ok := w.commonEnds(size)
	if !ok {
		return
	}
	nearest := math.Inf(1)
	for i := range ends {
		c, ok := w.atEnd(&ends[i])
		if !ok {
			continue
		}
		across := math.Hypot(c.x, c.y)
		if c.id == id {
			named.Known, named.Across = true, across
		}
		if across < nearest {
			nearest, named.Gap = across, c.gap()
		}
	}
}

// heightOver is z of a feature at the origin; of an edge, where it is nearest to it across the normal.
func (f *flat) heightOver() float64 {
	if f.segment() {
		return nearestAcross(f.corners[0], f.corners[1]).Z
	}
	return f.heightAt(0, 0)
}

// nearestAcross is the point of a segment that is nearest to the axis z.
func nearestAcross(p, q r3.Vec) r3.Vec {
	d := r3.Sub(q, p)
	t, n := -(p.X*d.X + p.Y*d.Y), d.X*d.X+d.Y*d.Y
	if !(t > 0) || !(n > 0) {
		return p
	}
	return r3.Add(p, r3.Scale(min(t/n, 1), d))
}

// Witness reports whether an ID is that of the witnesses of a pair, which are points of no feature.
func Witness(id uint64) bool { return id == pointID(idWitness, 0, 0) }

// Entered returns k for the ID of the k-th contact of a world, from 1 on, that a solve has added at points which would
// enter within the step; 0 for others.
func Entered(id uint64) int {
	if b := id & (1<<31 - 1); id>>62 != idWitness || b != 0 {
		return 0
	}
	return int(id >> 31 & (1<<31 - 1))
}
