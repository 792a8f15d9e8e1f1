// Package npz reads and writes tables and arrays as NPZ files: zip archives of NumPy's NPY arrays. Arrays are read and
// written side by side, by several workers, in memory that does not depend on their length; what a file declares is
// checked against its size and a memory budget first.
package npz

import (
	"archive/zip"
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"clearance/dataset/table"
)

// maxDeflate is the largest ratio that deflate reaches: a symbol of at least two
// bits (length and distance) stands for at most 258 bytes (RFC 1951).
const maxDeflate = 1032

// An NPZ file of ours holds eight arrays at most. The directory of a zip file is read as a
// whole by archive/zip, 250 bytes of memory and more for 46 of the file.
const (
	maxArrays    = 64
	maxDirectory = 1 << 20 // bytes read to find and list the members, comments included
)

// Array is one array of an NPZ file, read front to back.
type Array struct {
	Name   string
	Header Header
	body   io.ReadCloser
	in     *bufio.Reader
	Left   int64 // values not yet read
	raw    []byte

	// Of a stored array, whose parts are read where they lie; nil of a deflated one.
	file  io.ReaderAt
	at    int64  // of the next value
	crc   uint32 // of what has been read, header included
	total uint32 // of all, 0 if unknown
}

// File is an open NPZ file, that is a zip of NPY arrays, stored or deflated.
type File struct {
	path   string
	f      *os.File
	Arrays map[string]*Array
	Budget *table.Limits // of memory
}

// Open opens the file and the header of every array, within a memory budget. Errors name the file, and the array where
// there is one. Arrays that are not known may have any type, unless known is nil.
func Open(path string, known func(name string) bool, budget *table.Limits) (*File, error) {
	f, size, err := table.OpenRegular(path)
	if err != nil {
		return nil, fmt.Errorf("dataset: %w", err)
	}
	z := &File{path: path, f: f, Arrays: map[string]*Array{}, Budget: budget}
	if err := z.open(size, known); err != nil {
		_ = z.Close()
		return nil, err
	}
	return z, nil
}

func (z *File) open(size int64, known func(name string) bool) error {
	source := &directoryReader{r: z.f, left: maxDirectory}
	r, err := zip.NewReader(source, size)
	if errors.Is(err, errDirectory) {
		return fmt.Errorf("dataset: %s: %w", z.path, err)
	}
	if err != nil {
		return fmt.Errorf("dataset: %s: not a complete NPZ file (truncated, or not a zip archive): %w", z.path, err)
	}
	source.listed = true
	if len(r.File) > maxArrays {
		return fmt.Errorf("dataset: %s: %d members, want %d arrays at most", z.path, len(r.File), maxArrays)
	}
	for _, e := range r.File {
		name, ok := strings.CutSuffix(e.Name, ".npy")
		if !ok {
			return fmt.Errorf("dataset: %s: member %q is not an NPY array", z.path, e.Name)
		}
		if z.Arrays[name] != nil {
			return fmt.Errorf("dataset: %s: array %s occurs twice", z.path, name)
		}
		err := z.Budget.Take(ArrayBuffers, "buffers of an array")
		var a *Array
		if err == nil {
			a, err = openArray(z.f, e, size, known != nil && !known(name))
		}
		if err != nil {
			return fmt.Errorf("dataset: %s: array %s: %w", z.path, name, err)
		}
		a.Name = name
		z.Arrays[name] = a
	}
	return nil
}

var errDirectory = fmt.Errorf("lists its members in more than %d bytes, want %d arrays at most", maxDirectory,
	maxArrays)

// directoryReader is a file of which a limited number of bytes can be read until its members
// are listed.
type directoryReader struct {
	r      io.ReaderAt
	left   int
	listed bool
}

// ReadAt reads within the limit.
func (d *directoryReader) ReadAt(p []byte, at int64) (int, error) {
	if !d.listed {
		if len(p) > d.left {
			return 0, errDirectory
		}
		d.left -= len(p)
	}
	return d.r.ReadAt(p, at)
}

// ArrayBuffers bounds the memory of an array that is read beside its values: what is read ahead of it (readAhead),
// what is inflated, its values before they are converted, and what deflate looks back at.
const (
	readAhead    = 1 << 16
	ArrayBuffers = readAhead + 8*inflateBlock + 1<<16
)

