package verify

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/geom"
	"clearance/ref"
)

// DerivativeOptions configure an audit of derivatives.
type DerivativeOptions struct {
	Workers  int // goroutines; 0 is GOMAXPROCS
	FirstRow int // number of row 0 of the job in reports

	// Differences selects the rows that the reference solves at displaced poses; nil is all. All else is checked of
	// every row.
	Differences func(row int) bool

	// AnswerPrecision is the precision of the answers that were differentiated; single, the widest, if it is not known.
	// Derivatives that are not of a polished answer are as exact as it and the tolerance of the job allow.
	AnswerPrecision batch.Precision

	// Recomputed, if not nil, says what came of taking the derivatives of row i of the job again.
	Recomputed func(i int) Recomputation

	Seed uint64 // of the displacements; a row's are its own

	// Progress, if not nil, is called with the number of rows audited since the last call, one call at a time.
	Progress func(rows int)
}

// Recomputation compares a row with derivatives that were taken again.
type Recomputation struct {
	Agrees bool
	Fault  *DerivativeFault // what differs, if the row does not agree
	// Proved says that the difference refutes the row. Otherwise the row is open: it may be that of another answer.
	Proved bool
	// Value says that d_distance alone differs, of a row without other derivatives: that of other witnesses. The row
	// agrees if it is proved to be that of an answer.
	Value   bool
	Hessian float64 // metres: the largest entry of the Hessians of the row, which rounding is relative to
}

// DerivativeReport counts what an audit of derivatives found.
type DerivativeReport struct {
	Rows       int `json:"rows"`
	None       int `json:"none"`       // without derivatives
	Properties int `json:"properties"` // judged by what their columns say of one another and of the shapes
	Attained   int `json:"attained"`   // d_distance follows from a normal and points that prove the distance
	Recomputed int `json:"recomputed"` // the derivatives, taken again, are the same
	Inexact    int `json:"inexact"`    // Hessians so large that rounding may change derivatives by 1e-3 or more
	OneSided   int `json:"one_sided"`  // d_distance lies between proved bounds of the one-sided derivatives
	Certified  int `json:"certified"`  // derivatives by velocities are proved to Bound

	// Bound is the largest of the proved bounds of the error of derivatives by velocities.
	Bound Number `json:"bound"`

	// Rows that agree with differences of answers, an estimate which refutes no row that was recomputed: of the value,
	// and of the other columns. Those of disputed rows do not agree, as where a feature is smaller than the step, and
	// those of unresolved rows do not settle, as beside the boundary of a feature.
	Value      int `json:"value"`
	Full       int `json:"full"`
	Disputed   int `json:"disputed"`
	Unresolved int `json:"unresolved"`

	Wrong  int               `json:"wrong"` // rows
	Faults []DerivativeFault `json:"faults,omitempty"`

	// Open rows are neither recomputed nor refuted: no answer at hand has what they claim.
	Open     int               `json:"open"`
	OpenRows []DerivativeFault `json:"open_rows,omitempty"` // the first
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
	for _, n := range [...]struct{ to, of *int }{{&r.Rows, &o.Rows}, {&r.None, &o.None},
		{&r.Properties, &o.Properties}, {&r.Attained, &o.Attained}, {&r.Recomputed, &o.Recomputed},
		{&r.Inexact, &o.Inexact}, {&r.OneSided, &o.OneSided}, {&r.Certified, &o.Certified},
		{&r.Value, &o.Value}, {&r.Full, &o.Full},
		{&r.Disputed, &o.Disputed}, {&r.Unresolved, &o.Unresolved}, {&r.Wrong, &o.Wrong}, {&r.Open, &o.Open}} {
		*n.to += *n.of
	}
	r.Bound = max(r.Bound, o.Bound)
	r.Faults = append(r.Faults, o.Faults...)
	r.OpenRows = append(r.OpenRows, o.OpenRows...)
	sortFaults(&r.Faults)
	sortFaults(&r.OpenRows)
}

