package verify

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"

	"clearance/batch"
	"clearance/geom"
	"clearance/ref"

	"gonum.org/v1/gonum/spatial/r3"
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
