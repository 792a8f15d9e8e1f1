package mesh

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"gonum.org/v1/gonum/spatial/r3"
)

// tetrahedron is what all the golden files hold.
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
				got[i].Rounding = 0 // see rounding_test.go
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
