package batch

import (
	"fmt"
	"math"
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
