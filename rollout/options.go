package rollout

import (
	"fmt"
	"math"

	"clearance/batch"
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
	return 0, fmt.Errorf("rollout: unknown reduction %q, want one of %v", s, reduceNames)
}

// Options describe the query of a rollout. The zero value is the signed distance of every row in single
// precision with [batch.AllColumns].
type Options struct {
	// Query, method, precision, columns, tolerance, cut-off and iteration limit. The column iterations is the sum
	// over the pairs of parts of a row that were solved, the column method the solver of the least of them. There
	// is no WarmStart.
	batch.Options

	// MaxDistance, if HasMaxDistance is set, is a distance in metres, at least 0, of the query
	// [batch.Distance]: rows beyond it are only proved to lie beyond it. The queries collide and penetration
	// need no more than a proof of separation in any case.
	MaxDistance    float64
	HasMaxDistance bool

	Reduce Reduce

	// NoCulling has every pair of parts solved.
	NoCulling bool

	// NoDeviceReduction has back ends return the answers of all pairs of parts. Otherwise a back end with a device may
	// return those alone from which the results follow, see [Report.Omitted]. No answer depends on it.
	NoDeviceReduction bool

	// BlockPairs is the number of pairs of parts that are in memory at a time, rounded up to those of one world;
	// 0 is a default. Workers is the number of goroutines that cull and combine; 0 is one per processor.
	// No answer depends on either.
	BlockPairs int
	Workers    int
}

// Check returns an error for the first invalid option.
func (o *Options) Check() error {
	switch {
	case o.Reduce >= ReduceCount:
		return fmt.Errorf("rollout: unknown %v", o.Reduce)
	case o.WarmStart != nil:
		return fmt.Errorf("rollout: a warm start has no meaning for bodies of several parts")
	case o.HasMaxDistance && !(o.MaxDistance >= 0 && !math.IsInf(o.MaxDistance, 1)):
		return fmt.Errorf("rollout: max_distance %g, want a finite number of at least 0", o.MaxDistance)
	case o.HasMaxDistance && o.Query.Info().Audit != batch.AuditSignedDistance:
		return fmt.Errorf("rollout: max_distance is a distance in metres and does not apply to the query %v", o.Query)
	case o.BlockPairs < 0:
		return fmt.Errorf("rollout: blocks of %d pairs, want a number above 0, or 0 for the default", o.BlockPairs)
	case o.Workers < 0:
		return fmt.Errorf("rollout: %d workers, want a number above 0, or 0 for one per processor", o.Workers)
	}
	return o.Options.Check()
}

// threshold is the distance beyond which a pair is not solved: +Inf if all are.
func (o *Options) threshold() float64 {
	switch q := o.Query.Info(); {
	case q.Audit != batch.AuditSignedDistance:
		return math.Inf(1)
	case q.Boolean() || q.CutOff == batch.CutOffAtTouch:
		return 0
	case o.HasMaxDistance:
		return o.MaxDistance
	}
	return math.Inf(1)
}

// ofParts returns the options of the query that the back end answers: those of the caller, with the
// columns from which rows follow, and the largest distance as a cut-off.
func (o *Options) ofParts() batch.Options {
	p := o.Options
	columns := o.EffectiveColumns()
	p.Columns = columns&^batch.ColBits | batch.ColStatus
	if !o.StatusAlone() || columns&(batch.ColDistance|batch.ColGap) != 0 {
		p.Columns |= batch.ColDistance | batch.ColGap
	}
	if o.HasMaxDistance && o.Query.Info().CutOff == batch.CallersCutOff && !(o.HasCutOff && o.CutOff < o.MaxDistance) {
		p.CutOff, p.HasCutOff = o.MaxDistance, true
	}
	return p
}
