package rollout

import (
	"math"
	"slices"

	"clearance/rollout/sweep"
)

// partMotions are the pairs of parts of the rows of a block, from one way point to the next.
type partMotions struct{ s *sweeper }

func (p *partMotions) Len() int { return p.s.first[len(p.s.first)-1] }

// Row reads pair of parts i: part k / parts of B of A, and k mod that of B.
func (p *partMotions) Row(i int, r *sweep.Row) {
	s := p.s
	after, _ := slices.BinarySearch(s.first, i+1) // rows without pairs have the same first one as the next
	at := after - 1
	world, a, b := s.of(s.rows[at])
	partsA, partsB := s.bodies.Parts(s.motions.Body(world, a)), s.bodies.Parts(s.motions.Body(world, b))
	k := i - s.first[at]
	x, y := &partsA[k/len(partsB)], &partsB[k%len(partsB)]
	*r = sweep.Row{
		ShapeA: x.Shape, ShapeB: y.Shape, LocalA: x.Pose, LocalB: y.Pose,
		FromA: s.motions.Pose(world, s.leg, a), ToA: s.motions.Pose(world, s.leg+1, a),
		FromB: s.motions.Pose(world, s.leg, b), ToB: s.motions.Pose(world, s.leg+1, b),
	}
}

// fold combines the answers of the pairs of parts of a row, counts them, and reports whether the row is free of contact
// so far.
//
// The bodies are free of contact as long as all pairs of parts are, and in contact as soon as one is.
func (s *sweeper) fold(row int, parts []sweep.Answer, count *sweepCount) (on bool) {
	r, leg := s.out, float64(s.leg)
	world, _, b := s.of(row)
	n := len(s.bodies.Parts(s.motions.Body(world, b)))
	free, contact, by, open, limited := 1.0, math.Inf(1), -1, false, false
	for k := range parts {
		a := &parts[k]
		r.Evaluations[row] = int32(min(int64(r.Evaluations[row])+int64(a.Evaluations), math.MaxInt32))
		count.evaluations += int64(a.Evaluations)
		if a.State == sweep.Invalid { // half-spaces
			s.invalid(row)
			return false
		}
		r.Lower[row] = min(r.Lower[row], a.Lower)
		if a.Upper < r.Upper[row] {
			r.Upper[row], r.Closest[row] = a.Upper, leg+a.Closest
			r.PartA[row], r.PartB[row] = int32(k/n), int32(k%n)
		}
		if a.State == sweep.Free {
			continue
		}
		open = true
		limited = limited || a.State == sweep.Undecided && a.Evaluations >= s.o.MaxEvaluations
		free = min(free, a.T0)
		if a.T1 < contact {
			contact, by = a.T1, k
		}
	}
	switch last := s.leg+2 == s.motions.WayPoints(); {
	case !open && !last:
		return true
	case !open:
		r.State[row], r.T0[row] = uint8(sweep.Free), leg+1
		return false
	}
	r.Lower[row], r.T0[row], r.T1[row] = 0, leg+free, math.NaN()
	if leg > 0 && free > 0 {
		r.T0[row] = math.Nextafter(leg+free, 0) // the sum is rounded
	}
	if by >= 0 {
		r.T1[row] = leg + contact
		if leg > 0 && contact > 0 {
			r.T1[row] = math.Nextafter(leg+contact, math.Inf(1))
		}
		r.PartA[row], r.PartB[row] = int32(by/n), int32(by%n)
	}
	switch {
	case r.T1[row]-r.T0[row] <= s.o.TimeTolerance:
		r.State[row] = uint8(sweep.Contact)
	default:
		r.State[row] = uint8(sweep.Undecided)
		if limited {
			count.limited++
		}
	}
	return false
}
