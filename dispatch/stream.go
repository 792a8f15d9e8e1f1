package dispatch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"time"

	"clearance/batch"
)

// A Source yields the rows of a stream by ranges, as inputs of any form: [batch.Pairs], [batch.Worlds] and files of
// pairs are sources.
type Source interface {
	// Rows returns rows [lo, hi) as an input of hi - lo rows, of fewer where the source ends. Ranges of a stream
	// ascend and do not overlap. used is nil or an input of an earlier call that is no longer in use, whose memory
	// may be used again.
	Rows(lo, hi int, used batch.Input) (batch.Input, error)
}

// A Sink receives the answers of a stream in the order of the rows.
type Sink interface {
	// Write must not keep a reference to r, which is reused.
	Write(r *batch.Results) error
}

// maxStreamRows bounds the default number of rows per chunk of a stream: about 50 MB per
// chunk, and several are in memory at a time.
const maxStreamRows = 1 << 18

// RunStream answers the rows of a source chunk by chunk and writes the answers to a sink,
// so that neither has to fit in memory. Reading, computing, answering declined rows and
// writing overlap; a few chunks are in memory at a time, six with one device. A source
// with a method Len() int or Len() int64 gives the total for Progress and for the choice
// of the back end; with a method RowsPerWorld() int it gets ranges of whole worlds where a
// chunk has room for one.
//
// The first error of the source, the back ends, the sink or the context stops the stream.
// The sink has then received complete chunks only, beginning with row 0. Row numbers in
// errors and in the report count from Options.FirstRow. Rows whose status is
// Invalid or Undecided are not an error, see [Report.Err]. A stream takes no
// Options.WarmStart.
func (d *Dispatcher) RunStream(ctx context.Context, lib *batch.Library, source Source, options batch.Options, sink Sink,
	o Options) (Report, error) {
	start := time.Now()
	o.ensureDefaults()
	rep := newReport(&o)
	if err := d.begin(); err != nil {
		return rep, err
	}
	defer d.calls.Done()
	if err := o.validate(); err != nil {
		return rep, err
	}
	if lib == nil {
		return rep, errors.New("dispatch: the stream has no library")
	}
	if options.WarmStart != nil {
		return rep, errors.New("dispatch: a stream takes no warm start")
	}
	if err := d.check(&options); err != nil {
		return rep, err
	}
	if err := checkShape(source); err != nil {
		return rep, err
	}
	total := sourceRows(source)
	selectBy := total
	if o.EstimateRows > 0 {
		selectBy = o.EstimateRows
	}
	choice, err := d.choose(o.Backend, &options, selectBy)
	if err != nil {
		return rep, err
	}
	rep.describe(choice)
	pool, rows := newPool(choice), manyRows
	if total >= 0 {
		rows = max(total, 1) // chunks no larger than the stream
	}
	rows = min(rows, pool.chunkRows(rows), maxStreamRows)
	if whole := worldRows(source); whole > 0 && whole < rows {
		rows -= rows % whole
	}
	o.setChunkRows(rows)
	r := &runner{o: o, pool: pool, report: &rep, total: total}
	err = r.stream(ctx, lib, source, options, sink)
	rep.Wall = time.Since(start)
	return rep, err
}

// sourceRows returns the number of rows that a source declares, [UnknownRows] if it declares none.
func sourceRows(source Source) int {
	switch s := source.(type) {
	case interface{ Len() int }:
		return s.Len()
	case interface{ Len() int64 }:
		if n := s.Len(); n <= math.MaxInt {
			return int(n)
		}
	}
	return UnknownRows
}

// worldRows is the least number of rows of a chunk that is complete words of bits and whole worlds, 0 for other sources
// than worlds.
func worldRows(source Source) int {
	w, ok := source.(interface{ RowsPerWorld() int })
	if !ok {
		return 0
	}
	rows := w.RowsPerWorld()
	for range 6 { // 64 is 2 to the power of 6
		if rows%batch.BitsPerWord == 0 {
			break
		}
		rows *= 2
	}
	return rows
}

