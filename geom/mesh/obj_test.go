package mesh

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"gonum.org/v1/gonum/spatial/r3"
)

// checkParts reports what no reader may return.
func checkParts(t testing.TB, parts []Part) {
	t.Helper()
	if len(parts) == 0 {
		t.Fatal("no parts and no error")
	}
	for _, p := range parts {
		if len(p.Vertices) == 0 {
			t.Fatalf("part %q has no vertices", p.Name)
		}
		for _, v := range p.Vertices {
			if s := v.X - v.X + (v.Y - v.Y) + (v.Z - v.Z); s != 0 {
				t.Fatalf("part %q has the vertex %v", p.Name, v)
			}
		}
		for _, f := range p.Faces {
			if len(f) < 3 {
				t.Fatalf("part %q has the face %v", p.Name, f)
			}
			for _, k := range f {
				if k < 0 || int(k) >= len(p.Vertices) {
					t.Fatalf("part %q has a face with vertex %d of %d", p.Name, k, len(p.Vertices))
				}
			}
		}
	}
}

// checkError wants an *Error that contains all of want, which starts with the place.
func checkError(t *testing.T, err error, want ...string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v, want an *Error with %q", err, want)
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
}

func v3(x, y, z float64) r3.Vec { return r3.Vec{X: x, Y: y, Z: z} }

// A byte order mark and line ends of Windows change nothing.
func TestReadOBJOfWindows(t *testing.T) {
	parts, err := ReadOBJ(strings.NewReader("\ufeffv 0 0 0\r\nv 1 0 0\r\nv 0 1 0\r\nf 1 2 3\r\n"), "a.obj")
	if err != nil || len(parts) != 1 || len(parts[0].Vertices) != 3 || len(parts[0].Faces) != 1 {
		t.Errorf("%+v, %v", parts, err)
	}
}

func TestReadOBJ(t *testing.T) {
	tests := []struct {
		name, text string
		want       []Part
	}{
		{"plain", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", []Part{
			{Name: "file", Vertices: []r3.Vec{v3(0, 0, 0), v3(1, 0, 0), v3(0, 1, 0)}, Faces: [][]int32{{0, 1, 2}}}}},
		{"no end of line, comments, CR LF, tabs", "# head\r\nv 0 0 0 # first\r\n\r\n\tv\t1 0 0\r\nv 0 1e0 0\r\nf 1 2 3",
			[]Part{
				{Name: "file", Vertices: []r3.Vec{v3(0, 0, 0), v3(1, 0, 0), v3(0, 1, 0)},
					Faces: [][]int32{{0, 1, 2}}}}},
		{"continued lines", "v 0 0 \\\n0\nv 1 0 0\nv 0 1 0\nf 1 \\\r\n2 \\\n3\n", []Part{
			{Name: "file", Vertices: []r3.Vec{v3(0, 0, 0), v3(1, 0, 0), v3(0, 1, 0)}, Faces: [][]int32{{0, 1, 2}}}}},
		{"forms of corners", "v 0 0 0\nv 1 0 0 1\nv 0 1 0 0.5 0.5 0.5\nv 0 0 1 1 .5 .5 .5\nvt 0 0\nvn 0 0 1\nf 1/1 " +
			"2//1 3/1/1 4\nf -4 -3/1 -1//-1\n", []Part{
			{Name: "file", Vertices: []r3.Vec{v3(0, 0, 0), v3(1, 0, 0), v3(0, 1, 0), v3(0, 0, 1)},
				Faces: [][]int32{{0, 1, 2, 3}, {0, 1, 3}}}}},
		{"objects with global and negative indices", "o a\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\no b c\nv 5 5 5\nv 6 5 " +
			"5\nf -2 -1 3\n", []Part{
			{Name: "a", Vertices: []r3.Vec{v3(0, 0, 0), v3(1, 0, 0), v3(0, 1, 0)}, Faces: [][]int32{{0, 1, 2}}},
			{Name: "b c", Vertices: []r3.Vec{v3(0, 1, 0), v3(5, 5, 5), v3(6, 5, 5)}, Faces: [][]int32{{1, 2, 0}}}}},
		{"vertices listed before groups", "o a\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\ng x\nf 1 2 3\ng y\nf 2 3 4\n",
			[]Part{
				{Name: "a/x", Vertices: []r3.Vec{v3(0, 0, 0), v3(1, 0, 0), v3(0, 1, 0)}, Faces: [][]int32{{0, 1, 2}}},
				{Name: "a/y", Vertices: []r3.Vec{v3(1, 0, 0), v3(0, 1, 0), v3(0, 0, 1)}, Faces: [][]int32{{0, 1, 2}}}}},
		{"a group that comes back", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\ng x\nf 1 2 3\ng y\nf 2 3 4\ng x\nf 1 2 4\n",
			[]Part{
				{Name: "x", Vertices: []r3.Vec{v3(0, 0, 0), v3(1, 0, 0), v3(0, 1, 0), v3(0, 0, 1)},
					Faces: [][]int32{{0, 1, 2}, {0, 1, 3}}},
				{Name: "y", Vertices: []r3.Vec{v3(1, 0, 0), v3(0, 1, 0), v3(0, 0, 1)}, Faces: [][]int32{{0, 1, 2}}}}},
		{"point clouds", "o a\nv 0 0 0\no b\nv 1 2 3\nv 4 5 6\no empty\n", []Part{
			{Name: "a", Vertices: []r3.Vec{v3(0, 0, 0)}}, {Name: "b", Vertices: []r3.Vec{v3(1, 2, 3), v3(4, 5, 6)}}}},
		{"objects of one name stay apart", "o a\nv 0 0 0\no a\nv 1 0 0\n", []Part{
			{Name: "a", Vertices: []r3.Vec{v3(0, 0, 0)}}, {Name: "a", Vertices: []r3.Vec{v3(1, 0, 0)}}}},
		{"faces before vertices", "f 1 2 3\nv 0 0 0\nv 1 0 0\nv 0 1 0\n", []Part{
			{Name: "file", Vertices: []r3.Vec{v3(0, 0, 0), v3(1, 0, 0), v3(0, 1, 0)}, Faces: [][]int32{{0, 1, 2}}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ReadOBJ(strings.NewReader(tt.text), "dir/file.obj")
			if err != nil {
				t.Fatal(err)
			}
			checkParts(t, got)
			for i := range got {
				got[i].Rounding = 0 // see rounding_test.go
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got  %v\nwant %v", got, tt.want)
			}
		})
	}
}

