package rollout

import (
	"math"

	"clearance/geom"
	"clearance/rollout/sweep"

	"gonum.org/v1/gonum/spatial/r3"
)

// Of rows with a largest distance, bodies are compared before their parts, by balls that contain them.
//
// From one way point to the next the center of a ball moves along a line and rotates about an axis, by an angle θ, at a
// distance of at most ρ from it. It deviates from the line between its two ends, at constant speed, by at most θ²·ρ/8,
// since its second derivative is at most θ²·ρ. So the distance of two balls is at least that of two points that move
// along lines, which is least at a time in closed form, less the radii and the deviations.

// reach bounds a body over a leg: its center at both ends, and how far from the line between them its points are.
func (s *sweeper) reach(world int, k int32) (ends [2]r3.Vec, r float64) {
	b := s.bodies.Bounds(s.motions.Body(world, k))
	var q [2]geom.Pose
	size := b.Magnitude
	for i := range q {
		q[i], _ = s.motions.Pose(world, s.leg+i, k).Normalized() // they are valid
		v := q[i].Position
		size += math.Abs(v.X) + math.Abs(v.Y) + math.Abs(v.Z)
		ends[i] = q[i].Apply(b.Center)
	}
	x, y := q[0].Rotation, q[1].Rotation
	cos := math.Abs(x.Real*y.Real + x.Imag*y.Imag + x.Jmag*y.Jmag + x.Kmag*y.Kmag)
	angle := 2 * math.Acos(math.Min(1, cos))
	return ends, b.Radius + angle*angle*r3.Norm(b.Center)/8*(1+placeSlack) + placeSlack*size
}

// apart bounds the distance of the bodies of a row over the leg from below, where that exceeds what matters: the
// largest distance, that of contacts, and rounding.
func (s *sweeper) apart(row int) (lower float64, ok bool) {
	if !s.o.HasMaxDistance {
		return 0, false
	}
	world, a, b := s.of(row)
	x, ra := s.reach(world, a)
	y, rb := s.reach(world, b)
	if math.IsInf(ra+rb, 1) {
		return 0, false // a half-space
	}
	from, to := r3.Sub(y[0], x[0]), r3.Sub(y[1], x[1])
	step := r3.Sub(to, from)
	time := 0.0
	if n := r3.Norm2(step); n > 0 {
		time = math.Max(0, math.Min(1, -r3.Dot(from, step)/n))
	}
	nearest := r3.Norm(r3.Add(from, r3.Scale(time, step)))
	// A time that is rounded, or that an underflow leaves at 0, moves the point by less than the slack.
	far := math.Max(r3.Norm(from), r3.Norm(to)) + ra + rb
	lower = nearest*roundDown - ra - rb - placeSlack*far
	return lower, lower > math.Max(s.o.MaxDistance, math.Max(2*s.o.Tolerance*(ra+rb), 0x1p-36*far))
}

// beyond reports whether the bodies of a row stay beyond the largest distance over all legs, and answers it if they do.
func (s *sweeper) beyond(row int) bool {
	defer func(leg int) { s.leg = leg }(s.leg)
	lower := math.Inf(1)
	for s.leg = 0; s.leg+1 < s.motions.WayPoints(); s.leg++ {
		l, ok := s.apart(row)
		if !ok {
			return false
		}
		lower = math.Min(lower, l)
	}
	s.leg = 0
	s.noteApart(row, lower)
	s.out.State[row], s.out.T0[row] = uint8(sweep.Free), float64(s.motions.WayPoints()-1)
	return true
}

// noteApart takes the bounds of a leg that needs no parts. The centers of the first parts at its beginning bound the
// distance from above.
func (s *sweeper) noteApart(row int, lower float64) {
	world, a, b := s.of(row)
	var c [2]r3.Vec
	size := 0.0
	for i, k := range [2]int32{a, b} {
		body := s.motions.Body(world, k)
		part := &s.bodies.Parts(body)[0]
		pose, _ := s.motions.Pose(world, s.leg, k).Normalized()
		c[i] = pose.Compose(part.Pose).Apply(s.bodies.Library().Shape(part.Shape).Center())
		size += r3.Norm(c[i]) + r3.Norm(pose.Position) + s.bodies.Bounds(body).Magnitude
	}
	r := s.out
	r.Lower[row] = math.Min(r.Lower[row], lower)
	if upper := distance(c[0], c[1])*roundUp + placeSlack*size; upper < r.Upper[row] {
		r.Upper[row], r.Closest[row], r.PartA[row], r.PartB[row] = upper, float64(s.leg), 0, 0
	}
	s.report.Culled += int64(len(s.bodies.Parts(s.motions.Body(world, a)))) *
		int64(len(s.bodies.Parts(s.motions.Body(world, b))))
}
