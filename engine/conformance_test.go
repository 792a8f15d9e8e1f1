package engine

import (
	"context"
	"testing"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/tests/conformance"
)

// finished is the back end with the CPU to end the rows that it declines, since the suite
// asks one back end for all rows.
type finished struct {
	b    *Backend
	rest dispatch.Backend
}

func (f finished) Name() string                 { return f.b.Name() }
func (f finished) Device() batch.Device         { return f.b.Device() }
func (f finished) Check(o *batch.Options) error { return f.b.Check(o) }
func (f finished) Close() error                 { return nil }

func (f finished) Run(ctx context.Context, job *batch.Job, lo, hi int, out *batch.Results) error {
	if err := f.b.Run(ctx, job, lo, hi, out); err != nil {
		return err
	}
	rows := *out
	rows.Bits, rows.Columns = nil, rows.Columns&^batch.ColBits
	for i, s := range out.Status {
		if s < uint8(batch.StatusCount) {
			continue
		}
		if err := f.rest.Run(ctx, job, lo+i, lo+i+1, rows.Slice(i, i+1)); err != nil {
			return err
		}
	}
	return nil
}

// TestConformance runs the suite of all back ends.
func TestConformance(t *testing.T) {
	eachPath(t, func(t *testing.T, o Options) {
		conformance.Run(t, finished{open(t, o), processor(t)}, conformance.Options{})
	})
}
