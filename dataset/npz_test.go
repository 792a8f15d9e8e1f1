package dataset

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"clearance/batch"
)

// npyFile is an array with a header of the caller's making.
type npyFile struct {
	name   string
	header string // the dictionary
	data   []byte
}

func (f *npyFile) bytes() []byte {
	b := []byte(npyMagic + "\x01\x00")
	b = binary.LittleEndian.AppendUint16(b, uint16(len(f.header)))
	return append(append(b, f.header...), f.data...)
}

func dict(descr, shape string) string {
	return fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape)
}

// pairFiles are the arrays of n pairs, all zero.
func pairFiles(n int) []npyFile {
	var files []npyFile
	for _, c := range pairColumns {
		shape, descr := fmt.Sprintf("(%d,)", n), "<i4"
		if c.width > 1 {
			shape, descr = fmt.Sprintf("(%d, %d)", n, c.width), "<f8"
		}
		files = append(files, npyFile{c.name, dict(descr, shape), make([]byte, n*c.width*c.read[0].size())})
	}
	return files
}

func zipped(t testing.TB, files []npyFile, method uint16) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := range files {
		f, err := w.CreateHeader(&zip.FileHeader{Name: files[i].name + ".npy", Method: method})
		if err != nil {
			t.Fatal(err)
		}
		f.Write(files[i].bytes())
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func tempFile(t testing.TB, name string, data []byte) string {
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// wantError fails unless err holds all of the words.
func wantError(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one with %q", words)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q, want one with %q", err, w)
		}
	}
}

func TestNPZErrors(t *testing.T) {
	const n = 4
	for _, c := range []struct {
		name   string
		change func(f []npyFile) []npyFile
		want   string
	}{
		{"missing", func(f []npyFile) []npyFile { return f[1:] }, "column shape_a is missing, want int32 [N]"},
		{"unknown", func(f []npyFile) []npyFile { f[0].name = "shapes_a"; return f },
			"column shape_a is missing, want int32 [N]"},
		{"empty", func(f []npyFile) []npyFile { return nil }, "no column found"},
		{"twice", func(f []npyFile) []npyFile { return append(f, f[2]) }, "position_a occurs twice"},
		{"float index", func(f []npyFile) []npyFile { f[0].header = dict("<f4", "(4,)"); return f },
			"shape_a is float32, want int32 or int64"},
		{"integer position", func(f []npyFile) []npyFile { f[2].header = dict("<i8", "(4, 3)"); return f },
			"position_a is int64, want float64 or float32"},
		{"complex", func(f []npyFile) []npyFile { f[2].header = dict("<c8", "(4, 3)"); return f },
			`dtype "<c8" is not supported`},
		{"bool", func(f []npyFile) []npyFile { f[0].header = dict("|b1", "(4,)"); return f },
			`dtype "|b1" is not supported`},
		{"object", func(f []npyFile) []npyFile { f[0].header = dict("|O", "(4,)"); return f },
			`dtype "|O" is not supported`},
		{"structured", func(f []npyFile) []npyFile {
			f[0].header = "{'descr': [('x', '<f8')], 'fortran_order': False, 'shape': (4,), }"
			return f
		}, "structured dtype"},
		{"fortran", func(f []npyFile) []npyFile {
			f[2].header = "{'descr': '<f8', 'fortran_order': True, 'shape': (4, 3), }"
			return f
		}, "position_a: array is in Fortran order, want C order"},
		{"flat", func(f []npyFile) []npyFile { f[2].header = dict("<f8", "(12,)"); return f },
			"position_a has shape [12], want [N,3]"},
		{"transposed", func(f []npyFile) []npyFile { f[2].header = dict("<f8", "(3, 4)"); return f },
			"position_a has shape [3,4], want [N,3]"},
		{"scalar", func(f []npyFile) []npyFile { f[0].header, f[0].data = dict("<i4", "()"), f[0].data[:4]; return f },
			"shape_a has shape [], want [N]"},
		{"lengths", func(f []npyFile) []npyFile { f[3] = pairFiles(5)[3]; return f },
			"column position_b has 5 rows, column shape_a has 4"},
		{"short data", func(f []npyFile) []npyFile { f[3].data = f[3].data[:90]; return f }, "position_b: holds"},
		{"long data", func(f []npyFile) []npyFile { f[3].data = append(f[3].data, 0); return f }, "position_b: holds"},
		{"huge", func(f []npyFile) []npyFile { f[3].header = dict("<f8", "(4611686018427387904, 3)"); return f },
			"larger than any file"},
		{"negative", func(f []npyFile) []npyFile { f[3].header = dict("<f8", "(-1, 3)"); return f },
			"want a dimension"},
		{"no shape", func(f []npyFile) []npyFile { f[3].header = "{'descr': '<f8', 'fortran_order': False}"; return f },
			"wants the keys"},
		{"extra key", func(f []npyFile) []npyFile { f[3].header = "{'a': '<f8', }"; return f }, `unexpected key "a"`},
		{"garbage", func(f []npyFile) []npyFile { f[3].header = "import os"; return f }, "want {"},
		{"tail", func(f []npyFile) []npyFile { f[3].header += "x"; return f }, "want the end"},
	} {
		for _, method := range []uint16{zip.Store, zip.Deflate} {
			t.Run(fmt.Sprintf("%s/%d", c.name, method), func(t *testing.T) {
				path := tempFile(t, "pairs.npz", zipped(t, c.change(pairFiles(n)), method))
				_, err := ReadPairs(path)
				wantError(t, err, path, c.want)
			})
		}
	}
	if _, err := ReadPairs(tempFile(t, "pairs.npz", zipped(t, pairFiles(n), zip.Deflate))); err != nil {
		t.Errorf("the file that the others are made from: %v", err)
	}
}

