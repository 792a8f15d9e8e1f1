// Package audit checks results of worlds and of motions from the shapes alone, with a sample that the reference solves
// again: in memory, or in files by ranges of worlds, with the same report. Nothing that results state
// is believed. It keeps nothing between calls, which may run at the same time; a call uses several workers.
package audit

import (
	"context"
	"errors"
	"fmt"

	"clearance/batch"
	"clearance/dataset"
	"clearance/internal/score"
	"clearance/rollout"
	"clearance/rollout/sweep"
	"clearance/verify"
)

// rangeBytes is about the memory of the worlds and results that are audited at a time.
const rangeBytes = 32 << 20

// resultBytes is about what a row of results takes.
const resultBytes = 128

// Files are a file of worlds, or of motions, and a file or a folder of their results. Neither has to fit in memory.
type Files struct {
	Bodies  *batch.Bodies
	Worlds  string
	Results string

	// Lo and Hi are the worlds that are audited; Hi may be [score.ToEnd]. The sample is drawn from these.
	Lo, Hi int

	// Within says that the results may be of more worlds than these.
	Within bool

	step int // worlds at a time; 0 is by memory
}

// each calls f with the ranges of a file of worlds that has not been read, in order, and with the numbers of the worlds
// of each.
func each[T any](ctx context.Context, files *Files, file rollout.Source[T], part score.Rows,
	f func(worlds T, lo, hi int) (more bool, err error)) error {
	step := files.step
	if step == 0 {
		step = max(1, rangeBytes/(1+56*file.BodiesPerWorld()*file.WayPoints()+resultBytes*file.RowsPerWorld()))
	}
	for lo := part.Lo; lo < part.Hi; lo += step {
		hi := min(lo+step, part.Hi)
		worlds, err := file.Worlds(lo, hi)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if more, err := f(worlds, lo, hi); err != nil || !more {
			return err
		}
	}
	return nil
}

// RolloutFiles are results of worlds.
type RolloutFiles struct {
	Files
	AllPairs bool // whatever pairs the file lists

	// Options are those that the answers have to meet. Their columns are those of the results, and so is the precision
	// if any is good.
	Options      rollout.Options
	AnyPrecision bool

	// Accept, if not nil, looks at the results before they are audited.
	Accept func(results *dataset.RolloutReader, o *rollout.Options) error
}

