package mesh

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

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
				got[i].Rounding = 0 // see TestRounding
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

// tetrahedron is the mesh of all golden files.
var tetrahedron = Part{
	Name:     "file",
	Vertices: []r3.Vec{v3(0, 0, 0), v3(0, 1.5, 0), v3(1.5, 0, 0), v3(0, 0, -2.5)},
	Faces:    [][]int32{{0, 1, 2}, {0, 2, 3}, {0, 3, 1}, {1, 3, 2}},
}

func asciiSTL(p Part) string {
	var b strings.Builder
	fmt.Fprintf(&b, "solid %s\n", p.Name)
	for _, f := range p.Faces {
		b.WriteString("  facet normal nan nan nan\n    outer loop\n")
		for _, k := range f {
			v := p.Vertices[k]
			fmt.Fprintf(&b, "      vertex %g %g %g\n", v.X, v.Y, v.Z)
		}
		b.WriteString("    endloop\n  endfacet\n")
	}
	fmt.Fprintf(&b, "endsolid %s\n", p.Name)
	return b.String()
}

func binarySTL(p Part, header string) []byte {
	b := make([]byte, 80)
	copy(b, header)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(p.Faces)))
	for _, f := range p.Faces {
		b = append(b, make([]byte, 12)...)
		for _, k := range f {
			v := p.Vertices[k]
			for _, x := range []float64{v.X, v.Y, v.Z} {
				b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(x)))
			}
		}
		b = append(b, 0, 0)
	}
	return b
}

func TestReadSTL(t *testing.T) {
	ascii := asciiSTL(tetrahedron)
	two := tetrahedron
	two.Name = "a second one"
	for name, tt := range map[string]struct {
		data string
		want []Part
	}{
		"ascii": {ascii, []Part{tetrahedron}},
		"ascii in capitals, CR LF": {strings.ReplaceAll(strings.ReplaceAll(ascii, "vertex", "VERTEX"), "\n", "\r\n"),
			[]Part{tetrahedron}},
		"two solids":             {ascii + asciiSTL(two), []Part{tetrahedron, two}},
		"solid without a name":   {strings.ReplaceAll(ascii, " file", ""), []Part{tetrahedron}},
		"binary":                 {string(binarySTL(tetrahedron, "made by hand")), []Part{tetrahedron}},
		"binary that says solid": {string(binarySTL(tetrahedron, "solid made by hand")), []Part{tetrahedron}},
		"ascii after blanks":     {" \n" + ascii, []Part{tetrahedron}},
		"minus zero is the same zero": {strings.Replace(ascii, "vertex 0 1.5 0", "vertex -0 1.5 -0", 1),
			[]Part{tetrahedron}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ReadSTL(strings.NewReader(tt.data), "dir/file.stl")
			if err != nil {
				t.Fatal(err)
			}
			checkParts(t, got)
			for i := range got {
				got[i].Rounding = 0 // see TestRounding
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got  %v\nwant %v", got, tt.want)
			}
		})
	}
}

