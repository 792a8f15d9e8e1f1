package verify

import (
	"clearance/batch"
	"clearance/geom"
	"clearance/ref"
)

// checkMethod checks that the solver named could have ended the row: a code that says
// so, a formula or axes only for shapes that have one, RTR only for smooth pairs, Newton for these and
// for boxes, and an accelerated method only where it was asked for.
func (a *auditor) checkMethod(i int, c *claim) {
	if a.res.Method() == nil {
		a.report.skip(checkMethod)
		return
	}
	s := batch.Solver(a.res.Method()[i])
	a.require(checkMethod, c.row, a.rules.solvedBy(a, s), float64(a.job.Options.Method), float64(s))
}

// plausible reports whether s may have answered for these shapes when m was asked for.
func plausible(s batch.Solver, m batch.Method, x, y geom.Shape) bool {
	half := x.Kind().Traits().Unbounded || y.Kind().Traits().Unbounded
	named := m != batch.Auto
	switch s {
	case batch.SolverClosedForm:
		return half || !named && geom.HasFormula(x.Kind().Family(), y.Kind().Family())
	case batch.SolverGJK, batch.SolverEPA:
		return !half
	case batch.SolverNesterov, batch.SolverPolyak:
		return !half && s == m.Solver()
	case batch.SolverRTR:
		return (m == batch.RTR || !named) && ref.SmoothPair(x, y)
	case batch.SolverNewton:
		return !named && (ref.SmoothPair(x, y) || boxCore(x) && boxCore(y) || revolvedPair(x, y))
	case batch.SolverAxes:
		return boxCore(x) && boxCore(y)
	}
	return false
}

// boxCore reports whether the core is a box, which may be as flat as a point.
func boxCore(s geom.Shape) bool { return s.Kind().Family() == geom.FamilyBox || pointOrSegment(s) }

// revolvedPair reports whether a core is a cylinder, cone or frustum, and the other one too, or a
// segment or a point.
func revolvedPair(x, y geom.Shape) bool {
	revolved := func(s geom.Shape) bool { return s.Kind().Family() == geom.FamilyFrustum }
	return revolved(x) && (revolved(y) || pointOrSegment(y)) || revolved(y) && pointOrSegment(x)
}
