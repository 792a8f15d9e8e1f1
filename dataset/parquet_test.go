package dataset

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"clearance/batch"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
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
	for _, c := range pairColumns {
		l := leafSpec{name: c.name, physical: parquet.Types.Int32}
		if c.width > 1 {
			l.list, l.physical = true, parquet.Types.Double
		}
		s = append(s, l)
	}
	return s
}

func width(name string) int {
	for _, c := range slices.Concat(pairColumns, formMotions.table()) {
		if c.name == name {
			return c.width
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
			wantError(t, err, path, c.want)
		})
	}
	_, err := OpenPairs(tempFile(t, "text.parquet", []byte("this is not a Parquet file at all")))
	wantError(t, err, "text.parquet", "not a complete Parquet file")
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
