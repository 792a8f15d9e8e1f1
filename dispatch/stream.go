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

// A Source yields the pairs of a stream.
type Source interface {
	// Next fills at most dst.Len() rows of dst, beginning with row 0, and returns their
	// number. At the end it returns io.EOF, with the last rows or after them.
	Next(dst *batch.Pairs) (int, error)
}

// A Sink receives the answers of a stream in the order of the rows.
type Sink interface {
	// Write must not keep a reference to r, which is reused.
	Write(r *batch.Results) error
}

// maxStreamRows bounds the default number of rows per chunk of a stream: about 50 MB per
// chunk, and several are in memory at a time.
const maxStreamRows = 1 << 18

// maxEmptyReads is the number of times that a source may yield no row without an error.
const maxEmptyReads = 100

// RunStream answers the pairs of a source chunk by chunk and writes the answers to a sink,
// so that neither has to fit in memory. Reading, computing, answering declined rows and
// writing overlap; a few chunks are in memory at a time, six with one device. A source
// with a method Len() int or Len() int64 gives the total for Progress and for the choice
// of the back end.
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
	if err := d.served(options.Query); err != nil {
		return rep, err
	}
	if err := options.Check(); err != nil {
		return rep, err
	}
	total := sourceRows(source)
	selectBy := total
	if o.EstimateRows > 0 {
		selectBy = o.EstimateRows
	}
	choice, err := d.Choose(o.Backend, &options, selectBy)
	if err != nil {
		return rep, err
	}
	rep.describe(choice)
	pool, rows := newPool(choice), manyRows
	if total >= 0 {
		rows = max(total, 1) // chunks no larger than the stream
	}
	o.setChunkRows(min(rows, pool.chunkRows(rows), maxStreamRows))
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
	base, end := r.o.FirstRow, false
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
			p = newPart(r.o.ChunkRows, &options)
		}
		var err error
		if end, err = p.fill(source); err != nil || p.n == 0 {
			return nil, err
		}
		if p.n < p.results.N { // the last one
			p.pairs, p.results = p.pairs.Slice(0, p.n), batch.NewResults(p.n, &options)
		}
		c := r.newChunk(&batch.Job{Library: lib, Input: p.pairs, Options: options, Results: p.results}, 0, p.n, base)
		c.part = p
		base += p.n
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
	pairs   *batch.Pairs
	results *batch.Results
	n       int // rows in use
}

func newPart(rows int, o *batch.Options) *part {
	return &part{pairs: batch.NewPairs(rows), results: batch.NewResults(rows, o)}
}

// fill reads rows until the part is full or the source has ended, so that chunks do not
// depend on the number of rows that the source yields at a time.
func (p *part) fill(source Source) (end bool, err error) {
	defer recovered("source", &err)
	p.n = 0
	empty := 0
	for size := p.pairs.Len(); p.n < size; {
		n, err := source.Next(p.pairs.Slice(p.n, size))
		if n < 0 || n > size-p.n {
			return false, fmt.Errorf("dispatch: source yielded %d rows, want 0 to %d", n, size-p.n)
		}
		p.n += n
		if err == io.EOF {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		if empty++; n > 0 {
			empty = 0
		}
		if empty == maxEmptyReads {
			return false, fmt.Errorf("dispatch: source: %w", io.ErrNoProgress)
		}
	}
	return false, nil
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
