package engine

import (
	"context"
	"flag"
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

// stride is the part of the rows of the conformance suite that is asked for.
var stride = flag.Int("stride", 4, "conformance: one row in so many; 1 for all")

// TestConformance runs the suite of all back ends. Where the host and the device share
// memory the way with copies has half of the rows, since the bits are the same. There is no
// kind without a shader, depths are answered on the device but for a few, and nothing is lost.
func TestConformance(t *testing.T) {
	eachPath(t, func(t *testing.T, o Options) {
		b := open(t, o)
		suite := conformance.Options{Stride: *stride}
		switch {
		case testing.Short():
			suite.Stride = 16
		case o.staged:
			suite.Stride *= 2
		}
		conformance.Run(t, finished{b, processor(t)}, suite)
		s := b.Stats()
		if d := s.Declined; d.Kind != 0 || d.Unknown != 0 || d.Budget != 0 || d.Sum()*20 > s.Rows || s.Depths*20 < s.Rows {
			t.Errorf("declined of %d rows: %+v; %d depths", s.Rows, d, s.Depths)
		}
	})
}
