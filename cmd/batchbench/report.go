package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/verify"
)

// runReport is the report of the main job, for --json and for the table.
type runReport struct {
	Program   string        `json:"program"`
	Version   string        `json:"version"`
	Date      string        `json:"date"` // RFC 3339, UTC
	Platform  string        `json:"platform"`
	Backend   string        `json:"backend"`
	Device    string        `json:"device"`
	Cores     int           `json:"cores"`
	Query     string        `json:"query"`
	Method    string        `json:"method"`
	Precision string        `json:"precision"`
	Tolerance verify.Number `json:"tolerance"` // relative to the size of a pair; 0 is the default of the precision
	Columns   []string      `json:"columns"`
	Seed      uint64        `json:"seed"`
	Rounds    int           `json:"rounds"`
	Clock     string        `json:"clock"`
	side
	Beside *besideReport `json:"beside,omitempty"` // another back end on the same pairs
	Good   bool          `json:"good"`             // of both
}

// side is the part of one back end.
type side struct {
	Sets  []setReport `json:"sets"`
	Total setReport   `json:"total"`
}

// besideReport is the part of the second back end.
type besideReport struct {
	Backend string `json:"backend"`
	Device  string `json:"device"`
	side
}

// setReport is one line of the table.
type setReport struct {
	Set            string          `json:"set"`
	Pairs          int64           `json:"pairs"`
	Seconds        []verify.Number `json:"seconds"`                 // end to end, one entry per round
	PairsPerSecond verify.Number   `json:"pairs_per_second"`        // end to end, median of the rounds
	Spread         verify.Number   `json:"spread"`                  // half the range over the median
	KernelPerSec   *verify.Number  `json:"kernel_pairs_per_second"` // null where the back end has no device clock
	NsPerPair      verify.Number   `json:"ns_per_pair"`             // end to end
	MeanIterations verify.Number   `json:"mean_iterations"`         // evaluations of the support function per pair
	WorstGap       verify.Number   `json:"worst_gap_over_size"`     // largest gap relative to the size of its pair
	Counts         counts          `json:"counts"`                  // rows by status
	Undefined      int64           `json:"undefined,omitempty"`     // invalid ones, without a value of the query
	// rows by the solver that ended them; absent for statuses alone
	Solvers solverRows `json:"solvers,omitempty"`
	// rows that the back end declined, in the first round
	Declined int64 `json:"declined"`
	// of all rounds; absent if the back end does not count them
	DeviceRows *deviceRows `json:"device_rows,omitempty"`
	Audited    int64       `json:"audited"`         // rows checked from the shapes alone
	Refuted    int64       `json:"refuted"`         // rows that the audit refuted
	Compared   int64       `json:"compared"`        // rows solved again by the reference
	Mismatches int64       `json:"mismatches"`      // rows that the reference contradicts
	Proved     int64       `json:"depths_proved"`   // rows whose depth is proved from below
	Disproved  int64       `json:"depths_refuted"`  // rows with a smaller depth than claimed, less the gap
	Open       int64       `json:"depths_unproved"` // rows on which the proof reached its limit
	// rows answered again, once per round after the first
	Repeated int64 `json:"repeated"`
	// of these, rows with other bits than the first time
	Unrepeatable int64    `json:"unrepeatable"`
	Faults       []string `json:"faults,omitempty"` // the worst faults, as text

	// All results of the checks; null for the total.
	Audit   *verify.Report     `json:"audit"`
	Compare *verify.Comparison `json:"comparison"`
	Proof   *verify.Proof      `json:"proof"`
}

// counts is the number of rows of each status.
type counts struct {
	Separated   int64 `json:"separated"`
	Touching    int64 `json:"touching"`
	Penetrating int64 `json:"penetrating"`
	Undecided   int64 `json:"undecided"`
	Invalid     int64 `json:"invalid"`
}

func (c *counts) add(o counts) {
	c.Separated += o.Separated
	c.Touching += o.Touching
	c.Penetrating += o.Penetrating
	c.Undecided += o.Undecided
	c.Invalid += o.Invalid
}

// wrong is the number of faults. A row that fails two checks counts twice.
func (s *setReport) wrong() int64 { return s.Refuted + s.Mismatches + s.Disproved + s.Unrepeatable }

// bad is the number of invalid rows, less those whose shapes have no value of the query.
func (s *setReport) bad() int64 { return s.Counts.Invalid - s.Undefined }

// good reports whether every answer of the set is decided and none is wrong.
func (s *setReport) good() bool {
	return s.wrong() == 0 && s.Counts.Undecided == 0 && s.bad() == 0
}

// toleranceText describes a tolerance of a query, by its name.
func toleranceText(t verify.Number, query string) string {
	if t == 0 {
		return ""
	}
	return fmt.Sprintf(" (gap at most %.3g of the %v)", float64(t), scaleOf(query))
}

