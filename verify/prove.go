package verify

import (
	"context"
	"fmt"
	"io"
	"math"

	"clearance/batch"
)

// ProveOptions configure a proof. The zero value proves every row.
type ProveOptions struct {
	// Sample is the number of rows to prove; 0 is all of them. Seed draws one row from each of Sample equal ranges of
	// the input.
	Sample int
	Seed   uint64

	// Workers, FirstRow, Worst and Progress are as in [Options].
	Workers, FirstRow, Worst int
	Progress                 func(rows int)
}

// A Proof is the result of proving the lower bounds of depths, see [Prove]. Its JSON form is stable.
type Proof struct {
	Rows     int `json:"rows"`     // rows of the job
	Sampled  int `json:"sampled"`  // rows that were looked at
	Depths   int `json:"depths"`   // of these, rows that claim a penetration, whose depth is proved
	Proved   int `json:"proved"`   // no direction has a support value below the claimed depth, less its gap
	Refuted  int `json:"refuted"`  // some direction has one
	Unproved int `json:"unproved"` // the limit of the directions was reached

	Directions int64 `json:"directions"` // evaluations of the support function

	// Worst are the rows that were refuted, those with the largest excess first. Unproven are the first rows that
	// were neither proved nor refuted.
	Worst    []WorstRow `json:"worst"`
	Unproven []int      `json:"unproved_rows"`

	worst int
}

// Prove proves that the depth of rows that claim a penetration is at least the claimed depth less the gap: that no
// translation that is shorter separates the shapes. [Audit] proves the upper bound of a depth, and only tries to refute
// the lower one. The proof is by branch and bound over directions (cover.go) and shares nothing with a solver but the
// support functions of the shapes. It holds up to the rounding error of a support value, 24·2⁻⁵³ of the lengths of the
// pair. Values other than signed distances claim no depth.
func Prove(ctx context.Context, job *batch.Job, o ProveOptions) (*Proof, error) {
	if o.Sample < 0 {
		return nil, fmt.Errorf("verify: proof of %d rows, want a number above 0, or 0 for all", o.Sample)
	}
	base, err := Options{Workers: o.Workers, FirstRow: o.FirstRow, Worst: o.Worst}.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := checkJob(job); err != nil {
		return nil, err
	}
	n := job.Input.Len()
	sample := o.Sample
	if sample == 0 || sample > n {
		sample = n
	}
	total := &Proof{Rows: n, worst: base.Worst}
	const block = 16 // a row may take a second
	err = inBlocks(ctx, sample, block, base.Workers, o.Progress, func() (check func(int), handIn func()) {
		r := prover{a: newAuditor(job, &base, nil), out: &Proof{worst: base.Worst}}
		row := func(k int) {
			first, last := stretch(k, n, sample), stretch(k+1, n, sample)
			r.row(first + int(mix(o.Seed, uint64(k))%uint64(last-first)))
		}
		return row, func() { total.Merge(r.out) }
	})
	if err != nil {
		return nil, fmt.Errorf("verify: proof stopped: %w", err)
	}
	return total, nil
}

// prover proves rows on one goroutine.
type prover struct {
	a     *auditor // reads the claims
	cover cover
	out   *Proof
}

func (r *prover) row(i int) {
	a, out := r.a, r.out
	out.Sampled++
	c := claim{row: a.opt.FirstRow + i}
	a.readStatus(i, &c)
	if _, err := a.job.Read(i, &a.in); err != nil || !a.query.SignedDistance || !c.inContact {
		return
	}
	a.p.place(a.job.Library.Shape(a.in.ShapeA), a.job.Library.Shape(a.in.ShapeB), &a.in.PoseA, &a.in.PoseB)
	a.readInterval(i, &c)
	// A claim of a contact within the gap is one of witnesses, which Audit proves.
	if !(c.upper <= 0) {
		return
	}
	least := -c.upper
	out.Depths++
	switch r.cover.depthAtLeast(&a.p, least) {
	case proved:
		out.Proved++
	case refuted:
		out.Refuted++
		found := r.cover.lowest + r.cover.ball
		out.keep(WorstRow{Row: c.row, Expected: Number(least), Found: Number(found), Residual: Number(least - found),
			Allowed: Number(a.p.rounding), Failed: true})
	default:
		out.Unproved++
		out.unproven(c.row)
	}
	out.Directions += int64(r.cover.used)
}

func (p *Proof) keep(w WorstRow) {
	list := Check{Worst: p.Worst}
	list.keep(w, p.worst)
	p.Worst = list.Worst
}

func (p *Proof) unproven(row int) {
	if len(p.Unproven) < p.worst {
		p.Unproven = append(p.Unproven, row)
	}
}

// Merge adds the counts of other, a proof of other rows of the same batch.
func (p *Proof) Merge(other *Proof) {
	p.worst = max(p.worst, other.worst)
	p.Rows += other.Rows
	p.Sampled += other.Sampled
	p.Depths += other.Depths
	p.Proved += other.Proved
	p.Refuted += other.Refuted
	p.Unproved += other.Unproved
	p.Directions += other.Directions
	for _, w := range other.Worst {
		p.keep(w)
	}
	for _, row := range other.Unproven {
		p.unproven(row)
	}
}

// WriteText writes the proof as text.
func (p *Proof) WriteText(w io.Writer) error {
	t := &printer{w: w}
	t.printf("%d rows sampled, %d of them claim a depth: lower bound proved of %d, refuted of %d, open of %d",
		p.Sampled, p.Depths, p.Proved, p.Refuted, p.Unproved)
	if p.Depths > 0 {
		t.printf("; %.0f directions per depth", math.Ceil(float64(p.Directions)/float64(p.Depths)))
	}
	t.printf("\n")
	if len(p.Worst) > 0 {
		t.printf("\nsome direction has a smaller support value than the claimed depth less the gap:\n")
		writeWorst(t, p.Worst)
	}
	if len(p.Unproven) > 0 {
		t.printf("\nneither proved nor refuted within %d directions: rows %v\n", maxDirections, p.Unproven)
	}
	return t.err
}
