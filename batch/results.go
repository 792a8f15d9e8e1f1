package batch

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"gonum.org/v1/gonum/spatial/r3"
)

// Results has the result columns of N rows, stored by the table of columns: those of Columns are present. The methods
// with the names of the columns return them. The true value lies in distance ± gap, see [Results.Put].
//
// Rows without an answer, among them all rows of new results, are [Undecided] with distance
// NaN and gap +Inf. [Invalid] rows are the same but for their status.
type Results struct {
	N         int
	Columns   Columns
	Precision Precision

	// Marks, if not nil, are those of a call in progress.
	Marks Marks

	column [columnCount]Values
}

// NewResults allocates results of n rows with the columns and the precision of o. All rows
// are Undecided.
func NewResults(n int, o *Options) *Results {
	r := UnsetResults(n, o)
	r.Reset()
	return r
}

// UnsetResults is NewResults without filling the rows, which hold anything: the caller writes or fills every one of
// them. So the memory is first touched by the goroutines that write the rows.
func UnsetResults(n int, o *Options) *Results {
	r := EmptyResults(n, o.EffectiveColumns(), o.Precision)
	for m := r.Columns; m != 0; m &= m - 1 {
		info := m.Info()
		r.column[m.index()].make(info.Type.In(r.Precision), info.Width*n)
	}
	return r
}

// EmptyResults returns results of n rows without memory, which [Results.SetColumn] gives to each of the columns.
func EmptyResults(n int, c Columns, p Precision) *Results {
	return &Results{N: n, Columns: c, Precision: p}
}

// Column returns the values of a single column, which are nil if it is absent.
func (r *Results) Column(c Columns) *Values { return &r.column[c.index()] }

// SetColumn gives a single column its memory. [Results.CheckShape] tells whether it fits.
func (r *Results) SetColumn(c Columns, v Values) {
	r.Columns |= c
	r.column[c.index()] = v
}

// Distance returns the values of the query, [N], see QueryInfo.Value.
func (r *Results) Distance() *Values { return r.Column(ColDistance) }

// Gap returns the bounds of the errors, [N].
func (r *Results) Gap() []float32 { return r.Column(ColGap).F32 }

// Normal returns unit vectors from A to B, [N,3], in the world frame.
func (r *Results) Normal() *Values { return r.Column(ColNormal) }

// WitnessA returns points of A, [N,3], in the world frame.
func (r *Results) WitnessA() *Values { return r.Column(ColWitnessA) }

// WitnessB returns points of B, [N,3], in the world frame.
func (r *Results) WitnessB() *Values { return r.Column(ColWitnessB) }

// Point returns the common points of the scaled shapes, [N,3], in the world frame. Only growth has it.
func (r *Results) Point() *Values { return r.Column(ColPoint) }

// Status returns the codes of Status, [N].
func (r *Results) Status() []uint8 { return r.Column(ColStatus).U8 }

// Iterations returns the iterations of the solvers that ended the rows, [N].
func (r *Results) Iterations() []uint16 { return r.Column(ColIterations).U16 }

// Method returns the codes of Solver, [N].
func (r *Results) Method() []uint8 { return r.Column(ColMethod).U8 }

// Bits returns one bit per row, [⌈N/64⌉]: row i is bit i mod 64 of word i/64, and the
// bits beyond row N are 0. A clear bit means that the pair was proved to be
// Separated. A set bit means Touching, Penetrating, or a row without an answer
// (Undecided, Invalid): a failure is never "no contact". The status column
// distinguishes them; the counts of the report tell whether there are any.
func (r *Results) Bits() []uint64 { return r.Column(ColBits).Bits }

func words(n int) int { return (n + BitsPerWord - 1) / BitsPerWord }

// Reset makes every row Undecided, so that the results can be reused.
func (r *Results) Reset() {
	for m := r.Columns; m != 0; m &= m - 1 {
		info := m.Info()
		r.column[m.index()].fill(info.Failure, 0, info.Width*r.N)
	}
	r.clearTail()
}

