package dataset

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"clearance/dataset/npz"
	"clearance/dataset/output"
	"clearance/dataset/parquet"
	"clearance/dataset/table"
	"clearance/internal/memory"
)

// This file opens and creates tables, in the format of their extension, and counts their rows.

// format is a file format of tables.
type format uint8

const (
	formatNPZ format = iota
	formatParquet
)

func formatOf(path string) (format, error) {
	switch ext := strings.ToLower(filepath.Ext(output.FinalName(path))); ext {
	case ".npz":
		return formatNPZ, nil
	case ".parquet":
		return formatParquet, nil
	default:
		return 0, fmt.Errorf("dataset: %s: unknown extension %q, want .parquet or .npz", path, ext)
	}
}

// openTable opens a file of the given columns. Columns beyond these are an error.
func openTable(path string, cols []table.Column, opts []Option) (table.Source, error) {
	return openTableWith(path, cols, table.Leniency{}, opts)
}

// openTableWith opens a file, or a folder of parts as one table.
func openTableWith(path string, cols []table.Column, may table.Leniency, opts []Option) (table.Source, error) {
	if isDir(path) {
		return openParts(path, newLimits(opts).Workers, cols, func(path string) (table.Source, error) {
			return openFile(path, cols, may, opts)
		})
	}
	return openFile(path, cols, may, opts)
}

func openFile(path string, cols []table.Column, may table.Leniency, opts []Option) (table.Source, error) {
	f, err := formatOf(path)
	if err != nil {
		return nil, err
	}
	var s table.Source
	if f == formatParquet {
		s, err = parquet.Open(path, cols, newLimits(opts), may)
	} else {
		s, err = npz.OpenTable(path, cols, newLimits(opts), may)
	}
	if err != nil {
		return nil, err
	}
	for i := range cols {
		c := &cols[i]
		if _, ok := s.TypeOf(i); c.Required && !ok {
			_ = s.Close()
			return nil, fmt.Errorf("dataset: %s: column %s is missing, want %s %s: %s", path, c.Name, c.Types[0],
				c.Shape(),
				c.Meaning)
		}
	}
	return s, nil
}

// diskBytes is the least disk space of a table of n rows. An NPZ file has all values as they are; of a Parquet
// file these are the real numbers, while others are compressed, and count nothing here.
func diskBytes(cols []table.Column, n int64, f format) float64 {
	row := 0.0
	for i := range cols {
		if t := cols[i].Types[0]; f == formatNPZ || t == table.Float32 || t == table.Float64 {
			row += float64(cols[i].Width * t.Size())
		}
	}
	return row * float64(n)
}

// checkDisk returns an error if a table of n rows takes more of the disk than is free.
func checkDisk(path string, cols []table.Column, n int64, f format) error {
	if err := memory.CheckDisk(fmt.Sprintf("a table of %d rows", n), path, diskBytes(cols, n, f)); err != nil {
		return fmt.Errorf("dataset: cannot write %s: %w", path, err)
	}
	return nil
}

// createTable creates a file of n rows of the given columns.
func createTable(fs output.FS, path string, cols []table.Column, n int64) (table.Sink, error) {
	return createTableWith(fs, path, cols, n, nil)
}

// createTableWith creates a file that has the columns of extra, if that is not nil, too.
func createTableWith(fs output.FS, path string, cols []table.Column, n int64, extra *Extra) (table.Sink, error) {
	if extra == nil {
		extra = &Extra{}
	}
	f, err := formatOf(path)
	if err != nil {
		return nil, err
	}
	if n < 0 {
		return nil, fmt.Errorf("dataset: %s: %d rows, want 0 or more", path, n)
	}
	if err := checkDisk(path, cols, n, f); err != nil {
		return nil, err
	}
	if f == formatParquet {
		return parquet.Create(fs, path, cols, extra.parquet)
	}
	return npz.CreateTable(fs, path, cols, n, extra.npz)
}

// tableReader counts the rows of a source that has been read.
type tableReader struct {
	path string
	src  table.Source
	next int64
	dst  []any // of a call
}

// advance reads up to room rows of the columns in vals (nil ones are skipped),
// where vals(i, n) is a slice for n rows of column i.
func (r *tableReader) advance(room, columns int, vals func(i, n int) any) (int, error) {
	left := r.src.Rows() - r.next
	if left <= 0 {
		return 0, io.EOF
	}
	if room <= 0 {
		return 0, fmt.Errorf("dataset: %s: no room for a row in the destination", r.path)
	}
	n := int(min(int64(room), left))
	if r.dst == nil {
		r.dst = make([]any, columns)
	}
	for i := range r.dst {
		r.dst[i] = vals(i, n)
	}
	err := r.src.Read(r.dst)
	clear(r.dst)
	if err != nil {
		return 0, notEnd(err)
	}
	r.next += int64(n)
	return n, nil
}

