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

// Kind is the code of a shape kind. The codes are part of the binary layout
// that package batch shares with shaders and SIMD kernels: append, never renumber.
//
// What a kind is, its name, parameters and family, stands in one row of the table below.
type Kind uint8

// The shape kinds.
const (
	KindSphere Kind = iota
	KindCapsule
	KindCylinder
	KindCone
	KindFrustum
	KindBox
	KindEllipsoid
	KindSuperquadric
	KindSmoothHull
	KindSmoothRevolution
	KindConvex
	KindHalfspace
	KindCount // number of kinds, not a kind
)

// kinds has one row per kind. A new kind takes a code above, a row here and its type in a file of its own; readers and
// writers of files, validation, packing, scaling and the choice of solvers follow from the row. Kernels and
// shaders need a line each where the family is not enough, see ARCHITECTURE.md.
var kinds = [KindCount]struct {
	name   string  // in files, on the command line and in generated code
	zero   Shape   // the zero value of its type, which tells the type and makes shapes
	family Family  // of its cores
	params []Param // in the order of files, errors and device records: append, never reorder
}{
	KindSphere: {"sphere", Sphere{}, FamilyPoint, []Param{length("radius")}},
	// Half-lengths are along local z.
	KindCapsule:  {"capsule", Capsule{}, FamilySegment, []Param{length("radius"), lengthOrZero("half_length")}},
	KindCylinder: {"cylinder", Cylinder{}, FamilyFrustum, []Param{length("radius"), length("half_length")}},
	// The apex is at +z, the base at -z.
	KindCone: {"cone", Cone{}, FamilyFrustum, []Param{length("radius"), length("half_length")}},
	KindFrustum: {"frustum", Frustum{}, FamilyFrustum,
		[]Param{lengthOrZero("radius_bottom"), lengthOrZero("radius_top"), length("half_length")}},
	KindBox:       {"box", Box{}, FamilyBox, []Param{lengths("half_extents")}},
	KindEllipsoid: {"ellipsoid", Ellipsoid{}, FamilyEllipsoid, []Param{lengths("semi_axes")}},
	KindSuperquadric: {"superquadric", Superquadric{}, FamilySuperquadric,
		[]Param{lengths("semi_axes"), {Name: "exponents", Width: 2, check: within(MinExponent, MaxExponent)}}},
	KindSmoothHull: {"smooth_hull", (*SmoothHull)(nil), FamilySmoothHull,
		[]Param{points("vertices", 3), number("sharpness", MinSharpness, MaxSharpness), center("center")}},
	KindSmoothRevolution: {"smooth_revolution", (*SmoothRevolution)(nil), FamilySmoothRevolution, []Param{
		points("profile", 2), // (r, z)
		number("sharpness", MinSharpness, MaxSharpness),
		number("flatness", MinFlatness, MaxFlatness),
	}},
	KindConvex:    {"convex", (*Convex)(nil), FamilyHull, []Param{points("vertices", 3)}},
	KindHalfspace: {"halfspace", Halfspace{}, FamilyHalfspace, nil}, // below local z = 0
}

// String returns the name that files and the command line use.
func (k Kind) String() string {
	if k < KindCount {
		return kinds[k].name
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// ParseKind is the inverse of [Kind.String].
func ParseKind(name string) (Kind, error) {
	for k := range KindCount {
		if kinds[k].name == name {
			return k, nil
		}
	}
	return 0, fmt.Errorf("geom: unknown shape kind %q", name)
}

// Params returns the parameters of a kind, in the order of files, errors and device records.
// The slice must not be changed. It is empty for a half-space and for what is no kind.
func (k Kind) Params() []Param {
	if k < KindCount {
		return kinds[k].params
	}
	return nil
}

// HasVertices reports whether one of the parameters is a list of points.
func (k Kind) HasVertices() bool {
	for _, p := range k.Params() {
		if p.List {
			return true
		}
	}
	return false
}

// Family returns the family of the cores of a kind, and [FamilyNone] for what is no kind.
func (k Kind) Family() Family {
	if k < KindCount {
		return kinds[k].family
	}
	return FamilyNone
}

// Family says which support function a core has. Kinds of one family differ in how their parameters
// are given and in the ball around the core: kernels, shaders and solvers tell families apart, not kinds.
type Family uint8

// The families of cores.
const (
	FamilyNone             Family = iota // of what is no kind
	FamilyPoint                          // the center
	FamilySegment                        // along local z
	FamilyFrustum                        // of two discs about local z, one of which may be a point
	FamilyBox                            // along the local axes
	FamilyEllipsoid                      // along the local axes
	FamilySuperquadric                   // the same
	FamilySmoothHull                     // a sum of powers over vertices
	FamilySmoothRevolution               // a sum of powers over the points of a profile
	FamilyHull                           // of vertices
	FamilyHalfspace
	FamilyCount // number of families, not a family
)

// Traits are what solvers and back ends need to know of a family.
type Traits struct {
	// Smooth: the support function is twice differentiable in almost all directions, and its Hessian
	// tells the curvature of the core. A point counts, whose Hessian is zero.
	Smooth bool

	// StrictlyConvex: the core has an interior, and no segment in its boundary.
	StrictlyConvex bool

	// Polyhedral: the core is an intersection of finitely many half-spaces, so that a facet of a
	// Minkowski difference can be met exactly.
	Polyhedral bool

	// Revolution: the core is a solid of revolution about local z, whatever its parameters.
	Revolution bool

	// Powers: the support function takes powers, with rounding errors of their own.
	Powers bool

	// Unbounded: the core has no support point in most directions, and no bounding ball.
	Unbounded bool
}

var traits = [FamilyCount]Traits{
	FamilyPoint:            {Smooth: true, Polyhedral: true, Revolution: true},
	FamilySegment:          {Polyhedral: true, Revolution: true},
	FamilyFrustum:          {Revolution: true},
	FamilyBox:              {Polyhedral: true},
	FamilyEllipsoid:        {Smooth: true, StrictlyConvex: true},
	FamilySuperquadric:     {Smooth: true, StrictlyConvex: true, Powers: true},
	FamilySmoothHull:       {Smooth: true, StrictlyConvex: true, Powers: true},
	FamilySmoothRevolution: {Smooth: true, StrictlyConvex: true, Revolution: true, Powers: true},
	FamilyHull:             {Polyhedral: true},
	FamilyHalfspace:        {Polyhedral: true, Unbounded: true},
}

// Traits returns the traits of a family; those of [FamilyNone] are all false.
func (f Family) Traits() Traits {
	if f < FamilyCount {
		return traits[f]
	}
	return Traits{}
}

// Traits returns the traits of the family of a kind.
func (k Kind) Traits() Traits { return k.Family().Traits() }

// PointOrSegment reports whether the cores of a family have no extent across local z.
func (f Family) PointOrSegment() bool { return f == FamilyPoint || f == FamilySegment }

// HasFormula reports whether the distance of bounded cores of two families is a formula.
func HasFormula(a, b Family) bool {
	if b == FamilyPoint {
		a, b = b, a
	}
	return a.PointOrSegment() && b.PointOrSegment() || a == FamilyPoint && b == FamilyBox
}

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
