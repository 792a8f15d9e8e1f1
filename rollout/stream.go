package rollout

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/internal/memory"
	"clearance/rollout/sweep"
)

// A Source yields worlds by ranges, of the type *[batch.Worlds] or *[batch.Motions]. Files of worlds are sources.
type Source[T any] interface {
	Count() int // of worlds
	BodiesPerWorld() int
	WayPoints() int    // poses of a body of a world
	RowsPerWorld() int // 0 of all pairs

	// Worlds returns worlds [lo, hi). Ranges of a stream ascend and do not overlap.
	Worlds(lo, hi int) (T, error)
}

// A Stream is worlds [Lo, Hi) of a source, and their bodies. Neither the worlds nor their results have to fit in
// memory: they are read, answered and written by ranges, and these three overlap.
type Stream[T any] struct {
	Bodies *batch.Bodies
	Source Source[T]
	Lo, Hi int
	Worlds int // of a range; 0 is a default by what a world takes. No answer depends on it.
}

// rangeBytes is about the memory of a range: its worlds and their results. Three are in memory at a time.
const rangeBytes = 64 << 20

// step is the number of worlds of a range, each of which has so many rows of results of so many bytes.
func (s *Stream[T]) step(rows int, rowBytes float64) int {
	if s.Worlds > 0 {
		return s.Worlds
	}
	of := s.Source
	world := 56*float64(of.BodiesPerWorld())*float64(of.WayPoints()) + rowBytes*float64(max(rows, 1))
	return int(max(1, memory.Room(int64(rangeBytes/world), 8*world)))
}

func (s *Stream[T]) check() error {
	switch {
	case s.Bodies == nil:
		return errors.New("rollout: no bodies")
	case s.Source == nil:
		return errors.New("rollout: no worlds")
	case s.Lo < 0 || s.Hi < s.Lo || s.Hi > s.Source.Count():
		return fmt.Errorf("rollout: worlds %d to %d of %d", s.Lo, s.Hi, s.Source.Count())
	}
	return nil
}

// part is a range of a stream.
type part[T any] struct {
	worlds T
	lo, hi int
	err    error // of reading it
}

// each answers the ranges of a stream in order and passes the results of each to the sink. answer may use the memory of
// used, results that are written or the zero value. A stream without worlds has one range, which is empty, so that the
// sink sees the form of the results.
func each[T, R any](ctx context.Context, s *Stream[T], step int,
	answer func(ctx context.Context, p part[T], used R) (R, error), sink func(R) error) error {
	var reader sync.WaitGroup
	defer reader.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	parts := make(chan part[T])
	reader.Go(func() {
		defer close(parts)
		for lo := s.Lo; ; {
			p := part[T]{lo: lo, hi: min(lo+step, s.Hi)}
			p.worlds, p.err = s.Source.Worlds(p.lo, p.hi)
			select {
			case parts <- p:
			case <-ctx.Done():
				return
			}
			if lo = p.hi; p.err != nil || lo >= s.Hi {
				return
			}
		}
	})
	written := make(chan error, 1)
	written <- nil
	var last, used R
	for p := range parts {
		var results R
		err := p.err
		if err == nil {
			results, err = answer(ctx, p, used)
		}
		if failed := <-written; failed != nil {
			return failed
		}
		if err != nil {
			return err
		}
		last, used = results, last
		go func() { written <- sink(results) }()
	}
	if err := <-written; err != nil {
		return err
	}
	return ctx.Err()
}

// progress is the progress of a range as that of the stream. A world counts as many units in both.
func (s *Stream[T]) progress(p *part[T], of func(done, total int)) func(done, total int) {
	if of == nil {
		return nil
	}
	return func(done, total int) {
		unit := total / max(p.hi-p.lo, 1)
		of((p.lo-s.Lo)*unit+done, (s.Hi-s.Lo)*unit)
	}
}

// RunStream answers the worlds of a stream as [Run] does, with the same answers, and passes the results of consecutive
// ranges to the sink. Worlds in errors and in the report count from that of the source. Report.Wall is the time of the
// answers alone.
//
// After an error the sink has received results of whole ranges, from the first world on.
func RunStream(ctx context.Context, d *dispatch.Dispatcher, s *Stream[*batch.Worlds], o Options, run dispatch.Options,
	sink func(*Results) error) (Report, error) {
	var all Report
	if err := errors.Join(s.check(), o.Check()); err != nil {
		return all, err
	}
	rows := s.Source.RowsPerWorld()
	if o.Reduce == ReduceWorld {
		rows = 1
	}
	whole := run.Progress
	answer := func(ctx context.Context, p part[*batch.Worlds], used *Results) (*Results, error) {
		run.Progress = s.progress(&p, whole)
		job := &Job{Bodies: s.Bodies, Worlds: p.worlds, Options: o, FirstWorld: p.lo, of: s.Hi - s.Lo}
		if used != nil && used.Check(rows*(p.hi-p.lo), &o) == nil && used.Offsets == nil {
			job.Results = used
		}
		b, err := newBatch(d, job, run)
		if err != nil {
			return nil, err
		}
		defer b.Close()
		if err := b.makeResults(); err != nil {
			return nil, err
		}
		run.EstimateRows = b.run.EstimateRows // one back end for all ranges
		r, rep, err := b.Run(ctx)
		all.merge(&rep, b.run.MaxRowErrors)
		return r, err
	}
	err := each(ctx, s, s.step(rows, rowBytes(&o)), answer, sink)
	return all, err
}

// SweepStream is [Sweep] for a stream, as [RunStream] is [Run].
func SweepStream(ctx context.Context, d *dispatch.Dispatcher, s *Stream[*batch.Motions], o sweep.Options,
	run dispatch.Options, sink func(*SweepResults) error) (SweepReport, error) {
	var all SweepReport
	if err := errors.Join(s.check(), o.Check()); err != nil {
		return all, err
	}
	whole := run.Progress
	answer := func(ctx context.Context, p part[*batch.Motions], used *SweepResults) (*SweepResults, error) {
		run.Progress = s.progress(&p, whole)
		job := &SweepJob{Bodies: s.Bodies, Motions: p.worlds, Options: o, FirstWorld: p.lo, of: s.Hi - s.Lo}
		if used != nil && used.Check(p.worlds.Len()) == nil {
			job.Results = used
		}
		rep, rows, err := runSweep(ctx, d, job, run)
		run.EstimateRows = rows
		all.merge(&rep, rowErrors(run.MaxRowErrors))
		return job.Results, err
	}
	err := each(ctx, s, s.step(s.Source.RowsPerWorld(), sweepRowBytes), answer, sink)
	return all, err
}

// rowsOfAll is an estimate of rows from some worlds, for all of them, at most a largest one.
func rowsOfAll(rows, worlds, of, most int) int {
	if of > worlds && worlds > 0 {
		rows = int(min(float64(rows)*float64(of)/float64(worlds), float64(most)))
	}
	return min(max(rows, 1), most)
}