// stream moves parts from the source through the pipeline to the sink.
func (r *runner) stream(ctx context.Context, lib *batch.Library, source Source, options batch.Options,
	sink Sink) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	parts := r.pool.window() + 1 // one is being written
	free := make(chan *part, parts)
	for range parts {
		free <- nil // allocated on first use
	}
	primary := r.pool.primary
	at, end := 0, false // rows of the source
	next := func(ctx context.Context) (*chunk, error) {
		if end {
			return nil, nil
		}
		var p *part
		select {
		case p = <-free:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if p == nil {
			p = &part{results: newResults(r.o.ChunkRows, &options)}
		}
		if err := p.fill(source, at, at+r.o.ChunkRows); err != nil {
			return nil, err
		}
		n := p.input.Len()
		if end = n < r.o.ChunkRows; n == 0 {
			return nil, nil
		}
		if end {
			p.results = batch.UnsetResults(n, &options)
		}
		c := r.newChunk(&batch.Job{Library: lib, Input: p.input, Options: primary, Results: p.results}, 0, n,
			r.o.FirstRow+at)
		c.part = p
		at += n
		return c, nil
	}

	settled := make(chan *part, 1)
	written := make(chan error, 1)
	go func() {
		var first error
		for p := range settled {
			if first == nil {
				if first = writePart(sink, p); first != nil {
					cancel()
				}
			}
			free <- p // its capacity is the number of parts
		}
		written <- first
	}()
	endWriting := sync.OnceValue(func() error {
		close(settled)
		return <-written
	})
	defer endWriting() // also if Progress panics
	err := r.pipeline(ctx, next, func(c *chunk) { settled <- c.part })
	if e := endWriting(); e != nil {
		return e
	}
	return err
}

// part is the memory of one chunk of a stream.
type part struct {
	input   batch.Input
	results *batch.Results
}

// fill reads rows [lo, hi) of the source, fewer where it ends.
func (p *part) fill(source Source, lo, hi int) (err error) {
	defer recovered("source", &err)
	in, err := source.Rows(lo, hi, p.input)
	if err != nil {
		return err
	}
	if in == nil {
		return errors.New("dispatch: source yielded no input")
	}
	if n := in.Len(); n > hi-lo {
		return fmt.Errorf("dispatch: source yielded %d rows, want 0 to %d", n, hi-lo)
	}
	p.input = in
	return checkShape(in)
}

// checkShape checks the lengths of the columns of an input or a source that has such a check.
func checkShape(in any) error {
	if c, ok := in.(interface{ CheckShape() error }); ok {
		return c.CheckShape()
	}
	return nil
}

func writePart(sink Sink, p *part) (err error) {
	defer recovered("sink", &err)
	return sink.Write(p.results)
}

func recovered(what string, err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("dispatch: %s panicked: %v", what, p)
	}
}

// Shard returns the rows [lo, hi) of a source. A source that ends before hi is an error. The answers and the report are
// those of the rows in the whole if Options.FirstRow is lo and Options.EstimateRows the number of rows of the whole.
func Shard(source Source, lo, hi int) (Source, error) {
	if n := sourceRows(source); lo < 0 || hi < lo || n != UnknownRows && hi > n {
		return nil, fmt.Errorf("dispatch: rows %d to %d of %d", lo, hi, n)
	}
	return &shard{source: source, lo: lo, hi: hi}, nil
}

type shard struct {
	source Source
	lo, hi int
}

// Len returns the number of rows of the shard.
func (s *shard) Len() int { return s.hi - s.lo }

// CheckShape checks the whole.
func (s *shard) CheckShape() error { return checkShape(s.source) }

// RowsPerWorld is that of the source, if the shard begins with a world.
func (s *shard) RowsPerWorld() int {
	w, ok := s.source.(interface{ RowsPerWorld() int })
	if !ok || w.RowsPerWorld() == 0 || s.lo%w.RowsPerWorld() != 0 {
		return 0
	}
	return w.RowsPerWorld()
}

// Rows returns rows of the shard.
func (s *shard) Rows(lo, hi int, used batch.Input) (batch.Input, error) {
	hi = min(hi, s.Len())
	if lo >= hi {
		return batch.NewPairs(0), nil
	}
	in, err := s.source.Rows(s.lo+lo, s.lo+hi, used)
	if err == nil && in != nil && in.Len() < hi-lo {
		err = fmt.Errorf("dispatch: the source ends before row %d, want rows up to %d: %w", s.lo+hi, s.hi,
			io.ErrUnexpectedEOF)
	}
	return in, err
}
