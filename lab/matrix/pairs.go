package matrix

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"clearance/batch"
	"clearance/dataset/generate"

	"golang.org/x/sync/errgroup"
)

// distinct is how many different pairs a batch holds; longer ones repeat them, since
// placing a pair takes longer than answering it.
const distinct = 1 << 14

// source makes the pairs of a set, regime by regime; it keeps the set.
type source struct {
	set string
	gen *generate.Generator
}

// pairs returns n pairs of the set and regime of a case: the rows of the generated set
// whose index leaves the regime's number when divided by three.
func (s *source) pairs(ctx context.Context, c *Case, seed uint64, n int) (*batch.Library, *batch.Pairs, error) {
	if s.gen == nil || s.set != c.Set {
		gen, err := generate.New(c.Set, seed, generate.Options{})
		if err != nil {
			return nil, nil, err
		}
		s.set, s.gen = c.Set, gen
	}
	regime := slices.Index(Regimes(), c.Regime)
	if regime < 0 {
		return nil, nil, fmt.Errorf("unknown regime %q", c.Regime)
	}
	all := batch.NewPairs(n)
	fresh := min(n, distinct)
	const block = 256
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for lo := 0; lo < fresh && ctx.Err() == nil; lo += block {
		g.Go(func() error {
			for i := lo; i < min(lo+block, fresh); i++ {
				s.gen.Fill(all.Slice(i, i+1), len(regimes)*i+regime)
			}
			return nil
		})
	}
	_ = g.Wait() // Fill cannot fail
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	var row batch.Row
	for i := fresh; i < n; i++ {
		all.Row(i%fresh, &row)
		all.SetRow(i, &row)
	}
	return s.gen.Library(), all, nil
}
