package rollout

import (
	"testing"
	"time"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/internal/testkit"
)

// TestTeamHandsOutPieces: while a worker is held up in a piece, the other one does all of the rest.
func TestTeamHandsOutPieces(t *testing.T) {
	const pieces = 40
	began, rest := make(chan struct{}), make(chan struct{})
	var done [2]int
	newTeam(2).run(pieces, func(worker, _ int) {
		done[worker]++
		switch {
		case worker == 1:
			close(began)
			<-rest
		case done[0] == 1:
			<-began
		case done[0] == pieces-1:
			close(rest)
		}
	})
	if done != [2]int{pieces - 1, 1} {
		t.Errorf("pieces by worker: %v", done)
	}
}

// TestPiecesBesideABusyCore: the blocks of a rollout are cut into so many tiles that two workers, of which one has half
// of a core, would end 1.4 times as early as one (1.5 is the most), and even with a quarter of a core not later.
func TestPiecesBesideABusyCore(t *testing.T) {
	d := dispatcher(t)
	bodies, worlds := arm(t, 4096)
	for name, o := range map[string]Options{
		"rows":             {Options: batch.Options{Query: batch.Distance}},
		"within 0.1 m":     {MaxDistance: 0.1, HasMaxDistance: true},
		"least of a world": {Reduce: ReduceWorld},
	} {
		o.Workers = 2
		held, err := Hold(d, bodies, worlds, o, dispatch.Options{Backend: "cpu"})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := held.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		half, quarter := testkit.Gain(len(held.tiles), 1, 0.5), testkit.Gain(len(held.tiles), 1, 0.25)
		if half < 1.4 || quarter < 1 {
			t.Errorf("%s: %d tiles of a block, gains of %.2f and %.2f", name, len(held.tiles), half, quarter)
		}
	}
}

// TestTeamWaitsAfterPanic: a panic on the caller's goroutine leaves run only when the other goroutines have ended.
func TestTeamWaitsAfterPanic(t *testing.T) {
	started, ended := make(chan struct{}), false
	defer func() {
		if recover() == nil || !ended {
			t.Errorf("the panic left, and the other goroutine had ended: %t", ended)
		}
	}()
	newTeam(2).run(2, func(worker, i int) {
		if worker == 0 {
			<-started
			panic("a fault")
		}
		close(started)
		time.Sleep(20 * time.Millisecond)
		ended = true
	})
}
