package tests

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"clearance/batch"
	"clearance/cpu"
	"clearance/dataset/generate"
	"clearance/dispatch"
	"clearance/internal/testkit/rowcheck"
)

var seedFlag = flag.Uint64("seed", 0, "seed of the metamorphic tests; 0 draws one, which a failure prints")

// everything asks for all columns there are.
var everything = batch.AllColumns | batch.ColBits

// set is a generated set with some of its rows.
type set struct {
	name  string
	seed  uint64
	lib   *batch.Library
	pairs *batch.Pairs
	rng   *rand.Rand
}

// eachSet runs a test on every generated set but mesh, which TestMeshes of dataset/generate sees to,
// as a parallel sub-test with a seed that its failure prints.
func eachSet(t *testing.T, rows int, test func(t *testing.T, s *set)) {
	for _, name := range generate.Names() {
		if name == "mesh" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			seed := *seedFlag
			if seed == 0 {
				seed = rand.Uint64() | 1
			}
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("to see it again: go test ./tests -run '%s' -seed %d", t.Name(), seed)
				}
			})
			test(t, newSet(t, name, seed, rows))
		})
	}
}

func newSet(t *testing.T, name string, seed uint64, rows int) *set {
	t.Helper()
	g, err := generate.New(name, seed, generate.Options{Shapes: 40})
	if err != nil {
		t.Fatal(err)
	}
	s := &set{name: name, seed: seed, lib: g.Library(), pairs: batch.NewPairs(rows),
		rng: rand.New(rand.NewPCG(seed, 99))}
	g.Fill(s.pairs, 0)
	return s
}

// answer runs a job on the CPU with so many workers and rows a chunk (0 is the default).
func answer(t *testing.T, lib *batch.Library, in batch.Input, o batch.Options, workers, chunk int) *batch.Results {
	t.Helper()
	return answerWith(t, cpu.Options{Workers: workers}, lib, in, o, chunk)
}

// answerWith is answer with any options of the CPU.
func answerWith(t *testing.T, c cpu.Options, lib *batch.Library, in batch.Input, o batch.Options,
	chunk int) *batch.Results {
	t.Helper()
	b, err := cpu.New(c)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	job := &batch.Job{Library: lib, Input: in, Options: o}
	if _, err := dispatch.New(b).Run(t.Context(), job, dispatch.Options{ChunkRows: chunk}); err != nil {
		t.Fatal(err)
	}
	return job.Results
}

// requireSame fails if any row i of want and row at(i) of got differ in a bit.
func requireSame(t *testing.T, what string, s *set, want, got *batch.Results, at func(i int) int) {
	t.Helper()
	for i := range want.N {
		if column := rowcheck.Differs(want, i, got, at(i)); column != "" {
			t.Fatalf("%s: row %d (%s) differs in column %s:\n%s\n%s", what, i, s.describe(i), column, tell(want, i),
				tell(got, at(i)))
		}
	}
}

// describe names the shapes of a row.
func (s *set) describe(i int) string {
	return fmt.Sprintf("%s × %s", s.shape(s.pairs.ShapeA[i]), s.shape(s.pairs.ShapeB[i]))
}

func (s *set) shape(i int32) string {
	if name := s.lib.Name(i); name != "" {
		return name
	}
	return fmt.Sprintf("%v %d", s.lib.Shape(i).Kind(), i)
}

// tell writes an answer in words.
func tell(r *batch.Results, i int) string {
	s := fmt.Sprintf("%v", batch.Status(r.Status()[i]))
	if r.Distance().Len() != 0 {
		s += fmt.Sprintf(", distance %.17g ± %.3g", r.Distance().At(i), r.Gap()[i])
	}
	if r.Iterations() != nil {
		s += fmt.Sprintf(", %d iterations", r.Iterations()[i])
	}
	return s
}

func itself(i int) int { return i }

// mapRows returns the rows of a pair list, each changed by f.
func mapRows(p *batch.Pairs, f func(i int, r *batch.Row)) *batch.Pairs {
	out := batch.NewPairs(p.Len())
	var r batch.Row
	for i := range p.Len() {
		p.Row(i, &r)
		f(i, &r)
		out.SetRow(i, &r)
	}
	return out
}
