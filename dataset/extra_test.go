package dataset

import (
	"archive/zip"
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"clearance/batch"
	ours "clearance/dataset/parquet"
	"clearance/dataset/table"
	"clearance/internal/testkit"
)

// TestNulls: a null is NaN, or the index -1, and all other values stay at their places.
func TestNulls(t *testing.T) {
	const rows = 9000 // several batches of levels
	for _, c := range []struct {
		name   string
		change func(s []leafSpec)
		column string
		nulls  []int
	}{
		{"index", func(s []leafSpec) { s[1].optional, s[1].nulls = true, []int{0, 3, 8999} }, "shape_b",
			[]int{0, 3, 8999}},
		{"values", func(s []leafSpec) { s[4].optional, s[4].nulls = true, []int{1, 5000} }, "rotation_a",
			[]int{1, 5000}},
		{"lists", func(s []leafSpec) { s[2].lengths = []int{0, 3, 0, 3, 0} }, "position_a", []int{0, 2, 4}},
		{"float32 lists", func(s []leafSpec) {
			s[3].physical, s[3].lengths = parquet.Types.Float, append(slices.Repeat([]int{3}, 8999), 0)
		}, "position_b", []int{8999}},
		{"lists and values", func(s []leafSpec) {
			s[2].optional, s[2].lengths, s[2].nulls = true, []int{3, 0, 3}, []int{2}
		}, "position_a", []int{1, 2}},
	} {
		path := filepath.Join(t.TempDir(), "pairs.parquet")
		leaves := pairLeaves()
		c.change(leaves)
		writeLeaves(t, path, leaves, rows)
		p, err := ReadPairs(path)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for i, col := range table.Pairs {
			want := make([]bool, rows)
			if col.Name == c.column {
				for _, r := range c.nulls {
					want[r] = true
				}
			}
			for k := range rows * col.Width {
				null := false
				switch v := pairValues(p, i, rows).(type) {
				case []int32:
					null = v[k] == -1
				case []float64:
					null = math.IsNaN(v[k])
				}
				if null != want[k/col.Width] {
					t.Errorf("%s: %s, value %d: null is %v", c.name, col.Name, k, null)
					break
				}
			}
		}
	}
}

// copyResults writes results of a file of pairs in steps, with its other columns, and returns the file.
func copyResults(t *testing.T, pairs string, steps ...int) (string, error) {
	t.Helper()
	in, err := OpenPairs(pairs)
	if err != nil {
		return "", err
	}
	defer in.Close()
	extra, err := in.Extra()
	if err != nil {
		return "", err
	}
	if extra != nil {
		defer extra.Close()
	}
	out := filepath.Join(t.TempDir(), "out"+filepath.Ext(pairs))
	w, err := CreateResultsWith(out, batch.ColDistance|batch.ColNormal|batch.ColStatus, batch.Single, in.Len(), extra)
	if err != nil {
		return "", err
	}
	for _, n := range steps {
		if err := w.Write(testResults(n, batch.ColDistance|batch.ColNormal|batch.ColStatus, batch.Single)); err != nil {
			w.Abort()
			return "", err
		}
	}
	return out, w.Close()
}

