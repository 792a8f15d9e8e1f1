package verify

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"

	"clearance/batch"
	"clearance/geom"
	"clearance/ref"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

// DerivativeOptions configure an audit of derivatives.
type DerivativeOptions struct {
	Workers  int // goroutines; 0 is GOMAXPROCS
	FirstRow int // number of row 0 of the job in reports

	// Differences selects the rows that the reference solves at displaced poses; nil is all. Properties are checked of
	// every row.
	Differences func(row int) bool

	Seed uint64 // of the displacements; a row's are its own

	// Progress, if not nil, is called with the number of rows audited since the last call, one call at a time.
	Progress func(rows int)
}

// DerivativeReport counts what an audit of derivatives found.
type DerivativeReport struct {
	Rows       int `json:"rows"`
	None       int `json:"none"`       // without derivatives
	Properties int `json:"properties"` // judged by properties: sums over a common motion, unit normals
	Value      int `json:"value"`      // d_distance compared with central differences of certified distances
	OneSided   int `json:"one_sided"`  // d_distance between the one-sided derivatives, where it is not unique
	Full       int `json:"full"`       // other columns compared with differences of answers, an estimate
	Certified  int `json:"certified"`  // rows of which the derivatives by velocities are proved to Bound

	// Bound is the largest of the proved bounds of the error of derivatives by velocities.
	Bound Number `json:"bound"`

	// Unresolved rows were to be compared with differences that do not settle, as beside the boundary of a feature.
	Unresolved int `json:"unresolved"`

	Wrong  int               `json:"wrong"` // rows
	Faults []DerivativeFault `json:"faults,omitempty"`
}

// maxFaults is the number of faults that a report lists.
const maxFaults = 8

// DerivativeFault is a derivative that is refuted.
type DerivativeFault struct {
	Row     int    `json:"row"`
	Column  string `json:"column"`
	Reason  string `json:"reason"`
	Found   Number `json:"found"`
	Want    Number `json:"want"`
	Allowed Number `json:"allowed"` // difference
}

func (f *DerivativeFault) String() string {
	return fmt.Sprintf("row %d, column %s: %s: %.9g, want %.9g ± %.2g", f.Row, f.Column, f.Reason, float64(f.Found),
		float64(f.Want), float64(f.Allowed))
}

// Merge adds the counts of another report, of later rows.
func (r *DerivativeReport) Merge(o *DerivativeReport) {
	r.Rows += o.Rows
	r.None += o.None
	r.Properties += o.Properties
	r.Value += o.Value
	r.OneSided += o.OneSided
	r.Full += o.Full
	r.Certified += o.Certified
	r.Bound = max(r.Bound, o.Bound)
	r.Unresolved += o.Unresolved
	r.Wrong += o.Wrong
	r.Faults = append(r.Faults, o.Faults...)
	sortFaults(&r.Faults)
}

