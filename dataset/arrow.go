package dataset

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"clearance/batch"
	"clearance/dataset/parquet"
	"clearance/dataset/table"
)

// ArrowPairs reads pairs from Arrow record batches of one schema, which has the columns of a file of pairs. Vectors are
// fixed-size lists, or lists whose elements all have that size. A null is NaN, or the index -1, so that its row is
// invalid, as in files. Other columns are carried, see [ArrowPairs.Extra].
type ArrowPairs struct {
	at    []int // fields of the schema, by column of a pair
	extra []int
	row   int64 // rows that were read, for errors
}

// NewArrowPairs checks the columns of a schema.
func NewArrowPairs(s *arrow.Schema) (*ArrowPairs, error) {
	p := new(ArrowPairs)
	for _, c := range table.Pairs {
		fields := s.FieldIndices(c.Name)
		if len(fields) != 1 {
			return nil, fmt.Errorf("dataset: the stream has %d columns %s, want one", len(fields), c.Name)
		}
		t := s.Field(fields[0]).Type
		if !slices.ContainsFunc(c.Types, func(d table.Type) bool { return arrowIs(t, d, c.Width) }) {
			return nil, fmt.Errorf("dataset: column %s of the stream has the type %s, want %s %s", c.Name, t,
				c.TypeNames(),
				c.Shape())
		}
		p.at = append(p.at, fields[0])
	}
	taken := map[string]bool{}
	for _, c := range table.Results() {
		taken[c.Name] = true
	}
	for i, f := range s.Fields() {
		if slices.Contains(p.at, i) {
			continue
		}
		if taken[f.Name] {
			return nil, fmt.Errorf("dataset: column %q of the stream: results have one of that name; give it another",
				f.Name)
		}
		taken[f.Name] = true
		p.extra = append(p.extra, i)
	}
	return p, nil
}

// arrowIs reports whether a type holds width numbers of a type in each row.
func arrowIs(t arrow.DataType, d table.Type, width int) bool {
	if width > 1 {
		switch l := t.(type) {
		case *arrow.FixedSizeListType:
			if int(l.Len()) != width {
				return false
			}
			t = l.Elem()
		case *arrow.ListType:
			t = l.Elem()
		case *arrow.LargeListType:
			t = l.Elem()
		default:
			return false
		}
	}
	return arrow.TypeEqual(t, parquet.ArrowTypes[d])
}

// Extra are the columns of a schema that are not those of a pair, which results carry.
func (p *ArrowPairs) Extra() []int { return p.extra }

// Pairs returns the pairs of a record batch. They share its memory where the types are those of batch.Pairs and no
// value is null, and are then valid as long as the record batch.
func (p *ArrowPairs) Pairs(rec arrow.RecordBatch) (*batch.Pairs, error) {
	var index [2][]int32
	var number [4][]float64
	for i, c := range table.Pairs {
		var err error
		col := rec.Column(p.at[i])
		if i < len(index) {
			index[i] = arrowIndices(col)
		} else {
			number[i-len(index)], err = arrowVectors(col, c.Width)
		}
		if err != nil {
			var bad *rowError
			if errors.As(err, &bad) {
				return nil, fmt.Errorf("dataset: row %d of the stream, column %s: %s", p.row+int64(bad.row), c.Name,
					bad.text)
			}
			return nil, fmt.Errorf("dataset: column %s of the stream: %w", c.Name, err)
		}
	}
	p.row += rec.NumRows()
	return &batch.Pairs{ShapeA: index[0], ShapeB: index[1], PositionA: number[0], PositionB: number[1],
		RotationA: number[2], RotationB: number[3]}, nil
}

// rowError is an error of a row of a record batch.
type rowError struct {
	row  int
	text string
}

func (e *rowError) Error() string { return e.text }

// arrowIndices returns a column of indices of shapes. An index that int32 cannot hold is -1, which no library has.
func arrowIndices(a arrow.Array) []int32 {
	if v, ok := a.(*array.Int32); ok && a.NullN() == 0 {
		return v.Int32Values()
	}
	out := make([]int32, a.Len())
	for i := range out {
		out[i] = -1
		if a.IsNull(i) {
			continue
		}
		switch v := a.(type) {
		case *array.Int32:
			out[i] = v.Value(i)
		case *array.Int64:
			if x := v.Value(i); x == int64(int32(x)) {
				out[i] = int32(x)
			}
		}
	}
	return out
}

// arrowVectors returns a column of vectors.
func arrowVectors(a arrow.Array, width int) ([]float64, error) {
	n := a.Len()
	list, ok := a.(array.ListLike)
	if !ok {
		return nil, fmt.Errorf("unexpected type %s", a.DataType())
	}
	values := list.ListValues()
	if a.NullN() == 0 && n > 0 {
		first, _ := list.ValueOffsets(0)
		_, last := list.ValueOffsets(n - 1)
		even := last-first == int64(n*width) && lengths(a, width)
		if v, ok := values.(*array.Float64); ok && even && v.NullN() == 0 {
			return v.Float64Values()[first:last], nil
		}
	}
	out := make([]float64, n*width)
	for i := range n {
		row := out[i*width : (i+1)*width]
		if a.IsNull(i) {
			for k := range row {
				row[k] = math.NaN()
			}
			continue
		}
		from, to := list.ValueOffsets(i)
		if to-from != int64(width) {
			return nil, &rowError{i, fmt.Sprintf("%d numbers, want %d", to-from, width)}
		}
		for k := range row {
			row[k] = arrowNumber(values, int(from)+k)
		}
	}
	return out, nil
}

// lengths reports whether all lists of a column have a length.
func lengths(a arrow.Array, length int) bool {
	from := a.Data().Offset()
	switch l := a.(type) {
	case *array.FixedSizeList:
		return int(l.DataType().(*arrow.FixedSizeListType).Len()) == length
	case *array.List:
		return evenly(l.Offsets()[from:from+l.Len()+1], length)
	case *array.LargeList:
		return evenly(l.Offsets()[from:from+l.Len()+1], length)
	}
	return false
}

// evenly reports whether numbers ascend by a step.
func evenly[T int32 | int64](numbers []T, step int) bool {
	wrong := T(0)
	for i := 1; i < len(numbers); i++ {
		wrong |= numbers[i] - numbers[i-1] - T(step)
	}
	return wrong == 0
}

func arrowNumber(a arrow.Array, i int) float64 {
	if a.IsNull(i) {
		return math.NaN()
	}
	switch v := a.(type) {
	case *array.Float64:
		return v.Value(i)
	case *array.Float32:
		return float64(v.Value(i))
	}
	return math.NaN()
}

// ArrowColumn is a column of results as Arrow stores it.
type ArrowColumn struct {
	Field  arrow.Field
	Elem   arrow.DataType // of the elements of a row
	Width  int            // elements per row; more than one are a list of fixed size
	Bytes  int            // per row
	Column batch.Columns  // its bit
}

// ArrowResults returns the columns of results in files, in their order.
func ArrowResults(columns batch.Columns, precision batch.Precision) []ArrowColumn {
	var out []ArrowColumn
	for i, c := range table.Results(table.RealOf(precision)) {
		if columns&table.ResultBits[i] != 0 {
			t := c.Types[0]
			out = append(out, ArrowColumn{parquet.ArrowField(c), parquet.ArrowTypes[t], c.Width, c.Width * t.Size(),
				table.ResultBits[i]})
		}
	}
	return out
}
