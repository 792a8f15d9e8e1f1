package verify

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// WriteText writes the report as a short table: counts, checks, and the worst failures of
// each check.
func (r *Report) WriteText(w io.Writer) error {
	t := &printer{w: w}
	s := &r.Status
	t.printf("%d rows: %d separated, %d touching, %d penetrating, %d undecided, %d invalid",
		r.Rows, s.Separated, s.Touching, s.Penetrating, s.Undecided, s.Invalid)
	if r.Undefined > 0 {
		t.printf(" (of %d the shapes have no value of the query)", r.Undefined)
	}
	if s.Unknown > 0 {
		t.printf(", %d without a valid status", s.Unknown)
	}
	t.printf("\n%d wrong", r.Wrong())
	if r.Unproved > 0 {
		t.printf(", %d neither proved nor refuted", r.Unproved)
	}
	t.printf("\n\n")

	tab := tabwriter.NewWriter(t, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tab, "check\tran\tskipped\tfailed\tworst/allowed\t")
	for i := range r.Checks {
		c := &r.Checks[i]
		if c.Ran == 0 && c.Skipped == 0 {
			continue
		}
		fmt.Fprintf(tab, "%s\t%d\t%d\t%d\t%.2g\t\n", c.Name, c.Ran, c.Skipped, c.Failed, float64(c.Residual))
	}
	t.keep(tab.Flush())
	t.printf("\ngap/%s  %s\n", r.Scale, r.Gaps.String())

	for i := range r.Checks {
		c := &r.Checks[i]
		if c.Failed == 0 {
			continue
		}
		t.printf("\n%s failed on %d of %d: %s\n", c.Name, c.Failed, c.Ran, c.Text)
		writeWorst(t, c.Worst)
	}
	return t.err
}

// writeWorst lists the failures among the worst rows.
func writeWorst(t *printer, worst []WorstRow) {
	for _, w := range worst {
		if w.Failed {
			t.printf("  row %d: found %.9g, expected %.9g, off by %.3g, allowed %.3g\n",
				w.Row, float64(w.Found), float64(w.Expected), float64(w.Residual), float64(w.Allowed))
		}
	}
}

// printer writes until the first error, which it records.
type printer struct {
	w   io.Writer
	err error
}

func (t *printer) printf(format string, args ...any) {
	_, err := fmt.Fprintf(t, format, args...)
	t.keep(err)
}

func (t *printer) Write(b []byte) (int, error) {
	if t.err != nil {
		return 0, t.err
	}
	n, err := t.w.Write(b)
	t.keep(err)
	return n, err
}

func (t *printer) keep(err error) {
	if t.err == nil {
		t.err = err
	}
}
