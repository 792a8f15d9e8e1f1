package batch

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

// TestBadBodies: a body that is wrong is an error that names it.
func TestBadBodies(t *testing.T) {
	lib, err := NewLibrary([]geom.Shape{geom.Sphere{R: 1}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	at := func(p geom.Pose) []Part { return []Part{{Pose: geom.IdentityPose()}, {Pose: p}} }
	for _, c := range []struct {
		parts []Part
		part  int
		want  string
	}{
		{nil, -1, `body 1 ("b"): 0 parts`},
		{make([]Part, MaxParts+1), -1, "65536 parts, want 1 to 65535"},
		{[]Part{{Shape: 1}}, 0, "part 0: shape 1 is not in the library, want one in [0, 1)"},
		{[]Part{{Shape: -1}}, 0, "shape -1 is not in the library"},
		{at(geom.Pose{}), 1, `body 1 ("b"), part 1: rotation: `},
		{at(geom.Translate(math.NaN(), 0, 0)), 1, "part 1: position: (NaN, 0, 0)"},
		{at(geom.Translate(0, 2e9, 0)), 1, "position: (0, 2e+09, 0)"},
		{at(geom.Translate(MaxLength, 0, MaxLength)), 1, "m from the origin of the body, want at most"},
	} {
		_, err := NewBodies(lib, []Body{{Parts: at(geom.IdentityPose())}, {Name: "b", Parts: c.parts}})
		var e *BodyError
		if !errors.As(err, &e) || e.Body != 1 || e.Part != c.part || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.want, err)
		}
	}
	if _, err := NewBodies(nil, nil); err == nil {
		t.Error("no library")
	}
}

// TestBodies: the table has what it was given, and poses of parts are those of the body composed.
func TestBodies(t *testing.T) {
	lib, err := NewLibrary([]geom.Shape{geom.Sphere{R: 1}, geom.Capsule{R: 1, HalfLength: 2}}, []string{"ball", "bar"})
	if err != nil {
		t.Fatal(err)
	}
	quarter := geom.Pose{Position: r3.Vec{X: 1}, Rotation: quat.Number{Real: 2, Kmag: 2}}
	b, err := NewBodies(lib, []Body{
		{Name: "one", Parts: []Part{{Shape: 1, Pose: geom.IdentityPose()}}},
		{Name: "two", Parts: []Part{{Shape: 0, Pose: quarter}, {Shape: 1, Pose: geom.IdentityPose()}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if i, ok := b.Index("two"); b.Len() != 2 || b.Name(1) != "two" || !ok || i != 1 || len(b.Parts(1)) != 2 ||
		b.Library() != lib {
		t.Errorf("%d bodies, %q at %d", b.Len(), b.Name(1), i)
	}
	if _, ok := b.Index("three"); ok {
		t.Error("a body that there is not")
	}
	pose := geom.Pose{Position: r3.Vec{Y: 5}, Rotation: quat.Number{Real: 3, Kmag: 3}} // a quarter about z
	if p := b.PartPose(0, 0, pose); p != pose {
		t.Errorf("a part at the identity is at %+v, want %+v", p, pose)
	}
	p := b.PartPose(1, 0, pose) // half about z, 1 m along the x axis of the body
	if d := r3.Norm(r3.Sub(p.Position, r3.Vec{Y: 6})); d > 1e-15 || math.Abs(p.Rotation.Kmag) < 1-1e-15 {
		t.Errorf("the part is at %+v", p)
	}
	if err := b.CheckPose(1, geom.Translate(MaxLength, 0, 0)); err == nil ||
		!strings.Contains(err.Error(), "1 m from") {
		t.Errorf("a part beyond the largest length: %v", err)
	}
	if err := b.CheckPose(0, geom.Translate(MaxLength, 0, 0)); err != nil {
		t.Error(err)
	}
	far, err := NewBodies(lib, []Body{{Parts: []Part{{Pose: geom.Translate(0, MaxLength, 0)}}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := far.CheckPose(0, geom.IdentityPose()); err != nil {
		t.Errorf("a part at the largest length of a body at the origin: %v", err)
	}
	if err := far.CheckPose(0, geom.Translate(1, 0, 0)); err == nil || !strings.Contains(err.Error(), "at most 0 m") {
		t.Errorf("a part beyond the largest length: %v", err)
	}
	shapes := BodiesOfShapes(lib)
	if shapes.Len() != 2 || shapes.Name(1) != "bar" || shapes.Parts(1)[0].Shape != 1 {
		t.Errorf("bodies of shapes: %d", shapes.Len())
	}
}

// TestBodyBounds: balls and boxes contain the support points of all parts, and the parts contain the inner balls.
func TestBodyBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	shapes := []geom.Shape{
		geom.Sphere{R: 0.3}, geom.Box{HalfExtents: r3.Vec{X: 1, Y: 0.1, Z: 0.2}}, geom.Cone{R: 0.5, HalfLength: 1},
		geom.WithMargin(testkit.Hull(rng, r3.Vec{X: 1, Y: 0.2, Z: 0.6}, 20), 0.1),
		geom.Ellipsoid{SemiAxes: r3.Vec{X: 1, Y: 2, Z: 0.1}}, geom.Superquadric{SemiAxes: r3.Vec{X: 1, Y: 1, Z: 2},
			Alpha1: 1.5, Alpha2: 0.5},
	}
	lib, err := NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 200 {
		var body Body
		for range 1 + rng.IntN(4) {
			body.Parts = append(body.Parts, Part{Shape: rng.Int32N(int32(lib.Len())), Pose: testkit.Pose(rng, 2)})
		}
		b, err := NewBodies(lib, []Body{body})
		if err != nil {
			t.Fatal(err)
		}
		ball, fill := b.Bounds(0), 0.0
		for k, p := range b.Parts(0) {
			bounds, s := b.PartBounds(0)[k], lib.Shape(p.Shape)
			for range 50 {
				x := p.Pose.Apply(geom.Support(s, testkit.Unit(rng)))
				fill = max(fill, r3.Norm(r3.Sub(x, ball.Center)))
				if d := r3.Norm(r3.Sub(x, bounds.Center)); d > bounds.Radius {
					t.Fatalf("%v: a point %v beyond the ball of the part", s.Kind(), d-bounds.Radius)
				}
				d := bounds.Axes.MulVecT(r3.Sub(x, bounds.Box))
				if math.Abs(d.X) > bounds.Half.X || math.Abs(d.Y) > bounds.Half.Y || math.Abs(d.Z) > bounds.Half.Z {
					t.Fatalf("%v: a point outside its box", s.Kind())
				}
				y := r3.Add(bounds.Center, r3.Scale(bounds.Inradius, testkit.Unit(rng)))
				if out := s.Residual(p.Pose.ApplyInverse(y)); out > 1e-12 {
					t.Fatalf("%v: the inner ball is %v outside", s.Kind(), out)
				}
			}
		}
		if fill > ball.Radius || fill < ball.Radius/3 {
			t.Fatalf("points of a body within %v, its ball %v", fill, ball.Radius)
		}
	}
}