// Audit audits the results. It sets the columns and the precision of the options to those of the results.
func (f *RolloutFiles) Audit(ctx context.Context, s *Sample) (*Rollout, error) {
	results, err := dataset.OpenRolloutResults(f.Results)
	if err != nil {
		return nil, err
	}
	defer results.Close()
	file, err := f.open()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	part, err := score.WorldsOf(f.Lo, f.Hi, file.Count())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Worlds, err)
	}
	if err := f.fits(file, results, part); err != nil {
		return nil, err
	}
	solve, err := f.choose(ctx, file.Bodies, part, s)
	if err != nil {
		return nil, err
	}
	all := newRollout()
	rows := f.rowsPerWorld(file)
	err = each(ctx, &f.Files, file, part, func(w *batch.Worlds, lo, hi int) (bool, error) {
		answers, err := results.Worlds(lo, hi, rows)
		if err != nil {
			return false, err
		}
		job := &rollout.Job{Bodies: file.Bodies, Worlds: w, Options: f.Options, Results: answers}
		if err := s.check(job, lo); err != nil {
			return false, err
		}
		r := newRollout()
		r.OfWorlds, r.firstWorld, r.firstRow = hi-lo, lo, int(results.FirstRow())
		if err := r.run(ctx, job, s, solve.of(lo-part.Lo, hi-part.Lo)); err != nil {
			return false, err
		}
		all.merge(r)
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

func (f *RolloutFiles) open() (*score.WorldSource, error) {
	return score.OpenWorlds(f.Worlds, f.Bodies, f.AllPairs)
}

// rowsPerWorld is the number of rows of results of a world, 0 of all pairs.
func (f *RolloutFiles) rowsPerWorld(file *score.WorldSource) int {
	if f.Options.Reduce == rollout.ReduceWorld {
		return 1
	}
	return file.RowsPerWorld()
}

// fits returns an error if the results are not of the form that the question has, or of other worlds.
func (f *RolloutFiles) fits(file *score.WorldSource, r *dataset.RolloutReader, part score.Rows) error {
	o := &f.Options
	if !f.AnyPrecision && o.Precision != r.Precision() {
		return fmt.Errorf("%s is of precision %v, the audit asks for %v", f.Results, r.Precision(), o.Precision)
	}
	o.Columns, o.Precision = r.Columns(), r.Precision()
	if f.Accept != nil {
		if err := f.Accept(r, o); err != nil {
			return err
		}
	}
	if o.Columns&score.AuditColumns == 0 {
		return fmt.Errorf("%s: the columns %v are not enough to audit, want status or distance among them", f.Results,
			o.Columns)
	}
	all := file.RowsPerWorld() == 0
	switch {
	case o.Reduce == rollout.ReduceWorld && (!r.Reduced() || r.AllPairs() || r.Bodies() != all):
		return f.other("worlds")
	case o.Reduce != rollout.ReduceWorld && (r.Reduced() || r.AllPairs() != all || r.Bodies() != all):
		return f.other("pairs of bodies")
	case r.AllPairs() && !o.HasMaxDistance && o.Query.Info().CutOff != batch.CutOffAtTouch &&
		!o.Query.Info().Boolean():
		return errors.New("all pairs of bodies: want a largest distance, beyond which a pair needs no row")
	}
	lo, hi := r.Range()
	return f.belongs(lo, hi, r.Len(), f.rowsPerWorld(file), part)
}

// other is the error of results without the columns that the options stand for.
func (f *Files) other(what string) error {
	return fmt.Errorf("%s has not the columns of %s of %s: another reduction, or another choice of all pairs",
		f.Results, what, f.Worlds)
}

// belongs returns an error if results of worlds [lo, hi), with so many rows, are not those of a part of the file, whose
// worlds have so many rows each, 0 if that is not known.
func (f *Files) belongs(lo, hi int, has int64, rows int, part score.Rows) error {
	if hi == 0 && rows > 0 { // the file does not say
		hi = lo + int(has)/rows
	}
	switch {
	case f.Within && lo <= part.Lo && hi >= part.Hi:
	case lo != part.Lo || hi != part.Hi:
		return fmt.Errorf("%s states worlds %d to %d, the audit asks for %d to %d of the %d of %s; they do not belong "+
			"together", f.Results, lo, hi-1, part.Lo, part.Hi-1, part.Of, f.Worlds)
	}
	if want := int64(hi-lo) * int64(rows); rows > 0 && has != want {
		return fmt.Errorf("%s has %d rows, want %d of the worlds %d to %d of %s; they do not belong together",
			f.Results, has, want, lo, hi-1, f.Worlds)
	}
	return nil
}

// choose chooses the worlds that the reference solves, of those of a part. Where worlds have bodies of their own, the
// file is read for the number of their pairs of parts.
func (f *RolloutFiles) choose(ctx context.Context, bodies *batch.Bodies, part score.Rows, s *Sample) (chosen, error) {
	var counts []int64
	if s.Pairs > 0 && s.Pairs != All {
		file, err := f.open()
		if err != nil {
			return chosen{}, err
		}
		defer file.Close()
		err = each(ctx, &f.Files, file, part, func(w *batch.Worlds, _, _ int) (bool, error) {
			job := &rollout.Job{Bodies: bodies, Worlds: w}
			for world := range w.Count() {
				counts = append(counts, partPairs(job, world))
				if w.Shared() && w.Count() > 1 { // the same in all worlds
					return false, nil
				}
			}
			return true, nil
		})
		if err != nil {
			return chosen{}, err
		}
	}
	return s.worldsOf(part.Len(), func(world int) int64 { return counts[min(world, len(counts)-1)] }), nil
}

func newRollout() *Rollout { return &Rollout{Named: new(verify.Report)} }

// SweepFiles are results of motions.
type SweepFiles struct {
	Files
	Options sweep.Options

	// Accept, if not nil, looks at the results before they are audited.
	Accept func(results *dataset.SweepReader) error
}

// Audit audits the results.
func (f *SweepFiles) Audit(ctx context.Context, s *Sample) (*Sweep, error) {
	results, err := dataset.OpenSweepResults(f.Results)
	if err != nil {
		return nil, err
	}
	defer results.Close()
	file, err := dataset.OpenMotions(f.Worlds, f.Bodies)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	part, err := score.WorldsOf(f.Lo, f.Hi, file.Count())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Worlds, err)
	}
	if f.Accept != nil {
		if err := f.Accept(results); err != nil {
			return nil, err
		}
	}
	rows := file.RowsPerWorld()
	lo, hi := results.Range()
	if err := f.belongs(lo, hi, results.Len(), rows, part); err != nil {
		return nil, err
	}
	solve := s.rowsOf(part.Len() * rows)
	all := new(Sweep)
	err = each(ctx, &f.Files, file, part, func(m *batch.Motions, from, to int) (bool, error) {
		answers, err := results.Worlds(from, to, rows)
		if err != nil {
			return false, err
		}
		job := &rollout.SweepJob{Bodies: f.Bodies, Motions: m, Options: f.Options, Results: answers}
		a := &Sweep{firstRow: (from - lo) * rows}
		if err := a.run(ctx, job, s, solve.of((from-part.Lo)*rows, (to-part.Lo)*rows)); err != nil {
			return false, err
		}
		all.merge(a)
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}
