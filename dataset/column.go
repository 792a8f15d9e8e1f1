package dataset

import (
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"clearance/batch"
	"clearance/internal/memory"
)

// dtype is the type of one value of a column.
type dtype uint8

const (
	typeInt32 dtype = iota
	typeInt64
	typeFloat32
	typeFloat64
	typeUint8
	typeUint16
	typeCount

	typeText  = typeCount     // one text, of an array of no dimension; no column holds it
	typeOther = typeCount + 1 // of a column that is copied and not read
)

var dtypeNames = [typeCount + 2]string{"int32", "int64", "float32", "float64", "uint8", "uint16", "text", "other"}
var dtypeSizes = [typeCount + 2]int{4, 8, 4, 8, 1, 2, 4, 0}

func (t dtype) String() string { return dtypeNames[t] }
func (t dtype) size() int      { return dtypeSizes[t] }

// column describes a column of a table.
type column struct {
	name  string
	width int     // values per row: 1 is [N], more is [N,width]
	read  []dtype // types that are read; the first is the one written
}

// shape names the shape of the column as error messages give it.
func (c *column) shape() string {
	if c.width == 1 {
		return "[N]"
	}
	return fmt.Sprintf("[N,%d]", c.width)
}

func (c *column) accepts(t dtype) bool { return slices.Contains(c.read, t) }

func (c *column) types() string {
	s := make([]string, len(c.read))
	for i, t := range c.read {
		s[i] = t.String()
	}
	return strings.Join(s, " or ")
}

// Columns of a pair list, in the order of the fields of batch.Pairs.
var pairColumns = []column{
	{"shape_a", 1, []dtype{typeInt32, typeInt64}},
	{"shape_b", 1, []dtype{typeInt32, typeInt64}},
	{"position_a", 3, []dtype{typeFloat64, typeFloat32}},
	{"position_b", 3, []dtype{typeFloat64, typeFloat32}},
	{"rotation_a", 4, []dtype{typeFloat64, typeFloat32}},
	{"rotation_b", 4, []dtype{typeFloat64, typeFloat32}},
}

// fileTypes are the types in files of the elements of result columns, but for those of real numbers.
var fileTypes = map[batch.ElementType]dtype{batch.Float32: typeFloat32, batch.Float64: typeFloat64,
	batch.Uint8: typeUint8, batch.Uint16: typeUint16}

// emptyOf returns a slice without values of an element type.
func emptyOf(t batch.ElementType) any {
	switch t {
	case batch.Float32:
		return []float32{}
	case batch.Float64:
		return []float64{}
	case batch.Uint8:
		return []uint8{}
	}
	return []uint16{}
}

// resultColumns returns the columns of results, in the order of columnBits; columns of real numbers take the given
// types.
func resultColumns(real ...dtype) []column {
	var cols []column
	for _, bit := range columnBits {
		info := bit.Info()
		types := real
		if info.Type != batch.Real {
			types = []dtype{fileTypes[info.Type]}
		}
		cols = append(cols, column{info.Name, info.Width, types})
	}
	return cols
}

// precisionType is the type of the real columns of a precision.
func precisionType(p batch.Precision) dtype {
	if p == batch.Double {
		return typeFloat64
	}
	return typeFloat32
}

// source is an open file of columns that all have the same number of rows. Its
// columns advance independently.
type source interface {
	rows() int64
	// typeOf returns the type of column i, ok is false if the file lacks it.
	typeOf(i int) (t dtype, ok bool)
	// read fills dst[i], a slice of the Go type of column i or one it converts to, with the next values of that
	// column, by several workers. Columns whose slice is nil are skipped.
	read(dst []any) error
	// skip passes over rows of all columns, which then have no checksum to compare. Stored NPZ arrays and whole row
	// groups of Parquet files are not read.
	skip(rows int64) error
	metadata() map[string]string
	Close() error
}

// sink is a file of columns that is being written.
type sink interface {
	// write appends rows values of all columns; vals[i] is a slice of the type of
	// column i, rows × width long.
	write(vals []any, rows int) error
	describe(key, value string)
	setWorkers(n int)
	// complete makes all of the file but its name and returns its temporary path.
	complete() (path string, err error)
	commit() error // completes the file and names it
	abort()
}

