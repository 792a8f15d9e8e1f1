package batch

import (
	"math"
	"math/bits"
	"slices"
	"strings"
	"unsafe"

	"gonum.org/v1/gonum/spatial/r3"
)

// Columns is a set of result columns. Columns not in the set are not transferred, and not
// computed if that saves work.
type Columns uint64

// Result columns. Their bits are part of the C interface: append, never renumber.
const (
	ColDistance Columns = 1 << iota
	ColGap
	ColNormal
	ColWitnessA
	ColWitnessB
	ColStatus
	ColIterations
	ColBits   // one bit per row, see Results.Bits
	ColMethod // the Solver that ended the row
	ColPoint  // of growth alone

	// Derivatives, see [DerivedColumns].
	ColDDistance
	ColDNormal
	ColDWitnessA
	ColDWitnessB
	ColCurvature
	ColSmoothness

	endOfColumns // not a column
)

// columnCount is the number of result columns.
const columnCount = 16

var _ = [1]struct{}{endOfColumns>>columnCount - 1: {}} // columnCount is right

// ElementType is the type of the values of a column.
type ElementType uint8

// Element types. Their codes are part of the C interface: append, never renumber.
const (
	Real    ElementType = iota // float32 or float64, by the precision of the results
	Float32                    // in either precision
	Float64                    // in either precision
	Uint8
	Uint16
	BitSet // a bit per row, in words of 64
	ElementTypeCount
)

var elementNames = [ElementTypeCount]string{"real", "float32", "float64", "uint8", "uint16", "bits"}

func (t ElementType) String() string {
	return Names[ElementType]{"element type", elementNames[:]}.Name(t)
}

// In returns the type of the values in results of a precision: that of Real is Float32 or Float64.
func (t ElementType) In(p Precision) ElementType {
	switch {
	case t != Real:
		return t
	case p == Double:
		return Float64
	}
	return Float32
}

// ColumnInfo defines a result column. Results, chunks of the dispatcher, back ends, files, the C interface and Python
// read it: another column is a row of this table, and the code that computes it.
type ColumnInfo struct {
	Name  string
	Text  string      // what it holds, in a line
	Type  ElementType // of its values
	Width int         // values per row
	Inner int         // if not 0, the values of a row are a matrix with rows of that many

	// Failure is the value of rows without an answer, Undecided or Invalid. The status column has that status.
	Failure float64

	// OfValue says that the column depends on the value of a row, not on its status alone, see [Options.StatusAlone].
	OfValue bool

	// Default says that the column belongs to [AllColumns].
	Default bool

	// InFiles says that results files can have the column.
	InFiles bool

	// Only lists the queries that have the column; empty: all.
	Only []Query

	// Derived says that the column is computed from the answers after they are final, by back ends only where they
	// say so.
	Derived bool

	// from is where an [Answer] holds the values of a column of reals, Width numbers. The other columns, and the
	// distance and its gap, are stored one by one, see Results.PutColumns.
	from uintptr
}

var nan = math.NaN()

// columns has one row per column, in the order of the bits.
var columns = [columnCount]ColumnInfo{
	{Name: "distance", Text: "the value of the query, for most the signed distance in metres",
		Type: Real, Width: 1, Failure: nan, OfValue: true, Default: true, InFiles: true},
	{Name: "gap", Text: "bound of the error: the true value lies in distance ± gap",
		Type: Float32, Width: 1, Failure: math.Inf(1), OfValue: true, Default: true, InFiles: true},
	{Name: "normal", Text: "unit vector from A to B, world frame",
		Type: Real, Width: 3, Failure: nan, OfValue: true, Default: true, InFiles: true,
		from: unsafe.Offsetof(Answer{}.Normal)},
	{Name: "witness_a", Text: "point of A that attains the value, world frame",
		Type: Real, Width: 3, Failure: nan, OfValue: true, Default: true, InFiles: true,
		from: unsafe.Offsetof(Answer{}.WitnessA)},
	{Name: "witness_b", Text: "point of B that attains the value, world frame",
		Type: Real, Width: 3, Failure: nan, OfValue: true, Default: true, InFiles: true,
		from: unsafe.Offsetof(Answer{}.WitnessB)},
	{Name: "status", Text: "code of the status",
		Type: Uint8, Width: 1, Failure: float64(Undecided), Default: true, InFiles: true},
	{Name: "iterations", Text: "of the solver that ended the row",
		Type: Uint16, Width: 1, Default: true, InFiles: true},
	{Name: "bits", Text: "a bit per row, clear only where the pair is proved to be separated",
		Type: BitSet, Width: 1, Failure: 1},
	{Name: "method", Text: "code of the solver that ended the row",
		Type: Uint8, Width: 1, Failure: float64(SolverNone), InFiles: true},
	{Name: "point", Text: "common point of the shapes scaled by the growth distance, world frame",
		Type: Real, Width: 3, Failure: nan, OfValue: true, InFiles: true, Only: []Query{Growth},
		from: unsafe.Offsetof(Answer{}.Point)},
	derived("d_distance", "derivative of the value with respect to the twists of A and B", Real, 12, 0),
	derived("d_normal", "derivative of the normal with respect to the twists", Real, 36, 12),
	derived("d_witness_a", "derivative of the witness of A with respect to the twists", Real, 36, 12),
	derived("d_witness_b", "derivative of the witness of B with respect to the twists", Real, 36, 12),
	derived("curvature", "Hessians of the support functions at the normal: xx, xy, yy of A, then of B, in metres",
		Real, 6, 0),
	derived("smoothness", "code of what the derivatives of the row are", Uint8, 1, 0),
}

