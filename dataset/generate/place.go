package generate

import (
	"math"

	"clearance/batch"
	"clearance/geom"
	"clearance/ref"

	"gonum.org/v1/gonum/spatial/r3"
)

// Limits of a placement.
const (
	// attempts at a pair whose bodies are to overlap. The point at the given depth
	// below the boundary of A − B may lie outside again where the body is thinner
	// than that or its corner acute; the pair is then drawn anew. One draw in ten
	// fails for the worst of the compared sets (hull8), so 40 failures in a row
	// come once in 10^40.
	attempts = 40

	// placed is the largest gap, relative to the size of the pair, with which a
	// solve counts as exact. The solver's default is 1e-12.
	placed = 1e-11

	// spread is the half-width of the cube that positions are drawn in, metres.
	spread = 5
)

// fixed gives the poses of a row that no solver places.
type fixed struct {
	poseA, poseB geom.Pose
	separation   float64 // NaN if unknown
}

// place makes the row that a plan asks for and returns its separation.
func (g *Generator) place(w *worker, p *plan, row *batch.Row) float64 {
	row.ShapeA, row.ShapeB = p.a, p.b
	if p.fixed != nil {
		row.PoseA, row.PoseB = p.fixed.poseA, p.fixed.poseB
		return p.fixed.separation
	}
	a, b := g.library.Shape(p.a), g.library.Shape(p.b)
	target := p.target
	if depth := -target; depth > 0 {
		// No body overlaps by more than it is thick.
		if limit := (thickness(a) + thickness(b)) / 2; depth > limit {
			target = -limit * depth / 0.1
		}
	}
	for range attempts {
		if sep, ok := g.attempt(w, p, a, b, target, row); ok {
			return sep
		}
	}
	return math.NaN()
}

// thickness is the inradius, that of a half-space without limit.
func thickness(s geom.Shape) float64 {
	if s.Kind().Traits().Unbounded {
		return math.Inf(1)
	}
	return s.Inradius()
}

// attempt draws the poses and moves B so that the separation becomes target. It
// reports whether that succeeded.
func (g *Generator) attempt(w *worker, p *plan, a, b geom.Shape, target float64, row *batch.Row) (float64, bool) {
	r := w.rand
	row.PoseA, row.PoseB = geom.IdentityPose(), geom.IdentityPose()
	if p.rotA {
		row.PoseA.Rotation = r.rotation()
	}
	switch p.rotB {
	case rotRandom:
		row.PoseB.Rotation = r.rotation()
	case rotSame:
		row.PoseB.Rotation = row.PoseA.Rotation
	}
	at := r.position(spread)
	if p.origin > 0 {
		at = r3.Add(at, r3.Scale(p.origin, r.unit()))
	}
	center(a, &row.PoseA, at)
	apart(r, a, b, row)

	pair := ref.NewPair(a, b, row.PoseA, row.PoseB)
	res := ref.Solve(&pair, ref.Options{}, &w.ws)
	exact := res.Upper-res.Lower <= placed*pair.Size()+2*pair.Roundoff()
	if !(exact || p.keep) || !geom.Finite(res.Normal) || !(math.Abs(res.Distance) < math.MaxFloat64) {
		return math.NaN(), false
	}
	n := pair.DirToWorld(res.Normal)
	before := row.PoseB.Position
	row.PoseB.Position = r3.Add(before, r3.Scale(target-res.Distance, n))
	// The separation that the rounded position has.
	sep := res.Distance + r3.Dot(n, r3.Sub(row.PoseB.Position, before))
	if !exact {
		sep = math.NaN()
	}
	if target >= 0 {
		return sep, true
	}
	pair = ref.NewPair(a, b, row.PoseA, row.PoseB)
	res = ref.Solve(&pair, ref.Options{Boolean: true}, &w.ws)
	return sep, res.Status == ref.Penetrating
}

// apart places B clearly apart from A, in a random direction; a half-space has its
// outward side to choose from only.
func apart(r *random, a, b geom.Shape, row *batch.Row) {
	ra, rb := extent(a), extent(b)
	d := r.unit()
	gap := (1 + r.Float64()) * max(ra, rb)
	mA, mB := row.PoseA.Matrix(), row.PoseB.Matrix()
	switch {
	case a.Kind().Traits().Unbounded:
		d = outward(&mA, d)
	case b.Kind().Traits().Unbounded:
		d = r3.Scale(-1, outward(&mB, d))
	}
	centerA := row.PoseA.Apply(a.Center())
	center(b, &row.PoseB, r3.Add(centerA, r3.Scale(ra+rb+gap, d)))
}

// outward is the outward normal of a half-space plus a lateral part of d.
func outward(m *geom.Mat3, d r3.Vec) r3.Vec {
	n := m.MulVec(r3.Vec{Z: 1})
	return r3.Add(n, r3.Sub(d, r3.Scale(r3.Dot(n, d), n)))
}
