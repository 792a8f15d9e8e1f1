package dataset

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"clearance/batch"
	"clearance/dataset/npz"
	"clearance/dataset/table"
	"clearance/internal/testkit"
)

// npyFile is an array with a header of the caller's making.
type npyFile struct {
	name   string
	header string // the dictionary
	data   []byte
}

func (f *npyFile) bytes() []byte {
	b := []byte("\x93NUMPY\x01\x00")
	b = binary.LittleEndian.AppendUint16(b, uint16(len(f.header)))
	return append(append(b, f.header...), f.data...)
}

func dict(descr, shape string) string {
	return fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape)
}

// pairFiles are the arrays of n pairs, all zero.
func pairFiles(n int) []npyFile {
	var files []npyFile
	for _, c := range table.Pairs {
		shape, descr := fmt.Sprintf("(%d,)", n), "<i4"
		if c.Width > 1 {
			shape, descr = fmt.Sprintf("(%d, %d)", n, c.Width), "<f8"
		}
		files = append(files, npyFile{c.Name, dict(descr, shape), make([]byte, n*c.Width*c.Types[0].Size())})
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
				path := testkit.TempFile(t, "pairs.npz", zipped(t, c.change(pairFiles(n)), method))
				_, err := ReadPairs(path)
				testkit.WantError(t, err, path, c.want)
			})
		}
	}
	if _, err := ReadPairs(testkit.TempFile(t, "pairs.npz", zipped(t, pairFiles(n), zip.Deflate))); err != nil {
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
			if _, err := ReadPairs(testkit.TempFile(t, "cut"+ext, data[:n])); err == nil {
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
		got, err := ReadPairs(testkit.TempFile(t, "bad.npz", bad))
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
	testkit.WantError(t, err, "none.npz")
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v is not os.ErrNotExist", err)
	}
	_, err = OpenResults(filepath.Join(dir, "none.parquet"))
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v is not os.ErrNotExist", err)
	}
	_, err = OpenPairs("pairs.csv")
	testkit.WantError(t, err, "pairs.csv", `".csv", want .parquet or .npz`)
	_, err = CreatePairs("pairs", 1)
	testkit.WantError(t, err, `"", want .parquet or .npz`)
	_, err = CreateResults(filepath.Join(dir, "r.npz"), batch.ColBits, batch.Single, 1)
	testkit.WantError(t, err, "bits", "status")
	_, err = CreatePairs(filepath.Join(dir, "no", "such", "p.npz"), 1)
	testkit.WantError(t, err, "p.npz")
	for _, ext := range formats {
		sub := filepath.Join(dir, "folder"+ext)
		if err := os.Mkdir(sub, 0o700); err != nil {
			t.Fatal(err)
		}
		_, err = OpenPairs(sub)
		testkit.WantError(t, err, "the folder has no .parquet or .npz file")
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
		path := testkit.TempFile(t, "r.npz", zipped(t, c.files, zip.Store))
		_, err := OpenResults(path)
		if c.want == "column status has 2 rows, column iterations has 3" {
			c.want = "column iterations has 3 rows, column status has 2"
		}
		testkit.WantError(t, err, path, c.want)
	}
	r, err := OpenResults(testkit.TempFile(t, "r.npz", zipped(t, []npyFile{status, distance}, zip.Store)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, err = r.Next(batch.NewResults(2, &batch.Options{}))
	testkit.WantError(t, err, "holds columns (distance, status) in double precision")
}

// TestClamp: an int64 index that int32 cannot hold becomes one that no library has.
func TestClamp(t *testing.T) {
	f := pairFiles(3)
	f[0].header, f[0].data = dict(">i8", "(3,)"), nil
	for _, v := range []int64{math.MinInt64, 5, 1 << 32} {
		f[0].data = binary.BigEndian.AppendUint64(f[0].data, uint64(v))
	}
	p, err := ReadPairs(testkit.TempFile(t, "p.npz", zipped(t, f, zip.Deflate)))
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
		path := testkit.TempFile(t, "w.npz", zipped(t, c.change(good()), zip.Store))
		_, err := ReadWorlds(path)
		testkit.WantError(t, err, path, c.want)
	}
	if w, err := ReadWorlds(testkit.TempFile(t, "w.npz", zipped(t, good(), zip.Deflate))); err != nil || w.Len() != 3 {
		t.Errorf("the file that the others are made from: %v", err)
	}
	_, err := ReadWorlds("w.csv")
	testkit.WantError(t, err, "w.csv", ".npz")
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
	path := testkit.TempFile(t, "many.npz", b.Bytes())
	var err error
	if n := testkit.Allocated(func() { _, err = OpenPairs(path) }); n > 16<<20 {
		t.Errorf("%d bytes allocated for %d members", n, members)
	}
	testkit.WantError(t, err, path, "64 arrays at most")

	some := make([]npyFile, 65)
	for i := range some {
		some[i] = npyFile{strconv.Itoa(i), dict("<i4", "(1,)"), make([]byte, 4)}
	}
	_, err = OpenPairs(testkit.TempFile(t, "some.npz", zipped(t, some, zip.Store)))
	testkit.WantError(t, err, "some.npz", "65 members, want 64 arrays at most")
}

// TestNPZMemberClaims: what the directory of the archive says of a member is checked before the member is read.
func TestNPZMemberClaims(t *testing.T) {
	const maxDeflate = 1032 // bytes of a byte (RFC 1951)
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
		path := testkit.TempFile(t, "member.npz", b.Bytes())
		_, err = ReadPairs(path)
		testkit.WantError(t, err, path, c.want)
	}
}

// What a reader of NPZ allocates counts in its budget: buffers of every array, and texts.
func TestNPZBudget(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.npz")
	w, err := CreateResults(path, 0, batch.Double, 3)
	if err != nil {
		t.Fatal(err)
	}
	w.Describe("note", string(make([]byte, 1<<12)))
	if err := w.Write(testResults(3, 0, batch.Double)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		bytes int64
		what  string
	}{{0, "buffers of an array"}, {3 * npz.ArrayBuffers, "buffers of an array"}} {
		_, err := OpenResults(path, WithMemory(c.bytes))
		testkit.WantError(t, err, path, c.what, "memory budget")
	}
	z, err := npz.Open(path, nil, table.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	arrays := int64(len(z.Arrays))
	if err := z.Close(); err != nil {
		t.Error(err)
	}
	_, err = OpenResults(path, WithMemory(arrays*npz.ArrayBuffers+1<<10))
	testkit.WantError(t, err, path, "a text", "memory budget")
	r, err := OpenResults(path, WithMemory(arrays*npz.ArrayBuffers+1<<20))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
