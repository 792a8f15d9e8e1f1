package dataset

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/geom"
	"clearance/geom/mesh"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/spatial/r2"
	"gonum.org/v1/gonum/spatial/r3"
)

func convex(t testing.TB, points ...r3.Vec) geom.Shape {
	c, err := geom.NewConvex(points)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// smoothHull is a tetrahedron around c.
func smoothHull(t testing.TB, c r3.Vec) geom.Shape {
	v := []r3.Vec{{X: 1, Y: 1, Z: 1}, {X: -1, Y: -1, Z: 1}, {X: -1, Y: 1, Z: -1}, {X: 1, Y: -1, Z: -1}}
	for i := range v {
		v[i] = r3.Add(v[i], c)
	}
	s, err := geom.NewSmoothHull(v, 5+1.0/3, c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func smoothRevolution(t testing.TB) geom.Shape {
	s, err := geom.NewSmoothRevolution([]r2.Vec{{X: 1.0 / 3, Y: 1}, {X: 0.1, Y: -1}}, 20, 1e-3)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestShapesRoundTrip(t *testing.T) {
	third := 1.0 / 3
	axes := r3.Vec{X: third, Y: 0.1 + 0.2, Z: math.Nextafter(1, 2)}
	shapes := []geom.Shape{
		geom.Sphere{R: third},
		geom.Capsule{R: 0.1, HalfLength: third},
		geom.Cylinder{R: 1e-6, HalfLength: 1e6},
		geom.Cone{R: 0.3, HalfLength: 2},
		geom.Frustum{RBottom: 0, RTop: third, HalfLength: 1},
		geom.Frustum{RBottom: third, RTop: 0, HalfLength: 1},
		geom.Box{HalfExtents: axes},
		geom.Ellipsoid{SemiAxes: axes},
		geom.Superquadric{SemiAxes: axes, Alpha1: third, Alpha2: 1.7},
		smoothHull(t, r3.Vec{X: third, Y: 0.1, Z: -0.1}),
		smoothHull(t, r3.Vec{}),
		smoothRevolution(t),
		geom.WithMargin(smoothRevolution(t), third),
		convex(t, axes),
		convex(t, axes, r3.Vec{}, r3.Vec{X: 1}, r3.Vec{Y: 1}, r3.Vec{Z: -1e-9}, r3.Vec{Z: -1e-9}),
		geom.Halfspace{},
		geom.WithMargin(geom.Halfspace{}, third),
		geom.WithMargin(geom.Box{HalfExtents: axes}, 1e-3),
	}
	names := make([]string, len(shapes))
	for i := range names {
		names[i] = []string{"", "räder \"x\"\n", "b"}[i%3]
	}
	path := filepath.Join(t.TempDir(), "shapes.json")
	for _, n := range [][]string{names, nil} {
		if err := WriteShapes(path, shapes, n); err != nil {
			t.Fatal(err)
		}
		got, gotNames, err := ReadShapes(path)
		if err != nil {
			t.Fatal(err)
		}
		if n == nil {
			n = make([]string, len(shapes))
		}
		if !reflect.DeepEqual(gotNames, n) {
			t.Errorf("names %q, want %q", gotNames, n)
		}
		for i, s := range shapes {
			if !reflect.DeepEqual(plain(got[i]), plain(s)) {
				t.Errorf("shape %d: %#v, want %#v", i, plain(got[i]), plain(s))
			}
		}
	}
}

// TestCentersRoundTrip: centers of growth that are not the default are read back, of smooth hulls as the
// parameter that they are.
func TestCentersRoundTrip(t *testing.T) {
	const third = 1.0 / 3
	box := geom.Box{HalfExtents: r3.Vec{X: 1, Y: 2, Z: 3}}
	lib, err := batch.NewLibrary([]geom.Shape{geom.Sphere{R: 1}, geom.WithMargin(box, 0.5),
		smoothHull(t, r3.Vec{X: third, Y: 0.1, Z: -0.1}), convex(t, r3.Vec{}, r3.Vec{X: 1}), geom.Halfspace{}},
		[]string{"ball", "", "", "stick", ""})
	if err != nil {
		t.Fatal(err)
	}
	centers := map[int32]r3.Vec{1: {X: 1.25, Z: third}, 3: {X: third}}
	if lib, err = lib.WithCenters(centers); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "shapes.json")
	if err := WriteLibrary(path, lib); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || strings.Count(string(text), `"center"`) != 3 {
		t.Errorf("not 3 centers, %v: %s", err, text)
	}
	again, err := ReadLibrary(path)
	if err != nil || again.Len() != lib.Len() {
		t.Fatal(again, err)
	}
	for i := range int32(lib.Len()) {
		if again.GrowthCenter(i) != lib.GrowthCenter(i) || again.GrowthInradius(i) != lib.GrowthInradius(i) ||
			again.Name(i) != lib.Name(i) || !reflect.DeepEqual(plain(again.Shape(i)), plain(lib.Shape(i))) {
			t.Errorf("shape %d: %v about %v, want %v about %v", i, plain(again.Shape(i)), again.GrowthCenter(i),
				plain(lib.Shape(i)), lib.GrowthCenter(i))
		}
	}
	if lib, err = lib.WithCenters(map[int32]r3.Vec{2: {}}); err != nil {
		t.Fatal(err)
	}
	testkit.WantError(t, WriteLibrary(path, lib), path, "shape 2: smooth_hull",
		"the center is not the parameter of that name")
}

// plain replaces a hull by its points.
func plain(s geom.Shape) any {
	if c, ok := s.(*geom.Convex); ok {
		return c.Points()
	}
	return s
}

func TestWriteShapesErrors(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "shapes.json")
	good := geom.Sphere{R: 1}
	testkit.WantError(t, WriteShapes(path, []geom.Shape{good}, []string{"a", "b"}), path, "2 names for 1 shapes")
	testkit.WantError(t, WriteShapes(path, []geom.Shape{good, geom.Sphere{R: -1}}, nil), path, "shape 1", "radius = -1")
	testkit.WantError(t, WriteShapes(path, []geom.Shape{nil}, nil), "shape 0", "nil")
	emptyDir(t, dir)
}

// A file of Windows, with line ends of two bytes and a byte order mark, is read as any other.
func TestReadShapesOfWindows(t *testing.T) {
	text := "{\n\"version\": 1,\n\"shapes\": [\n{\"kind\": \"sphere\", \"radius\": 2}\n]\n}\n"
	for _, c := range []string{"\ufeff" + text, "\ufeff" + strings.ReplaceAll(text, "\n", "\r\n")} {
		shapes, _, err := ReadShapes(testkit.TempFile(t, "shapes.json", []byte(c)))
		if err != nil || len(shapes) != 1 || shapes[0] != (geom.Sphere{R: 2}) {
			t.Errorf("%q: %v, %v", c, shapes, err)
		}
	}
	_, _, err := ReadShapes(testkit.TempFile(t, "shapes.json", []byte("\ufeff["+text)))
	testkit.WantError(t, err, "(line 1, column 1)")
}

func library(shape string) string {
	return `{"version": 1, "shapes": [{"kind":"halfspace"}, ` + shape + `]}`
}

func TestReadShapesErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "truncated"},
		{"[]", "want \"{\""},
		{"null", "want \"{\""},
		{`{"shapes": []}`, "no version"},
		{`{"version": 1}`, "no shapes"},
		{`{"version": 2, "shapes": []}`, "version 2, want 1"},
		{`{"version": "1", "shapes": []}`, `version "1", want 1`},
		{`{"version": 1, "shapes": [], "units": "mm"}`, `unknown field "units"`},
		{`{"version": 1, "version": 1, "shapes": []}`, `"version" occurs twice`},
		{`{"version": 1, "shapes": {}}`, "shapes: {"},
		{`{"version": 1, "shapes": [1]}`, `shape 0: 1, want "{" (line 1, column 27)`},
		{"{\"version\": 1,\r\n\"shapes\": [\r\n  null]}", `shape 0: null, want "{" (line 3, column 6)`},
		{"{\"version\": 1,\n\"shapes\": [\n{\"kind\": \"halfspace\"}\n{\"kind\": \"halfspace\"}]}",
			"after array element (line 4, column 1)"},
		{"{\"version\": 1,\n\"shapes\": [\n{\"kind\": \"halfspace\"", "ends in the middle, in line 3"},
		{"{\"version\": 1,\n\"shapes\": []}\n]", "follows the end of the document (line 3, column 1)"},
		{`{"version": 1, "shapes": []} x`, "follows the end"},
		{`{"version": 1, "shapes": [{"kind":"sphere"`, "truncated"},
		{library(`{"radius": 1}`), "shape 1: no kind"},
		{library(`{"kind": "ball", "radius": 1}`), `shape 1: unknown kind "ball", want one of sphere, capsule`},
		{library(`{"kind": "smooth_hull", "vertices": []}`), "parameter sharpness is missing"},
		{library(`{"kind": "smooth_hull", "vertices": [[1,0]], "sharpness": 5}`), "vertices[0] has 2 numbers, want 3"},
		{library(`{"kind": "smooth_hull", "vertices": [[1,0,0]], "sharpness": 2}`), "sharpness = 2"},
		{library(`{"kind": "smooth_revolution", "profile": [[1,1]], "sharpness": 5, "flatness": 0.1}`),
			"does not reach around the origin"},
		{library(`{"kind": "smooth_revolution", "profile": [[1,1,1]], "sharpness": 5, "flatness": 0.1}`),
			"profile[0] has 3 numbers, want 2"},
		{library(`{"kind": 3}`), "shape 1: kind: 3, want a string"},
		{library(`{"kind": null}`), "want a string"},
		{library(`{"kind": "sphere", "name": "s"}`), `shape 1 ("s"): sphere: parameter radius is missing`},
		{library(`{"name": "s", "kind": "sphere", "radius": 1, "radius": 2}`),
			`shape 1 ("s"): field "radius" occurs twice`},
		{library(`{"kind": "sphere", "radius": 1, "half_length": 2}`),
			`sphere: unknown parameter "half_length", want radius, name, margin, center`},
		{library(`{"kind": "sphere", "radius": 1, "color": 2}`), `unknown parameter "color"`},
		{library(`{"kind": "sphere", "radius": 1, "part": "x"}`), `unknown parameter "part"`},
		{library(`{"kind": "sphere", "radius": -1, "name": "s"}`), `shape 1 ("s"): sphere: radius = -1`},
		{library(`{"kind": "sphere", "radius": 0}`), "radius = 0"},
		{library(`{"kind": "sphere", "radius": "1"}`), "sphere: radius: string, want a number"},
		{library(`{"kind": "box", "half_extents": [1, "2", 3]}`), "box: half_extents: string, want a number"},
		{library(`{"kind": "box", "half_extents": 3}`), "box: half_extents: number, want a list"},
		{library(`{"kind": "sphere", "radius": null}`), "sphere: radius: null"},
		{library(`{"kind": "sphere", "radius": NaN}`), "shape 1: radius: "},
		{library(`{"kind": "sphere", "radius": NaN}`), "neither NaN nor Infinity"},
		{library(`{"kind": "sphere", "radius": -Infinity}`), "neither NaN nor Infinity"},
		{library(`{"kind": "sphere", "radius": 1e999}`), "sphere: radius: number 1e999 is out of the range of float64"},
		{library(`{"kind": "sphere", "radius": 1, "margin": -0.1}`), "margin = -0.1"},
		{library(`{"kind": "sphere", "radius": 1, "margin": null}`), "margin: null"},
		{library(`{"kind": "sphere", "radius": 1, "name": "s", "center": [1, 0, 0]}`),
			`shape 1 ("s"): sphere: center = (1, 0, 0), want an interior point`},
		{library(`{"kind": "sphere", "radius": 1, "center": [1, 0]}`), "sphere: center has 2 numbers, want 3"},
		{library(`{"kind": "sphere", "radius": 1, "center": null}`), "sphere: center: null"},
		{library(`{"kind": "sphere", "radius": 1, "center": [1, 0, "x"]}`), "sphere: center: string, want a number"},
		{library(`{"kind": "halfspace", "center": [0, 0, -1]}`), "halfspace: center: a half-space does not grow"},
		{library(`{"kind": "convex", "vertices": [[0, 0, 0], [1, 0, 0]], "center": [2, 0, 0]}`),
			"convex: center = (2, 0, 0), want a point of the flat shape; this one lies 1 m away"},
		{library(`{"kind": "capsule", "radius": 1}`), "capsule: parameter half_length is missing"},
		{library(`{"kind": "cone", "radius": 1, "half_length": -2}`), "cone: half_length = -2"},
		{library(`{"kind": "frustum", "radius_bottom": 0, "radius_top": 0, "half_length": 1}`), "radius_top"},
		{library(`{"kind": "box", "half_extents": [1, 2]}`), "box: half_extents has 2 numbers, want 3"},
		{library(`{"kind": "box", "half_extents": [1, 2, null]}`), "box: half_extents: null"},
		{library(`{"kind": "box", "half_extents": null}`), "box: half_extents: null"},
		{library(`{"kind": "box", "half_extents": [1, 2, 0]}`), "half_extents.z = 0"},
		{library(`{"kind": "ellipsoid", "semi_axes": [1, 2, 3, 4]}`), "semi_axes has 4 numbers"},
		{library(`{"kind": "superquadric", "semi_axes": [1, 2, 3], "exponents": [1]}`),
			"exponents has 1 numbers, want 2"},
		{library(`{"kind": "superquadric", "semi_axes": [1, 2, 3], "exponents": [1, 3]}`), "exponents[1] = 3"},
		{library(`{"kind": "convex"}`), "parameter vertices (or mesh) is missing"},
		{library(`{"kind": "convex", "vertices": []}`), "convex: 0 vertices"},
		{library(`{"kind": "convex", "vertices": [[0, 0, 0], [1, 2]]}`), "vertices[1] has 2 numbers"},
		{library(`{"kind": "convex", "vertices": [[0, 0, 1e300]]}`), "vertices[0].z = 1e+300"},
		{library(`{"kind": "convex", "vertices": [[0, 0, 0]], "mesh": "a.obj"}`), `unknown parameter "vertices"`},
		{library(`{"kind": "convex", "vertices": [[0, 0, 0]], "part": "a"}`), `unknown parameter "part"`},
		{library(`{"kind": "convex", "mesh": 3}`), "convex: mesh: number, want a string"},
		{library(`{"kind": "convex", "mesh": "none.obj"}`), "convex: mesh: open "},
		{library(`{"kind": "halfspace", "radius": 3}`), `halfspace: unknown parameter "radius"`},
	} {
		path := testkit.TempFile(t, "shapes.json", []byte(c.text))
		_, _, err := ReadShapes(path)
		testkit.WantError(t, err, path, c.want)
		if t.Failed() {
			t.Fatalf("from %s", c.text)
		}
	}
	if _, _,
		err := ReadShapes(testkit.TempFile(t, "shapes.json",
		[]byte(library(`{"kind": "sphere", "radius"; 1}`)))); err == nil ||
		strings.Contains(err.Error(), "NaN") {
		t.Errorf("%v: there is no NaN", err)
	}
	_, _, err := ReadShapes(filepath.Join(t.TempDir(), "none.json"))
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v is not os.ErrNotExist", err)
	}
}

