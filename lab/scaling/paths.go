package scaling

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	clearance "clearance"
	"clearance/batch"
	"clearance/dataset"
	"clearance/dispatch"
	"clearance/internal/score"
	"clearance/rollout"
	"clearance/rollout/sweep"
)

// path is a way through the program that answers rows.
type path struct {
	name string
	run  func(ctx context.Context) (rows int, bytes float64, err error) // bytes of all rows

	output string // the file that run writes, if any; it is removed first, since replacing one takes time, too
}

// Names of paths.
const (
	fresh     = "distance, new results"
	reused    = "distance, results reused"
	heldRows  = "held rollout, all rows"
	heldLeast = "held rollout, least of worlds"
	heldAll   = "held rollout, all pairs"
	swept     = "sweep"
	scoring   = "score, " // and a format
	verifying = "verify, "
)

// formats of files.
var formats = []string{"parquet", "npz"}

// Bytes of a pair and of the pose of a body in columns.
const (
	pairBytes = 2 * (4 + 3*8 + 4*8)
	poseBytes = 7 * 8
)

// Slow paths answer a part of the rows.
const (
	sweepShare  = 8
	verifyShare = 4
)

// near is the largest distance of all pairs, in metres.
const near = 0.25

// paths are the paths of a scene. Files stand in the folder. The caller calls close at the end.
func (s *scene) paths(h *clearance.Handle, folder string) (list []path, done func(), err error) {
	n := s.pairs.Len()
	again := &batch.Job{Library: s.library, Input: s.pairs}
	again.Results = batch.NewResults(n, &again.Options)
	moved := float64(n) * (pairBytes + resultBytes(again.Results))
	list = append(list, path{name: fresh, run: func(ctx context.Context) (int, float64, error) {
		_, _, err := h.Distance(ctx, s.library, s.pairs)
		return n, moved, err
	}}, path{name: reused, run: func(ctx context.Context) (int, float64, error) {
		_, err := h.Run(ctx, again)
		return n, moved, err
	}})

	var held []*rollout.Batch
	done = func() {
		for _, b := range held {
			b.Close()
		}
	}
	for _, o := range []struct {
		name    string
		worlds  *batch.Worlds
		options rollout.Options
	}{
		{heldRows, s.worlds, rollout.Options{}},
		{heldLeast, s.worlds, rollout.Options{Reduce: rollout.ReduceWorld}},
		{heldAll, s.all, rollout.Options{MaxDistance: near, HasMaxDistance: true}},
	} {
		b, err := h.HoldRollout(s.bodies, o.worlds, o.options)
		if err != nil {
			done()
			return nil, nil, err
		}
		held = append(held, b)
		list = append(list, path{name: o.name, run: func(ctx context.Context) (int, float64, error) {
			r, rep, err := b.Run(ctx)
			poses := float64(len(o.worlds.Poses) * 8)
			return rep.Rows, poses + float64(r.N)*resultBytes(r.Results), err
		}})
	}

	motions := s.firstMotions(max(1, s.motions.Count()/sweepShare))
	list = append(list, path{name: swept, run: func(ctx context.Context) (int, float64, error) {
		r, _, err := h.Sweep(ctx, s.bodies, motions, sweep.Options{})
		if err != nil {
			return 0, 0, err
		}
		const row = 1 + 5*8 + 3*4 // of batch.SweepResults
		return r.N, float64(len(motions.Poses)*8 + row*r.N), nil
	}})

	for _, format := range formats {
		files, err := s.files(h, folder, format)
		if err != nil {
			done()
			return nil, nil, err
		}
		list = append(list, files...)
	}
	return list, done, nil
}

// files are the paths of a format of files.
func (s *scene) files(h *clearance.Handle, folder, format string) ([]path, error) {
	name := func(base string) string { return filepath.Join(folder, base+"."+format) }
	write := func(to string, p *batch.Pairs) error {
		w, err := dataset.CreatePairs(to, int64(p.Len()))
		if err != nil {
			return err
		}
		if err := w.Write(p); err != nil {
			w.Abort()
			return err
		}
		return w.Close()
	}
	fewer := s.pairs.Slice(0, max(1, s.pairs.Len()/verifyShare))
	if err := write(name("pairs"), s.pairs); err != nil {
		return nil, err
	}
	if err := write(name("fewer"), fewer); err != nil {
		return nil, err
	}
	one := batch.NewResults(1, &batch.Options{Columns: scored})
	row := pairBytes + resultBytes(one)
	answer := func(ctx context.Context, pairs, results string) error {
		_, err := score.Files(ctx, h.Dispatcher(), s.library, pairs, 0, score.ToEnd, results,
			batch.Options{Columns: scored}, dispatch.Options{Backend: backend}, nil)
		return err
	}
	whole := func(ctx context.Context) (int, float64, error) {
		if err := answer(ctx, name("pairs"), name("results")); err != nil {
			return 0, 0, err
		}
		// Columns are written by a reader or a solver and read by a solver or a writer.
		bytes, err := sizes(name("pairs"), name("results"))
		return s.pairs.Len(), bytes + 2*row*float64(s.pairs.Len()), err
	}
	audit := func(ctx context.Context) (int, float64, error) {
		if _, err := os.Stat(name("answers")); err != nil { // the round that warms up
			if err := answer(ctx, name("fewer"), name("answers")); err != nil {
				return 0, 0, err
			}
		}
		_, _, err := score.Audit(ctx, s.library, name("fewer"), 0, score.ToEnd, name("answers"), score.Whole,
			batch.Options{}, 0, nil)
		if err != nil {
			return 0, 0, err
		}
		bytes, err := sizes(name("fewer"), name("answers"))
		return fewer.Len(), bytes + 2*row*float64(fewer.Len()), err
	}
	return []path{{name: scoring + format, output: name("results"), run: whole},
		{name: verifying + format, run: audit}}, nil
}

// scored are the columns of results files of pairs.
var scored = batch.AllColumns

// resultBytes is the size of a row of results.
func resultBytes(r *batch.Results) (bytes float64) {
	for _, c := range r.Columns.Each() {
		if r.N > 0 {
			bytes += float64(r.Column(c).Bytes()) / float64(r.N)
		}
	}
	return bytes
}

// sizes is the sum of the sizes of files.
func sizes(paths ...string) (bytes float64, err error) {
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			return 0, fmt.Errorf("scaling: %w", err)
		}
		bytes += float64(info.Size())
	}
	return bytes, nil
}
