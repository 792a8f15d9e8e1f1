package parquet

import (
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/parquet/file"

	"clearance/dataset/table"
)

// spread moves values, which stand without gaps at the front, to the places whose definition level is full, and puts
// nulls in the others.
func spread(dst any, def []int16, full int16) {
	switch d := dst.(type) {
	case []int32:
		spreadTo(d, def, full, -1)
	case []float64:
		spreadTo(d, def, full, math.NaN())
	}
}

func spreadTo[T any](dst []T, def []int16, full int16, null T) {
	from := 0
	for _, v := range def {
		if v == full {
			from++
		}
	}
	for i := len(def) - 1; i >= 0; i-- {
		if def[i] == full {
			from--
			dst[i] = dst[from]
		} else {
			dst[i] = null
		}
	}
}

// levels are the repetition and definition levels of a column chunk, and its values, a batch within a page at a time.
type levels struct {
	chunk    file.ColumnChunkReader
	left     int64 // levels of the chunk that were not read
	read     func(chunk file.ColumnChunkReader, n int64, def, rep []int16) (levels int64, values any, err error)
	def, rep []int16
	values   any // of the batch
	at, end  int // in the batch
	value    int // place of the next value
}

const levelBatch = 1 << 12

// more reports whether levels of the batch are left.
func (v *levels) more() bool { return v.at < v.end }

// next makes sure that there is a level. At the end of the chunk it reports false.
func (v *levels) next() (bool, error) {
	if v.at < v.end {
		return true, nil
	}
	if v.left == 0 {
		return false, nil
	}
	if v.read == nil {
		v.read = batchReader()
	}
	if v.def == nil {
		v.def, v.rep = make([]int16, levelBatch), make([]int16, levelBatch)
	}
	n := min(v.left, levelBatch)
	def, rep := v.def[:n], v.rep[:n]
	d := v.chunk.Descriptor()
	clear(rep)
	if d.MaxRepetitionLevel() == 0 {
		rep = nil
	}
	if d.MaxDefinitionLevel() == 0 {
		for i := range def {
			def[i] = 0
		}
		def = nil
	}
	got, values, err := v.read(v.chunk, n, def, rep)
	if err == nil {
		err = v.chunk.Err()
	}
	if err == nil && got == 0 {
		err = errors.New("damaged: its pages end before its values")
	}
	if err != nil {
		return false, err
	}
	v.left -= got
	v.values, v.at, v.end, v.value = values, 0, int(got), 0
	return true, nil
}

// batchReader returns a function that reads levels and values of a page into memory of its own.
func batchReader() func(file.ColumnChunkReader, int64, []int16, []int16) (int64, any, error) {
	var buf any
	return func(chunk file.ColumnChunkReader, n int64, def, rep []int16) (int64, any, error) {
		switch c := chunk.(type) {
		case *file.BooleanColumnChunkReader:
			return readLevels(&buf, c.ReadBatchInPage, n, def, rep)
		case *file.Int32ColumnChunkReader:
			return readLevels(&buf, c.ReadBatchInPage, n, def, rep)
		case *file.Int64ColumnChunkReader:
			return readLevels(&buf, c.ReadBatchInPage, n, def, rep)
		case *file.Int96ColumnChunkReader:
			return readLevels(&buf, c.ReadBatchInPage, n, def, rep)
		case *file.Float32ColumnChunkReader:
			return readLevels(&buf, c.ReadBatchInPage, n, def, rep)
		case *file.Float64ColumnChunkReader:
			return readLevels(&buf, c.ReadBatchInPage, n, def, rep)
		case *file.ByteArrayColumnChunkReader:
			return readLevels(&buf, c.ReadBatchInPage, n, def, rep)
		case *file.FixedLenByteArrayColumnChunkReader:
			return readLevels(&buf, c.ReadBatchInPage, n, def, rep)
		}
		return 0, nil, fmt.Errorf("holds %T", chunk)
	}
}

func readLevels[T any](buf *any, read func(int64, []T, []int16, []int16) (int64, int, error), n int64, def,
	rep []int16) (int64, any, error) {
	values, ok := (*buf).([]T)
	if !ok {
		values = make([]T, levelBatch)
		*buf = values
	}
	levels, got, err := read(n, values[:n], def, rep)
	return levels, values[:got], err
}

// rows fills whole rows of a column of which some lists are null.
func (l *leaf) rows(dst any) error {
	v, full := &l.levels, l.chunk.Descriptor().MaxDefinitionLevel()
	n := table.Len(dst)
	for at := 0; at < n; at += l.Width {
		row := l.row + int64(at/l.Width)
		for i := range l.Width {
			ok, err := v.next()
			switch {
			case err != nil:
				return fmt.Errorf("row %d or later: damaged page: %w", row, err)
			case !ok:
				return fmt.Errorf("row %d: damaged: its pages end here", row)
			case (v.rep[v.at] == 0) != (i == 0):
				return fmt.Errorf("row %d: a list of another length than %d", row, l.Width)
			}
			def := v.def[v.at]
			v.at++
			if def == full {
				if err := l.store(dst, at+i); err != nil {
					return fmt.Errorf("row %d: %w", row, err)
				}
				continue
			}
			setNull(dst, at+i)
			// A list that is null has no further levels; a null in a list is followed by the next value.
			ok, err = v.next()
			if err != nil {
				return fmt.Errorf("row %d or later: damaged page: %w", row, err)
			}
			if i == 0 && (!ok || v.rep[v.at] == 0) {
				for k := range l.Width {
					setNull(dst, at+k)
				}
				break
			}
		}
		ok, err := v.next()
		if err != nil {
			return fmt.Errorf("row %d or later: damaged page: %w", row, err)
		}
		if ok && v.rep[v.at] != 0 {
			return fmt.Errorf("row %d: a list of another length than %d", row, l.Width)
		}
	}
	return nil
}

// store puts the next value of the batch in its place.
func (l *leaf) store(dst any, at int) error {
	i := l.levels.value
	l.levels.value++
	switch d := dst.(type) {
	case []int32:
		switch v := l.levels.values.(type) {
		case []int32:
			d[at] = v[i]
			return nil
		case []int64:
			d[at] = table.Clamp32(v[i])
			return nil
		}
	case []float64:
		switch v := l.levels.values.(type) {
		case []float32:
			d[at] = float64(v[i])
			return nil
		case []float64:
			d[at] = v[i]
			return nil
		}
	}
	return fmt.Errorf("%T of %T", dst, l.levels.values)
}

func setNull(dst any, at int) {
	switch d := dst.(type) {
	case []int32:
		d[at] = -1
	case []float64:
		d[at] = math.NaN()
	}
}
