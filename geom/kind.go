package geom

import "fmt"

// Kind is the code of a shape kind. The codes are part of the binary layout
// that package batch shares with shaders and SIMD kernels: append, never renumber.
//
// What a kind is, its name, parameters and family, stands in one row of the table in kinds.go.
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
