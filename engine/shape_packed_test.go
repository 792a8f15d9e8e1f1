package engine

import (
	"fmt"
	"testing"

	"clearance/batch"
	"clearance/dispatch"
)

// TestPackedStatus: where only bits or statuses are requested, they take four bits per row,
// and agree with whole status words: of every row, declined and invalid ones among
// them, in chunks that end within a word, and in the counts.
func TestPackedStatus(t *testing.T) {
	for _, chunk := range []int{64, 4096} {
		t.Run(fmt.Sprint(chunk), func(t *testing.T) { testPackedStatus(t, chunk) })
	}
}

func testPackedStatus(t *testing.T, chunk int) {
	const rows = 1003
	b, c := open(t, Options{ChunkRows: chunk}), processor(t)
	for _, name := range []string{"mixed", "adversarial"} {
		lib, pairs := set(t, name, 0, rows)
		pairs.ShapeA[77], pairs.ShapeB[rows-1] = -1, -1
		for _, q := range []batch.Query{batch.Collide, batch.Distance} {
			var stats [2]Stats
			var out [2]*batch.Results
			for k, columns := range []batch.Columns{batch.ColStatus | batch.ColIterations, batch.ColStatus} {
				job := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Query: q, Columns: columns}}
				out[k] = batch.NewResults(rows, &job.Options)
				for i := range out[k].Status() {
					out[k].Status()[i] = 99
				}
				if l := placementOf(out[k], rows); l.bytes != []uint64{4 * 1004, 4 * 126}[k] {
					t.Errorf("%d bytes for %d rows", l.bytes, rows)
				}
				before := b.Stats()
				if err := b.Run(t.Context(), job, 0, rows, out[k]); err != nil {
					t.Fatal(err)
				}
				stats[k] = b.Stats()
				stats[k].Refined -= before.Refined
				stats[k].Depths -= before.Depths
				stats[k].Declined.Depth -= before.Declined.Depth
				stats[k].Declined.Gap -= before.Declined.Gap
			}
			kinds := map[uint8]int{}
			for i, s := range out[0].Status() {
				kinds[s]++
				if out[1].Status()[i] != s {
					t.Fatalf("%s, %v, row %d: packed %d, status word %d", name, q, i, out[1].Status()[i], s)
				}
			}
			if kinds[uint8(batch.Invalid)] != 2 || kinds[uint8(batch.Separated)] == 0 || q == batch.Distance &&
				(stats[0].Depths == 0 || kinds[99] == 0 && name == "adversarial") {
				t.Errorf("%s, %v: statuses %v do not try all codes", name, q, kinds)
			}
			if stats[0].Refined != stats[1].Refined || stats[0].Depths != stats[1].Depths ||
				stats[0].Declined != stats[1].Declined {
				t.Errorf("%s, %v: %+v from packed statuses, %+v from words", name, q, stats[1], stats[0])
			}
		}
		bits := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Query: batch.Collide,
			Columns: batch.ColBits}}
		full := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Query: batch.Collide,
			Columns: batch.ColStatus | batch.ColBits | batch.ColIterations}}
		rep := run(t, bits, dispatch.Options{}, b, c)
		want := run(t, full, dispatch.Options{}, b, c)
		for i := range rows {
			if bits.Results.Bit(i) != full.Results.Bit(i) {
				t.Fatalf("%s, row %d: the bit is %v", name, i, bits.Results.Bit(i))
			}
		}
		if rep.Counts != want.Counts || rep.Iterations != 0 || want.Iterations == 0 {
			t.Errorf("%s: counts %v and %d iterations, want %v and 0", name, rep.Counts, rep.Iterations, want.Counts)
		}
	}
}
