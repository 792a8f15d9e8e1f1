package stream_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"clearance/batch"
	"clearance/dataset/stream"
	"clearance/dispatch"
	"clearance/geom"
)

// rows returns n pairs of unit spheres, pair i apart by 3 + i along x, with their number as a further column.
func rows(mem memory.Allocator, first, n int) arrow.RecordBatch {
	vector := func(width int32) arrow.DataType { return arrow.FixedSizeListOf(width, arrow.PrimitiveTypes.Float64) }
	schema := arrow.NewSchema([]arrow.Field{{Name: "number", Type: arrow.PrimitiveTypes.Int64},
		{Name: "shape_a", Type: arrow.PrimitiveTypes.Int32}, {Name: "shape_b", Type: arrow.PrimitiveTypes.Int32},
		{Name: "position_a", Type: vector(3)}, {Name: "position_b", Type: vector(3)},
		{Name: "rotation_a", Type: vector(4)}, {Name: "rotation_b", Type: vector(4)}}, nil)
	b := array.NewRecordBuilder(mem, schema)
	defer b.Release()
	for i := first; i < first+n; i++ {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		b.Field(1).(*array.Int32Builder).Append(0)
		b.Field(2).(*array.Int32Builder).Append(0)
		for f, v := range [][]float64{{0, 0, 0}, {3 + float64(i), 0, 0}, {1, 0, 0, 0}, {1, 0, 0, 0}} {
			list := b.Field(3 + f).(*array.FixedSizeListBuilder)
			list.Append(true)
			list.ValueBuilder().(*array.Float64Builder).AppendValues(v, nil)
		}
	}
	return b.NewRecordBatch()
}

