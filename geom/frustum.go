package geom

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// Frustum is a truncated cone around the local z axis: a disc of radius RBottom
// at -HalfLength, one of radius RTop at +HalfLength, and what lies between. One
// of the radii may be 0. Its core is the frustum itself. It does not implement
// [Smooth].
type Frustum struct {
	RBottom, RTop float64 // radii at -HalfLength and +HalfLength, metres
	HalfLength    float64 // half the length along z, metres
}

// Kind returns KindFrustum.
func (Frustum) Kind() Kind { return KindFrustum }

func (f Frustum) values() values { return values{{f.RBottom}, {f.RTop}, {f.HalfLength}} }

func (Frustum) of(v values) (Shape, error) {
	return Frustum{RBottom: v.number(0), RTop: v.number(1), HalfLength: v.number(2)}, nil
}

// Validate reports the first size out of range.
func (f Frustum) Validate() error {
	if f.RBottom == 0 && f.RTop == 0 {
		return fmt.Errorf("%s: radius_bottom and radius_top are both 0, want one of them > 0", KindFrustum)
	}
	return KindFrustum.check(f.values())
}

// CoreSupport returns a point of a rim, or the middle of a disc if d is along z.
func (f Frustum) CoreSupport(d r3.Vec) r3.Vec {
	l2 := d.X*d.X + d.Y*d.Y
	if l2 > minSquare && l2 < maxSquare {
		l := math.Sqrt(l2)
		r, z := f.RBottom, -f.HalfLength
		if (f.RTop-f.RBottom)*l+2*f.HalfLength*d.Z >= 0 {
			r, z = f.RTop, f.HalfLength
		}
		k := r / l
		return r3.Vec{X: k * d.X, Y: k * d.Y, Z: z}
	}
	return coneSupport(f.RBottom, f.RTop, f.HalfLength, d)
}

// Radius returns 0.
func (Frustum) Radius() float64 { return 0 }

// Residual is the exact signed distance.
func (f Frustum) Residual(p r3.Vec) float64 {
	return coneResidual(f.RBottom, f.RTop, f.HalfLength, p)
}

// coneResidual is the signed distance of p from the frustum with radius bottom at
// -half and top at +half. By symmetry the question is one of the half-plane (l, z),
// l ≥ 0, and the trapezium with corners (0, ∓half), (bottom, -half), (top, half).
func coneResidual(bottom, top, half float64, p r3.Vec) float64 {
	l := math.Sqrt(p.X*p.X + p.Y*p.Y)
	cap := math.Abs(p.Z) - half
	// Along and across the slanted side, from its lower corner.
	length := math.Sqrt((bottom-top)*(bottom-top) + 4*half*half)
	c, s := 2*half/length, (bottom-top)/length
	side := (l-bottom)*c + (p.Z+half)*s
	along := (p.Z+half)*c - (l-bottom)*s
	switch {
	case side <= 0 && cap <= 0:
		return max(side, cap)
	case side > 0 && along > 0 && along < length:
		return side
	case p.Z >= half && l <= top, p.Z <= -half && l <= bottom:
		return cap
	case 2*along > length:
		return math.Hypot(l-top, p.Z-half)
	default: // also NaN
		return math.Hypot(l-bottom, p.Z+half)
	}
}

// Center returns the origin, half-way between the discs.
func (Frustum) Center() r3.Vec { return r3.Vec{} }

// BoundingRadius returns the distance from the center to the larger rim.
func (f Frustum) BoundingRadius() float64 {
	r := max(f.RBottom, f.RTop)
	return math.Sqrt(r*r + f.HalfLength*f.HalfLength)
}

// Inradius returns the distance from the center to the nearest of side and discs.
func (f Frustum) Inradius() float64 { return coneInradius(f.RBottom, f.RTop, f.HalfLength) }

// coneInradius is the distance from the origin to the boundary of a frustum.
func coneInradius(bottom, top, half float64) float64 {
	length := math.Sqrt((bottom-top)*(bottom-top) + 4*half*half)
	return min(half, half/length*(bottom+top))
}

// AABB returns the corners of the bounding box.
func (f Frustum) AABB() (lo, hi r3.Vec) {
	r := max(f.RBottom, f.RTop)
	return symmetricAABB(r, r, f.HalfLength)
}
