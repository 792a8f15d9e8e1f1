package engine

import (
	"math"
	"math/rand/v2"
	"testing"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/internal/testkit/rowcheck"
)

// TestLoopsThatEndEarly: where a driver ends loops before their time, as drivers on the CPU
// do after 65,535 passes, the rows are declined and not answered by what the loops had come
// to. The budget that keeps rows from it is lifted here, and large hulls are scanned.
func TestLoopsThatEndEarly(t *testing.T) {
	b, c := open(t, Options{budget: math.MaxUint32}), processor(t)
	if !b.direct {
		t.Skip("the device's memory is not mapped: cells cannot be taken away")
	}
	g := rand.New(rand.NewPCG(13, 14))
	lib := hullLibrary(t, g, 3, 5000)
	k, err := b.libraries.of(t.Context(), lib)
	if err != nil {
		t.Fatal(err)
	}
	clear(k.cells.Bytes()[:4*lib.Len()])
	b.libraries.release(k)
	pairs := scattered(g, lib, 64)
	job := &batch.Job{Library: lib, Input: pairs}
	rep := run(t, job, dispatch.Options{}, b, c)
	rowcheck.Audit(t, job)
	want := &batch.Job{Library: lib, Input: pairs}
	run(t, want, dispatch.Options{}, c)
	compare(t, job, job.Results, want.Results)
	if d := b.Stats().Declined; d.Budget != int64(rep.Declined()) || d.Budget == 0 &&
		b.info.Name[:min(8, len(b.info.Name))] == "llvmpipe" {
		t.Errorf("declined %+v of %d rows", d, pairs.Len())
	}
}
