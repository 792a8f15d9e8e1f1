package contact

// The motion of two parts within a step, and planes that prove how deep it lets them penetrate at most.

import (
	"math"

	"clearance/geom"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

// A path is the motion of a body within a step, over the time t from 0 to 1: its center of mass moves along the line
// between both ends, and it rotates at a constant rate about a constant axis by the shortest rotation between them.
type path struct {
	from, to geom.Pose
	start    r3.Vec // center of mass at 0
	shift    r3.Vec // of the center of mass
	turn     r3.Vec // rotation vector
	angle    float64
	local    r3.Vec // center of mass in the frame of the body
}

// pathOf is the path of body b of world w by the velocities of the solve.
func (s *Simulation) pathOf(w int, b int32) (p path) {
	body := &s.bodies[w*len(s.scene.Body)+int(b)]
	p.from, p.to, p.start, p.local = body.pose, body.next.pose, body.center, s.scene.center(int(b))
	p.shift = r3.Sub(p.to.Apply(p.local), p.start)
	if body.next.angle != 0 {
		p.turn = rotationVector(quat.Mul(p.to.Rotation, quat.Conj(p.from.Rotation)))
		p.angle = length(p.turn)
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
		pose.Rotation = quat.Mul(exponential(r3.Scale(t, p.turn)), pose.Rotation)
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
	return rotatedBy(&geom.Pose{Rotation: exponential(r3.Scale(t-at, p.turn))}, n)
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
		bend += (t1 - t0) * length(r3.Sub(q.b.turn, q.a.turn)) * both * arm
	}
	return bend
}

// gapAt is a lower bound of the gap between the parts along n at a time.
func (s *Simulation) gapAt(q *paths, n r3.Vec, t float64) float64 {
	a, b := q.a.poseAt(t), q.b.poseAt(t)
	return s.gapAlong(q.pair, n, &a, &b)
}
