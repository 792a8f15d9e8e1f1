package verify

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/geom"
	"clearance/ref"
)

// auditor audits rows on one goroutine.
type auditor struct {
	job    *batch.Job
	res    *batch.Results
	opt    *Options
	dirs   *compass
	report *Report
	u      float64 // unit roundoff of the columns

	in     batch.Row // a field, so that rows do not allocate
	claim  claim     // likewise: the answer of the current row
	p      placed
	g      grown // of a growth query
	query  *batch.QueryInfo
	rules  *rules // of the query
	failed bool   // the current row
}

func newAuditor(job *batch.Job, o *Options, dirs *compass) *auditor {
	a := &auditor{job: job, res: job.Results, opt: o, dirs: dirs, report: newReport(o.Worst), u: 0x1p-24,
		query: job.Options.Query.Info(), rules: rulesOf[job.Options.Query]}
	if job.Results.Precision == batch.Double {
		a.u = 0x1p-53
	}
	return a
}

// claim is the answer of a row, read from the columns, and values derived from it.
type claim struct {
	row                  int // as reported
	status               batch.Status
	hasStatus, inContact bool // inContact: touching or penetrating
	distance, gap        float64
	hasDistance, hasGap  bool
	lower, upper         float64 // claimed interval of the signed distance
	tolerance            float64 // requested gap, metres
	slack                float64 // error of a witness that gap and tolerance allow, metres
	normal               r3.Vec
	hasNormal            bool
	plane                float64 // lower bound proved along normal, if hasNormal
	planeRounding        float64 // rounding error of plane
}

// check records the result of a check of the current row.
func (a *auditor) check(id checkID, o outcome) {
	if !a.report.add(id, o) {
		a.failed = true
	}
}

// require records a check without a residual: it passes or fails.
func (a *auditor) require(id checkID, row int, ok bool, expected, found float64) {
	o := outcome{row: row, expected: expected, found: found}
	if !ok {
		o.residual = 1
	}
	a.check(id, o)
}

// row audits row i of the job.
func (a *auditor) row(i int) {
	a.failed = false
	a.report.Rows++
	a.claim = claim{row: a.opt.number(i)}
	c := &a.claim
	a.readStatus(i, c)
	if a.rowInvalid(i, c) || a.noAnswer(i, c) {
		a.countRow()
		return
	}
	a.p.place(a.job.Library.Shape(a.in.ShapeA), a.job.Library.Shape(a.in.ShapeB), &a.in.PoseA, &a.in.PoseB)
	if a.rules.place != nil {
		a.rules.place(a)
	}
	a.readInterval(i, c)
	a.rules.row(a, i, c)
	a.countRow()
}

func (a *auditor) countRow() {
	if a.failed {
		a.report.WrongRows++
	}
}

// readStatus reads the status from its column or, as far as one bit can tell, from the bits
// column.
func (a *auditor) readStatus(i int, c *claim) {
	switch {
	case a.res.Status() != nil:
		c.hasStatus, c.status = true, batch.Status(a.res.Status()[i])
		*a.report.Status.of(c.status)++
		if a.res.Bits() != nil {
			a.require(checkBits, c.row, a.res.Bit(i) == (c.status != batch.Separated), bit(c.status != batch.Separated),
				bit(a.res.Bit(i)))
		}
	case a.res.Bits() != nil && !a.res.Bit(i):
		c.hasStatus, c.status = true, batch.Separated
		a.report.Status.Separated++
		a.report.skip(checkBits)
	default: // a set bit may be any other status
		c.status = batch.StatusCount
		a.report.Status.Unknown++
		if a.res.Bits() != nil {
			a.report.skip(checkBits)
		}
	}
	c.inContact = c.status == batch.Touching || c.status == batch.Penetrating
}

