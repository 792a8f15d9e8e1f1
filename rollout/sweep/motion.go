package sweep

import (
	"math"

	"clearance/geom"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

// motion is the motion of a body from time 0 to 1.
type motion struct {
	start, velocity r3.Vec // of the position, world
	first           quat.Number
	axis            r3.Vec  // unit, of the rotation, body frame; zero without rotation
	world           r3.Vec  // the same in the world frame
	angle           float64 // from 0 to 1, in [0, π]
}

// newMotion returns the motion between two poses with unit quaternions, by the shorter arc. Between rotations that
// differ by half a revolution both arcs are as short; the sign of the quaternions decides.
func newMotion(from, to geom.Pose) motion {
	m := motion{start: from.Position, velocity: r3.Sub(to.Position, from.Position), first: from.Rotation}
	d := quat.Mul(quat.Conj(from.Rotation), to.Rotation)
	if d.Real < 0 {
		d = quat.Scale(-1, d)
	}
	v := r3.Vec{X: d.Imag, Y: d.Jmag, Z: d.Kmag}
	sin := r3.Norm(v)
	if sin == 0 {
		return m
	}
	m.axis = r3.Scale(1/sin, v)
	m.angle = 2 * math.Atan2(sin, d.Real)
	r := from.Matrix()
	m.world = r.MulVec(m.axis)
	return m
}

// at returns the pose at time t.
func (m *motion) at(t float64) geom.Pose {
	p := geom.Pose{Position: r3.Add(m.start, r3.Scale(t, m.velocity)), Rotation: m.first}
	if m.angle > 0 {
		sin, cos := math.Sincos(t * m.angle / 2)
		p.Rotation = quat.Mul(m.first, quat.Number{
			Real: cos, Imag: sin * m.axis.X, Jmag: sin * m.axis.Y, Kmag: sin * m.axis.Z})
	}
	return p
}

// radius returns the largest distance of the points of a ball, given in the body frame, from the axis of rotation.
func (m *motion) radius(center r3.Vec, r float64) float64 {
	return r3.Norm(r3.Cross(m.axis, center)) + r
}

// far returns the largest distance of the position from the origin of the world.
func (m *motion) far() float64 {
	return max(r3.Norm(m.start), r3.Norm(r3.Add(m.start, m.velocity)))
}

// Between returns the pose at time t in [0, 1] of a body that moves as in a sweep. The quaternions must be unit.
func Between(from, to geom.Pose, t float64) geom.Pose {
	m := newMotion(from, to)
	return m.at(t)
}