// twoCubes is a mesh of two groups: a unit cube around the origin, and one at x = 5.
func twoCubes() string {
	var b strings.Builder
	for g, name := range []string{"left", "right"} {
		fmt.Fprintf(&b, "o %s\n", name)
		for i := range 8 {
			fmt.Fprintf(&b, "v %g %g %g\n", 5*float64(g)+float64(i&1)-0.5, float64(i>>1&1)-0.5, float64(i>>2)-0.5)
		}
		for _, f := range [][4]int{{1, 3, 4, 2}, {5, 6, 8, 7}, {1, 2, 6, 5}, {3, 7, 8, 4}, {1, 5, 7, 3}, {2, 4, 8, 6}} {
			fmt.Fprintf(&b, "f %d %d %d %d\n", f[0]+8*g, f[1]+8*g, f[2]+8*g, f[3]+8*g)
		}
	}
	return b.String()
}

// dented is a mesh of one group that is not convex: a cube whose top is pushed
// down to a point above its middle.
const dented = `o dent
v -1 -1 -1
v 1 -1 -1
v 1 1 -1
v -1 1 -1
v -1 -1 1
v 1 -1 1
v 1 1 1
v -1 1 1
v 0 0 -0.5
f 1 4 3 2
f 1 2 6 5
f 2 3 7 6
f 3 4 8 7
f 4 1 5 8
f 5 6 9
f 6 7 9
f 7 8 9
f 8 5 9
`

