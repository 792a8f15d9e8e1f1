package derive

import (
	"fmt"
	"math/bits"
	"strings"
)

// Columns is a set of columns of derivatives.
type Columns uint8

// Columns.
const (
	ColValue Columns = 1 << iota
	ColNormal
	ColWitnessA
	ColWitnessB
	ColCurvature
	ColSmoothness

	endOfColumns
)

// AllColumns is every column.
const AllColumns = endOfColumns - 1

// ColumnInfo defines a column.
type ColumnInfo struct {
	Name  string // in files
	Text  string
	Width int // values per row
}

var columns = [...]ColumnInfo{
	{"d_distance", "derivative of the value with respect to the twists of both bodies, [N,12]", 12},
	{"d_normal", "derivative of the normal, [N,3,12]", 36},
	{"d_witness_a", "derivative of the witness of A, [N,3,12]", 36},
	{"d_witness_b", "derivative of the witness of B, [N,3,12]", 36},
	{"curvature", "Hessians of both support functions at the normal: xx, xy, yy of A, then of B, in metres", 6},
	{"smoothness", "code of the smoothness", 1},
}

// Each lists the columns of a set one by one.
func (c Columns) Each() (each []Columns) {
	for ; c != 0; c &= c - 1 {
		each = append(each, c&-c)
	}
	return each
}

// Info returns the definition of a single column.
func (c Columns) Info() *ColumnInfo { return &columns[bits.TrailingZeros8(uint8(c))] }

func (c Columns) String() string {
	var names []string
	for _, one := range (c & AllColumns).Each() {
		names = append(names, one.Info().Name)
	}
	return strings.Join(names, ",")
}

// ParseColumns returns the set of names separated by commas.
func ParseColumns(s string) (c Columns, err error) {
	for name := range strings.SplitSeq(s, ",") {
		name = strings.TrimSpace(name)
		found := false
		for i := range columns {
			if columns[i].Name == name {
				c |= 1 << i
				found = true
			}
		}
		if !found {
			return 0, fmt.Errorf("unknown column %q of derivatives: want some of %v", name, AllColumns)
		}
	}
	return c, nil
}

// Results are derivatives of N rows. Columns that were not asked for are nil.
type Results struct {
	N          int
	Columns    Columns
	Value      []float64 // [N,12]
	Normal     []float64 // [N,3,12]
	WitnessA   []float64 // [N,3,12]
	WitnessB   []float64 // [N,3,12]
	Curvature  []float64 // [N,6]
	Smoothness []uint8   // [N], codes of Smoothness
}

// NewResults allocates the columns of n rows.
func NewResults(n int, c Columns) *Results {
	r := &Results{N: n, Columns: c}
	for _, one := range (c & AllColumns).Each() {
		if one == ColSmoothness {
			r.Smoothness = make([]uint8, n)
			continue
		}
		*r.reals(one) = make([]float64, n*one.Info().Width)
	}
	return r
}

// reals is a column of real numbers.
func (r *Results) reals(c Columns) *[]float64 {
	switch c {
	case ColValue:
		return &r.Value
	case ColNormal:
		return &r.Normal
	case ColWitnessA:
		return &r.WitnessA
	case ColWitnessB:
		return &r.WitnessB
	}
	return &r.Curvature
}

// Reals returns a column of real numbers, of any but the smoothness.
func (r *Results) Reals(c Columns) []float64 { return *r.reals(c) }

// put stores the derivatives of row i.
func (r *Results) put(i int, d *Derivative) {
	if r.Smoothness != nil {
		r.Smoothness[i] = uint8(d.smoothness)
	}
	if r.Value != nil {
		v := d.Value()
		copy(r.Value[12*i:], v[:])
	}
	if r.Curvature != nil {
		v := d.Curvature()
		copy(r.Curvature[6*i:], v[:])
	}
	if r.Normal == nil && r.WitnessA == nil && r.WitnessB == nil {
		return
	}
	normal, a, b := d.Jacobian()
	for _, c := range []struct {
		column []float64
		rows   *[3]Twists
	}{{r.Normal, &normal}, {r.WitnessA, &a}, {r.WitnessB, &b}} {
		if c.column == nil {
			continue
		}
		for k := range c.rows {
			copy(c.column[36*i+12*k:], c.rows[k][:])
		}
	}
}
