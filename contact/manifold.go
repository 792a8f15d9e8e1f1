package contact

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
)

// The plain text of contact points: package kernels/contact finds them in C, of every kind. Tests compare it with this,
// audits take the features of an ID from it, and builds without cgo and [Off] take it for all rows.

// MaxPoints is the largest number of points of a manifold.
const MaxPoints = 4

// A Pair is two shapes with their signed distance, as solved, from which a manifold is built.
type Pair struct {
	A, B         *Features
	PoseA, PoseB geom.Pose // quaternions of unit length

	Normal             r3.Vec // unit, world frame, from A to B
	Distance, Gap      float64
	WitnessA, WitnessB r3.Vec // world frame

	// MaxGap is the largest gap of a point, in metres. A pair that is nearer has at least one point.
	MaxGap float64
}

// A Point is a point of contact.
type Point struct {
	// Position is the middle between the point of A and that of B, which lie Gap/2 from it along the normal, in
	// metres in the world frame.
	Position r3.Vec

	// Gap is an upper bound of the gap along the normal over Position: the distance from the point where the line
	// along the normal leaves A to that where it enters B, negative in penetration. Rounding is included.
	Gap float64

	// ID names the features that make the point. It lasts as long as these do.
	ID uint64
}

// A Manifold is the points of contact of a pair.
type Manifold struct {
	Normal r3.Vec // unit, world frame, from A to B, the same for all points

	// Lower is a lower bound of the gap along the normal, over any position: min over B of ⟨n, x⟩ − max over A of
	// ⟨n, x⟩, less rounding.
	Lower float64

	N      int // points in use, ordered by ID
	Points [MaxPoints]Point
}

// An ID has the kind of the point in its two leading bits, then the features of A and of B, 31 bits each.
const (
	idVertexA = iota
	idVertexB
	idCrossing // of two edges
	idWitness
)

func pointID(kind int, a, b uint32) uint64 { return uint64(kind)<<62 | uint64(a)<<31 | uint64(b) }

// candidate is a point in the frame of the manifold, of the cores.
type candidate struct {
	x, y, a, b float64 // a and b: z of the points of A and B, the balls around the cores included
	slack      float64 // of witnesses, the gap of the pair; of faces, how far they are from flat
	id         uint64
}

func (c *candidate) gap() float64 { return c.b - c.a }

// Workspace is the memory of [Workspace.Build]. The zero value is ready. It belongs to one goroutine.
type Workspace struct {
	a, b       placed
	fa, fb     flat
	candidates []candidate
	values     []float64 // of the candidates, see [Workspace.reduce]
	frame      geom.Mat3 // rows t1, t2, n
	anchor     r3.Vec    // origin of the frame, in the world
	round      float64
}

// roundings bounds the rounding error of a gap in units of roundoff of [Workspace.scale]. A corner is a product of two
// rotations and a sum, 12 units; a plane over a point adds a product with a slope of at most 1, 8; a normal of a face
// is right to 4 [hull.Hull] and rotated, 12; two sides of these, the radii, the middle and its rounding stay below 96.
const roundings = 128 * 0x1p-53

// witnessError is how much deeper a pair may be than its points, relative to its size, without a point for its
// witnesses.
const witnessError = 1e-9

