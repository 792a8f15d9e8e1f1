package engine

import (
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
