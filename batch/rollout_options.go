package batch

import (
	"fmt"
	"math"
)

// Reduce says what a row of the results is.
type Reduce uint8

// Reductions.
const (
	ReduceNone  Reduce = iota // a pair of bodies in a world
	ReduceWorld               // a world: the least of its pairs
	ReduceCount
)

var reduceNames = [ReduceCount]string{"none", "world"}

// String returns the name used in files and flags.
func (r Reduce) String() string {
	if r < ReduceCount {
		return reduceNames[r]
	}
	return fmt.Sprintf("reduce(%d)", uint8(r))
}

// ParseReduce is the inverse of [Reduce.String].
func ParseReduce(s string) (Reduce, error) {
	for i, n := range reduceNames {
		if n == s {
			return Reduce(i), nil
		}
	}
	return 0, fmt.Errorf("batch: unknown reduction %q, want one of %v", s, reduceNames)
}

// RolloutOptions describe the query of a rollout. The zero value is the signed distance of every row in single
// precision with [AllColumns].
type RolloutOptions struct {
	// Query, method, precision, columns, tolerance, cut-off and iteration limit. The column iterations is the sum
	// over the pairs of parts of a row that were solved, the column method the solver of the least of them. There
	// is no WarmStart.
	Options

	// MaxDistance, if HasMaxDistance is set, is a distance in metres, at least 0, of the query
	// [Distance]: rows beyond it are only proved to lie beyond it. The queries collide and penetration
	// need no more than a proof of separation in any case.
	MaxDistance    float64
	HasMaxDistance bool

	Reduce Reduce

	// NoCulling has every pair of parts solved.
	NoCulling bool

	// NoDeviceReduction has back ends return the answers of all pairs of parts. Otherwise a back end with a device may
	// return those alone from which the results follow, and the report counts the others. No answer depends on it.
	NoDeviceReduction bool

	// BlockPairs is the number of pairs of parts that are in memory at a time, rounded up to those of one world;
	// 0 is a default. Workers is the number of goroutines that cull and combine; 0 is one per processor.
	// No answer depends on either.
	BlockPairs int
	Workers    int
}

// Check returns an error for the first invalid option.
func (o *RolloutOptions) Check() error {
	switch {
	case o.Reduce >= ReduceCount:
		return fmt.Errorf("batch: unknown %v", o.Reduce)
	case o.WarmStart != nil:
		return fmt.Errorf("batch: a warm start has no meaning for bodies of several parts")
	case o.Columns&DerivedColumns != 0:
		return fmt.Errorf("batch: rollouts have no columns %v; gradients per body follow from their normals and "+
			"witnesses", o.Columns&DerivedColumns)
	case o.HasMaxDistance && !(o.MaxDistance >= 0 && !math.IsInf(o.MaxDistance, 1)):
		return fmt.Errorf("batch: max_distance %g, want a finite number of at least 0", o.MaxDistance)
	case o.HasMaxDistance && !o.Query.Info().SignedDistance:
		return fmt.Errorf("batch: max_distance is a distance in metres and does not apply to the query %v", o.Query)
	case o.BlockPairs < 0:
		return fmt.Errorf("batch: blocks of %d pairs, want a number above 0, or 0 for the default", o.BlockPairs)
	case o.Workers < 0:
		return fmt.Errorf("batch: %d workers, want a number above 0, or 0 for one per processor", o.Workers)
	}
	return o.Options.Check()
}

// EveryPair reports whether results of all pairs have a row for each pair of bodies of a world: none is left out
// because it is separated.
func (o *RolloutOptions) EveryPair() bool {
	q := o.Query.Info()
	limited := o.HasMaxDistance && o.MaxDistance < math.Inf(1)
	near := q.SignedDistance && (q.Boolean() || q.CutOff == CutOffAtTouch || limited)
	return o.Reduce == ReduceNone && !near
}
