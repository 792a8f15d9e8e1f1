package verify

import (
	"math"

	"clearance/batch"

	"gonum.org/v1/gonum/spatial/r3"
)

// The derivatives of a value are those of its normal and of two points: of a signed distance
//
//	dδ = (-n, n×(a - p_A), n, (b - p_B)×n),
//
// and of a growth distance with the common point x and h = n·(ā - b̄)
//
//	dα = (-n, n×(x - p_A), n, (x - p_B)×n)/h.
//
// The derivatives by angular velocities have the parts of a and b that are orthogonal to n. Their parts along n are
// those of the support planes, so that d_distance tells a whole answer. The audit proves it as that of a query: n and
// both points prove the value from both sides. A normal and points that do are a minimiser, and the row is then one of
// the one-sided derivatives at least [Danskin's theorem].

// reported is the answer that d_distance tells.
type reported struct {
	n     r3.Vec
	a, b  r3.Vec  // points of the shapes, of growth distances too, from the positions of their bodies
	h     float64 // of growth distances: 1/|dα/dv|
	value float64 // that the normal proves
	error float64 // of the points, by rounding of the columns, metres
	ok    bool
}

// reported returns the answer that d_distance tells, but for estimates of order zero, which tell none.
func (a *derivativeAuditor) reported(g *twists12, smoothness batch.Smoothness) (v reported) {
	length := r3.Norm(g.at(6))
	if a.job.Options.Derivative.Mode == batch.ZerothDerivative || !(length > 0) {
		return v
	}
	p := &a.p
	v.n = r3.Scale(1/length, g.at(6))
	v.ok = true
	_, angular := g.scales()
	u := a.columnRounding()
	a1, b1 := r3.Scale(1/length, r3.Cross(g.at(3), v.n)), r3.Scale(1/length, r3.Cross(v.n, g.at(9)))
	v.error = 8 * u * (angular/length + a.size)
	if !unique(smoothness) {
		v.error += a.answerRounding()
	}
	n := v.n
	if p.half >= 0 {
		n = p.halfNormal
	}
	if a.job.Options.Query != batch.Growth {
		hA, hB := p.supportAbout(0, n, r3.Vec{}), p.supportAbout(1, r3.Scale(-1, n), r3.Vec{})
		v.a, v.b = r3.Add(a1, r3.Scale(hA, v.n)), r3.Sub(b1, r3.Scale(hB, v.n))
		v.value = r3.Dot(v.n, a.offset) - hA - hB
		return v
	}
	v.h = 1 / length
	v.ok = a.reportedGrowth(&v, n, a1, b1)
	return v
}

// reportedGrowth is reported of growth distances, from the parts of the common point that are orthogonal to n. It is
// false where the value is next to 0, of which the points are not told.
func (a *derivativeAuditor) reportedGrowth(v *reported, n, fromA, fromB r3.Vec) bool {
	p, g := &a.p, &a.grown
	if p.half >= 0 {
		return false // the common point is no point of a shape that grows
	}
	hA, hB := p.supportAbout(0, n, g.local[0]), p.supportAbout(1, r3.Scale(-1, n), g.local[1])
	v.value = r3.Dot(v.n, g.ray) / (hA + hB)
	if !(v.value > 1e-3) {
		return false
	}
	// a = c_A + (x - c_A)/α across n, and on the support plane along it.
	point := func(x, c r3.Vec, h float64) r3.Vec {
		across := r3.Sub(x, c)
		across = r3.Sub(across, r3.Scale(r3.Dot(across, v.n), v.n))
		return r3.Add(c, r3.Add(r3.Scale(1/v.value, across), r3.Scale(h, v.n)))
	}
	v.a = point(fromA, g.center[0], hA)
	v.b = point(fromB, r3.Sub(g.center[1], a.offset), -hB)
	// A normal that is rounded by u changes α by the part u·|c_B - c_A|/h, and so the points across n.
	turned := 4 * a.columnRounding() * (norm(g.ray) + g.reach) / (hA + hB)
	v.error = (v.error + turned*(norm(v.a)+norm(v.b))) * (1 + 1/v.value)
	return true
}

// columnRounding is the unit roundoff of the columns.
func (a *derivativeAuditor) columnRounding() float64 {
	if a.job.Results.Precision == batch.Single {
		return 0x1p-24
	}
	return eps
}

// attained requires that the normal and the points of d_distance prove the value from both sides: the points lie in
// their shapes, and no direction proves more than the normal of the row. Of separated shapes that is a proof: both
// points are as far apart as the planes. Of depths it is a search, as in [Audit]. It reports whether all holds.
func (a *derivativeAuditor) attained(i int, v *reported, smoothness batch.Smoothness) bool {
	p, growth := &a.p, a.job.Options.Query == batch.Growth
	tolerance := 1e-8
	if !unique(smoothness) {
		tolerance = max(tolerance, 4*a.answerTolerance())
	}
	// An answer whose bounds are 2·gap apart has points that are that far from the support planes of its normal, and a
	// normal that is rounded by u moves the planes by u·lever.
	planes := 4*a.columnRounding()*(p.lever(v.n)+norm(a.offset)) + 4*p.rounding
	slack := tolerance * a.job.Options.Query.Info().Tolerance.Scale(a.size, v.value)
	outside := slack + planes
	if growth {
		outside = (slack*a.grown.reach + planes) * (1 + 1/v.value) // the points are those of the scaled shapes over α
		want := p.supportAbout(0, v.n, a.grown.local[0]) + p.supportAbout(1, r3.Scale(-1, v.n), a.grown.local[1])
		if !a.near(batch.ColDDistance, "support value that its length tells", v.h, want,
			a.rounding()*want+outside+v.error) {
			return false
		}
	}
	if p.half >= 0 && !a.near(batch.ColDDistance, "distance from the normal of the half-space",
		norm(r3.Sub(v.n, p.halfNormal)), 0, a.claimedNormal(smoothness)) {
		return false
	}
	for k, x := range [2]r3.Vec{v.a, v.b} {
		if p.half == k {
			continue // any point of the plane is its own
		}
		out := p.shape[k].Residual(p.rot[k].MulVecT(x))
		reason := [2]string{"distance of the point of A from A", "distance of the point of B from B"}[k]
		if !a.near(batch.ColDDistance, reason, max(0, out), 0, outside+v.error+24*eps*(norm(x)+p.reach[k])) {
			return false
		}
	}
	if growth || v.value > 0 || p.half >= 0 {
		return true
	}
	s := search{p: p, lower: math.Inf(-1)}
	s.sample(a.dirs, mix(a.o.Seed, uint64(a.number)), 16)
	if !(s.lower <= v.value+outside) {
		a.fault(batch.ColDDistance, "a normal of another depth: a lower bound of the signed distance", v.value, s.lower,
			outside)
		return false
	}
	return true
}

// claimedNormal is the error of the normal of a row that is not solved: next to a half-space the normal is its own.
func (a *derivativeAuditor) claimedNormal(smoothness batch.Smoothness) float64 {
	if unique(smoothness) {
		return 1e-8 + 32*a.columnRounding()
	}
	return 1e-6
}
