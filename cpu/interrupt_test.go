package cpu

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/testkit"
	"clearance/kernels"

	"gonum.org/v1/gonum/spatial/r3"
)

// slowRows are rows of which each takes the reference solvers some milliseconds: sharp
// superquadrics, deep in one another.
func slowRows(t *testing.T, n int) *batch.Job {
	t.Helper()
	s := geom.Superquadric{SemiAxes: r3.Vec{X: 1, Y: 1.2, Z: 0.9}, Alpha1: 0.1, Alpha2: 1.9}
	lib, err := batch.NewLibrary([]geom.Shape{s}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := batch.NewPairs(n)
	for i := range n {
		at := geom.IdentityPose()
		at.Position.X = 0.1 + 1e-6*float64(i)
		p.SetRow(i, &batch.Row{PoseA: geom.IdentityPose(), PoseB: at})
	}
	return &batch.Job{Library: lib, Input: p, Options: batch.Options{Precision: batch.Double}}
}

// countdown is a context that ends after a number of calls of Err.
type countdown struct {
	context.Context
	looks int
}

func (c *countdown) Err() error {
	if c.looks--; c.looks < 0 {
		return context.Canceled
	}
	return nil
}

// TestInterruptedBetweenRows: the reference solvers check the context before every row.
func TestInterruptedBetweenRows(t *testing.T) {
	const n = 512
	job := slowRows(t, n)
	out := batch.NewResults(n, &job.Options)
	b := NewReference()
	defer b.Close()
	err := b.Run(&countdown{Context: context.Background(), looks: 5}, job, 0, n, out)
	if err != context.Canceled {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	answered := 0
	for _, s := range out.Status() {
		if batch.Status(s) != batch.Undecided {
			answered++
		}
	}
	if answered > 5 {
		t.Errorf("%d rows answered after the context had ended,", answered)
	}
}

// TestInterruptedBetweenRowsOfLargeHulls: of hulls with many vertices the kernels answer a few rows between two checks
// at the context.
func TestInterruptedBetweenRowsOfLargeHulls(t *testing.T) {
	if len(kernels.Supported()) == 0 {
		t.Skip("there are no kernels")
	}
	rng := rand.New(rand.NewPCG(1, 9))
	lib, err := batch.NewLibrary([]geom.Shape{geom.WithMargin(testkit.Hull(rng, r3.Vec{X: 1, Y: 1, Z: 1}, 10_000),
		0.1)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if work := RowWork(lib); work < 100 || work > 200 {
		t.Errorf("a row of hulls with 10,000 vertices counts as %d", work)
	}
	const rows = 256
	pairs := batch.NewPairs(rows)
	for i := range rows {
		at := geom.Translate(3+float64(i), 0, 0)
		pairs.SetRow(i, &batch.Row{PoseA: geom.IdentityPose(), PoseB: at})
	}
	job := &batch.Job{Library: lib, Input: pairs}
	out := batch.NewResults(rows, &job.Options)
	b := newBackend(t, 1)
	err = b.Run(&countdown{Context: t.Context(), looks: 5}, job, 0, rows, out)
	if err != context.Canceled {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	answered := 0
	for _, s := range out.Status() {
		if batch.Status(s) != batch.Undecided {
			answered++
		}
	}
	if answered == 0 || answered > 4*minKernelRows {
		t.Errorf("%d rows answered, want some of the first %d", answered, 4*minKernelRows)
	}
}

// TestInterruptedBetweenDeclinedRows: so they do between the rows that the kernels decline.
func TestInterruptedBetweenDeclinedRows(t *testing.T) {
	if len(kernels.Supported()) == 0 {
		t.Skip("there are no kernels")
	}
	lib, pairs := mixed(t, 200, 1)
	for i := range pairs.Len() {
		pairs.PositionB[3*i] = math.Inf(1) // invalid, which is for the reference solvers to say
	}
	job := &batch.Job{Library: lib, Input: pairs}
	out := batch.NewResults(200, &job.Options)
	b := newBackend(t, 1)
	err := b.Run(&countdown{Context: t.Context(), looks: 5}, job, 0, 200, out)
	if err != context.Canceled {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	written := 0
	for _, s := range out.Status() {
		if batch.Status(s) == batch.Invalid {
			written++
		}
	}
	if written == 0 || written > 5 {
		t.Errorf("%d rows ended, want some of the first 5", written)
	}
}
