package derive

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"clearance/batch"
	"clearance/derive/lanes"
	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/spatial/r3"
)

// endingContext ends when it is asked for the given number of times, and counts how often it is asked.
type endingContext struct {
	context.Context
	end   context.CancelFunc
	after int64
	asked atomic.Int64
}

func newEndingContext(parent context.Context, after int64) *endingContext {
	ctx, end := context.WithCancel(parent)
	return &endingContext{Context: ctx, end: end, after: after}
}

func (c *endingContext) Err() error {
	if c.asked.Add(1) >= c.after {
		c.end()
	}
	return c.Context.Err()
}

// TestStopInSamples: a context that ends in the samples of one row ends them, in Go after at most another sample. A row
// would take minutes.
func TestStopInSamples(t *testing.T) {
	rng := rand.New(rand.NewPCG(45, 4))
	hull := testkit.Hull(rng, r3.Vec{X: 0.5, Y: 0.3, Z: 0.4}, 2000)
	job := jobOf(t, []Row{placedAtGap(rng, hull, hull, 0.1)}, batch.Double)
	out := newDerivatives(1, batch.DerivedColumns)
	for _, mode := range []Mode{Gaussian, Zeroth} {
		ctx := newEndingContext(t.Context(), 40)
		pass := Pass{Options: Options{Mode: mode, Samples: batch.MaxDerivativeSamples}, Workers: 1, variant: "off"}
		if err := pass.Run(ctx, job, out); !errors.Is(err, context.Canceled) {
			t.Errorf("%v: %v", mode, err)
		}
		if n := ctx.asked.Load(); n < ctx.after || n > ctx.after+10 {
			t.Errorf("%v: the context was asked %d times, and ended at %d", mode, n, ctx.after)
		}
	}
}

// TestStopInKernel: the kernel takes no sample once its context has ended.
func TestStopInKernel(t *testing.T) {
	rng := rand.New(rand.NewPCG(45, 5))
	hull := testkit.Hull(rng, r3.Vec{X: 0.5, Y: 0.3, Z: 0.4}, 200)
	box := geom.Box{HalfExtents: r3.Vec{X: 0.2, Y: 0.3, Z: 0.45}}
	job := jobOf(t, []Row{placedAtGap(rng, hull, hull, 0.1), placedAtGap(rng, box, hull, 0.1)}, batch.Double)
	for _, variant := range lanes.Variants() {
		for _, ended := range []bool{false, true} {
			ctx, end := context.WithCancel(t.Context())
			samples := 30
			if ended {
				end()
				samples = batch.MaxDerivativeSamples
			}
			out := newDerivatives(2, batch.DerivedColumns)
			call := lanes.Call{Job: job, Answers: job.Results, Out: out, Variant: variant,
				Derivative: Options{Mode: Gaussian, Samples: samples}}
			release := call.StopWith(ctx)
			s := lanes.NewSolver(lanes.TableOf(job.Library), &call)
			s.Run(0, 2)
			s.Close()
			release()
			end()
			// A sum of no samples is 0, and so is the curvature of a polytope.
			for i := range 2 {
				sampled := slices.ContainsFunc(out.Column(batch.ColCurvature).F64[6*i:6*i+6], func(v float64) bool {
					return v != 0
				})
				if sampled == ended {
					t.Errorf("%s, row %d, ended %v: sampled %v", variant, i, ended, sampled)
				}
			}
		}
	}
}
