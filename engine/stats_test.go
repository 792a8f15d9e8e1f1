package engine

import (
	"fmt"
	"testing"

	"clearance/batch"
	"clearance/dispatch"
)

// TestRefined: rows that double precision had to go on from are counted, and are some of
// the rows, not none and not all: single precision ends far above what double asks for on
// curved shapes, and finds the very vertices of polytopes.
func TestRefined(t *testing.T) {
	for name, most := range map[string]bool{"ellipsoids": true, "boxes": false} {
		t.Run(name, func(t *testing.T) {
			b := open(t, Options{})
			lib, pairs := set(t, name, 0, 3000)
			job := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Precision: batch.Double}}
			rep := run(t, job, dispatch.Options{}, b, processor(t))
			answered := int64(rep.Done - rep.Declined())
			if n := b.Stats().Refined; n < 0 || n > answered || (n > answered/2) != most {
				t.Errorf("%s: %d of %d rows went on in double precision", name, n, answered)
			}
		})
	}
}

// TestBytes: the bytes of a pair list and of its answers, of chunks that copy and of those
// that do not; of a held batch the poses alone.
func TestBytes(t *testing.T) {
	eachPath(t, func(t *testing.T, o Options) {
		const rows = 640
		o.ChunkRows = 256
		b := open(t, o)
		lib, pairs := set(t, "boxes", 0, rows)
		moved := func(up, down uint64, do func()) {
			t.Helper()
			before := b.Stats()
			do()
			after := b.Stats()
			got := fmt.Sprintf("%d up, %d down", after.BytesUp-before.BytesUp, after.BytesDown-before.BytesDown)
			if want := fmt.Sprintf("%d up, %d down", rows*up, rows*down); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
		moved(2*poseBytes+templateBytes, 4*(1+9+1+1), func() { direct(t, b, lib, pairs, batch.Options{}) })
		moved(2*poseBytes+templateBytes, 8*(1+9)+4+4,
			func() { direct(t, b, lib, pairs, batch.Options{Precision: batch.Double}) })
		h := hold(t, b, lib, pairs)
		out := unanswered(rows, new(batch.Options))
		ask := func() {
			if err := h.Run(t.Context(), new(batch.Options), out); err != nil {
				t.Fatal(err)
			}
		}
		moved(2*poseBytes+templateBytes, 48, ask)
		moved(0, 48, ask)
		moved(2*poseBytes, 48, func() {
			if err := h.Update(t.Context(), pairs); err != nil {
				t.Fatal(err)
			}
			ask()
		})
	})
}
