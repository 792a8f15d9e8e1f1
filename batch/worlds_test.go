package batch

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
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

// worldsOf returns worlds of two bodies with one pair, without a list of bodies.
func worldsOf(worlds int) Worlds {
	w := Worlds{TemplateA: []int32{0}, TemplateB: []int32{1}}
	for i := range 2 * worlds {
		w.Poses = append(w.Poses, float64(i), 0, 0, 1, 0, 0, 0)
	}
	return w
}

// oneBody is a table of one body of a library of two shapes.
func oneBody(t *testing.T) *Bodies {
	t.Helper()
	lib, err := NewLibrary([]geom.Shape{geom.Sphere{R: 1}, geom.Sphere{R: 2}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	bodies, err := NewBodies(lib, []Body{{Parts: []Part{{Shape: 1, Pose: geom.IdentityPose()}}}})
	if err != nil {
		t.Fatal(err)
	}
	return bodies
}

// TestWorldsAreOfShapesOrBodies: an index of a body is never read as that of a shape.
func TestWorldsAreOfShapesOrBodies(t *testing.T) {
	bodies := oneBody(t)
	shapes, of := worldsOf(2), worldsOf(2)
	shapes.Shapes, of.Bodies = []int32{0, 1}, []int32{0, Absent}
	all, both := shapes, shapes
	all.TemplateA, all.TemplateB, all.AllPairs = nil, nil, true
	both.Bodies = []int32{0, 0}
	beyond := shapes
	beyond.Shapes = []int32{0, 2}
	for _, c := range []struct {
		name           string
		w              *Worlds
		input, rollout string // part of the error, "" for none
	}{
		{"shapes", &shapes, "", ""},
		{"bodies", &of, "worlds of bodies", ""},
		{"all pairs of shapes", &all, "all pairs", ""},
		{"both", &both, "worlds of bodies", "shapes and bodies"},
		{"a shape beyond the library", &beyond, "", "shapes[1] (world 0, body 1) = 2"}, // a row of the input is invalid
	} {
		for _, got := range []struct {
			err  error
			want string
		}{{c.w.CheckShape(), c.input}, {c.w.CheckBodies(bodies), c.rollout}} {
			if (got.err == nil) != (got.want == "") || got.err != nil && !strings.Contains(got.err.Error(), got.want) {
				t.Errorf("%s: %v, want %q", c.name, got.err, got.want)
			}
		}
	}
	job := &Job{Library: bodies.Library(), Input: &of, Results: NewResults(2, new(Options))}
	if err := job.Check(); err == nil {
		t.Error("worlds of bodies are an input of a job")
	}
}

// TestWorldsSlice: worlds of a slice are those of the whole, with lists of their own or one for all.
func TestWorldsSlice(t *testing.T) {
	shared, own := worldsOf(4), worldsOf(4)
	shared.Bodies = []int32{3, 4}
	own.M, own.Bodies = 2, []int32{0, 1, 2, 3, 4, 5, 6, 7}
	shapes := worldsOf(4)
	shapes.Shapes = []int32{5, 6}
	for _, w := range []*Worlds{&shared, &own, &shapes} {
		s := w.Slice(1, 3)
		if s.Count() != 2 || s.Len() != 2 || s.BodiesPerWorld() != 2 {
			t.Fatalf("%d worlds, %d rows, %d bodies", s.Count(), s.Len(), s.BodiesPerWorld())
		}
		for world := range 2 {
			for k := range int32(2) {
				if s.Body(world, k) != w.Body(world+1, k) || s.Pose(world, k) != w.Pose(world+1, k) {
					t.Errorf("world %d, body %d: %d at %v, want %d at %v", world, k, s.Body(world, k),
						s.Pose(world, k), w.Body(world+1, k), w.Pose(world+1, k))
				}
			}
		}
	}
	if none := own.Slice(2, 2); none.Count() != 0 || len(none.Bodies) != 0 || none.BodiesPerWorld() != 2 {
		t.Errorf("a slice of no worlds: %+v", none)
	}
}

// TestMotionsSlice: worlds of a slice are those of the whole.
func TestMotionsSlice(t *testing.T) {
	w := worldsOf(6) // three worlds of two way points
	m := &Motions{M: 2, T: 2, Bodies: []int32{0, 1, 2, 3, 4, 5}, Poses: w.Poses, TemplateA: w.TemplateA,
		TemplateB: w.TemplateB}
	s := m.Slice(1, 3)
	if s.Count() != 2 || s.Len() != 2 || !slices.Equal(s.Bodies, m.Bodies[2:]) || s.Pose(1, 1, 0) != m.Pose(2, 1, 0) {
		t.Errorf("%+v is not the end of %+v", s, m)
	}
	m.Bodies = m.Bodies[:2]
	if s := m.Slice(0, 1); s.Count() != 1 || !slices.Equal(s.Bodies, m.Bodies) || s.Pose(0, 1, 1) != m.Pose(0, 1, 1) {
		t.Errorf("%+v is not the begin of %+v", s, m)
	}
}

// TestInRange compares with one comparison after the other, at all places and near the ends of the range.
func TestInRange(t *testing.T) {
	for _, m := range []int{1, 2, 7, 1 << 20, math.MaxInt32} {
		last := int32(m - 1)
		for n := range 11 {
			for at := range n {
				for _, x := range []int32{0, last, last + 1, -1, math.MinInt32, math.MaxInt32} {
					numbers := make([]int32, n)
					numbers[at] = x
					if got, want := inRange(numbers, m), x >= 0 && int(x) < m; got != want {
						t.Errorf("%d at place %d of %d: %v, want %v in [0, %d)", x, at, n, got, want, m)
					}
				}
			}
		}
	}
	if inRange([]int32{0}, 0) || !inRange(nil, 0) {
		t.Error("no number is in an empty range")
	}
}