// TestTruncated cuts files anywhere: never an answer, always an error.
func TestTruncated(t *testing.T) {
	for _, ext := range formats {
		path := filepath.Join(t.TempDir(), "pairs"+ext)
		if err := WritePairs(path, testPairs(50)); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for n := 0; n < len(data); n += 1 + len(data)/100 {
			if _, err := ReadPairs(tempFile(t, "cut"+ext, data[:n])); err == nil {
				t.Errorf("%s: %d of %d bytes were read without an error", ext, n, len(data))
			}
		}
	}
}

// TestFlippedBits damages single bytes of NPZ data, which its checksums find.
func TestFlippedBits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pairs.npz")
	want := testPairs(50)
	if err := WritePairs(path, want); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for i := 0; i < len(data); i += 41 {
		bad := bytes.Clone(data)
		bad[i] ^= 0x10
		got, err := ReadPairs(tempFile(t, "bad.npz", bad))
		if err != nil {
			found++
			continue
		}
		sameBits(t, got, want) // a byte that says nothing, such as a date
	}
	if found < len(data)/41*9/10 {
		t.Errorf("%d of %d damaged files gave an error", found, len(data)/41)
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	_, err := OpenPairs(filepath.Join(dir, "none.npz"))
	wantError(t, err, "none.npz")
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v is not os.ErrNotExist", err)
	}
	_, err = OpenResults(filepath.Join(dir, "none.parquet"))
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v is not os.ErrNotExist", err)
	}
	_, err = OpenPairs("pairs.csv")
	wantError(t, err, "pairs.csv", `".csv", want .parquet or .npz`)
	_, err = CreatePairs("pairs", 1)
	wantError(t, err, `"", want .parquet or .npz`)
	_, err = CreateResults(filepath.Join(dir, "r.npz"), batch.ColBits, batch.Single, 1)
	wantError(t, err, "bits", "status")
	_, err = CreatePairs(filepath.Join(dir, "no", "such", "p.npz"), 1)
	wantError(t, err, "p.npz")
	for _, ext := range formats {
		sub := filepath.Join(dir, "folder"+ext)
		if err := os.Mkdir(sub, 0o700); err != nil {
			t.Fatal(err)
		}
		_, err = OpenPairs(sub)
		wantError(t, err, "the folder has no .parquet or .npz file")
	}
}