// Fail makes rows lo to hi Undecided, but for the bits, which [Results.PackBits] writes. It leaves their marks.
func (r *Results) Fail(lo, hi int) {
	for m := r.Columns &^ ColBits; m != 0; m &= m - 1 {
		info := m.Info()
		r.column[m.index()].fill(info.Failure, info.Width*lo, info.Width*hi)
	}
}

// ResetStatus makes the status of every row Undecided, and sets its bit. The other columns keep what they hold.
func (r *Results) ResetStatus() {
	fill(r.Status(), uint8(Undecided))
	fill(r.Bits(), ^uint64(0))
	r.clearTail()
}

// clearTail clears the bits beyond row N of the last word.
func (r *Results) clearTail() {
	if tail := r.N % BitsPerWord; tail != 0 && len(r.Bits()) > 0 {
		r.Bits()[len(r.Bits())-1] &= 1<<tail - 1
	}
}

// Slice returns rows lo to hi, sharing the memory. If there is a bits column, lo
// must be a multiple of [BitsPerWord], and hi must be one or N.
func (r *Results) Slice(lo, hi int) *Results {
	s := new(Results)
	r.SliceTo(s, lo, hi)
	return s
}

// SliceTo is Slice into s, whose contents do not matter. It does not allocate.
func (r *Results) SliceTo(s *Results, lo, hi int) {
	if r.Bits() != nil && (lo%BitsPerWord != 0 || hi%BitsPerWord != 0 && hi != r.N) {
		panic(fmt.Sprintf("batch: rows [%d, %d) do not begin and end at words of the bits column", lo, hi))
	}
	*s = Results{N: hi - lo, Columns: r.Columns, Precision: r.Precision}
	if r.Marks != nil {
		s.Marks = r.Marks[lo:hi]
	}
	for m := r.Columns; m != 0; m &= m - 1 {
		k := m.index()
		s.column[k] = r.column[k].slice(columns[k].Width*lo, columns[k].Width*hi)
	}
}

// Adopt takes columns of other results of as many rows, sharing the memory.
func (r *Results) Adopt(from *Results, c Columns) {
	for m := c; m != 0; m &= m - 1 {
		r.column[m.index()] = from.column[m.index()]
	}
	r.Columns |= c
}

// CopyRow copies columns of row k of other results to row i, those that both have, of the same precision. It leaves out
// the bits, which [Results.PackBits] writes.
func (r *Results) CopyRow(i int, from *Results, k int, c Columns) { r.CopyRows(i, from, k, 1, c) }

// CopyRows is CopyRow for n rows from i and k on.
func (r *Results) CopyRows(i int, from *Results, k, n int, c Columns) {
	for m := c & r.Columns & from.Columns &^ ColBits; m != 0; m &= m - 1 {
		j := m.index()
		w := columns[j].Width
		r.column[j].copy(w*i, &from.column[j], w*k, w*n)
	}
}

// Resize sets the number of rows. New rows hold any values.
func (r *Results) Resize(n int) {
	r.N, r.Marks = n, Resize(r.Marks, n)
	for m := r.Columns; m != 0; m &= m - 1 {
		k := m.index()
		r.column[k].resize(columns[k].Width * n)
	}
}

// Differs returns the first column that both results have and in which row i of r and row k of other are not equal bit
// for bit, 0 if there is none.
func (r *Results) Differs(i int, other *Results, k int) Columns {
	for m := r.Columns & other.Columns; m != 0; m &= m - 1 {
		j := m.index()
		w := columns[j].Width
		for c := range w {
			x, y := r.column[j].At(w*i+c), other.column[j].At(w*k+c)
			if math.Float64bits(x) != math.Float64bits(y) {
				return m & -m
			}
		}
	}
	return 0
}

// Drop removes columns.
func (r *Results) Drop(c Columns) {
	for m := c & r.Columns; m != 0; m &= m - 1 {
		r.column[m.index()] = Values{}
	}
	r.Columns &^= c
}

