package geom

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// Sphere is a ball around the local origin. Its core is the origin. Its support
// function is C² in every direction.
type Sphere struct {
	R float64 // radius, metres
}

// Kind returns KindSphere.
func (Sphere) Kind() Kind { return KindSphere }

func (s Sphere) values() values { return values{{s.R}} }

func (Sphere) of(v values) (Shape, error) {
	return Sphere{R: v.number(0)}, nil
}

// Validate reports a radius out of range.
func (s Sphere) Validate() error { return KindSphere.check(s.values()) }

// CoreSupport returns the origin.
func (Sphere) CoreSupport(r3.Vec) r3.Vec { return r3.Vec{} }

// Radius returns R.
func (s Sphere) Radius() float64 { return s.R }

// Residual is the exact signed distance.
func (s Sphere) Residual(p r3.Vec) float64 { return math.Sqrt(r3.Norm2(p)) - s.R }

// Center returns the origin.
func (Sphere) Center() r3.Vec { return r3.Vec{} }

// BoundingRadius returns R.
func (s Sphere) BoundingRadius() float64 { return s.R }

// Inradius returns R.
func (s Sphere) Inradius() float64 { return s.R }

// AABB returns the corners of the bounding cube.
func (s Sphere) AABB() (lo, hi r3.Vec) { return symmetricAABB(s.R, s.R, s.R) }

// SupportHessian returns the Hessian of R|d|.
func (s Sphere) SupportHessian(d r3.Vec) (h Mat3, ok bool) { return ballHessian(s.R, d) }

// symmetricAABB returns the corners of a box around the origin.
func symmetricAABB(x, y, z float64) (lo, hi r3.Vec) {
	return r3.Vec{X: -x, Y: -y, Z: -z}, r3.Vec{X: x, Y: y, Z: z}
}

// Capsule is a ball swept along the segment from -HalfLength to +HalfLength on
// the local z axis. Its core is that segment. Its support function
// R|d| + HalfLength·|d.Z| is C² where d.Z ≠ 0, and everywhere if HalfLength is 0.
type Capsule struct {
	R          float64 // radius, metres
	HalfLength float64 // half the length of the segment, caps not included, metres; may be 0
}

// Kind returns KindCapsule.
func (Capsule) Kind() Kind { return KindCapsule }

func (c Capsule) values() values { return values{{c.R}, {c.HalfLength}} }

func (Capsule) of(v values) (Shape, error) {
	return Capsule{R: v.number(0), HalfLength: v.number(1)}, nil
}

// Validate reports the first size out of range.
func (c Capsule) Validate() error { return KindCapsule.check(c.values()) }

// CoreSupport returns an end of the segment.
func (c Capsule) CoreSupport(d r3.Vec) r3.Vec { return r3.Vec{Z: math.Copysign(c.HalfLength, d.Z)} }

// Radius returns R.
func (c Capsule) Radius() float64 { return c.R }

// Residual is the exact signed distance.
func (c Capsule) Residual(p r3.Vec) float64 {
	z := max(math.Abs(p.Z)-c.HalfLength, 0)
	return math.Sqrt(p.X*p.X+p.Y*p.Y+z*z) - c.R
}

// Center returns the origin.
func (Capsule) Center() r3.Vec { return r3.Vec{} }

// BoundingRadius returns R + HalfLength.
func (c Capsule) BoundingRadius() float64 { return c.R + c.HalfLength }

// Inradius returns R.
func (c Capsule) Inradius() float64 { return c.R }

// AABB returns the corners of the bounding box.
func (c Capsule) AABB() (lo, hi r3.Vec) { return symmetricAABB(c.R, c.R, c.R+c.HalfLength) }

// SupportHessian returns the Hessian of R|d|; ok is false for d in the local xy
// plane, where the support point jumps from one end to the other.
func (c Capsule) SupportHessian(d r3.Vec) (h Mat3, ok bool) {
	if d.Z == 0 && c.HalfLength != 0 {
		return h, false
	}
	return ballHessian(c.R, d)
}

// Cylinder is a solid cylinder around the local z axis, from -HalfLength to
// +HalfLength. Its core is the cylinder itself. It does not implement [Smooth]:
// its support function has kinks at the caps and in the plane of the circle.
type Cylinder struct {
	R          float64 // radius, metres
	HalfLength float64 // half the length along z, metres
}