// AuditDerivatives judges the columns of derivatives of job.Results from the shapes and the poses;
// job.Options.Derivative says what they claim to be. It takes no derivatives itself: those of rows that it cannot prove
// are taken again by the caller, see [DerivativeOptions.Recomputed]. An error means that the audit could not run.
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
	dirs := newCompass(o.Seed)
	err := inBlocks(ctx, job.Input.Len(), derivativeBlock, o.Workers, o.Progress, func() (func(int), func()) {
		a := &derivativeAuditor{job: job, o: &o, report: new(DerivativeReport), dirs: dirs}
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
	dirs   *compass
	ws     ref.Workspace

	in      batch.Row
	number  int
	wrong   bool
	open    bool    // what the row claims was not recomputed
	hessian float64 // see Recomputation
	size    float64 // of the pair
	offset  r3.Vec  // position of B from that of A
	p       placed
	grown   grown // of growth distances
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

// refute records a fault of the row.
func (a *derivativeAuditor) refute(f DerivativeFault) {
	if !a.wrong {
		a.report.Wrong++
	}
	a.wrong = true
	f.Row = a.number
	a.report.Faults = append(a.report.Faults, f)
	sortFaults(&a.report.Faults)
}

func (a *derivativeAuditor) fault(c batch.Columns, reason string, found, want, allowed float64) {
	a.refute(DerivativeFault{Column: c.Info().Name, Reason: reason, Found: Number(found), Want: Number(want),
		Allowed: Number(allowed)})
}

// near checks a number against what it should be, and reports whether it is.
func (a *derivativeAuditor) near(c batch.Columns, reason string, found, want, allowed float64) bool {
	if !(math.Abs(found-want) <= allowed) {
		a.fault(c, reason, found, want, allowed)
		return false
	}
	return true
}

func (a *derivativeAuditor) row(i int) {
	a.report.Rows++
	a.number, a.wrong, a.open, a.hessian = a.o.FirstRow+i, false, false, 0
	a.judge(i)
	if a.open && !a.wrong {
		a.report.Open++
	}
}

func (a *derivativeAuditor) judge(i int) {
	_, invalid := a.job.Read(i, &a.in)
	if a.notFinite(i) {
		return
	}
	none, smoothness, ok := a.claim(i, invalid != nil)
	if !ok {
		return
	}
	again := Recomputation{Agrees: true}
	if r := a.o.Recomputed; r != nil {
		again = r(i)
		a.hessian = again.Hessian
	}
	if none {
		a.report.None++
		a.recomputed(&again)
		a.zero(i, batch.DerivedColumns, "a row without derivatives")
		return
	}
	if smoothness < batch.SmoothnessCount && !smoothness.Full() {
		a.zero(i, batch.DerivedColumns&^(batch.ColDDistance|batch.ColSmoothness), "a row whose answer is not unique")
	}
	a.place()
	attained := a.report.Attained
	if a.properties(i, smoothness) {
		a.report.Properties++
	}
	again.Agrees = again.Agrees || again.Value && a.report.Attained > attained
	a.recomputed(&again)
	if !a.wrong && (a.o.Differences == nil || a.o.Differences(a.number)) {
		a.differences(i, smoothness)
	}
}

// claim returns the smoothness that row i claims, SmoothnessCount if the file does not say, and whether it claims to
// have no derivatives. ok is false if the claim is refuted.
func (a *derivativeAuditor) claim(i int, invalid bool) (none bool, s batch.Smoothness, ok bool) {
	none = invalid
	if status := a.job.Results.Status(); status != nil {
		none = none || batch.Status(status[i]) > batch.Penetrating
	}
	s = batch.SmoothnessCount
	column := a.job.Results.Column(batch.ColSmoothness).U8
	if column == nil {
		return none || a.zeros(i, batch.ColDDistance), s, true // as rows without derivatives are written
	}
	s = batch.Smoothness(column[i])
	estimate := a.job.Options.Derivative.Mode != batch.ExactDerivative
	switch {
	case s >= batch.SmoothnessCount:
		a.fault(batch.ColSmoothness, "a code that does not exist", float64(s), 0, 0)
	case none && s != batch.NoDerivative:
		a.fault(batch.ColSmoothness, "a row without an answer", float64(s), 0, 0)
	case s == batch.SmoothedPair && !estimate, (s == batch.SmoothPair || s == batch.UniqueFeatures ||
		s == batch.NotUnique) && estimate:
		a.fault(batch.ColSmoothness, "a code that this kind of derivatives does not have", float64(s), 0, 0)
	default:
		return none || s == batch.NoDerivative, s, true
	}
	return none, s, false
}

// recomputed counts what came of taking the derivatives of the row again.
func (a *derivativeAuditor) recomputed(r *Recomputation) {
	switch {
	case a.o.Recomputed == nil:
	case r.Agrees:
		a.report.Recomputed++
	case r.Proved:
		a.refute(*r.Fault)
	default:
		a.open = true
		f := *r.Fault
		f.Row = a.number
		a.report.OpenRows = append(a.report.OpenRows, f)
		sortFaults(&a.report.OpenRows)
	}
}

// place sets the pair of the row.
func (a *derivativeAuditor) place() {
	lib := a.job.Library
	a.p.place(lib.Shape(a.in.ShapeA), lib.Shape(a.in.ShapeB), &a.in.PoseA, &a.in.PoseB)
	a.offset = a.p.offset
	a.size = max(a.p.size, geom.MinSize)
	if a.job.Options.Query == batch.Growth {
		a.p.placeGrowth(&a.grown, lib, a.in.ShapeA, a.in.ShapeB)
	}
}

// sortFaults keeps the first faults by their rows, whatever the goroutines.
func sortFaults(list *[]DerivativeFault) {
	slices.SortStableFunc(*list, func(a, b DerivativeFault) int { return a.Row - b.Row })
	*list = (*list)[:min(len(*list), maxFaults)]
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
		a.certify(&g, &here, smoothness)
	}
	f := found{a: a}
	rng := rand.New(rand.NewPCG(a.o.Seed, uint64(a.number)))
	for range 2 {
		t := a.randomTwists(rng)
		if hasValue && a.between(&g, &t, &here, smoothness) {
			f.sided = true
		}
		if unique(smoothness) {
			a.central(i, &g, &t, &here, &f)
		}
	}
	f.count(a.report)
}

// central compares with central differences along twists, with the first step at which they settle.
func (a *derivativeAuditor) central(i int, g, t *twists12, here *reading, f *found) {
	for _, h := range steps {
		d := a.quotients(t, here, h)
		if !d.ok || !d.settles(a) {
			continue
		}
		if a.job.Results.Columns&batch.ColDDistance != 0 {
			f.value = true
			f.near(batch.ColDDistance, "central difference", g.dot(t), d.value, d.error+a.claimError(g, t))
		}
		if a.job.Options.Derivative.Mode == batch.ExactDerivative {
			a.fullColumns(i, t, &d, f)
		}
		return
	}
	f.unsettled = true
}

// found has the results of differences of a row.
type found struct {
	a                   *derivativeAuditor
	value, full, sided  bool
	disputed, unsettled bool
}

// near compares a number with an estimate, whose deviation refutes only what nothing else speaks for.
func (f *found) near(c batch.Columns, reason string, got, want, allowed float64) {
	if math.Abs(got-want) <= allowed {
		return
	}
	f.disputed = true
	if f.a.open {
		f.a.fault(c, reason, got, want, allowed)
	}
}

func (f *found) count(r *DerivativeReport) {
	for _, c := range []struct {
		done  bool
		count *int
	}{{f.sided, &r.OneSided}, {f.value && !f.disputed, &r.Value}, {f.full && !f.disputed, &r.Full},
		{f.disputed, &r.Disputed}, {f.unsettled, &r.Unresolved}} {
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

// claimError is the error that the claim of a row may have along twists.
func (a *derivativeAuditor) claimError(g, t *twists12) float64 {
	relative := 1e-7
	if a.job.Results.Precision == batch.Single {
		relative = 1e-6
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
	sides                [3]float64 // difference of both one-sided ones, of the smaller step
	noise                float64    // of normals, and of witnesses relative to the size
	ok                   bool
}

// quotients differentiates answers along twists. The error of the value has the proved gaps of the answers, the
// estimate of the truncation, and the difference of both one-sided quotients: beyond one kink the derivative is that of
// a side.
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
			d.sides[m] = r3.Norm(r3.Sub(r3.Add(ahead.vec[m], behind.vec[m]), r3.Scale(2, here.vec[m]))) / h
		}
	}
	d.value = (4*at[1].value - at[0].value) / 3
	// Where the second difference does not fall with the step, the derivative has a step of about that.
	d.wobble = math.Abs(at[1].value-at[0].value) + max(0, 2*kink[1]-kink[0])
	d.error = d.wobble + kink[1] + 2*(at[0].error+at[1].error) + 1e-12*a.speed(t)
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
// both steps and from both sides.
func (a *derivativeAuditor) fullColumns(i int, t *twists12, d *quotient, f *found) {
	for m, c := range jacobianColumns {
		scale := a.size
		if m == 0 {
			scale = 1
		}
		length := r3.Norm(d.vec[m]) + scale
		wobble := r3.Norm(d.vecError[m])
		if a.job.Results.Columns&c == 0 || !(wobble+d.noise*scale <= 3e-2*length) {
			continue
		}
		f.full = true
		var got r3.Vec
		for k, to := range []*float64{&got.X, &got.Y, &got.Z} {
			g, _ := a.gradient(c, 3*i+k)
			*to = g.dot(t)
		}
		f.near(c, "difference of answers", r3.Norm(r3.Sub(got, d.vec[m])), 0,
			4*(wobble+d.noise*scale)+d.sides[m]+5e-3*length)
	}
}

// between requires, of separated rows, that the derivative lies between the one-sided ones, up to proved bounds. The
// distance is the least over pairs of points of theirs, each of which has a second derivative of at most
// |v|²/δ + |ω|²·size < 2v²/δ along the twists, with v the speed: a step of at most δ/20v leaves δ to 5 %. The pair of
// the row attains the distance up to twice the gap, and its direction differs from the normal by as much over δ.
func (a *derivativeAuditor) between(g, t *twists12, here *reading, smoothness batch.Smoothness) bool {
	delta, v := here.value-here.gap, a.speed(t)
	if !a.job.Options.Query.Info().SignedDistance || !(delta > 0) {
		return false
	}
	gap := 1e-12 * (a.size + delta)
	if !unique(smoothness) {
		gap = max(gap, a.answerTolerance()*(a.size+delta))
	}
	h := min(math.Sqrt(gap*delta), delta/20) / v
	ahead, behind := a.solve(t, h), a.solve(t, -h)
	if !ahead.ok || !behind.ok {
		return false
	}
	allowed := h*v*v/delta + a.claimError(g, t) + 4*v*gap/delta + (2*gap+max(ahead.gap, behind.gap)+here.gap)/h
	if !(allowed <= 0.05*v) {
		return false
	}
	got := g.dot(t)
	if low := (ahead.value - here.value) / h; !(got >= low-allowed) {
		a.fault(batch.ColDDistance, "less than the derivative ahead", got, low, allowed)
	}
	if high := (here.value - behind.value) / h; !(got <= high+allowed) {
		a.fault(batch.ColDDistance, "more than the derivative behind", got, high, allowed)
	}
	return true
}

// certify holds the derivatives by velocities, -n and n, to the normal of the reference within its proved bound.
func (a *derivativeAuditor) certify(g *twists12, here *reading, smoothness batch.Smoothness) {
	n := here.vec[0]
	rounding := 1e-14 * (a.size + r3.Norm(here.vec[1]) + r3.Norm(here.vec[2]))
	bound := geom.NormalBound(here.value, here.gap, rounding, n, here.vec[1], here.vec[2])
	if !(bound < 1e-2) {
		return
	}
	far := r3.Norm(r3.Sub(g.at(6), n))
	allowed := bound + 1e-6
	if !unique(smoothness) {
		allowed += a.claimed() * (1 + a.size/here.value)
	}
	if !(far <= allowed) {
		a.fault(batch.ColDDistance, "distance from the certified normal", far, 0, allowed)
		return
	}
	a.report.Certified++
	a.report.Bound = max(a.report.Bound, Number(far+bound))
}
