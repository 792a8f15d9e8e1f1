package batch

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/spatial/r3"
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

var reductions = Names[Reduce]{"reduction", reduceNames[:]}

// String returns the name used in files and flags.
func (r Reduce) String() string { return reductions.Name(r) }

// ParseReduce is the inverse of [Reduce.String].
func ParseReduce(s string) (Reduce, error) { return reductions.Parse(s) }

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

// Codes of the column any of a world.
const (
	AnyNone    uint8 = 0 // every row is proved to be separated
	AnyContact uint8 = 1 // a row is proved to be in contact, whatever the others are
	AnyUnknown uint8 = 2 // no contact is proved, and a row has no answer
)

// RolloutResults has one row per pair of bodies in a world (row w·P + p), or one per world with [ReduceWorld].
//
// The columns of [Results] are those of the least row or pair of parts:
//
//   - Culled rows have the solver [SolverBounds], normal and witnesses NaN, and parts -1.
//   - Rows with an absent body are the distance to an empty set: Separated, distance +Inf, gap 0, solver
//     bounds, normal and witnesses NaN, parts -1. So is a world without any other rows.
//   - Rows with an invalid pose, and worlds with such a row, are Invalid.
//   - A row is Undecided if an undecided pair of parts could be the least. The status of a Boolean query is that of a
//     contact if there is one.
//   - The bits column of a world is set unless all its rows are proved to be separated.
type RolloutResults struct {
	*Results

	// PartA and PartB are the parts that attain the least, as indices into [Bodies.Parts]; -1 if no
	// pair of parts was solved. [N].
	PartA, PartB []int32

	// Of worlds, [W], else nil: the index p of the pair that attains the least (without values a pair in
	// contact), -1 if that is not known; the number of rows proved to be in contact; the number of rows without
	// an answer; and whether there is any contact, as [AnyNone], [AnyContact], [AnyUnknown].
	Pair, Contacts, Failed []int32
	Any                    []uint8

	// ContactsComplete reports that Contacts counts all contacts of every world. A Boolean query of statuses stops
	// in a world in which bounds prove a contact: the counts are lower bounds then.
	ContactsComplete bool

	// Of all pairs, else nil: the rows of world w are Offsets[w] to Offsets[w+1]-1, in ascending order of BodyA and
	// BodyB, places in that world with BodyA < BodyB. A pair without a row is proved to be separated, beyond
	// MaxDistance if there is one, in the worlds that the report counts as done. After an error the worlds from there
	// on have no rows and nothing is known of them. A pair of a body with an invalid pose has an Invalid row. Of
	// worlds, BodyA and BodyB are the pair that attains the least, -1 if that is not known; Pair is -1 and Offsets nil.
	Offsets      []int64
	BodyA, BodyB []int32
}

// NewRolloutResults allocates results of n rows.
func NewRolloutResults(n int, o *RolloutOptions) *RolloutResults {
	r := &RolloutResults{Results: NewResults(n, &o.Options), PartA: make([]int32, n), PartB: make([]int32, n)}
	if o.Reduce == ReduceWorld {
		r.Pair, r.Contacts, r.Failed = make([]int32, n), make([]int32, n), make([]int32, n)
		r.Any = make([]uint8, n)
	}
	r.Reset()
	return r
}

// Reset makes every row Undecided.
func (r *RolloutResults) Reset() {
	r.Results.Reset()
	r.resetOthers(0, r.N)
}

// FailRows makes rows lo to hi Undecided, column by column, but for the bits, which [Results.PackBits] writes.
func (r *RolloutResults) FailRows(lo, hi int) {
	r.Fail(lo, hi)
	r.resetOthers(lo, hi)
}

// resetOthers is ResetOthers of rows lo to hi.
func (r *RolloutResults) resetOthers(lo, hi int) {
	fill(r.PartA[lo:hi], -1)
	fill(r.PartB[lo:hi], -1)
	if r.Pair == nil {
		return
	}
	fill(r.Pair[lo:hi], -1)
	clear(r.Contacts[lo:hi])
	clear(r.Failed[lo:hi])
	fill(r.Any[lo:hi], AnyUnknown)
	if r.BodyA != nil {
		fill(r.BodyA[lo:hi], -1)
		fill(r.BodyB[lo:hi], -1)
	}
}

// ResetOthers makes the columns of row i that [Results] lacks those of a failure.
func (r *RolloutResults) ResetOthers(i int) {
	r.PartA[i], r.PartB[i] = -1, -1
	if r.Pair != nil {
		r.Pair[i], r.Contacts[i], r.Failed[i], r.Any[i] = -1, 0, 0, AnyUnknown
	}
	if r.Pair != nil && r.BodyA != nil {
		r.BodyA[i], r.BodyB[i] = -1, -1
	}
}

