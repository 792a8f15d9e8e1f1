// Package stream answers the pairs of a stream of Arrow record batches by a stream of results.
package stream

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"clearance/batch"
	"clearance/dataset"
	"clearance/dispatch"
)

// A Solver answers a job; first is the row of the stream that the job begins with.
type Solver func(ctx context.Context, job *batch.Job, first int) (dispatch.Report, error)

// Stream is a stream of Arrow record batches with the answers of the pairs of another: the columns of results, then the
// columns of the source that are not those of pairs. It holds the batch that the caller has and at most [Ahead] that
// were read before they were asked for. Record batches of the source are divided where they have more rows than a
// batch, and joined, with a copy, where they have less than half as many.
//
// The source is called in Next and Release alone, and so in the thread of the caller: a source in Python may need a
// lock that its caller holds. While the caller works with a batch, and while the source is read, the batches ahead are
// answered by other goroutines, in order. A stream serves one goroutine at a time, but for [Stream.Report].
type Stream struct {
	refs   atomic.Int64
	ctx    context.Context
	cancel context.CancelFunc
	solve  Solver

	lib     *batch.Library
	o       batch.Options
	in      array.RecordReader
	pairs   *dataset.ArrowPairs
	columns []dataset.ArrowColumn
	schema  *arrow.Schema
	most    int
	memory  memory.Allocator

	rest  arrow.RecordBatch // rows of the source that no batch has, nil if none
	ended bool              // nothing is read of the source any more, at its end or after an error
	fault error             // of the source, that of the stream after the batches ahead
	next  []*answering      // batches ahead, in order
	turn  chan struct{}     // has a place for each batch that is answered at a time
	cur   arrow.RecordBatch
	err   error
	row   int

	mu     sync.Mutex
	report dispatch.Report
	begun  bool // the report has that of a batch
}

// Ahead is the number of batches that are read before they are asked for. The solver has work while the caller and the
// source take no longer than it does for two batches.
const Ahead = 3

// atOnce is the number of batches that are answered at a time: the workers that have no rows left of one begin with
// the next, and a device computes while rows that it declined are answered.
const atOnce = 2

// answering is a batch that is being answered.
type answering struct {
	source arrow.RecordBatch
	job    *batch.Job
	buffer []*memory.Buffer // by column
	done   chan struct{}    // closed after report and err are set
	report dispatch.Report
	err    error
}

// New returns a stream of the answers of in, of which it becomes an owner, in batches of at most most rows. Columns of
// results are allocated by mem. Columns of 0 in the options stand for those of the query that files hold.
func New(ctx context.Context, lib *batch.Library, in array.RecordReader, o batch.Options, most int,
	mem memory.Allocator, solve Solver) (*Stream, error) {
	if most < 1 {
		return nil, fmt.Errorf("batches of %d rows", most)
	}
	if o.Columns == 0 {
		o.Columns = o.EffectiveColumns()
	}
	o.Columns &^= batch.ColBits
	o.Columns |= batch.ColStatus
	pairs, err := dataset.NewArrowPairs(in.Schema())
	if err != nil {
		return nil, err
	}
	in.Retain()
	s := &Stream{solve: solve, lib: lib, o: o, in: in, pairs: pairs, most: most, memory: mem,
		columns: dataset.ArrowResults(o.Columns, o.Precision), report: dispatch.Report{WorstGapRow: -1}}
	s.ctx, s.cancel = context.WithCancel(ctx)
	s.refs.Store(1)
	s.turn = make(chan struct{}, atOnce)
	var fields []arrow.Field
	for _, c := range s.columns {
		fields = append(fields, c.Field)
	}
	for _, i := range pairs.Extra() {
		fields = append(fields, in.Schema().Field(i))
	}
	s.schema = arrow.NewSchema(fields, nil)
	return s, nil
}

// Retain adds an owner.
func (s *Stream) Retain() { s.refs.Add(1) }

// Release takes an owner away. Without one, the batches that are being answered are canceled and the source released.
func (s *Stream) Release() {
	if s.refs.Add(-1) != 0 {
		return
	}
	s.drop()
	for _, r := range []*arrow.RecordBatch{&s.rest, &s.cur} {
		if *r != nil {
			(*r).Release()
			*r = nil
		}
	}
	s.in.Release()
}

// Schema returns the schema of the answers.
func (s *Stream) Schema() *arrow.Schema { return s.schema }

// RecordBatch returns the batch of the last call of Next, which is valid until the next.
func (s *Stream) RecordBatch() arrow.RecordBatch { return s.cur }

// Record is RecordBatch, by the name that array.RecordReader had for it before.
func (s *Stream) Record() arrow.RecordBatch { return s.cur }

// Err returns the error that ended the stream, nil at the end of the source.
func (s *Stream) Err() error { return s.err }

// Report returns the report of the batches that were answered; Wall is the sum of theirs.
func (s *Stream) Report() dispatch.Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.report
}