// openArray opens a member of a zip archive of the given size.
func openArray(f io.ReaderAt, e *zip.File, size int64, anyType bool) (*Array, error) {
	if e.Flags&1 != 0 {
		return nil, errors.New("member is encrypted")
	}
	// What the directory claims cannot exceed what its compression can hold.
	packed := e.CompressedSize64
	if packed > uint64(size) {
		return nil, fmt.Errorf("member claims %d bytes in a file of %d", packed, size)
	}
	switch e.Method {
	case zip.Store:
	case zip.Deflate:
		packed *= maxDeflate
	default:
		return nil, fmt.Errorf("compression method %d, want stored or deflated", e.Method)
	}
	if e.UncompressedSize64 > packed {
		return nil, fmt.Errorf("member claims to unpack %d bytes to %d", e.CompressedSize64, e.UncompressedSize64)
	}
	body, err := e.Open()
	if err != nil {
		return nil, err
	}
	a := &Array{body: body, in: bufio.NewReaderSize(body, readAhead)}
	a.Header, err = readHeader(a.in, anyType)
	if err == nil {
		a.Left = a.Header.count()
		if want := a.Header.bytes + a.Header.Size(); uint64(want) != e.UncompressedSize64 {
			err = fmt.Errorf("holds %d bytes, but its shape %s of %s needs %d",
				e.UncompressedSize64, a.Header.ShapeString(), a.Header.Type, want)
		}
	}
	if err == nil && e.Method == zip.Store && e.CompressedSize64 == e.UncompressedSize64 {
		err = a.direct(f, e)
	}
	if err != nil {
		_ = body.Close()
		return nil, err
	}
	return a, nil
}

// Close closes the file and all arrays.
func (z *File) Close() error {
	for _, a := range z.Arrays {
		_ = a.body.Close()
	}
	return z.f.Close()
}

// Names returns the names of the arrays, sorted.
func (z *File) Names() []string {
	var s []string
	for n := range z.Arrays {
		s = append(s, n)
	}
	slices.Sort(s)
	return s
}

// direct prepares an array that is stored to be read where it lies.
func (a *Array) direct(f io.ReaderAt, e *zip.File) error {
	start, err := e.DataOffset()
	if err != nil {
		return err
	}
	header := make([]byte, a.Header.bytes)
	if _, err := f.ReadAt(header, start); err != nil {
		return headerError(err)
	}
	a.file, a.at, a.crc, a.total = f, start+a.Header.bytes, crc32.ChecksumIEEE(header), e.CRC32
	return nil
}

// arrayPart are values of an array that one worker reads.
type arrayPart struct {
	of  *Array
	dst any
	at  int64 // in the file, of a stored array

	bytes int64
	crc   uint32
}

// parts divides the reading of the next values: those of a stored array into parts of some size. Each is read, by any
// worker, and then all are settled in order.
func (a *Array) parts(dst any) ([]arrayPart, error) {
	n, size := table.Len(dst), a.Header.Type.Size()
	if int64(n) > a.Left {
		return nil, fmt.Errorf("%d values asked for, %d left", n, a.Left)
	}
	if a.file == nil || n == 0 {
		return []arrayPart{{of: a, dst: dst}}, nil
	}
	var all []arrayPart
	for lo := 0; lo < n; lo += table.PartBytes / size {
		hi := min(n, lo+table.PartBytes/size)
		all = append(all, arrayPart{of: a, dst: table.Slice(dst, lo, hi), at: a.at + int64(lo*size),
			bytes: int64((hi - lo) * size)})
	}
	return all, nil
}

func (p *arrayPart) read() error {
	a := p.of
	if a.file == nil {
		return a.inflate(p.dst)
	}
	if typ := a.Header.Type; table.LittleEndian && a.Header.order == binary.LittleEndian && typ == table.TypeOf(p.dst) {
		to := table.Bytes(p.dst)
		if _, err := a.file.ReadAt(to, p.at); err != nil {
			return bodyError(err)
		}
		p.crc = crc32.ChecksumIEEE(to)
		return nil
	}
	block := table.RawBlocks.Get().(*[table.RawBlock]byte)
	defer table.RawBlocks.Put(block)
	size := a.Header.Type.Size()
	for lo, n := 0, table.Len(p.dst); lo < n; lo += table.RawBlock / size {
		hi := min(n, lo+table.RawBlock/size)
		raw := block[:(hi-lo)*size]
		if _, err := a.file.ReadAt(raw, p.at+int64(lo*size)); err != nil {
			return bodyError(err)
		}
		p.crc = crc32.Update(p.crc, crc32.IEEETable, raw)
		if err := table.Decode(raw, a.Header.order, a.Header.Type, table.Slice(p.dst, lo, hi)); err != nil {
			return err
		}
	}
	return nil
}

