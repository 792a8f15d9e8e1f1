package engine

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/engine/internal/vk"
)

// TestReducedAnswers: a device answers the same with a reduction and without, in one memory or two, where no row is
// declined, where more rows are returned than are moved with the chunk, and where there is no room for them.
func TestReducedAnswers(t *testing.T) { eachPath(t, testReducedAnswers) }

func testReducedAnswers(t *testing.T, o Options) {
	lib, pairs := set(t, "mixed", 0, size(600, 1500, 10000))
	n := pairs.Len()
	rng := rand.New(rand.NewPCG(3, 3))
	for _, c := range []struct {
		what       string
		budget     uint32
		rows, sets int // at most, of a set and of a group
		omits      bool
	}{
		{"all answered", 0, 60, 8, true},
		{"some declined", 40, 4, 40, true},
		{"no room", 40, 60, 8, false},
	} {
		t.Run(c.what, func(t *testing.T) {
			b := open(t, Options{ChunkRows: 256, staged: o.staged, budget: c.budget})
			d := dispatch.New(b, processor(t))
			for _, columns := range []batch.Columns{0, batch.ColDistance | batch.ColGap | batch.ColStatus} {
				whole := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Columns: columns}}
				few := &batch.Job{Library: lib, Input: pairs, Options: whole.Options}
				few.Reduction = randomReduction(rng, n, c.rows, c.sets)
				var bytes [2]int64
				// The memory must not hold the answers already.
				for i, job := range []*batch.Job{few, whole} {
					rep, err := d.Run(t.Context(), job, dispatch.Options{Backend: b.Name(), ChunkRows: 500})
					if err != nil {
						t.Fatal(err)
					}
					bytes[i] = rep.BytesDown
				}
				omitted := few.Results.Marks.Count(batch.Omitted)
				for k, mark := range few.Results.Marks {
					if mark != batch.Omitted {
						sameRow(t, "reduced", k, few.Results, whole.Results)
					}
				}
				if sum := few.Reduction.Tally.Rows; sum != omitted || c.omits != (omitted > 0) ||
					c.omits != (bytes[0] < bytes[1]) {
					t.Errorf("%d rows of %d omitted, and %d counted; %d bytes, without %d", omitted, n, sum, bytes[0],
						bytes[1])
				}
			}
			if declined := b.Stats().Declined.Sum(); c.budget != 0 == (declined == 0) {
				t.Errorf("%d rows declined", declined)
			}
		})
	}
}

// TestReductionFails: a device that is lost in a call leaves no omitted rows, and no tally, of the chunks that another
// back end answers.
func TestReductionFails(t *testing.T) {
	for after := range 5 {
		t.Run(fmt.Sprintf("after %d", after), func(t *testing.T) {
			b, c := open(t, Options{ChunkRows: 128, staged: true, budget: uint32(40 * (after % 2))}), processor(t)
			lib, pairs := set(t, "boxes", 0, 1000)
			disarm := vk.Inject(vk.Fault{Call: "vkQueueSubmit", After: 3 + after, Times: -1,
				Result: vk.ErrorDeviceLost})
			defer disarm()
			job := &batch.Job{Library: lib, Input: pairs}
			job.Reduction = randomReduction(rand.New(rand.NewPCG(4, 4)), 1000, 20, 8)
			rep, err := dispatch.New(first{b}, c).Run(t.Context(), job, dispatch.Options{ChunkRows: 512})
			disarm()
			omitted := job.Results.Marks.Count(batch.Omitted)
			if err != nil || rep.Done != 1000 || rep.Counts[batch.Undecided] != 0 || len(rep.Failovers) != 1 ||
				omitted != job.Reduction.Tally.Rows || omitted == 1000 {
				t.Errorf("loss %d: report %+v, %d omitted, %d counted, error %v", after, rep, omitted,
					job.Reduction.Tally.Rows, err)
			}
		})
	}
}