// Kind returns KindCylinder.
func (Cylinder) Kind() Kind { return KindCylinder }

func (c Cylinder) values() values { return values{{c.R}, {c.HalfLength}} }

func (Cylinder) of(v values) (Shape, error) {
	return Cylinder{R: v.number(0), HalfLength: v.number(1)}, nil
}

// Validate reports the first size out of range.
func (c Cylinder) Validate() error { return KindCylinder.check(c.values()) }

// CoreSupport returns a point of a rim, or the middle of a cap if d is along z.
func (c Cylinder) CoreSupport(d r3.Vec) r3.Vec {
	z := math.Copysign(c.HalfLength, d.Z)
	l2 := d.X*d.X + d.Y*d.Y
	if l2 > minSquare && l2 < maxSquare {
		k := c.R / math.Sqrt(l2)
		return r3.Vec{X: k * d.X, Y: k * d.Y, Z: z}
	}
	x, y := lateralUnit(d.X, d.Y)
	return r3.Vec{X: c.R * x, Y: c.R * y, Z: z}
}

// Discs returns the radii at both ends, which are equal, and the half length.
func (c Cylinder) Discs() (bottom, top, half float64) { return c.R, c.R, c.HalfLength }

// Radius returns 0.
func (Cylinder) Radius() float64 { return 0 }

// Residual is the exact signed distance.
func (c Cylinder) Residual(p r3.Vec) float64 {
	l := math.Sqrt(p.X*p.X+p.Y*p.Y) - c.R
	z := math.Abs(p.Z) - c.HalfLength
	lo, zo := max(l, 0), max(z, 0)
	return math.Sqrt(lo*lo+zo*zo) + min(max(l, z), 0)
}

// Center returns the origin.
func (Cylinder) Center() r3.Vec { return r3.Vec{} }

// BoundingRadius returns the distance from the center to a rim.
func (c Cylinder) BoundingRadius() float64 { return math.Sqrt(c.R*c.R + c.HalfLength*c.HalfLength) }

// Inradius returns the smaller of R and HalfLength.
func (c Cylinder) Inradius() float64 { return min(c.R, c.HalfLength) }

// AABB returns the corners of the bounding box.
func (c Cylinder) AABB() (lo, hi r3.Vec) { return symmetricAABB(c.R, c.R, c.HalfLength) }

// FrustumShape is a core of [FamilyFrustum]: the hull of two discs about local z, at ∓half, with the radii bottom and
// top. Packages that need more of a core than its support point read this, so that they know kinds of the family that
// are added later.
type FrustumShape interface {
	Shape
	Discs() (bottom, top, half float64)
}

// Cone is a solid cone around the local z axis with its apex at +HalfLength and
// its base, a disc of radius R, at -HalfLength. Its core is the cone itself. It
// does not implement [Smooth].
type Cone struct {
	R          float64 // radius of the base, metres
	HalfLength float64 // half the length along z, metres
}

// Kind returns KindCone.
func (Cone) Kind() Kind { return KindCone }

func (c Cone) values() values { return values{{c.R}, {c.HalfLength}} }

func (Cone) of(v values) (Shape, error) {
	return Cone{R: v.number(0), HalfLength: v.number(1)}, nil
}

// Validate reports the first size out of range.
func (c Cone) Validate() error { return KindCone.check(c.values()) }

// CoreSupport returns the apex, a point of the rim, or the middle of the base if
// d is along -z.
func (c Cone) CoreSupport(d r3.Vec) r3.Vec {
	l2 := d.X*d.X + d.Y*d.Y
	if l2 > minSquare && l2 < maxSquare {
		l := math.Sqrt(l2)
		if c.R*l > 2*c.HalfLength*d.Z {
			k := c.R / l
			return r3.Vec{X: k * d.X, Y: k * d.Y, Z: -c.HalfLength}
		}
		return r3.Vec{Z: c.HalfLength}
	}
	return coneSupport(c.R, 0, c.HalfLength, d)
}