// derived defines a column of derivatives, of the queries that have a normal. Rows without an answer have zeros.
func derived(name, text string, t ElementType, width, inner int) ColumnInfo {
	return ColumnInfo{Name: name, Text: text, Type: t, Width: width, Inner: inner, OfValue: true, InFiles: true,
		Only: []Query{Distance, Penetration, Growth}, Derived: true}
}

// Sets of columns.
var (
	// AllColumns is every column of an answer, without the bits, which follow from the
	// status, and the method, which does not describe the pair.
	AllColumns = columnsWhere(func(c *ColumnInfo) bool { return c.Default })

	// FileColumns is every column that results files of any query can have, ExtraColumns those that only some queries
	// have, but for those of derivatives.
	FileColumns  = columnsWhere(func(c *ColumnInfo) bool { return c.InFiles && len(c.Only) == 0 })
	ExtraColumns = columnsWhere(func(c *ColumnInfo) bool { return c.InFiles && len(c.Only) > 0 && !c.Derived })

	// DerivedColumns are the derivatives of the answers, see package derive.
	DerivedColumns = columnsWhere(func(c *ColumnInfo) bool { return c.Derived })

	anyColumns   = columnsWhere(func(*ColumnInfo) bool { return true })
	valueColumns = columnsWhere(func(c *ColumnInfo) bool { return c.OfValue })
)

// columnsWhere is the set of the columns that a condition holds for.
func columnsWhere(condition func(*ColumnInfo) bool) (set Columns) {
	for i := range columns {
		if condition(&columns[i]) {
			set |= 1 << i
		}
	}
	return set
}

// columnsOf is the set of the columns that a query has.
func columnsOf(q Query) Columns {
	return columnsWhere(func(c *ColumnInfo) bool { return len(c.Only) == 0 || slices.Contains(c.Only, q) })
}

// EveryColumn lists the columns one by one, in the order of their bits.
func EveryColumn() []Columns { return anyColumns.Each() }

// Each lists the columns of a set one by one, in the order of their bits.
func (c Columns) Each() (each []Columns) {
	for ; c != 0; c &= c - 1 {
		each = append(each, c&-c)
	}
	return each
}

// index of a single column in tables.
func (c Columns) index() int { return bits.TrailingZeros64(uint64(c)) }

// Index returns the place of a single column in the order of the bits, its code in the C interface and the kernels.
func (c Columns) Index() int { return c.index() }

// Info returns the definition of a single column.
func (c Columns) Info() *ColumnInfo { return &columns[c.index()] }

// ParseColumn returns the column of a name.
func ParseColumn(s string) (Columns, error) {
	names := make([]string, len(columns))
	for i := range columns {
		names[i] = columns[i].Name
	}
	i, err := Names[uint8]{"column", names}.Parse(s)
	return 1 << i, err
}

// String returns the names used in files, separated by commas.
func (c Columns) String() string {
	var names []string
	for i := range 64 {
		switch {
		case c&(1<<i) == 0:
		case i < len(columns):
			names = append(names, columns[i].Name)
		default:
			names = append(names, Names[uint8]{What: "column"}.Name(uint8(i)))
		}
	}
	return strings.Join(names, ", ")
}

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