func TestResultErrors(t *testing.T) {
	status := npyFile{"status", dict("|u1", "(2,)"), make([]byte, 2)}
	distance := npyFile{"distance", dict("<f8", "(2,)"), make([]byte, 16)}
	for _, c := range []struct {
		files []npyFile
		want  string
	}{
		{[]npyFile{{"status", dict("<i4", "(2,)"), make([]byte, 8)}}, "status is int32, want uint8"},
		{[]npyFile{status, {"gap", dict("<f8", "(2,)"), make([]byte, 16)}}, "gap is float64, want float32"},
		{[]npyFile{distance, {"normal", dict("<f4", "(2, 3)"), make([]byte, 24)}},
			"column normal is float32, column distance is not"},
		{[]npyFile{status, {"iterations", dict("<u2", "(3,)"), make([]byte, 6)}},
			"column status has 2 rows, column iterations has 3"},
	} {
		path := tempFile(t, "r.npz", zipped(t, c.files, zip.Store))
		_, err := OpenResults(path)
		if c.want == "column status has 2 rows, column iterations has 3" {
			c.want = "column iterations has 3 rows, column status has 2"
		}
		wantError(t, err, path, c.want)
	}
	r, err := OpenResults(tempFile(t, "r.npz", zipped(t, []npyFile{status, distance}, zip.Store)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, err = r.Next(batch.NewResults(2, &batch.Options{}))
	wantError(t, err, "holds columns (distance, status) in double precision")
}

// TestLargeNPZ checks the numbers of a file of more than 4 GiB, Zip64 in all its
// places. The file is sparse: only its headers are written.
func TestLargeNPZ(t *testing.T) {
	const n = 1 << 29
	path := filepath.Join(t.TempDir(), "large.npz")
	s, err := createNPZTable(osFS{}, path, pairColumns, n, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.members {
		s.members[i].at = s.members[i].data + s.members[i].size
	}
	switch err := s.commit(); {
	case errors.Is(err, syscall.EFBIG), errors.Is(err, syscall.ENOSPC):
		t.Skipf("this file system takes no sparse file of %d bytes: %v", s.end, err)
	case err != nil:
		t.Fatal(err)
	}
	r, err := OpenPairs(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if r.Len() != n {
		t.Errorf("%d rows, want %d", r.Len(), n)
	}
	p := batch.NewPairs(10)
	p.PositionA[5] = 1
	if k, err := r.Next(p); k != 10 || err != nil || p.PositionA[5] != 0 {
		t.Errorf("read %d rows, %v", k, err)
	}
}

// TestClamp: an int64 index that int32 cannot hold becomes one that no library has.
func TestClamp(t *testing.T) {
	f := pairFiles(3)
	f[0].header, f[0].data = dict(">i8", "(3,)"), nil
	for _, v := range []int64{math.MinInt64, 5, 1 << 32} {
		f[0].data = binary.BigEndian.AppendUint64(f[0].data, uint64(v))
	}
	p, err := ReadPairs(tempFile(t, "p.npz", zipped(t, f, zip.Deflate)))
	if err != nil {
		t.Fatal(err)
	}
	if p.ShapeA[0] != math.MinInt32 || p.ShapeA[1] != 5 || p.ShapeA[2] != math.MaxInt32 {
		t.Errorf("indices %v", p.ShapeA)
	}
}

func TestWorldsErrors(t *testing.T) {
	good := func() []npyFile {
		return []npyFile{
			{"shapes", dict("<i4", "(2,)"), make([]byte, 8)},
			{"poses", dict("<f8", "(3, 2, 7)"), make([]byte, 3*2*7*8)},
			{"template_a", dict("<i4", "(1,)"), make([]byte, 4)},
			{"template_b", dict("<i4", "(1,)"), []byte{1, 0, 0, 0}},
		}
	}
	for _, c := range []struct {
		change func(f []npyFile) []npyFile
		want   string
	}{
		{func(f []npyFile) []npyFile { return f[:3] }, "array template_b is missing, want int32 [P]"},
		{func(f []npyFile) []npyFile { return append(f, npyFile{"x", dict("<i4", "(0,)"), nil}) },
			`unknown column "x"`},
		{func(f []npyFile) []npyFile { f[1].header = dict("<f8", "(6, 7)"); return f },
			"poses has shape [6,7], want [W,M,7]"},
		{func(f []npyFile) []npyFile { f[1].header = dict("<f8", "(2, 3, 7)"); return f },
			"poses has shape [2,3,7], want [W,2,7] for shapes of shape [2]"},
		{func(f []npyFile) []npyFile { f[1].header = dict("<i8", "(3, 2, 7)"); return f }, "poses is int64"},
		{func(f []npyFile) []npyFile { f[3].data = []byte{2, 0, 0, 0}; return f }, "template_b[0] = 2"},
	} {
		path := tempFile(t, "w.npz", zipped(t, c.change(good()), zip.Store))
		_, err := ReadWorlds(path)
		wantError(t, err, path, c.want)
	}
	if w, err := ReadWorlds(tempFile(t, "w.npz", zipped(t, good(), zip.Deflate))); err != nil || w.Len() != 3 {
		t.Errorf("the file that the others are made from: %v", err)
	}
	_, err := ReadWorlds("w.csv")
	wantError(t, err, "w.csv", ".npz")
}

func TestNPYHeaderForms(t *testing.T) {
	for _, text := range []string{
		"{'shape': (3, 4), 'descr': '<f8', 'fortran_order': False}",
		"{\"descr\": \"<f8\", 'fortran_order': False, 'shape': (3L, 4L,), }   \n",
		"{ 'fortran_order' :False,'descr':'<f8','shape':(3,4)}",
	} {
		var h npyHeader
		if err := h.parse(text); err != nil || h.shapeString() != "[3,4]" || h.typ != typeFloat64 {
			t.Errorf("%s: %+v, %v", text, h, err)
		}
	}
	for typ := range typeCount {
		h, err := readNPYHeader(bytes.NewReader(npyHeaderBytes(typ, []int64{7, 2})), false)
		if err != nil || h.typ != typ || h.shapeString() != "[7,2]" || h.bytes%64 != 0 {
			t.Errorf("%s: %+v, %v", typ, h, err)
		}
	}
	_, err := readNPYHeader(strings.NewReader(npyMagic+"\x02\x00\xff\xff\xff\xff"), false)
	wantError(t, err, "longer than 10000")
	_, err = readNPYHeader(strings.NewReader(npyMagic+"\x04\x00\x00\x00"), false)
	wantError(t, err, "version 4.0")
	_, err = readNPYHeader(strings.NewReader("PK"), false)
	wantError(t, err, "truncated")
	_, err = readNPYHeader(io.LimitReader(strings.NewReader("not an array"), 12), false)
	wantError(t, err, "wrong magic")
}

// TestNPZManyMembers: members are counted before they are listed.
func TestNPZManyMembers(t *testing.T) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	const members = 400_000
	for i := range members {
		if _, err := w.CreateRaw(&zip.FileHeader{Name: strconv.Itoa(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := tempFile(t, "many.npz", b.Bytes())
	var err error
	if n := allocated(func() { _, err = OpenPairs(path) }); n > 16<<20 {
		t.Errorf("%d bytes allocated for %d members", n, members)
	}
	wantError(t, err, path, "64 arrays at most")

	some := make([]npyFile, 65)
	for i := range some {
		some[i] = npyFile{strconv.Itoa(i), dict("<i4", "(1,)"), make([]byte, 4)}
	}
	_, err = OpenPairs(tempFile(t, "some.npz", zipped(t, some, zip.Store)))
	wantError(t, err, "some.npz", "65 members, want 64 arrays at most")
}

// TestNPZMemberClaims: what the directory of the archive says of a member is checked before the member is read.
func TestNPZMemberClaims(t *testing.T) {
	data := []byte("not an array")
	for _, c := range []struct {
		name   string
		header zip.FileHeader
		want   string
	}{
		{"encrypted", zip.FileHeader{Flags: 1}, "array shape_a: member is encrypted"},
		{"unknown method", zip.FileHeader{Method: 99}, "array shape_a: compression method 99, want stored or deflated"},
		{"beyond the file", zip.FileHeader{CompressedSize64: 1 << 20},
			"array shape_a: member claims 1048576 bytes in a file of"},
		{"stored, of two sizes", zip.FileHeader{UncompressedSize64: 13},
			"array shape_a: member claims to unpack 12 bytes to 13"},
		{"deflated, too large", zip.FileHeader{Method: zip.Deflate, UncompressedSize64: 12*maxDeflate + 1},
			fmt.Sprintf("array shape_a: member claims to unpack 12 bytes to %d", 12*maxDeflate+1)},
	} {
		h := c.header
		h.Name = "shape_a.npy"
		if h.CompressedSize64 == 0 {
			h.CompressedSize64 = uint64(len(data))
		}
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		f, err := w.CreateRaw(&h)
		if err != nil {
			t.Fatal(err)
		}
		f.Write(data)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		path := tempFile(t, "member.npz", b.Bytes())
		_, err = ReadPairs(path)
		wantError(t, err, path, c.want)
	}
}

// TestNPYDimensions: an array has up to 32 dimensions, as in numpy, and each fits 64 bits.
func TestNPYDimensions(t *testing.T) {
	var h npyHeader
	if err := h.parse(dict("<f8", "("+strings.Repeat("1, ", 32)+")")); err != nil || len(h.shape) != 32 {
		t.Errorf("32 dimensions: %v, %v", h.shape, err)
	}
	for _, shape := range []string{"(" + strings.Repeat("1, ", 33) + ")", "(9223372036854775808,)", "(x", "(,)"} {
		wantError(t, h.parse(dict("<f8", shape)), "want a dimension")
	}
	for _, text := range []string{npyMagic + "\x01\x00\x07", npyMagic + "\x02\x00\x07\x00\x00",
		npyMagic + "\x01\x00\x07\x00{'desc"} {
		_, err := readNPYHeader(strings.NewReader(text), false)
		wantError(t, err, "truncated NPY header")
	}
}
