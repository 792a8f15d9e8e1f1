package verify

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
)

// notFinite finds values that are NaN or infinite.
func (a *derivativeAuditor) notFinite(i int) bool {
	for _, c := range (a.job.Results.Columns & batch.DerivedColumns).Each() {
		w := c.Info().Width
		for k := range w {
			if v := a.job.Results.Column(c).At(w*i + k); math.IsNaN(v) || math.IsInf(v, 0) {
				a.fault(c, "not finite", v, 0, 0)
				return true
			}
		}
	}
	return false
}

// zero requires zeros in the columns of a set that are there.
func (a *derivativeAuditor) zero(i int, set batch.Columns, reason string) {
	for _, c := range (a.job.Results.Columns & set & batch.DerivedColumns).Each() {
		w := c.Info().Width
		for k := range w {
			if v := a.job.Results.Column(c).At(w*i + k); v != 0 {
				a.fault(c, reason, v, 0, 0)
				return
			}
		}
	}
}

// zeros reports whether a column is there and zero.
func (a *derivativeAuditor) zeros(i int, c batch.Columns) bool {
	v, w := a.job.Results.Column(c), c.Info().Width
	for k := range w {
		if v.Len() == 0 || v.At(w*i+k) != 0 {
			return false
		}
	}
	return true
}

// gradient reads row i of the 3·rows rows of twelve of a column.
func (a *derivativeAuditor) gradient(c batch.Columns, i int) (g twists12, ok bool) {
	v := a.job.Results.Column(c)
	if a.job.Results.Columns&c == 0 {
		return g, false
	}
	for k := range g {
		g[k] = v.At(12*i + k)
	}
	return g, true
}

// unique reports whether a row claims derivatives of a polished answer. Other rows have those of the answer as it was.
func unique(s batch.Smoothness) bool { return s == batch.SmoothPair || s == batch.UniqueFeatures }

// rounding bounds the relative error that storing a derivative adds, with room for that of its sums: systems are solved
// whose inverse is up to 1e9.
func (a *derivativeAuditor) rounding() float64 {
	if a.job.Results.Precision == batch.Single {
		return 1e-6
	}
	return 1e-9
}

// scales are the largest derivatives by velocities and by angular velocities.
func (t *twists12) scales() (linear, angular float64) {
	for k, v := range t {
		if k%6 < 3 {
			linear = max(linear, math.Abs(v))
		} else {
			angular = max(angular, math.Abs(v))
		}
	}
	return linear, angular
}

// properties checks what the columns say of one another and of the shapes, and reports whether there was anything to
// check.
func (a *derivativeAuditor) properties(i int, smoothness batch.Smoothness) bool {
	var v reported
	g, ok := a.gradient(batch.ColDDistance, i)
	if ok {
		a.ofValue(i, &g, smoothness)
		v = a.reported(&g, smoothness)
		if v.ok && !a.wrong && a.attained(i, &v, smoothness) {
			a.report.Attained++
		}
	}
	if smoothness < batch.SmoothnessCount && !smoothness.Full() || a.wrong {
		return ok
	}
	var j jacobian
	for m, c := range jacobianColumns {
		if smoothness == batch.SmoothnessCount && a.zeros(i, c) {
			continue // as rows with the derivative of the value alone are written
		}
		for k := range 3 {
			j.rows[m][k], j.has[m] = a.gradient(c, 3*i+k)
		}
	}
	if j.set(a.hessian, a.size); max(j.rounding[0], j.rounding[1]/a.size) >= 1e-3 {
		a.report.Inexact++
	}
	for m := range jacobianColumns {
		for k := range 3 {
			if j.has[m] {
				ok = true
				a.moves(i, m, k, &j, &v, smoothness)
			}
		}
	}
	if v.ok && !a.wrong {
		a.identities(&g, &j, &v)
	}
	return ok
}

// ofValue checks what is true of the derivatives of any value: a common motion does not change it. That of an estimate
// of order zero is not of a pair of points.
func (a *derivativeAuditor) ofValue(i int, g *twists12, smoothness batch.Smoothness) {
	linear, angular := g.scales()
	// A polished answer has witnesses along the normal to 1e-9 of the size, others as their gap allows.
	slack := 1e-8 * a.size * linear
	if !unique(smoothness) {
		slack = (a.claimed()*(a.size+r3.Norm(a.offset)) + a.answerRounding()) * linear
	}
	slack += a.rounding() * (angular + linear*r3.Norm(a.offset))
	a.still(batch.ColDDistance, g, r3.Vec{}, r3.Vec{}, a.rounding()*linear, slack)
	if a.job.Options.Derivative.Mode == batch.ZerothDerivative {
		return
	}
	n := g.at(6)
	if a.job.Options.Query.Info().SignedDistance {
		// Rows that repeat the normal of the answer have it as rounded.
		a.near(batch.ColDDistance, "length of the normal", r3.Norm(n), 1, 1e-6)
	}
	n = unit(n)
	for _, at := range [...]int{3, 9} {
		a.near(batch.ColDDistance, "change by a rotation about the normal", r3.Dot(g.at(at), n), 0,
			a.rounding()*(angular+linear*a.size))
	}
}

