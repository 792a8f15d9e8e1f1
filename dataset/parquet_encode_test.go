package dataset

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"

	"clearance/batch"
)

// TestDictionaries writes indices with few and many different values, so that dictionaries of every number of bits, and
// those that are given up on the way, are read back, by the library's reader of dictionaries.
func TestDictionaries(t *testing.T) {
	const n = 40_000
	for _, different := range []int{1, 2, 3, 4, 5, 8, 9, 100, 256, 257, 4096, 4097, maxDictionary - 1, maxDictionary,
		maxDictionary + 1, n} {
		for _, offset := range []int32{0, maxDictionaryValue - 100, -7, math.MaxInt32 - n} {
			p := batch.NewPairs(n)
			for i := range n {
				p.ShapeA[i], p.ShapeB[i] = offset+int32(i*7919%different), int32(i*different/n)
			}
			path := filepath.Join(t.TempDir(), "pairs.parquet")
			w, err := CreatePairs(path, n)
			if err != nil {
				t.Fatal(err)
			}
			for at := 0; at < n; at += 13_001 {
				if err := w.Write(p.Slice(at, min(at+13_001, n))); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			got, err := ReadPairs(path)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.ShapeA, p.ShapeA) || !slices.Equal(got.ShapeB, p.ShapeB) {
				t.Errorf("%d different values from %d on: read back differently", different, offset)
			}
		}
	}
}

// TestStatistics checks what readers skip row groups by: bounds of scalars, without NaN, that hold both zeros.
func TestStatistics(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []float64
		lo, hi string // "" if there are none
	}{
		{"plain", []float64{3, -1, 2}, "-1", "3"},
		{"NaN", []float64{math.NaN(), 4, math.NaN()}, "4", "4"},
		{"nothing but NaN", []float64{math.NaN(), math.NaN(), math.NaN()}, "", ""},
		{"zeros", []float64{0, 0, math.Copysign(0, -1)}, "-0", "0"},
		{"infinities", []float64{math.Inf(1), 0.5, math.Inf(-1)}, "-Inf", "+Inf"},
	} {
		for _, precision := range []batch.Precision{batch.Single, batch.Double} {
			r := testResults(len(c.values), 0, precision)
			for i, v := range c.values {
				r.Distance().Set(i, v)
				r.Status()[i] = uint8(i + 1)
			}
			path := tempFile(t, "r.parquet", writeChunks(t, "r.parquet", r, 0, 2, 2))
			f, err := file.OpenParquetFile(path, false)
			if err != nil {
				t.Fatal(err)
			}
			for i := range f.MetaData().Schema.NumColumns() {
				m, err := f.RowGroup(0).MetaData().ColumnChunk(i)
				if err != nil {
					t.Fatal(err)
				}
				stats, err := m.Statistics()
				if err != nil {
					t.Fatal(err)
				}
				switch m.PathInSchema().String() {
				case "distance":
					lo, hi := "", ""
					switch s := stats.(type) {
					case *metadata.Float32Statistics:
						lo, hi = fmt.Sprint(s.Min()), fmt.Sprint(s.Max())
					case *metadata.Float64Statistics:
						lo, hi = fmt.Sprint(s.Min()), fmt.Sprint(s.Max())
					}
					if stats == nil || !stats.HasMinMax() {
						lo, hi = "", ""
					}
					if lo != c.lo || hi != c.hi {
						t.Errorf("%s: distances from %s to %s, want %s to %s", c.name, lo, hi, c.lo, c.hi)
					}
				case "status":
					s, ok := stats.(*metadata.Int32Statistics)
					if !ok || s.Min() != 1 || s.Max() != int32(len(c.values)) {
						t.Errorf("%s: statuses of %v", c.name, stats)
					}
				}
			}
			_ = f.Close()
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