// Next answers the next batch. At the end of the source, and after an error, it is false.
func (s *Stream) Next() (more bool) {
	defer func() { // of the source, which Arrow's bindings read, where columns contradict their batch: no panic may
		// pass through the caller, which is C
		if p := recover(); p != nil {
			s.ended, s.err, more = true, fmt.Errorf("the source breaks the rules of Arrow: %v", p), false
		}
	}()
	if s.cur != nil {
		s.cur.Release()
		s.cur = nil
	}
	if s.err != nil {
		return false
	}
	for !s.ended && len(s.next) < Ahead { // one of them is for the caller
		s.begin()
	}
	if len(s.next) == 0 {
		s.err = s.fault
		return false
	}
	now := s.next[0]
	s.next = s.next[1:]
	<-now.done
	defer now.release()
	if now.err != nil {
		s.ended, s.err = true, now.err
		s.drop()
		return false
	}
	s.mu.Lock()
	if s.begun {
		s.report.Merge(&now.report)
	} else {
		s.report, s.begun = now.report, true
	}
	s.mu.Unlock()
	s.cur = s.record(now)
	return true
}

// drop cancels the batches ahead.
func (s *Stream) drop() {
	s.cancel()
	for _, a := range s.next {
		<-a.done
		a.release()
	}
	s.next = nil
}

// begin reads a batch and has it answered. At the end of the source, and after an error, the stream ends behind the
// batches ahead.
func (s *Stream) begin() {
	rec, err := s.read()
	if err != nil || rec == nil {
		s.ended, s.fault = true, err
		return
	}
	n := int(rec.NumRows())
	a := &answering{source: rec, done: make(chan struct{})}
	pairs, err := s.pairs.Pairs(rec)
	if err != nil {
		rec.Release()
		s.ended, s.fault = true, err
		return
	}
	a.job = &batch.Job{Library: s.lib, Input: pairs, Options: s.o, Results: s.results(a, n)}
	first := s.row
	s.row += n
	s.next = append(s.next, a)
	go func() {
		defer close(a.done)
		defer func() {
			if p := recover(); p != nil {
				a.err = fmt.Errorf("internal error: %v", p)
			}
		}()
		s.turn <- struct{}{}
		defer func() { <-s.turn }()
		a.report, a.err = s.solve(s.ctx, a.job, first)
	}()
}

// read returns the next rows of the source, at most as many as a batch has, nil at its end.
func (s *Stream) read() (arrow.RecordBatch, error) {
	var parts []arrow.RecordBatch
	have := int64(0)
	defer func() {
		for _, p := range parts {
			p.Release()
		}
	}()
	most := int64(s.most)
	for have < (most+1)/2 {
		if s.rest == nil {
			if !s.in.Next() {
				if err := s.in.Err(); err != nil {
					return nil, err
				}
				break
			}
			s.rest = s.in.RecordBatch()
			s.rest.Retain()
		}
		n := min(s.rest.NumRows(), most-have)
		if n > 0 {
			parts = append(parts, s.rest.NewSlice(0, n))
			have += n
		}
		left := s.rest.NewSlice(n, s.rest.NumRows())
		s.rest.Release()
		if s.rest = left; left.NumRows() == 0 {
			left.Release()
			s.rest = nil
		}
	}
	switch len(parts) {
	case 0:
		return nil, nil
	case 1:
		parts[0].Retain()
		return parts[0], nil
	}
	columns := make([]arrow.Array, len(s.in.Schema().Fields()))
	defer func() {
		for _, c := range columns {
			if c != nil {
				c.Release()
			}
		}
	}()
	for i := range columns {
		var list []arrow.Array
		for _, p := range parts {
			list = append(list, p.Column(i))
		}
		var err error
		if columns[i], err = array.Concatenate(list, s.memory); err != nil {
			return nil, err
		}
	}
	return array.NewRecordBatch(s.in.Schema(), columns, have), nil
}

// results returns results whose columns lie in buffers that become those of the record batch.
func (s *Stream) results(a *answering, n int) *batch.Results {
	out := batch.EmptyResults(n, s.o.Columns, s.o.Precision)
	for _, c := range s.columns {
		b := memory.NewResizableBuffer(s.memory)
		b.Resize(n * c.Bytes)
		a.buffer = append(a.buffer, b)
		at := unsafe.Pointer(unsafe.SliceData(b.Bytes()))
		out.SetColumn(c.Column, batch.ValuesAt(c.Column.Info().Type.In(s.o.Precision), at, n*c.Width))
	}
	return out
}

// record returns the answers as a record batch.
func (s *Stream) record(a *answering) arrow.RecordBatch {
	n := int(a.source.NumRows())
	var columns []arrow.Array
	defer func() {
		for _, c := range columns {
			c.Release()
		}
	}()
	for i, c := range s.columns {
		columns = append(columns, column(c, a.buffer[i], n))
	}
	for _, i := range s.pairs.Extra() {
		e := a.source.Column(i)
		e.Retain()
		columns = append(columns, e)
	}
	return array.NewRecordBatch(s.schema, columns, int64(n))
}

// column returns n rows of a column whose values lie in a buffer.
func column(c dataset.ArrowColumn, values *memory.Buffer, n int) arrow.Array {
	data := array.NewData(c.Elem, n*c.Width, []*memory.Buffer{nil, values}, nil, 0, 0)
	defer data.Release()
	if c.Width > 1 {
		data = array.NewData(c.Field.Type, n, []*memory.Buffer{nil}, []arrow.ArrayData{data}, 0, 0)
		defer data.Release()
	}
	return array.MakeFromData(data)
}

func (a *answering) release() {
	for _, b := range a.buffer {
		b.Release()
	}
	a.source.Release()
}
