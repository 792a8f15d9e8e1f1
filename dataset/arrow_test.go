package dataset

import (
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// listsOf returns lists of the numbers 0, 1, … of the given lengths, with offsets of 32 or 64 bits.
func listsOf(long bool, lengths ...int) arrow.Array {
	number := arrow.PrimitiveTypes.Float64
	var b array.ListLikeBuilder = array.NewListBuilder(memory.DefaultAllocator, number)
	if long {
		b = array.NewLargeListBuilder(memory.DefaultAllocator, number)
	}
	v, x := b.ValueBuilder().(*array.Float64Builder), 0.0
	for _, n := range lengths {
		b.Append(true)
		for range n {
			v.Append(x)
			x++
		}
	}
	return b.NewArray()
}

// TestArrowLists: lists of one length are vectors in the memory of the column, also those of a slice of it; a list of
// another length is refused by its row, although the sum of the lengths is the same.
func TestArrowLists(t *testing.T) {
	for _, long := range []bool{false, true} {
		a := listsOf(long, 3, 3, 3, 3, 3)
		all, err := arrowVectors(a, 3)
		if err != nil || len(all) != 15 {
			t.Fatalf("%d numbers, %v", len(all), err)
		}
		some, err := arrowVectors(array.NewSlice(a, 1, 4), 3)
		if err != nil || !slices.Equal(some, all[3:12]) || &some[0] != &all[3] {
			t.Errorf("%v, %v, want %v in place", some, err, all[3:12])
		}
		for _, c := range []struct {
			lengths []int
			row     int
		}{{[]int{3, 2, 4, 3}, 1}, {[]int{2, 4, 3, 3}, 0}, {[]int{3, 3, 4, 2}, 2}, {[]int{3, 3}, -1}} {
			_, err := arrowVectors(array.NewSlice(listsOf(long, append([]int{7}, c.lengths...)...), 1,
				int64(len(c.lengths)+1)), 3)
			bad, _ := err.(*rowError)
			if (err != nil) != (c.row >= 0) || bad != nil && bad.row != c.row {
				t.Errorf("lengths %v: %v", c.lengths, err)
			}
		}
	}
}

func BenchmarkArrowLists(b *testing.B) {
	lengths := slices.Repeat([]int{4}, 1<<17)
	a := listsOf(false, lengths...)
	for b.Loop() {
		if _, err := arrowVectors(a, 4); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(lengths)), "ns/row")
}