// settle advances the array by a part that has been read. Behind the last value the checksum has to agree.
func (p *arrayPart) settle() error {
	a := p.of
	a.Left -= int64(table.Len(p.dst))
	if a.file == nil {
		return a.checkEnd()
	}
	a.at += p.bytes
	a.crc = combineCRC(a.crc, p.crc, p.bytes)
	if a.Left == 0 && a.total != 0 && a.crc != a.total {
		return bodyError(zip.ErrChecksum)
	}
	return nil
}

// inflateBlock is the number of values that are inflated at a time.
const inflateBlock = 1 << 13

// inflate fills dst with the next values of a deflated array.
func (a *Array) inflate(dst any) error {
	n := table.Len(dst)
	size := a.Header.Type.Size()
	if a.raw == nil {
		a.raw = make([]byte, inflateBlock*size)
	}
	for at := 0; at < n; {
		k := min(inflateBlock, n-at)
		raw := a.raw[:k*size]
		if _, err := io.ReadFull(a.in, raw); err != nil {
			return bodyError(err)
		}
		if err := table.Decode(raw, a.Header.order, a.Header.Type, table.Slice(dst, at, at+k)); err != nil {
			return err
		}
		at += k
	}
	return nil
}

// checkEnd makes sure, behind the last value of a deflated array, that the checksum agrees.
func (a *Array) checkEnd() error {
	if a.Left > 0 {
		return nil
	}
	if _, err := a.in.ReadByte(); !errors.Is(err, io.EOF) {
		return bodyError(err)
	}
	return nil
}

// Skip passes over the next n values. A stored array is not read, so its checksum is no longer compared.
func (a *Array) Skip(n int64) error {
	if n > a.Left {
		return fmt.Errorf("%d values to skip, %d left", n, a.Left)
	}
	bytes := n * int64(a.Header.Type.Size())
	a.Left -= n
	if a.file != nil {
		a.at += bytes
		if n > 0 {
			a.total = 0
		}
		return nil
	}
	if _, err := io.CopyN(io.Discard, a.in, bytes); err != nil {
		return bodyError(err)
	}
	return a.checkEnd()
}

// read fills dst with the next values.
func (a *Array) read(dst any) error {
	parts, err := a.parts(dst)
	if err != nil {
		return err
	}
	return readParts(parts, 0, func(_ *Array, err error) error { return err })
}

