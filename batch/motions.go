package batch

import (
	"fmt"
	"math"

	"clearance/geom"
)

// Motions is W worlds of M bodies, each of which moves through T way points, with one list of P pairs of bodies that
// all worlds share. Row w·P + p is pair p in world w.
//
// A body is at way point k at the time k. In between its position moves along a line at constant speed, and its
// rotation about a fixed axis at constant speed, by the shorter arc.
type Motions struct {
	// M is the number of bodies of a world; 0 stands for len(Bodies). T is the number of way points, at least 2; 0
	// stands for 2.
	M, T int

	// Bodies are indices into a [Bodies], or [Absent]: [M], the same in all worlds, or [W,M].
	Bodies []int32

	// Poses are [W,T,M,7]: x, y, z in metres, then the quaternion w, x, y, z, which is normalized on input. Those of
	// absent bodies, and of bodies in no pair, are not read.
	Poses []float64

	// TemplateA and TemplateB are the pairs: [P] indices of bodies within a world.
	TemplateA, TemplateB []int32
}

// BodiesPerWorld returns M.
func (m *Motions) BodiesPerWorld() int {
	if m.M > 0 {
		return m.M
	}
	return len(m.Bodies)
}

// WayPoints returns T.
func (m *Motions) WayPoints() int {
	if m.T == 0 {
		return 2
	}
	return m.T
}

// Len returns the number of rows, W·P.
func (m *Motions) Len() int { return m.Count() * len(m.TemplateA) }

// Count returns the number of worlds, W.
func (m *Motions) Count() int {
	if n := m.WayPoints() * m.BodiesPerWorld(); n > 0 {
		return len(m.Poses) / (7 * n)
	}
	return 0
}

// Body returns the body at place k of a world.
func (m *Motions) Body(world int, k int32) int32 {
	if n := m.BodiesPerWorld(); len(m.Bodies) > n {
		return m.Bodies[world*n+int(k)]
	}
	return m.Bodies[k]
}

// Pose returns the pose of the body at place k of a world at a way point.
func (m *Motions) Pose(world, wayPoint int, k int32) geom.Pose {
	p := m.Poses[7*((world*m.WayPoints()+wayPoint)*m.BodiesPerWorld()+int(k)):][:7]
	return poseAt(p[:3], p[3:])
}

// Slice returns worlds lo to hi, sharing the memory.
func (m *Motions) Slice(lo, hi int) *Motions {
	s, n := *m, m.BodiesPerWorld()
	s.M, s.Poses = n, m.Poses[7*n*m.WayPoints()*lo:7*n*m.WayPoints()*hi]
	if len(m.Bodies) > n {
		s.Bodies = m.Bodies[n*lo : n*hi]
	}
	return &s
}

// CheckBodies returns an error if the length of a column does not match the others, or if an index is not that of a
// body. Poses are checked by body when they are read.
func (m *Motions) CheckBodies(bodies *Bodies) error {
	n, t := m.BodiesPerWorld(), m.WayPoints()
	switch {
	case m.M < 0:
		return fmt.Errorf("batch: M = %d, want the number of bodies of a world, or 0 for len(bodies)", m.M)
	case t < 2:
		return fmt.Errorf("batch: T = %d way points, want at least 2, or 0 for 2", m.T)
	case n == 0 && len(m.Poses) != 0:
		return fmt.Errorf("batch: poses have %d numbers for no bodies", len(m.Poses))
	case n > 0 && len(m.Poses)%(7*n*t) != 0:
		return fmt.Errorf("batch: poses have %d numbers, want a multiple of 7 × %d bodies × %d way points",
			len(m.Poses), n, t)
	}
	if err := checkBodies("bodies", m.Bodies, n, m.Count(), bodies.Len()); err != nil {
		return err
	}
	return checkPairs("template", m.TemplateA, m.TemplateB, n, false)
}

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

func (s SweepState) String() string { return Names[SweepState]{"state", sweepStateNames[:]}.Name(s) }

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