// format is a file format of tables.
type format uint8

const (
	formatNPZ format = iota
	formatParquet
)

func formatOf(path string) (format, error) {
	switch ext := strings.ToLower(filepath.Ext(FinalName(path))); ext {
	case ".npz":
		return formatNPZ, nil
	case ".parquet":
		return formatParquet, nil
	default:
		return 0, fmt.Errorf("dataset: %s: unknown extension %q, want .parquet or .npz", path, ext)
	}
}

// openTable opens a file of the given columns. Columns beyond these are an
// error; if all is set, so are missing ones.
func openTable(path string, cols []column, all bool, opts []Option) (source, error) {
	return openTableWith(path, cols, leniency{some: !all}, opts)
}

// leniency is what a table may have or lack besides its columns.
type leniency struct {
	some  bool // columns may be missing
	extra bool // there may be others, which are not read
	nulls bool // values may be null: NaN, or -1 of an index
}

// openTableWith opens a file, or a folder of parts as one table.
func openTableWith(path string, cols []column, may leniency, opts []Option) (source, error) {
	if isDir(path) {
		return openParts(path, newLimits(opts).workers, cols, func(path string) (source, error) {
			return openFile(path, cols, may, opts)
		})
	}
	return openFile(path, cols, may, opts)
}

func openFile(path string, cols []column, may leniency, opts []Option) (source, error) {
	f, err := formatOf(path)
	if err != nil {
		return nil, err
	}
	var s source
	if f == formatParquet {
		s, err = openParquet(path, cols, newLimits(opts), may)
	} else {
		s, err = openNPZTable(path, cols, newLimits(opts), may)
	}
	if err != nil {
		return nil, err
	}
	for i := range cols {
		if _, ok := s.typeOf(i); !may.some && !ok {
			_ = s.Close()
			return nil, fmt.Errorf("dataset: %s: column %s is missing, want %s %s", path, cols[i].name, cols[i].read[0],
				cols[i].shape())
		}
	}
	return s, nil
}

// diskBytes is what a table of n rows takes of a disk at least. An NPZ file has all values as they are; of a Parquet
// file these are the real numbers, while others are compressed, and count nothing here.
func diskBytes(cols []column, n int64, f format) float64 {
	row := 0.0
	for i := range cols {
		if t := cols[i].read[0]; f == formatNPZ || t == typeFloat32 || t == typeFloat64 {
			row += float64(cols[i].width * t.size())
		}
	}
	return row * float64(n)
}

// checkDisk returns an error if a table of n rows takes more of the disk than is free.
func checkDisk(path string, cols []column, n int64, f format) error {
	if err := memory.CheckDisk(fmt.Sprintf("a table of %d rows", n), path, diskBytes(cols, n, f)); err != nil {
		return fmt.Errorf("dataset: cannot write %s: %w", path, err)
	}
	return nil
}

// createTable creates a file of n rows of the given columns.
func createTable(fs fileSystem, path string, cols []column, n int64) (sink, error) {
	return createTableWith(fs, path, cols, n, nil)
}

// createTableWith creates a file that has the columns of extra, if that is not nil, too.
func createTableWith(fs fileSystem, path string, cols []column, n int64, extra *Extra) (sink, error) {
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
		return createParquet(fs, path, cols, extra.parquet)
	}
	return createNPZTable(fs, path, cols, n, extra.npz)
}

// tableReader counts the rows of a source that has been read.
type tableReader struct {
	path string
	src  source
	next int64
	dst  []any // of a call
}

// advance reads up to room rows of the columns in vals (nil ones are skipped),
// where vals(i, n) is a slice for n rows of column i.
func (r *tableReader) advance(room, columns int, vals func(i, n int) any) (int, error) {
	left := r.src.rows() - r.next
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
	err := r.src.read(r.dst)
	clear(r.dst)
	if err != nil {
		return 0, notEnd(err)
	}
	r.next += int64(n)
	return n, nil
}