// readParts reads parts by several workers and settles them. wrong says of which array an error is.
func readParts(parts []arrayPart, workers int, wrong func(*Array, error) error) error {
	err := table.Parallel(table.WorkersOr(workers), len(parts), func(i int) error {
		if err := parts[i].read(); err != nil {
			return wrong(parts[i].of, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i := range parts {
		if err := parts[i].settle(); err != nil {
			return wrong(parts[i].of, err)
		}
	}
	return nil
}

// Text reads the text of an array that holds one, within a memory budget.
func (a *Array) Text(budget *table.Limits) (string, error) {
	// The bytes, as many of the characters, and those of the text.
	if err := budget.Take(3*a.Header.Size(), "a text"); err != nil {
		return "", err
	}
	raw := make([]byte, a.Header.Size())
	if _, err := io.ReadFull(a.in, raw); err != nil {
		return "", bodyError(err)
	}
	if _, err := a.in.ReadByte(); !errors.Is(err, io.EOF) { // which also tells that the checksum agrees
		return "", bodyError(err)
	}
	a.Left = 0
	runes := make([]rune, a.Header.runes)
	for i := range runes {
		r := binary.LittleEndian.Uint32(raw[4*i:])
		if r > utf8.MaxRune {
			return "", fmt.Errorf("%#x is no character", r)
		}
		runes[i] = rune(r)
	}
	return strings.TrimRight(string(runes), "\x00"), nil // numpy pads with zeros
}

func bodyError(err error) error {
	switch {
	case errors.Is(err, zip.ErrChecksum):
		return errors.New("damaged: its checksum does not agree")
	case err == nil, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, zip.ErrFormat):
		return errors.New("damaged: its data does not end where its shape says")
	}
	return err
}

// ReadValues reads the next n values of an array into a slice, which is not nil. That of a deflated array grows with
// what has been read, since its length may be a lie; a stored array is not longer than the file.
func ReadValues[T any](a *Array, n int64) ([]T, error) {
	what := fmt.Sprintf("array %s of shape %s", a.Name, a.Header.ShapeString())
	if n < a.Left {
		what = fmt.Sprintf("%d values of %s", n, what)
	}
	if err := table.CheckMemory[T](what, n); err != nil {
		return nil, err
	}
	if a.file != nil {
		all := make([]T, n)
		if err := a.read(all); err != nil {
			return nil, fmt.Errorf("array %s: %w", a.Name, err)
		}
		return all, nil
	}
	var all []T
	if err := table.Growing(n, &all, func(part []T) error { return a.read(part) }); err != nil {
		return nil, fmt.Errorf("array %s: %w", a.Name, err)
	}
	return all, nil
}

// Table is a source of the columns of an NPZ file.
type Table struct {
	*File
	cols []*Array // nil where the file lacks the column
	n    int64
	meta map[string]string

	workers int
}

// OpenTable opens an NPZ file whose arrays are the columns of a table.
func OpenTable(path string, cols []table.Column, l *table.Limits, may table.Leniency) (*Table, error) {
	var known func(string) bool
	if may.Extra {
		known = func(name string) bool { return table.CheckName(name, cols) == nil }
	}
	z, err := Open(path, known, l)
	if err != nil {
		return nil, err
	}
	t := &Table{File: z, workers: l.Workers}
	if err := t.bind(cols, may); err != nil {
		_ = z.Close()
		return nil, fmt.Errorf("dataset: %s: %w", path, err)
	}
	return t, nil
}

// bind finds the arrays of the columns and checks their types and shapes.
func (t *Table) bind(cols []table.Column, may table.Leniency) error {
	t.cols = make([]*Array, len(cols))
	first := ""
	for i := range cols {
		c := &cols[i]
		a := t.Arrays[c.Name]
		if a == nil {
			continue
		}
		t.cols[i] = a
		if !c.Accepts(a.Header.Type) {
			return fmt.Errorf("column %s is %s, want %s", c.Name, a.Header.Type, c.TypeNames())
		}
		shape := a.Header.Shape
		if !(c.Width == 1 && len(shape) == 1 || c.Width > 1 && len(shape) == 2 && shape[1] == int64(c.Width)) {
			return fmt.Errorf("column %s has shape %s, want %s", c.Name, a.Header.ShapeString(), c.Shape())
		}
		if first == "" {
			first, t.n = c.Name, shape[0]
		} else if shape[0] != t.n {
			return fmt.Errorf("column %s has %d rows, column %s has %d", c.Name, shape[0], first, t.n)
		}
	}
	t.meta = map[string]string{}
	for _, name := range t.Names() {
		if a := t.Arrays[name]; a.Header.Type == table.Text {
			text, err := a.Text(t.Budget)
			if err != nil {
				return fmt.Errorf("array %s: %w", name, err)
			}
			t.meta[TextKey(name)] = text
		} else if err := table.CheckName(name, cols); err != nil && !may.Extra {
			return err
		}
	}
	if first == "" {
		return table.NoColumns(cols)
	}
	return nil
}

// Rows is the number of rows.
func (t *Table) Rows() int64 { return t.n }

// TypeOf is the type of column i, ok is false if the file lacks it.
func (t *Table) TypeOf(i int) (table.Type, bool) {
	if t.cols[i] == nil {
		return 0, false
	}
	return t.cols[i].Header.Type, true
}

// Read fills slices with the next values of the columns.
func (t *Table) Read(dst []any) error {
	var parts []arrayPart
	for i, v := range dst {
		if v == nil {
			continue
		}
		more, err := t.cols[i].parts(v)
		if err != nil {
			return t.wrong(t.cols[i], err)
		}
		parts = append(parts, more...)
	}
	return readParts(parts, t.workers, t.wrong)
}

// Skip passes over rows of all columns.
func (t *Table) Skip(rows int64) error {
	for _, a := range t.cols {
		if a == nil {
			continue
		}
		if err := a.Skip(rows * (a.Header.count() / max(t.n, 1))); err != nil {
			return t.wrong(a, err)
		}
	}
	return nil
}

// wrong is an error of an array.
func (t *Table) wrong(a *Array, err error) error {
	return fmt.Errorf("dataset: %s: column %s: %w", t.path, a.Name, err)
}

// Metadata are the texts of the file by their keys.
func (t *Table) Metadata() map[string]string { return t.meta }

// TextSuffix follows the key of a text where a column has the same name: "status" is a column, and
// "status_text" says what its codes mean.
const TextSuffix = "_text"

// textName is the name of the array of a text with a key; TextKey is its inverse.
func textName(key string) string {
	if table.CheckName(key, table.Results()) == nil {
		return key + TextSuffix
	}
	return key
}

// TextKey is the key of the text of an array.
func TextKey(name string) string {
	if key, ok := strings.CutSuffix(name, TextSuffix); ok && table.CheckName(key, table.Results()) == nil {
		return key
	}
	return name
}
