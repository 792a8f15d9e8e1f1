package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"clearance/batch"
	"clearance/verify"
)

// runReport is what the main job found; --json writes it, the table prints it.
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
	Sets      []setReport   `json:"sets"`
	Total     setReport     `json:"total"`
	Good      bool          `json:"good"`
}

// setReport is one line of the table.
type setReport struct {
	Set            string          `json:"set"`
	Pairs          int64           `json:"pairs"`
	Seconds        []verify.Number `json:"seconds"`                 // end to end, one entry a round
	PairsPerSecond verify.Number   `json:"pairs_per_second"`        // end to end, median of the rounds
	Spread         verify.Number   `json:"spread"`                  // half the range over the median
	KernelPerSec   *verify.Number  `json:"kernel_pairs_per_second"` // null where the back end has no device clock
	NsPerPair      verify.Number   `json:"ns_per_pair"`             // end to end
	MeanIterations verify.Number   `json:"mean_iterations"`         // support evaluations a pair
	WorstGap       verify.Number   `json:"worst_gap_over_size"`     // largest gap relative to the size of its pair
	Counts         counts          `json:"counts"`                  // rows by status
	Declined       int64           `json:"declined"`                // rows that the back end left to another, in the first round
	Audited        int64           `json:"audited"`                 // rows checked from the shapes alone
	Refuted        int64           `json:"refuted"`                 // rows that the audit refuted
	Compared       int64           `json:"compared"`                // rows solved again by the reference
	Mismatches     int64           `json:"mismatches"`              // rows that the reference contradicts
	Repeated       int64           `json:"repeated"`                // rows answered again, once a round after the first
	Unrepeatable   int64           `json:"unrepeatable"`            // of these, rows with other bits than the first time
	Faults         []string        `json:"faults,omitempty"`        // the worst faults, in words

	// The whole of the checks; null for the total.
	Audit   *verify.Report     `json:"audit"`
	Compare *verify.Comparison `json:"comparison"`
}

// counts holds the rows of each status.
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

// wrong is the number of faults found; a row that fails twice counts twice.
func (s *setReport) wrong() int64 { return s.Refuted + s.Mismatches + s.Unrepeatable }

// good reports whether every answer of the set is decided and none is wrong.
func (s *setReport) good() bool {
	return s.wrong() == 0 && s.Counts.Undecided == 0 && s.Counts.Invalid == 0
}

// printTable writes the report for people.
func (r *runReport) printTable(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "batchbench %s, %s, %s\n", r.Version, r.Date, r.Platform)
	fmt.Fprintf(&b, "%s: %s\n", r.Backend, r.Device)
	fmt.Fprintf(&b, "query %s, method %s, precision %s%s, seed %d\n", r.Query, r.Method, r.Precision, toleranceText(r.Tolerance), r.Seed)
	fmt.Fprintf(&b, "clock: %s; median of %s\n\n", r.Clock, plural(r.Rounds, "round"))

	var table strings.Builder
	tw := tabwriter.NewWriter(&table, 0, 0, 2, ' ', tabwriter.AlignRight)
	width := len(r.Total.Set)
	for i := range r.Sets {
		width = max(width, len(r.Sets[i].Set))
	}
	fmt.Fprintf(tw, "%-*s\tpairs\tpairs/s\tspread\tkernel/s\tns/pair\titer\tworst gap/size\tapart\ttouching\toverlap\tundecided\tinvalid\tfaults\t\n", width, "set")
	for i := range r.Sets {
		r.printRow(tw, &r.Sets[i], width)
	}
	r.printRow(tw, &r.Total, width)
	if err := tw.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(table.String()) {
		b.WriteString(strings.TrimPrefix(line, "  ")) // what tabwriter puts before the first column
	}

	t := &r.Total
	if t.Declined > 0 {
		fmt.Fprintf(&b, "\n%s of %s could not be ended by %s and were answered by another back end, inside the clock", plural(t.Declined, "row"), thousands(t.Pairs), r.Backend)
	}
	fmt.Fprintf(&b, "\n%s audited from the shapes alone, %s solved again by the reference, %s run again: ",
		plural(t.Audited, "answer"), thousands(t.Compared), thousands(t.Repeated))
	if r.Good {
		fmt.Fprintln(&b, "every answer is good")
	} else {
		fmt.Fprintf(&b, "%s, %s undecided, %s invalid\n", plural(t.wrong(), "fault"), thousands(t.Counts.Undecided), thousands(t.Counts.Invalid))
	}
	for i := range r.Sets {
		for _, f := range r.Sets[i].Faults {
			fmt.Fprintf(&b, "  %s: %s\n", r.Sets[i].Set, f)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// printRow writes the line of a set; "-" stands for what there is none of.
func (r *runReport) printRow(w io.Writer, s *setReport, width int) {
	kernel, gap := "-", "-"
	if s.KernelPerSec != nil {
		kernel = perSecond(float64(*s.KernelPerSec))
	}
	if r.Query != batch.Collide.String() {
		gap = fmt.Sprintf("%.1e", float64(s.WorstGap))
	}
	fmt.Fprintf(w, "%-*s\t%s\t%s\t±%.0f%%\t%s\t%.0f\t%.1f\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n",
		width, s.Set, thousands(s.Pairs), perSecond(float64(s.PairsPerSecond)), 100*float64(s.Spread), kernel,
		float64(s.NsPerPair), float64(s.MeanIterations), gap,
		thousands(s.Counts.Separated), thousands(s.Counts.Touching), thousands(s.Counts.Penetrating),
		thousands(s.Counts.Undecided), thousands(s.Counts.Invalid), thousands(s.wrong()))
}

func toleranceText(t verify.Number) string {
	if t == 0 {
		return ""
	}
	return fmt.Sprintf(" (gap at most %.3g of the size)", float64(t))
}

// perSecond writes a rate with three digits that matter.
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

// thousands writes n with a comma between groups of three digits.
func thousands[T int | int64](n T) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// plural writes a count and its noun.
func plural[T int | int64](n T, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return thousands(n) + " " + noun
}
