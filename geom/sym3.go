package geom

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// Sym3 is a symmetric matrix: xx, yy, zz, xy, xz, yz.
type Sym3 [6]float64

// Mul returns s·v.
func (s *Sym3) Mul(v r3.Vec) r3.Vec {
	return r3.Vec{
		X: s[0]*v.X + s[3]*v.Y + s[4]*v.Z,
		Y: s[3]*v.X + s[1]*v.Y + s[5]*v.Z,
		Z: s[4]*v.X + s[5]*v.Y + s[2]*v.Z,
	}
}

// Inverse returns that of a positive definite matrix, by its adjugate.
func (s *Sym3) Inverse() Sym3 {
	a, b, c, d, e, f := s[0], s[1], s[2], s[3], s[4], s[5]
	xx, xy, xz := b*c-f*f, e*f-d*c, d*f-b*e
	r := 1 / (a*xx + d*xy + e*xz)
	return Sym3{xx * r, (a*c - e*e) * r, (a*b - d*d) * r, xy * r, xz * r, (d*e - a*f) * r}
}

// AddScaled adds f·t.
func (s *Sym3) AddScaled(f float64, t Sym3) {
	for i := range s {
		s[i] += f * t[i]
	}
}

// AddProduct adds the symmetric part of f·u·vᵀ.
func (s *Sym3) AddProduct(f float64, u, v r3.Vec) {
	s[0] += f * (u.X * v.X)
	s[1] += f * (u.Y * v.Y)
	s[2] += f * (u.Z * v.Z)
	s[3] += 0.5 * f * (u.X*v.Y + u.Y*v.X)
	s[4] += 0.5 * f * (u.X*v.Z + u.Z*v.X)
	s[5] += 0.5 * f * (u.Y*v.Z + u.Z*v.Y)
}

// MinEigenvalue is the least eigenvalue by the trigonometric solution of the characteristic polynomial.
func (s Sym3) MinEigenvalue() float64 {
	off := s[3]*s[3] + s[4]*s[4] + s[5]*s[5]
	if off == 0 {
		return min(s[0], s[1], s[2])
	}
	mean := (s[0] + s[1] + s[2]) / 3
	a, b, c := s[0]-mean, s[1]-mean, s[2]-mean
	radius := math.Sqrt((a*a + b*b + c*c + 2*off) / 6)
	a, b, c = a/radius, b/radius, c/radius
	d, e, f := s[3]/radius, s[4]/radius, s[5]/radius
	half := (a*(b*c-f*f) - d*(d*c-f*e) + e*(d*f-b*e)) / 2
	angle := math.Acos(max(-1, min(1, half))) / 3
	return mean + 2*radius*math.Cos(angle+2*math.Pi/3)
}