// opened returns a stream over record batches of the given numbers of rows, answered by solve.
func opened(t *testing.T, mem memory.Allocator, most int, solve stream.Solver, sizes ...int) *stream.Stream {
	t.Helper()
	lib, err := batch.NewLibrary([]geom.Shape{&geom.Sphere{R: 1}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var list []arrow.RecordBatch
	first := 0
	for _, n := range sizes {
		list = append(list, rows(mem, first, n))
		first += n
	}
	in, err := array.NewRecordReader(list[0].Schema(), list)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		r.Release()
	}
	defer in.Release()
	s, err := stream.New(t.Context(), lib, in, batch.Options{Columns: batch.ColDistance | batch.ColNormal}, most, mem,
		solve)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// centers answers pairs of unit spheres.
func centers(_ context.Context, job *batch.Job, first int) (dispatch.Report, error) {
	p := job.Input.(*batch.Pairs)
	for i := range p.Len() {
		job.Results.Distance().F32[i] = float32(p.PositionB[3*i] - p.PositionA[3*i] - 2)
		job.Results.Status()[i] = uint8(batch.Separated)
		copy(job.Results.Normal().F32[3*i:], []float32{1, 0, float32(first)})
	}
	return dispatch.Report{Rows: p.Len(), Done: p.Len(), WorstGapRow: -1}, nil
}

// TestStream: the rows come in order and whole, with their further columns, in batches of at most the size that was
// asked for, whatever the batches of the source are, and all memory is given back.
func TestStream(t *testing.T) {
	for _, sizes := range [][]int{{1000}, {7, 7, 7}, {0, 5, 0, 0, 100, 1}, {64, 64}, {0}} {
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		s := opened(t, mem, 64, centers, sizes...)
		at, want := 0, 0
		for _, n := range sizes {
			want += n
		}
		for s.Next() {
			r := s.RecordBatch()
			if r.NumRows() > 64 || r.NumRows() == 0 {
				t.Errorf("%v: a batch of %d rows", sizes, r.NumRows())
			}
			distance := r.Column(0).(*array.Float32)
			number := r.Column(3).(*array.Int64)
			normal := r.Column(1).(*array.FixedSizeList).ListValues().(*array.Float32)
			for i := range int(r.NumRows()) {
				if distance.Value(i) != float32(at+1) || number.Value(i) != int64(at) ||
					int(normal.Value(3*i+2)) != at-i {
					t.Fatalf("%v: row %d: distance %g, number %d, normal %v", sizes, at, distance.Value(i),
						number.Value(i), normal.Value(3*i+2))
				}
				at++
			}
		}
		if err := s.Err(); err != nil || at != want || s.Report().Rows != want {
			t.Errorf("%v: %d rows of %d, report of %d, error %v", sizes, at, want, s.Report().Rows, err)
		}
		s.Release()
		mem.AssertSize(t, 0)
	}
}

// TestStreamFails: a solver that fails or panics ends the stream after the batches before, and nothing is left behind;
// nor is it by a stream that is left in the middle.
func TestStreamFails(t *testing.T) {
	for name, fail := range map[string]func() error{
		"failed": func() error { return errors.New("failed") },
		"panic":  func() error { panic("panic") },
	} {
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		s := opened(t, mem, 10, func(ctx context.Context, job *batch.Job, first int) (dispatch.Report, error) {
			if first == 20 {
				if err := fail(); err != nil {
					return dispatch.Report{}, err
				}
			}
			return centers(ctx, job, first)
		}, 100)
		n := 0
		for s.Next() {
			n++
		}
		if n != 2 || s.Err() == nil || !strings.Contains(s.Err().Error(), name) {
			t.Errorf("%s: %d batches, error %v", name, n, s.Err())
		}
		s.Release()
		mem.AssertSize(t, 0)
	}
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	s := opened(t, mem, 10, func(ctx context.Context, job *batch.Job, first int) (dispatch.Report, error) {
		if first > 0 {
			<-ctx.Done() // Release cancels it
			return dispatch.Report{}, ctx.Err()
		}
		return centers(ctx, job, first)
	}, 100)
	if !s.Next() {
		t.Fatal(s.Err())
	}
	s.Release()
	mem.AssertSize(t, 0)
}

// counted is a source that counts the record batches that were read of it.
type counted struct {
	array.RecordReader
	read int
}

func (c *counted) Next() bool {
	c.read++
	return c.RecordReader.Next()
}

// TestStreamAhead: batches are read and answered before they are asked for, several at a time, and no more than Ahead;
// they come in order although the first is answered last.
func TestStreamAhead(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	lib, err := batch.NewLibrary([]geom.Shape{&geom.Sphere{R: 1}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var list []arrow.RecordBatch
	for i := range 8 {
		list = append(list, rows(mem, 10*i, 10))
	}
	in, err := array.NewRecordReader(list[0].Schema(), list)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		r.Release()
	}
	source := &counted{RecordReader: in}
	second := make(chan struct{})
	s, err := stream.New(t.Context(), lib, source, batch.Options{Columns: batch.ColDistance | batch.ColNormal}, 10, mem,
		func(ctx context.Context, job *batch.Job, first int) (dispatch.Report, error) {
			switch first {
			case 0:
				<-second
			case 10:
				defer close(second)
			}
			return centers(ctx, job, first)
		})
	if err != nil {
		t.Fatal(err)
	}
	in.Release()
	for k := range 8 {
		if !s.Next() {
			t.Fatalf("batch %d: %v", k, s.Err())
		}
		if x := s.RecordBatch().Column(0).(*array.Float32).Value(0); x != float32(10*k+1) {
			t.Errorf("batch %d begins with row %g", k, x-1)
		}
		if want := min(k+stream.Ahead, 9); source.read != want { // the ninth is the end
			t.Errorf("%d batches read when the caller has batch %d, want %d", source.read, k, want)
		}
	}
	if s.Next() || s.Err() != nil {
		t.Errorf("a ninth batch, or %v", s.Err())
	}
	s.Release()
	mem.AssertSize(t, 0)
}