// scaleOf returns what the tolerances of a query are relative to.
func scaleOf(query string) batch.ToleranceRule {
	q, err := batch.ParseQuery(query)
	if err != nil {
		return batch.OfPairSize
	}
	return q.Info().Tolerance
}

// perSecond formats a rate with three significant digits.
func perSecond(v float64) string {
	switch {
	case v >= 1e9:
		return fmt.Sprintf("%.3gG", v/1e9)
	case v >= 999.5e3:
		return fmt.Sprintf("%.2fM", v/1e6)
	case v >= 1e3:
		return fmt.Sprintf("%.0fk", v/1e3)
	default:
		return fmt.Sprintf("%.0f", v)
	}
}

// thousands formats n with commas between groups of three digits.
func thousands[T int | int64](n T) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// plural formats a count and its noun.
func plural[T int | int64](n T, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return thousands(n) + " " + noun
}

// printTable writes the report as text.
func (r *runReport) printTable(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "batchbench %s, %s, %s\n", r.Version, r.Date, r.Platform)
	fmt.Fprintf(&b, "%s: %s\n", r.Backend, r.Device)
	if r.Beside != nil {
		fmt.Fprintf(&b, "%s: %s\n", r.Beside.Backend, r.Beside.Device)
	}
	fmt.Fprintf(&b, "query %s, method %s, precision %s%s, seed %d\n", r.Query, r.Method, r.Precision,
		toleranceText(r.Tolerance, r.Query), r.Seed)
	fmt.Fprintf(&b, "clock: %s; median of %s\n\n", r.Clock, plural(r.Rounds, "round"))
	if err := r.printRows(&b); err != nil {
		return err
	}
	b.WriteString("\n")
	r.printSolvers(&b, r.Backend)
	if r.Beside != nil {
		r.Beside.printSolvers(&b, r.Beside.Backend)
	}
	r.Total.printChecks(&b, r.Backend)
	for i := range r.Sets {
		r.Sets[i].printFaults(&b, "")
	}
	if s := r.Beside; s != nil {
		s.Total.printChecks(&b, s.Backend)
		for i := range s.Sets {
			s.Sets[i].printFaults(&b, s.Backend+", ")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// printRows writes the table: one line per set, followed by that of the second back end.
func (r *runReport) printRows(b *strings.Builder) error {
	var table strings.Builder
	tw := tabwriter.NewWriter(&table, 0, 0, 2, ' ', tabwriter.AlignRight)
	width, names := len(r.Total.Set), 0
	for i := range r.Sets {
		width = max(width, len(r.Sets[i].Set))
	}
	title := fmt.Sprintf("%-*s", width, "set")
	if r.Beside != nil {
		names = max(len(r.Backend), len(r.Beside.Backend))
		title += fmt.Sprintf("  %-*s", names, "by")
	}
	fmt.Fprintf(tw, "%s\tpairs\tpairs/s\tspread\tkernel/s\tns/pair\titer\tworst "+
		"gap/%v\tseparated\ttouching\tpenetrating\tundecided\tinvalid\tfaults\t", title, scaleOf(r.Query))
	if r.Beside != nil {
		fmt.Fprint(tw, "refined\tdeclined\t")
	}
	fmt.Fprintln(tw)
	row := func(s *setReport, set, by string) {
		name := fmt.Sprintf("%-*s", width, set)
		if r.Beside != nil {
			name += fmt.Sprintf("  %-*s", names, by)
		}
		r.printRow(tw, s, name)
	}
	for i := range r.Sets {
		row(&r.Sets[i], r.Sets[i].Set, r.Backend)
		if r.Beside != nil {
			row(&r.Beside.Sets[i], "", r.Beside.Backend)
		}
	}
	row(&r.Total, r.Total.Set, r.Backend)
	if r.Beside != nil {
		row(&r.Beside.Total, "", r.Beside.Backend)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(table.String()) {
		b.WriteString(strings.TrimPrefix(line, "  ")) // the padding before the first column
	}
	return nil
}

// printRow writes the line of a set; "-" stands for a missing value.
func (r *runReport) printRow(w io.Writer, s *setReport, name string) {
	kernel, gap, iterations := "-", "-", "-"
	if s.KernelPerSec != nil {
		kernel = perSecond(float64(*s.KernelPerSec))
	}
	if r.Query != batch.Collide.String() {
		gap = fmt.Sprintf("%.1e", float64(s.WorstGap))
		iterations = fmt.Sprintf("%.1f", float64(s.MeanIterations))
	}
	fmt.Fprintf(w, "%s\t%s\t%s\t±%.0f%%\t%s\t%.0f\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t",
		name, thousands(s.Pairs), perSecond(float64(s.PairsPerSecond)), 100*float64(s.Spread), kernel,
		float64(s.NsPerPair), iterations, gap,
		thousands(s.Counts.Separated), thousands(s.Counts.Touching), thousands(s.Counts.Penetrating),
		thousands(s.Counts.Undecided), thousands(s.Counts.Invalid), thousands(s.wrong()))
	if r.Beside != nil {
		refined := "-"
		if s.DeviceRows != nil {
			refined = thousands(s.DeviceRows.Refined / int64(r.Rounds))
		}
		fmt.Fprintf(w, "%s\t%s\t", refined, thousands(s.Declined))
	}
	fmt.Fprintln(w)
}

// printChecks writes what was checked in all sets of a back end, and the outcome.
func (s *setReport) printChecks(b *strings.Builder, backend string) {
	if s.Declined > 0 {
		why := ""
		if s.DeviceRows != nil {
			why = " (" + s.DeviceRows.String() + ")"
		}
		fmt.Fprintf(b, "%s of %s declined by %s%s and answered by another back end, included in the times\n",
			plural(s.Declined, "row"), thousands(s.Pairs), backend, why)
	}
	fmt.Fprintf(b, "%s: %s audited from the shapes alone, %s solved again by the reference, %s proved, %s run again: ",
		backend, plural(s.Audited, "answer"), thousands(s.Compared), plural(s.Proved, "depth"), thousands(s.Repeated))
	if s.Undefined > 0 {
		fmt.Fprintf(b, "%s without a value of the query, rightly invalid; ", plural(s.Undefined, "row"))
	}
	if s.Open > 0 {
		fmt.Fprintf(b, "%s not proved within the limit; ", plural(s.Open, "depth"))
	}
	if s.good() {
		fmt.Fprintln(b, "every answer is good")
	} else {
		fmt.Fprintf(b, "%s, %s undecided, %s invalid\n", plural(s.wrong(), "fault"), thousands(s.Counts.Undecided),
			thousands(s.bad()))
	}
}

// printFaults lists the faults of a set.
func (s *setReport) printFaults(b *strings.Builder, by string) {
	for _, f := range s.Faults {
		fmt.Fprintf(b, "  %s%s: %s\n", by, s.Set, f)
	}
}

// solverRows is the number of rows that each solver ended, by its name. Solvers that ended no
// row are omitted. It is empty if the report has no counts.
type solverRows map[string]int64

// solversOf returns the counts of a call.
func solversOf(rep *dispatch.Report) solverRows {
	s := solverRows{}
	for k, n := range rep.Solvers {
		if n > 0 {
			s[batch.Solver(k).String()] = int64(n)
		}
	}
	return s
}

// plus returns the sum of two counts.
func (s solverRows) plus(o solverRows) solverRows {
	sum := solverRows{}
	for _, c := range []solverRows{s, o} {
		for name, n := range c {
			sum[name] += n
		}
	}
	return sum
}

// String lists the counts in the order of the codes, "gjk 83,333, rtr 41,667".
func (s solverRows) String() string {
	var list []string
	for k := range batch.SolverCount {
		if n := s[k.String()]; n > 0 {
			list = append(list, fmt.Sprintf("%v %s", k, thousands(n)))
		}
	}
	return strings.Join(list, ", ")
}

// printSolvers lists the solvers that ended the rows of each set of a back end.
func (r *side) printSolvers(b *strings.Builder, backend string) {
	if len(r.Total.Solvers) == 0 {
		return
	}
	width := len(r.Total.Set)
	for i := range r.Sets {
		width = max(width, len(r.Sets[i].Set))
	}
	fmt.Fprintf(b, "rows of %s by the solver that ended them:\n", backend)
	for i := range r.Sets {
		fmt.Fprintf(b, "  %-*s  %v\n", width, r.Sets[i].Set, r.Sets[i].Solvers)
	}
	fmt.Fprintf(b, "  %-*s  %v\n\n", width, r.Total.Set, r.Total.Solvers)
}

// median returns the middle of the values, the mean of the two in the middle for
// an even number of them, and NaN for none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	s := slices.Clone(values)
	slices.Sort(s)
	mid := len(s) / 2
	if len(s)%2 == 1 {
		return s[mid]
	}
	return (s[mid-1] + s[mid]) / 2
}

// spread returns half the range of the values relative to their median.
func spread(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	return (slices.Max(values) - slices.Min(values)) / 2 / median(values)
}

// quartileSpread returns half the distance of the quartiles relative to the median: the
// spread of many values, which one outlier does not change.
func quartileSpread(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	s := slices.Clone(values)
	slices.Sort(s)
	return (s[3*(len(s)-1)/4] - s[(len(s)-1)/4]) / 2 / median(s)
}

// mean returns sum / n, and 0 for no values.
func mean(sum int64, n int) float64 {
	if n <= 0 {
		return 0
	}
	return float64(sum) / float64(n)
}