func TestReadSTLErrors(t *testing.T) {
	ascii := asciiSTL(tetrahedron)
	bin := binarySTL(tetrahedron, "")
	nan := bytes.Clone(bin)
	binary.LittleEndian.PutUint32(nan[84+50+12+16:], math.Float32bits(float32(math.NaN())))
	liar := bytes.Clone(bin)
	binary.LittleEndian.PutUint32(liar[80:], math.MaxUint32)
	none := bytes.Clone(bin[:84])
	binary.LittleEndian.PutUint32(none[80:], 0)
	for name, tt := range map[string]struct {
		data string
		want []string
	}{
		"empty":            {"", []string{"bad.stl: byte 0:", "header"}},
		"short":            {"abc", []string{"byte 3:", "header"}},
		"truncated binary": {string(bin[:len(bin)-1]), []string{"byte 80:", "4 triangles", "truncated"}},
		"trailing bytes":   {string(bin) + "x", []string{"byte 80:", "284 bytes, but it has 285"}},
		"lying count":      {string(liar), []string{"byte 80:", "4294967295 triangles"}},
		"no triangles":     {string(none), []string{"byte 80:", "no triangles"}},
		"NaN":              {string(nan), []string{"byte 162:", "y of corner 2 of triangle 2 is NaN"}},
		"ascii NaN": {strings.Replace(ascii, "1.5 0 0", "1.5 nan 0", 1),
			[]string{"bad.stl:6:", "y \"nan\" is not finite"}},
		"ascii truncated": {ascii[:len(ascii)/2], []string{"bad.stl:"}},
		"missing endsolid": {strings.Replace(ascii, "endsolid file\n", "", 1),
			[]string{":29:", "endsolid was expected"}},
		"no facets": {"solid a\nendsolid a\n", []string{":2:", "no facets"}},
		"four corners": {strings.Replace(ascii, "    endloop", "vertex 0 0 0\nendloop", 1),
			[]string{":7:", "\"vertex\" where endloop was expected"}},
		"two corners": {strings.Replace(ascii, "      vertex 0 1.5 0\n", "", 1),
			[]string{":6:", "where vertex was expected"}},
		"vertex of two": {strings.Replace(ascii, "vertex 0 1.5 0", "vertex 0 1.5", 1),
			[]string{":5:", "2 words, want 3"}},
		"words after solids": {ascii + "hello\n", []string{":31:", "\"hello\" where solid was expected"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadSTL(strings.NewReader(tt.data), "bad.stl")
			checkError(t, err, tt.want...)
		})
	}
}

func FuzzReadSTL(f *testing.F) {
	f.Add([]byte(asciiSTL(tetrahedron)))
	f.Add(binarySTL(tetrahedron, "solid"))
	f.Fuzz(func(t *testing.T, data []byte) {
		parts, err := ReadSTL(bytes.NewReader(data), "fuzz.stl")
		if err == nil {
			checkParts(t, parts)
		}
	})
}

const plyHead = `ply
format %s 1.0
comment a comment with words
obj_info and more
element camera 2
property list uchar short shape
property float f
element vertex 4
property double z
property float x
property float y
property uchar red
element face 4
property uchar flags
property list uchar %s vertex_indices
end_header
`

func asciiPLY(p Part) string {
	var b strings.Builder
	fmt.Fprintf(&b, plyHead, "ascii", "int")
	b.WriteString("2 -7 8 nan\n0 1e999\n")
	for _, v := range p.Vertices {
		fmt.Fprintf(&b, "%g %g %g 255\n", v.Z, v.X, v.Y)
	}
	for _, f := range p.Faces {
		fmt.Fprintf(&b, "1 %d %d %d %d\n", len(f), f[0], f[1], f[2])
	}
	return b.String()
}

func binaryPLY(p Part, order binary.AppendByteOrder, name string) []byte {
	b := fmt.Appendf(nil, plyHead, name, "ushort")
	b = append(b, 2)
	b = order.AppendUint16(order.AppendUint16(b, 65529), 8)
	b = order.AppendUint32(b, math.Float32bits(1))
	b = order.AppendUint32(append(b, 0), math.Float32bits(2))
	for _, v := range p.Vertices {
		b = order.AppendUint64(b, math.Float64bits(v.Z))
		b = order.AppendUint32(b, math.Float32bits(float32(v.X)))
		b = order.AppendUint32(b, math.Float32bits(float32(v.Y)))
		b = append(b, 255)
	}
	for _, f := range p.Faces {
		b = append(b, 1, byte(len(f)))
		for _, k := range f {
			b = order.AppendUint16(b, uint16(k))
		}
	}
	return b
}