// Check returns an error if results do not have the form of n rows for the options.
func (r *RolloutResults) Check(n int, o *RolloutOptions) error {
	if r.Results == nil || r.N != n || len(r.PartA) != n || len(r.PartB) != n {
		return fmt.Errorf("batch: results are not those of %d rows; allocate them with NewRolloutResults", n)
	}
	if missing := o.EffectiveColumns() &^ r.Columns; missing != 0 || r.Precision != o.Precision {
		return fmt.Errorf("batch: results in %v precision lack the columns %v", r.Precision, missing)
	}
	w := 0
	if o.Reduce == ReduceWorld {
		w = n
	}
	if len(r.Pair) != w || len(r.Contacts) != w || len(r.Failed) != w || len(r.Any) != w {
		return fmt.Errorf("batch: results are not those of the reduction %v; allocate them with NewRolloutResults",
			o.Reduce)
	}
	return r.CheckShape()
}

// RolloutRows finds what the rows of a rollout are about: their worlds, bodies and parts.
type RolloutRows struct {
	Bodies  *Bodies // of worlds of shapes see [BodiesOfShapes]
	Worlds  *Worlds
	Results *RolloutResults
}

// Range returns the rows of a world, lo to hi-1.
func (r *RolloutRows) Range(world int) (lo, hi int) {
	switch o := r.Results; {
	case o.Pair != nil:
		return world, world + 1
	case o.Offsets != nil:
		return int(o.Offsets[world]), int(o.Offsets[world+1])
	}
	pairs := len(r.Worlds.TemplateA)
	return world * pairs, (world + 1) * pairs
}

// Places returns the places of both bodies of row i in its world, -1 where a world does not tell its least pair. ok is
// false then, and for places that the world does not have.
func (r *RolloutRows) Places(world, i int) (a, b int32, ok bool) {
	o, w := r.Results, r.Worlds
	switch {
	case o.BodyA != nil:
		a, b = o.BodyA[i], o.BodyB[i]
	case o.Pair != nil:
		pair := o.Pair[i]
		if pair < 0 || int(pair) >= len(w.TemplateA) {
			return -1, -1, false
		}
		a, b = w.TemplateA[pair], w.TemplateB[pair]
	default:
		pair := i - world*len(w.TemplateA)
		a, b = w.TemplateA[pair], w.TemplateB[pair]
	}
	return a, b, min(a, b) >= 0 && max(a, b) < int32(w.BodiesPerWorld())
}

// RowParts are the two parts that attain a row of a rollout.
type RowParts struct {
	Places [2]int32  // of their bodies, in the world: those whose poses these have, see [Worlds.Carriers]
	Row    Row       // the parts as a pair of shapes
	Arms   [2]r3.Vec // positions of the parts from those of their bodies, world axes
}

// Parts finds the parts of row i, and reports whether there are any.
func (r *RolloutRows) Parts(world, i int, p *RowParts) bool {
	a, b, ok := r.Places(world, i)
	if !ok {
		return false
	}
	partA, partB := r.Results.PartA[i], r.Results.PartB[i]
	bodyA, bodyB := r.Worlds.Body(world, a), r.Worlds.Body(world, b)
	if partA < 0 || partB < 0 || bodyA < 0 || bodyB < 0 || int(partA) >= len(r.Bodies.Parts(bodyA)) ||
		int(partB) >= len(r.Bodies.Parts(bodyB)) {
		return false
	}
	poseA, poseB := r.Worlds.Pose(world, a), r.Worlds.Pose(world, b)
	p.Places = [2]int32{r.Worlds.Carrier(world, a), r.Worlds.Carrier(world, b)}
	p.Row = Row{ShapeA: r.Bodies.Parts(bodyA)[partA].Shape, ShapeB: r.Bodies.Parts(bodyB)[partB].Shape,
		PoseA: r.Bodies.PartPose(bodyA, int(partA), poseA), PoseB: r.Bodies.PartPose(bodyB, int(partB), poseB)}
	p.Arms = [2]r3.Vec{r3.Sub(p.Row.PoseA.Position, poseA.Position), r3.Sub(p.Row.PoseB.Position, poseB.Position)}
	return r.Bodies.Library().CheckRow(i, &p.Row) == nil
}