// Build sets m to the manifold of a pair that is not undecided. With no point within MaxGap m has none.
//
// The features of A along n and of B along −n are projected along n; the vertices of the intersection of the
// projections are the candidates. A candidate at u has a point a = u + z_A·n of A and a point b = u + z_B·n of B, by
// convexity, and the gap z_B − z_A. So the gap along n over u lies between [Manifold.Lower] and that, and equals it
// where the line leaves both bodies through these features. Faces that are flat to a millionth of the size only count
// as one, with their deviation added to the gap. Balls around the cores are taken along n: the points lie in the
// bodies, and the deepest point keeps the exact gap for any tilt. The witnesses of the pair are added where no
// candidate is as deep as the pair.
func (w *Workspace) Build(p *Pair, m *Manifold) {
	m.N, m.Normal = 0, p.Normal
	w.place(p)
	m.Lower = w.least() - w.round
	size := p.A.size + p.B.size
	w.candidates = w.candidates[:0]
	w.cross(size)
	if slack := w.fa.slack + w.fb.slack; slack > 0 {
		for i := range w.candidates {
			w.candidates[i].slack = slack
		}
	}
	deepest, n := math.Inf(1), 0
	for i := range w.candidates {
		if gap := w.candidates[i].gap(); gap <= p.MaxGap {
			deepest = min(deepest, gap)
			w.candidates[n] = w.candidates[i]
			n++
		}
	}
	w.candidates = w.candidates[:n]
	if !(deepest <= p.Distance+p.Gap+witnessError*size) && p.Distance <= p.MaxGap {
		w.addWitness(p)
	}
	sortByID(w.candidates)
	w.reduce(size) // keeps the order
	for i := range w.candidates {
		c := &w.candidates[i]
		local := r3.Vec{X: c.x, Y: c.y, Z: c.a + 0.5*(c.b-c.a)}
		m.Points[m.N] = Point{Position: r3.Add(w.anchor, w.frame.MulVecT(local)), Gap: c.gap() + c.slack + w.round,
			ID: c.id}
		m.N++
	}
}

// sortByID sorts candidates, which are few and mostly in order.
func sortByID(c []candidate) {
	for i := 1; i < len(c); i++ {
		if c[i-1].id <= c[i].id {
			continue
		}
		x, k := c[i], i
		for ; k > 0 && c[k-1].id > x.id; k-- {
			c[k] = c[k-1]
		}
		c[k] = x
	}
}

// place sets the frame of the manifold, with its origin between the witnesses, and both shapes in it.
func (w *Workspace) place(p *Pair) {
	n := p.Normal
	t1, t2 := Tangents(n)
	w.frame = geom.Mat3{t1.X, t1.Y, t1.Z, t2.X, t2.Y, t2.Z, n.X, n.Y, n.Z}
	w.anchor = r3.Add(p.WitnessA, r3.Scale(0.5, r3.Sub(p.WitnessB, p.WitnessA)))
	put := func(at *placed, f *Features, pose geom.Pose) {
		rot := pose.Matrix()
		at.Features, at.rot = f, geom.Mul(&w.frame, &rot)
		at.origin = w.frame.MulVec(r3.Sub(pose.Position, w.anchor))
	}
	put(&w.a, p.A, p.PoseA)
	put(&w.b, p.B, p.PoseB)
	scale := length(w.a.origin) + length(w.b.origin) + p.A.size + p.B.size + p.A.center + p.B.center
	w.round = roundings * scale
	w.a.find(w.a.rot.MulVecT(r3.Vec{Z: 1}), &w.fa)
	w.b.find(w.b.rot.MulVecT(r3.Vec{Z: -1}), &w.fb)
}

// Tangents returns t1 and t2, which make a right-handed frame with the unit vector n.
func Tangents(n r3.Vec) (t1, t2 r3.Vec) { return geom.TangentBasis(n, math.Copysign(1, n.Z)) }

// least is min over B of z less max over A of z.
func (w *Workspace) least() float64 {
	a := w.a.at(w.a.supportPoint(w.a.rot.MulVecT(r3.Vec{Z: 1}))).Z
	b := w.b.at(w.b.supportPoint(w.b.rot.MulVecT(r3.Vec{Z: -1}))).Z
	return b - w.b.radius - (a + w.a.radius)
}

// add adds a candidate at z of the cores.
func (w *Workspace) add(x, y, coreA, coreB float64, id uint64) {
	w.candidates = append(w.candidates, candidate{x, y, coreA + w.a.radius, coreB - w.b.radius, 0, id})
}

