package sweep

import (
	"math"

	"clearance/batch"
	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
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
