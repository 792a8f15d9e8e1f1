package verify

import (
	"math"

	"clearance/batch"
	"clearance/geom"
	"clearance/ref"
)

// rules say how the answers of a query are audited, and how its rows are solved again.
type rules struct {
	// place prepares the data of a row besides its placed shapes. nil: there are none.
	place func(a *auditor)

	// row audits the answer of row i, whose interval has been read.
	row func(a *auditor, i int, c *claim)

	// floor is the least gap that float64 can always prove, in the unit of the value.
	floor func(a *auditor, c *claim) float64

	// exact reports whether [batch.DoubleTolerance] is the default of the row in double precision.
	exact func(a *auditor, c *claim) bool

	// solvedBy reports whether a solver may have ended the row; direct whether it may have done so without iterations.
	solvedBy func(a *auditor, s batch.Solver) bool
	direct   func(a *auditor) bool

	// solve solves a row for the comparison; rounding bounds the rounding error of that result.
	solve    func(c *comparer, p *ref.Pair) ref.Result
	rounding func(p *ref.Pair, truth *ref.Result) float64
}

// rulesOf has one row per query. A query without a row is refused.
var rulesOf = [batch.QueryCount]*rules{
	batch.Distance:    &signedDistance,
	batch.Collide:     &signedDistance,
	batch.Penetration: &signedDistance,
	batch.Growth:      &growthFactor,
}

// signedDistance are the rules of values with [batch.QueryInfo.SignedDistance].
var signedDistance = rules{
	row:   (*auditor).distance,
	floor: func(a *auditor, _ *claim) float64 { return 4 * a.p.rounding },
	exact: func(a *auditor, c *claim) bool {
		return c.distance >= 0 || polytope(a.p.shape[0]) && polytope(a.p.shape[1])
	},
	solvedBy: func(a *auditor, s batch.Solver) bool {
		return plausible(s, a.job.Options.Method, a.p.shape[0], a.p.shape[1])
	},
	direct: func(a *auditor) bool {
		return a.p.half >= 0 || pointOrSegment(a.p.shape[0]) && pointOrSegment(a.p.shape[1])
	},
	solve:    func(c *comparer, p *ref.Pair) ref.Result { return ref.Solve(p, ref.Options{}, &c.ws) },
	rounding: func(p *ref.Pair, _ *ref.Result) float64 { return 4 * p.Roundoff() },
}

// growthFactor are the rules of the query [batch.Growth].
var growthFactor = rules{
	place: func(a *auditor) { a.p.placeGrowth(&a.g, a.job.Library, a.in.ShapeA, a.in.ShapeB) },
	row:   (*auditor).growth,
	floor: func(a *auditor, c *claim) float64 { return a.g.floor(c.distance) },
	exact: func(a *auditor, _ *claim) bool {
		return polytopeBody(a.p.shape[0]) && polytopeBody(a.p.shape[1])
	},
	solvedBy: (*auditor).growthMethod,
	direct: func(a *auditor) bool {
		return a.growthMethod(batch.SolverClosedForm) || a.growthMethod(batch.SolverAxes)
	},
	solve: (*comparer).growth,
	// Rounding is part of the bounds, and of the reference's.
	rounding: func(_ *ref.Pair, truth *ref.Result) float64 { return truth.Upper - truth.Lower },
}

// distance audits the answer of a row whose value is a signed distance.
func (a *auditor) distance(i int, c *claim) {
	a.checkNormal(i, c)
	a.checkInterval(c)
	a.checkIterations(i, c)
	a.checkMethod(i, c)
	a.checkWitnesses(i, c)
	a.checkContact(c)
	a.checkSeparation(c)
}

// orDefault replaces tolerance 0 by the default of double precision.
func (a *auditor) orDefault(tolerance float64, c *claim) float64 {
	switch {
	case tolerance != 0:
		return tolerance
	case a.rules.exact(a, c):
		return batch.DoubleTolerance * a.scale(c)
	}
	return a.query.CurvedTolerance * a.scale(c)
}

// polytope reports whether the core of s has finitely many vertices, so that a
// facet of D can be met exactly. A half-space counts: it has one facet.
func polytope(s geom.Shape) bool { return s.Kind().Traits().Polyhedral }

// growth solves the row that has been read again.
func (c *comparer) growth(p *ref.Pair) ref.Result {
	l, a, b := c.job.Library, c.in.ShapeA, c.in.ShapeB
	centers := ref.GrowthCenters{A: l.GrowthCenter(a), B: l.GrowthCenter(b),
		InradiusA: l.GrowthInradius(a), InradiusB: l.GrowthInradius(b)}
	return ref.Growth(p, centers, ref.GrowthOptions{}, &c.ws)
}

// touching is how far from that of shapes that touch the value of a pair with status Touching may be, in
// results without distance and gap.
func (c *comparer) touching(pair *ref.Pair, truth *ref.Result) float64 {
	return math.Max(c.tolerance(c.scale(pair, truth)), c.rules().rounding(pair, truth))
}
