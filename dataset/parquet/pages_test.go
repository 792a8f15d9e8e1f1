package parquet

import (
	"bytes"
	"encoding/binary"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/parquet/compress"

	"clearance/dataset/output"
	"clearance/dataset/table"
	"clearance/internal/testkit"
)

// TestDictionaries writes indices with few and many different values, so that dictionaries of every number of bits, and
// those that are given up on the way, are read back, by the library's reader of dictionaries.
func TestDictionaries(t *testing.T) {
	const n = 40_000
	cols := table.Pairs[:2]
	for _, different := range []int{1, 2, 3, 4, 5, 8, 9, 100, 256, 257, 4096, 4097, maxDictionary - 1, maxDictionary,
		maxDictionary + 1, n} {
		for _, offset := range []int32{0, maxDictionaryValue - 100, -7, math.MaxInt32 - n} {
			a, b := make([]int32, n), make([]int32, n)
			for i := range n {
				a[i], b[i] = offset+int32(i*7919%different), int32(i*different/n)
			}
			path := filepath.Join(t.TempDir(), "pairs.parquet")
			w, err := Create(output.Disk{}, path, cols, nil)
			if err != nil {
				t.Fatal(err)
			}
			for at := 0; at < n; at += 13_001 {
				end := min(at+13_001, n)
				if err := w.Write([]any{a[at:end], b[at:end]}, end-at); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Commit(); err != nil {
				t.Fatal(err)
			}
			r, err := Open(path, cols, table.DefaultLimits(), table.Leniency{})
			if err != nil {
				t.Fatal(err)
			}
			gotA, gotB := make([]int32, n), make([]int32, n)
			if err := r.Read([]any{gotA, gotB}); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(gotA, a) || !slices.Equal(gotB, b) {
				t.Errorf("%d different values from %d on: read back differently", different, offset)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestLevels compares the levels of lists with their definition.
func TestLevels(t *testing.T) {
	for _, width := range []int{2, 3, 4, 5, 9} {
		for _, n := range []int{1, 7, 8, 9, 100, 1000} {
			b := appendPattern(nil, (n+7)/8, width)
			if len(b) != (n+7)/8 {
				t.Fatalf("%d bytes of %d bits", len(b), n)
			}
			for i := range n {
				if got, want := b[i/8]>>(i%8)&1, byte(min(i%width, 1)); got != want {
					t.Fatalf("lists of %d, value %d: level %d, want %d", width, i, got, want)
				}
			}
			all := appendLevels([]byte("x"), n, width)
			if !bytes.Contains(all, b) {
				t.Errorf("lists of %d, %d values: levels %x", width, n, all)
			}
		}
	}
}

// TestPageHeaders reads headers as they are written.
func TestPageHeaders(t *testing.T) {
	for _, values := range []int{0, 1, 63, 64, 1 << 17, math.MaxInt32} {
		data := appendDataHeader(nil, 7, 5, values, 8)
		h, n, err := readPageHeader(data)
		want := pageHeader{typ: pageData, unpacked: 7, packed: 5, values: int32(values), encoding: 8, defEncoding: 3,
			repEncoding: 3, has: [4]bool{pageData: true}}
		if err != nil || n != len(data) || h != want {
			t.Errorf("%d values: %+v (%v), want %+v", values, h, err, want)
		}
		data = appendDictionaryHeader(nil, 7, 5, values, 2)
		h, n, err = readPageHeader(data)
		want = pageHeader{typ: pageDictionary, unpacked: 7, packed: 5, values: int32(values), encoding: 2,
			has: [4]bool{pageDictionary: true}}
		if err != nil || n != len(data) || h != want {
			t.Errorf("dictionary of %d values: %+v (%v), want %+v", values, h, err, want)
		}
	}
}

// TestConstantLevels gives runs as other writers cut them, and runs that are not those of lists of three.
func TestConstantLevels(t *testing.T) {
	run := func(n, level int) []byte { return append(binary.AppendUvarint(nil, uint64(n)<<1), byte(level)) }
	packed := func(b ...byte) []byte { return append(binary.AppendUvarint(nil, uint64(len(b))<<1|1), b...) }
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	for _, c := range []struct {
		name string
		data []byte
		n    int
		want bool
	}{
		{"one run", run(20, 2), 20, true},
		{"three runs", join(run(9, 2), run(3, 2), run(8, 2)), 20, true},
		{"longer", run(1<<40, 2), 20, true},
		{"shorter", run(19, 2), 20, false},
		{"another level", run(20, 1), 20, false},
		{"a null behind", join(run(19, 2), run(1, 1)), 20, false},
		{"bits", packed(0xaa, 0xaa, 0xaa, 0xaa, 0xaa), 20, false},
		{"an endless run of none", []byte{0, 2, 0, 2}, 20, false},
		{"cut", run(20, 2)[:1], 20, false},
		{"nothing", nil, 20, false},
	} {
		if got := isRun(c.data, c.n, 2); got != c.want {
			t.Errorf("definition levels, %s: %v, want %v", c.name, got, c.want)
		}
	}
	pattern := appendPattern(nil, 3*patternBytes, 3)
	for _, c := range []struct {
		name string
		data []byte
		n    int
		want bool
	}{
		{"one run", packed(pattern[:3]...), 24, true},
		{"two runs", join(packed(pattern[:1]...), packed(pattern[1:3]...)), 24, true},
		{"longer", packed(pattern[:7]...), 24, true},
		{"a part of a byte", packed(pattern[0], pattern[1]|0xf0), 12, true},
		{"a wrong bit in a part of a byte", packed(pattern[0], pattern[1]^0x08), 12, false},
		{"a wrong bit", packed(pattern[0], pattern[1]^1, pattern[2]), 24, false},
		{"lists of four", packed(0xee, 0xee, 0xee), 24, false},
		{"shorter", packed(pattern[:2]...), 24, false},
		{"a run of equal levels", join(run(1, 0), run(23, 1)), 24, false},
		{"cut", packed(pattern[:3]...)[:3], 24, false},
		{"an endless run of none", []byte{1, 1, 1}, 24, false},
	} {
		if got := repeats(c.data, c.n, pattern); got != c.want {
			t.Errorf("repetition levels, %s: %v, want %v", c.name, got, c.want)
		}
	}
	long := bytes.Repeat(pattern[:3], 5000)
	if !repeats(packed(long...), len(long)*8, pattern) {
		t.Error("a run longer than the pattern is not seen")
	}
	long[14_000] ^= 4
	if repeats(packed(long...), len(long)*8, pattern) {
		t.Error("a wrong bit in a long run is not seen")
	}
}

// TestUnpackBomb: no codec unpacks to more than the header of the page declares.
func TestUnpackBomb(t *testing.T) {
	large := make([]byte, 64<<20)
	for _, codec := range []compress.Compression{compress.Codecs.Uncompressed, compress.Codecs.Snappy,
		compress.Codecs.Gzip,
		compress.Codecs.Brotli, compress.Codecs.Zstd, compress.Codecs.Lz4Raw} {
		c, err := compress.GetCodec(codec)
		if err != nil {
			t.Fatal(err)
		}
		packed := c.Encode(nil, large)
		if codec == compress.Codecs.Zstd {
			packed = testkit.ZstdBomb(512)
		}
		for _, declared := range []int{0, 1, 1000, len(large) - 1} {
			dst := make([]byte, declared)
			n := testkit.Allocated(func() { err = unpack(codec, dst, packed) })
			if err == nil {
				t.Errorf("%v: %d bytes pass for %d", codec, len(large), declared)
			}
			if declared <= 1000 && n > 32<<20 {
				t.Errorf("%v: %d bytes allocated to unpack %d", codec, n, declared)
			}
		}
		if codec != compress.Codecs.Zstd {
			dst := make([]byte, len(large)+1)
			if err := unpack(codec, dst, packed); err == nil {
				t.Errorf("%v: %d bytes pass for %d", codec, len(large), len(dst))
			}
			if err := unpack(codec, dst[:len(large)], packed); err != nil {
				t.Errorf("%v: %v", codec, err)
			}
		}
	}
}
