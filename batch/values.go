package batch

import (
	"unsafe"

	"gonum.org/v1/gonum/spatial/r3"
)

// Values holds the values of one column, row by row. The slice of its type is not nil, unless the column is absent or
// has no rows; the others are nil.
type Values struct {
	F32  []float32
	F64  []float64
	U8   []uint8
	U16  []uint16
	Bits []uint64 // bit i mod 64 of word i/64
}

// make allocates n values.
func (v *Values) make(t ElementType, n int) {
	switch t {
	case Float32:
		v.F32 = make([]float32, n)
	case Float64:
		v.F64 = make([]float64, n)
	case Uint8:
		v.U8 = make([]uint8, n)
	case Uint16:
		v.U16 = make([]uint16, n)
	case BitSet:
		v.Bits = make([]uint64, words(n))
	}
}

// ValuesAt returns the n values of a type that lie at p, sharing the memory; none if p is nil. It is the reverse of
// [Values.Data].
func ValuesAt(t ElementType, p unsafe.Pointer, n int) (v Values) {
	if p == nil || n == 0 {
		return v
	}
	switch t {
	case Float32:
		v.F32 = unsafe.Slice((*float32)(p), n)
	case Float64:
		v.F64 = unsafe.Slice((*float64)(p), n)
	case Uint8:
		v.U8 = unsafe.Slice((*uint8)(p), n)
	case Uint16:
		v.U16 = unsafe.Slice((*uint16)(p), n)
	case BitSet:
		v.Bits = unsafe.Slice((*uint64)(p), words(n))
	}
	return v
}

// slice returns values lo to hi, sharing the memory.
func (v *Values) slice(lo, hi int) (s Values) {
	switch {
	case v.F32 != nil:
		s.F32 = v.F32[lo:hi]
	case v.F64 != nil:
		s.F64 = v.F64[lo:hi]
	case v.U8 != nil:
		s.U8 = v.U8[lo:hi]
	case v.U16 != nil:
		s.U16 = v.U16[lo:hi]
	case v.Bits != nil:
		s.Bits = v.Bits[lo/BitsPerWord : words(hi)]
	}
	return s
}

// fill stores x in values lo to hi; of bits, lo must be 0 and all words are filled.
func (v *Values) fill(x float64, lo, hi int) {
	switch {
	case v.F32 != nil:
		fill(v.F32[lo:hi], float32(x))
	case v.F64 != nil:
		fill(v.F64[lo:hi], x)
	case v.U8 != nil:
		fill(v.U8[lo:hi], uint8(x))
	case v.U16 != nil:
		fill(v.U16[lo:hi], uint16(x))
	case v.Bits != nil:
		fill(v.Bits, -uint64(x))
	}
}

// fill sets every element, by copies of a part that doubles: much faster than a loop where elements are not zero.
func fill[T any](s []T, x T) {
	if len(s) == 0 {
		return
	}
	s[0] = x
	for n := 1; n < len(s); n *= 2 {
		copy(s[n:], s[:n])
	}
}

// copy copies n values from value k of another column of the same type to value i.
func (v *Values) copy(i int, from *Values, k, n int) {
	switch {
	case v.F32 != nil:
		copy(v.F32[i:i+n], from.F32[k:k+n])
	case v.F64 != nil:
		copy(v.F64[i:i+n], from.F64[k:k+n])
	case v.U8 != nil:
		copy(v.U8[i:i+n], from.U8[k:k+n])
	case v.U16 != nil:
		copy(v.U16[i:i+n], from.U16[k:k+n])
	}
}

// resize sets the number of values of a column that is present. It keeps those that it has; new ones hold anything.
func (v *Values) resize(n int) {
	v.F32, v.F64 = Resize(v.F32, n), Resize(v.F64, n)
	v.U8, v.U16, v.Bits = Resize(v.U8, n), Resize(v.U16, n), Resize(v.Bits, words(n))
}

// Resize returns s with n elements, in its memory if that suffices; nil stays nil.
func Resize[T any](s []T, n int) []T {
	switch {
	case s == nil:
		return nil
	case n <= cap(s):
		return s[:n]
	}
	grown := make([]T, n, max(n, 2*cap(s)))
	copy(grown, s)
	return grown
}

// lengthOf returns the number of values of a type, and whether all others are absent.
func (v *Values) lengthOf(t ElementType) (n int, alone bool) {
	lengths := [ElementTypeCount]int{Float32: len(v.F32), Float64: len(v.F64), Uint8: len(v.U8), Uint16: len(v.U16),
		BitSet: len(v.Bits)}
	n = lengths[t]
	lengths[t] = 0
	return n, lengths == [ElementTypeCount]int{}
}

// Len returns the number of values, of bits that of words.
func (v *Values) Len() int { return len(v.F32) + len(v.F64) + len(v.U8) + len(v.U16) + len(v.Bits) }

// At returns value i as a float64.
func (v *Values) At(i int) float64 {
	switch {
	case v.F64 != nil:
		return v.F64[i]
	case v.F32 != nil:
		return float64(v.F32[i])
	case v.U8 != nil:
		return float64(v.U8[i])
	case v.U16 != nil:
		return float64(v.U16[i])
	}
	return float64(v.Bits[i/BitsPerWord] >> (i % BitsPerWord) & 1)
}

// Vec returns the vector of row i of a column of three values per row.
func (v *Values) Vec(i int) r3.Vec { return r3.Vec{X: v.At(3 * i), Y: v.At(3*i + 1), Z: v.At(3*i + 2)} }

// Set stores value i of a column of floats, rounded to nearest in single precision.
func (v *Values) Set(i int, x float64) {
	if v.F64 != nil {
		v.F64[i] = x
	} else {
		v.F32[i] = float32(x)
	}
}

// SetReals stores the values of row i, rounded to nearest in single precision.
func (v *Values) SetReals(i int, x []float64) {
	if v.F64 != nil {
		copy(v.F64[len(x)*i:len(x)*(i+1)], x)
		return
	}
	row := v.F32[len(x)*i : len(x)*(i+1)]
	for k := range row {
		row[k] = float32(x[k])
	}
}

// Any returns the slice that holds the values, a []float32, []float64, []uint8, []uint16 or []uint64, nil if the column
// is absent.
func (v *Values) Any() any {
	switch {
	case v.F32 != nil:
		return v.F32
	case v.F64 != nil:
		return v.F64
	case v.U8 != nil:
		return v.U8
	case v.U16 != nil:
		return v.U16
	case v.Bits != nil:
		return v.Bits
	}
	return nil
}

// Data returns the address of the values, nil if there are none.
func (v *Values) Data() unsafe.Pointer {
	switch {
	case len(v.F32) > 0:
		return unsafe.Pointer(&v.F32[0])
	case len(v.F64) > 0:
		return unsafe.Pointer(&v.F64[0])
	case len(v.U8) > 0:
		return unsafe.Pointer(&v.U8[0])
	case len(v.U16) > 0:
		return unsafe.Pointer(&v.U16[0])
	case len(v.Bits) > 0:
		return unsafe.Pointer(&v.Bits[0])
	}
	return nil
}

// Bytes returns the memory of the values.
func (v *Values) Bytes() uintptr {
	return uintptr(4*len(v.F32) + 8*len(v.F64) + len(v.U8) + 2*len(v.U16) + 8*len(v.Bits))
}