// ToBodies converts the gradient of a row with respect to the twists of its parts into the gradient with respect to the
// twists of its bodies. A part at the arm ρ from the position of its body moves with v + ω×ρ, so the torque of the body
// is the torque of the part plus ρ×force.
func (p *RowParts) ToBodies(g *[TwistWidth]float64) {
	for side, arm := range p.Arms {
		if arm == (r3.Vec{}) {
			continue
		}
		s := g[BodyWidth*side:]
		torque := r3.Add(r3.Vec{X: s[3], Y: s[4], Z: s[5]}, r3.Cross(arm, r3.Vec{X: s[0], Y: s[1], Z: s[2]}))
		s[3], s[4], s[5] = torque.X, torque.Y, torque.Z
	}
}

// AddTo adds the gradient of a row with respect to the twists of its parts to those of the bodies of its world, [M,6]:
// A before B.
func (p *RowParts) AddTo(gradients []float64, g [TwistWidth]float64) {
	p.ToBodies(&g)
	for side, place := range p.Places {
		to := gradients[BodyWidth*int(place):][:BodyWidth]
		for j, v := range g[BodyWidth*side:][:BodyWidth] {
			to[j] += v
		}
	}
}

// Twists returns the twists of the parts by those of the bodies of the world, [M,6].
func (p *RowParts) Twists(bodies []float64) (t [TwistWidth]float64) {
	for side, place := range p.Places {
		s := t[BodyWidth*side:]
		copy(s[:BodyWidth], bodies[BodyWidth*int(place):])
		moved := r3.Cross(r3.Vec{X: s[3], Y: s[4], Z: s[5]}, p.Arms[side])
		s[0], s[1], s[2] = s[0]+moved.X, s[1]+moved.Y, s[2]+moved.Z
	}
	return t
}

// Culling describes bodies at places that are the same in many worlds, and pairs of them, so that a [Culler] can
// compare their bounds.
type Culling struct {
	Places []int32    // the bodies, as places in a world
	Bodies []CullBody // of each place
	A, B   []int32    // the pairs, as indices into Places
	Boxed  []bool     // of each pair, whether the boxes of its parts are compared

	Stride    int     // numbers of the poses of a world, 7 for each place
	Threshold float64 // distance beyond which no pair matters
	Valued    bool    // pairs that are not the least of a world do not matter either
}

// CullBody is what culling needs of a body at a place of all worlds, in the frame of the body. See package rollout.
type CullBody struct {
	Plane     bool       // the body is one half-space
	Center    [3]float64 // of the ball that contains it; of a half-space a point of its plane
	Radius    float64    // of that ball; of a half-space its margin
	Magnitude float64    // of all coordinates of its bounds
	Far       float64    // largest coordinate of a valid position
	Inner     [3]float64 // center of the ball within it; of a half-space its normal
	Inradius  float64
	Slack     float64 // Inner is this close to a point of the body
	Parts     []CullPart
}

// CullPart is what culling needs of a part of a body, in the frame of the body.
type CullPart struct {
	Center   [3]float64 // of the ball that contains it, and of that within it
	Radius   float64
	Inradius float64
	Slack    float64    // Center is this close to a point of the part
	Box      [3]float64 // center of the box that contains it
	Half     [3]float64
	Axes     [9]float64 // the columns are the axes of the box
}

// A Culler compares pairs of bodies in several worlds at once: their balls, then the boxes of their parts. It belongs
// to one goroutine.
type Culler interface {
	// Run culls as many worlds as the culler takes at a time, whose poses are given. It returns the set of worlds whose
	// poses are all valid, with quaternions of norms near 1; of the others nothing is known.
	Run(poses []float64) (valid uint)

	// World returns what the last Run found of a world. It is valid until the next one.
	World(i int) Culled

	// Parts returns the bounds of the parts of an open pair: of each part of the first body those with the parts of
	// the second. They are valid until the next Run.
	Parts(o CullOpen) CullBounds
}

// Culled is what is known of a world.
type Culled struct {
	Open   []CullOpen // pairs that bounds do not rule out, ascending
	Upper  float64    // an upper bound of the distances of the culled pairs, +Inf for none
	Beyond float64    // distance beyond which pairs are culled
	Least  float64    // least lower bound of the culled pairs, +Inf for none
}

// CullOpen is a pair that bounds do not rule out, and the first of its pairs of parts among those of [Culler.Parts]; -1
// if boxes could not cull the pair.
type CullOpen struct{ Pair, First int32 }

// CullBounds are bounds of the distances of pairs of parts: from below by balls and by boxes, and from above.
type CullBounds struct{ Balls, Boxes, Upper []float64 }
