package conformance

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/verify"
)

// maxFaults is the number of faults of one configuration that are told in words.
const maxFaults = 12

// Verdict is the outcome of one configuration.
type Verdict struct {
	// Unavailable says that the back end does not have the configuration: it
	// refused with an error that wraps batch.ErrNotAvailable.
	Unavailable bool

	Rows   int                    // rows that were answered
	Status [batch.StatusCount]int // of these, by status

	Solver []uint8 // by row: what ended it, as batch.Solver

	Wrong  []bool   // by row: whether anything is wrong with it
	Faults []string // what is wrong, in words, as far as there is room
	Count  int      // number of faults
}

// OK reports whether the configuration is available and nothing is wrong.
func (v *Verdict) OK() bool { return !v.Unavailable && v.Count == 0 }

func (v *Verdict) fault(row int, format string, args ...any) {
	if row >= 0 {
		v.Wrong[row] = true
	} else {
		for i := range v.Wrong {
			v.Wrong[i] = true
		}
	}
	if v.Count++; len(v.Faults) < maxFaults {
		v.Faults = append(v.Faults, fmt.Sprintf(format, args...))
	}
}

// Check asks a back end for all rows in one configuration and judges the answers.
func (r *Rows) Check(ctx context.Context, backend dispatch.Backend, o batch.Options) *Verdict {
	v := &Verdict{Rows: r.Len(), Wrong: make([]bool, r.Len())}
	serves, err := backend.Serves().Has(&o), backend.Check(&o)
	switch {
	case err == nil && !serves:
		v.fault(-1, "back end %s accepts a configuration that its table lacks", backend.Name())
		return v
	case err != nil && (serves || !errors.Is(err, batch.ErrNotAvailable)):
		v.fault(-1, "back end %s refuses the configuration: %v", backend.Name(), err)
		return v
	case err != nil:
		return r.unavailable(ctx, backend, err, o, v)
	}
	if !o.Query.Info().Boolean() { // of which statuses alone go other ways
		o.Columns = o.EffectiveColumns() | batch.ColMethod | batch.ExtraColumns&o.Query.Available()
	}
	job := &batch.Job{Library: r.Library, Input: r.Pairs, Options: o}
	rep, err := dispatch.New(backend).Run(ctx, job, dispatch.Options{MaxRowErrors: r.Len()})
	if err != nil {
		v.fault(-1, "run: %v", err)
		return v
	}
	v.Status = rep.Counts
	if len(job.Results.Status()) != r.Len() {
		v.fault(-1, "run: %d statuses for %d rows", len(job.Results.Status()), r.Len())
		return v
	}
	r.checkAudit(ctx, job, v)
	for i := range r.Expect {
		r.checkRow(i, job, v)
	}
	r.checkSolvers(ctx, backend, &rep, job.Results, o, v)
	return v
}

// checkSolvers checks that a method that was asked for ended rows, and has a Boolean
// query with all columns audited: the audit judges the solver of each row, and statuses
// alone do not name any.
func (r *Rows) checkSolvers(ctx context.Context, backend dispatch.Backend, rep *dispatch.Report, res *batch.Results,
	o batch.Options, v *Verdict) {
	if !o.Query.Info().Boolean() {
		if o.Method != batch.Auto && rep.Solvers[o.Method.Solver()] == 0 {
			v.fault(-1, "method %v was asked for, and ended no row: %v", o.Method, rep.Solvers)
		}
		v.Solver = res.Method()
		if o.Query.Info().EndsAtStatus {
			r.checkStatusAlone(ctx, backend, o, res, v)
		}
		return
	}
	o.Columns = o.Query.FileColumns()
	job := &batch.Job{Library: r.Library, Input: r.Pairs, Options: o}
	if _, err := dispatch.New(backend).Run(ctx, job, dispatch.Options{}); err != nil {
		v.fault(-1, "run with all columns: %v", err)
		return
	}
	v.Solver = job.Results.Method()
	r.checkAudit(ctx, job, v)
}

// unavailable checks that a configuration that the back end refuses is refused by the
// dispatcher too, and that the errors of both name it.
func (r *Rows) unavailable(ctx context.Context, backend dispatch.Backend, refusal error, o batch.Options,
	v *Verdict) *Verdict {
	names := func(err error) bool {
		return strings.Contains(err.Error(), o.Query.String()) || strings.Contains(err.Error(), o.Method.String())
	}
	v.Unavailable, v.Rows = true, 0
	job := &batch.Job{Library: r.Library, Input: r.Pairs, Options: o}
	_, err := dispatch.New(backend).Run(ctx, job, dispatch.Options{Backend: backend.Name()})
	switch {
	case err == nil:
		v.fault(-1, "Check refuses the configuration, and yet it runs")
	case !errors.Is(err, batch.ErrNotAvailable) && !errors.Is(err, dispatch.ErrNoBackend):
		v.fault(-1, "the error does not say that the configuration is not available: %v", err)
	case job.Results != nil && job.Results.N > 0 && job.Results.Status() != nil &&
		batch.Status(job.Results.Status()[0]) != batch.Undecided:
		v.fault(-1, "there are answers although the configuration was refused: %v", err)
	case !names(err) || !names(refusal):
		v.fault(-1, "the error names neither the query nor the method: %v; %v", err, refusal)
	}
	return v
}

