package sweep

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/geom"
)

// next returns the time at which the row is asked next: first at 0, then at 1, then in the middle of the earliest
// part that is not proved.
func (t *track) next(o *Options) float64 {
	switch t.answers {
	case 0:
		return 0
	case 1:
		return 1
	}
	a, b := &t.marks[len(t.marks)-1], &t.marks[len(t.marks)-2]
	low, high := t.open(a, b, t.level(o))
	return low + (high-low)/2
}

// open returns the part between marks a and b in which the distance is not proved to be above level.
func (t *track) open(a, b *mark, level float64) (low, high float64) {
	low = a.until(level, t.speed)
	high = b.time
	if !b.contact {
		high = b.since(level, t.speed)
	}
	return low, high
}

// level is the distance that intervals are proved to keep: for free rows a ratio of the least upper bound, at most the
// largest distance; before a contact, 0.
//
// An upper bound u of a pose that is no contact is above near. The lower bound there is u − 2g − 2·round or more, with
// the gap g, and exceeds u − near/2, since g ≤ near/8 and round ≤ near/16. So every pose proves an interval about it.
func (t *track) level(o *Options) float64 {
	if t.marks[0].contact {
		return 0
	}
	level := max(0, min(o.Ratio*t.upper, t.upper-t.near/2))
	if o.HasMaxDistance {
		level = min(level, o.MaxDistance)
	}
	return level
}

// learn takes the answer at a time and ends the row if it is decided.
func (t *track) learn(time float64, a *answer, poseA, poseB *geom.Pose, o *Options) {
	t.evaluations++
	if a.status == batch.Invalid {
		t.end(Invalid)
		return
	}
	if a.status == batch.Undecided {
		t.boundByBalls(a, poseA, poseB)
	}
	a.lower, a.upper = a.lower-t.offset, a.upper+t.offset
	if t.again = t.repeat(a, o); t.again {
		t.tries++
		return
	}
	t.tries = 0
	t.answers++
	m := t.mark(time, a, poseA, poseB)
	if upper := math.Nextafter(a.upper, math.Inf(1)) + t.round; upper < t.upper { // round: of the poses
		t.upper, t.closest = upper, time
	}
	switch {
	case t.answers == 1:
		t.marks = append(t.marks, m)
		switch {
		case m.contact:
			t.t0, t.t1 = 0, 0
			t.end(Contact)
		case o.MaxEvaluations == 1:
			t.endFirst(&m, o)
		}
		return
	case t.answers == 2: // the end goes below the beginning
		t.marks = append(t.marks, t.marks[0])
		t.marks[0] = m
	case m.contact: // nothing after it matters
		t.marks[0], t.marks[1] = m, t.marks[len(t.marks)-1]
		t.marks = t.marks[:2]
	default:
		last := t.marks[len(t.marks)-1]
		t.marks[len(t.marks)-1] = m
		t.marks = append(t.marks, last)
	}
	t.advance(o)
}

// advance drops intervals that are proved, and ends the row where nothing is left, where the contact is known, or at
// the limit.
func (t *track) advance(o *Options) {
	for len(t.marks) > 1 {
		a, b := &t.marks[len(t.marks)-1], &t.marks[len(t.marks)-2]
		level := t.level(o)
		low, high := t.open(a, b, level)
		if b.contact {
			t.free = min(max(t.free, low), b.time)
			if b.time-t.free <= o.TimeTolerance {
				t.t0, t.t1 = t.free, b.time
				t.end(Contact)
				return
			}
		} else if low >= high {
			t.lower = min(t.lower, least(a, b, t.speed, level))
			t.free = b.time
			t.marks = t.marks[:len(t.marks)-1]
			continue
		}
		t.free = min(max(t.free, a.until(0, t.speed)), b.time)
		if mid := low + (high-low)/2; t.evaluations >= o.MaxEvaluations || !(mid > a.time && mid < b.time) {
			t.t0, t.t1 = t.free, math.NaN()
			if t.marks[0].contact {
				t.t1 = t.marks[0].time
			}
			t.end(Undecided)
			return
		}
		return
	}
	t.t0 = 1
	t.end(Free)
}

// endFirst ends a row that no more than its beginning is asked of.
func (t *track) endFirst(m *mark, o *Options) {
	lower := max(m.distance-t.speed, m.plane-m.after) * (1 - 8*eps)
	if lower > 0 && m.until(t.level(o), t.speed) >= 1 {
		t.lower, t.t0 = min(t.lower, lower), 1
		t.end(Free)
		return
	}
	t.t0 = min(max(m.until(0, t.speed), 0), 1)
	t.end(Undecided)
}