func TestMeshShapes(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"sub/cubes.obj": twoCubes(), "empty.obj": "# nothing\n", "dented.obj": dented, "bad.obj": "v 1 2 x\n",
		"twice.obj": "o a\n" + strings.Repeat("v 1 2 3\n", 3) + "f 1 2 3\no b\nf 1 2 3\no a\nf 3 2 1\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "shapes.json")
	read := func(text string) ([]geom.Shape, error) {
		if err := os.WriteFile(path, []byte(library(text)), 0o600); err != nil {
			t.Fatal(err)
		}
		s, _, err := ReadShapes(path)
		return s, err
	}
	s, err := read(`{"kind": "convex", "mesh": "sub/cubes.obj"},
		{"kind": "convex", "mesh": "sub/cubes.obj", "part": "right", "margin": 0.5},
		{"kind": "convex", "mesh": "` + filepath.ToSlash(filepath.Join(dir, "dented.obj")) + `"},
		{"kind": "convex", "mesh": "dented.obj", "part": "dent", "tolerance": 0.9}`)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][2]r3.Vec{
		{{X: -0.5, Y: -0.5, Z: -0.5}, {X: 5.5, Y: 0.5, Z: 0.5}},
		{{X: 4, Y: -1, Z: -1}, {X: 6, Y: 1, Z: 1}},
		{{X: -1, Y: -1, Z: -1}, {X: 1, Y: 1, Z: 1}},
	} {
		if lo, hi := s[i+1].AABB(); lo != want[0] || hi != want[1] {
			t.Errorf("mesh %d spans %v to %v, want %v", i, lo, hi, want)
		}
	}
	for _, c := range []struct{ text, want string }{
		{`{"kind": "convex", "name": "n", "mesh": "none.obj"}`, `shape 1 ("n"): convex: mesh: `},
		{`{"kind": "convex", "mesh": "none.obj"}`, "none.obj"},
		{`{"kind": "convex", "mesh": "none.step"}`, "none.step"},
		{`{"kind": "convex", "mesh": "empty.obj"}`, "empty.obj"},
		{`{"kind": "convex", "mesh": "bad.obj"}`, "bad.obj"},
		{`{"kind": "convex", "mesh": "sub/cubes.obj", "part": "middle"}`, `sub/cubes.obj has no group "middle"`},
		{`{"kind": "convex", "mesh": "sub/cubes.obj", "part": null}`, "part: null"},
		{`{"kind": "convex", "name": "d", "mesh": "dented.obj", "part": "dent"}`,
			`shape 1 ("d"): convex: part "dent" of dented.obj: `},
		{`{"kind": "convex", "mesh": "dented.obj", "part": "dent", "tolerance": 0.001}`, "(tolerance 0.001)"},
		{`{"kind": "convex", "mesh": "dented.obj", "part": "dent", "tolerance": -1}`, "tolerance -1, want 0 to 1"},
		{`{"kind": "convex", "mesh": "dented.obj", "tolerance": 0.5}`, "want a part"},
		{`{"kind": "sphere", "radius": 1, "tolerance": 0.5}`, `unknown parameter "tolerance"`},
	} {
		_, err := read(c.text)
		testkit.WantError(t, err, path, c.want)
	}
}

