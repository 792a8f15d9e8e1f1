package batch

import (
	"bytes"
	"slices"
)

// Count is what a report says of rows. The workers that answer rows count them, each in a Count of its own,
// while their columns are in the cache. Counts of the same rows are equal however the rows were divided: sums do
// not depend on the order, of equal gaps the first row is taken, and of invalid rows the first ones. A Count
// belongs to one goroutine at a time.
type Count struct {
	Rows     int
	Statuses [StatusCount]int

	// Solvers and Iterations are 0 without their columns.
	Solvers    [SolverCount]int
	Iterations int64

	// WorstGap is the largest gap relative to the scale of its row, see [ToleranceRule.Scale], over the decided
	// rows not beyond the cut-off. WorstGapRow is the first row with it, -1 if no gap is above 0.
	WorstGap    float64
	WorstGapRow int

	// Invalid are the first MaxInvalid invalid rows, ascending.
	Invalid    []int
	MaxInvalid int

	// Bad is the first row with a code of a status or a solver that does not exist, -1 if there is none.
	Bad int

	row Row // of inputs whose shapes are no column
}

// Reset empties a count. It keeps MaxInvalid and its memory.
func (c *Count) Reset() {
	*c = Count{WorstGapRow: -1, Bad: -1, Invalid: c.Invalid[:0], MaxInvalid: c.MaxInvalid}
}

// byteCodes has every code as a slice of one byte.
var byteCodes = func() (b [256]byte) {
	for i := range b {
		b[i] = byte(i)
	}
	return b
}()

// CountCodes adds the numbers of the codes below len(counts) and returns how many values are not among them.
func CountCodes(values []uint8, counts []int) (left int) {
	left = len(values)
	for code := 0; code < len(counts) && left > 0; code++ {
		n := bytes.Count(values, byteCodes[code:code+1])
		counts[code] += n
		left -= n
	}
	return left
}

// Add counts rows [lo, hi) of out, all of which are answered. Row 0 of out is row first of the job. out has the columns
// of [Options.Counted].
func (c *Count) Add(j *Job, first int, out *Results, lo, hi int) {
	status, method := out.Status()[lo:hi], out.Method()
	c.Rows += hi - lo
	invalid := c.Statuses[Invalid]
	if CountCodes(status, c.Statuses[:]) > 0 {
		c.bad(status, uint8(StatusCount), first+lo)
	}
	if c.Statuses[Invalid] > invalid {
		c.addInvalid(status, first+lo)
	}
	if method != nil && CountCodes(method[lo:hi], c.Solvers[:]) > 0 {
		c.bad(method[lo:hi], uint8(SolverCount), first+lo)
	}
	if iterations := out.Iterations(); iterations != nil {
		sum := int64(0)
		for _, n := range iterations[lo:hi] {
			sum += int64(n)
		}
		c.Iterations += sum
	}
	if !j.Options.StatusAlone() {
		c.addGaps(j, first, out, lo, hi)
	}
}

// bad notes the first row with a code of at least limit.
func (c *Count) bad(codes []uint8, limit uint8, first int) {
	i := slices.IndexFunc(codes, func(code uint8) bool { return code >= limit })
	if row := first + i; c.Bad < 0 || row < c.Bad {
		c.Bad = row
	}
}

// addInvalid notes the invalid rows among statuses.
func (c *Count) addInvalid(status []uint8, first int) {
	for i := 0; ; i++ {
		k := bytes.IndexByte(status[i:], uint8(Invalid))
		if k < 0 {
			return
		}
		i += k
		if !c.noteInvalid(first + i) {
			return // so are the later ones
		}
	}
}

// noteInvalid notes a row and reports whether it is among the first.
func (c *Count) noteInvalid(row int) bool {
	at, _ := slices.BinarySearch(c.Invalid, row)
	if at == c.MaxInvalid {
		return false
	}
	if len(c.Invalid) == c.MaxInvalid {
		c.Invalid = c.Invalid[:c.MaxInvalid-1]
	}
	c.Invalid = slices.Insert(c.Invalid, at, row)
	return true
}

// addGaps finds the worst gap.
func (c *Count) addGaps(j *Job, first int, out *Results, lo, hi int) {
	o := &j.Options
	rule := o.Query.Info().Tolerance
	least := rule.Scale(j.Library.MinPairSize(), 0) // of all rows
	cutOff, hasCutOff := o.EffectiveCutOff()
	status, gaps := out.Status(), out.Gap()
	limit := c.gapLimit(least)
	for i := lo; i < hi; i++ {
		// Most rows cannot have the worst gap, whatever the size of their pair.
		if gaps[i] <= limit || status[i] >= uint8(Undecided) || hasCutOff && out.Distance().At(i) > cutOff {
			continue
		}
		scale := c.pairSize(j, first+i)
		if rule == OfValue {
			scale = rule.Scale(scale, out.Distance().At(i))
		}
		if !(scale > 0) {
			continue
		}
		if c.worse(float64(gaps[i])/scale, first+i) {
			limit = c.gapLimit(least)
		}
	}
}

// worse takes a row whose relative gap is g if that is the worst one, or the same in an earlier row.
func (c *Count) worse(g float64, row int) bool {
	if !(g > c.WorstGap || g == c.WorstGap && row < c.WorstGapRow) {
		return false
	}
	c.WorstGap, c.WorstGapRow = g, row
	return true
}

// gapLimit returns a gap that rows with the worst one exceed, given the least scale of all rows. It is rounded down, so
// that a row is not left out by the rounding of its quotient.
func (c *Count) gapLimit(least float64) float32 {
	return float32(c.WorstGap * least * (1 - 0x1p-20))
}

// pairSize is the size of the pair of a row.
func (c *Count) pairSize(j *Job, row int) float64 {
	switch in := j.Input.(type) {
	case *Pairs:
		return j.Library.PairSize(in.ShapeA[row], in.ShapeB[row])
	case *Worlds:
		p := row % len(in.TemplateA)
		return j.Library.PairSize(in.Shapes[in.TemplateA[p]], in.Shapes[in.TemplateB[p]])
	}
	j.Input.Row(row, &c.row)
	return j.Library.PairSize(c.row.ShapeA, c.row.ShapeB)
}

// Merge adds the count of other rows of the same call.
func (c *Count) Merge(o *Count) {
	c.Rows += o.Rows
	for s, n := range o.Statuses {
		c.Statuses[s] += n
	}
	for s, n := range o.Solvers {
		c.Solvers[s] += n
	}
	c.Iterations += o.Iterations
	if o.WorstGapRow >= 0 {
		c.worse(o.WorstGap, o.WorstGapRow)
	}
	for _, row := range o.Invalid {
		if !c.noteInvalid(row) {
			break
		}
	}
	if o.Bad >= 0 && (c.Bad < 0 || o.Bad < c.Bad) {
		c.Bad = o.Bad
	}
}

// Counted returns the columns that a [Count] is computed from.
func (o *Options) Counted() Columns {
	need := ColStatus
	if o.StatusAlone() { // which is decided faster and transferred as bits
		return need
	}
	need |= ColIterations | ColGap | ColMethod
	if _, ok := o.EffectiveCutOff(); ok || o.Query.Info().Tolerance == OfValue {
		need |= ColDistance
	}
	return need
}
