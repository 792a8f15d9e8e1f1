package verify

import (
	"math"

	"clearance/batch"

	"gonum.org/v1/gonum/spatial/r3"
)

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