func TestReadPLY(t *testing.T) {
	cloud := Part{Name: "file", Vertices: tetrahedron.Vertices[1:2]}
	little := string(binaryPLY(tetrahedron, binary.LittleEndian, "binary_little_endian"))
	for name, tt := range map[string]struct {
		data string
		want Part
	}{
		"ascii":         {asciiPLY(tetrahedron), tetrahedron},
		"ascii, CR LF":  {strings.ReplaceAll(asciiPLY(tetrahedron), "\n", "\r\n"), tetrahedron},
		"little endian": {little, tetrahedron},
		"big endian":    {string(binaryPLY(tetrahedron, binary.BigEndian, "binary_big_endian")), tetrahedron},
		"no faces": {"ply\nformat ascii 1.0\nelement vertex 1\nproperty int x\nproperty float32 y\nproperty float64 " +
			"z\nend_header\n0 1.5 0",
			cloud},
		"faces of count 0": {"ply\nformat ascii 1.0\nelement face 0\nelement vertex 1\nproperty int x\nproperty " +
			"float y\nproperty float z\nend_header\n0 1.5 0\n",
			cloud},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ReadPLY(strings.NewReader(tt.data), "dir/file.ply")
			if err != nil {
				t.Fatal(err)
			}
			checkParts(t, got)
			for i := range got {
				got[i].Rounding = 0 // see TestRounding
			}
			if !reflect.DeepEqual(got, []Part{tt.want}) {
				t.Errorf("got  %v\nwant %v", got, tt.want)
			}
		})
	}
}

func TestReadPLYErrors(t *testing.T) {
	ascii := asciiPLY(tetrahedron)
	bin := string(binaryPLY(tetrahedron, binary.LittleEndian, "binary_little_endian"))
	replace := func(old, new string) string {
		t.Helper()
		if !strings.Contains(ascii, old) {
			t.Fatalf("the golden file does not contain %q", old)
		}
		return strings.Replace(ascii, old, new, 1)
	}
	head := strings.Index(bin, "end_header\n") + len("end_header\n")
	nan := []byte(bin)
	binary.LittleEndian.PutUint64(nan[head+14:], math.Float64bits(math.NaN()))
	index := []byte(bin)
	index[len(index)-1] = 1 // the high byte of the last index
	for name, tt := range map[string]struct {
		data string
		want []string
	}{
		"empty":         {"", []string{"bad.ply:1:", "does not start with ply"}},
		"other magic":   {"plywood\n", []string{"bad.ply:1:", "not ply"}},
		"header only":   {"ply\nformat ascii 1.0\n", []string{":2:", "ends within the header"}},
		"no format":     {strings.Replace(ascii, "format ascii 1.0\n", "", 1), []string{"no format line"}},
		"other version": {replace("ascii 1.0", "ascii 2.0"), []string{":2:", "format \"ascii 2.0\""}},
		"unknown line":  {replace("comment a", "remark a"), []string{":3:", "unknown header line \"remark\""}},
		"unknown type": {replace("property double z", "property half z"),
			[]string{":9:", "unknown property type"}},
		"float list length": {replace("list uchar int", "list float int"), []string{":15:", "not an integer type"}},
		"float list": {replace("list uchar int", "list uchar float"),
			[]string{"no list vertex_indices of integers"}},
		"twice": {replace("property float x", "property float y"),
			[]string{":11:", "y of vertex is declared twice"}},
		"property first": {"ply\nproperty int x\n", []string{":2:", "before the first element"}},
		"no x": {replace("property float x", "property float u"),
			[]string{"no scalar properties x, y, z"}},
		"no vertices":    {"ply\nformat ascii 1.0\nend_header\n", []string{"bad.ply: no vertices"}},
		"negative count": {replace("vertex 4", "vertex -4"), []string{":8:", "\"-4\" is not a count"}},
		"lying count": {replace("vertex 4", "vertex 2000000000"), []string{":8:", "2000000000 records",
			"truncated"}},
		"lying binary count": {strings.Replace(bin, "face 4", "face 99", 1),
			[]string{":13:", "99 records", "truncated"}},
		"count without values": {"ply\nformat ascii 1.0\nelement x 99\nelement vertex 1\nproperty int x\nproperty " +
			"int y\nproperty int z\nend_header\n1 2 3\n", []string{":3:", "99 records"}},
		"lying list length": {replace("\n1 3 0 1 2", "\n1 255 0 1 2"),
			[]string{":23:", "list vertex_indices of 255 values"}},
		"NaN": {replace("\n0 1.5 0 255", "\n0 nan 0 255"), []string{":21:", "x of vertex 2 is NaN"}},
		"overflow": {replace("\n0 1.5 0 255", "\n-1e999 1 0 255"),
			[]string{":21:", "z of vertex 2 is -Inf"}},
		"word": {replace("\n0 1.5 0 255", "\n0 one 0 255"),
			[]string{":21:", "x \"one\" is not a number"}},
		"too many values": {replace("\n0 1.5 0 255", "\n0 1.5 0 255 1"), []string{":21:", "1 values too many"}},
		"too few values": {replace("\n0 1.5 0 255", "\n0 1.5 0"),
			[]string{":21:", "the line ends where red was expected"}},
		"value beyond type": {replace("\n0 1.5 0 255", "\n0 1.5 0 256"),
			[]string{":21:", "not an integer of 8 bits"}},
		"index too large": {replace("\n1 3 0 1 2", "\n1 3 0 1 4"),
			[]string{":23:", "vertex 4, but the vertices are 0 to 3"}},
		"index negative": {replace("\n1 3 0 1 2", "\n1 3 0 1 -1"), []string{":23:", "vertex -1"}},
		"face of two":    {replace("\n1 3 0 1 2", "\n1 2 0 1"), []string{":23:", "2 corners"}},
		"last line missing": {strings.TrimSuffix(ascii, "1 3 1 3 2\n"),
			[]string{":25:", "ends at record 3 of the 4"}},
		"line too many": {ascii + "1\n", []string{":27:", "\"1\" after the last record"}},
		"binary truncated": {bin[:len(bin)-1], []string{fmt.Sprintf("byte %d:", len(bin)-2),
			"vertex_indices was expected"}},
		"binary trailing": {bin + "x", []string{fmt.Sprintf("byte %d:", len(bin)), "1 bytes after"}},
		"binary NaN":      {string(nan), []string{"byte ", "z of vertex 0 is NaN"}},
		"binary index":    {string(index), []string{fmt.Sprintf("byte %d:", len(bin)), "vertex 258, but"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadPLY(strings.NewReader(tt.data), "bad.ply")
			checkError(t, err, tt.want...)
		})
	}
}