// CheckShape returns an error if the length of a column does not match N or its type does
// not match the table and the precision.
func (r *Results) CheckShape() error {
	if unknown := r.Columns &^ anyColumns; unknown != 0 {
		return fmt.Errorf("batch: results have no column %v", unknown)
	}
	for i := range columns {
		info, want := &columns[i], 0
		t := info.Type.In(r.Precision)
		if r.Columns&(1<<i) != 0 {
			want = info.Width * r.N
		}
		if t == BitSet {
			want = words(want)
		}
		if got, alone := r.column[i].lengthOf(t); got != want || !alone {
			return fmt.Errorf("batch: results column %s has %d values of type %v (%d of any type), want %d",
				info.Name, got, t,
				r.column[i].Len(), want)
		}
	}
	return nil
}

// Answer is the answer of one row in float64, before it is rounded to columns.
type Answer struct {
	Status       Status
	Distance     float64 // the value that the witnesses attain, see QueryInfo.Value
	Lower, Upper float64 // bounds of the true value

	Normal             r3.Vec // unit, world frame, from A to B
	WitnessA, WitnessB r3.Vec // world frame
	Point              r3.Vec // world frame, of growth only
	Iterations         int
	Solver             Solver // the one that ended the row
}

// Put stores the answer of row i in the columns present, and marks it. [Results.PackBits] writes the bits
// column.
//
// Distance, normal, witnesses and point are rounded to nearest. The gap is the larger of
// the differences between the stored distance and both bounds, rounded up, so the
// true value lies in stored distance ± stored gap in either precision. It is
// +Inf if a bound is NaN or infinite. The status is stored as it was proved in
// float64: after rounding, the interval of a Separated or Penetrating row may
// still touch zero.
//
// Put may be called by several goroutines at once for different rows.
func (r *Results) Put(i int, a *Answer) {
	r.PutColumns(i, a, r.Columns)
	if r.Marks != nil {
		r.Marks[i] = Answered
	}
}

// PutColumns is Put for the columns of c alone, without the mark. It leaves derivatives as they are.
func (r *Results) PutColumns(i int, a *Answer, c Columns) {
	stored := a.Distance
	if r.Precision == Single {
		stored = float64(float32(stored))
	}
	for m := c & r.Columns &^ (ColBits | DerivedColumns); m != 0; m &= m - 1 {
		v := &r.column[m.index()]
		switch m & -m {
		case ColDistance:
			v.Set(i, stored)
		case ColGap:
			v.F32[i] = gapUp(stored, a.Lower, a.Upper)
		case ColStatus:
			v.U8[i] = uint8(a.Status)
		case ColIterations:
			v.U16[i] = uint16(min(max(a.Iterations, 0), MaxIterations))
		case ColMethod:
			v.U8[i] = uint8(a.Solver)
		default:
			info := m.Info()
			v.SetReals(i, unsafe.Slice((*float64)(unsafe.Add(unsafe.Pointer(a), info.from)), info.Width))
		}
	}
}

// PutFailure stores a row without an answer, Undecided or Invalid: distance,
// normal, witnesses and point NaN, gap +Inf, no iterations, no solver. It marks the row as answered.
func (r *Results) PutFailure(i int, s Status) {
	r.ClearRow(i, r.Columns&^ColStatus)
	if status := r.Status(); status != nil {
		status[i] = uint8(s)
	}
	if r.Marks != nil {
		r.Marks[i] = Answered
	}
}

// ClearRow gives columns of a row the value of rows without an answer.
func (r *Results) ClearRow(i int, c Columns) {
	for m := c & r.Columns &^ ColBits; m != 0; m &= m - 1 {
		k := m.index()
		w := columns[k].Width
		r.column[k].fill(columns[k].Failure, w*i, w*i+w)
	}
}

