package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"clearance/batch"
	"clearance/dataset/generate"
	"clearance/dispatch"
	"clearance/internal/testkit/rowcheck"
	"clearance/tests/need"
)

// meshes is where scanned objects lie, next to the project. They are not part of it.
var meshes = filepath.Join("..", "..", "shared", "data", "ycb")

// TestTwoFloatMillion: with proofs in sums of two floats, of a million mixed rows and a hundred thousand of every other
// set, those of adversarial pairs and of scanned objects included, the audit refutes none, and none is undecided.
func TestTwoFloatMillion(t *testing.T) {
	need.Full(t, "TestTwoFloatSets audits fewer rows")
	const portion = 100_000
	for _, p := range proofs {
		t.Run(p.name, func(t *testing.T) {
			b, c := openSpecialised(t, p.options), processor(t)
			for _, name := range append([]string{"mesh"}, setNames...) {
				portions := 1
				if name == "mixed" {
					portions = 10
				}
				t.Run(name, func(t *testing.T) {
					o := generate.Options{Shapes: 256}
					if name == "mesh" {
						if _, err := os.Stat(meshes); err != nil {
							t.Skip("SKIPPED: no scanned objects in ../shared/data/ycb, seen from the project's root")
						}
						o = generate.Options{Meshes: []string{meshes}}
					}
					for seed := range portions {
						g, err := generate.New(name, uint64(seed+1), o)
						if err != nil {
							t.Fatal(err)
						}
						pairs := batch.NewPairs(portion)
						g.Fill(pairs, 0)
						for _, q := range []batch.Query{batch.Distance, batch.Penetration, batch.Collide} {
							t.Run(fmt.Sprintf("%v %d", q, seed+1), func(t *testing.T) {
								twoFloatRows(t, &batch.Job{Library: g.Library(), Input: pairs,
									Options: batch.Options{Query: q}}, b, c)
							})
						}
					}
				})
			}
		})
	}
}

// twoFloatRows answers and audits a job, whose rows all have an answer.
func twoFloatRows(t *testing.T, job *batch.Job, backends ...dispatch.Backend) {
	rep := run(t, job, dispatch.Options{}, backends...)
	audit := rowcheck.Audit(t, job)
	if n := audit.Undecided() + audit.Status.Invalid; n > 0 {
		t.Errorf("%d rows undecided or invalid: %v", n, rep.Counts)
	}
	t.Logf("%d rows: %v, %d declined, %d refuted, %d undecided", audit.Rows, rep.Counts, rep.Declined(), audit.Wrong(),
		audit.Undecided())
}