// TestHullBuiltOnce: shapes that name one mesh, or one part of it, share the hull, whatever their margins.
func TestHullBuiltOnce(t *testing.T) {
	cube := []r3.Vec{{}, {X: 1}, {Y: 1}, {Z: 1}, {X: 1, Y: 1}, {X: 1, Z: 1}, {Y: 1, Z: 1}, {X: 1, Y: 1, Z: 1}}
	faces := [][]int32{{0, 2, 4, 1}, {3, 5, 7, 6}, {0, 1, 5, 3}, {2, 6, 7, 4}, {0, 3, 6, 2}, {1, 4, 7, 5}}
	read := func(string) ([]mesh.Part, error) {
		return []mesh.Part{{Name: "a", Vertices: cube, Faces: faces}, {Name: "b", Vertices: cube, Faces: faces}}, nil
	}
	whole, part := `{"kind": "convex", "mesh": "p.obj"`, `{"kind": "convex", "mesh": "p.obj", "part": "a"`
	text := library(strings.Join([]string{
		whole + "}", whole + `, "margin": 0.1}`, part + "}", part + `, "margin": 0.2}`,
		`{"kind": "convex", "mesh": "./p.obj"}`, `{"kind": "convex", "mesh": "p.obj", "part": "b"}`}, ","))
	p, err := parseShapes(strings.NewReader(text), "dir", read)
	if err != nil {
		t.Fatal(err)
	}
	shapes := p.shapes
	hull := make([]geom.Shape, len(shapes)-1) // behind a half-space
	for i := range hull {
		hull[i], _ = geom.WithoutMargin(shapes[i+1])
	}
	if hull[0] != hull[1] || hull[0] != hull[4] || hull[2] != hull[3] {
		t.Error("a hull was built twice")
	}
	if hull[0] == hull[2] || hull[2] == hull[5] {
		t.Error("different parts share a hull")
	}
}

// TestMeshReadOnce: a decomposition of many parts is one file, read once.
func TestMeshReadOnce(t *testing.T) {
	reads := 0
	cube := []r3.Vec{{}, {X: 1}, {Y: 1}, {Z: 1}}
	read := func(path string) ([]mesh.Part, error) {
		reads++
		if want := filepath.Join("dir", "p.obj"); path != want {
			t.Errorf("reads %s, want %s", path, want)
		}
		return []mesh.Part{{Name: "a", Vertices: cube}, {Name: "a", Vertices: cube}, {Name: "b"}}, nil
	}
	one := `{"kind": "convex", "mesh": "p.obj"}`
	if _, err := parseShapes(strings.NewReader(library(one+","+one)), "dir", read); err != nil || reads != 1 {
		t.Errorf("%d reads, %v", reads, err)
	}
	_, err := parseShapes(strings.NewReader(library(`{"kind": "convex", "mesh": "p.obj", "part": "a"}`)), "dir",
		read)
	testkit.WantError(t, err, `several groups "a"`)
	_, err = parseShapes(strings.NewReader(library(`{"kind": "convex", "mesh": "p.obj", "part": "b"}`)), "dir", read)
	if err == nil {
		t.Error("a part without vertices is no error")
	}
}