// cross finds the vertices of the intersection of both projected features.
func (w *Workspace) cross(size float64) {
	a, b := &w.fa, &w.fb
	if len(a.corners) == 0 || len(b.corners) == 0 || a.plane && b.plane {
		return
	}
	if a.segment() && b.segment() {
		w.crossSegments(size)
		return
	}
	inA, inB := 0, 0
	if !a.plane && !b.segment() {
		for i, c := range a.corners {
			if b.plane || inside(b, c.X, c.Y, -1, w.round) {
				w.add(c.X, c.Y, c.Z, b.heightAt(c.X, c.Y), pointID(idVertexA, a.vertex[i], 0))
				inA++
			}
		}
	}
	if !b.plane && !a.segment() {
		for i, c := range b.corners {
			if a.plane || inside(a, c.X, c.Y, 1, w.round) {
				w.add(c.X, c.Y, a.heightAt(c.X, c.Y), c.Z, pointID(idVertexB, 0, b.vertex[i]))
				inB++
			}
		}
	}
	if !a.plane && !b.plane && (b.segment() || inA < len(a.corners)) && (a.segment() || inB < len(b.corners)) {
		w.crossEdges() // neither feature lies within the other
	}
	// A rim that lies within the other face has as many points as a manifold.
	n := len(w.candidates)
	keep := func(vertex uint64) bool { return vertex%(rimPoints/MaxPoints) == 0 }
	switch {
	case a.disc && inA == rimPoints && inA == n:
		w.candidates = slices.DeleteFunc(w.candidates, func(c candidate) bool { return !keep(c.id >> 31) })
	case b.disc && inB == rimPoints && inB == n:
		w.candidates = slices.DeleteFunc(w.candidates, func(c candidate) bool { return !keep(c.id) })
	}
}

// inside reports whether (x, y) lies in the projected polygon f, or within a rounding error of it. Its corners are
// counter-clockwise if sign is 1, clockwise if it is -1.
func inside(f *flat, x, y, sign, round float64) bool {
	n := len(f.corners)
	for i := range n {
		p, q := f.corners[i], f.corners[(i+1)%n]
		ex, ey := q.X-p.X, q.Y-p.Y
		if !(sign*(ex*(y-p.Y)-ey*(x-p.X)) >= -round*(math.Abs(ex)+math.Abs(ey))) {
			return false
		}
	}
	return true
}

// crossEdges adds the proper crossings of the edges of both features. Where an edge passes a vertex within a rounding
// error, the vertex is taken instead.
func (w *Workspace) crossEdges() {
	a, b := &w.fa, &w.fb
	na, nb := len(a.corners), len(b.corners)
	for i := range edgeCount(a) {
		p, q := a.corners[i], a.corners[(i+1)%na]
		d := r3.Sub(q, p)
		for j := range edgeCount(b) {
			r, s := b.corners[j], b.corners[(j+1)%nb]
			e := r3.Sub(s, r)
			det := d.X*e.Y - d.Y*e.X
			hx, hy := r.X-p.X, r.Y-p.Y
			// p + t·d = r + u·e
			t, u := hx*e.Y-hy*e.X, hx*d.Y-hy*d.X
			leaves := det < 0
			if leaves {
				det, t, u = -det, -t, -u
			}
			slackT := w.round * (math.Abs(e.X) + math.Abs(e.Y))
			slackU := w.round * (math.Abs(d.X) + math.Abs(d.Y))
			if !(t > slackT && t < det-slackT && u > slackU && u < det-slackU) {
				continue
			}
			t, u = t/det, u/det
			w.add(p.X+t*d.X, p.Y+t*d.Y, p.Z+t*d.Z, r.Z+u*e.Z, crossingID(a, b, i, j, leaves))
		}
	}
}

// crossingID is the ID of the crossing of edge i of a with edge j of b.
func crossingID(a, b *flat, i, j int, leaves bool) uint64 {
	ea, eb := a.edges[i], b.edges[j]
	if a.disc != b.disc { // a rim is one edge, which another edge enters once and leaves once
		side := uint32(0)
		if leaves {
			side = 1
		}
		if a.disc {
			ea = ea&^(rimPoints-1) + side
		} else {
			eb = eb&^(rimPoints-1) + side
		}
	}
	return pointID(idCrossing, ea, eb)
}

