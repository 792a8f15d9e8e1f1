package dataset

import (
	"errors"
	"fmt"
	"slices"

	"clearance/dataset/npz"
	"clearance/dataset/output"
	"clearance/dataset/parquet"
	"clearance/dataset/table"
	"clearance/internal/memory"
)

// A ColumnTable is a file of columns in memory. A row has as many values of a column as the file says.
type ColumnTable struct {
	Rows     int
	Metadata map[string]string

	widths map[string]int
	values map[string]any
}

// Has reports whether the file has a column.
func (t *ColumnTable) Has(name string) bool { return t.values[name] != nil }

// Width is the number of values of a column in each row, 0 of one that the file lacks.
func (t *ColumnTable) Width(name string) int { return t.widths[name] }

// Reals, Ints and Codes return the values of a column, row after row; nil if the file lacks it.
func (t *ColumnTable) Reals(name string) []float64 { v, _ := t.values[name].([]float64); return v }

// Ints is like Reals, of a column of integers.
func (t *ColumnTable) Ints(name string) []int32 { v, _ := t.values[name].([]int32); return v }

// Codes is like Reals, of a column of codes.
func (t *ColumnTable) Codes(name string) []uint8 { v, _ := t.values[name].([]uint8); return v }

// ReadColumns reads a Parquet or NPZ file of some of the columns of specs. The width of a spec is that which the column
// must have, or 0 for any: arrays of an NPZ file may then have more than two dimensions, and lists of a Parquet file
// any length, the same in every row. Columns of other names are an error.
func ReadColumns(path string, specs []ColumnSpec, opts ...Option) (*ColumnTable, error) {
	f, err := formatOf(path)
	if err != nil {
		return nil, err
	}
	t := &ColumnTable{widths: map[string]int{}, values: map[string]any{}}
	if f == formatParquet {
		err = t.readParquet(path, specs, opts)
	} else {
		err = t.readNPZ(path, specs)
	}
	if err != nil {
		return nil, err
	}
	for i := range specs {
		s := &specs[i]
		if w, has := t.widths[s.Name]; has && s.Width > 0 && w != s.Width {
			return nil, fmt.Errorf("dataset: %s: column %s has %d values a row, want %d", path, s.Name, w, s.Width)
		}
	}
	return t, nil
}

// put stores the values of a column that read fills.
func (t *ColumnTable) put(s *ColumnSpec, width int, read func(to any) error) (err error) {
	switch {
	case s.Codes:
		var v []uint8
		err = read(&v)
		t.values[s.Name] = v
	case s.Ints:
		var v []int32
		err = read(&v)
		t.values[s.Name] = v
	default:
		var v []float64
		err = read(&v)
		t.values[s.Name] = v
	}
	t.widths[s.Name] = width
	return err
}

func columnsOf(specs []ColumnSpec, width func(s *ColumnSpec) int) []table.Column {
	cols := make([]table.Column, len(specs))
	for i := range specs {
		cols[i] = specs[i].column(width(&specs[i]))
	}
	return cols
}