func TestReadOBJErrors(t *testing.T) {
	const square = "v 0 0 0\nv 1 0 0\nv 0 1 0\n"
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"empty", "", []string{"bad.obj: no vertices"}},
		{"comments only", "# nothing\n", []string{"no vertices"}},
		{"NaN", "v 0 0 0\nv nan 0 0\n", []string{"bad.obj:2:", "x \"nan\" is not finite"}},
		{"infinite", "v 0 -Inf 0\n", []string{":1:", "y", "not finite"}},
		{"overflow", "v 0 0 1e999\n", []string{":1:", "z", "not finite"}},
		{"word", "v 0 0 zero\n", []string{":1:", "\"zero\" is not a number"}},
		{"two numbers", "v 0 0\n", []string{":1:", "2 numbers"}},
		{"index too large", square + "f 1 2 4\n", []string{":4:", "vertex 4, but the file has 3"}},
		{"index zero", square + "f 0 1 2\n", []string{":4:", "\"0\" is not a vertex index"}},
		{"index too negative", square + "f -4 1 2\n", []string{":4:", "vertex -4", "3 so far"}},
		{"index too long", square + "f 1 2 99999999999999999999\n", []string{":4:", "not a vertex index"}},
		{"index a word", square + "f 1 2 x\n", []string{":4:", "not a vertex index"}},
		{"corner of four", square + "f 1/1/1/1 2 3\n", []string{":4:", "v/vt/vn"}},
		{"texture a word", square + "f 1/x 2 3\n", []string{":4:", "v/vt/vn"}},
		{"edge", square + "f 1 2\n", []string{":4:", "2 corners"}},
		{"unknown statement", square + "facet 1 2 3\n", []string{":4:", "unknown statement \"facet\""}},
		{"line of a continued statement", "v 0 0 0\nv 1 \\\n1\n", []string{":3:", "2 numbers"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ReadOBJ(strings.NewReader(tt.text), "bad.obj")
			checkError(t, err, tt.want...)
		})
	}
}

func TestReadByExtension(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "Part.OBJ")
	if err := os.WriteFile(path, []byte("v 1 2 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	parts, err := Read(path)
	if err != nil || len(parts) != 1 || parts[0].Name != "Part" {
		t.Errorf("parts %v, error %v", parts, err)
	}
	_, err = Read(filepath.Join(dir, "a.step"))
	checkError(t, err, "unknown mesh format \".step\"")
	if _, err = Read(filepath.Join(dir, "missing.stl")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v for a missing file", err)
	}
}

func FuzzReadOBJ(f *testing.F) {
	f.Add([]byte("o a\nv 0 0 0\nv 1 0 0\nv 0 1 0\ng b\nf 1/1 2//2 -1/3/4\n"))
	f.Add([]byte("f 1 2 3\nv 0 \\\n0 0"))
	f.Fuzz(func(t *testing.T, data []byte) {
		parts, err := ReadOBJ(strings.NewReader(string(data)), "fuzz.obj")
		if err == nil {
			checkParts(t, parts)
		}
	})
}