// end ends the row.
func (t *track) end(s State) {
	t.ended, t.state = true, s
	switch s {
	case Free:
	case Invalid:
		t.lower, t.upper, t.closest, t.t0, t.t1 = math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN()
	default:
		t.lower, t.upper = 0, max(0, t.upper)
	}
}

// cullMarks is the number of times at which balls are compared.
const cullMarks = 12

// cull ends the row as free if bounding balls prove that the distance stays above a level. The centers of the balls are
// points of the shapes, which bounds the distance from above.
func (t *track) cull(level float64) bool {
	t.marks = append(t.marks[:0], t.ball(1), t.ball(0))
	for used := 2; len(t.marks) > 1; {
		a, b := &t.marks[len(t.marks)-1], &t.marks[len(t.marks)-2]
		low, high := t.open(a, b, level)
		if low >= high {
			t.lower = min(t.lower, least(a, b, t.speed, level))
			t.marks = t.marks[:len(t.marks)-1]
			continue
		}
		mid := low + (high-low)/2
		if used == cullMarks || !(a.distance > level && b.distance > level) || !(mid > a.time && mid < b.time) {
			t.lower, t.upper, t.closest = math.Inf(1), math.Inf(1), math.NaN()
			return false
		}
		used++
		m, last := t.ball(mid), *a
		t.marks[len(t.marks)-1] = m
		t.marks = append(t.marks, last)
	}
	t.t0 = 1
	t.end(Free)
	return true
}

// ball returns what the bounding balls of both shapes, or one and a half-space, say at a time.
func (t *track) ball(time float64) mark {
	poseA, poseB := t.poses(time)
	a := answer{status: batch.Separated, upper: math.Inf(1)}
	cA, cB := poseA.Apply(t.planeA.Center()), poseB.Apply(t.planeB.Center())
	d := r3.Sub(cB, cA)
	apart := r3.Norm(d)
	if upper := apart + t.round; upper < t.upper {
		t.upper, t.closest = upper, time
	}
	a.normal = d
	if apart > 0 {
		a.normal = r3.Scale(1/apart, d)
	}
	n := t.direction(a.normal, &poseA, &poseB)
	separation := r3.Dot(n, d) - ballRadius(t.planeA) - ballRadius(t.planeB)
	a.lower = separation
	m := t.mark(time, &a, &poseA, &poseB)
	return m
}

// repeat reports whether a pose is asked again: solvers left it undecided, with bounds that prove neither a contact nor
// an interval about it. A device may do so where shapes without interior touch.
func (t *track) repeat(a *answer, o *Options) bool {
	return a.status == batch.Undecided && !(a.upper <= t.near || a.lower > t.near/4) && t.tries < len(offsets) &&
		t.evaluations < o.MaxEvaluations
}

// boundByBalls narrows the bounds of an answer that is not decided, and may have none, by balls about the centers,
// which
// are points of the shapes. A device may leave two points that coincide undecided, since their size is 0.
func (t *track) boundByBalls(a *answer, poseA, poseB *geom.Pose) {
	if t.planeA.Kind().Traits().Unbounded || t.planeB.Kind().Traits().Unbounded {
		return
	}
	apart := r3.Norm(r3.Sub(poseB.Apply(t.planeB.Center()), poseA.Apply(t.planeA.Center())))
	if !(a.upper <= apart) {
		a.upper = apart
	}
	if lower := apart - ballRadius(t.planeA) - ballRadius(t.planeB); !(a.lower >= lower) {
		a.lower = lower
	}
}

// ballRadius is the radius of the ball about the center; of a half-space, its margin.
func ballRadius(s geom.Shape) float64 {
	if s.Kind().Traits().Unbounded {
		return s.Radius()
	}
	return s.BoundingRadius() * (1 + 16*eps)
}

// eps is the unit roundoff of float64, 2⁻⁵³.
const eps = 0x1p-53

// nearRounds is the least distance of contacts, relative to the rounding of a separation: shapes nearer than that, far
// from the origin or as small as points, cannot be told from those in contact.
const nearRounds = 16

// offsetShare is the distance of contacts, relative to the length of an offset. It widens the bounds of a pose by less
// than the gap of a distance does.
const offsetShare = 32

