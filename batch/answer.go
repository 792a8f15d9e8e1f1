package batch

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

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

// Put stores the answer of row i in the columns present. [Results.PackBits] writes the bits
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
	stored := a.Distance
	if r.Precision == Single {
		stored = float64(float32(stored))
	}
	if r.Distance.Len() != 0 {
		r.Distance.Set(i, stored)
	}
	if r.Gap != nil {
		r.Gap[i] = gapUp(stored, a.Lower, a.Upper)
	}
	r.Normal.setVec(i, a.Normal)
	r.WitnessA.setVec(i, a.WitnessA)
	r.WitnessB.setVec(i, a.WitnessB)
	r.Point.setVec(i, a.Point)
	if r.Status != nil {
		r.Status[i] = uint8(a.Status)
	}
	if r.Iterations != nil {
		r.Iterations[i] = uint16(min(max(a.Iterations, 0), MaxIterations))
	}
	if r.Method != nil {
		r.Method[i] = uint8(a.Solver)
	}
}

// PutFailure stores a row without an answer, Undecided or Invalid: distance,
// normal, witnesses and point NaN, gap +Inf, no iterations, no solver.
func (r *Results) PutFailure(i int, s Status) {
	r.Distance.nan(i, min(i+1, r.Distance.Len()))
	r.Normal.nan(3*i, min(3*i+3, r.Normal.Len()))
	r.WitnessA.nan(3*i, min(3*i+3, r.WitnessA.Len()))
	r.WitnessB.nan(3*i, min(3*i+3, r.WitnessB.Len()))
	r.Point.nan(3*i, min(3*i+3, r.Point.Len()))
	if r.Gap != nil {
		r.Gap[i] = float32(math.Inf(1))
	}
	if r.Status != nil {
		r.Status[i] = uint8(s)
	}
	if r.Iterations != nil {
		r.Iterations[i] = 0
	}
	if r.Method != nil {
		r.Method[i] = uint8(SolverNone)
	}
}

// PackBits computes the bits column, if present, from N statuses: the status column or one
// stored elsewhere.
func (r *Results) PackBits(statuses []uint8) {
	if r.Bits == nil {
		return
	}
	clear(r.Bits)
	for i, s := range statuses[:r.N] {
		if Status(s) != Separated {
			r.Bits[i/BitsPerWord] |= 1 << (i % BitsPerWord)
		}
	}
}

// Bit reports bit i of the bits column. It is false only if the pair was proved to be
// separated.
func (r *Results) Bit(i int) bool { return r.Bits[i/BitsPerWord]>>(i%BitsPerWord)&1 != 0 }

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

func (f *Floats) setVec(i int, v r3.Vec) {
	switch {
	case f.F64 != nil:
		c := f.F64[3*i : 3*i+3]
		c[0], c[1], c[2] = v.X, v.Y, v.Z
	case f.F32 != nil:
		c := f.F32[3*i : 3*i+3]
		c[0], c[1], c[2] = float32(v.X), float32(v.Y), float32(v.Z)
	}
}
