package conformance

import (
	"context"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/geom"
	"clearance/ref"
)

// Relation is what is known of a row without solving it.
type Relation uint8

// Relations.
const (
	Separated   Relation = iota // at the exact distance Expect.Distance
	Contact                     // touching at a point, at distance 0
	Penetrating                 // the interiors intersect
	Meeting                     // a point in common, interiors unknown: two flat shapes
	Nonsense                    // two half-spaces: the row is refused
)

// Expect is what is known of a row.
type Expect struct {
	Relation Relation

	// Distance is the signed distance where it is known exactly (Separated, Contact),
	// and a lower bound of it, minus the overlap along one direction, for the others.
	Distance float64

	// Round bounds the error in Distance that the rounding of the poses makes, metres.
	Round float64
}

// interval bounds the signed distance.
func (e *Expect) interval() (lower, upper float64) {
	lower, upper = e.Distance-e.Round, e.Distance+e.Round
	switch e.Relation {
	case Penetrating:
		upper = 0
	case Meeting:
		upper = e.Round
	}
	return lower, upper
}

// placement is one way to place B beside A.
type placement struct {
	name string

	// apart: B stands so that the support points along a direction are this far apart.
	apart float64
	// inner, if above 0: two points of the bodies coincide, each at 1 − inner of the
	// way from the support point to the center.
	inner float64

	aligned bool // both bodies have one rotation, and the direction is their z axis
	far     bool // 1 km from the origin of the world
}

// placements are the rows of each cell, each with and without margins. Aligned
// bodies meet with parallel faces, or share an axis.
var placements = []placement{
	{name: "near", apart: 1e-3},
	{name: "near, 1 km away", apart: 1e-3, far: true},
	{name: "far", apart: 1},
	{name: "far, 1 km away", apart: 1, far: true},
	{name: "touching"},
	{name: "touching, 1 km away", far: true},
	{name: "overlapping", inner: 0.1},
	{name: "overlapping, 1 km away", inner: 0.1, far: true},
	{name: "deep", inner: 0.8},
	{name: "deep, 1 km away", inner: 0.8, far: true},
	{name: "aligned, apart", apart: 0.01, aligned: true},
	{name: "aligned, touching", aligned: true},
	{name: "coaxial, deep", inner: 0.8, aligned: true},
}

// away is the distance of the far rows from the origin of the world, metres.
const away = 1000

const eps = 0x1p-53 // unit roundoff of float64

// anchors are the two points of a shape that placements use, in the world, with the
// shape's origin at the origin: an inner point and the support point along d.
func anchors(s geom.Shape, m *geom.Mat3, d r3.Vec) (inner, support r3.Vec) {
	c, p := s.Center(), geom.Support(s, m.MulVecT(d))
	if s.Kind() == geom.KindHalfspace {
		// Its support point is where its frame is; 1 m below the plane is inside.
		c = r3.Vec{Z: -1}
		p = r3.Vec{Z: s.Radius()}
	}
	return m.MulVec(c), m.MulVec(p)
}

