package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"clearance/batch"
)

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