// checkTable returns an error if the columns of a file together take more memory than there is, before the first of
// them is read: see checkMemory.
func checkTable(path string, src source, cols []column) error {
	all, largest := 0.0, 0.0
	for i := range cols {
		if t, ok := src.typeOf(i); ok {
			bytes := float64(src.rows()) * float64(cols[i].width*t.size())
			all, largest = all+bytes, max(largest, bytes)
		}
	}
	if err := memory.Check(fmt.Sprintf("%d rows", src.rows()), all+1.25*largest); err != nil {
		return fmt.Errorf("dataset: %s: %w", path, err)
	}
	return nil
}

// readColumn reads the n values of column i into the slice that to points to. Memory grows with what has been read: the
// length of a damaged file may be wrong. The slice is not nil.
func readColumn(path string, src source, i int, n int64, to any) error {
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

func readGrowing[T any](path string, src source, i int, n int64, to *[]T) error {
	if err := checkMemory[T](fmt.Sprintf("column %d of %d values", i, n), n); err != nil {
		return fmt.Errorf("dataset: %s: %w", path, err)
	}
	dst := make([]any, i+1)
	return growing(n, to, func(part []T) error {
		dst[i] = part
		return notEnd(src.read(dst))
	})
}

// growing reads n values into a slice that grows with what has been read.
func growing[T any](n int64, to *[]T, read func(part []T) error) error {
	const step = 3 << 16 // whole rows of 1, 3 or 4 values
	*to = []T{}
	for at := int64(0); at < n; at = int64(len(*to)) {
		more := int(min(n-at, max(1, at/4/step)*step)) // as slices grow
		*to = slices.Grow(*to, more)[:int(at)+more]
		if err := read((*to)[at:]); err != nil {
			return err
		}
	}
	return nil
}

// checkMemory returns an error if a slice of n values takes more memory than there is: it grows by a quarter at a time,
// and has its values twice meanwhile. What a file declares may be a thousand times its own size.
func checkMemory[T any](what string, n int64) error {
	return memory.Check(what, 2.25*float64(n)*float64(reflect.TypeFor[T]().Size()))
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
	out     sink
	n, next int64
	err     error
}

func (w *tableWriter) append(vals []any, rows int) error {
	if w.err != nil {
		return w.err
	}
	if int64(rows) > w.n-w.next {
		w.err = fmt.Errorf("dataset: %s: more rows written than the %d announced", w.path, w.n)
	} else if err := w.out.write(vals, rows); err != nil {
		w.err = fmt.Errorf("dataset: cannot write %s: %w", w.path, err)
	}
	w.next += int64(rows)
	return w.err
}

// SetWorkers sets the number of goroutines that encode and write the file, in place of one per processor. The bytes
// of the file do not depend on it.
func (w *tableWriter) SetWorkers(n int) { w.out.setWorkers(n) }

// Complete writes all of the file but its name and returns the temporary path under which it can be read until Close
// or Abort. No row can be written afterwards. If a Write failed or rows are missing, it fails and removes the file.
func (w *tableWriter) Complete() (path string, err error) {
	if w.err == nil && w.next != w.n {
		w.err = fmt.Errorf("dataset: %s: %d rows written, %d announced", w.path, w.next, w.n)
	}
	if w.err != nil {
		w.out.abort()
		return "", w.err
	}
	path, w.err = w.out.complete()
	return path, w.err
}

// Close completes the file and renames it to its final name. If a Write failed or rows are
// missing, it fails and removes the file.
func (w *tableWriter) Close() error {
	if _, err := w.Complete(); err != nil {
		return err
	}
	if w.err = w.out.commit(); w.err != nil {
		return w.err
	}
	w.err = fmt.Errorf("dataset: %s: %w", w.path, errDone)
	return nil
}

// Abort discards the file. After Close or Abort it does nothing.
func (w *tableWriter) Abort() {
	w.out.abort()
	if w.err == nil {
		w.err = fmt.Errorf("dataset: %s: %w", w.path, errDone)
	}
}

// clamp32 is v, or the end of int32 that lies nearest to it.
func clamp32(v int64) int32 {
	return int32(min(max(v, math.MinInt32), math.MaxInt32))
}