func FuzzReadPLY(f *testing.F) {
	f.Add([]byte(asciiPLY(tetrahedron)))
	f.Add(binaryPLY(tetrahedron, binary.LittleEndian, "binary_little_endian"))
	f.Add(binaryPLY(tetrahedron, binary.BigEndian, "binary_big_endian"))
	f.Fuzz(func(t *testing.T, data []byte) {
		parts, err := ReadPLY(bytes.NewReader(data), "fuzz.ply")
		if err == nil {
			checkParts(t, parts)
		}
	})
}

// TestPLYHeaderTime: a header is read in time that grows with its length.
func TestPLYHeaderTime(t *testing.T) {
	var b strings.Builder
	b.WriteString("ply\nformat ascii 1.0\nelement vertex 1\n")
	const lines = 400_000
	for i := range lines {
		fmt.Fprintf(&b, "property float p%d\n", i)
	}
	for i := range lines {
		fmt.Fprintf(&b, "element e%d 0\n", i)
	}
	b.WriteString("end_header\n")
	begin := time.Now()
	_, err := ReadPLY(strings.NewReader(b.String()), "long.ply")
	if err == nil {
		t.Error("a vertex without values passes")
	}
	if d := time.Since(begin); d > time.Minute { // half a second; minutes if it grew with the square
		t.Errorf("%d lines took %v", 2*lines, d)
	}
}
