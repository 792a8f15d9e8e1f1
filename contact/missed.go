package contact

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
)

// The pairs that a step would let pass into each other. The velocities before a step do not bound those after it: what
// a body is hit by may be faster than all that is near it. And contacts say nothing of the points that had none: one
// point of a curved body stops there, while the other end goes on. So every near pair is proved by its motion under the
// velocities that the solve gives. A world in which this fails is solved again: with contacts of the pairs that had
// none (this file), and with contacts at the points that would enter (again.go); if that does not end, it is stepped in
// parts (again.go).

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

// leave lowers the spare distance of a world by a row without contacts: spare = distance − Δt·speed, with the speed
// before the step.
func (s *Simulation) leave(w int, row *worldRow) {
	s.spare[w] = min(s.spare[w], row.apart-s.o.TimeStep*s.speed(w, &s.pairs[row.pair]))
}

// missed marks the pairs without contacts that may meet in the step by the velocities of the solve, and reports whether
// there are any. A mark lasts for the step, and each solve adds contacts for the marked pairs, so the loop ends.
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

// The motion of two parts within a step, and planes that prove how deep it lets them penetrate at most.

// A path is the motion of a body within a step, over the time t from 0 to 1: its center of mass moves along the line
// between both ends, and it rotates at a constant rate about a constant axis by the shortest rotation between them.
type path struct {
	from, to geom.Pose
	start    r3.Vec // center of mass at 0
	shift    r3.Vec // of the center of mass
	rotation r3.Vec // vector
	angle    float64
	local    r3.Vec // center of mass in the frame of the body
}

// pathOf is the path of body b of world w by the velocities of the solve.
func (s *Simulation) pathOf(w int, b int32) (p path) {
	body := &s.bodies[w*len(s.scene.Body)+int(b)]
	p.from, p.to, p.start, p.local = body.pose, body.next.pose, body.center, s.scene.center(int(b))
	p.shift = r3.Sub(p.to.Apply(p.local), p.start)
	if body.next.angle != 0 {
		p.rotation = rotationVector(quat.Mul(p.to.Rotation, quat.Conj(p.from.Rotation)))
		p.angle = length(p.rotation)
	}
	return p
}

// rotationVector is that of the shortest rotation of a unit quaternion.
func rotationVector(q quat.Number) r3.Vec {
	if q.Real < 0 {
		q = quat.Scale(-1, q)
	}
	v := r3.Vec{X: q.Imag, Y: q.Jmag, Z: q.Kmag}
	sine := length(v)
	if sine == 0 {
		return r3.Vec{}
	}
	return r3.Scale(2*math.Atan2(sine, q.Real)/sine, v)
}

// poseAt is the pose of the body at a time.
func (p *path) poseAt(t float64) geom.Pose {
	switch {
	case t == 0:
		return p.from
	case t == 1:
		return p.to
	}
	pose := geom.Pose{Rotation: p.from.Rotation}
	if p.angle != 0 {
		pose.Rotation = quat.Mul(exponential(r3.Scale(t, p.rotation)), pose.Rotation)
	}
	m := pose.Matrix()
	pose.Position = r3.Sub(p.centerAt(t), m.MulVec(p.local))
	return pose
}

func (p *path) centerAt(t float64) r3.Vec { return addScaled(p.start, t, p.shift) }

// carry is the direction at time t of one that rotates with the body and is n at time at.
func (p *path) carry(n r3.Vec, at, t float64) r3.Vec {
	if p.angle == 0 || at == t {
		return n
	}
	return rotatedBy(&geom.Pose{Rotation: exponential(r3.Scale(t-at, p.rotation))}, n)
}

func rotatedBy(pose *geom.Pose, v r3.Vec) r3.Vec {
	m := pose.Matrix()
	return m.MulVec(v)
}

// paths are those of the parts of a pair.
type paths struct {
	pair *partPair
	a, b path
}

func (s *Simulation) pathsOf(w int, p *partPair) paths {
	return paths{p, s.pathOf(w, p.a), s.pathOf(w, p.b)}
}

// unique reports whether the shortest rotations are those of the step.
func (s *Simulation) unique(w int, p *partPair) bool {
	const most = 3 // rad, below half a revolution
	a, b := s.bodiesOf(w, p)
	return (a.next.angle <= most || p.armA == 0) && (b.next.angle <= most || p.armB == 0)
}

// The frames in which the normal of a plane is constant.
const (
	inWorld = iota
	inA
	inB
)

