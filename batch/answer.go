package batch

import (
	"encoding/binary"
	"math"
	"unsafe"

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