// coneSupport is the support point of a frustum for any d: zero, along the axis,
// with components that under- or overflow when squared, or not finite.
//
//go:noinline
func coneSupport(bottom, top, half float64, d r3.Vec) r3.Vec {
	d, _, ok := rescale(d)
	if !ok {
		return r3.Vec{Z: half}
	}
	x, y := lateralUnit(d.X, d.Y)
	r, z := bottom, -half
	if (top-bottom)*math.Hypot(d.X, d.Y)+2*half*d.Z >= 0 {
		r, z = top, half
	}
	return r3.Vec{X: r * x, Y: r * y, Z: z}
}

// Discs returns the radii of base and apex, and the half length.
func (c Cone) Discs() (bottom, top, half float64) { return c.R, 0, c.HalfLength }

// Radius returns 0.
func (Cone) Radius() float64 { return 0 }

// Residual is the exact signed distance.
func (c Cone) Residual(p r3.Vec) float64 { return coneResidual(c.R, 0, c.HalfLength, p) }

// Center returns the origin, half-way between base and apex.
func (Cone) Center() r3.Vec { return r3.Vec{} }

// BoundingRadius returns the distance from the center to the rim.
func (c Cone) BoundingRadius() float64 { return math.Sqrt(c.R*c.R + c.HalfLength*c.HalfLength) }

// Inradius returns the distance from the center to the slanted side.
func (c Cone) Inradius() float64 { return coneInradius(c.R, 0, c.HalfLength) }

// AABB returns the corners of the bounding box.
func (c Cone) AABB() (lo, hi r3.Vec) { return symmetricAABB(c.R, c.R, c.HalfLength) }

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

// Discs returns the radii at both ends, and the half length.
func (f Frustum) Discs() (bottom, top, half float64) { return f.RBottom, f.RTop, f.HalfLength }

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
	axial := math.Abs(p.Z) - half
	// Along and across the slanted side, from its lower corner.
	length := math.Sqrt((bottom-top)*(bottom-top) + 4*half*half)
	c, s := 2*half/length, (bottom-top)/length
	side := (l-bottom)*c + (p.Z+half)*s
	along := (p.Z+half)*c - (l-bottom)*s
	switch {
	case side <= 0 && axial <= 0:
		return max(side, axial)
	case side > 0 && along > 0 && along < length:
		return side
	case p.Z >= half && l <= top, p.Z <= -half && l <= bottom:
		return axial
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

// Revolution is the axis about which a core is a body of revolution, in the local frame: the line
// through At along Axis.
type Revolution struct {
	At   r3.Vec // metres
	Axis r3.Vec // unit
	Ball bool   // a point or a ball around At: so is every other line through it
}

// RevolutionOf returns the axis of a core that is a body of revolution by its parameters as they
// are: ellipsoids with two equal semi-axes, superquadrics with round cross-sections, points and
// segments among them. Bodies that are nearly so, and half-spaces, have none.
func RevolutionOf(s Shape) (Revolution, bool) {
	z := Revolution{Axis: r3.Vec{Z: 1}}
	if f := s.Kind().Family(); f.Traits().Revolution {
		z.Ball = f == FamilyPoint
		return z, true
	}
	s, _ = WithoutMargin(s)
	switch c := s.(type) {
	case Ellipsoid:
		return spheroid(c.SemiAxes)
	case Superquadric:
		if c.Alpha1 == 1 && c.Alpha2 == 1 {
			return spheroid(c.SemiAxes)
		}
		return z, c.Alpha2 == 1 && c.SemiAxes.X == c.SemiAxes.Y
	case *Convex:
		switch v := c.hull.Vertices; len(v) {
		case 1:
			return Revolution{At: v[0], Axis: r3.Vec{Z: 1}, Ball: true}, true
		case 2:
			return Revolution{At: c.center, Axis: r3.Unit(r3.Sub(v[1], v[0]))}, true
		}
	}
	return Revolution{}, false
}

// spheroid is the axis of an ellipsoid with two equal semi-axes.
func spheroid(semi r3.Vec) (Revolution, bool) {
	switch {
	case semi.X == semi.Y:
		return Revolution{Axis: r3.Vec{Z: 1}, Ball: semi.Y == semi.Z}, true
	case semi.Y == semi.Z:
		return Revolution{Axis: r3.Vec{X: 1}}, true
	case semi.Z == semi.X:
		return Revolution{Axis: r3.Vec{Y: 1}}, true
	}
	return Revolution{}, false
}