// still requires that a common translation changes a number by move, and a common rotation about the position of A by
// spin.
func (a *derivativeAuditor) still(c batch.Columns, g *twists12, move, spin r3.Vec, allowed, slack float64) {
	sum := r3.Sub(r3.Add(g.at(0), g.at(6)), move)
	a.near(c, "change by a common translation", r3.Norm(sum), 0, allowed)
	turn := r3.Add(r3.Add(g.at(3), g.at(9)), r3.Cross(a.offset, g.at(6)))
	a.near(c, "change by a common rotation", r3.Norm(r3.Sub(turn, spin)), 0, slack)
}

// moves requires that component k of the normal or of a witness moves along with both bodies: dn = ω×n, and
// da = ω×(a - p_A) where the position of A stands still. m is the place of the column. The rotation needs the normal or
// the witness, which d_distance tells or another column.
func (a *derivativeAuditor) moves(i, m, k int, j *jacobian, v *reported, smoothness batch.Smoothness) {
	out, c, g := a.job.Results, jacobianColumns[m], &j.rows[m][k]
	linear, angular := g.scales()
	axis := [3]r3.Vec{{X: 1}, {Y: 1}, {Z: 1}}[k]
	from := [3]*batch.Values{out.Normal(), out.WitnessA(), out.WitnessB()}[m]
	var move, x r3.Vec
	length, allowed := 1.0, a.rounding()*(linear+1)
	if m > 0 {
		move, length = axis, a.size+r3.Norm(a.offset)
	} else {
		allowed = a.rounding() * linear
	}
	slack := a.rounding() * (angular + linear*r3.Norm(a.offset) + length)
	switch {
	case a.job.Options.Derivative.Mode == batch.ZerothDerivative, !v.ok && from.Len() == 0:
		slack = math.Inf(1)
	case v.ok:
		x = [3]r3.Vec{v.n, v.a, r3.Add(a.offset, v.b)}[m]
		slack += 1e-8*length + v.error + linear*(v.error+a.apart(smoothness))
	default: // the answer of the derivatives is polished, so that it differs from that of the row
		x = from.Vec(i)
		if m > 0 {
			x = r3.Sub(x, a.in.PoseA.Position)
		}
		slack += 2*a.claimed()*length + a.answerRounding()
	}
	slack += j.rounding[m]
	// axis·(ω×x) = ω·(x×axis).
	a.still(c, g, move, r3.Cross(x, axis), allowed, slack)
}

// apart bounds how far the difference of the witnesses of an answer is from its normal, metres: a polished answer meets
// its conditions to 1e-9 of the size.
func (a *derivativeAuditor) apart(smoothness batch.Smoothness) float64 {
	tolerance := 1e-8
	if !unique(smoothness) {
		tolerance = max(tolerance, 4*a.answerTolerance())
	}
	return tolerance * (a.size + r3.Norm(a.offset))
}

// answerTolerance is the largest gap of the answers, relative to what tolerances are.
func (a *derivativeAuditor) answerTolerance() float64 {
	o := &a.job.Options
	switch {
	case o.Tolerance > 0:
		return o.Tolerance
	case a.o.AnswerPrecision == batch.Double:
		return o.Query.Info().CurvedTolerance
	}
	return batch.SingleTolerance
}

// answerRounding bounds what rounding to the columns of the answers moved a witness by, metres.
func (a *derivativeAuditor) answerRounding() float64 {
	u := 0x1p-24
	if a.o.AnswerPrecision == batch.Double {
		u = eps
	}
	return 2 * u * (norm(a.in.PoseA.Position) + norm(a.in.PoseB.Position) + a.size)
}

// claimed is the error of a normal, and of witnesses relative to the size, that the tolerance of the answers allows:
// the root of the relative gap.
func (a *derivativeAuditor) claimed() float64 { return 10 * math.Sqrt(a.answerTolerance()) }

// The derivatives of a value follow from its normal and two points: of a signed distance
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
	rotated := 4 * a.columnRounding() * (norm(g.ray) + g.reach) / (hA + hB)
	v.error = (v.error + rotated*(norm(v.a)+norm(v.b))) * (1 + 1/v.value)
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
		outside = (slack*a.grown.reach + planes) * (1 + 1/v.value) // the points lie on the scaled shapes, over α
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

// jacobianColumns are the columns of three rows of twelve.
var jacobianColumns = [3]batch.Columns{batch.ColDNormal, batch.ColDWitnessA, batch.ColDWitnessB}