// checkTable returns an error if the columns of a file together take more memory than there is, before the first of
// them is read: see table.CheckMemory.
func checkTable(path string, src table.Source, cols []table.Column) error {
	all, largest := 0.0, 0.0
	for i := range cols {
		if t, ok := src.TypeOf(i); ok {
			bytes := float64(src.Rows()) * float64(cols[i].Width*t.Size())
			all, largest = all+bytes, max(largest, bytes)
		}
	}
	if err := memory.Check(fmt.Sprintf("%d rows", src.Rows()), all+1.25*largest); err != nil {
		return fmt.Errorf("dataset: %s: %w", path, err)
	}
	return nil
}

// readColumn reads the n values of column i into the slice that to points to. Memory grows with what has been read: the
// length of a damaged file may be wrong. The slice is not nil.
func readColumn(path string, src table.Source, i int, n int64, to any) error {
	switch to := to.(type) {
	case *[]uint8:
		return readGrowing(path, src, i, n, to)
	case *[]uint16:
		return readGrowing(path, src, i, n, to)
	case *[]int32:
		return readGrowing(path, src, i, n, to)
	case *[]float32:
		return readGrowing(path, src, i, n, to)
	case *[]float64:
		return readGrowing(path, src, i, n, to)
	}
	return fmt.Errorf("dataset: column %d: no reader of %T", i, to)
}

func readGrowing[T any](path string, src table.Source, i int, n int64, to *[]T) error {
	if err := table.CheckMemory[T](fmt.Sprintf("column %d of %d values", i, n), n); err != nil {
		return fmt.Errorf("dataset: %s: %w", path, err)
	}
	dst := make([]any, i+1)
	return table.Growing(n, to, func(part []T) error {
		dst[i] = part
		return notEnd(src.Read(dst))
	})
}

// notEnd is an error within the rows, which may hold io.EOF of a damaged page, as one that
// nobody takes for the end of the file.
func notEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New(err.Error())
	}
	return err
}

// tableWriter counts the rows of a sink and remembers its first error.
type tableWriter struct {
	path    string
	out     table.Sink
	n, next int64
	err     error
}

func (w *tableWriter) append(vals []any, rows int) error {
	if w.err != nil {
		return w.err
	}
	if int64(rows) > w.n-w.next {
		w.err = fmt.Errorf("dataset: %s: more rows written than the %d announced", w.path, w.n)
	} else if err := w.out.Write(vals, rows); err != nil {
		w.err = fmt.Errorf("dataset: cannot write %s: %w", w.path, err)
	}
	w.next += int64(rows)
	return w.err
}

// SetWorkers sets the number of goroutines that encode and write the file, in place of one per processor. The bytes
// of the file do not depend on it.
func (w *tableWriter) SetWorkers(n int) { w.out.SetWorkers(n) }

// Complete writes all of the file but its name and returns the temporary path under which it can be read until Close
// or Abort. No row can be written afterwards. If a Write failed or rows are missing, it fails and removes the file.
func (w *tableWriter) Complete() (path string, err error) {
	if w.err == nil && w.next != w.n {
		w.err = fmt.Errorf("dataset: %s: %d rows written, %d announced", w.path, w.next, w.n)
	}
	if w.err != nil {
		w.out.Abort()
		return "", w.err
	}
	path, w.err = w.out.Complete()
	return path, w.err
}

// Close completes the file and renames it to its final name. If a Write failed or rows are
// missing, it fails and removes the file.
func (w *tableWriter) Close() error {
	if _, err := w.Complete(); err != nil {
		return err
	}
	if w.err = w.out.Commit(); w.err != nil {
		return w.err
	}
	w.err = fmt.Errorf("dataset: %s: %w", w.path, output.ErrDone)
	return nil
}

// Abort discards the file. After Close or Abort it does nothing.
func (w *tableWriter) Abort() {
	w.out.Abort()
	if w.err == nil {
		w.err = fmt.Errorf("dataset: %s: %w", w.path, output.ErrDone)
	}
}

// DefaultMemory bounds the bytes that the reader of one file allocates on account of what the
// file declares: metadata, pages as they are stored, pages decompressed, dictionaries. Writers
// make pages of about 1 MiB, so a file of eight columns needs some tens of MiB.
const DefaultMemory = table.DefaultMemory

// Option changes how a file is read.
type Option func(*table.Limits)

// WithMemory sets the memory budget of a file in bytes, in place of [DefaultMemory].
func WithMemory(bytes int64) Option {
	return func(l *table.Limits) { l.Left = bytes }
}

// WithWorkers sets the number of goroutines that read a file, in place of one per processor.
func WithWorkers(n int) Option {
	return func(l *table.Limits) { l.Workers = n }
}

func newLimits(opts []Option) *table.Limits {
	l := table.DefaultLimits()
	for _, o := range opts {
		o(l)
	}
	return l
}