func bit(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// rowInvalid checks that the row is Invalid exactly if its input is, and reports whether there
// is nothing more to audit.
func (a *auditor) rowInvalid(i int, c *claim) bool {
	_, err := a.job.Read(i, &a.in)
	switch {
	case err == nil && c.status == batch.Invalid:
		a.require(checkInvalid, c.row, false, float64(batch.Undecided), float64(c.status))
		return true
	case err == nil:
		a.require(checkInvalid, c.row, true, 0, 0)
		return false
	case !c.hasStatus:
		a.report.skip(checkInvalid)
		return true
	}
	ok := c.status == batch.Invalid && a.blank(i) && (a.res.Iterations() == nil || a.res.Iterations()[i] == 0) &&
		(a.res.Method() == nil || batch.Solver(a.res.Method()[i]) == batch.SolverNone)
	a.require(checkInvalid, c.row, ok, float64(batch.Invalid), float64(c.status))
	if r, is := err.(*batch.RowError); ok && is && r.Undefined {
		a.report.Undefined++
	}
	return true
}

// noAnswer reports whether the row is undecided and has no answer at all, as stored by
// batch.Results.PutFailure: the row is counted, and there is nothing to audit.
func (a *auditor) noAnswer(i int, c *claim) bool {
	return c.status == batch.Undecided && a.blank(i)
}

// blank reports whether all columns of the row have the values of a row without an answer.
func (a *auditor) blank(i int) bool {
	r := a.res
	if r.Gap() != nil && !math.IsInf(float64(r.Gap()[i]), 1) {
		return false
	}
	if r.Distance().Len() != 0 && !math.IsNaN(r.Distance().At(i)) {
		return false
	}
	for _, f := range [...]*batch.Values{r.Normal(), r.WitnessA(), r.WitnessB(), r.Point()} {
		for k := 3 * i; f.Len() != 0 && k < 3*i+3; k++ {
			if !math.IsNaN(f.At(k)) {
				return false
			}
		}
	}
	return true
}

// readInterval reads distance and gap, and sets the interval of the value that they
// and the status claim.
func (a *auditor) readInterval(i int, c *claim) {
	c.hasDistance, c.hasGap = a.res.Distance().Len() != 0, a.res.Gap() != nil
	if c.hasDistance {
		c.distance = a.res.Distance().At(i)
	}
	if c.hasGap {
		c.gap = float64(a.res.Gap()[i])
	}
	c.tolerance = a.tolerance(c)
	c.slack = c.tolerance
	c.lower, c.upper = math.Inf(-1), math.Inf(1)
	if c.hasGap {
		// A row beyond the cut-off may have a wide gap; its witnesses must lie in the
		// shapes within the tolerance all the same.
		c.slack = math.Min(c.gap, c.tolerance)
		if c.hasDistance {
			c.lower, c.upper = c.distance-c.gap, c.distance+c.gap
		}
	}
	// A status may be proved by bounds that are not symmetric about the distance, so it
	// may imply more than the interval.
	switch c.status {
	case batch.Separated:
		c.lower = math.Max(c.lower, a.query.Touch)
	case batch.Penetrating:
		c.upper = math.Min(c.upper, a.query.Touch)
	case batch.Touching:
		if !c.hasDistance || !c.hasGap {
			c.lower, c.upper = a.query.Touch-c.tolerance, a.query.Touch+c.tolerance
		}
	}
}

// scale is the length or factor that tolerances are relative to.
func (a *auditor) scale(c *claim) float64 { return a.query.Tolerance.Scale(a.p.size, c.distance) }

// tolerance is the largest gap that the options allow, in the unit of the value. It is at least the
// accuracy of float64 at this distance (96 eps·scale, four times the rounding error of a
// support value: two values, and twice that to compare them) and the rounding of the distance
// to its column (u·|distance|). Rounding the gap up to float32 may add 2⁻²³ of it, or the least float32.
func (a *auditor) tolerance(c *claim) float64 {
	t := a.orDefault(a.job.Options.EffectiveTolerance(a.scale(c)), c)
	return math.Max(t, a.rules.floor(a, c))*(1+0x1p-23) + a.u*math.Abs(c.distance) + math.SmallestNonzeroFloat32
}

// checkNormal checks that the normal is a unit vector, and computes the bound that its
// support plane proves.
//
// Normalization in single precision is three products, two sums, a root or its reciprocal
// (2 units in Vulkan) and a product: 8u covers them and the rounding. Rotating the normal to
// the world frame in float64 takes one or two rotation matrices with errors of 8 eps each,
// and their products: 24 eps.
func (a *auditor) checkNormal(i int, c *claim) {
	if a.res.Normal().Len() == 0 {
		a.report.skip(checkNormal)
		a.report.skip(checkPlane)
		return
	}
	c.hasNormal = true
	c.normal = vec(a.res.Normal(), i)
	length := norm(c.normal)
	a.check(checkNormal, outcome{row: c.row, expected: 1, found: length, residual: math.Abs(length - 1),
		allowed: 8*a.u + 24*eps})

	n := r3.Scale(1/length, c.normal)
	p := &a.p
	if p.half >= 0 {
		// Only the normal of the half-space gives a bound. Rotating it to the world frame
		// in single precision costs up to 8u per component, 14u in all, and in double
		// precision the rotations as above.
		c.plane, c.planeRounding = math.Inf(-1), p.rounding
		if norm(r3.Sub(n, p.halfNormal)) <= 16*a.u+24*eps {
			c.plane = -p.support(p.halfNormal)
		}
	} else {
		c.plane = -p.support(n)
		// Rounding the normal to the column rotated it by at most u, and rotating it
		// between the frames of the pair and the world in float64 by 12 eps.
		c.planeRounding = p.rounding + (a.u+12*eps)*p.lever(n)
	}
	if math.IsInf(c.lower, -1) {
		a.report.skip(checkPlane)
		return
	}
	a.check(checkPlane, outcome{row: c.row, expected: c.lower, found: c.plane, residual: c.lower - c.plane,
		allowed: c.planeRounding})
}

// checkInterval checks status and gap against the distance and the query.
func (a *auditor) checkInterval(c *claim) {
	a.checkStatus(c)
	if !c.hasGap {
		a.report.skip(checkGap)
		return
	}
	a.report.Gaps.add(c.gap / a.scale(c))
	limit := c.tolerance
	switch {
	case c.status == batch.Undecided || a.job.Options.StatusAlone():
		// The tolerance does not apply; the gap may be infinite.
		a.require(checkGap, c.row, c.gap >= 0, 0, c.gap)
		return
	case a.beyondCutOff(c):
		limit = math.MaxFloat32 // only a finite gap is required
	}
	residual := c.gap
	if !(c.gap >= 0) {
		residual = math.NaN() // fails
	}
	a.check(checkGap, outcome{row: c.row, expected: limit, found: c.gap, residual: residual, allowed: limit})
}

// beyondCutOff reports whether the row lies beyond the cut-off, which the interval or the
// support plane must prove.
func (a *auditor) beyondCutOff(c *claim) bool {
	cut, ok := a.job.Options.EffectiveCutOff()
	if !ok || !c.hasDistance {
		return ok && c.status == batch.Separated && cut == 0
	}
	return c.lower > cut || (cut == 0 && c.status == batch.Separated) || (c.hasNormal && c.plane+c.planeRounding > cut)
}

// checkStatus checks that the status is consistent with the stored numbers.
func (a *auditor) checkStatus(c *claim) {
	if a.res.Status() == nil {
		a.report.skip(checkStatus)
		return
	}
	ok, expected := true, 0.0
	switch c.status {
	case batch.Separated:
		ok = !c.hasDistance || a.onSide(c.distance, 1)
	case batch.Penetrating:
		ok = !c.hasDistance || a.onSide(c.distance, -1)
	case batch.Touching:
		expected = c.gap
		ok = !c.hasDistance || !c.hasGap || math.Abs(c.distance-a.query.Touch) <= c.gap
	case batch.Undecided:
		// A gap that meets the tolerance is no reason to give up. Solvers may
		// have been asked for less, to leave room for rounding. Rounding moves the distance
		// to its column by up to u·|distance|, perhaps to the middle of the bounds, so the
		// gap stored may be that much below the solver's; its arithmetic is given as much.
		expected = a.orDefault(a.job.Options.SolverTolerance(a.scale(c)), c)
		if !a.job.Options.StatusAlone() {
			ok = !c.hasGap || c.gap+2*a.u*math.Abs(c.distance) > expected
		} else if c.hasGap && c.hasDistance {
			ok = c.gap >= math.Abs(c.distance-a.query.Touch)
		}
	default:
		ok = false
	}
	found := float64(c.status)
	if c.hasDistance {
		found = c.distance
	}
	a.require(checkStatus, c.row, ok, expected, found)
}

// onSide reports whether a stored value lies on one side of the value of touching shapes. Rounding to a column keeps
// the sign of a signed distance; a growth factor may round to 1.
func (a *auditor) onSide(value, side float64) bool {
	by := side * (value - a.query.Touch)
	return by > 0 || by == 0 && a.query.Touch != 0
}

// checkIterations checks that a row that no closed form answers was solved.
func (a *auditor) checkIterations(i int, c *claim) {
	if a.res.Iterations() == nil {
		a.report.skip(checkIterations)
		return
	}
	n := a.res.Iterations()[i]
	a.require(checkIterations, c.row, n > 0 || a.rules.direct(a), 1, float64(n))
}

func pointOrSegment(s geom.Shape) bool { return s.Kind().Family().PointOrSegment() }

// vec reads vector i of a column.
func vec(f *batch.Values, i int) r3.Vec {
	return r3.Vec{X: f.At(3 * i), Y: f.At(3*i + 1), Z: f.At(3*i + 2)}
}

// checkSolver checks that the solver named could have ended the row: a code that says
// so, a formula or axes only for shapes that have one, RTR only for smooth pairs, Newton for these and
// for boxes, and an accelerated method only where it was asked for.
func (a *auditor) checkSolver(i int, c *claim) {
	if a.res.Method() == nil {
		a.report.skip(checkSolver)
		return
	}
	s := batch.Solver(a.res.Method()[i])
	a.require(checkSolver, c.row, a.rules.solvedBy(a, s), float64(a.job.Options.Method), float64(s))
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

// checkWitnesses checks that the witnesses lie in their shapes, that their difference is
// distance·normal, and that they prove the upper end of the interval.
func (a *auditor) checkWitnesses(i int, c *claim) {
	hasA, hasB := a.res.WitnessA().Len() != 0, a.res.WitnessB().Len() != 0
	var wa, wb r3.Vec
	var outA, roundA, outB, roundB float64
	if hasA {
		wa = vec(a.res.WitnessA(), i)
		outA, roundA = a.checkMember(checkMemberA, 0, wa, c)
	} else {
		a.report.skip(checkMemberA)
	}
	if hasB {
		wb = vec(a.res.WitnessB(), i)
		outB, roundB = a.checkMember(checkMemberB, 1, wb, c)
	} else {
		a.report.skip(checkMemberB)
	}
	rounding := roundA + roundB
	if !hasA || !hasB {
		if c.hasDistance {
			a.report.skip(checkTranslation)
			a.report.skip(checkWitnesses)
		}
		return
	}
	between := r3.Sub(wb, wa)
	if c.hasDistance && c.hasNormal {
		off := norm(r3.Sub(between, r3.Scale(c.distance, c.normal)))
		stated := c.tolerance
		if c.hasGap {
			stated = c.gap
		}
		// The distance was rounded within the gap, and rounding the normal moves
		// distance·normal by u·|distance|.
		a.check(checkTranslation, outcome{
			row: c.row, found: off, residual: off,
			allowed: stated + rounding + (a.u+12*eps)*math.Abs(c.distance),
		})
	} else {
		a.report.skip(checkTranslation)
	}
	// In penetration two points are no bound of the depth.
	if c.hasDistance && c.distance < 0 || c.status == batch.Penetrating {
		return
	}
	if math.IsInf(c.upper, 1) {
		a.report.skip(checkWitnesses)
		return
	}
	// The distance of a witness from its shape, beyond rounding, weakens its bound.
	found := norm(between) + math.Max(0, outA-roundA) + math.Max(0, outB-roundB)
	a.check(checkWitnesses, outcome{row: c.row, expected: c.upper, found: found, residual: found - c.upper,
		allowed: rounding})
}

// checkMember checks that a witness lies in shape i. Solvers in single precision may leave it
// outside by an amount that is part of the gap.
func (a *auditor) checkMember(id checkID, i int, w r3.Vec, c *claim) (out, rounding float64) {
	out, rounding = a.p.member(i, w, a.u)
	a.check(id, outcome{row: c.row, found: out, residual: out, allowed: rounding + c.slack})
	return out, rounding
}

// checkContact tries to refute a depth, or a contact: no direction may prove a
// signed distance above the interval claimed.
func (a *auditor) checkContact(c *claim) {
	if !c.inContact && !(c.hasDistance && c.distance < 0) && !(a.res.Bits() != nil && c.status == batch.StatusCount) {
		return
	}
	upper := c.upper
	if c.status == batch.StatusCount && !c.hasDistance {
		upper = c.tolerance // a set bit: at most touching
	}
	if math.IsInf(upper, 1) {
		a.report.skip(checkDirections)
		return
	}
	s := search{p: &a.p, lower: math.Inf(-1)}
	if c.hasNormal && a.p.half < 0 {
		s.try(unit(c.normal))
	}
	h := mix(a.opt.Seed, uint64(c.row))
	s.sample(a.dirs, h, a.opt.Directions)
	if !c.hasDistance {
		s.separate(upper + a.p.rounding)
	}
	a.check(checkDirections, outcome{row: c.row, expected: upper, found: s.lower, residual: s.lower - upper,
		allowed: a.p.rounding})
	if a.opt.DescentEvery > 0 && (h>>32)%uint64(a.opt.DescentEvery) == 0 && a.p.half < 0 {
		s.descend()
		a.check(checkDescent, outcome{row: c.row, expected: upper, found: s.lower, residual: s.lower - upper,
			allowed: a.p.rounding})
	}
}

// checkSeparation searches for a separating plane if the row claims one without a normal that
// proves it.
func (a *auditor) checkSeparation(c *claim) {
	if c.status != batch.Separated || c.hasNormal {
		return
	}
	s := search{p: &a.p, lower: math.Inf(-1)}
	s.separate(a.p.rounding)
	if !(s.lower > a.p.rounding) {
		s.sample(a.dirs, mix(a.opt.Seed, uint64(c.row)), a.opt.Directions)
		s.descend()
	}
	switch {
	case s.lower > a.p.rounding:
		a.require(checkSeparation, c.row, true, 0, s.lower)
	case a.p.half >= 0 && s.lower < -a.p.rounding, a.p.overlapProved():
		a.require(checkSeparation, c.row, false, 0, s.lower)
	default:
		a.report.skip(checkSeparation)
		a.report.Unproved++
	}
}
