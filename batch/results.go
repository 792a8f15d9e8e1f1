package batch

import (
	"fmt"
	"math"
)

// Floats is a column of float32 (single precision) or float64 (double precision). Exactly one
// of the slices is not nil, or none if the column is absent.
type Floats struct {
	F32 []float32
	F64 []float64
}

// Results has the result columns of N rows. Columns that were not requested are nil. The true
// value lies in Distance ± Gap, see [Results.Put].
//
// Rows without an answer, among them all rows of new results, are [Undecided] with distance
// NaN and gap +Inf. [Invalid] rows are the same but for their status.
type Results struct {
	N          int
	Columns    Columns
	Precision  Precision
	Distance   Floats    // [N]
	Gap        []float32 // [N]
	Normal     Floats    // [N,3] unit, world frame, from A to B
	WitnessA   Floats    // [N,3] world frame
	WitnessB   Floats    // [N,3] world frame
	Point      Floats    // [N,3] world frame
	Status     []uint8   // [N]
	Iterations []uint16  // [N]
	Method     []uint8   // [N] codes of Solver

	// Bits has one bit per row, [⌈N/64⌉]: row i is bit i mod 64 of word i/64, and the
	// bits beyond row N are 0. A clear bit means that the pair was proved to be
	// Separated. A set bit means Touching, Penetrating, or a row without an answer
	// (Undecided, Invalid): a failure is never "no contact". The status column
	// distinguishes them; the counts of the report tell whether there are any.
	Bits []uint64
}

// NewResults allocates results of n rows with the columns and the precision of o. All rows
// are Undecided.
func NewResults(n int, o *Options) *Results {
	c := o.EffectiveColumns()
	r := &Results{N: n, Columns: c, Precision: o.Precision}
	floats := func(col Columns, n int) Floats {
		switch {
		case c&col == 0:
			return Floats{}
		case o.Precision == Double:
			return Floats{F64: make([]float64, n)}
		}
		return Floats{F32: make([]float32, n)}
	}
	r.Distance = floats(ColDistance, n)
	r.Normal = floats(ColNormal, 3*n)
	r.WitnessA = floats(ColWitnessA, 3*n)
	r.WitnessB = floats(ColWitnessB, 3*n)
	r.Point = floats(ColPoint, 3*n)
	if c&ColGap != 0 {
		r.Gap = make([]float32, n)
	}
	if c&ColStatus != 0 {
		r.Status = make([]uint8, n)
	}
	if c&ColIterations != 0 {
		r.Iterations = make([]uint16, n)
	}
	if c&ColMethod != 0 {
		r.Method = make([]uint8, n)
	}
	if c&ColBits != 0 {
		r.Bits = make([]uint64, words(n))
	}
	r.Reset()
	return r
}

func words(n int) int { return (n + BitsPerWord - 1) / BitsPerWord }

// Reset makes every row Undecided, so that the results can be reused.
func (r *Results) Reset() {
	for i := range r.N {
		r.PutFailure(i, Undecided)
	}
	r.ResetStatus()
}

// ResetStatus makes the status of every row Undecided, and sets its bit. The other columns keep what they hold.
func (r *Results) ResetStatus() {
	for i := range r.Status {
		r.Status[i] = uint8(Undecided)
	}
	for i := range r.Bits {
		r.Bits[i] = ^uint64(0)
	}
	r.clearTail()
}

// clearTail clears the bits beyond row N of the last word.
func (r *Results) clearTail() {
	if tail := r.N % BitsPerWord; tail != 0 && r.Bits != nil {
		r.Bits[len(r.Bits)-1] &= 1<<tail - 1
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
	*s = Results{N: hi - lo, Columns: r.Columns, Precision: r.Precision}
	s.Distance = r.Distance.slice(lo, hi)
	s.Normal = r.Normal.slice(3*lo, 3*hi)
	s.WitnessA = r.WitnessA.slice(3*lo, 3*hi)
	s.WitnessB = r.WitnessB.slice(3*lo, 3*hi)
	s.Point = r.Point.slice(3*lo, 3*hi)
	if r.Gap != nil {
		s.Gap = r.Gap[lo:hi]
	}
	if r.Status != nil {
		s.Status = r.Status[lo:hi]
	}
	if r.Iterations != nil {
		s.Iterations = r.Iterations[lo:hi]
	}
	if r.Method != nil {
		s.Method = r.Method[lo:hi]
	}
	if r.Bits != nil {
		if lo%BitsPerWord != 0 || (hi%BitsPerWord != 0 && hi != r.N) {
			panic(fmt.Sprintf("batch: rows [%d, %d) do not begin and end at words of the bits column", lo, hi))
		}
		s.Bits = r.Bits[lo/BitsPerWord : words(hi)]
	}
}

// CheckShape returns an error if the length of a column does not match N or its type does
// not match the precision.
func (r *Results) CheckShape() error {
	for _, c := range []struct {
		col       Columns
		got, want int
	}{
		{ColGap, len(r.Gap), r.N}, {ColStatus, len(r.Status), r.N},
		{ColIterations, len(r.Iterations), r.N}, {ColMethod, len(r.Method), r.N}, {ColBits, len(r.Bits), words(r.N)},
	} {
		if r.Columns&c.col == 0 {
			c.want = 0
		}
		if c.got != c.want {
			return fmt.Errorf("batch: results column %v has %d values, want %d", c.col, c.got, c.want)
		}
	}
	for _, c := range []struct {
		col  Columns
		f    *Floats
		want int
	}{
		{ColDistance, &r.Distance, r.N}, {ColNormal, &r.Normal, 3 * r.N},
		{ColWitnessA, &r.WitnessA, 3 * r.N}, {ColWitnessB, &r.WitnessB, 3 * r.N}, {ColPoint, &r.Point, 3 * r.N},
	} {
		want32, want64 := c.want, 0
		if r.Precision == Double {
			want32, want64 = 0, c.want
		}
		if r.Columns&c.col == 0 {
			want32, want64 = 0, 0
		}
		if len(c.f.F32) != want32 || len(c.f.F64) != want64 {
			return fmt.Errorf("batch: results column %v has %d float32 and %d float64, want %d and %d",
				c.col, len(c.f.F32), len(c.f.F64), want32, want64)
		}
	}
	return nil
}

// Len returns the number of values.
func (f *Floats) Len() int { return len(f.F32) + len(f.F64) }

// At returns value i as a float64.
func (f *Floats) At(i int) float64 {
	if f.F64 != nil {
		return f.F64[i]
	}
	return float64(f.F32[i])
}

// Set stores value i, rounded to nearest in single precision.
func (f *Floats) Set(i int, v float64) {
	if f.F64 != nil {
		f.F64[i] = v
	} else {
		f.F32[i] = float32(v)
	}
}

func (f *Floats) slice(lo, hi int) Floats {
	switch {
	case f.F64 != nil:
		return Floats{F64: f.F64[lo:hi]}
	case f.F32 != nil:
		return Floats{F32: f.F32[lo:hi]}
	}
	return Floats{}
}

// nan fills values lo to hi with NaN; on an absent column it does nothing.
func (f *Floats) nan(lo, hi int) {
	if f.F64 != nil {
		for i := lo; i < hi; i++ {
			f.F64[i] = math.NaN()
		}
	}
	if f.F32 != nil {
		for i := lo; i < hi; i++ {
			f.F32[i] = float32(math.NaN())
		}
	}
}
