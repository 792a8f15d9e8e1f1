package batch

import (
	"math"
	"slices"
	"strings"
	"testing"

	"clearance/geom"
)

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