// jacobian has the derivatives of the normal and of both witnesses.
type jacobian struct {
	rows [3][3]twists12
	has  [3]bool

	// What rounding may add to derivatives by angular velocities, of the normal and of witnesses: a normal moves by
	// K⁻¹·H·(ω×n), with K = δP + H_A + H_B, and a witness by H times the difference of that and ω×n.
	rounding [3]float64
}

// set sets the rounding for Hessians of a size, from the derivatives of the normal, which are those of K⁻¹.
func (j *jacobian) set(hessian, size float64) {
	inverse, _ := j.scale(0)
	if !j.has[0] {
		inverse = 1 / size
	}
	turn := 64 * eps * hessian * inverse
	j.rounding = [3]float64{turn, turn * hessian, turn * hessian}
}

// column returns the derivative of the normal or of a witness by velocity c.
func (j *jacobian) column(m, c int) r3.Vec {
	return r3.Vec{X: j.rows[m][0][c], Y: j.rows[m][1][c], Z: j.rows[m][2][c]}
}

// scale is the largest derivative of the normal or of a witness, by velocities and by angular velocities.
func (j *jacobian) scale(m int) (linear, angular float64) {
	for k := range j.rows[m] {
		l, w := j.rows[m][k].scales()
		linear, angular = max(linear, l), max(angular, w)
	}
	return linear, angular
}

// identities checks what holds between the columns of a row, whatever its Hessians are:
//
//   - n·dn = 0, since n is a unit vector.
//   - n·da = n·v_a with v_a the velocity of the witness as a point of A, and likewise of B: a support point moves
//     within its support plane. Of signed distances the right-hand sides are parts of d_distance.
//   - ∂n/∂v_B is symmetric: it is the matrix of second derivatives of the signed distance by p_B.
//   - ∂n/∂ω_B = (∂((b - p_B)×n)/∂v_B)ᵀ: both are second derivatives by p_B and a rotation of B.
//
// Smoothed Hessians are symmetric too, so that estimates of the first order satisfy them.
func (a *derivativeAuditor) identities(g *twists12, j *jacobian, v *reported) {
	signed := a.job.Options.Query.Info().SignedDistance
	relative := 4*a.rounding() + 1e-8 // that of a polished normal
	if j.has[0] {
		linear, angular := j.scale(0)
		for c := range 12 {
			scale := linear + angular/a.size
			if c%6 >= 3 {
				scale *= a.size
			}
			a.near(batch.ColDNormal, "part along the normal", r3.Dot(v.n, j.column(0, c)), 0,
				relative*scale+j.rounding[0])
		}
		if signed {
			a.symmetric(j, linear+angular/a.size)
		}
		if signed && j.has[2] {
			a.reciprocal(j, v)
		}
	}
	for m := 1; m < 3 && signed; m++ {
		if !j.has[m] {
			continue
		}
		linear, angular := j.scale(m)
		for c := range 12 {
			want, scale := 0.0, linear+1
			if c/6 == m-1 {
				want = g[c]
			}
			if m == 1 {
				want = -want
			}
			if c%6 >= 3 {
				scale = angular + a.size + r3.Norm(a.offset)
			}
			a.near(jacobianColumns[m], "part along the normal", r3.Dot(v.n, j.column(m, c)), want,
				relative*scale+j.rounding[m])
		}
	}
}

// symmetric requires that the second derivatives of the signed distance by p_B are symmetric.
func (a *derivativeAuditor) symmetric(j *jacobian, scale float64) {
	for k := range 3 {
		for m := range k {
			a.near(batch.ColDNormal, "second derivative by v_B in the other order", j.rows[0][k][6+m],
				j.rows[0][m][6+k], (4*a.rounding()+1e-8)*scale)
		}
	}
}

// reciprocal requires that second derivatives by v_B and ω_B do not depend on the order.
func (a *derivativeAuditor) reciprocal(j *jacobian, v *reported) {
	linear, angular := j.scale(0)
	moved, _ := j.scale(2)
	lever := norm(v.b)
	allowed := (4*a.rounding()+1e-8)*(angular+moved+1+lever*linear) + v.error*linear + j.rounding[0] +
		j.rounding[2]/a.size
	for k, axis := range [3]r3.Vec{{X: 1}, {Y: 1}, {Z: 1}} {
		db := r3.Sub(j.column(2, 6+k), axis)
		d := r3.Add(r3.Cross(db, v.n), r3.Cross(v.b, j.column(0, 6+k)))
		for m, want := range [3]float64{d.X, d.Y, d.Z} {
			a.near(batch.ColDNormal, "second derivative by v_B and ω_B in the other order", j.rows[0][k][9+m], want,
				allowed)
		}
	}
}
