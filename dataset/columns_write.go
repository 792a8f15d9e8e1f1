package dataset

import (
	"errors"
	"fmt"
)

// A ColumnSpec defines a column of a file of numbers of any meaning.
type ColumnSpec struct {
	Name  string
	Width int  // values per row
	Codes bool // of type uint8
	Ints  bool // of type int32; without Codes and Ints of type float64
}

// column is the column of so many values a row.
func (s *ColumnSpec) column(width int) column {
	switch {
	case s.Codes:
		return column{s.Name, width, []dtype{typeUint8}}
	case s.Ints:
		return column{s.Name, width, []dtype{typeInt32, typeInt64}}
	}
	return column{s.Name, width, []dtype{typeFloat64, typeFloat32}}
}

// A ColumnWriter writes a file of columns, such as contact problems or states of simulations. Close completes the file;
// Abort discards it.
type ColumnWriter struct {
	tableWriter
	columns []column
}

// DiskOfColumns is what a file of n rows of columns takes of a disk at least. [CreateColumns] refuses a file for which
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
	w.out, err = createTable(osFS{}, path, w.columns, n)
	if err != nil {
		return nil, err
	}
	return w, nil
}

// Describe sets an entry of the metadata. It must be called before Close.
func (w *ColumnWriter) Describe(key, value string) { w.out.describe(key, value) }

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
			if c.accepts(typeUint8) {
				got = len(v)
			}
		case []int32:
			if c.accepts(typeInt32) {
				got = len(v)
			}
		case []float64:
			if c.accepts(typeFloat64) {
				got = len(v)
			}
		}
		if got != rows*c.width {
			return fmt.Errorf("dataset: %s: column %s takes %d values of type %s a row", w.path, c.name, c.width,
				c.read[0])
		}
	}
	return w.append(values, rows)
}
