package dispatch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"clearance/batch"

	"golang.org/x/sync/errgroup"
)

// Source yields the pairs of a stream.
type Source interface {
	// Next fills up to dst.Len() rows from row 0 and returns how many. At the end
	// it returns io.EOF, with the last rows or after them.
	Next(dst *batch.Pairs) (int, error)
}

// Sink takes the answers of a stream, in the order of the rows. It keeps no
// reference to r, whose memory serves again.
type Sink interface {
	Write(r *batch.Results) error
}

// streamParts is the number of chunks in memory: one each for reading, computing
// and writing.
const streamParts = 3

// RunStream answers the pairs of a source chunk by chunk into a sink, so that
// neither has to fit in memory: it holds three chunks, and reads, computes and
// writes at the same time. A source with a method Len() int gives the total for
// Progress.
//
// The first error of the source, a back end, the sink or the context stops it. The
// sink has then had whole chunks only, from row 0 on; what to do with them is up to
// the caller. Row numbers in errors and in the report count from the first row of
// the stream. Options.WarmStart has no place in a stream.
func (d *Dispatcher) RunStream(ctx context.Context, lib *batch.Library, source Source, options batch.Options, sink Sink, o Options) (Report, error) {
	start := time.Now()
	o.ensureDefaults()
	rep := Report{WorstGapRow: -1}
	if err := o.validate(); err != nil {
		return rep, err
	}
	if lib == nil {
		return rep, errors.New("dispatch: stream has no library")
	}
	if options.WarmStart != nil {
		return rep, errors.New("dispatch: a stream has no warm start")
	}
	if err := options.Check(); err != nil {
		return rep, err
	}
	backends, err := d.Choose(o.Backend, &options)
	if err != nil {
		return rep, err
	}
	o.setChunkRows(DefaultChunkRows)
	total := -1
	if s, ok := source.(interface{ Len() int }); ok {
		total = s.Len()
	}

	free := make(chan *part, streamParts)
	read := make(chan *part)
	answered := make(chan *part)
	for range streamParts {
		free <- newPart(o.ChunkRows, &options)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(read)
		return readParts(ctx, source, free, read)
	})
	g.Go(func() error {
		defer close(answered)
		r := d.runner(o, backends, &options, &rep)
		for p := range read {
			if p.n < p.results.N { // the last one
				p.pairs, p.results = p.pairs.Slice(0, p.n), batch.NewResults(p.n, &options)
			}
			r.job = &batch.Job{Library: lib, Input: p.pairs, Options: options, Results: p.results}
			if err := r.run(ctx, total); err != nil {
				return err
			}
			r.base += p.n
			if err := send(ctx, answered, p); err != nil {
				return err
			}
		}
		return nil
	})
	g.Go(func() error {
		for p := range answered {
			if err := writePart(sink, p); err != nil {
				return err
			}
			free <- p // has room for every part
		}
		return nil
	})
	err = g.Wait()
	rep.Wall = time.Since(start)
	return rep, err
}

// part is one chunk of a stream on its way.
type part struct {
	pairs   *batch.Pairs
	results *batch.Results
	n       int // rows in use
}

func newPart(rows int, o *batch.Options) *part {
	return &part{pairs: batch.NewPairs(rows), results: batch.NewResults(rows, o)}
}

func readParts(ctx context.Context, source Source, free <-chan *part, read chan<- *part) error {
	for {
		var p *part
		select {
		case p = <-free:
		case <-ctx.Done():
			return ctx.Err()
		}
		end, err := p.fill(source)
		if err != nil {
			return err
		}
		if p.n > 0 {
			if err := send(ctx, read, p); err != nil {
				return err
			}
		}
		if end {
			return nil
		}
	}
}

// fill reads rows until the part is full or the source has ended, so that chunks do
// not depend on how many rows the source likes to give at a time.
func (p *part) fill(source Source) (end bool, err error) {
	defer recovered("source", &err)
	p.n = 0
	empty := 0
	for size := p.pairs.Len(); p.n < size; {
		n, err := source.Next(p.pairs.Slice(p.n, size))
		if n < 0 || n > size-p.n {
			return false, fmt.Errorf("dispatch: source gave %d rows, want 0 to %d", n, size-p.n)
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
		if empty == 100 {
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

func send(ctx context.Context, c chan<- *part, p *part) error {
	select {
	case c <- p:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