// TestExtraNPZ: arrays of any type stand in the results byte for byte, in the order of the rows.
func TestExtraNPZ(t *testing.T) {
	const n = 4
	data := func(bytes int) []byte {
		b := make([]byte, bytes)
		for i := range b {
			b[i] = byte(7*i + 1)
		}
		return b
	}
	extra := []npyFile{
		{"label", dict("<U3", "(4,)"), data(4 * 12)},
		{"score", dict(">f2", "(4,)"), data(4 * 2)},
		{"when", dict("<M8[ns]", "(4,)"), data(4 * 8)},
		{"grasp", dict("<f8", "(4, 2, 3)"), data(4 * 48)},
		{"good", dict("|b1", "(4,)"), data(4)},
		{"empty", dict("<i8", "(4, 0)"), nil},
	}
	path := testkit.TempFile(t, "pairs.npz", zipped(t, append(pairFiles(n), extra...), zip.Deflate))
	out, err := copyResults(t, path, 1, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	z, err := zip.OpenReader(out)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for _, want := range extra {
		f, err := z.Open(want.name + ".npy")
		if err != nil {
			t.Errorf("%s: %v", want.name, err)
			continue
		}
		var b bytes.Buffer
		_, err = b.ReadFrom(f)
		descr := regexp.MustCompile(`'descr': '[^']*'`)
		if header, data, ok := bytes.Cut(b.Bytes(), []byte("\n")); err != nil || !ok || !bytes.Equal(data, want.data) ||
			descr.FindString(string(header)) != descr.FindString(want.header) {
			t.Errorf("%s: %q %v, %v", want.name, header, data, err)
		}
	}
	r, err := OpenResults(out)
	if err != nil || r.Len() != n {
		t.Fatal(err)
	}
	r.Close()
	if _, err := ReadPairs(path); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		file npyFile
		want string
	}{
		{npyFile{"label", dict("|O", "(4,)"), data(8)}, `array label: dtype "|O" is not supported`},
		{npyFile{"label", dict("<f8", "(3,)"), data(24)}, "column label has shape [3], want one entry per row"},
		{npyFile{"seed", dict("<i8", "()"), data(8)}, "column seed has shape []"},
		{npyFile{"status", dict("<i8", "(4,)"), data(32)}, `column "status": results have something of that name`},
		{npyFile{"query", dict("<i8", "(4,)"), data(32)}, `column "query": results have something of that name`},
	} {
		_, err := copyResults(t, testkit.TempFile(t, "pairs.npz", zipped(t, append(pairFiles(n), c.file), zip.Store)),
			n)
		testkit.WantError(t, err, "pairs.npz", c.want)
	}
	in, err := OpenPairs(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	e, err := in.Extra()
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	_, err = CreateResultsWith(filepath.Join(t.TempDir(), "out.parquet"), 0, batch.Single, n, e)
	testkit.WantError(t, err, "out.parquet", "label", "its extension")
}

// extraRow is a row of the other columns of a Parquet file.
type extraRow struct {
	label string // null if empty
	tags  []int64
}

// writeExtra writes a file of pairs with columns of texts and of lists of numbers, in row groups of a size.
func writeExtra(t *testing.T, path string, rows []extraRow, group int) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	root, err := ours.Schema(table.Pairs, nil)
	check(err)
	var fields schema.FieldList
	for i := range root.NumFields() {
		fields = append(fields, root.Field(i))
	}
	label, err := schema.NewPrimitiveNodeLogical("label", parquet.Repetitions.Optional, schema.StringLogicalType{},
		parquet.Types.ByteArray, -1, -1)
	check(err)
	tag, err := schema.NewPrimitiveNodeLogical("tags", parquet.Repetitions.Optional, schema.NoLogicalType{},
		parquet.Types.Int64, -1, -1)
	check(err)
	tags, err := schema.ListOfWithName("tags", tag, parquet.Repetitions.Required, -1)
	check(err)
	// Between the columns of pairs.
	fields = slices.Insert(fields, 2, schema.Node(label))
	root, err = schema.NewGroupNode("schema", parquet.Repetitions.Required, append(fields, tags), -1)
	check(err)
	var b bytes.Buffer
	w := file.NewParquetWriter(&b, root)
	for part := range slices.Chunk(rows, group) {
		g, err := w.AppendBufferedRowGroupChecked()
		check(err)
		at := 0
		column := func() file.ColumnChunkWriter {
			c, err := g.Column(at)
			check(err)
			at++
			return c
		}
		for _, c := range table.Pairs {
			if at == 2 {
				var values []parquet.ByteArray
				var def []int16
				for _, r := range part {
					def = append(def, int16(min(len(r.label), 1)))
					if r.label != "" {
						values = append(values, parquet.ByteArray(r.label))
					}
				}
				_, err := column().(*file.ByteArrayColumnChunkWriter).WriteBatch(values, def, nil)
				check(err)
			}
			if c.Width == 1 {
				_, err := column().(*file.Int32ColumnChunkWriter).WriteBatch(make([]int32, len(part)), nil, nil)
				check(err)
				continue
			}
			values := make([]float64, len(part)*c.Width)
			def, rep := make([]int16, len(values)), make([]int16, len(values))
			for i := range values {
				def[i], rep[i] = 1, int16(min(i%c.Width, 1))
			}
			_, err := column().(*file.Float64ColumnChunkWriter).WriteBatch(values, def, rep)
			check(err)
		}
		var values []int64
		var def, rep []int16
		for _, r := range part {
			if len(r.tags) == 0 {
				def, rep = append(def, 0), append(rep, 0)
			}
			for i, v := range r.tags {
				rep = append(rep, int16(min(i, 1)))
				if v < 0 { // null
					def = append(def, 1)
					continue
				}
				values, def = append(values, v), append(def, 2)
			}
		}
		_, err = column().(*file.Int64ColumnChunkWriter).WriteBatch(values, def, rep)
		check(err)
		check(g.Close())
	}
	check(w.Close())
	check(os.WriteFile(path, b.Bytes(), 0o600))
}

