package main

import (
	"fmt"
	"path/filepath"

	"clearance/dataset"
)

// columnBuffer collects rows of columns until they are written.
type columnBuffer struct {
	specs  []dataset.ColumnSpec
	values []any // of each column: *[]float64, *[]int32 or *[]uint8
	rows   int
}

func newColumnBuffer(specs []dataset.ColumnSpec) *columnBuffer {
	b := &columnBuffer{specs: specs}
	for _, s := range specs {
		switch {
		case s.Codes:
			b.values = append(b.values, new([]uint8))
		case s.Ints:
			b.values = append(b.values, new([]int32))
		default:
			b.values = append(b.values, new([]float64))
		}
	}
	return b
}

// bytes is the memory of the rows, without what is kept for more.
func (b *columnBuffer) bytes() float64 {
	if b == nil {
		return 0
	}
	return rowBytes(b.specs) * float64(b.rows)
}

// rowBytes is the memory of a row of columns, and what it takes in an NPZ file.
func rowBytes(specs []dataset.ColumnSpec) (n float64) {
	for _, s := range specs {
		switch {
		case s.Codes:
			n += float64(s.Width)
		case s.Ints:
			n += 4 * float64(s.Width)
		default:
			n += 8 * float64(s.Width)
		}
	}
	return n
}

// add appends rows: a slice for each column.
func (b *columnBuffer) add(rows int, values ...any) {
	b.rows += rows
	for i, v := range values {
		switch to := b.values[i].(type) {
		case *[]uint8:
			*to = append(*to, v.([]uint8)...)
		case *[]int32:
			*to = append(*to, v.([]int32)...)
		case *[]float64:
			*to = append(*to, v.([]float64)...)
		}
	}
}

// reset forgets the rows.
func (b *columnBuffer) reset() {
	b.rows = 0
	for _, v := range b.values {
		switch to := v.(type) {
		case *[]uint8:
			*to = (*to)[:0]
		case *[]int32:
			*to = (*to)[:0]
		case *[]float64:
			*to = (*to)[:0]
		}
	}
}

// slices are the columns as they are written.
func (b *columnBuffer) slices() []any {
	list := make([]any, len(b.values))
	for i, v := range b.values {
		switch of := v.(type) {
		case *[]uint8:
			list[i] = *of
		case *[]int32:
			list[i] = *of
		case *[]float64:
			list[i] = *of
		}
	}
	return list
}

// write writes all rows as a file with texts, pairs of a key and a value.
func (b *columnBuffer) write(path string, texts ...string) error {
	return writeColumns(path, b.specs, int64(b.rows), texts, func(out *dataset.ColumnWriter) error {
		return out.Write(b.rows, b.slices()...)
	})
}

// writeColumns writes a file of n rows, which write appends.
func writeColumns(path string, specs []dataset.ColumnSpec, n int64, texts []string,
	write func(out *dataset.ColumnWriter) error) error {
	out, err := dataset.CreateColumns(path, specs, n)
	if err != nil {
		return err
	}
	defer out.Abort()
	for i := 0; i+1 < len(texts); i += 2 {
		out.Describe(texts[i], texts[i+1])
	}
	if err := write(out); err != nil {
		return err
	}
	return out.Close()
}

// tableSlices are the columns of a table in the order of specs.
func tableSlices(path string, t *dataset.ColumnTable, specs []dataset.ColumnSpec) ([]any, error) {
	list := make([]any, len(specs))
	for i, s := range specs {
		if !t.Has(s.Name) {
			return nil, fmt.Errorf("%s: column %s is missing", path, s.Name)
		}
		switch {
		case s.Codes:
			list[i] = t.Codes(s.Name)
		case s.Ints:
			list[i] = t.Ints(s.Name)
		default:
			list[i] = t.Reals(s.Name)
		}
	}
	return list, nil
}

// checkColumnFile returns an error for an output that is no file of a format of columns. It is called before the work.
func checkColumnFile(flag, path string) error {
	if ext := filepath.Ext(path); path != "" && ext != ".npz" && ext != ".parquet" {
		return fmt.Errorf("--%s %s: want a file .parquet or .npz", flag, path)
	}
	return nil
}
