package peers

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// WriteMarkdown writes the report as a page of Markdown, which is also readable as
// plain text.
func (r *Report) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Peers on one core\n\n")
	fmt.Fprintf(&b, "`%s`, %s, %s: %s, core %d. %d pairs per set, a third of them overlapping by up to 0.1 m, a "+
		"third up to 0.1 m apart, a third 0.1 to 2 m apart; seed %d. Medians of %d rounds, quartiles in brackets; "+
		"the last row of ratios compares the fastest round of each, which other work on the machine disturbs "+
		"least.\n\n",
		r.Program, r.Date, r.Platform, r.Processor, r.Core, r.Rows, r.Seed, r.Rounds)
	fmt.Fprintf(&b, "Clock: %s. Before the rounds every configuration of a peer is tried, and its fastest takes "+
		"part.\n\n", r.Clock)
	fmt.Fprintf(&b, "Ratios are to Clearance in single precision. A peer counts as sound in a table if it answers "+
		"every pair, with errors of at most %.0e m and no wrong verdict on a pair farther than that from touching.\n\n",
		SoundTolerance)
	r.writeContestants(&b)
	for _, q := range Questions() {
		r.writeQuestion(&b, &q)
	}
	r.writeConfigurations(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) writeContestants(b *strings.Builder) {
	fmt.Fprintf(b, "| | version | built |\n|---|---|---|\n")
	for _, c := range r.Contestants {
		fmt.Fprintf(b, "| %s | %s | %s |\n", c.Name, c.Version, c.Flags)
	}
	fmt.Fprintln(b)
	for _, m := range r.Missing {
		fmt.Fprintf(b, "%s took no part: %s\n\n", m.Name, m.Why)
	}
}

// tables returns the tables of a question, one a set.
func (r *Report) tables(q *Question) []*Table {
	var list []*Table
	for i := range r.Tables {
		if r.Tables[i].Question == q.Name {
			list = append(list, &r.Tables[i])
		}
	}
	return list
}

func (r *Report) writeQuestion(b *strings.Builder, q *Question) {
	tables := r.tables(q)
	if len(tables) == 0 {
		return
	}
	fmt.Fprintf(b, "## %s\n\n%s\n\n", q.Title, q.Text)
	row := func(name string, cell func(t *Table) string) {
		fmt.Fprintf(b, "| %s", name)
		for _, t := range tables {
			fmt.Fprintf(b, " | %s", cell(t))
		}
		fmt.Fprintln(b, " |")
	}
	head := func(corner string) {
		row(corner, func(t *Table) string { return t.Set })
		fmt.Fprintln(b, "|---"+strings.Repeat("|---", len(tables))+"|")
	}
	head("ns a pair")
	for i, c := range r.Contestants {
		row(c.Name, func(t *Table) string { return t.Entries[i].time() })
	}
	row("**fastest peer / ours**", func(t *Table) string { return ratioText(float64(t.Ratio), t.Fastest) })
	row("**fastest sound peer / ours**", func(t *Table) string {
		return ratioText(float64(t.RatioSound),
			t.FastestSound)
	})
	row("the same, best rounds", func(t *Table) string {
		ratio, who := t.bestRounds()
		return ratioText(float64(ratio), who)
	})
	fmt.Fprintln(b)

	text := "Answers: pairs with a wrong verdict, with the largest true distance or depth of one; pairs without an " +
		"answer."
	if q.wants != wantVerdict {
		text = "Answers: largest error of the distance in metres, share of errors above 1 mm (off), wrong verdicts " +
			"with the largest true distance or depth of one, pairs without an answer."
	}
	fmt.Fprintf(b, "%s What is zero is left out.\n\n", text)
	head("")
	for i, c := range r.Contestants {
		row(c.Name, func(t *Table) string { return t.Entries[i].quality(q) })
	}
	fmt.Fprintln(b)
}

// time is the cell of a time, "–" for none.
func (e *Entry) time() string {
	if e.Missing != "" {
		return "–"
	}
	return e.cell()
}

// quality is the cell of an accuracy.
func (e *Entry) quality(q *Question) string {
	if e.Missing != "" {
		return e.Missing
	}
	a := e.Accuracy
	var parts []string
	if q.wants != wantVerdict {
		parts = append(parts, lengthText(float64(a.MaxError)))
		if a.Off > 0 {
			parts = append(parts, fmt.Sprintf("%.3g %% off", 100*float64(a.Off)/float64(a.Judged)))
		}
	}
	if a.Wrong > 0 {
		parts = append(parts, fmt.Sprintf("%d wrong (%s)", a.Wrong, lengthText(float64(a.WorstWrong))))
	}
	if a.Failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", a.Failed))
	}
	if len(parts) == 0 {
		return "all right"
	}
	return strings.Join(parts, ", ")
}

// lengthText writes a length in metres to one digit.
func lengthText(v float64) string {
	if v == 0 {
		return "0"
	}
	return fmt.Sprintf("%.0e", v)
}

func ratioText(ratio float64, who string) string {
	if who == "" || !(ratio > 0) || math.IsInf(ratio, 1) {
		return "–"
	}
	return fmt.Sprintf("**%.1f** (%s)", ratio, who)
}

// writeConfigurations says what was chosen.
func (r *Report) writeConfigurations(b *strings.Builder) {
	fmt.Fprintf(b, "## Configurations that took part\n\n")
	fmt.Fprintf(b, "| question | set |")
	for i := ourContestants; i < len(r.Contestants); i++ {
		fmt.Fprintf(b, " %s |", r.Contestants[i].Name)
	}
	fmt.Fprintf(b, "\n|---|---|%s\n", strings.Repeat("---|", max(0, len(r.Contestants)-ourContestants)))
	for i := range r.Tables {
		t := &r.Tables[i]
		fmt.Fprintf(b, "| %s | %s |", t.Question, t.Set)
		for k := ourContestants; k < len(t.Entries); k++ {
			name := t.Entries[k].Configuration
			if t.Entries[k].Missing != "" {
				name = "–"
			}
			fmt.Fprintf(b, " %s |", name)
		}
		fmt.Fprintln(b)
	}
}
