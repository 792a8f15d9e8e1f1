package main

import (
	"context"
	"fmt"
	"io"
	"math/bits"
	"strings"

	"clearance/batch"
	"clearance/internal/console"
	"clearance/verify"
)

// defaultSample is the number of rows of a set or file that the reference solves again.
const defaultSample = 1000

// checker audits every row of a sequence of chunks and compares a sample with the reference.
type checker struct {
	total   int64  // rows of all chunks
	sample  int64  // rows to solve again, at most total
	prove   int64  // rows whose depths are proved, at most total
	seed    uint64 // draws the sample
	workers int
	bar     *console.Progress

	audit   verify.Report
	compare verify.Comparison
	proof   verify.Proof
}

// chunk checks the answers of a job; first is the number of its first row.
func (c *checker) chunk(ctx context.Context, job *batch.Job, first int64) error {
	audit, err := verify.Audit(ctx, job, verify.Options{
		Workers: c.workers, FirstRow: int(first), Seed: c.seed, Progress: c.bar.Add,
	})
	if err != nil {
		return err
	}
	c.audit.Merge(audit)

	// The sample is spread over the chunks in proportion to their rows.
	last := first + int64(job.Input.Len())
	if prove := c.share(last, c.prove) - c.share(first, c.prove); prove > 0 {
		proof, err := verify.Prove(ctx, job, verify.ProveOptions{
			Sample: int(prove), Seed: c.seed, Workers: c.workers, FirstRow: int(first),
		})
		if err != nil {
			return err
		}
		c.proof.Merge(proof)
	}
	sample := c.share(last, c.sample) - c.share(first, c.sample)
	if sample == 0 {
		return nil
	}
	compare, err := verify.Compare(ctx, job, verify.CompareOptions{
		Sample: int(sample), Seed: c.seed, Workers: c.workers, FirstRow: int(first),
	})
	if err != nil {
		return err
	}
	c.compare.Merge(compare)
	return nil
}

// share is the part of a sample among the rows before the given one,
// ⌊row·sample/total⌋. The product may need more than 64 bits.
func (c *checker) share(row, sample int64) int64 {
	hi, lo := bits.Mul64(uint64(row), uint64(sample))
	share, _ := bits.Div64(hi, lo, uint64(c.total))
	return int64(share)
}

// faults describes the worst rows that failed a check, at most limit of them.
func faults(c *checker, limit int) []string {
	var list []string
	note := func(what string, rows []verify.WorstRow) {
		for _, w := range rows {
			if w.Failed && len(list) < limit {
				list = append(list, fmt.Sprintf("row %d fails %s: found %.9g, expected %.9g, off by %.3g, allowed %.3g",
					w.Row, what, float64(w.Found), float64(w.Expected), float64(w.Residual), float64(w.Allowed)))
			}
		}
	}
	for i := range c.audit.Checks {
		note("check "+c.audit.Checks[i].Name, c.audit.Checks[i].Worst)
	}
	note("the comparison with the reference", c.compare.Worst)
	note("the proof of its depth", c.proof.Worst)
	return list
}

// verifyReport is the report of `verify --json`.
type verifyReport struct {
	Program   string             `json:"program"`
	Version   string             `json:"version"`
	Date      string             `json:"date"`
	Results   string             `json:"results"`
	Query     string             `json:"query"`
	Precision string             `json:"precision"`
	Tolerance verify.Number      `json:"tolerance"`
	CutOff    *verify.Number     `json:"cutoff,omitempty"`
	Claims    claims             `json:"claims"` // of the file, which nothing rests on
	Columns   []string           `json:"columns"`
	Good      bool               `json:"good"`
	Unaudited int64              `json:"unaudited,omitempty"` // distances that neither columns nor the reference bound
	Missing   []string           `json:"missing,omitempty"`   // columns that would bound them
	Unproved  []string           `json:"unproved,omitempty"`  // columns of vectors that nothing in the file proves
	Audit     *verify.Report     `json:"audit"`
	Compare   *verify.Comparison `json:"comparison"`
	Proof     *verify.Proof      `json:"proof,omitempty"` // of --prove
}

func cutOffText(c *verify.Number, query string) string {
	if c == nil {
		return ""
	}
	unit := " m"
	if scaleOf(query) == batch.OfValue {
		unit = ""
	}
	return fmt.Sprintf(", cut-off %g%s", float64(*c), unit)
}

// wrong is the largest of the numbers of rows refuted by the audit, by the reference and by the
// proof of their depths, since a row may be in all counts.
func (r *verifyReport) wrong() int {
	wrong := max(r.Audit.Wrong(), r.Compare.Wrong())
	if r.Proof != nil {
		wrong = max(wrong, r.Proof.Refuted)
	}
	return wrong
}

// verdict returns an error with the exit code if the answers are not good.
func (r *verifyReport) verdict() error {
	switch {
	case r.wrong() > 0:
		return console.Wrong("%s: %s, the worst are listed in the report", r.Results,
			plural(r.wrong(), "wrong answer"))
	case r.Audit.Undecided() > 0:
		return console.Wrong("%s: %s undecided", r.Results, plural(r.Audit.Undecided(), "answer"))
	case r.Proof != nil && r.Proof.Unproved > 0:
		return console.Wrong("%s: %s neither proved nor refuted", r.Results, plural(r.Proof.Unproved, "depth"))
	case r.Unaudited > 0:
		return console.Wrong("%s: %s not audited: the file lacks %s; 'verify --all' compares every row with the "+
			"reference", r.Results, plural(r.Unaudited, "distance"), strings.Join(r.Missing, ", "))
	case len(r.Unproved) > 0:
		return console.Wrong("%s: %s not audited: the file lacks %s", r.Results, strings.Join(r.Unproved, ", "),
			strings.Join(r.Missing, ", "))
	case r.Audit.Unproved > r.Compare.Compared:
		return console.Wrong("%s: %s neither proved nor refuted; 'verify --all' compares every row with the "+
			"reference", r.Results, plural(r.Audit.Unproved, "row"))
	}
	return nil
}

// print writes the report as text.
func (r *verifyReport) print(w io.Writer) error {
	if _, err := fmt.Fprintf(w, "\naudit of %s: query %s, precision %s%s%s\n", r.Results, r.Query, r.Precision,
		toleranceText(r.Tolerance, r.Query), cutOffText(r.CutOff, r.Query)); err != nil {
		return err
	}
	if text := r.Claims.String(); text != "" {
		if _, err := fmt.Fprintf(w, "the file claims: %s\n", text); err != nil {
			return err
		}
	}
	if err := r.Audit.WriteText(w); err != nil {
		return err
	}
	if r.Proof != nil {
		if _, err := fmt.Fprintln(w, "\nproof of depths"); err != nil {
			return err
		}
		if err := r.Proof.WriteText(w); err != nil {
			return err
		}
	}
	if r.Compare.Compared == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(w, "\nreference"); err != nil {
		return err
	}
	return r.Compare.WriteText(w)
}
