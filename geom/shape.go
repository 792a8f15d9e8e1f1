// Package geom is the mathematics of the shapes: convex sets in float64, with
// support points, Hessians of the support function, signed distances, bounds
// and poses.
//
// # Conventions
//
// Lengths are metres, angles radians. Every shape lives in its own local frame;
// a [Pose] places it in the world: x_world = R(q)·x_local + p with q = (w,x,y,z).
//
// Every shape is the Minkowski sum of a core and a ball: S = core ⊕ B(Radius).
// A sphere is a point with a radius, a capsule a segment with a radius, and a
// margin adds to the radius of whatever it wraps. Solvers work on the cores and
// account for the radii exactly, see [Shape].
//
// # Layers and threads
//
// geom imports nothing of this module but its own sub-packages (hull, mesh).
// A Shape is immutable once built and safe for use by any number of goroutines.
// No method allocates unless it says so.
package geom

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// Shape is a closed convex set in its local frame, S = core ⊕ B(Radius()).
//
// Only the kinds of this package are shapes, and the interface is sealed: kernels, shaders and files
// know the kinds by the parameters in their row of kind.go, so a type with a support function of its own
// would be answered by some back ends and refused by others. A type of another package that
// embeds a shape and overrides methods, as tests do, is answered by the reference solvers alone. For a
// convex body that no kind describes, take [Convex] or [SmoothHull] with points of its surface.
//
// All methods but Validate assume that Validate returned nil.
type Shape interface {
	Kind() Kind

	// values returns the parameters in the order of the row of the kind.
	values() values

	// of makes a shape of the type of the receiver, which it does not look at, of values as [Kind.New]
	// has checked them.
	of(values) (Shape, error)

	// Validate reports the first parameter that is out of range, by name.
	Validate() error

	// CoreSupport returns a point of the core that maximises <d, x>. d need not be
	// unit; for d = 0 any point of the core is returned. A NaN in d gives some
	// point of the core, never a panic. For a half-space, which has no
	// support point in most directions, it returns the local origin.
	CoreSupport(d r3.Vec) r3.Vec

	// Radius is the radius of the ball that is summed to the core, margin included.
	Radius() float64

	// Residual is the signed distance of p (local frame) from the boundary of the
	// whole shape (core, ball and margin): negative inside, positive outside.
	// Outside it is the distance or an upper bound of it; inside, its magnitude
	// is the distance to the boundary or a lower bound of it. Each kind says which.
	Residual(p r3.Vec) float64

	// Center is a point of the shape, the middle of its bounding and inscribed balls.
	Center() r3.Vec

	// BoundingRadius is the radius of a ball around Center that holds the shape,
	// margin included. A half-space is unbounded and returns +Inf. This and the
	// other lengths are right to a few units of rounding, not rounded outwards.
	BoundingRadius() float64

	// Inradius is the radius of a ball around Center inside the shape (0 if flat).
	Inradius() float64

	// AABB returns the corners of the axis-aligned bounding box in the local frame.
	AABB() (lo, hi r3.Vec)
}

// Smooth is a shape whose support function h(d) = max <d, x> is twice
// continuously differentiable except perhaps in some directions.
// The gradient of h is the support point.
type Smooth interface {
	Shape

	// SupportHessian returns the Hessian of the support function of the whole
	// shape (ball included) at d ≠ 0. It is homogeneous of degree -1 in d and
	// has d in its null space. ok is false where h is not C² at d.
	SupportHessian(d r3.Vec) (h Mat3, ok bool)
}

// Support returns a point of the whole shape (core and ball) that maximises <d, x>.
func Support(s Shape, d r3.Vec) r3.Vec {
	p := s.CoreSupport(d)
	r := s.Radius()
	if r == 0 {
		return p
	}
	n2 := r3.Norm2(d)
	if !(n2 > minSquare && n2 < maxSquare) {
		var ok bool
		if d, _, ok = rescale(d); !ok {
			return p
		}
		n2 = r3.Norm2(d)
	}
	return r3.Add(p, r3.Scale(r/math.Sqrt(n2), d))
}

