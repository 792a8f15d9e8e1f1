package clearance

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/geom"
)

// balls returns pairs of unit balls at the given distances of their centres.
func balls(t *testing.T, centres ...float64) (*batch.Library, *batch.Pairs) {
	t.Helper()
	lib, err := batch.NewLibrary([]geom.Shape{geom.Sphere{R: 1}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := batch.NewPairs(len(centres))
	for i, x := range centres {
		at := geom.IdentityPose()
		at.Position.Y = x
		p.SetRow(i, &batch.Row{PoseA: geom.IdentityPose(), PoseB: at})
	}
	return lib, p
}

func TestQueries(t *testing.T) {
	done := 0
	h, err := Open(WithBackend("cpu"), WithWorkers(2), WithChunkRows(64), WithProgress(func(d, total int) { done = d }))
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	lib, pairs := balls(t, 5, 1.5)
	ctx := context.Background()

	r, err := h.Distance(ctx, lib, pairs)
	if err != nil || math.Abs(r.Distance.At(0)-3) > 1e-6 || math.Abs(r.Distance.At(1)+0.5) > 1e-6 || done != 2 {
		t.Errorf("distances %v, %v, %d done", r.Distance, err, done)
	}
	r, err = h.Penetration(ctx, lib, pairs)
	if err != nil || batch.Status(r.Status[0]) != batch.Separated || math.Abs(r.Distance.At(1)+0.5) > 1e-6 {
		t.Errorf("depths %v, %v", r.Distance, err)
	}
	r, err = h.Collide(ctx, lib, pairs)
	if err != nil || r.Bit(0) || !r.Bit(1) || r.Distance.Len() != 0 {
		t.Errorf("bits %b, %v", r.Bits, err)
	}
}

func TestRowsWithoutAnswer(t *testing.T) {
	h, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	lib, pairs := balls(t, 5, math.NaN(), 1)
	r, err := h.Collide(context.Background(), lib, pairs)
	var rows *dispatch.RowsError
	if !errors.As(err, &rows) || rows.Invalid != 1 || rows.First.Row != 1 || rows.First.Column != "position_b" {
		t.Fatalf("error %v", err)
	}
	if r.Bit(0) || !r.Bit(1) || !r.Bit(2) || batch.Status(r.Status[1]) != batch.Invalid || batch.Status(r.Status[2]) != batch.Penetrating {
		t.Errorf("bits %b, status %v", r.Bits, r.Status)
	}

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r, err = h.Distance(ctx, lib, pairs)
	if !errors.Is(err, context.Canceled) || batch.Status(r.Status[0]) != batch.Undecided {
		t.Errorf("cancelled: status %v, %v", r.Status, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	if _, err := Open(WithBackend("abacus")); !errors.Is(err, dispatch.ErrNoBackend) || !strings.Contains(err.Error(), `"abacus", want one of [vulkan cpu ref]`) {
		t.Errorf("unknown back end: %v", err)
	}
	if _, err := Open(WithWorkers(-2)); err == nil || !strings.Contains(err.Error(), "-2 workers") {
		t.Errorf("-2 workers: %v", err)
	}
	h, err := Open(WithBackend("ref"))
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if b := h.Backends(); len(b) != 3 || b[1].Name() != "cpu" || h.Notes() != nil {
		t.Errorf("back ends %v, notes %q", b, h.Notes())
	}
	if d := h.Backends()[0].Device(); d.Usable() || !strings.Contains(d.Reason, "another back end was asked for") {
		t.Errorf("vulkan, which nobody asked for: %+v", d)
	}
}
