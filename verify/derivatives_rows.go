package verify

import (
	"math"

	"clearance/batch"

	"gonum.org/v1/gonum/spatial/r3"
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
		// Rows whose normal is that of the answer have it as rounded.
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
