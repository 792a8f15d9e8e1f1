package contact

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync/atomic"

	"clearance/batch"
)

// ManifoldStatus says what is known of the contact points of a pair.
type ManifoldStatus uint8

// Statuses of a pair. There are points only where it is ManifoldFound.
const (
	ManifoldNone      ManifoldStatus = iota // the pair is proved farther apart than the largest gap
	ManifoldFound                           // the pair may be that near, and has a point at least
	ManifoldUndecided                       // the pair has no answer and may be in contact
	ManifoldInvalid                         // the input of the row is invalid
)

// Manifolds are the contact points of N pairs in columns. Rows of points from Count on are not set.
type Manifolds struct {
	N        int
	Status   []ManifoldStatus // [N]
	Count    []int32          // [N] number of points
	Normal   []float64        // [N,3] unit, world frame, from A to B; NaN without points
	Lower    []float64        // [N] lower bound of the gap along the normal, metres; NaN without points
	Position []float64        // [N,4,3] see [Point], metres in the world frame
	Gap      []float64        // [N,4] metres
	ID       []uint64         // [N,4]
}

// NewManifolds returns columns for n pairs.
func NewManifolds(n int) *Manifolds {
	return &Manifolds{N: n, Status: make([]ManifoldStatus, n), Count: make([]int32, n), Normal: make([]float64, 3*n),
		Lower: make([]float64, n), Position: make([]float64, 3*MaxPoints*n), Gap: make([]float64, MaxPoints*n),
		ID: make([]uint64, MaxPoints*n)}
}

// ManifoldOptions are the options of a call whose answers contact points with gaps of at most maxGap metres are built
// from.
func ManifoldOptions(maxGap float64) batch.Options {
	return batch.Options{Precision: batch.Double, CutOff: maxGap, HasCutOff: true, Columns: manifoldColumns}
}

// manifoldColumns are the columns that contact points are built from.
const manifoldColumns = batch.ColDistance | batch.ColGap | batch.ColNormal | batch.ColWitnessA | batch.ColWitnessB |
	batch.ColStatus

// BuildManifolds sets out to the contact points of the answers of a job: a list of pairs, or pairs of worlds, with
// [ManifoldOptions]. What is wrong with a row is its status. workers bounds the goroutines; 0 is GOMAXPROCS. Bits do
// not depend on it.
func BuildManifolds(ctx context.Context, job *batch.Job, workers int, out *Manifolds) error {
	n, o := job.Input.Len(), &job.Options
	switch {
	case job.Results == nil || job.Results.N != n || manifoldColumns&^job.Results.Columns != 0 ||
		job.Results.Precision != batch.Double:
		return errors.New("contact: contact points need the answers of ManifoldOptions")
	case !o.HasCutOff || !(o.CutOff >= 0) || math.IsInf(o.CutOff, 1):
		return fmt.Errorf("contact: largest gap %g m; it is not negative and finite", o.CutOff)
	case out.N != n || len(out.Status) != n || len(out.Count) != n || len(out.Normal) != 3*n || len(out.Lower) != n ||
		len(out.Position) != 3*MaxPoints*n || len(out.Gap) != MaxPoints*n || len(out.ID) != MaxPoints*n:
		return fmt.Errorf("contact: columns of contact points are not those of %d pairs", n)
	}
	features := make([]atomic.Pointer[Features], job.Library.Len())
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	spaces := make([]stepWorker, workers)
	return inParallel(ctx, workers, n, worldChunk, func(k, i int) {
		var row batch.Row
		job.Input.Row(i, &row)
		spaces[k].setRow(job, features, &row, i, out)
	})
}

// setRow sets row i of out.
func (s *stepWorker) setRow(job *batch.Job, features []atomic.Pointer[Features], row *batch.Row, i int,
	out *Manifolds) {
	lib, r, maxGap := job.Library, job.Results, job.Options.CutOff
	out.Status[i], out.Count[i], out.Lower[i] = ManifoldNone, 0, math.NaN()
	normal := out.Normal[3*i : 3*i+3]
	normal[0], normal[1], normal[2] = math.NaN(), math.NaN(), math.NaN()
	distance, gap, status := r.Distance().F64[i], float64(r.Gap()[i]), batch.Status(r.Status()[i])
	switch {
	case status == batch.Invalid || lib.CheckRow(i, row) != nil: // which makes unit quaternions
		out.Status[i] = ManifoldInvalid
		return
	case distance-gap > maxGap:
		return
	case status == batch.Undecided || !(gap < math.Inf(1)):
		out.Status[i] = ManifoldUndecided
		return
	}
	of := func(shape int32) *Features {
		f := features[shape].Load()
		if f == nil { // several workers may build it, alike
			f = NewFeatures(lib.Shape(shape))
			features[shape].Store(f)
		}
		return f
	}
	n, a, b := r.Normal().F64, r.WitnessA().F64, r.WitnessB().F64
	p := Pair{A: of(row.ShapeA), B: of(row.ShapeB), PoseA: row.PoseA, PoseB: row.PoseB,
		Normal: vecOf(n[3*i:]), Distance: distance, Gap: gap, WitnessA: vecOf(a[3*i:]), WitnessB: vecOf(b[3*i:]),
		MaxGap: maxGap}
	m := &s.manifold
	s.workspace.Build(&p, m)
	if m.N == 0 {
		return
	}
	out.Status[i], out.Count[i], out.Lower[i] = ManifoldFound, int32(m.N), m.Lower
	putVec(normal, m.Normal)
	for k := range m.N {
		q := MaxPoints*i + k
		putVec(out.Position[3*q:], m.Points[k].Position)
		out.Gap[q], out.ID[q] = m.Points[k].Gap, m.Points[k].ID
	}
}
