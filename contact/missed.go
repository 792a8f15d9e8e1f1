package contact

// The pairs that a step would let pass into each other. The velocities before a step do not bound those after it: what
// a body is hit by may be faster than all that is near it. And contacts say nothing of the points that had none: one
// point of a curved body stops there, while the other end goes on. So every near pair is proved by its motion under the
// velocities that the solve gives. A world in which this fails is solved again: with contacts of the pairs that had
// none (this file), and with contacts at the points that would enter (again.go); if that does not end, it is stepped in
// parts (parts.go).

import (
	"cmp"
	"math"
	"slices"

	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// nearPair is a pair of parts of a world that may have contacts.
type nearPair struct {
	pair  int32
	meets bool // a solve without its contacts lets it meet, so that it has contacts at any distance
}

// margin is the part of an approach by which a pair without contacts must stay separated beyond it: steps of another
// length, with which a step may be compared, have slightly other impulses.
const margin = 0.25

// closes is the largest gap that a pair may close along the normal n in a step without impulses, with the margin. The
// rotations are those before the step.
func (s *Simulation) closes(w int, pair int32, n r3.Vec) float64 {
	p, first := &s.pairs[pair], w*len(s.scene.Body)
	a, b := first+int(p.a), first+int(p.b)
	free := s.problem.Velocity
	approach := dotVec(n, r3.Sub(vecOf(free[6*a:]), vecOf(free[6*b:]))) + 0.5*(s.bodies[a].rim+s.bodies[b].rim)
	return (1 + margin) * s.o.TimeStep * approach
}

// leave notes a row without contacts: by how much more the pair would have to move to meet than its speeds before the
// step let it.
func (s *Simulation) leave(w int, row *worldRow) {
	s.spare[w] = min(s.spare[w], row.apart-s.o.TimeStep*s.speed(w, &s.pairs[row.pair]))
}

// missed marks the pairs without contacts that may meet in the step by the velocities of the solve, and reports whether
// there are any. A mark lasts for the step, and the next solve has contacts of the pair; so some solve is the last.
//
// The distance of two parts falls by at most the motion of the centers of mass relative to each other and the reach of
// both rotations. Pairs that this does not prove apart are tried by planes between them.
func (s *Simulation) missed(w int) (found bool) {
	near, rows := s.near[w*len(s.pairs):][:len(s.pairs)], s.rows[s.first[w]:s.first[w+1]]
	normals := s.results.Normal().F64[3*s.first[w] : 3*s.first[w+1]]
	listed, n := 0, int(s.nearN[w])
	path := s.pace[w*len(s.scene.Body):][:len(s.scene.Body)] // of each body at most
	for b := range path {
		next := &s.bodies[w*len(path)+b].next
		path[b] = s.o.TimeStep*length(next.velocity) + next.reach
	}
	for i := range s.pairs {
		p := &s.pairs[i]
		isNear := listed < n && int(near[listed].pair) == i
		if !isNear && s.bodiesApart(w, p) > path[p.a]+path[p.b] {
			continue
		}
		a, b := s.bodiesOf(w, p)
		motion := s.o.TimeStep*length(r3.Sub(b.next.velocity, a.next.velocity)) + a.next.reach + b.next.reach
		if !isNear {
			if !(s.ballsApart(w, p) > motion) && !s.staysApart(w, p, s.betweenBalls(w, p)) && !s.turnsApart(w, p) {
				near[s.nearN[w]] = nearPair{int32(i), true}
				s.nearN[w]++
				found = true
			}
			continue
		}
		row := &rows[listed]
		if row.points == 0 && !near[listed].meets && !(row.apart > motion) &&
			!s.staysApart(w, p, vecOf(normals[3*listed:])) && !s.turnsApart(w, p) {
			near[listed].meets, found = true, true
		}
		listed++
	}
	slices.SortFunc(near[:s.nearN[w]], func(a, b nearPair) int { return cmp.Compare(a.pair, b.pair) })
	return found
}

// unproved appends the near pairs of a world that may penetrate too deep in the step by the velocities of the solve, as
// far as their normals before the step can tell. Pairs without contacts, which are proved separated, are not among
// them.
func (s *Simulation) unproved(w int, list []suspect) []suspect {
	normals := s.results.Normal().F64
	for i := int(s.first[w]); i < int(s.first[w+1]); i++ {
		row := &s.rows[i]
		if row.points == 0 && !s.near[w*len(s.pairs)+i-int(s.first[w])].meets {
			continue
		}
		p, n, lower := &s.pairs[row.pair], vecOf(normals[3*i:]), row.apart
		if row.points > 0 {
			lower = s.points.Lower[i]
		}
		depth, goal := p.allowed(lower, s.halvings)
		a, b := s.bodiesOf(w, p)
		closing := s.o.TimeStep * dotVec(n, r3.Sub(b.next.velocity, a.next.velocity))
		reach := reachOf(a.next.angle, p.armA) + reachOf(b.next.angle, p.armB)
		if min(closing, 0)-reach >= -depth-lower {
			continue
		}
		// As [Simulation.within] in the world, with a gap along n that is known.
		bend := 0.125*(curvature(a.next.angle, p.armA)+curvature(b.next.angle, p.armB)) - p.onTheWay(depth)
		if bend <= lower+depth && max(bend, 0) <= s.gapAlong(p, n, &a.next.pose, &b.next.pose)+depth ||
			s.turnsApart(w, p) {
			continue
		}
		q := s.pathsOf(w, p)
		if s.unique(w, p) && s.withinAny(&q, n, 0, 0, 1, depth) {
			continue
		}
		motion := reach + s.o.TimeStep*length(r3.Sub(b.next.velocity, a.next.velocity))
		list = append(list, suspect{world: int32(w), pair: row.pair, depth: depth, goal: goal, normal: n, query: 1,
			slow: motion <= p.depth/(2*depthOfWidth)})
	}
	return list
}

// allowed is how deep the parts of a pair may penetrate in a step, and the gap that points which would enter are to
// keep, where the gap before the step is at least lower. No step makes a pair deeper than p.depth that was not. One
// that is clearly deeper comes from a state of the caller, and its bodies must be able to part: it may get deeper by as
// much in a step, as rotating bodies do, and is not thrown out within one. The goal is next to the depth before by a
// share that falls with the length of a part faster than this, so that what is recovered does less work in small parts.
//
// In the least parts a pair may creep deeper than it is, to deepest. Its points keep their gap along the normal to
// first order there, but for the tolerance of the solve, and impulses that keep it exactly may do work.
func (p *partPair) allowed(lower float64, halvings int) (depth, goal float64) {
	if lower < -1.25*p.depth {
		return p.depth - lower, lower
	}
	depth, goal = max(p.depth, -lower), min(-p.slop, lower*(1-math.Ldexp(0.5, -2*halvings)))
	if halvings == mostHalvings {
		depth = max(depth, min(p.depth*deepest, p.depth*creep-lower))
	}
	return depth, goal
}

const (
	deepest = 1.125   // of partPair.depth, after steps in the least parts
	creep   = 0x1p-14 // of partPair.depth, in such a part
)

// onTheWay is how much deeper than allowed the parts may be between the ends of a step: planes that prove a motion need
// room for their curvature. With the depth it is 1.25 of p.depth, unless the state before the step is deeper.
func (p *partPair) onTheWay(depth float64) float64 {
	if depth > deepest*p.depth {
		return p.depth / 4
	}
	return 1.25*p.depth - depth
}

// reachOf is how far a rotation moves a point at an arm at most.
func reachOf(angle, arm float64) float64 {
	if angle == 0 || arm == 0 {
		return 0
	}
	return angle * arm
}

// listOpen lists the open worlds of the block, and reports whether there are any.
func (s *Simulation) listOpen() bool {
	s.contacts.only = s.contacts.only[:0]
	for w := s.lo; w < s.hi; w++ {
		if s.open[w] {
			s.contacts.only = append(s.contacts.only, int32(w))
		}
	}
	return len(s.contacts.only) > 0
}

// turnsApart reports whether balls around the centers of mass, which hold the parts at any rotation, prove them
// separated throughout the step.
func (s *Simulation) turnsApart(w int, p *partPair) bool {
	a, b := s.bodiesOf(w, p)
	shift, between := r3.Scale(s.o.TimeStep, r3.Sub(b.next.velocity, a.next.velocity)), r3.Sub(b.center, a.center)
	rounding := 1e-12 * (taxicab(a.center) + taxicab(b.center) + p.size) // see ballsApart
	switch {
	case s.features[p.shapeA].form == formPlane:
		n, point := a.matrix.MulVec(p.normalA), r3.Add(a.pose.Position, a.matrix.MulVec(p.centerA))
		gap := dotVec(n, r3.Sub(b.center, point)) - s.features[p.shapeA].radius - p.ballB
		return a.next.angle == 0 && gap+min(dotVec(n, shift), 0) > rounding
	case s.features[p.shapeB].form == formPlane:
		n, point := b.matrix.MulVec(p.normalB), r3.Add(b.pose.Position, b.matrix.MulVec(p.centerB))
		gap := dotVec(n, r3.Sub(a.center, point)) - s.features[p.shapeB].radius - p.ballA
		return b.next.angle == 0 && gap-max(dotVec(n, shift), 0) > rounding
	}
	return length(between)-length(shift)-p.ballA-p.ballB > rounding
}

// betweenBalls is the direction from A to B between the centers of the balls around two parts.
func (s *Simulation) betweenBalls(w int, p *partPair) r3.Vec {
	ca, cb := s.centers(w, p)
	return r3.Sub(cb, ca)
}

// staysApart reports whether planes normal to n, or parallel to the half-space of the pair, prove two parts apart
// throughout the step, and at its end with the margin.
//
// The coordinate of a point along n is linear in time but for its rotation by an angle θ about the center of mass, and
// then differs from the linear interpolation of its ends by at most θ²/8 of its arm. So the gap between the planes is
// at least the lesser of those at both ends, less this for both bodies.
func (s *Simulation) staysApart(w int, p *partPair, n r3.Vec) bool {
	a, b := s.bodiesOf(w, p)
	switch {
	case s.features[p.shapeA].form == formPlane:
		if n = a.matrix.MulVec(p.normalA); a.next.angle != 0 {
			return false
		}
	case s.features[p.shapeB].form == formPlane:
		if n = r3.Scale(-1, b.matrix.MulVec(p.normalB)); b.next.angle != 0 {
			return false
		}
	}
	square := dotVec(n, n)
	if !(square > 0 && square < math.Inf(1)) {
		return false
	}
	n = r3.Scale(1/math.Sqrt(square), n)
	before, after := s.gapAlong(p, n, &a.pose, &b.pose), s.gapAlong(p, n, &a.next.pose, &b.next.pose)
	curved := 0.125 * (a.next.reach*a.next.angle + b.next.reach*b.next.angle)
	return before > curved && after-margin*max(before-after, 0) > curved
}

// gapAlong is a lower bound of the gap between the parts of a pair along n, which is negative if they are not apart.
func (s *Simulation) gapAlong(p *partPair, n r3.Vec, poseA, poseB *geom.Pose) float64 {
	if !p.inA {
		poseA = ptr(s.scene.Bodies.PartPose(s.scene.Body[p.a], int(p.partA), *poseA))
	}
	if !p.inB {
		poseB = ptr(s.scene.Bodies.PartPose(s.scene.Body[p.b], int(p.partB), *poseB))
	}
	return -s.features[p.shapeA].farthest(poseA, n) - s.features[p.shapeB].farthest(poseB, r3.Scale(-1, n))
}

// farthest bounds ⟨n, x⟩ over the points x of a shape at a pose, with room for rounding as in ballsApart. Of
// half-spaces n is the normal.
func (f *Features) farthest(pose *geom.Pose, n r3.Vec) float64 {
	m := pose.Matrix()
	point := r3.Add(pose.Position, m.MulVec(f.shape.CoreSupport(m.MulVecT(n))))
	return dotVec(n, point) + f.radius + 1e-12*(taxicab(pose.Position)+f.center+f.size)
}
