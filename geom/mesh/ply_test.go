package mesh

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

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
				got[i].Rounding = 0 // see rounding_test.go
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