// mark is a time at which the pair was evaluated, with what is known from there.
type mark struct {
	time    float64
	contact bool
	// The distance at a time s after (before) it is at least distance − s·speed, and at least plane − s·after
	// (before). Rounding is included.
	distance, plane float64
	after, before   float64
}

// track is a row while it is solved.
type track struct {
	row            int
	shapeA, shapeB int32
	localA, localB geom.Pose
	a, b           motion
	velocity       r3.Vec  // of B relative to A
	spinA, spinB   float64 // bounds of the speeds by rotation: angle times largest distance from the axis
	speed          float64 // μ
	rotatingPlane  bool    // a half-space that rotates: planes do not keep their normal
	round          float64 // bound of the rounding of a separation, that of the poses included
	near           float64 // the distance up to which shapes are in contact
	planeA, planeB geom.Shape

	// marks are the times ahead, the earliest last. Before the last but none is proved free of contact.
	marks []mark
	free  float64 // no contact before

	// A pose that solvers leave undecided is asked again with B moved by a vector of the length offset.
	again  bool
	tries  int
	offset float64

	lower, upper float64 // bounds of the least distance so far
	evaluations  int
	answers      int // taken, of these evaluations
	ended        bool
	state        State
	t0, t1       float64
	closest      float64 // time of the least upper bound
}

// start begins a row.
func (t *track) start(index int, lib *batch.Library, r *Row, o *Options) {
	*t = track{
		row: index, shapeA: r.ShapeA, shapeB: r.ShapeB, localA: r.LocalA, localB: r.LocalB,
		a: newMotion(r.FromA, r.ToA), b: newMotion(r.FromB, r.ToB), marks: t.marks[:0],
		lower: math.Inf(1), upper: math.Inf(1), closest: math.NaN(), t0: math.NaN(), t1: math.NaN(),
		planeA: lib.Shape(r.ShapeA), planeB: lib.Shape(r.ShapeB),
	}
	t.velocity = r3.Sub(t.b.velocity, t.a.velocity)
	reachA, unboundedA := reach(t.planeA, t.localA)
	reachB, unboundedB := reach(t.planeB, t.localB)
	t.spinA = t.a.angle * t.ofPart(&t.a, t.planeA, t.localA)
	t.spinB = t.b.angle * t.ofPart(&t.b, t.planeB, t.localB)
	// The distance of the bodies is a convex function of time, largest at an end.
	apart := max(r3.Norm(r3.Sub(t.b.start, t.a.start)),
		r3.Norm(r3.Add(r3.Sub(t.b.start, t.a.start), t.velocity)))
	// The points of a shape are that far from the body of a half-space, and move that fast in its frame.
	if unboundedA {
		t.spinA = t.a.angle * (apart + reachA + reachB)
	}
	if unboundedB {
		t.spinB = t.b.angle * (apart + reachA + reachB)
	}
	t.rotatingPlane = unboundedA && t.a.angle > 0 || unboundedB && t.b.angle > 0
	t.speed = r3.Norm(t.velocity) + t.spinA + t.spinB
	t.speed += 16 * eps * t.speed
	// 24 eps of the largest magnitude for a separation, see package verify; a position at a time has an error of at
	// most 4 eps of its magnitude, and a rotation of 24 eps; the local pose as much again.
	t.round = 128*eps*(apart+reachA+reachB) + 16*eps*(t.a.far()+t.b.far())
	t.near = max(o.Tolerance*lib.PairSize(r.ShapeA, r.ShapeB), nearRounds*t.round)
}

// offsets are the directions in which poses that solvers leave undecided are moved: none is parallel to an axis or a
// diagonal.
var offsets = [...]r3.Vec{{X: 0.48, Y: 0.6, Z: 0.64}, {X: -0.64, Y: 0.48, Z: -0.6}, {X: 0.6, Y: -0.64, Z: 0.48}}

// asked returns the poses at which solvers are asked at a time.
func (t *track) asked(time float64) (a, b geom.Pose) {
	a, b = t.poses(time)
	if t.offset = 0; t.again {
		t.offset = t.near / offsetShare
		b.Position = r3.Add(b.Position, r3.Scale(t.offset, offsets[t.tries-1]))
	}
	return a, b
}

// ofPart bounds the distance of the points of a bounded part from the axis of rotation of its body.
func (t *track) ofPart(m *motion, s geom.Shape, local geom.Pose) float64 {
	if s.Kind().Traits().Unbounded {
		return 0
	}
	return (1 + 16*eps) * m.radius(local.Apply(s.Center()), s.BoundingRadius())
}