// within reports whether planes normal to n, or to a half-space of the pair, prove that the parts penetrate by at most
// depth at t1, and by at most p.onTheWay more at all times between t0 and t1. n is from A to B at time at,
// and rotates with A, with B, or not at all.
//
// The penetration is at most the overlap along any direction. Let f(t) = ⟨n(t), x_B(t) − x_A(t)⟩ for points of both
// parts. It exceeds the linear interpolation of its ends by at least −⅛·max|f″| (of t over the interval), so that the
// gap between the supporting planes along n(t), which is the least f, is at least the lesser of those at both ends less
// this. With the rotation vectors α and β of both bodies over the interval, c the distance of their centers of mass,
// v how far these move relative to each other, r_A and r_B the arms of the parts about them:
//   - n constant: f″ is that of the rotations, |f″| ≤ |α|²r_A + |β|²r_B.
//   - n rotates with A: ⟨n, x_A − c_A⟩ is constant; that of B about its center changes by β − α, and
//     |f″| ≤ |α|²c + 2|α|v + |β − α|(|α| + |β|)r_B. If n rotates with B, A and B change places.
func (s *Simulation) within(q *paths, n r3.Vec, at, t0, t1 float64, frame int, depth float64) bool {
	p, h := q.pair, t1-t0
	alpha, beta := h*q.a.angle, h*q.b.angle
	planeA, planeB := s.features[p.shapeA].form == formPlane, s.features[p.shapeB].form == formPlane
	switch {
	case planeA && (frame == inA || frame == inWorld && alpha == 0):
		n, at = rotatedBy(&q.a.from, p.normalA), 0
	case planeB && (frame == inB || frame == inWorld && beta == 0):
		n, at = r3.Scale(-1, rotatedBy(&q.b.from, p.normalB)), 0
	case planeA || planeB:
		return false
	}
	n0, n1, bend := n, n, 0.0
	switch frame {
	case inWorld:
		bend = curvature(alpha, p.armA) + curvature(beta, p.armB)
	case inA:
		n0, n1 = q.a.carry(n, at, t0), q.a.carry(n, at, t1)
		bend = q.curvature(alpha, alpha+beta, t0, t1, p.armB)
	case inB:
		n0, n1 = q.b.carry(n, at, t0), q.b.carry(n, at, t1)
		bend = q.curvature(beta, alpha+beta, t0, t1, p.armA)
	}
	bend = 0.125*bend - p.onTheWay(depth)
	return bend <= s.gapAt(q, n0, t0)+depth && max(bend, 0) <= s.gapAt(q, n1, t1)+depth
}

// withinAny is [Simulation.within] in any frame.
func (s *Simulation) withinAny(q *paths, n r3.Vec, at, t0, t1, depth float64) bool {
	return s.within(q, n, at, t0, t1, inWorld, depth) ||
		q.a.angle != 0 && s.within(q, n, at, t0, t1, inA, depth) ||
		q.b.angle != 0 && s.within(q, n, at, t0, t1, inB, depth)
}

// withinBoth is [Simulation.withinAny] from a time to the end of the step, with planes at the normals of the pair at
// both ends: at that of the end, or first at the one of the beginning and then at the other.
func (s *Simulation) withinBoth(q *paths, first, last r3.Vec, at, depth float64) bool {
	for _, m := range [...]float64{0, 0.5, 0.25, 0.75, 0.125, 0.875} {
		t := at + m*(1-at)
		if s.withinAny(q, last, 1, t, 1, depth) && (m == 0 || s.withinAny(q, first, at, at, t, depth)) {
			return true
		}
	}
	return false
}

// curvature is the largest second derivative of a coordinate of a point at an arm, which may be infinite for a body
// that does not rotate.
func curvature(angle, arm float64) float64 {
	if angle == 0 || arm == 0 {
		return 0
	}
	return angle * angle * arm
}

// curvature is that of the coordinate of a point at an arm of one body along a normal that rotates with the other one,
// by the angle of this; both is the sum of both angles.
func (q *paths) curvature(angle, both, t0, t1, arm float64) float64 {
	c0, c1 := r3.Sub(q.b.centerAt(t0), q.a.centerAt(t0)), r3.Sub(q.b.centerAt(t1), q.a.centerAt(t1))
	bend := angle * (angle*max(length(c0), length(c1)) + 2*length(r3.Sub(c1, c0)))
	if both != 0 && arm != 0 {
		bend += (t1 - t0) * length(r3.Sub(q.b.rotation, q.a.rotation)) * both * arm
	}
	return bend
}

// gapAt is a lower bound of the gap between the parts along n at a time.
func (s *Simulation) gapAt(q *paths, n r3.Vec, t float64) float64 {
	a, b := q.a.poseAt(t), q.b.poseAt(t)
	return s.gapAlong(q.pair, n, &a, &b)
}
