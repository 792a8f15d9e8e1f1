package derive

import (
	"math/rand/v2"
	"slices"
	"testing"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

// TestStructuredFound: poses whose flags once depended on the frame of the world, in more frames. What rounding chose
// is said for each.
func TestStructuredFound(t *testing.T) {
	names, shapes := testkit.StructuredShapes()
	identity := quat.Number{Real: 1}
	half := quat.Number{Real: 0.38268343236508984, Kmag: 0.9238795325112867} // by 135° about z
	rng := rand.New(rand.NewPCG(45, 1<<32))
	for _, c := range []struct {
		chosen string
		a, b   string
		at     r3.Vec
		turned quat.Number
		growth bool
	}{
		{"a normal of a flat minimum", "superquadric needle", "superquadric needle", r3.Vec{Y: 1},
			quat.Number{Real: -0.2705980500730985, Imag: 0.27059805007309856, Jmag: -0.6532814824381883,
				Kmag: -0.6532814824381882}, false},
		{"a normal where no curvature is left", "smooth octahedron", "flat square", r3.Vec{Y: 0.25, Z: 0.25}, identity,
			true},
		{"a triangle without an area", "cone", "box plate", r3.Vec{X: 3, Y: 3}, identity, true},
		{"a triangle without an area", "cone", "box plate", r3.Vec{X: 0.25, Y: 0.25}, identity, true},
		{"a normal of a cone, exact to its tolerance", "cone", "hull cube", r3.Vec{Y: -0.01}, half, true},
		{"a normal of cores that touch", "thin capsule", "octahedron", r3.Vec{Y: 1, Z: 1},
			quat.Number{Real: -0.5, Imag: 0.5, Jmag: -0.5, Kmag: -0.5}, false},
		{"a normal of cores that touch", "tetrahedron", "thin capsule", r3.Vec{X: 1, Y: 1}, identity, false},
		{"a normal of cores that touch", "box plate", "small sphere", r3.Vec{X: 1, Z: 0.01}, identity, false},
		{"one of two minima that are close", "cone", "superquadric margin", r3.Vec{X: 0.25, Y: 0.25}, half, false},
		{"a first step beside an infinite curvature", "capsule", "superquadric", r3.Vec{X: 0.5, Y: 0.5},
			quat.Number{Real: -0.7909450459473104, Imag: 0.364663328971854, Jmag: -0.05998024390542977,
				Kmag: -0.4876771074549406}, false},
		{"a first step beside an infinite curvature", "superquadric", "ellipsoid", r3.Vec{X: -0.01},
			quat.Number{Real: 0.6473681916027519, Imag: -0.3443382984138018, Jmag: 0.6672929516447764,
				Kmag: 0.13063566676705354}, true},
		{"whether a component of the first normal counts as zero", "superquadric", "superquadric needle",
			r3.Vec{X: 0.01, Y: 0.01}, quat.Number{Real: -0.5405448224325756, Imag: -0.36708167181380885,
				Jmag: 0.41552847819697625, Kmag: 0.6327704362302488}, true},
		{"whether a component of the first normal counts as zero", "superquadric needle", "superquadric",
			r3.Vec{X: 0.1, Y: 0.1, Z: 0.1}, quat.Number{Real: -0.35355339059327384, Imag: 0.1464466094067263,
				Jmag: -0.8535533905932737, Kmag: 0.35355339059327384}, true},
		{"whether a component of the first normal counts as zero", "superquadric plate", "cone", r3.Vec{X: -1},
			quat.Number{Real: -0.24407327857698036, Imag: -0.333429592843493, Jmag: -0.8709945144318467,
				Kmag: -0.26574705479184124}, false},
		{"whether a component of the first normal counts as zero", "superquadric", "frustum", r3.Vec{Z: 0.01},
			quat.Number{Real: 0.6941206606717862, Imag: -0.6425532945804089, Jmag: 0.10880950307427542,
				Kmag: -0.3057486943441534}, false},
		{"whether a component of the first normal counts as zero", "superquadric", "smooth octahedron", r3.Vec{Z: -1},
			quat.Number{Real: -0.5055915539146489, Imag: 0.4940801420931824, Jmag: 0.5136645218565535,
				Kmag: 0.4862208888820282}, true},
		{"whether a component of the first normal counts as zero", "superquadric", "superquadric", r3.Vec{Y: -0.25},
			quat.Number{Real: -0.16677419833938373, Imag: 0.41231629174449996, Jmag: -0.6531127602381263,
				Kmag: 0.6128828311712247}, true},
		{"a normal exact to its tolerance, of a pair that touches", "octahedron", "disc", r3.Vec{X: 0.01, Z: 2},
			quat.Number{Real: 0.7071067811865476, Jmag: 0.7071067811865475}, false},
		{"a normal that is not optimal", "superquadric plate", "tetrahedron", r3.Vec{X: 1.5},
			quat.Number{Real: -0.7071067811865475, Imag: 0.7071067811865476}, false},
	} {
		a, b := shapes[slices.Index(names, c.a)], shapes[slices.Index(names, c.b)]
		pair := testkit.Structured{Pose: geom.Pose{Position: c.at, Rotation: c.turned}}
		for _, o := range []Options{{}, {Mode: Gumbel}, {Mode: Gaussian, Samples: 8}} {
			seen := map[Smoothness]int{}
			for range 40 {
				for _, frame := range testkit.WorldPoses(rng) {
					poseA, poseB := pair.In(frame)
					ask := solve
					if c.growth {
						ask = solveGrowth
					}
					var w Workspace
					r := ask(a, b, poseA, poseB)
					d := w.Of(&r, &o, 1)
					seen[d.Smoothness()]++
				}
			}
			if len(seen) != 1 || seen[batch.NoDerivative] > 0 {
				t.Errorf("%s and %s at %v, growth %v, %v, where rounding chose %s: %v", c.a, c.b, c.at, c.growth,
					o.Mode, c.chosen, seen)
			}
		}
	}
}