// readExtra reads the rows back, in which a null is a negative number.
func readExtra(t *testing.T, path string) (rows []extraRow) {
	t.Helper()
	r, err := file.OpenParquetFile(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s := r.MetaData().Schema
	for g := range r.NumRowGroups() {
		first := len(rows)
		rows = append(rows, make([]extraRow, r.RowGroup(g).NumRows())...)
		for i := range s.NumColumns() {
			name := s.Column(i).ColumnPath()[0]
			if name != "label" && name != "tags" {
				continue
			}
			c, err := r.RowGroup(g).Column(i)
			if err != nil {
				t.Fatal(err)
			}
			m, _ := r.RowGroup(g).MetaData().ColumnChunk(i)
			n := m.NumValues()
			def, rep, texts, numbers := make([]int16, n), make([]int16, n), make([]parquet.ByteArray, n), make([]int64,
				n)
			var got int64
			switch c := c.(type) {
			case *file.ByteArrayColumnChunkReader:
				got, _, err = c.ReadBatch(n, texts, def, nil)
			case *file.Int64ColumnChunkReader:
				got, _, err = c.ReadBatch(n, numbers, def, rep)
			}
			if err == nil && got != n {
				err = fmt.Errorf("%s: %d of %d levels", name, got, n)
			}
			if err != nil {
				t.Fatal(err)
			}
			row, value := first-1, 0
			for k := range n {
				if rep[k] == 0 {
					row++
				}
				switch {
				case name == "label" && def[k] == 1:
					rows[row].label = string(texts[value])
					value++
				case name == "tags" && def[k] == 2:
					rows[row].tags = append(rows[row].tags, numbers[value])
					value++
				case name == "tags" && def[k] == 1:
					rows[row].tags = append(rows[row].tags, -1)
				}
			}
		}
	}
	return rows
}

// TestExtraParquet: texts, lists and nulls stand in the results of their rows, whatever the row groups and steps.
func TestExtraParquet(t *testing.T) {
	const n = 10_000
	rows := make([]extraRow, n)
	for i := range rows {
		if i%7 != 0 {
			rows[i].label = fmt.Sprintf("object %d", i%100)
		}
		if i == 77 {
			rows[i].label = strings.Repeat("long", 1000)
		}
		for k := range i % 5 {
			tag := int64(i + k)
			if tag%11 == 0 {
				tag = -1
			}
			rows[i].tags = append(rows[i].tags, tag)
		}
	}
	rows[5000].tags = make([]int64, 20_000) // longer than a batch
	for _, group := range []int{n, 1234, 1} {
		if group == 1 {
			rows = rows[:50]
		}
		path := filepath.Join(t.TempDir(), "pairs.parquet")
		writeExtra(t, path, rows, group)
		steps := []int{1, 48, 1}
		if len(rows) == n {
			steps = []int{1, 4998, 2, 3999, 1000}
		}
		out, err := copyResults(t, path, steps...)
		if err != nil {
			t.Fatal(err)
		}
		got := readExtra(t, out)
		if len(got) != len(rows) {
			t.Fatalf("%d rows, want %d", len(got), len(rows))
		}
		for i, r := range rows {
			if got[i].label != r.label || !slices.Equal(got[i].tags, r.tags) {
				t.Fatalf("groups of %d, row %d: %.80v, want %.80v", group, i, got[i], r)
			}
		}
		res, err := OpenResults(out)
		if err != nil || res.Len() != int64(len(rows)) {
			t.Fatal(err)
		}
		res.Close()
		if p, err := ReadPairs(path); err != nil || p.Len() != len(rows) {
			t.Error(err)
		}
	}
	leaves := append(pairLeaves(), leafSpec{name: "gap", physical: parquet.Types.Double})
	path := filepath.Join(t.TempDir(), "pairs.parquet")
	writeLeaves(t, path, leaves, 3)
	_, err := copyResults(t, path, 3)
	testkit.WantError(t, err, "pairs.parquet", `column "gap": results have something of that name`)
}