// checkAudit has every answer audited from the shapes alone.
func (r *Rows) checkAudit(ctx context.Context, job *batch.Job, v *Verdict) {
	// Every failure is a fault of its row, so all of them are kept.
	audit, err := verify.Audit(ctx, job, verify.Options{Worst: r.Len()})
	if err != nil {
		v.fault(-1, "audit: %v", err)
		return
	}
	for i := range audit.Checks {
		c := &audit.Checks[i]
		for _, w := range c.Worst {
			switch {
			case w.Failed && w.Row < 0:
				v.fault(-1, "audit: check %s (%s) failed", c.Name, c.Text)
			case w.Failed:
				v.fault(w.Row, "%s: check %s (%s): found %.12g, expected %.12g, off by %.3g, allowed %.3g",
					r.Describe(w.Row), c.Name, c.Text, float64(w.Found), float64(w.Expected), float64(w.Residual),
					float64(w.Allowed))
			}
		}
	}
	if audit.Wrong() > 0 && v.Count == 0 {
		v.fault(-1, "audit: %d rows wrong, none of them told", audit.Wrong())
	}
	// Without a normal the audit looks for a separating plane of its own. It may miss
	// one only where placement left bodies in contact that rounding moved apart.
	kissing := 0
	for i, s := range job.Results.Status() {
		if k := r.Expect[i].Relation; batch.Status(s) == batch.Separated && (k == Contact || k == Meeting) {
			kissing++
		}
	}
	if audit.Unproved > kissing {
		v.fault(-1, "audit: for %d rows called separated no plane that separates them is found, %d are in contact "+
			"but for rounding",
			audit.Unproved, kissing)
	}
}

// checkRow compares one answer with what is known of its row and with the bounds of
// the reference.
func (r *Rows) checkRow(i int, job *batch.Job, v *Verdict) {
	res, facts := job.Results, factsOf[job.Options.Query]
	status := batch.Status(res.Status()[i])
	if refused := r.Refused(i, job.Options.Query); refused || status >= batch.Undecided {
		if !refused || status != batch.Invalid {
			v.fault(i, "%s: %v", r.Describe(i), status)
		}
		return
	}
	lower, upper := interval(job, i, status)
	if least, greatest := facts.interval(r, i); !meet(lower, upper, least, greatest) {
		v.fault(i, "%s: %v, value in [%.17g, %.17g], known to lie in [%.17g, %.17g]",
			r.Describe(i), status, lower, upper, least, greatest)
	}
	if proved := facts.truth(r, i); !meet(lower, upper, proved.Lower, proved.Upper) {
		v.fault(i, "%s: %v, value in [%.17g, %.17g], the reference bounds it by [%.17g, %.17g]",
			r.Describe(i), status, lower, upper, proved.Lower, proved.Upper)
	}
	if want := facts.status(r, i, status); status != want {
		v.fault(i, "%s: %v, want %v", r.Describe(i), status, want)
	}
	if res.Bits() != nil && res.Bit(i) != (status != batch.Separated) {
		v.fault(i, "%s: bit %t for %v", r.Describe(i), res.Bit(i), status)
	}
}

// interval is what an answer claims of the value: distance ± gap, cut by
// what the status says. An answer without a distance says it with its status.
func interval(job *batch.Job, i int, status batch.Status) (lower, upper float64) {
	res, touch := job.Results, job.Options.Query.Info().Touch
	lower, upper = math.Inf(-1), math.Inf(1)
	if res.Distance().Len() != 0 && res.Gap() != nil {
		d, gap := res.Distance().At(i), float64(res.Gap()[i])
		lower, upper = d-gap, d+gap
	}
	switch status {
	case batch.Separated:
		lower = math.Max(lower, touch)
	case batch.Penetrating:
		upper = math.Min(upper, touch)
	case batch.Touching:
		if math.IsInf(lower, -1) {
			var row batch.Row
			job.Input.Row(i, &row)
			t := job.Options.EffectiveTolerance(job.Library.PairSize(row.ShapeA, row.ShapeB))
			if t == 0 {
				t = batch.DoubleTolerance * job.Library.PairSize(row.ShapeA, row.ShapeB)
			}
			// What rounding makes of 1e-12 of the size 1 km away is eps·1 km.
			t = math.Max(t, 4*eps*away)
			lower, upper = -t, t
		}
	}
	return lower, upper
}

// meet reports whether two intervals have a point in common, up to the rounding of
// their own ends. NaN never meets.
func meet(lower, upper, from, to float64) bool {
	slack := 4 * eps * (math.Abs(from) + math.Abs(to))
	return lower <= to+slack && upper >= from-slack
}
