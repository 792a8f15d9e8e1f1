package dataset

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"clearance/batch"
	ours "clearance/dataset/parquet"
	"clearance/dataset/table"
	"clearance/internal/testkit"
)

// leafSpec is a column of a Parquet file of the test's making.
type leafSpec struct {
	name     string
	physical parquet.Type
	logical  schema.LogicalType
	list     bool
	optional bool
	lengths  []int // of the lists, nil for the usual; −1 is null
	nulls    []int // rows without a value
}

// pairLeaves are the columns of a pair file.
func pairLeaves() []leafSpec {
	var s []leafSpec
	for _, c := range table.Pairs {
		l := leafSpec{name: c.Name, physical: parquet.Types.Int32}
		if c.Width > 1 {
			l.list, l.physical = true, parquet.Types.Double
		}
		s = append(s, l)
	}
	return s
}

func width(name string) int {
	for _, c := range slices.Concat(table.Pairs, formMotions.table()) {
		if c.Name == name {
			return c.Width
		}
	}
	return 1
}

// writeLeaves writes rows values of each leaf, all of them 0.
func writeLeaves(t testing.TB, path string, leaves []leafSpec, rows int) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var fields schema.FieldList
	for _, l := range leaves {
		rep := parquet.Repetitions.Required
		if l.optional {
			rep = parquet.Repetitions.Optional
		}
		logical := l.logical
		if logical == nil {
			logical = schema.NoLogicalType{}
		}
		p, err := schema.NewPrimitiveNodeLogical(l.name, rep, logical, l.physical, -1, -1)
		check(err)
		if !l.list {
			fields = append(fields, p)
			continue
		}
		n, err := schema.ListOfWithName(l.name, p, parquet.Repetitions.Required, -1)
		check(err)
		fields = append(fields, n)
	}
	root, err := schema.NewGroupNode("schema", parquet.Repetitions.Required, fields, -1)
	check(err)
	var b bytes.Buffer
	w := file.NewParquetWriter(&b, root)
	g, err := w.AppendBufferedRowGroupChecked()
	check(err)
	for i, l := range leaves {
		var def, rep []int16
		values := 0
		for row := range rows {
			n := 1
			if l.list {
				n = width(l.name)
				if row < len(l.lengths) {
					n = l.lengths[row]
				}
			}
			for k := range max(n, 1) {
				d := int16(0)
				if l.optional {
					d++
				}
				if l.list {
					d++
				}
				null := false
				for _, r := range l.nulls {
					null = null || r == row
				}
				if null || n == 0 {
					d--
				} else {
					values++
				}
				def = append(def, d)
				rep = append(rep, int16(min(k, 1)))
			}
		}
		c, err := g.Column(i)
		check(err)
		if !l.list && !l.optional {
			def = nil
		}
		if !l.list {
			rep = nil
		}
		switch c := c.(type) {
		case *file.Int32ColumnChunkWriter:
			_, err = c.WriteBatch(make([]int32, values), def, rep)
		case *file.Int64ColumnChunkWriter:
			_, err = c.WriteBatch(make([]int64, values), def, rep)
		case *file.Float32ColumnChunkWriter:
			_, err = c.WriteBatch(make([]float32, values), def, rep)
		case *file.Float64ColumnChunkWriter:
			_, err = c.WriteBatch(make([]float64, values), def, rep)
		case *file.ByteArrayColumnChunkWriter:
			_, err = c.WriteBatch(make([]parquet.ByteArray, values), def, rep)
		}
		check(err)
	}
	check(g.Close())
	check(w.Close())
	check(os.WriteFile(path, b.Bytes(), 0o600))
}

func TestParquetErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(s []leafSpec) []leafSpec
		want   string
	}{
		{"good", func(s []leafSpec) []leafSpec { return s }, ""},
		{"good optional", func(s []leafSpec) []leafSpec { s[0].optional, s[2].optional = true, true; return s }, ""},
		{"missing", func(s []leafSpec) []leafSpec { return s[:5] }, "column rotation_b is missing, want float64 [N,4]"},
		{"unknown", func(s []leafSpec) []leafSpec { s[1].name = "shape"; return s },
			"column shape_b is missing, want int32 [N]"},
		{"index type", func(s []leafSpec) []leafSpec { s[0].physical = parquet.Types.Double; return s },
			"shape_a is float64, want int32 or int64"},
		{"unsigned index", func(s []leafSpec) []leafSpec {
			s[0].logical = schema.NewIntLogicalType(16,
				false)
			return s
		}, "shape_a is uint16, want int32 or int64"},
		{"uint32 index", func(s []leafSpec) []leafSpec { s[0].logical = schema.NewIntLogicalType(32, false); return s },
			"column shape_a is INT32 Int(bitWidth=32, isSigned=false), want"},
		{"string", func(s []leafSpec) []leafSpec { s[0].physical = parquet.Types.ByteArray; return s },
			"column shape_a is BYTE_ARRAY, want int32 or int64"},
		{"date", func(s []leafSpec) []leafSpec { s[0].logical = schema.DateLogicalType{}; return s },
			"shape_a is INT32 Date, want"},
		{"integer position", func(s []leafSpec) []leafSpec { s[2].physical = parquet.Types.Int64; return s },
			"position_a is int64, want float64 or float32"},
		{"flat position", func(s []leafSpec) []leafSpec { s[2].list = false; return s }, "column position_a has shape"},
		{"list of indices", func(s []leafSpec) []leafSpec { s[0].list = true; return s }, "column shape_a has shape"},
		{"short list", func(s []leafSpec) []leafSpec { s[2].lengths = []int{3, 3, 2}; return s },
			"position_a: row 2: a list of another length than 3"},
		{"shifted list", func(s []leafSpec) []leafSpec { s[2].lengths = []int{3, 2, 4}; return s },
			"position_a: row 1: a list of another length than 3"},
		{"long last list", func(s []leafSpec) []leafSpec { s[2].lengths = []int{3, 3, 3, 2, 4}; return s },
			"position_a: row 3: a list of another length than 3"},
		{"long list", func(s []leafSpec) []leafSpec { s[2].lengths = []int{3, 0, 4}; return s },
			"position_a: row 2: a list of another length than 3"},
		{"long list at the end", func(s []leafSpec) []leafSpec { s[2].lengths = []int{3, 0, 3, 3, 4}; return s },
			"position_a: row 4: a list of another length than 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "pairs.parquet")
			writeLeaves(t, path, c.change(pairLeaves()), 5)
			_, err := ReadPairs(path)
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			testkit.WantError(t, err, path, c.want)
		})
	}
	_, err := OpenPairs(testkit.TempFile(t, "text.parquet", []byte("this is not a Parquet file at all")))
	testkit.WantError(t, err, "text.parquet", "not a complete Parquet file")
}

// TestParquetDamage flips bits anywhere: an error or an answer of the right
// length, never a panic. Parquet pages carry no checksum unless a writer adds one.
func TestParquetDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.parquet")
	w, err := CreateResults(path, 0, batch.Single, 40)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(testResults(40, 0, batch.Single)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	step := 7
	if testing.Short() {
		step = 41
	}
	dir := t.TempDir()
	for i := 0; i < len(data); i += step {
		for _, bit := range []byte{0x01, 0x80} {
			bad := bytes.Clone(data)
			bad[i] ^= bit
			path := filepath.Join(dir, fmt.Sprintf("%d-%d.parquet", i, bit))
			if err := os.WriteFile(path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			drainResults(t, path)
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
			path := testkit.TempFile(t, "r.parquet", writeChunks(t, "r.parquet", r, 0, 2, 2))
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
	root, err := ours.Schema(table.Pairs, nil)
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
		for i, c := range table.Pairs {
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
					def[k], rep[k] = 1, int16(min(k%c.Width, 1))
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
	return testkit.TempFile(t, "pairs.parquet", b.Bytes())
}
