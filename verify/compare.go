package verify

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"runtime"

	"clearance/batch"
	"clearance/ref"
)

// CompareOptions configure a comparison. The zero value compares every row.
type CompareOptions struct {
	// Sample is the number of rows to solve again; 0 is all of them. Seed draws one row
	// from each of Sample equal ranges of the input.
	Sample int
	Seed   uint64

	// Workers, FirstRow, Worst and Progress are as in [Options].
	Workers, FirstRow, Worst int
	Progress                 func(rows int)
}

// A Comparison is the result of solving rows again with package ref in double precision. Its
// JSON form is stable.
type Comparison struct {
	Rows         int `json:"rows"`          // rows of the job
	Compared     int `json:"compared"`      // rows that were solved again
	Distances    int `json:"distances"`     // of these, rows whose distance ± gap was compared
	Unanswered   int `json:"unanswered"`    // rows undecided or invalid in the results
	RefUndecided int `json:"ref_undecided"` // rows whose reference bounds missed their tolerance

	WrongDistances int `json:"wrong_distances"` // distance ± gap and the bounds of ref have no point in common
	WrongStatuses  int `json:"wrong_statuses"`  // the bounds of ref exclude the status
	WrongRows      int `json:"wrong_rows"`      // rows with either fault

	// Scale names what the sizes below are: "size", or "max(1, factor)" of growth distances.
	Scale string `json:"scale"`

	Errors  Histogram `json:"error_over_size"`   // |distance − ref|
	Gaps    Histogram `json:"gap_over_size"`     // gaps of the results
	RefGaps Histogram `json:"ref_gap_over_size"` // gaps of ref

	// WorstError is the largest |distance − ref| relative to the size of the pair, over
	// the rows to which the tolerance applies on both sides (see WriteText).
	WorstError Number `json:"worst_error_over_size"`

	// Worst are the rows with the largest error against the sum of both gaps.
	Worst []WorstRow `json:"worst"`

	worst int
}