// place poses two shapes and says what is known of them. rng draws the rotations
// and the direction.
func place(rng *rand.Rand, lib *batch.Library, a, b int32, p *placement) (batch.Row, Expect) {
	row := batch.Row{ShapeA: a, ShapeB: b, PoseA: geom.IdentityPose(), PoseB: geom.IdentityPose()}
	sa, sb := lib.Shape(a), lib.Shape(b)
	row.PoseA.Rotation, row.PoseB.Rotation = randomRotation(rng), randomRotation(rng)
	d := randomUnit(rng)
	at := r3.Scale(2*rng.Float64(), randomUnit(rng))
	if p.far {
		at = r3.Add(at, r3.Scale(away, randomUnit(rng)))
	}
	row.PoseA.Position = at
	if sa.Kind() == geom.KindHalfspace && sb.Kind() == geom.KindHalfspace {
		return row, Expect{Relation: Nonsense}
	}

	mA := row.PoseA.Matrix()
	if p.aligned {
		row.PoseB.Rotation = row.PoseA.Rotation
		d = mA.MulVec(r3.Vec{Z: 1})
		if sb.Kind() == geom.KindHalfspace { // whose outer side must face A
			row.PoseB.Rotation = quat.Mul(row.PoseA.Rotation, quat.Number{Imag: 1})
		}
	}
	mB := row.PoseB.Matrix()
	switch { // a half-space has a support point along its own normal only
	case sa.Kind() == geom.KindHalfspace:
		d = mA.MulVec(r3.Vec{Z: 1})
	case sb.Kind() == geom.KindHalfspace:
		d = mB.MulVec(r3.Vec{Z: -1})
	}

	innerA, supportA := anchors(sa, &mA, d)
	innerB, supportB := anchors(sb, &mB, r3.Scale(-1, d))
	e := Expect{Distance: p.apart}
	pa, pb := supportA, r3.Sub(supportB, r3.Scale(p.apart, d))
	switch {
	case p.inner > 0:
		pa = r3.Add(pa, r3.Scale(p.inner, r3.Sub(innerA, supportA)))
		pb = r3.Add(pb, r3.Scale(p.inner, r3.Sub(innerB, supportB)))
		e.Distance = -p.inner * (r3.Dot(d, r3.Sub(supportA, innerA)) + r3.Dot(d, r3.Sub(innerB, supportB)))
		e.Relation = Penetrating
		if flat(sa) && flat(sb) {
			e.Relation = Meeting
		}
	case p.apart == 0:
		e.Relation = Contact
	}
	row.PoseB.Position = r3.Add(at, r3.Sub(pa, pb))

	// The support points and the sums above are chains of fewer than 24 roundings of
	// lengths up to reach; each of the two positions is rounded to the grid at its own
	// distance from the origin, which moves it by eps·|position| at most, and so is
	// their difference when it is formed again.
	reach := r3.Norm(supportA) + r3.Norm(supportB) + r3.Norm(innerA) + r3.Norm(innerB) + p.apart
	e.Round = 24*eps*reach + 4*eps*r3.Norm(row.PoseB.Position)
	return row, e
}

// flat reports whether a shape has no interior.
func flat(s geom.Shape) bool { return s.Kind() != geom.KindHalfspace && s.Inradius() == 0 }

func randomUnit(rng *rand.Rand) r3.Vec {
	for {
		v := r3.Vec{X: rng.NormFloat64(), Y: rng.NormFloat64(), Z: rng.NormFloat64()}
		if n := r3.Norm(v); n > 1e-3 {
			return r3.Scale(1/n, v)
		}
	}
}

// randomRotation is uniform on the rotations: a normal vector of four components
// has no preferred direction.
func randomRotation(rng *rand.Rand) quat.Number {
	for {
		q := quat.Number{Real: rng.NormFloat64(), Imag: rng.NormFloat64(), Jmag: rng.NormFloat64(),
			Kmag: rng.NormFloat64()}
		if n := quat.Abs(q); n > 1e-3 && !math.IsInf(n, 0) {
			return quat.Scale(1/n, q)
		}
	}
}

// facts are what the suite knows of the answers to a query.
type facts struct {
	interval func(r *Rows, i int) (lower, upper float64)                  // of the value, by construction of the row
	truth    func(r *Rows, i int) *ref.Result                             // of the reference solver
	status   func(r *Rows, i int, found batch.Status) (want batch.Status) // found, where others are right too
}

// factsOf has one row per query that is answered.
var factsOf = [batch.QueryCount]*facts{
	batch.Distance:    &signedDistance,
	batch.Collide:     &signedDistance,
	batch.Penetration: &signedDistance,
	batch.Growth: {
		interval: (*Rows).growthOf,
		truth:    func(r *Rows, i int) *ref.Result { return &r.growthTruth()[i] },
		status:   (*Rows).contact,
	},
}

var signedDistance = facts{
	interval: func(r *Rows, i int) (lower, upper float64) { return r.Expect[i].interval() },
	truth:    func(r *Rows, i int) *ref.Result { return &r.Truth[i] },
	status:   (*Rows).contact,
}

