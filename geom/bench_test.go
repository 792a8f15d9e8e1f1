package geom_test

import (
	"math/rand/v2"
	"testing"

	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/spatial/r3"
)

// benchShapes is one shape of every kind, as solvers see them: behind the interface.
func benchShapes() []geom.Shape {
	return []geom.Shape{
		geom.Sphere{R: 1},
		geom.Capsule{R: 0.5, HalfLength: 1},
		geom.Cylinder{R: 0.5, HalfLength: 1},
		geom.Cone{R: 0.5, HalfLength: 1},
		geom.Frustum{RBottom: 0.5, RTop: 0.25, HalfLength: 1},
		geom.Box{HalfExtents: vec(1, 2, 3)},
		geom.Ellipsoid{SemiAxes: vec(1, 2, 3)},
		geom.Superquadric{SemiAxes: vec(1, 2, 3), Alpha1: 0.5, Alpha2: 1.5},
		geom.Halfspace{},
		geom.WithMargin(geom.Box{HalfExtents: vec(1, 2, 3)}, 0.1),
		geom.WithMargin(geom.Superquadric{SemiAxes: vec(1, 2, 3), Alpha1: 0.5, Alpha2: 1.5}, 0.1),
	}
}

func benchName(s geom.Shape) string {
	if _, ok := s.(geom.Rounded); ok {
		return "rounded_" + s.Kind().String()
	}
	return s.Kind().String()
}

func randomDirections() *[1024]r3.Vec {
	rng := rand.New(rand.NewPCG(37, 38))
	var dirs [1024]r3.Vec
	for i := range dirs {
		dirs[i] = testkit.Unit(rng)
	}
	return &dirs
}

var sink r3.Vec
var sinkFloat float64

func TestNoAllocations(t *testing.T) {
	d, far, in := vec(0.3, -0.5, 0.7), vec(3, -5, 7), vec(0.03, -0.05, 0.07)
	tiny, zero := vec(1e-300, 0, 0), vec(0, 0, 0)
	for _, s := range benchShapes() {
		n := testing.AllocsPerRun(100, func() {
			for _, dir := range []r3.Vec{d, tiny, zero} {
				sink = s.CoreSupport(dir)
				sink = geom.Support(s, dir)
			}
			sinkFloat = s.Residual(far) + s.Residual(in) + s.BoundingRadius() + s.Inradius() + s.Radius() +
				geom.MinCurvatureRadius(s)
			sink, _ = s.AABB()
			if smooth, ok := s.(geom.Smooth); ok {
				h, _ := smooth.SupportHessian(d)
				sinkFloat = h[0]
			}
			diff := geom.MinkowskiDifference(s, s, geom.IdentityPose())
			sink = diff.Support(d)
		})
		if n != 0 {
			t.Errorf("%s: %g allocations", benchName(s), n)
		}
	}
}

func BenchmarkCoreSupport(b *testing.B) {
	dirs := randomDirections()
	for _, s := range benchShapes() {
		b.Run(benchName(s), func(b *testing.B) {
			i := 0
			for b.Loop() {
				sink = s.CoreSupport(dirs[i&1023])
				i++
			}
		})
	}
}

func BenchmarkResidual(b *testing.B) {
	dirs := randomDirections()
	for _, s := range benchShapes() {
		b.Run(benchName(s), func(b *testing.B) {
			i := 0
			for b.Loop() {
				sinkFloat = s.Residual(r3.Scale(3, dirs[i&1023]))
				i++
			}
		})
	}
}

func BenchmarkSupportHessian(b *testing.B) {
	dirs := randomDirections()
	for _, s := range benchShapes() {
		smooth, ok := s.(geom.Smooth)
		if !ok || s.Kind() == geom.KindBox {
			continue
		}
		b.Run(benchName(s), func(b *testing.B) {
			i := 0
			for b.Loop() {
				h, _ := smooth.SupportHessian(dirs[i&1023])
				sinkFloat = h[0]
				i++
			}
		})
	}
}
