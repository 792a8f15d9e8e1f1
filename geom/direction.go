package geom

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// A sum of squares in (minSquare, maxSquare) has lost nothing to underflow that
// could be seen: a square that vanished is below 2⁻¹⁰⁷⁴, that is 2⁻¹¹⁴ of the
// sum. Support functions test it once and leave all else, NaN included, to a
// slow path that rescales the direction.
const (
	minSquare = 0x1p-960
	maxSquare = 0x1p960
)

// rescale divides d by its largest component. ok is false if d is zero or has a
// component that is not finite.
func rescale(d r3.Vec) (u r3.Vec, m float64, ok bool) {
	m = max(math.Abs(d.X), math.Abs(d.Y), math.Abs(d.Z))
	if !(m > 0 && m <= math.MaxFloat64) {
		return d, m, false
	}
	return r3.Vec{X: d.X / m, Y: d.Y / m, Z: d.Z / m}, m, true
}

// lateralUnit returns the unit vector along (x, y), or (0, 0) if there is none.
func lateralUnit(x, y float64) (ux, uy float64) {
	m := max(math.Abs(x), math.Abs(y))
	if !(m > 0 && m <= math.MaxFloat64) {
		return 0, 0
	}
	x, y = x/m, y/m
	n := math.Sqrt(x*x + y*y)
	return x / n, y / n
}

// Norms of d for which a Hessian, homogeneous of degree -1 in d, is
// representable for every shape that Validate accepts.
const (
	minHessianNorm = 1e-270
	maxHessianNorm = 1e270
)

// hessianDirection splits d into a direction u whose largest component is ±1 and
// a factor m, d = m·u. ok is false if no Hessian can be given at d.
func hessianDirection(d r3.Vec) (u r3.Vec, m float64, ok bool) {
	u, m, ok = rescale(d)
	return u, m, ok && m > minHessianNorm && m < maxHessianNorm
}

// ballHessian returns the Hessian r/|d|·(I - n nᵀ), n = d/|d|, of the support
// function r|d| of a ball. The diagonal is formed without cancellation.
func ballHessian(r float64, d r3.Vec) (h Mat3, ok bool) {
	u, m, ok := hessianDirection(d)
	if !ok {
		return h, false
	}
	n := math.Sqrt(r3.Norm2(u))
	x, y, z := u.X/n, u.Y/n, u.Z/n
	k := r / n / m
	return Mat3{
		k * (y*y + z*z), -k * x * y, -k * x * z,
		-k * x * y, k * (x*x + z*z), -k * y * z,
		-k * x * z, -k * y * z, k * (x*x + y*y),
	}, true
}