// contact is the status of a row that is clear of contact by more than any tolerance, of others that found.
func (r *Rows) contact(i int, found batch.Status) (want batch.Status) {
	clear := 1e-5 * r.Library.PairSize(r.Pairs.ShapeA[i], r.Pairs.ShapeB[i])
	switch e := &r.Expect[i]; {
	case e.Relation == Separated && e.Distance > clear:
		return batch.Separated
	case e.Relation == Penetrating && r.Truth[i].Upper < -clear:
		return batch.Penetrating
	}
	return found
}

// Refused reports whether a row makes no sense as a query: two half-spaces, and for growth two shapes that are
// flat or half-spaces.
func (r *Rows) Refused(i int, q batch.Query) bool {
	return r.Expect[i].Relation == Nonsense ||
		q.Info().CheckShapes(r.Library, i, r.Pairs.ShapeA[i], r.Pairs.ShapeB[i]) != nil
}

// growthTruth solves every row with package ref once.
func (r *Rows) growthTruth() []ref.Result {
	r.once.Do(func() {
		r.growth = make([]ref.Result, r.Len())
		var ws ref.Workspace
		var row batch.Row
		for i := range r.growth {
			if r.Refused(i, batch.Growth) {
				continue
			}
			r.Pairs.Row(i, &row)
			l, a, b := r.Library, row.ShapeA, row.ShapeB
			p := ref.NewPair(l.Shape(a), l.Shape(b), row.PoseA, row.PoseB)
			r.growth[i] = ref.Growth(&p, ref.GrowthCenters{A: l.GrowthCenter(a), B: l.GrowthCenter(b),
				InradiusA: l.GrowthInradius(a), InradiusB: l.GrowthInradius(b)}, ref.GrowthOptions{}, &ws)
		}
	})
	return r.growth
}

// growthOf bounds the growth distance of a row by what is known of its signed distance σ. With D about the
// centers between the balls of radius r and ρ about the origin,
//
//	σ ≥ 0: 1 + σ/ρ ≤ α ≤ 1 + σ/r,    σ < 0: 1 + σ/r ≤ α ≤ 1 + σ/ρ.
//
// The sides with r follow from the convex combination of a point of D with a point of the ball, the others from
// scaling by 1 + t, which moves no point of D by more than t·ρ. Next to a half-space, D is the other shape alone.
func (r *Rows) growthOf(i int) (lower, upper float64) {
	var inner, outer float64
	for _, s := range [2]int32{r.Pairs.ShapeA[i], r.Pairs.ShapeB[i]} {
		shape := r.Library.Shape(s)
		if shape.Kind() == geom.KindHalfspace {
			continue
		}
		inner += r.Library.GrowthInradius(s)
		outer += r3.Norm(r3.Sub(shape.Center(), r.Library.GrowthCenter(s))) + shape.BoundingRadius()
	}
	least, greatest := r.Expect[i].interval()
	if lower = 1 + least/outer; least < 0 {
		lower = math.Max(0, 1+least/inner)
	}
	if upper = 1 + greatest/inner; greatest < 0 {
		upper = math.Max(0, 1+greatest/outer)
	}
	return lower, upper
}

// checkStatusAlone asks for statuses without any column of the value, which end rows early, and has them
// audited. They may differ from those of the whole query where shapes touch, to the tolerance.
func (r *Rows) checkStatusAlone(ctx context.Context, backend dispatch.Backend, o batch.Options, whole *batch.Results,
	v *Verdict) {
	o.Columns = batch.ColStatus | batch.ColBits
	job := &batch.Job{Library: r.Library, Input: r.Pairs, Options: o}
	if _, err := dispatch.New(backend).Run(ctx, job, dispatch.Options{}); err != nil {
		v.fault(-1, "run of statuses alone: %v", err)
		return
	}
	r.checkAudit(ctx, job, v)
	for i, s := range job.Results.Status() {
		alone, want := batch.Status(s), batch.Status(whole.Status()[i])
		if alone != want && alone != batch.Touching && want != batch.Touching {
			v.fault(i, "%s: %v without columns of the value, %v with them", r.Describe(i), alone, want)
		}
	}
}
