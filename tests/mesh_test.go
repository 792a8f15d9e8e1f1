package tests

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"clearance/batch"
	"clearance/dataset/generate"
	"clearance/verify"
)

// meshData is where scanned objects lie, next to the project. They are not part of it.
var meshData = filepath.Join("..", "..", "shared", "data", "ycb")

// TestMeshPairs asks for pairs of hulls of scanned objects and of the parts of their
// convex decompositions: every certificate holds and nothing is undecided.
func TestMeshPairs(t *testing.T) {
	if _, err := os.Stat(meshData); err != nil {
		t.Skip("no meshes here: put OBJ files of objects, and NAME_parts.obj of their convex parts, into " +
			"../shared/data/ycb, seen from the project's root")
	}
	g, err := generate.New("mesh", 1, generate.Options{Meshes: []string{meshData}})
	if err != nil {
		t.Fatal(err)
	}
	n := 2000
	if testing.Short() {
		n = 300
	}
	pairs := batch.NewPairs(n)
	g.Fill(pairs, 0)
	s := &set{name: "mesh", lib: g.Library(), pairs: pairs}
	t.Logf("%d hulls", s.lib.Len())
	for _, q := range []batch.Query{batch.Distance, batch.Penetration} {
		for p := range batch.PrecisionCount {
			t.Run(q.String()+" "+p.String(), func(t *testing.T) {
				o := batch.Options{Query: q, Precision: p, Columns: everything}
				res := answer(t, s.lib, pairs, o, 0, 0)
				s.requireGood(t, &batch.Job{Library: s.lib, Input: pairs, Options: o, Results: res})
			})
		}
	}
}

// requireGood audits every answer, compares a sample with a reference solve, and asks
// that all rows be decided and both outcomes be met.
func (s *set) requireGood(t *testing.T, job *batch.Job) {
	t.Helper()
	ctx := context.Background()
	audit, err := verify.Audit(ctx, job, verify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	compared, err := verify.Compare(ctx, job, verify.CompareOptions{Sample: job.Input.Len() / 4})
	if err != nil {
		t.Fatal(err)
	}
	if !audit.OK() || audit.Unproved > 0 || audit.Status.Invalid > 0 {
		audit.WriteText(t.Output())
		t.Errorf("audit: %d wrong, %d undecided, %d invalid, %d unproved", audit.Wrong(), audit.Undecided(),
			audit.Status.Invalid, audit.Unproved)
		for i := range audit.Checks {
			for _, w := range audit.Checks[i].Worst {
				if w.Failed && w.Row >= 0 {
					t.Logf("%s: row %d (%s), %s", audit.Checks[i].Name, w.Row, s.describe(w.Row),
						tell(job.Results, w.Row))
				}
			}
		}
	}
	if !compared.OK() || compared.RefUndecided > 0 {
		compared.WriteText(t.Output())
		t.Errorf("compared with a reference solve: %d wrong, %d undecided by the reference", compared.Wrong(),
			compared.RefUndecided)
	}
	if n := job.Input.Len(); audit.Status.Separated < n/4 || audit.Status.Penetrating < n/10 {
		t.Errorf("%d separated and %d penetrating of %d: the set is one-sided", audit.Status.Separated,
			audit.Status.Penetrating, n)
	}
}