// Compare solves a sample of the rows, or all of them, again and compares the answers. The
// true value lies within the bounds of ref and, if the answer is correct, in distance ± gap,
// so the two intervals must intersect. A status is wrong if the bounds of ref exclude it.
func Compare(ctx context.Context, job *batch.Job, o CompareOptions) (*Comparison, error) {
	if o.Sample < 0 {
		return nil, fmt.Errorf("verify: sample of %d rows, want a number above 0, or 0 for all", o.Sample)
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
	total := &Comparison{Rows: n, worst: base.Worst, Scale: job.Options.Query.Info().Tolerance.String()}

	// Depths of curved shapes take milliseconds: small blocks.
	const block = 64
	workers := base.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	err = inBlocks(ctx, sample, block, workers, o.Progress, func() (check func(int), handIn func()) {
		c := comparer{job: job, firstRow: o.FirstRow, out: &Comparison{worst: base.Worst}}
		row := func(k int) {
			// The ranges are disjoint, so no row is drawn twice.
			first, last := stretch(k, n, sample), stretch(k+1, n, sample)
			c.row(first + int(mix(o.Seed, uint64(k))%uint64(last-first)))
		}
		return row, func() { total.Merge(c.out) }
	})
	if err != nil {
		return nil, fmt.Errorf("verify: comparison stopped: %w", err)
	}
	return total, nil
}

// stretch returns ⌊k·n/m⌋ for k ≤ m ≤ n without forming k·n.
func stretch(k, n, m int) int { return k*(n/m) + k*(n%m)/m }

// comparer compares rows on one goroutine.
type comparer struct {
	job      *batch.Job
	firstRow int
	out      *Comparison

	in batch.Row
	ws ref.Workspace
}

func (c *comparer) row(i int) {
	job, res, out := c.job, c.job.Results, c.out
	out.Compared++
	status := batch.StatusCount // unknown
	switch {
	case res.Status() != nil:
		status = batch.Status(res.Status()[i])
	case res.Bits() != nil && !res.Bit(i):
		status = batch.Separated
	}
	if _, err := job.Read(i, &c.in); err != nil {
		// The audit checks whether the row should be invalid.
		out.Unanswered++
		return
	}
	if status == batch.Undecided || status == batch.Invalid {
		out.Unanswered++
		return
	}
	pair := ref.NewPair(job.Library.Shape(c.in.ShapeA), job.Library.Shape(c.in.ShapeB), c.in.PoseA, c.in.PoseB)
	truth := c.rules().solve(c, &pair)
	if truth.Status == ref.Undecided || truth.Status == ref.Invalid {
		out.RefUndecided++
	}
	out.RefGaps.add(truth.Gap() / c.scale(&pair, &truth))

	wrong := c.distance(i, &pair, &truth)
	if c.contradicts(i, status, &pair, &truth) {
		out.WrongStatuses++
		wrong = true
	}
	if wrong {
		out.WrongRows++
	}
}

func (c *comparer) query() *batch.QueryInfo { return c.job.Options.Query.Info() }

func (c *comparer) rules() *rules { return rulesOf[c.job.Options.Query] }

// scale is the length or factor that tolerances are relative to.
func (c *comparer) scale(pair *ref.Pair, truth *ref.Result) float64 {
	return c.query().Tolerance.Scale(pair.Size(), truth.Distance)
}

// distance compares distance ± gap with the bounds of ref.
func (c *comparer) distance(i int, pair *ref.Pair, truth *ref.Result) (wrong bool) {
	res, out := c.job.Results, c.out
	if res.Distance().Len() == 0 {
		return false
	}
	out.Distances++
	scale := c.scale(pair, truth)
	d, gap := res.Distance().At(i), c.tolerance(scale)
	if res.Gap() != nil {
		gap = float64(res.Gap()[i])
		out.Gaps.add(gap / scale)
	}
	err := math.Abs(d - truth.Distance)
	out.Errors.add(err / scale)
	// The distance of the two intervals. Each sum rounds by eps.
	miss := math.Max(truth.Lower-(d+gap), (d-gap)-truth.Upper)
	allowed := 4 * eps * (math.Abs(d) + gap)
	wrong = !(miss <= allowed) || math.IsInf(d, 0)
	if wrong {
		out.WrongDistances++
	}
	if gap <= c.accuracy()*scale {
		out.WorstError = Number(math.Max(float64(out.WorstError), err/scale))
	}
	w := WorstRow{
		Row: c.firstRow + i, Expected: Number(truth.Distance), Found: Number(d),
		Residual: Number(err), Allowed: Number(gap + truth.Gap()), Failed: wrong,
	}
	if w.rank() > 0 {
		out.keep(w)
	}
	return wrong
}

// accuracy is the relative gap up to which a row counts for WorstError. Rows beyond a cut-off
// have wider gaps and are not meant to be accurate.
func (c *comparer) accuracy() float64 {
	return 2 * c.tolerance(1)
}

// tolerance is the largest gap of a decided row, where the default depends on the shapes that of curved ones.
func (c *comparer) tolerance(scale float64) float64 {
	if t := c.job.Options.EffectiveTolerance(scale); t > 0 {
		return t
	}
	return c.query().CurvedTolerance * scale
}

// contradicts reports whether the bounds of ref exclude the status. Touching means that the value of shapes
// that touch lies in distance ± gap or, without these columns, within the tolerance.
func (c *comparer) contradicts(i int, status batch.Status, pair *ref.Pair, truth *ref.Result) bool {
	res, touch := c.job.Results, c.query().Touch
	switch status {
	case batch.Separated:
		return !(truth.Upper > touch)
	case batch.Penetrating:
		return !(truth.Lower < touch)
	case batch.Touching:
		if res.Distance().Len() != 0 && res.Gap() != nil {
			return !(math.Abs(res.Distance().At(i)-touch) <= float64(res.Gap()[i]))
		}
	case batch.StatusCount:
		if res.Bits() == nil {
			return false
		}
		// A set bit means contact or a row without an answer.
		return truth.Lower > touch+c.touching(pair, truth)
	default:
		return true
	}
	t := c.touching(pair, truth)
	return !(truth.Lower <= touch+t && truth.Upper >= touch-t)
}

func (c *Comparison) keep(w WorstRow) {
	list := Check{Worst: c.Worst}
	list.keep(w, c.worst)
	c.Worst = list.Worst
}

// Merge adds the counts of other, a comparison of other rows of the same batch.
func (c *Comparison) Merge(other *Comparison) {
	c.worst = max(c.worst, other.worst)
	c.Scale = cmp.Or(c.Scale, other.Scale)
	c.Rows += other.Rows
	c.Compared += other.Compared
	c.Distances += other.Distances
	c.Unanswered += other.Unanswered
	c.RefUndecided += other.RefUndecided
	c.WrongDistances += other.WrongDistances
	c.WrongStatuses += other.WrongStatuses
	c.WrongRows += other.WrongRows
	c.Errors.merge(&other.Errors)
	c.Gaps.merge(&other.Gaps)
	c.RefGaps.merge(&other.RefGaps)
	c.WorstError = max(c.WorstError, other.WorstError)
	for _, w := range other.Worst {
		c.keep(w)
	}
}

// OK reports whether no compared row contradicts the reference.
func (c *Comparison) OK() bool { return c.WrongRows == 0 }

// Wrong is the number of rows that contradict the reference.
func (c *Comparison) Wrong() int { return c.WrongRows }

// WriteText writes the comparison as a few lines.
func (c *Comparison) WriteText(w io.Writer) error {
	t := &printer{w: w}
	t.printf("%d of %d rows solved anew: %d wrong (%d distances, %d statuses), %d without an answer, %d undecided by "+
		"the reference\n",
		c.Compared, c.Rows, c.WrongRows, c.WrongDistances, c.WrongStatuses, c.Unanswered, c.RefUndecided)
	if c.Distances > 0 {
		t.printf("worst error/%s of rows within the tolerance  %.2g\n", c.Scale, float64(c.WorstError))
		t.printf("error/%s    %s\n", c.Scale, c.Errors.String())
		t.printf("gap/%s      %s\n", c.Scale, c.Gaps.String())
	}
	t.printf("ref gap/%s  %s\n", c.Scale, c.RefGaps.String())
	writeWorst(t, c.Worst)
	return t.err
}
