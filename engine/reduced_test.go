package engine

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/engine/internal/vk"
)

// TestReducedAnswers: a device answers the same with a reduction and without, in one memory or two, and where it
// declines so many rows that the reduction has no room.
func TestReducedAnswers(t *testing.T) { eachPath(t, testReducedAnswers) }

func testReducedAnswers(t *testing.T, o Options) {
	for _, budget := range []uint32{0, 40} {
		t.Run(fmt.Sprintf("budget %d", budget), func(t *testing.T) { answersReduced(t, o, budget) })
	}
}

func answersReduced(t *testing.T, o Options, budget uint32) {
	lib, pairs := set(t, "mixed", 0, size(600, 1500, 10000))
	n := pairs.Len()
	rng := rand.New(rand.NewPCG(3, 3))
	b, c := open(t, Options{ChunkRows: 256, staged: o.staged, budget: budget}), processor(t)
	d := dispatch.New(b, c)
	for _, columns := range []batch.Columns{0, batch.ColDistance | batch.ColGap | batch.ColStatus, batch.ColStatus} {
		whole := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Columns: columns}}
		few := &batch.Job{Library: lib, Input: pairs, Options: whole.Options}
		few.Reduction = randomReduction(rng, n, 60)
		var bytes [2]int64
		for i, job := range []*batch.Job{whole, few} {
			rep, err := d.Run(t.Context(), job, dispatch.Options{Backend: b.Name(), ChunkRows: 500})
			if err != nil {
				t.Fatal(err)
			}
			bytes[i] = rep.BytesDown
		}
		omitted := 0
		for k, s := range few.Results.Status {
			if s == batch.Omitted {
				omitted++
			} else {
				sameRow(t, "reduced", k, few.Results, whole.Results)
			}
		}
		if sum := few.Reduction.Tally.Rows; sum != omitted || budget == 0 && (omitted == 0 || bytes[1] >= bytes[0]) {
			t.Errorf("%d rows of %d omitted, and %d counted; %d bytes of %d", omitted, n, sum, bytes[1], bytes[0])
		}
		declined := b.Stats().Declined.Sum()
		if budget != 0 && declined == 0 {
			t.Error("no row was declined")
		}
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
			job.Reduction = randomReduction(rand.New(rand.NewPCG(4, 4)), 1000, 20)
			rep, err := dispatch.New(first{b}, c).Run(t.Context(), job, dispatch.Options{ChunkRows: 512})
			disarm()
			omitted := 0
			for _, s := range job.Results.Status {
				if s == batch.Omitted {
					omitted++
				}
			}
			if err != nil || rep.Done != 1000 || rep.Counts[batch.Undecided] != 0 || len(rep.Failovers) != 1 ||
				omitted != job.Reduction.Tally.Rows || omitted == 1000 {
				t.Errorf("loss %d: report %+v, %d omitted, %d counted, error %v", after, rep, omitted,
					job.Reduction.Tally.Rows, err)
			}
		})
	}
}