// AuditDerivatives judges the columns of derivatives of job.Results from the shapes, the poses and answers of the
// reference; job.Options.Derivative says what they claim to be. It believes no other column but the status, and the
// smoothness as a claim: rows that are smooth or have unique features are compared with central differences, others
// with what is true of any derivative. An error means that the audit could not run.
func AuditDerivatives(ctx context.Context, job *batch.Job, o DerivativeOptions) (*DerivativeReport, error) {
	if err := job.Check(); err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	if job.Results.Columns&batch.DerivedColumns == 0 {
		return nil, fmt.Errorf("verify: the results have no columns of derivatives, %v", batch.DerivedColumns)
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	report := new(DerivativeReport)
	err := inBlocks(ctx, job.Input.Len(), derivativeBlock, o.Workers, o.Progress, func() (func(int), func()) {
		a := &derivativeAuditor{job: job, o: &o, report: new(DerivativeReport)}
		return a.row, func() { report.Merge(a.report) }
	})
	if err != nil {
		return nil, fmt.Errorf("verify: audit stopped: %w", err)
	}
	return report, nil
}

// derivativeBlock is the number of rows that a worker takes at a time.
const derivativeBlock = 64

// derivativeAuditor audits rows on one goroutine.
type derivativeAuditor struct {
	job    *batch.Job
	o      *DerivativeOptions
	report *DerivativeReport
	ws     ref.Workspace

	in     batch.Row
	number int
	wrong  bool
	size   float64 // of the pair
	offset r3.Vec  // position of B from that of A
}

// twists12 are velocities of A and B in world axes: v_A, ω_A, v_B, ω_B.
type twists12 [12]float64

func (t *twists12) at(i int) r3.Vec { return r3.Vec{X: t[i], Y: t[i+1], Z: t[i+2]} }

func (t *twists12) dot(u *twists12) (sum float64) {
	for i := range t {
		sum += t[i] * u[i]
	}
	return sum
}

// fault records a fault of the row.
func (a *derivativeAuditor) fault(c batch.Columns, reason string, found, want, allowed float64) {
	if !a.wrong {
		a.report.Wrong++
	}
	a.wrong = true
	a.report.Faults = append(a.report.Faults, DerivativeFault{a.number, c.Info().Name, reason, Number(found),
		Number(want), Number(allowed)})
	sortFaults(&a.report.Faults)
}

// near checks a number against what it should be.
func (a *derivativeAuditor) near(c batch.Columns, reason string, found, want, allowed float64) {
	if !(math.Abs(found-want) <= allowed) {
		a.fault(c, reason, found, want, allowed)
	}
}

func (a *derivativeAuditor) row(i int) {
	a.report.Rows++
	a.number, a.wrong = a.o.FirstRow+i, false
	out := a.job.Results
	_, invalid := a.job.Read(i, &a.in)
	if a.notFinite(i) {
		return
	}
	none := invalid != nil || out.Status() != nil && batch.Status(out.Status()[i]) > batch.Penetrating
	smoothness := batch.Smoothness(batch.SmoothnessCount)
	if s := out.Column(batch.ColSmoothness).U8; s != nil {
		smoothness = batch.Smoothness(s[i])
		switch {
		case smoothness >= batch.SmoothnessCount:
			a.fault(batch.ColSmoothness, "a code that does not exist", float64(smoothness), 0, 0)
			return
		case none && smoothness != batch.NoDerivative:
			a.fault(batch.ColSmoothness, "a row without an answer", float64(smoothness), 0, 0)
		}
		none = none || smoothness == batch.NoDerivative
	}
	if none {
		a.report.None++
		a.zero(i, batch.DerivedColumns, "a row without derivatives")
		return
	}
	if smoothness < batch.SmoothnessCount && !smoothness.Full() {
		a.zero(i, batch.DerivedColumns&^(batch.ColDDistance|batch.ColSmoothness), "a row whose answer is not unique")
	}
	lib := a.job.Library
	sA, sB := lib.Shape(a.in.ShapeA), lib.Shape(a.in.ShapeB)
	a.offset = r3.Sub(a.in.PoseB.Position, a.in.PoseA.Position)
	p := ref.NewPair(sA, sB, a.in.PoseA, a.in.PoseB)
	a.size = max(p.Size(), geom.MinSize)
	if a.properties(i, smoothness) {
		a.report.Properties++
	}
	if a.o.Differences == nil || a.o.Differences(a.number) {
		a.differences(i, smoothness)
	}
}

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

// rounding bounds the relative error that storing a derivative adds, with room for that of its sums.
func (a *derivativeAuditor) rounding() float64 {
	if a.job.Results.Precision == batch.Single {
		return 1e-6
	}
	return 1e-9
}

// properties checks what a common motion of both bodies says, and reports whether there was anything to check.
func (a *derivativeAuditor) properties(i int, smoothness batch.Smoothness) bool {
	reach := 1 + (a.size+r3.Norm(a.offset))/a.size
	g, ok := a.gradient(batch.ColDDistance, i)
	if ok {
		scale := 0.0
		for k, v := range g {
			if k%6 >= 3 {
				v /= a.size
			}
			scale = max(scale, math.Abs(v))
		}
		slack := 0.0
		if !unique(smoothness) {
			slack = a.claimed(i) * scale * reach * a.size // witnesses as reported are not quite along the normal
		}
		a.common(batch.ColDDistance, &g, r3.Vec{}, a.rounding()*scale*reach, slack)
		exact := a.job.Options.Derivative.Mode != batch.ZerothDerivative
		if a.job.Options.Query.Info().SignedDistance && exact {
			a.near(batch.ColDDistance, "length of the normal", r3.Norm(g.at(6)), 1, 1e-6)
		}
	}
	checked := ok
	if smoothness < batch.SmoothnessCount && !smoothness.Full() {
		return checked
	}
	for _, c := range []batch.Columns{batch.ColDNormal, batch.ColDWitnessA, batch.ColDWitnessB} {
		for k := range 3 {
			g, ok := a.gradient(c, 3*i+k)
			if !ok {
				break
			}
			checked = true
			a.commonRow(i, c, k, &g, reach)
		}
	}
	return checked
}

// common requires that a common translation changes a number by rate, and that a common rotation about the position of
// A does not change it but by less than slack.
func (a *derivativeAuditor) common(c batch.Columns, g *twists12, rate r3.Vec, allowed, slack float64) {
	sum := r3.Sub(r3.Add(g.at(0), g.at(6)), rate)
	a.near(c, "change by a common translation", r3.Norm(sum), 0, allowed)
	spin := r3.Add(r3.Add(g.at(3), g.at(9)), r3.Cross(a.offset, g.at(6)))
	a.near(c, "change by a common rotation", r3.Norm(spin), 0, allowed*a.size+slack)
}

// commonRow requires that component k of the normal or of a witness moves along with both bodies. The rotation of
// witnesses and normals needs these columns: dn = ω×n, da = ω×(a - p_A) where A stands still.
func (a *derivativeAuditor) commonRow(i int, c batch.Columns, k int, g *twists12, reach float64) {
	out := a.job.Results
	scale, length := 0.0, a.size
	for m, v := range g {
		if m%6 >= 3 {
			v /= a.size
		}
		scale = max(scale, math.Abs(v))
	}
	axis := [3]r3.Vec{{X: 1}, {Y: 1}, {Z: 1}}[k]
	var rate r3.Vec
	from, origin := out.Normal(), r3.Vec{}
	switch c {
	case batch.ColDWitnessA, batch.ColDWitnessB:
		rate, origin = axis, a.in.PoseA.Position
		from = out.WitnessA()
		if c == batch.ColDWitnessB {
			from = out.WitnessB()
		}
	default:
		length = 1
	}
	allowed := a.rounding() * scale * reach * 4
	sum := r3.Sub(r3.Add(g.at(0), g.at(6)), rate)
	a.near(c, "change by a common translation", r3.Norm(sum), 0, allowed)
	if from.Len() == 0 || a.job.Options.Derivative.Mode == batch.ZerothDerivative {
		return
	}
	// axis·(ω×x) = ω·(x×axis). The answer of the derivatives is polished, so that it differs from that of the row.
	spin := r3.Add(r3.Add(g.at(3), g.at(9)), r3.Cross(a.offset, g.at(6)))
	want := r3.Cross(r3.Sub(from.Vec(i), origin), axis)
	a.near(c, "change by a common rotation", r3.Norm(r3.Sub(spin, want)), 0, allowed*a.size+a.claimed(i)*length*2)
}

// claimed is the error of a normal, and of witnesses relative to the size, that the tolerance of the answers allows:
// the root of the relative gap.
func (a *derivativeAuditor) claimed(i int) float64 {
	relative := a.job.Options.Tolerance
	if relative == 0 {
		relative = batch.SingleTolerance
		if a.job.Options.Precision == batch.Double {
			relative = a.job.Options.Query.Info().CurvedTolerance
		}
	}
	return 10 * math.Sqrt(relative)
}

// displaced is a pose moved along a twist for the time h.
func displaced(p geom.Pose, v, omega r3.Vec, h float64) geom.Pose {
	p.Position = r3.Add(p.Position, r3.Scale(h, v))
	q := quat.Exp(quat.Number{Imag: h * omega.X / 2, Jmag: h * omega.Y / 2, Kmag: h * omega.Z / 2})
	p.Rotation = quat.Mul(q, p.Rotation)
	return p
}

// reading is an answer of the reference, world frame.
type reading struct {
	value, gap float64
	vec        [3]r3.Vec // normal, witnesses
	ok         bool
}

// solve answers the row displaced along twists.
func (a *derivativeAuditor) solve(t *twists12, h float64) (r reading) {
	lib := a.job.Library
	p := ref.NewPair(lib.Shape(a.in.ShapeA), lib.Shape(a.in.ShapeB),
		displaced(a.in.PoseA, t.at(0), t.at(3), h), displaced(a.in.PoseB, t.at(6), t.at(9), h))
	var s ref.Result
	if a.job.Options.Query == batch.Growth {
		c := ref.GrowthCenters{A: lib.GrowthCenter(a.in.ShapeA), B: lib.GrowthCenter(a.in.ShapeB),
			InradiusA: lib.GrowthInradius(a.in.ShapeA), InradiusB: lib.GrowthInradius(a.in.ShapeB)}
		s = ref.Growth(&p, c, ref.GrowthOptions{}, &a.ws)
	} else {
		// The normal of an answer is as exact as the root of its gap.
		s = ref.Solve(&p, ref.Options{Tolerance: 1e-12 * p.Size()}, &a.ws)
		if s.Status > ref.Penetrating {
			s = ref.Solve(&p, ref.Options{}, &a.ws)
		}
	}
	r.value, r.gap = s.Distance, s.Gap()
	r.vec = [3]r3.Vec{p.DirToWorld(s.Normal), p.ToWorld(s.WitnessA), p.ToWorld(s.WitnessB)}
	r.ok = s.Status <= ref.Penetrating && math.Abs(r.value) <= math.MaxFloat64 && r.gap <= 1e-6*a.size
	return r
}

// steps are displacements, as angles and relative to the size: the second is for rows beside the boundary of a feature.
var steps = [...]float64{1e-3, 3e-5}

// differences compares the derivatives of the row with differences of answers along random twists.
func (a *derivativeAuditor) differences(i int, smoothness batch.Smoothness) {
	mode := a.job.Options.Derivative.Mode
	if mode == batch.ZerothDerivative {
		return
	}
	var none twists12
	here := a.solve(&none, 0)
	if !here.ok {
		a.report.Unresolved++
		return
	}
	if cutOff, ok := a.job.Options.EffectiveCutOff(); ok && here.value+here.gap > cutOff {
		return // a bound by the question, or so near to it that either may be
	}
	g, hasValue := a.gradient(batch.ColDDistance, i)
	if hasValue && a.job.Options.Query.Info().SignedDistance {
		a.certify(i, &g, &here, smoothness)
	}
	polished := unique(smoothness)
	full := polished && mode == batch.ExactDerivative && a.job.Results.Columns&
		(batch.ColDNormal|batch.ColDWitnessA|batch.ColDWitnessB) != 0
	rng := rand.New(rand.NewPCG(a.o.Seed, uint64(a.number)))
	valued, fulled, sided, open := false, false, false, false
	for range 2 {
		t := a.randomTwists(rng)
		settled := false
		for _, h := range steps {
			d := a.quotients(&t, &here, h)
			if !d.ok || polished && !d.settles(a) {
				continue
			}
			settled = true
			if hasValue && polished {
				valued = true
				a.near(batch.ColDDistance, "central difference", g.dot(&t), d.value,
					d.error+a.doubtful(i, smoothness, &g, &t))
			}
			if hasValue && !polished {
				sided = a.between(i, &g, &t, &here, h, smoothness) || sided
			}
			if full {
				fulled = a.fullColumns(i, &t, &d) || fulled
			}
			break
		}
		open = open || !settled
	}
	for _, c := range []struct {
		done  bool
		count *int
	}{{valued, &a.report.Value}, {fulled, &a.report.Full}, {sided, &a.report.OneSided}, {open, &a.report.Unresolved}} {
		if c.done {
			*c.count++
		}
	}
}

func (a *derivativeAuditor) randomTwists(rng *rand.Rand) (t twists12) {
	for k := range t {
		t[k] = rng.NormFloat64()
		if k%6 < 3 {
			t[k] *= a.size
		}
	}
	return t
}

// doubtful is the error that the claim of a row may have along twists.
func (a *derivativeAuditor) doubtful(i int, smoothness batch.Smoothness, g, t *twists12) float64 {
	relative := 1e-7
	if a.job.Results.Precision == batch.Single {
		relative = 1e-6
	}
	if !unique(smoothness) {
		relative += a.claimed(i)
	}
	if a.job.Options.Query.Info().SignedDistance {
		return relative * a.speed(t)
	}
	sum := 0.0
	for k := range t {
		sum += math.Abs(g[k] * t[k])
	}
	return 4 * relative * (1 + sum)
}

// speed bounds the velocity of any point of a body relative to the other.
func (a *derivativeAuditor) speed(t *twists12) float64 {
	reach := a.size + r3.Norm(a.offset)
	return r3.Norm(t.at(0)) + r3.Norm(t.at(6)) + reach*(r3.Norm(t.at(3))+r3.Norm(t.at(9)))
}

// quotient is a central difference, extrapolated from two steps, with the difference of both as its error.
type quotient struct {
	value, error, wobble float64
	vec, vecError        [3]r3.Vec
	noise                float64 // of normals, and of witnesses relative to the size
	ok                   bool
}

// quotients differentiates answers along twists. The error of the value has the proved gaps of the answers, and the
// estimate of the truncation.
func (a *derivativeAuditor) quotients(t *twists12, here *reading, h float64) (d quotient) {
	var at [2]quotient
	var kink [2]float64
	for k, h := range [2]float64{h, h / 2} {
		ahead, behind := a.solve(t, h), a.solve(t, -h)
		if !ahead.ok || !behind.ok {
			return d
		}
		kink[k] = math.Abs(ahead.value-2*here.value+behind.value) / h
		at[k].value = (ahead.value - behind.value) / (2 * h)
		at[k].error = (ahead.gap + behind.gap) / (2 * h)
		// The normal of an answer is as exact as the root of its relative gap.
		d.noise = max(d.noise, 2*math.Sqrt(2*max(ahead.gap, behind.gap)/a.size)/h)
		for m := range ahead.vec {
			at[k].vec[m] = r3.Scale(1/(2*h), r3.Sub(ahead.vec[m], behind.vec[m]))
		}
	}
	d.value = (4*at[1].value - at[0].value) / 3
	// Where the second difference does not fall with the step, the derivative has a step of about that.
	d.wobble = math.Abs(at[1].value-at[0].value) + max(0, 2*kink[1]-kink[0])
	d.error = d.wobble + 2*(at[0].error+at[1].error) + 1e-12*a.speed(t)
	for m := range d.vec {
		d.vec[m] = r3.Scale(1./3, r3.Sub(r3.Scale(4, at[1].vec[m]), at[0].vec[m]))
		d.vecError[m] = r3.Sub(at[1].vec[m], at[0].vec[m])
	}
	d.ok = true
	return d
}

// settles reports whether both steps agree, as where no feature changes between them.
func (d *quotient) settles(a *derivativeAuditor) bool {
	unit := 1.0
	if a.job.Options.Query.Info().SignedDistance {
		unit = a.size
	}
	return d.wobble <= 1e-4*math.Abs(d.value)+1e-5*unit
}

// fullColumns compares the derivatives of normal and witnesses with differences: an estimate, whose error is taken from
// both steps. It reports whether any could be compared.
func (a *derivativeAuditor) fullColumns(i int, t *twists12, d *quotient) (compared bool) {
	for m, c := range []batch.Columns{batch.ColDNormal, batch.ColDWitnessA, batch.ColDWitnessB} {
		scale := a.size
		if m == 0 {
			scale = 1
		}
		length := r3.Norm(d.vec[m]) + scale
		wobble := r3.Norm(d.vecError[m])
		if a.job.Results.Columns&c == 0 || !(wobble+d.noise*scale <= 3e-2*length) {
			continue
		}
		compared = true
		var found r3.Vec
		for k, to := range []*float64{&found.X, &found.Y, &found.Z} {
			g, _ := a.gradient(c, 3*i+k)
			*to = g.dot(t)
		}
		a.near(c, "difference of answers", r3.Norm(r3.Sub(found, d.vec[m])), 0, 4*(wobble+d.noise*scale)+5e-3*length)
	}
	return compared
}

// between requires, of separated rows, that the derivative lies between the one-sided ones. The distance is a minimum
// over pairs of points, of which each has a second derivative of at most |v|²/δ + |ω|²·size along the twists.
func (a *derivativeAuditor) between(i int, g, t *twists12, here *reading, h float64, smoothness batch.Smoothness) bool {
	if !a.job.Options.Query.Info().SignedDistance || !(here.value-here.gap > 0) {
		return false
	}
	h /= 10
	v := a.speed(t)
	allowed := h*v*v/here.value + a.doubtful(i, smoothness, g, t)
	ahead, behind := a.solve(t, h), a.solve(t, -h)
	if !ahead.ok || !behind.ok || !(allowed <= 0.05*v) {
		return false
	}
	allowed += (ahead.gap + behind.gap + 2*here.gap) / h
	found := g.dot(t)
	if low := (ahead.value - here.value) / h; !(found >= low-allowed) {
		a.fault(batch.ColDDistance, "less than the derivative ahead", found, low, allowed)
	}
	if high := (here.value - behind.value) / h; !(found <= high+allowed) {
		a.fault(batch.ColDDistance, "more than the derivative behind", found, high, allowed)
	}
	return true
}

// certify holds the derivatives by velocities, -n and n, to the normal of the reference within its proved bound.
func (a *derivativeAuditor) certify(i int, g *twists12, here *reading, smoothness batch.Smoothness) {
	n := here.vec[0]
	rounding := 1e-14 * (a.size + r3.Norm(here.vec[1]) + r3.Norm(here.vec[2]))
	bound := NormalBound(here.value, here.gap, rounding, n, here.vec[1], here.vec[2])
	if !(bound < 1e-2) {
		return
	}
	far := r3.Norm(r3.Sub(g.at(6), n))
	allowed := bound + 1e-6
	if !unique(smoothness) {
		allowed += a.claimed(i) * (1 + a.size/here.value)
	}
	if !(far <= allowed) {
		a.fault(batch.ColDDistance, "distance from the certified normal", far, 0, allowed)
		return
	}
	a.report.Certified++
	a.report.Bound = max(a.report.Bound, Number(far+bound))
}

// sortFaults keeps the first faults by their rows, whatever the goroutines.
func sortFaults(list *[]DerivativeFault) {
	slices.SortStableFunc(*list, func(a, b DerivativeFault) int { return a.Row - b.Row })
	*list = (*list)[:min(len(*list), maxFaults)]
}
