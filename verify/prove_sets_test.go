package verify_test

import (
	"testing"

	"clearance/batch"
	"clearance/dataset/generate"
	"clearance/tests/need"
	"clearance/verify"

	"gonum.org/v1/gonum/spatial/r3"
)

// TestProveSets: every depth of every generated set is proved from below to its own gap, and refuted where the interval
// ends a hundredth of a gap beside the truth. In full 10,000 depths of each set and 2,000 of the adversarial one.
func TestProveSets(t *testing.T) {
	for _, set := range generate.Names() {
		if set == "mesh" {
			continue // needs files
		}
		t.Run(set, func(t *testing.T) {
			want := 60
			if need.All() {
				if want = 10_000; set == "adversarial" {
					want = 2000
				}
			}
			g, err := generate.New(set, 24, generate.Options{})
			if err != nil {
				t.Fatal(err)
			}
			const chunk = 512
			var proof, mutated verify.Proof
			wrong := 0
			for at := 0; proof.Depths < want; at += chunk {
				in := batch.NewPairs(chunk)
				g.Fill(in, at)
				job := solved(t, g.Library(), in, batch.Options{Query: batch.Penetration, Precision: batch.Double})
				p := prove(t, job, verify.ProveOptions{FirstRow: at})
				proof.Merge(p)
				wrong += mutateDepths(job.Results, g.Library(), in)
				mutated.Merge(prove(t, job, verify.ProveOptions{FirstRow: at}))
			}
			if proof.Proved != proof.Depths {
				t.Errorf("%d of %d depths proved, %d refuted; rows %v, %v", proof.Proved, proof.Depths, proof.Refuted,
					proof.Unproven, proof.Worst)
			}
			if mutated.Refuted != wrong || wrong < proof.Depths/2 {
				t.Errorf("%d of %d wrong depths of %d refuted", mutated.Refuted, wrong, proof.Depths)
			}
			t.Logf("%d of %d depths proved with %d directions each; %d of %d wrong depths refuted", proof.Proved,
				proof.Depths, proof.Directions/int64(proof.Depths), mutated.Refuted, wrong)
		})
	}
}

// mutateDepths makes the depths of res too large: the interval that distance and gap claim ends a hundredth of the gap
// beside the interval that they claimed before. A hundredth of a gap below 1e-11 of the size would be near the rounding
// error of the directions: such a gap is made larger. It returns the number of the rows.
func mutateDepths(res *batch.Results, lib *batch.Library, in *batch.Pairs) (wrong int) {
	var r batch.Row
	for i := range res.N {
		if batch.Status(res.Status()[i]) != batch.Penetrating {
			continue
		}
		in.Row(i, &r)
		scale := lib.PairSize(r.ShapeA, r.ShapeB) + r3.Norm(r3.Sub(r.PoseB.Position, r.PoseA.Position))
		end, gap := res.Distance().At(i)-float64(res.Gap()[i]), max(float64(res.Gap()[i]), 1e-11*scale)
		res.Distance().Set(i, end-1.01*gap)
		res.Gap()[i] = float32(gap)
		wrong++
	}
	return wrong
}