func (t *ColumnTable) readParquet(path string, specs []ColumnSpec, opts []Option) error {
	widths, err := parquet.Widths(path, newLimits(opts))
	if err != nil {
		return err
	}
	cols := columnsOf(specs, func(s *ColumnSpec) int { return max(widths[s.Name], 1) })
	src, err := openTable(path, cols, opts)
	if err != nil {
		return err
	}
	defer src.Close()
	if src.Rows() > 1<<31-1 {
		return fmt.Errorf("dataset: %s: %d rows, want %d at most", path, src.Rows(), 1<<31-1)
	}
	if err := checkTable(path, src, cols); err != nil {
		return err
	}
	t.Rows, t.Metadata = int(src.Rows()), src.Metadata()
	for i := range specs {
		if _, ok := src.TypeOf(i); !ok {
			continue
		}
		err := t.put(&specs[i], cols[i].Width, func(to any) error {
			return readColumn(path, src, i, src.Rows()*int64(cols[i].Width), to)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *ColumnTable) readNPZ(path string, specs []ColumnSpec) error {
	cols := columnsOf(specs, func(s *ColumnSpec) int { return max(s.Width, 1) })
	z, err := npz.Open(path, nil, table.DefaultLimits())
	if err != nil {
		return err
	}
	defer z.Close()
	if err := t.readArrays(z, specs, cols); err != nil {
		return fmt.Errorf("dataset: %s: %w", path, err)
	}
	return nil
}

func (t *ColumnTable) readArrays(z *npz.File, specs []ColumnSpec, cols []table.Column) error {
	t.Metadata = map[string]string{}
	first := ""
	var found []foundArray
	for _, name := range z.Names() {
		a := z.Arrays[name]
		if a.Header.Type == table.Text {
			text, err := a.Text(z.Budget)
			if err != nil {
				return fmt.Errorf("array %s: %w", name, err)
			}
			t.Metadata[npz.TextKey(name)] = text
			continue
		}
		i := slices.IndexFunc(cols, func(c table.Column) bool { return c.Name == name })
		if i < 0 {
			return table.CheckName(name, cols)
		}
		shape := a.Header.Shape
		switch {
		case !cols[i].Accepts(a.Header.Type):
			return fmt.Errorf("column %s is %s, want %s", name, a.Header.Type, cols[i].TypeNames())
		case len(shape) == 0 || shape[0] > 1<<31-1:
			return fmt.Errorf("column %s has shape %s, want a row per world", name, a.Header.ShapeString())
		case first == "":
			first, t.Rows = name, int(shape[0])
		case int64(t.Rows) != shape[0]:
			return fmt.Errorf("column %s has %d rows, column %s has %d", name, shape[0], first, t.Rows)
		}
		width := int64(1)
		for _, n := range shape[1:] {
			if width *= n; width < 0 || width > 1<<24 {
				return fmt.Errorf("column %s has shape %s, want rows of at most %d values", name,
					a.Header.ShapeString(), 1<<24)
			}
		}
		found = append(found, foundArray{a, &specs[i], int(width)})
	}
	if first == "" {
		return table.NoColumns(cols)
	}
	if err := checkArrays(t.Rows, found); err != nil {
		return err
	}
	for _, c := range found {
		if err := t.put(c.spec, c.width, func(to any) error { return readInto(c.array, to) }); err != nil {
			return err
		}
	}
	return nil
}

// foundArray is the array of a column.
type foundArray struct {
	array *npz.Array
	spec  *ColumnSpec
	width int
}

// checkArrays returns an error if the columns of a file together take more memory than there is, before the first of
// them is read, see [table.CheckMemory].
func checkArrays(rows int, found []foundArray) error {
	all, largest := 0.0, 0.0
	for _, c := range found {
		of := c.spec.column(c.width) // in memory it has the type that is written
		bytes := float64(rows) * float64(c.width*of.Types[0].Size())
		all, largest = all+bytes, max(largest, bytes)
	}
	return memory.Check(fmt.Sprintf("%d rows", rows), all+1.25*largest)
}

func readInto(a *npz.Array, to any) (err error) {
	switch to := to.(type) {
	case *[]uint8:
		*to, err = npz.ReadValues[uint8](a, a.Left)
	case *[]int32:
		*to, err = npz.ReadValues[int32](a, a.Left)
	case *[]float64:
		*to, err = npz.ReadValues[float64](a, a.Left)
	}
	return err
}

// A ColumnSpec defines a column of a file of numbers of any meaning.
type ColumnSpec struct {
	Name  string
	Width int  // values per row
	Codes bool // of type uint8
	Ints  bool // of type int32; without Codes and Ints of type float64
}

// SizedSpecs are the columns of a table for worlds of so many bodies and contacts.
func SizedSpecs(cols []table.Sized, bodies, contacts int) []ColumnSpec {
	specs := make([]ColumnSpec, len(cols))
	for i := range cols {
		c := &cols[i]
		specs[i] = ColumnSpec{Name: c.Name, Width: c.Size(bodies, contacts), Codes: c.Types[0] == table.Uint8,
			Ints: c.Types[0] == table.Int32}
	}
	return specs
}

// column is the column of so many values a row.
func (s *ColumnSpec) column(width int) table.Column {
	switch {
	case s.Codes:
		return table.Column{Name: s.Name, Width: width, Types: table.Codes}
	case s.Ints:
		return table.Column{Name: s.Name, Width: width, Types: table.Indices}
	}
	return table.Column{Name: s.Name, Width: width, Types: table.Reals}
}

// A ColumnWriter writes a file of columns, such as contact problems or states of simulations. Close completes the file;
// Abort discards it.
type ColumnWriter struct {
	tableWriter
	columns []table.Column
}

// DiskOfColumns is the least disk space of a file of n rows of columns. [CreateColumns] refuses a file for which
// there is no room.
func DiskOfColumns(path string, specs []ColumnSpec, n int64) (float64, error) {
	f, err := formatOf(path)
	if err != nil {
		return 0, err
	}
	return diskBytes(columnsOf(specs, func(s *ColumnSpec) int { return s.Width }), n, f), nil
}

// CreateColumns creates a Parquet or NPZ file of exactly n rows of columns.
func CreateColumns(path string, specs []ColumnSpec, n int64) (*ColumnWriter, error) {
	if len(specs) == 0 {
		return nil, errors.New("dataset: " + path + ": no columns to write")
	}
	w := &ColumnWriter{tableWriter: tableWriter{path: path, n: n}}
	for _, s := range specs {
		w.columns = append(w.columns, s.column(s.Width))
	}
	var err error
	w.out, err = createTable(output.Disk{}, path, w.columns, n)
	if err != nil {
		return nil, err
	}
	return w, nil
}

// Describe sets an entry of the metadata. It must be called before Close.
func (w *ColumnWriter) Describe(key, value string) { w.out.Describe(key, value) }

// Write appends rows: values has a slice for each column, []uint8 of codes, []int32 of integers
// and []float64 of others.
func (w *ColumnWriter) Write(rows int, values ...any) error {
	if len(values) != len(w.columns) {
		return fmt.Errorf("dataset: %s: %d columns written, want %d", w.path, len(values), len(w.columns))
	}
	for i, c := range w.columns {
		got := -1
		switch v := values[i].(type) {
		case []uint8:
			if c.Accepts(table.Uint8) {
				got = len(v)
			}
		case []int32:
			if c.Accepts(table.Int32) {
				got = len(v)
			}
		case []float64:
			if c.Accepts(table.Float64) {
				got = len(v)
			}
		}
		if got != rows*c.Width {
			return fmt.Errorf("dataset: %s: column %s takes %d values of type %s a row", w.path, c.Name, c.Width,
				c.Types[0])
		}
	}
	return w.append(values, rows)
}
