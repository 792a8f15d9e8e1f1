package geom

import "fmt"

// Kind is the code of a shape kind. The codes are part of the binary layout
// that package batch shares with shaders and SIMD kernels: append, never renumber.
type Kind uint8

// The shape kinds, with the parameters each takes.
const (
	KindSphere           Kind = iota // radius
	KindCapsule                      // radius, half_length along local z
	KindCylinder                     // radius, half_length along local z
	KindCone                         // radius, half_length; apex at +z, base at -z
	KindFrustum                      // radius_bottom, radius_top, half_length
	KindBox                          // half_extents
	KindEllipsoid                    // semi_axes
	KindSuperquadric                 // semi_axes, exponents
	KindSmoothHull                   // vertices, sharpness
	KindSmoothRevolution             // profile, sharpness, flatness
	KindConvex                       // vertices
	KindHalfspace                    // below local z = 0
	KindCount                        // number of kinds, not a kind
)

var kindNames = [KindCount]string{
	"sphere", "capsule", "cylinder", "cone", "frustum", "box", "ellipsoid",
	"superquadric", "smooth_hull", "smooth_revolution", "convex", "halfspace",
}

// String returns the name that files and the command line use.
func (k Kind) String() string {
	if k < KindCount {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// ParseKind is the inverse of [Kind.String].
func ParseKind(name string) (Kind, error) {
	for k, n := range kindNames {
		if n == name {
			return Kind(k), nil
		}
	}
	return 0, fmt.Errorf("geom: unknown shape kind %q", name)
}
