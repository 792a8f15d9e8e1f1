package conformance

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
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
	serves := backend.Serves().Has(&o)
	_, err := backend.Plan(&o)
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

// solverSet is a set of solvers, a bit each.
type solverSet uint64

func (s solverSet) String() string {
	var names []string
	for ; s != 0; s &= s - 1 {
		names = append(names, batch.Solver(bits.TrailingZeros64(uint64(s))).String())
	}
	return strings.Join(names, ", ")
}

// ending is what a set of solvers ended rows of: forms in ascending order.
type ending struct {
	backend string
	query   batch.Query
	method  batch.Method
	prec    batch.Precision
	forms   [2]int
}

// solversTitle begins the part of the page that names solvers.
const solversTitle = "## Who ended the rows"

// NoteSolvers takes down which solvers ended the rows of a verdict, as answers of what is
// called name, but for rows that `elsewhere`, if there is one, says another back end ended.
// A page that is to be the same on every machine takes back ends that run on all.
func (m *Matrix) NoteSolvers(name string, o batch.Options, rows *Rows, v *Verdict,
	elsewhere func(batch.Options, int) bool) {
	if m.endings == nil {
		m.endings = map[ending]solverSet{}
	}
	if !slices.Contains(m.endedBy, name) {
		m.endedBy = append(m.endedBy, name)
	}
	m.forms = rows.Forms
	for i, s := range v.Solver {
		a, b := int(rows.Pairs.ShapeA[i])/2, int(rows.Pairs.ShapeB[i])/2
		e := ending{name, o.Query, o.Method, o.Precision, [2]int{min(a, b), max(a, b)}}
		if s := batch.Solver(s); s != batch.SolverNone && (elsewhere == nil || !elsewhere(o, i)) {
			m.endings[e] |= 1 << s
		}
	}
}

// writeSolvers writes a table a back end and query: a line for all pairs of forms that
// the same solvers ended in every method and precision.
func (m *Matrix) writeSolvers(b *strings.Builder, note string) {
	if len(m.endedBy) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n\nThe solvers that the method column names, by pair of shapes (either may be A), query and "+
		"method asked for; where the precisions differ, each is named. Pairs that the same solvers ended share a "+
		"line. %s\n", solversTitle, note)
	for _, backend := range m.endedBy {
		before := map[string]batch.Query{} // tables of the back end, by what they say
		for q := range batch.QueryCount {
			table := m.endingTable(backend, q)
			if table == "" {
				continue
			}
			fmt.Fprintf(b, "\n### Back end %s, query %v\n\n", backend, q)
			if same, ok := before[table]; ok {
				fmt.Fprintf(b, "As query %v.\n", same)
				continue
			}
			before[table] = q
			b.WriteString(table)
		}
	}
}

// endingTable is the table of a back end and a query, or nothing where none ran.
func (m *Matrix) endingTable(backend string, q batch.Query) string {
	lines, pairs := m.endingLines(backend, q)
	if len(lines) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("| shapes |")
	for method := range batch.MethodCount {
		fmt.Fprintf(&b, " %v |", method)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", int(batch.MethodCount)) + "\n")
	for _, line := range lines[1:] {
		fmt.Fprintf(&b, "| %s |%s\n", m.pairNames(pairs[line]), line)
	}
	fmt.Fprintf(&b, "| all other pairs |%s\n", lines[0])
	return b.String()
}

// endingLines returns the entries of a table, the line that most pairs have first, and the
// pairs that have each.
func (m *Matrix) endingLines(backend string, q batch.Query) (lines []string, pairs map[string][][2]int) {
	pairs = map[string][][2]int{}
	for a := range m.forms {
		for c := a; c < len(m.forms); c++ {
			line, any := "", false
			for method := range batch.MethodCount {
				single := m.endings[ending{backend, q, method, batch.Single, [2]int{a, c}}]
				double := m.endings[ending{backend, q, method, batch.Double, [2]int{a, c}}]
				any = any || single|double != 0
				if single == double {
					line += fmt.Sprintf(" %v |", single)
				} else {
					line += fmt.Sprintf(" single: %v; double: %v |", single, double)
				}
			}
			if !any {
				continue
			}
			if pairs[line] == nil {
				lines = append(lines, line)
			}
			pairs[line] = append(pairs[line], [2]int{a, c})
		}
	}
	slices.SortStableFunc(lines, func(x, y string) int { return len(pairs[y]) - len(pairs[x]) })
	return lines, pairs
}

// pairNames names pairs, each with its lower form first: forms that have the same partners together.
func (m *Matrix) pairNames(pairs [][2]int) string {
	partners := make([][]int, len(m.forms))
	for _, p := range pairs {
		partners[p[0]] = append(partners[p[0]], p[1])
	}
	var parts []string
	for a, with := range partners {
		if len(with) == 0 {
			continue
		}
		first := []int{a}
		for other := a + 1; other < len(partners); other++ {
			if slices.Equal(partners[other], with) {
				first = append(first, other)
				partners[other] = nil
			}
		}
		parts = append(parts, m.formNames(first)+" × "+m.formNames(with))
	}
	return strings.Join(parts, "; ")
}

func (m *Matrix) formNames(forms []int) string {
	names := make([]string, len(forms))
	for i, f := range forms {
		names[i] = m.forms[f].Name
	}
	return strings.Join(names, ", ")
}
