package engine

import (
	"testing"

	"clearance/batch"
	"clearance/cpu"
	"clearance/dataset/generate"
	"clearance/dispatch"
	"clearance/verify"
)

// TestSets: on every generated set, no answer is refuted by the audit, and the status of
// every row that the device ended is that of the reference.
func TestSets(t *testing.T) {
	b := open(t, Options{})
	c, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rows := 4000
	if testing.Short() {
		rows = 500
	}
	for _, name := range setNames {
		for _, precision := range []batch.Precision{batch.Single, batch.Double} {
			t.Run(name+"/"+precision.String(), func(t *testing.T) {
				gen, err := generate.New(name, 1, generate.Options{})
				if err != nil {
					t.Fatal(err)
				}
				pairs := batch.NewPairs(rows)
				gen.Fill(pairs, 0)
				job := &batch.Job{Library: gen.Library(), Input: pairs, Options: batch.Options{Precision: precision}}
				before := b.Stats().Declined
				d := dispatch.New(b, c)
				rep, err := d.Run(t.Context(), job, dispatch.Options{Backend: "vulkan"})
				if err != nil {
					t.Fatal(err)
				}
				after := b.Stats().Declined
				t.Logf("%v declined %d %+v before %+v, worst gap %.2g, its %d, kernel %v", rep.Counts, rep.Declined(), after, before, rep.WorstGap, rep.Iterations, rep.Kernel)
				audit, err := verify.Audit(t.Context(), job, verify.Options{})
				if err != nil {
					t.Fatal(err)
				}
				if audit.Wrong() > 0 {
					t.Errorf("audit: %d wrong of %d", audit.Wrong(), audit.Rows)
					for _, c := range audit.Checks {
						for _, w := range c.Worst {
							if w.Failed {
								t.Logf("row %d %s: %+v", w.Row, c.Name, w)
							}
						}
					}
				}
			})
		}
	}
}

// setNames are the sets that need no files.
var setNames = []string{"ellipsoids", "boxes", "capsule-cylinder-cone", "hull8", "hull32", "hull128", "hull512", "mixed", "adversarial"}