// edgeCount is the number of edges of a feature.
func edgeCount(f *flat) int {
	if f.segment() {
		return 1
	}
	return len(f.corners)
}

// addWitness adds the witnesses of the pair, which are points of the bodies up to its gap: the middle between them, and
// the distance.
func (w *Workspace) addWitness(p *Pair) {
	half := 0.5 * p.Distance
	w.candidates = append(w.candidates, candidate{a: -half, b: half, slack: p.Gap, id: pointID(idWitness, 0, 0)})
}

// ties is the difference, relative to the size of the pair, below which two candidates count as equally deep, and
// relative to the best one as equally far: the first by ID is taken, so that rounding and small motions do not change
// which points are kept.
const ties = 1e-5

// reduce keeps at most four candidates, which are sorted by ID: the deepest, up to ties; the farthest from it; that of
// the largest triangle with both; the one farthest outside that triangle. Points closer than ties are one.
func (w *Workspace) reduce(size float64) {
	w.merge(ties * size)
	c := w.candidates
	if len(c) <= MaxPoints {
		return
	}
	var kept [MaxPoints]int
	resize(&w.values, len(c))
	pick := func() int { // the first of the largest values, up to ties
		most := slices.Max(w.values)
		return max(slices.IndexFunc(w.values, func(x float64) bool { return x >= most-ties*math.Abs(most) }), 0)
	}
	deepest := math.Inf(1)
	for i := range c {
		deepest = min(deepest, c[i].gap())
	}
	for i := range c {
		if c[i].gap() <= deepest+ties*size {
			kept[0] = i
			break
		}
	}
	p := c[kept[0]]
	for i := range c {
		x, y := c[i].x-p.x, c[i].y-p.y
		w.values[i] = math.Sqrt(x*x + y*y)
	}
	kept[1] = pick()
	q := c[kept[1]]
	for i := range c {
		w.values[i] = math.Abs(twice(&p, &q, &c[i]))
	}
	kept[2] = pick()
	r := c[kept[2]]
	orientation := math.Copysign(1, twice(&p, &q, &r))
	for i := range c { // twice the area that the point adds to the triangle
		s := &c[i]
		w.values[i] = -min(orientation*twice(&p, &q, s), orientation*twice(&q, &r, s), orientation*twice(&r, &p, s))
	}
	kept[3] = pick()
	n := 0
	for i := range c {
		for _, k := range kept {
			if i == k {
				c[n] = c[i]
				n++
				break
			}
		}
	}
	w.candidates = c[:n]
}

// twice is twice the signed area of a triangle in the tangent plane.
func twice(p, q, r *candidate) float64 { return (q.x-p.x)*(r.y-p.y) - (q.y-p.y)*(r.x-p.x) }

// merge makes one candidate of those that are closer than tolerance in the tangent plane: the deepest, with the first
// ID.
func (w *Workspace) merge(tolerance float64) {
	c := w.candidates
	tolerance *= tolerance
	n := 0
next:
	for i := range c {
		for k := range n {
			if x, y := c[i].x-c[k].x, c[i].y-c[k].y; x*x+y*y <= tolerance {
				if c[i].gap() < c[k].gap() {
					id := c[k].id
					c[k] = c[i]
					c[k].id = id
				}
				continue next
			}
		}
		if n != i {
			c[n] = c[i]
		}
		n++
	}
	w.candidates = c[:n]
}

// Limits of parallel segments.
const (
	parallel     = 1e-3 // the largest sine of the angle between two projected segments that count as parallel
	leastOverlap = 1e-6 // the length of the part that they have in common, relative to the size of the pair
)

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
	return ends, hi.at-lo.at > leastOverlap*size
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

// leaveHalvings is the number of halvings of [placed.leave], all that float64 resolves.
const leaveHalvings = 52

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
	for range leaveHalvings {
		if middle := out + 0.5*(in-out); contains(middle) {
			in = middle
		} else {
			out = middle
		}
	}
	return in, true
}

// The features that an ID names. An audit compares a point with them.

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
