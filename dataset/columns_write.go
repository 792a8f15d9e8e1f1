package dataset

import (
	"errors"
	"fmt"
)

// A ColumnSpec defines a column of a file of derived values.
type ColumnSpec struct {
	Name  string
	Width int  // values per row
	Codes bool // of type uint8, else float64
}

// A ColumnWriter writes a file of derived values, as those of package derive. Close completes the file; Abort discards
// it.
type ColumnWriter struct {
	tableWriter
	columns []column
}

// CreateColumns creates a Parquet or NPZ file of exactly n rows of columns.
func CreateColumns(path string, specs []ColumnSpec, n int64) (*ColumnWriter, error) {
	if len(specs) == 0 {
		return nil, errors.New("dataset: " + path + ": no columns to write")
	}
	w := &ColumnWriter{tableWriter: tableWriter{path: path, n: n}}
	for _, s := range specs {
		t := typeFloat64
		if s.Codes {
			t = typeUint8
		}
		w.columns = append(w.columns, column{s.Name, s.Width, []dtype{t}})
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

// Write appends rows: values has a slice for each column, []uint8 of codes and []float64 of others.
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
		case []float64:
			if c.accepts(typeFloat64) {
				got = len(v)
			}
		}
		if got != rows*c.width {
			return fmt.Errorf("dataset: %s: column %s takes %d values of type %s a row", w.path, c.name, c.width,
				c.types())
		}
	}
	return w.append(values, rows)
}
