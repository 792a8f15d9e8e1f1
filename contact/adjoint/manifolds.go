package adjoint

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"

	"clearance/batch"
	"clearance/contact"
	"clearance/derive"
	"clearance/internal/fault"
)

// ManifoldCotangents are the gradients of a function with respect to the manifolds of N pairs. A column that is nil is
// zero.
type ManifoldCotangents struct {
	Normal   []float64 // [N,3], of all points of a pair together
	Position []float64 // [N,4,3]
	Gap      []float64 // [N,4]
}

// ManifoldsVJP sets twists [N,12] to the products of cotangents with the derivatives of the manifolds that
// [contact.BuildManifolds] made of a job: the gradients by the twists of A and B (velocity of the position, angular
// velocity, world axes). Of the manifolds Count and ID are read. smoothness [N] is that of each pair; a pair without
// points is smooth, with the gradient zero. workers bounds the goroutines; 0 is GOMAXPROCS. Bits do not depend on it.
func ManifoldsVJP(ctx context.Context, job *batch.Job, m *contact.Manifolds, bar *ManifoldCotangents, workers int,
	twists []float64, smoothness []derive.Smoothness) error {
	n := job.Input.Len()
	if job.Results == nil || job.Results.N != n || m.N != n || len(twists) != 12*n || len(smoothness) != n {
		return errors.New("contact: the columns are not those of the pairs")
	}
	for _, x := range []struct {
		name      string
		have, per int
	}{{"normals", len(bar.Normal), 3}, {"positions", len(bar.Position), 3 * contact.MaxPoints},
		{"gaps", len(bar.Gap), contact.MaxPoints}} {
		if x.have != 0 && x.have != x.per*n {
			return fmt.Errorf("contact: %d cotangents of %s, want %d", x.have, x.name, x.per*n)
		}
	}
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = max(1, min(workers, n))
	table := m.Features
	if table == nil || table.Library() != job.Library {
		table = contact.NewFeatureTable(job.Library)
	}
	spaces := make([]manifoldWorker, workers)
	for i := range spaces {
		spaces[i] = manifoldWorker{job: job, manifolds: m, bar: bar, table: table}
	}
	err := fault.Blocks(ctx, workers, n, problemChunk, func(worker int, chunks iter.Seq2[int, int]) {
		s := &spaces[worker]
		for lo, hi := range chunks {
			for i := lo; i < hi; i++ {
				a, b, smooth, err := s.row(i)
				if err != nil && s.err == nil {
					s.err = err
				}
				copy(twists[12*i:], a[:])
				copy(twists[12*i+6:], b[:])
				smoothness[i] = smooth
			}
		}
	})
	for i := range spaces {
		err = errors.Join(err, spaces[i].err)
	}
	return err
}

// manifoldWorker is the memory of a worker.
type manifoldWorker struct {
	job       *batch.Job
	manifolds *contact.Manifolds
	bar       *ManifoldCotangents
	table     *contact.FeatureTable
	build     contact.Workspace
	pair      PairWorkspace
	err       error
}

// row is the product of a row.
func (s *manifoldWorker) row(i int) (a, b [6]float64, smoothness derive.Smoothness, err error) {
	r, points := s.job.Results, int(s.manifolds.Count[i])
	var row batch.Row
	s.job.Input.Row(i, &row)
	if points <= 0 || points > contact.MaxPoints || s.job.Library.CheckRow(i, &row) != nil {
		return a, b, derive.Smooth, nil
	}
	p := contact.Pair{PoseA: row.PoseA, PoseB: row.PoseB, Distance: r.Distance().F64[i], Gap: float64(r.Gap()[i]),
		Normal: vecOf(r.Normal().F64[3*i:]), WitnessA: vecOf(r.WitnessA().F64[3*i:]),
		WitnessB: vecOf(r.WitnessB().F64[3*i:]), MaxGap: s.job.Options.CutOff}
	if p.A, err = s.table.Of(int(row.ShapeA)); err != nil {
		return a, b, derive.None, err
	}
	if p.B, err = s.table.Of(int(row.ShapeB)); err != nil {
		return a, b, derive.None, err
	}
	var m contact.Manifold
	s.build.Build(&p, &m)
	var bar PairCotangent
	if len(s.bar.Normal) > 0 {
		bar.Normal = vecOf(s.bar.Normal[3*i:])
	}
	found := 0
	for k := range points {
		at := contact.MaxPoints*i + k
		for j := range m.N {
			if m.Points[j].ID != s.manifolds.ID[at] {
				continue
			}
			found++
			if len(s.bar.Position) > 0 {
				bar.Position[j] = vecOf(s.bar.Position[3*at:])
			}
			if len(s.bar.Gap) > 0 {
				bar.Gap[j] = s.bar.Gap[at]
			}
		}
	}
	if found != points {
		return a, b, derive.None, nil
	}
	a, b, smoothness = s.pair.VJP(&p, &m, &bar)
	return a, b, smoothness, nil
}