// PackBits computes the bits column, if present, from N statuses: the status column or one
// stored elsewhere.
func (r *Results) PackBits(statuses []uint8) {
	words := r.Bits()
	if words == nil {
		return
	}
	statuses = statuses[:r.N]
	for k := range words {
		row := statuses[k*BitsPerWord:]
		word := uint64(0)
		if len(row) >= BitsPerWord {
			for i := 0; i < BitsPerWord; i += 8 {
				word |= nonzero(binary.LittleEndian.Uint64(row[i:])) << i
			}
		} else {
			for i, s := range row {
				if Status(s) != Separated {
					word |= 1 << i
				}
			}
		}
		words[k] = word
	}
}

// nonzero returns a bit for each byte of x, set if the byte is not 0, that is, not Separated.
func nonzero(x uint64) uint64 {
	const low = 0x7f7f7f7f7f7f7f7f
	x = ((x&low + low) | x) &^ low >> 7 // 1 in every byte that is not 0
	return x * 0x0102040810204080 >> 56 // the eight products meet in no bit
}

// Bit reports bit i of the bits column. It is false only if the pair was proved to be
// separated.
func (r *Results) Bit(i int) bool { return r.Bits()[i/BitsPerWord]>>(i%BitsPerWord)&1 != 0 }

// gapUp returns a float32 that is at least the difference between d and either bound.
func gapUp(d, lower, upper float64) float32 {
	g := max(upper-d, d-lower) // NaN if either is
	switch {
	case g == 0: // a difference of floats that rounds to zero is zero
		return 0
	case !(g > 0): // NaN, or bounds that do not contain d
		return float32(math.Inf(1))
	}
	// The subtraction rounded to nearest: one step up covers it.
	return RoundUp32(math.Nextafter(g, math.Inf(1)))
}

// RoundUp32 rounds x to the nearest float32 that is not below it.
func RoundUp32(x float64) float32 {
	f := float32(x)
	if float64(f) < x {
		f = math.Nextafter32(f, float32(math.Inf(1)))
	}
	return f
}

// Marks say, beside the status column, what a call has done with each row: [N], codes [Unanswered], [Answered] and
// [Omitted]. The dispatcher hands back ends results with marks, all of them Unanswered; [Results.Put] and
// [Results.PutFailure] mark the row. Rows left Unanswered are declined or were not reached: their columns hold anything
// until the dispatcher fills them. Methods of nil marks do nothing, so that back ends can be called without.
type Marks []uint8

// Codes of marks.
const (
	Unanswered uint8 = iota
	Answered         // the columns of the row hold its answer, or say that it is Invalid
	Omitted          // answered, but not stored, since a [Reduction] does not need the row
)

// Set marks rows lo to hi.
func (m Marks) Set(lo, hi int, code uint8) {
	if m != nil {
		fill(m[lo:hi], code)
	}
}

// Count returns the number of rows with a mark.
func (m Marks) Count(code uint8) int { return bytes.Count(m, byteCodes[code:code+1]) }

// Next returns the first row from i on with a mark, -1 if there is none.
func (m Marks) Next(i int, code uint8) int {
	if k := bytes.IndexByte(m[i:], code); k >= 0 {
		return i + k
	}
	return -1
}

// NextRun returns the first rows from i on that have a mark, [lo, hi); lo is -1 if there are none.
func (m Marks) NextRun(i int, code uint8) (lo, hi int) {
	if lo = m.Next(i, code); lo < 0 {
		return -1, -1
	}
	for hi = lo + 1; hi < len(m) && m[hi] == code; hi++ {
	}
	return lo, hi
}

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
	status, solvers := out.Status()[lo:hi], out.Method()
	c.Rows += hi - lo
	invalid := c.Statuses[Invalid]
	if CountCodes(status, c.Statuses[:]) > 0 {
		c.bad(status, uint8(StatusCount), first+lo)
	}
	if c.Statuses[Invalid] > invalid {
		c.addInvalid(status, first+lo)
	}
	if solvers != nil && CountCodes(solvers[lo:hi], c.Solvers[:]) > 0 {
		c.bad(solvers[lo:hi], uint8(SolverCount), first+lo)
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
