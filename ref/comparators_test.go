package ref

import (
	"math"
	"math/rand/v2"
	"testing"

	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/spatial/r3"
)

func randomPoints(g *rand.Rand, n int) []r3.Vec {
	out := make([]r3.Vec, n)
	for i := range out {
		out[i] = testkit.Normal(g)
	}
	return out
}

// TestQuadraticProgram compares with GJK on boxes and hulls, apart and overlapping.
func TestQuadraticProgram(t *testing.T) {
	g := rand.New(rand.NewPCG(4, 2))
	apart, overlapping := 0, 0
	for k := range 400 {
		shape := func() geom.Shape {
			if k%2 == 0 {
				return geom.Box{HalfExtents: r3.Vec{X: 0.1 + g.Float64(), Y: 0.1 + g.Float64(), Z: 0.1 + g.Float64()}}
			}
			return mustConvex(randomPoints(g, 6+g.IntN(40))...)
		}
		pb := geom.Pose{Rotation: testkit.Rotation(g), Position: r3.Scale(4*g.Float64(), randomPoints(g, 1)[0])}
		p := NewPair(shape(), shape(), geom.Pose{Rotation: testkit.Rotation(g)}, pb)
		want := GJK(&p, Options{}, nil)
		got, steps, err := QuadraticProgram(&p)
		if err != nil {
			t.Fatal(err)
		}
		if want.Status == Separated {
			apart++
		} else {
			overlapping++
		}
		// A proximal step that gains less than 1e-9 of the size ends it; ρ = 1e-3 makes
		// what is left at most a thousand times that.
		if d := math.Abs(got - max(want.Distance, 0)); !(d <= 1e-6*p.Size()) {
			t.Errorf("pair %d: %g, GJK finds %g", k, got, want.Distance)
		}
		if steps == 0 && want.Status == Separated {
			t.Errorf("pair %d: apart, but no constraint is active", k)
		}
	}
	if apart < 50 || overlapping < 50 {
		t.Errorf("%d separated pairs, %d overlapping: the sample is one-sided", apart, overlapping)
	}
	p := NewPair(geom.Sphere{R: 1}, geom.Sphere{R: 1}, geom.IdentityPose(), geom.IdentityPose())
	if _, _, err := QuadraticProgram(&p); err == nil {
		t.Error("spheres have no faces, want an error")
	}
}

// TestProjectedGradient holds it to GJK's solution and to the closed form of spheres.
func TestProjectedGradient(t *testing.T) {
	g := rand.New(rand.NewPCG(4, 3))
	for k := range 200 {
		axis := func() float64 { return 0.1 + g.Float64() }
		shape := func() geom.Shape {
			if k%2 == 0 {
				return geom.Box{HalfExtents: r3.Vec{X: axis(), Y: axis(), Z: axis()}}
			}
			return geom.Ellipsoid{SemiAxes: r3.Vec{X: axis(), Y: axis(), Z: axis()}}
		}
		pb := geom.Pose{Rotation: testkit.Rotation(g), Position: r3.Scale(4, randomPoints(g, 1)[0])}
		p := NewPair(shape(), shape(), geom.IdentityPose(), pb)
		r := GJK(&p, Options{}, nil)
		if r.Status != Separated {
			continue
		}
		steps, err := ProjectedGradient(&p, r3.Sub(r.WitnessB, r.WitnessA), 1e-4, 1_000_000)
		if err != nil {
			t.Fatal(err)
		}
		if steps == 1_000_000 {
			t.Errorf("pair %d does not come within 1e-4 of the solution", k)
		}
		off := r3.Add(r3.Sub(r.WitnessB, r.WitnessA), r3.Vec{X: 0.01})
		if n, _ := ProjectedGradient(&p, off, 1e-6, 2000); n < 2000 {
			t.Errorf("pair %d comes within 1e-6 of a point 1 cm off the solution", k)
		}
	}
	p := NewPair(geom.Sphere{R: 1}, geom.Sphere{R: 1}, geom.IdentityPose(), geom.IdentityPose())
	if _, err := ProjectedGradient(&p, r3.Vec{}, 1, 1); err == nil {
		t.Error("no projection onto a sphere is known, want an error")
	}
}

// TestProjectOnEllipsoid: the residual is along the gradient, and inside points stay.
func TestProjectOnEllipsoid(t *testing.T) {
	g := rand.New(rand.NewPCG(4, 4))
	for range 1000 {
		a := r3.Vec{X: 0.05 + g.Float64(), Y: 0.05 + g.Float64(), Z: 0.05 + g.Float64()}
		v := r3.Scale(2, randomPoints(g, 1)[0])
		x := projectOnEllipsoid(a, v)
		level := sq(x.X/a.X) + sq(x.Y/a.Y) + sq(x.Z/a.Z)
		if sq(v.X/a.X)+sq(v.Y/a.Y)+sq(v.Z/a.Z) <= 1 {
			if x != v {
				t.Errorf("%v is inside, moved to %v", v, x)
			}
			continue
		}
		if !(math.Abs(level-1) <= 1e-12) {
			t.Errorf("%v is not on the surface: %g", x, level)
		}
		gradient := r3.Vec{X: x.X / (a.X * a.X), Y: x.Y / (a.Y * a.Y), Z: x.Z / (a.Z * a.Z)}
		if off := r3.Norm(r3.Cross(r3.Unit(gradient), r3.Sub(v, x))); !(off <= 1e-10) {
			t.Errorf("%v: the residual is off the normal by %g", v, off)
		}
	}
}