// reach bounds the distance of the points of a part from the origin of its body; of a half-space, the distance of its
// own origin and its margin.
func reach(s geom.Shape, local geom.Pose) (r float64, unbounded bool) {
	if s.Kind().Traits().Unbounded {
		return r3.Norm(local.Position) + s.Radius(), true
	}
	return (1 + 16*eps) * (r3.Norm(local.Apply(s.Center())) + s.BoundingRadius()), false
}

// poses returns the poses of both shapes at a time.
func (t *track) poses(time float64) (a, b geom.Pose) {
	return t.a.at(time).Compose(t.localA), t.b.at(time).Compose(t.localB)
}

// separation returns a lower bound of the separation along a unit direction, from A to B in the world, at given poses.
// For a half-space the direction is its own normal.
func (t *track) separation(n r3.Vec, poseA, poseB *geom.Pose) float64 {
	ra, rb := poseA.Matrix(), poseB.Matrix()
	da := ra.MulVecT(n)
	db := rb.MulVecT(r3.Scale(-1, n))
	ha := r3.Dot(da, t.planeA.CoreSupport(da)) + t.planeA.Radius()
	hb := r3.Dot(db, t.planeB.CoreSupport(db)) + t.planeB.Radius()
	return r3.Dot(n, r3.Sub(poseB.Position, poseA.Position)) - ha - hb - t.round
}

// direction returns the unit direction of the answer for separations, zero if there is none.
func (t *track) direction(normal r3.Vec, poseA, poseB *geom.Pose) r3.Vec {
	switch {
	case t.planeA.Kind().Traits().Unbounded:
		m := poseA.Matrix()
		return m.MulVec(r3.Vec{Z: 1})
	case t.planeB.Kind().Traits().Unbounded:
		m := poseB.Matrix()
		return m.MulVec(r3.Vec{Z: -1})
	}
	l := r3.Norm(normal)
	if !(l > 0.5 && l < 2) {
		return r3.Vec{}
	}
	return r3.Scale(1/l, normal)
}

// mark returns what an answer at a time says.
func (t *track) mark(time float64, a *answer, poseA, poseB *geom.Pose) mark {
	m := mark{time: time, distance: a.lower - t.round, plane: math.Inf(-1)}
	m.contact = a.upper <= t.near || a.status == batch.Touching || a.status == batch.Penetrating
	if m.contact {
		m.distance = min(m.distance, 0)
		return m
	}
	n := t.direction(a.normal, poseA, poseB)
	if n == (r3.Vec{}) {
		return m
	}
	m.plane = t.separation(n, poseA, poseB) - t.offset
	if t.rotatingPlane {
		m.after, m.before = t.speed, t.speed
		return m
	}
	spin := t.spinAlong(&t.a, t.spinA, n) + t.spinAlong(&t.b, t.spinB, n)
	along := r3.Dot(t.velocity, n)
	slack := 32 * eps * t.speed
	m.after, m.before = max(0, spin-along+slack), max(0, spin+along+slack)
	return m
}

// spinAlong bounds the speed along n by rotation.
func (t *track) spinAlong(m *motion, spin float64, n r3.Vec) float64 {
	return spin * r3.Norm(r3.Cross(m.world, n))
}

// until returns the time after m up to which the distance is proved to be above level.
func (m *mark) until(level, speed float64) float64 {
	return m.time + reachTime(m, level, speed, m.after)
}

// since returns the time before m from which the distance is proved to be above level.
func (m *mark) since(level, speed float64) float64 {
	return m.time - reachTime(m, level, speed, m.before)
}

// reachTime returns how long a bound of m stays above level, rounded down.
func reachTime(m *mark, level, speed, along float64) float64 {
	s := 0.0
	if d := m.distance - level; d > 0 {
		s = d / speed // Inf without motion
	}
	if d := m.plane - level; d > 0 {
		s = max(s, d/along)
	}
	return s * (1 - 8*eps)
}

// least returns a lower bound of the distance between two marks: about the largest level for which until and since
// meet. They meet for the given one, so that no less is returned. From 0 the bisection goes on until a level above 0 is
// found.
func least(a, b *mark, speed, level float64) float64 {
	low, high := level, min(max(a.distance, a.plane), max(b.distance, b.plane))
	if !(high > low) {
		return low
	}
	if a.until(high, speed) >= b.since(high, speed) {
		return high
	}
	for i := 0; i < 12 || low == 0 && i < 64; i++ {
		mid := (low + high) / 2
		if a.until(mid, speed) >= b.since(mid, speed) {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}
