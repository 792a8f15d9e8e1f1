package rollout

import (
	"errors"
	"testing"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/internal/fault"
	"clearance/rollout/sweep"
)

// TestPanicOfAWorker: a panic in a tile is the error of the call, whichever worker takes the tile. Worlds of earlier
// blocks have their answers, the others are Undecided, and the batch answers the next call.
func TestPanicOfAWorker(t *testing.T) {
	d := dispatcher(t)
	bodies, worlds := arm(t, 64)
	want := statusesOf(t, d, bodies, worlds)
	const block = 16 // worlds
	o := Options{BlockPairs: block * len(worlds.TemplateA), Workers: 3}
	held, err := Hold(d, bodies, worlds, o, dispatch.Options{Backend: "cpu"})
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]*func(worker, tile int){"cull": &held.cullTile, "fold": &held.foldTile} {
		whole := *f
		*f = func(worker, tile int) {
			if held.tiles[tile].lo >= block {
				panic("lost")
			}
			whole(worker, tile)
		}
		out, _, err := held.Run(t.Context())
		var p *fault.Panic
		if !errors.As(err, &p) || p.Value != "lost" {
			t.Fatalf("%s: error %v, want the panic", name, err)
		}
		first := held.report.Done
		if first == 0 || first == len(want) {
			t.Fatalf("%s: %d of %d rows answered", name, first, len(want))
		}
		for i, s := range out.Status() {
			if i < first && s != want[i] || i >= first && s != uint8(batch.Undecided) {
				t.Fatalf("%s: row %d of %d answered has status %v, want %v", name, i, first, s, want[i])
			}
		}
		*f = whole
		if out, _, err = held.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i, s := range out.Status() {
			if s != want[i] {
				t.Fatalf("%s, the next run: row %d has status %v, want %v", name, i, s, want[i])
			}
		}
	}
}

func statusesOf(t *testing.T, d *dispatch.Dispatcher, bodies *batch.Bodies, worlds *batch.Worlds) []uint8 {
	t.Helper()
	job := &Job{Bodies: bodies, Worlds: worlds}
	if _, err := Run(t.Context(), d, job, dispatch.Options{Backend: "cpu"}); err != nil {
		t.Fatal(err)
	}
	return job.Results.Status()
}

// TestPanicOfASweep: a panic of a worker is the error of the sweep.
func TestPanicOfASweep(t *testing.T) {
	d := dispatcher(t)
	bodies, m := sweptArm(t, 20, 10, 8)
	s := newSweeper(&SweepJob{Bodies: bodies, Motions: m, Options: sweep.Options{Workers: 2}}, dispatch.Options{})
	if _, err := s.open(d, dispatch.Options{Backend: "cpu"}, 0); err != nil {
		t.Fatal(err)
	}
	s.runner = new(sweep.Runner)
	s.culler.place = func(int, int) { panic("lost") }
	if err := s.run(t.Context()); !errors.As(err, new(*fault.Panic)) {
		t.Errorf("error %v, want the panic", err)
	}
	s.failUnreached()
	for row, state := range s.out.State {
		if state != uint8(sweep.Undecided) {
			t.Fatalf("row %d has state %d", row, state)
		}
	}
}
