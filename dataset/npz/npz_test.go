package npz

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"clearance/dataset/output"
	"clearance/dataset/table"
	"clearance/internal/testkit"
)

// TestLargeNPZ checks the numbers of a file of more than 4 GiB, Zip64 in all its
// places. The file is sparse: only its headers are written.
func TestLargeNPZ(t *testing.T) {
	const n = 1 << 29
	path := filepath.Join(t.TempDir(), "large.npz")
	s, err := CreateTable(output.Disk{}, path, table.Pairs, n, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.members {
		s.members[i].at = s.members[i].data + s.members[i].size
	}
	switch err := s.Commit(); {
	case errors.Is(err, syscall.EFBIG), errors.Is(err, syscall.ENOSPC):
		t.Skipf("this file system takes no sparse file of %d bytes: %v", s.end, err)
	case err != nil:
		t.Fatal(err)
	}
	r, err := OpenTable(path, table.Pairs, table.DefaultLimits(), table.Leniency{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if r.Rows() != n {
		t.Errorf("%d rows, want %d", r.Rows(), n)
	}
	position := make([]float64, 30)
	position[5] = 1
	if err := r.Read([]any{nil, nil, position, nil, nil, nil}); err != nil || position[5] != 0 {
		t.Errorf("read %v, %v", position, err)
	}
}

func TestNPYHeaderForms(t *testing.T) {
	for _, text := range []string{
		"{'shape': (3, 4), 'descr': '<f8', 'fortran_order': False}",
		"{\"descr\": \"<f8\", 'fortran_order': False, 'shape': (3L, 4L,), }   \n",
		"{ 'fortran_order' :False,'descr':'<f8','shape':(3,4)}",
	} {
		var h Header
		if err := h.parse(text); err != nil || h.ShapeString() != "[3,4]" || h.Type != table.Float64 {
			t.Errorf("%s: %+v, %v", text, h, err)
		}
	}
	for typ := range table.TypeCount {
		h, err := readHeader(bytes.NewReader(headerOf(typ, []int64{7, 2})), false)
		if err != nil || h.Type != typ || h.ShapeString() != "[7,2]" || h.bytes%64 != 0 {
			t.Errorf("%s: %+v, %v", typ, h, err)
		}
	}
	_, err := readHeader(strings.NewReader(magic+"\x02\x00\xff\xff\xff\xff"), false)
	testkit.WantError(t, err, "longer than 10000")
	_, err = readHeader(strings.NewReader(magic+"\x04\x00\x00\x00"), false)
	testkit.WantError(t, err, "version 4.0")
	_, err = readHeader(strings.NewReader("PK"), false)
	testkit.WantError(t, err, "truncated")
	_, err = readHeader(io.LimitReader(strings.NewReader("not an array"), 12), false)
	testkit.WantError(t, err, "wrong magic")
}

// TestNPYDimensions: an array has up to 32 dimensions, as in numpy, and each fits 64 bits.
func TestNPYDimensions(t *testing.T) {
	dict := func(shape string) string {
		return fmt.Sprintf("{'descr': '<f8', 'fortran_order': False, 'shape': %s, }", shape)
	}
	var h Header
	if err := h.parse(dict("(" + strings.Repeat("1, ", 32) + ")")); err != nil || len(h.Shape) != 32 {
		t.Errorf("32 dimensions: %v, %v", h.Shape, err)
	}
	for _, shape := range []string{"(" + strings.Repeat("1, ", 33) + ")", "(9223372036854775808,)", "(x", "(,)"} {
		testkit.WantError(t, h.parse(dict(shape)), "want a dimension")
	}
	for _, text := range []string{magic + "\x01\x00\x07", magic + "\x02\x00\x07\x00\x00",
		magic + "\x01\x00\x07\x00{'desc"} {
		_, err := readHeader(strings.NewReader(text), false)
		testkit.WantError(t, err, "truncated NPY header")
	}
}

func FuzzNPYHeader(f *testing.F) {
	f.Add(headerOf(table.Float64, []int64{3, 4}))
	f.Add(headerOf(table.Int32, []int64{}))
	f.Add([]byte(magic + "\x02\x00\x40\x00\x00\x00{'descr': '>f4', 'fortran_order': True, 'shape': (1,), }"))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := readHeader(bytes.NewReader(data), false)
		if err != nil {
			return
		}
		if h.bytes > int64(len(data)) || h.Size() < 0 {
			t.Errorf("header of %d bytes, %d of data, from %d bytes", h.bytes, h.Size(), len(data))
		}
		again, err := readHeader(bytes.NewReader(headerOf(h.Type, h.Shape)), false)
		if err != nil || again.ShapeString() != h.ShapeString() || again.Type != h.Type {
			t.Errorf("%+v is written and read as %+v, %v", h, again, err)
		}
	})
}

// TestCombineCRC compares checksums of parts with those of the whole.
func TestCombineCRC(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	text := make([]byte, 5000)
	for i := range text {
		text[i] = byte(r.Uint32())
	}
	for _, cut := range []int{0, 1, 2, 7, 8, 9, 255, 256, 1000, 4095, 4096, 4999, 5000} {
		a, b := crc32.ChecksumIEEE(text[:cut]), crc32.ChecksumIEEE(text[cut:])
		if got, want := combineCRC(a, b, int64(len(text)-cut)), crc32.ChecksumIEEE(text); got != want {
			t.Errorf("cut at %d: %08x, want %08x", cut, got, want)
		}
	}
	// Lengths beyond 32 bits: bytes of zeros, in two ways.
	const n = 5 << 32
	if a, b := combineCRC(7, 0, n), combineCRC(combineCRC(7, 0, n-12345), 0, 12345); a != b {
		t.Errorf("%08x in one step, %08x in two", a, b)
	}
}
