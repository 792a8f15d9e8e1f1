package contact

import (
	"math"
	"slices"

	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

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
	if !(deepest <= p.Distance+p.Gap+1e-9*size) && p.Distance <= p.MaxGap {
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

// Tangents returns t1 and t2, which make a right-handed frame with the unit vector n: by the closed formula of Duff et
// al., Building an Orthonormal Basis, Revisited, 2017.
func Tangents(n r3.Vec) (t1, t2 r3.Vec) {
	sign := math.Copysign(1, n.Z)
	a := -1 / (sign + n.Z)
	b := n.X * n.Y * a
	return r3.Vec{X: 1 + sign*n.X*n.X*a, Y: sign * b, Z: -sign * n.X}, r3.Vec{X: b, Y: sign + n.Y*n.Y*a, Z: -n.Y}
}

// least is min over B of z less max over A of z.
func (w *Workspace) least() float64 {
	a := w.a.at(w.a.shape.CoreSupport(w.a.rot.MulVecT(r3.Vec{Z: 1}))).Z
	b := w.b.at(w.b.shape.CoreSupport(w.b.rot.MulVecT(r3.Vec{Z: -1}))).Z
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
