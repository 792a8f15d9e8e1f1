package batch

import (
	"fmt"
	"math"
)

// SweepState says what is known of the first contact of a pair that moves.
type SweepState uint8

// States.
const (
	SweepFree      SweepState = iota // no contact during the motion, proved
	SweepContact                     // the first contact is in [T0, T1]
	SweepUndecided                   // no contact before T0, proved; what follows is open
	SweepInvalid                     // a pose, an index or a pair of shapes is not valid
	SweepStateCount
)

var sweepStateNames = [SweepStateCount]string{"free", "contact", "undecided", "invalid"}

func (s SweepState) String() string { return name(sweepStateNames[:], uint8(s), "state") }

// SweepResults has one row per pair of bodies in a world: row w·P + p. Times are in [0, T−1], way point k at the time
// k.
type SweepResults struct {
	N int

	// State is that of the first contact of the bodies: codes of [SweepState]. Rows with an absent body are Free.
	State []uint8

	// Lower and Upper bound the least distance over the motion, in metres. Of Free rows Lower is proved and above 0:
	// +Inf with an absent body. Of others it is 0. Upper is attained at the time Closest.
	Lower, Upper, Closest []float64

	// No contact is before T0. Of rows in Contact the first contact is in [T0, T1], which is not wider than the
	// tolerance. Of Free rows T0 is the end of the motion. Of Undecided rows T1 is the earliest known contact, NaN
	// for none.
	T0, T1 []float64

	// PartA and PartB are the parts of the earliest known contact; of rows without one those of the least upper bound;
	// -1 if there are none.
	PartA, PartB []int32

	Evaluations []int32 // poses of pairs of parts at which the solvers were asked; the largest int32 for more
}

// NewSweepResults allocates results of n rows, all of them Undecided.
func NewSweepResults(n int) *SweepResults {
	r := UnsetSweepResults(n)
	r.Reset()
	return r
}

// UnsetSweepResults allocates results of n rows for a caller that sets every row: they read as Free, which nothing
// proves.
func UnsetSweepResults(n int) *SweepResults {
	r := &SweepResults{N: n, State: make([]uint8, n), PartA: make([]int32, n), PartB: make([]int32, n),
		Evaluations: make([]int32, n)}
	for _, c := range []*[]float64{&r.Lower, &r.Upper, &r.Closest, &r.T0, &r.T1} {
		*c = make([]float64, n)
	}
	return r
}

// Reset makes every row Undecided.
func (r *SweepResults) Reset() { r.ResetRows(0, r.N) }

// ResetRows makes rows [lo, hi) Undecided.
func (r *SweepResults) ResetRows(lo, hi int) {
	for i := lo; i < hi; i++ {
		r.State[i], r.Upper[i], r.Closest[i], r.T1[i] = uint8(SweepUndecided), math.Inf(1), math.NaN(), math.NaN()
		r.Lower[i], r.T0[i], r.PartA[i], r.PartB[i], r.Evaluations[i] = 0, 0, -1, -1, 0
	}
}

// Check returns an error if the results are not those of n rows.
func (r *SweepResults) Check(n int) error {
	for _, length := range []int{r.N, len(r.State), len(r.Lower), len(r.Upper), len(r.Closest), len(r.T0), len(r.T1),
		len(r.PartA), len(r.PartB), len(r.Evaluations)} {
		if length != n {
			return fmt.Errorf("batch: results of sweeps have %d rows, or a column of %d, want %d", r.N, length, n)
		}
	}
	return nil
}