// MinCurvatureRadius returns a radius ρ ≥ 0 such that a ball of radius ρ rolls
// freely inside the core of s, touching every point of its boundary. Then the core
// is X ⊕ B(ρ) for a convex X (Blaschke's rolling theorem), so that polytopes
// inscribed in the core may be rounded by ρ.
//
// For an ellipsoid it is the smallest radius of curvature, c²/a with a the longest
// and c the shortest semi-axis, rounded down. It is 0 for all cores with edges or
// corners, for points and segments, and for superquadrics.
func MinCurvatureRadius(s Shape) float64 {
	switch s := s.(type) {
	case Ellipsoid:
		c, a := s.Inradius(), s.BoundingRadius()
		return c / a * c * (1 - 0x1p-51) // two roundings, each below 2⁻⁵³
	case Rounded:
		return MinCurvatureRadius(s.Shape)
	default:
		return 0
	}
}

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

// A shape grows about its center, a point c of it: by the factor a it becomes c + a·(S − c), margin
// included [Growth, eq. 9]. The growth distance of a pair depends on the choice of both centers.

// minGrowthInradius is the distance of the local origin from the boundary, relative to the bounding radius,
// from which on the origin is the default center.
const minGrowthInradius = 1e-3

// GrowthCenter returns the default center of growth: the parameter center where the kind has one, else the
// local origin if it lies inside by 1e-3 of the bounding radius at least, else Center(). A half-space has no
// center of growth; the result is a point of its plane.
func GrowthCenter(s Shape) r3.Vec {
	for _, p := range s.Kind().Params() {
		if p.Center {
			return s.Center()
		}
	}
	if -s.Residual(r3.Vec{}) >= minGrowthInradius*s.BoundingRadius() {
		return r3.Vec{}
	}
	return s.Center()
}

// InradiusAt returns the radius of a ball about c that is proved to lie in the shape: 0 where the shape is
// flat, where c does not lie inside, and for a half-space, which does not grow.
//
// Inside, the magnitude of [Shape.Residual] is at most the distance from the boundary, up to rounding. The
// residual and the lengths that it is computed from are chains of operations on magnitudes of at most
// reach; 32 units of it cover them, and 2⁻³⁰ of the radius covers the powers of superquadrics and smooth
// shapes, whose errors grow with the exponents.
func InradiusAt(s Shape, c r3.Vec) float64 {
	if s.Kind().Traits().Unbounded {
		return 0
	}
	reach := math.Sqrt(r3.Norm2(c)) + math.Sqrt(r3.Norm2(s.Center())) + s.BoundingRadius()
	if r := -s.Residual(c)*(1-0x1p-30) - 32*0x1p-53*reach; r > 0 {
		return r
	}
	return 0
}

// CheckGrowthCenter reports a point that is no center of growth of the shape: one that is not an interior
// point, or of a flat shape not a point of it. A half-space has none.
func CheckGrowthCenter(s Shape, c r3.Vec) error {
	k := s.Kind()
	if k.Traits().Unbounded {
		return fmt.Errorf("%s: center: a half-space does not grow", k)
	}
	if InradiusAt(s, c) > 0 {
		return nil
	}
	out := s.Residual(c)
	if InradiusAt(s, s.Center()) > 0 {
		return fmt.Errorf("%s: center = (%g, %g, %g), want an interior point; this one lies %.3g m outside", k,
			c.X, c.Y, c.Z, math.Max(out, 0))
	}
	// A point of a flat shape, rounded, lies off it by some units of the magnitudes.
	reach := math.Sqrt(r3.Norm2(c)) + math.Sqrt(r3.Norm2(s.Center())) + s.BoundingRadius()
	if !(out <= 64*0x1p-53*reach) {
		return fmt.Errorf("%s: center = (%g, %g, %g), want a point of the flat shape; this one lies %.3g m away", k,
			c.X, c.Y, c.Z, out)
	}
	return nil
}
