package geom

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

// Pose places a local frame in the world: x_world = R(Rotation)·x_local + Position.
type Pose struct {
	Position r3.Vec      // metres, world frame
	Rotation quat.Number // (w, x, y, z), unit after Normalized
}

// IdentityPose is the pose of the world frame itself.
func IdentityPose() Pose { return Pose{Rotation: quat.Number{Real: 1}} }

// Translate returns the pose at (x, y, z), in metres, without rotation.
func Translate(x, y, z float64) Pose {
	return Pose{Position: r3.Vec{X: x, Y: y, Z: z}, Rotation: quat.Number{Real: 1}}
}

// Rotate returns the pose at the origin that is rotated about an axis by an angle in radians,
// counterclockwise as seen from the tip of the axis. The axis need not be a unit vector. An axis that
// is zero or not finite, or an angle that is not finite, gives a rotation that Normalized refuses.
//
// Poses chain by [Pose.Compose]: Translate(1, 0, 0).Compose(Rotate(axis, angle)) rotates first.
func Rotate(axis r3.Vec, angle float64) Pose {
	m := math.Max(math.Max(math.Abs(axis.X), math.Abs(axis.Y)), math.Abs(axis.Z))
	axis = r3.Vec{X: axis.X / m, Y: axis.Y / m, Z: axis.Z / m} // NaN for 0 and Inf
	sin, cos := math.Sincos(angle / 2)
	k := sin / math.Sqrt(r3.Norm2(axis))
	return Pose{Rotation: quat.Number{Real: cos, Imag: k * axis.X, Jmag: k * axis.Y, Kmag: k * axis.Z}}
}

// Normalized returns the pose with a unit quaternion. It reports an error if the
// position is not finite or the quaternion is zero or not finite.
func (p Pose) Normalized() (Pose, error) {
	if !Finite(p.Position) {
		return p, fmt.Errorf("position (%g, %g, %g) is not finite", p.Position.X, p.Position.Y, p.Position.Z)
	}
	q := p.Rotation
	// Scale by the largest component first, so that neither tiny nor huge
	// quaternions under- or overflow in the norm.
	m := math.Max(math.Max(math.Abs(q.Real), math.Abs(q.Imag)), math.Max(math.Abs(q.Jmag), math.Abs(q.Kmag)))
	if !(m > 0) || math.IsInf(m, 0) {
		return p, fmt.Errorf("rotation (%g, %g, %g, %g) is zero or not finite", q.Real, q.Imag, q.Jmag, q.Kmag)
	}
	w, x, y, z := q.Real/m, q.Imag/m, q.Jmag/m, q.Kmag/m
	n := math.Sqrt(w*w + x*x + y*y + z*z)
	p.Rotation = quat.Number{Real: w / n, Imag: x / n, Jmag: y / n, Kmag: z / n}
	return p, nil
}

// TangentBasis returns t1 and t2, which make a right-handed frame with the unit vector n [Duff2017, listing 3]. s is 1
// or −1, of the sign of n.Z where that is not small: an error of n counts 1/(1 + s·n.Z) times.
func TangentBasis(n r3.Vec, s float64) (t1, t2 r3.Vec) {
	a := -1 / (s + n.Z)
	b := n.X * n.Y * a
	return r3.Vec{X: 1 + s*n.X*n.X*a, Y: s * b, Z: -s * n.X}, r3.Vec{X: b, Y: s + n.Y*n.Y*a, Z: -n.Y}
}

// Matrix returns the rotation matrix of the quaternion. It divides by the square of
// the norm, so that the rounding of a unit quaternion does not scale the frame. A zero
// quaternion gives NaN.
func (p Pose) Matrix() Mat3 {
	w, x, y, z := p.Rotation.Real, p.Rotation.Imag, p.Rotation.Jmag, p.Rotation.Kmag
	s := 2 / (w*w + x*x + y*y + z*z)
	return Mat3{
		1 - s*(y*y+z*z), s * (x*y - w*z), s * (x*z + w*y),
		s * (x*y + w*z), 1 - s*(x*x+z*z), s * (y*z - w*x),
		s * (x*z - w*y), s * (y*z + w*x), 1 - s*(x*x+y*y),
	}
}

// Apply maps a point from the local frame to the world.
func (p Pose) Apply(v r3.Vec) r3.Vec {
	m := p.Matrix()
	return r3.Add(m.MulVec(v), p.Position)
}

// ApplyInverse maps a point from the world to the local frame.
func (p Pose) ApplyInverse(v r3.Vec) r3.Vec {
	m := p.Matrix()
	return m.MulVecT(r3.Sub(v, p.Position))
}

// Compose returns the pose that applies q first and p second.
func (p Pose) Compose(q Pose) Pose {
	return Pose{Position: p.Apply(q.Position), Rotation: quat.Mul(p.Rotation, q.Rotation)}
}

// Inverse returns the pose that undoes p: p.Compose(p.Inverse()) is the identity up to rounding.
// The quaternion of p must not be zero.
func (p Pose) Inverse() Pose {
	q := Pose{Rotation: quat.Inv(p.Rotation)}
	q.Position = q.Apply(r3.Scale(-1, p.Position))
	return q
}

// Finite reports whether every component of v is finite.
func Finite(v r3.Vec) bool {
	s := v.X - v.X + (v.Y - v.Y) + (v.Z - v.Z)
	return s == 0
}

// Mat3 is a 3×3 matrix, row-major. Unlike r3.Mat it is a value and never allocates.
type Mat3 [9]float64

// MulVec returns m·v.
func (m *Mat3) MulVec(v r3.Vec) r3.Vec {
	return r3.Vec{
		X: m[0]*v.X + m[1]*v.Y + m[2]*v.Z,
		Y: m[3]*v.X + m[4]*v.Y + m[5]*v.Z,
		Z: m[6]*v.X + m[7]*v.Y + m[8]*v.Z,
	}
}

// MulVecT returns mᵀ·v.
func (m *Mat3) MulVecT(v r3.Vec) r3.Vec {
	return r3.Vec{
		X: m[0]*v.X + m[3]*v.Y + m[6]*v.Z,
		Y: m[1]*v.X + m[4]*v.Y + m[7]*v.Z,
		Z: m[2]*v.X + m[5]*v.Y + m[8]*v.Z,
	}
}

// TransposeMul returns aᵀ·b.
func TransposeMul(a, b *Mat3) Mat3 {
	var c Mat3
	for i := range 3 {
		for j := range 3 {
			c[3*i+j] = a[i]*b[j] + a[3+i]*b[3+j] + a[6+i]*b[6+j]
		}
	}
	return c
}

// Mul returns a·b.
func Mul(a, b *Mat3) Mat3 {
	var c Mat3
	for i := range 3 {
		for j := range 3 {
			c[3*i+j] = a[3*i]*b[j] + a[3*i+1]*b[3+j] + a[3*i+2]*b[6+j]
		}
	}
	return c
}

// Identity3 is the identity matrix.
func Identity3() Mat3 { return Mat3{1, 0, 0, 0, 1, 0, 0, 0, 1} }
