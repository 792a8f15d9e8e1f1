package geom

import "fmt"

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
