package contact

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync/atomic"

	"clearance/batch"
	native "clearance/kernels/contact"

	"gonum.org/v1/gonum/spatial/r3"
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

// ManifoldStatuses are the names of the statuses of a pair.
var ManifoldStatuses = batch.Names[ManifoldStatus]{What: "status", List: []string{ManifoldNone: "separated",
	ManifoldFound: "contact", ManifoldUndecided: "undecided", ManifoldInvalid: "invalid"}}

func (s ManifoldStatus) String() string { return ManifoldStatuses.Name(s) }

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

	// Features keeps what is derived from the shapes of the library between calls; nil for the call alone.
	Features *FeatureTable
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
// [ManifoldOptions], by the kernels that simd names, see [Options].SIMD. What is wrong with a row is its status.
// workers bounds the goroutines; 0 is GOMAXPROCS. Bits do not depend on it.
func BuildManifolds(ctx context.Context, job *batch.Job, workers int, simd string, out *Manifolds) error {
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
	variant, err := variantOf(simd)
	if err != nil {
		return err
	}
	return buildManifolds(ctx, job, workers, variant, out)
}

// buildManifolds is BuildManifolds by a variant of the kernels.
func buildManifolds(ctx context.Context, job *batch.Job, workers int, variant string, out *Manifolds) error {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	used := make([]atomic.Bool, job.Library.Len())
	err := inParallel(ctx, workers, out.N, rowChunk, func(_, i int) {
		var row batch.Row
		if out.setStatus(job, i, &row); out.Status[i] == ManifoldFound {
			used[row.ShapeA].Store(true)
			used[row.ShapeB].Store(true)
		}
	})
	if err != nil {
		return err
	}
	table := out.Features
	if table == nil || table.library != job.Library {
		table = NewFeatureTable(job.Library)
	}
	features, refused := make([]*Features, len(used)), make([]error, len(used))
	err = inParallel(ctx, workers, len(used), 1, func(_, i int) {
		if used[i].Load() {
			features[i], refused[i] = table.Of(i)
		}
	})
	if err = errors.Join(append(refused, err)...); err != nil {
		return err
	}
	builder := newPointBuilder(variant, job.Library, features)
	spaces := make([]columnWorker, workers)
	return inChunks(ctx, workers, out.N, rowChunk, func(k, lo, hi int) { spaces[k].build(job, builder, lo, hi, out) })
}

// setStatus reads row i and sets its columns to those of a row without points, and the status to ManifoldFound if it
// has any.
func (m *Manifolds) setStatus(job *batch.Job, i int, row *batch.Row) {
	r := job.Results
	m.Count[i], m.Lower[i] = 0, math.NaN()
	putVec(m.Normal[3*i:], r3.Vec{X: math.NaN(), Y: math.NaN(), Z: math.NaN()})
	distance, gap, status := r.Distance().F64[i], float64(r.Gap()[i]), batch.Status(r.Status()[i])
	job.Input.Row(i, row)
	switch {
	case status == batch.Invalid || job.Library.CheckRow(i, row) != nil: // which makes unit quaternions
		m.Status[i] = ManifoldInvalid
	case distance-gap > job.Options.CutOff:
		m.Status[i] = ManifoldNone
	case status == batch.Undecided || !(gap < math.Inf(1)):
		m.Status[i] = ManifoldUndecided
	default:
		m.Status[i] = ManifoldFound
	}
}

// rowChunk is the number of rows that a worker takes at a time.
const rowChunk = 64

// columnWorker is the memory of a worker.
type columnWorker struct {
	stepWorker
	query  *batch.Pairs // of the rows
	maxGap []float64
}

// build sets the points of the rows lo to hi-1 that have any.
func (s *columnWorker) build(job *batch.Job, builder *pointBuilder, lo, hi int, out *Manifolds) {
	if s.query == nil {
		s.query, s.maxGap = batch.NewPairs(rowChunk), make([]float64, rowChunk)
		for i := range s.maxGap {
			s.maxGap[i] = job.Options.CutOff
		}
	}
	s.list = s.list[:0]
	for i := lo; i < hi; i++ {
		if out.Status[i] != ManifoldFound {
			continue
		}
		var row batch.Row
		job.Input.Row(i, &row)
		if job.Library.CheckRow(i, &row) != nil { // not reached: setStatus has checked it
			continue
		}
		s.query.SetRow(i-lo, &row)
		s.list = append(s.list, int32(i-lo))
	}
	r, q := job.Results, s.query
	builder.build(&s.stepWorker, &native.Rows{ShapeA: q.ShapeA, ShapeB: q.ShapeB, PositionA: q.PositionA,
		PositionB: q.PositionB, RotationA: q.RotationA, RotationB: q.RotationB, Normal: r.Normal().F64[3*lo:],
		Distance: r.Distance().F64[lo:], Gap: r.Gap()[lo:], WitnessA: r.WitnessA().F64[3*lo:],
		WitnessB: r.WitnessB().F64[3*lo:], MaxGap: s.maxGap}, s.list,
		&native.Points{Count: out.Count[lo:], Lower: out.Lower[lo:], Position: out.Position[3*MaxPoints*lo:],
			Gap: out.Gap[MaxPoints*lo:], ID: out.ID[MaxPoints*lo:]})
	for i := lo; i < hi; i++ {
		switch {
		case out.Status[i] != ManifoldFound:
		case out.Count[i] == 0:
			out.Status[i], out.Lower[i] = ManifoldNone, math.NaN()
		default:
			copy(out.Normal[3*i:3*i+3], r.Normal().F64[3*i:])
		}
	}
}
