package engine

import (
	"fmt"
	"testing"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/engine/internal/vk"
	"clearance/internal/testkit/rowcheck"
)

// proofs are devices whose proofs take sums of two floats: with double precision for other rows, and without.
var proofs = []struct {
	name    string
	options Options
}{
	{"two floats", Options{Proof: ProofTwoFloats}},
	{"no shaderFloat64", Options{disable: vk.Float64}},
}

// TestTwoFloatSets: with proofs in sums of two floats the audit refutes nothing on any set, and the answers are those
// of the CPU. A device without double precision proves most separated rows and declines the others, which are counted.
func TestTwoFloatSets(t *testing.T) {
	for _, p := range proofs {
		t.Run(p.name, func(t *testing.T) {
			b, c := open(t, p.options), processor(t)
			if want := describeProof(ProofTwoFloats, p.options.disable == 0); b.Device().Proof != want {
				t.Fatalf("proof %q, want %q", b.Device().Proof, want)
			}
			rows := size(300, 1000, 20000)
			for _, name := range setNames {
				for _, q := range []batch.Query{batch.Distance, batch.Collide} {
					t.Run(fmt.Sprintf("%s/%v", name, q), func(t *testing.T) {
						lib, pairs := set(t, name, 0, rows)
						job := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Query: q}}
						before := b.Stats().Declined
						rep := run(t, job, dispatch.Options{}, b, c)
						after := b.Stats().Declined
						rowcheck.Audit(t, job)
						want := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Query: q}}
						wantRep := run(t, want, dispatch.Options{}, c)
						if q == batch.Distance {
							compare(t, job, job.Results, want.Results)
						}
						if rep.Counts[batch.Undecided] > wantRep.Counts[batch.Undecided] ||
							rep.Counts[batch.Invalid] != 0 {
							t.Errorf("statuses %v, on the CPU %v", rep.Counts, wantRep.Counts)
						}
						declined := after.Sum() - before.Sum()
						if after.Unknown != 0 || declined != int64(rep.Declined()) {
							t.Errorf("declined %+v, before %+v, report %d", after, before, rep.Declined())
						}
						t.Logf("%d of %d rows separated, %d declined", rep.Counts[batch.Separated], rows, declined)
					})
				}
			}
		})
	}
}
