package dataset

import (
	"fmt"
	"slices"

	"clearance/internal/memory"

	"github.com/apache/arrow-go/v18/parquet/file"
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

func columnsOf(specs []ColumnSpec, width func(s *ColumnSpec) int) []column {
	cols := make([]column, len(specs))
	for i := range specs {
		cols[i] = specs[i].column(width(&specs[i]))
	}
	return cols
}

func (t *ColumnTable) readParquet(path string, specs []ColumnSpec, opts []Option) error {
	widths, err := parquetWidths(path, opts)
	if err != nil {
		return err
	}
	cols := columnsOf(specs, func(s *ColumnSpec) int { return max(widths[s.Name], 1) })
	src, err := openTable(path, cols, false, opts)
	if err != nil {
		return err
	}
	defer src.Close()
	if src.rows() > 1<<31-1 {
		return fmt.Errorf("dataset: %s: %d rows, want %d at most", path, src.rows(), 1<<31-1)
	}
	if err := checkTable(path, src, cols); err != nil {
		return err
	}
	t.Rows, t.Metadata = int(src.rows()), src.metadata()
	for i := range specs {
		if _, ok := src.typeOf(i); !ok {
			continue
		}
		err := t.put(&specs[i], cols[i].width, func(to any) error {
			return readColumn(path, src, i, src.rows()*int64(cols[i].width), to)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// parquetWidths are the numbers of values of the columns in each row, if these are equal. What is wrong with a column
// is found by its reader.
func parquetWidths(path string, opts []Option) (widths map[string]int, err error) {
	f, size, err := openRegular(path)
	if err != nil {
		return nil, fmt.Errorf("dataset: %w", err)
	}
	defer func() {
		_ = f.Close()
		if v := recover(); v != nil {
			err = fmt.Errorf("damaged Parquet metadata: %v", v)
		}
		if err != nil {
			err = fmt.Errorf("dataset: %s: %w", path, err)
		}
	}()
	if err := checkFooter(f, size, newLimits(opts)); err != nil {
		return nil, err
	}
	r, err := file.NewParquetReader(f)
	if err != nil {
		return nil, fmt.Errorf("not a complete Parquet file (truncated, or another format): %w", err)
	}
	widths = map[string]int{}
	m := r.MetaData()
	for i := range m.Schema.NumColumns() {
		d := m.Schema.Column(i)
		name := d.ColumnPath()[0]
		if d.MaxRepetitionLevel() == 0 {
			widths[name] = 1
			continue
		}
		var values, rows int64
		for g := range r.NumRowGroups() {
			group := r.RowGroup(g).MetaData()
			c, err := group.ColumnChunk(i)
			if err != nil {
				return nil, fmt.Errorf("row group %d, column %s: %w", g, name, err)
			}
			values, rows = values+c.NumValues(), rows+group.NumRows()
		}
		if rows > 0 && values%rows == 0 && values/rows <= 1<<24 {
			widths[name] = int(values / rows)
		}
	}
	return widths, nil
}

func (t *ColumnTable) readNPZ(path string, specs []ColumnSpec) error {
	cols := columnsOf(specs, func(s *ColumnSpec) int { return max(s.Width, 1) })
	z, err := openNPZ(path, nil)
	if err != nil {
		return err
	}
	defer z.Close()
	if err := t.readArrays(z, specs, cols); err != nil {
		return fmt.Errorf("dataset: %s: %w", path, err)
	}
	return nil
}

func (t *ColumnTable) readArrays(z *npzFile, specs []ColumnSpec, cols []column) error {
	t.Metadata = map[string]string{}
	first := ""
	var found []foundArray
	for _, name := range z.names() {
		a := z.arrays[name]
		if a.header.typ == typeText {
			text, err := a.text(z.budget)
			if err != nil {
				return fmt.Errorf("array %s: %w", name, err)
			}
			t.Metadata[textKey(name)] = text
			continue
		}
		i := slices.IndexFunc(cols, func(c column) bool { return c.name == name })
		if i < 0 {
			return checkName(name, cols)
		}
		shape := a.header.shape
		switch {
		case !cols[i].accepts(a.header.typ):
			return fmt.Errorf("column %s is %s, want %s", name, a.header.typ, cols[i].types())
		case len(shape) == 0 || shape[0] > 1<<31-1:
			return fmt.Errorf("column %s has shape %s, want a row per world", name, a.header.shapeString())
		case first == "":
			first, t.Rows = name, int(shape[0])
		case int64(t.Rows) != shape[0]:
			return fmt.Errorf("column %s has %d rows, column %s has %d", name, shape[0], first, t.Rows)
		}
		width := int64(1)
		for _, n := range shape[1:] {
			if width *= n; width < 0 || width > 1<<24 {
				return fmt.Errorf("column %s has shape %s, want rows of at most %d values", name,
					a.header.shapeString(), 1<<24)
			}
		}
		found = append(found, foundArray{a, &specs[i], int(width)})
	}
	if first == "" {
		return noColumns(cols)
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
	array *npyArray
	spec  *ColumnSpec
	width int
}

// checkArrays returns an error if the columns of a file together take more memory than there is, before the first of
// them is read, see [checkMemory].
func checkArrays(rows int, found []foundArray) error {
	all, largest := 0.0, 0.0
	for _, c := range found {
		of := c.spec.column(c.width) // in memory it has the type that is written
		bytes := float64(rows) * float64(c.width*of.read[0].size())
		all, largest = all+bytes, max(largest, bytes)
	}
	return memory.Check(fmt.Sprintf("%d rows", rows), all+1.25*largest)
}

func readInto(a *npyArray, to any) (err error) {
	switch to := to.(type) {
	case *[]uint8:
		*to, err = readValues[uint8](a, a.left)
	case *[]int32:
		*to, err = readValues[int32](a, a.left)
	case *[]float64:
		*to, err = readValues[float64](a, a.left)
	}
	return err
}
