package geom

import "gonum.org/v1/gonum/spatial/r3"

// Difference is the Minkowski difference A - pose·B of two whole shapes (cores,
// balls and margins), as a support function in the frame of A.
type Difference struct {
	A, B  Shape
	rot   Mat3   // of B in the frame of A
	trans r3.Vec // origin of B in the frame of A
}

// MinkowskiDifference returns A - pose·B, with pose that of B in the frame of A and
// its quaternion unit (see [Pose.Normalized]).
func MinkowskiDifference(a, b Shape, pose Pose) Difference {
	return Difference{A: a, B: b, rot: pose.Matrix(), trans: pose.Position}
}

// dirB maps a direction of the difference to the direction in the frame of B in
// which B is to be supported: that of -B is opposite.
func (m *Difference) dirB(d r3.Vec) r3.Vec {
	return m.rot.MulVecT(r3.Vec{X: -d.X, Y: -d.Y, Z: -d.Z})
}

// Witnesses returns the points of A and of B, in the frame of A, whose
// difference is the support point in direction d.
func (m *Difference) Witnesses(d r3.Vec) (a, b r3.Vec) {
	return Support(m.A, d), r3.Add(m.rot.MulVec(Support(m.B, m.dirB(d))), m.trans)
}

// Support returns a point of the difference that maximises <d, x>.
func (m *Difference) Support(d r3.Vec) r3.Vec {
	a, b := m.Witnesses(d)
	return r3.Sub(a, b)
}

// Value returns the support function max <d, x>.
func (m *Difference) Value(d r3.Vec) float64 { return r3.Dot(d, m.Support(d)) }

// SupportHessian returns the Hessian of the support function at d: that of A at d plus
// that of B at -d, rotated. ok is false if one of the shapes is not Smooth or not C² there.
func (m *Difference) SupportHessian(d r3.Vec) (h Mat3, ok bool) {
	a, okA := m.A.(Smooth)
	b, okB := m.B.(Smooth)
	if !okA || !okB {
		return h, false
	}
	if h, ok = a.SupportHessian(d); !ok {
		return h, false
	}
	hb, ok := b.SupportHessian(m.dirB(d))
	if !ok {
		return h, false
	}
	t := Mul(&m.rot, &hb) // R·H
	for i := range 3 {
		for j := range 3 { // (R·H)·Rᵀ
			h[3*i+j] += t[3*i]*m.rot[3*j] + t[3*i+1]*m.rot[3*j+1] + t[3*i+2]*m.rot[3*j+2]
		}
	}
	return h, true
}
