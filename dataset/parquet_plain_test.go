package dataset

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"

	"clearance/batch"
)

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

// TestOtherWriters reads pairs as the Arrow library writes them: pages of both versions and any size, compressed or
// not, dictionaries that are given up on the way, so that plain pages follow on others.
func TestOtherWriters(t *testing.T) {
	const n = 5000
	p := testPairs(n)
	for _, version := range []parquet.DataPageVersion{parquet.DataPageV1, parquet.DataPageV2} {
		for _, codec := range []compress.Compression{compress.Codecs.Uncompressed, compress.Codecs.Snappy} {
			for _, dictionary := range []bool{false, true} {
				for _, page := range []int64{100, 5000, 1 << 20} {
					name := fmt.Sprintf("version %d, %v, dictionary %v, pages of %d", version, codec, dictionary, page)
					path := writePairsOf(t, p, parquet.WithDataPageVersion(version),
						parquet.WithCompression(codec), parquet.WithDictionaryDefault(dictionary),
						parquet.WithDataPageSize(page), parquet.WithDictionaryPageSizeLimit(2000))
					got, err := ReadPairs(path)
					if err != nil {
						t.Fatalf("%s: %v", name, err)
					}
					sameBits(t, got, p)
				}
			}
		}
	}
}

// writePairsOf writes pairs by the library's writer.
func writePairsOf(t *testing.T, p *batch.Pairs, props ...parquet.WriterProperty) (path string) {
	t.Helper()
	root, err := parquetSchema(pairColumns, nil)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := file.NewParquetWriter(&b, root, file.WithWriterProps(parquet.NewWriterProperties(props...)))
	for lo := 0; lo < p.Len(); lo += 2001 {
		part := p.Slice(lo, min(lo+2001, p.Len()))
		g, err := w.AppendRowGroupChecked()
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range pairColumns {
			col, err := g.NextColumn()
			if err != nil {
				t.Fatal(err)
			}
			switch v := pairValues(part, i, part.Len()).(type) {
			case []int32:
				_, err = col.(*file.Int32ColumnChunkWriter).WriteBatch(v, nil, nil)
			case []float64:
				def, rep := make([]int16, len(v)), make([]int16, len(v))
				for k := range v {
					def[k], rep[k] = 1, int16(min(k%c.width, 1))
				}
				_, err = col.(*file.Float64ColumnChunkWriter).WriteBatch(v, def, rep)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return tempFile(t, "pairs.parquet", b.Bytes())
}
