package geom

import (
	"fmt"
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
