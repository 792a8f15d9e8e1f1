package derive

import (
	"math"
	"testing"

	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// TestUndetermined: pairs whose answer has a cone of normals, and pairs near them whose answer has one. An answer along
// any normal of the cone is not unique, and smoothing leaves it without derivatives.
func TestUndetermined(t *testing.T) {
	point := mustConvex(t, []r3.Vec{{}})
	box := geom.Box{HalfExtents: r3.Vec{X: 1, Y: 1, Z: 1}}
	disc := geom.Cylinder{R: 1, HalfLength: 1}
	unit := func(x, y, z float64) r3.Vec { return r3.Unit(r3.Vec{X: x, Y: y, Z: z}) }
	for _, c := range []struct {
		name   string
		a, b   geom.Shape
		at     r3.Vec
		growth bool
		normal r3.Vec
		want   bool
	}{
		{"corner", box, point, r3.Vec{X: 3, Y: 3, Z: 3}, true, unit(1, 1, 1), true},
		{"corner, along a face", box, point, r3.Vec{X: 3, Y: 3, Z: 3}, true, unit(1, 0, 0), true},
		{"corner, near a face", box, point, r3.Vec{X: 3, Y: 3, Z: 3}, true, unit(1, 1e-3, 1e-2), true},
		{"edge", box, point, r3.Vec{X: 3, Y: 3, Z: 1}, true, unit(2, 1, 0), true},
		{"edge, along a face", box, point, r3.Vec{X: 3, Y: 3, Z: 1}, true, unit(0, 1, 0), true},
		{"face", box, point, r3.Vec{X: 3, Y: 1, Z: 1}, true, unit(1, 0, 0), false},
		{"face, near an edge", box, point, r3.Vec{X: 3, Y: 3 - 1e-6, Z: 1}, true, unit(1, 0, 0), false},
		{"face, near a corner", box, point, r3.Vec{X: 3, Y: 3 - 1e-6, Z: 3 - 1e-6}, true, unit(1, 0, 0), false},
		{"no normal of it", box, point, r3.Vec{X: 3, Y: 1, Z: 1}, true, unit(1, 1, 0), false},
		{"boxes, corner", box, box, r3.Vec{X: 3, Y: 3, Z: 3}, true, unit(1, 0, 0), true},
		{"boxes, face", box, box, r3.Vec{X: 3, Y: 2, Z: 1}, true, unit(1, 0, 0), false},
		{"rim", disc, point, r3.Vec{X: 2, Z: 2}, true, unit(1, 0, 1), true},
		{"rim, along the disc", disc, point, r3.Vec{X: 2, Z: 2}, true, unit(0, 0, 1), true},
		{"disc", disc, point, r3.Vec{X: 1.2, Y: 0.9, Z: 2}, true, unit(0, 0, 1), false},
		{"margin", geom.WithMargin(box, 0.1), point, r3.Vec{X: 3, Y: 3, Z: 3}, true, unit(1, 1, 1), false},
		{"ball", box, geom.Sphere{R: 1}, r3.Vec{X: 3, Y: 3, Z: 3}, true, unit(1, 1, 1), false},
		{"equal points", point, point, r3.Vec{}, false, unit(1, 2, 3), true},
		{"corners that touch", box, box, r3.Vec{X: 2, Y: 2, Z: 2}, false, unit(1, 1, 0), true},
		{"edges that touch", box, box, r3.Vec{X: 2, Y: 2, Z: 1}, false, unit(1, 2, 0), true},
		{"faces that touch", box, box, r3.Vec{X: 2, Y: 1, Z: 1}, false, unit(1, 0, 0), false},
	} {
		pose := geom.Pose{Position: c.at, Rotation: geom.IdentityPose().Rotation}
		r := solve(c.a, c.b, geom.IdentityPose(), pose)
		if c.growth {
			r = solveGrowth(c.a, c.b, geom.IdentityPose(), pose)
		}
		r.Normal = c.normal
		var w Workspace
		d := Derivative{p: r.problem(), smoothness: NearSingular}
		if got := w.isUndetermined(&d, c.normal, r.Value); got != c.want {
			t.Errorf("%s: %v, want %v (value %g)", c.name, got, c.want, r.Value)
		}
		if !c.want {
			continue
		}
		if got := w.Exact(&r); got.Smoothness() != NotUnique {
			t.Errorf("%s: %v", c.name, got.Smoothness())
		}
		for _, mode := range []Mode{Gumbel, Gaussian} {
			if got := w.Of(&r, &Options{Mode: mode, Samples: 8}, 0); got.Smoothness() != NearSingular {
				t.Errorf("%s, %v: %v", c.name, mode, got.Smoothness())
			}
		}
	}
}

// TestGapsOfDirections: the least gap of a disc and of a regular polygon is the distance from the boundary of the face.
func TestGapsOfDirections(t *testing.T) {
	var corners []r3.Vec
	for k := range 7 {
		s, c := math.Sincos(2 * math.Pi * float64(k) / 7)
		corners = append(corners, r3.Vec{X: c, Y: s, Z: 1}, r3.Vec{X: c, Y: s, Z: -1})
	}
	point := mustConvex(t, []r3.Vec{{}})
	for _, c := range []struct {
		name      string
		a         geom.Shape
		inscribed float64
	}{
		{"disc", geom.Cylinder{R: 1, HalfLength: 1}, 1},
		{"heptagon", mustConvex(t, corners), math.Cos(math.Pi / 7)},
	} {
		for _, inside := range []float64{0, 2e-9, 1e-6, 1e-3} {
			// The ray leaves the prism so far from the rim, in the direction of the middle of a side.
			s, k := math.Sincos(math.Pi / 7)
			at := r3.Scale(2, r3.Vec{X: (c.inscribed - inside) * k, Y: (c.inscribed - inside) * s, Z: 1})
			pose := geom.Pose{Position: at, Rotation: geom.IdentityPose().Rotation}
			r := solveGrowth(c.a, point, geom.IdentityPose(), pose)
			p := r.problem()
			var w Workspace
			want := inside <= equalTolerance*p.size
			if got := w.undetermined(&p, r3.Vec{Z: 1}, 2); got != want {
				t.Errorf("%s, %g inside: %v", c.name, inside, got)
			}
		}
	}
}
