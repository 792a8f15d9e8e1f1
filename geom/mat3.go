package geom

import "gonum.org/v1/gonum/spatial/r3"

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
