package npz

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"

	"clearance/dataset/output"
	"clearance/dataset/table"
)

// Writer writes an NPZ file whose arrays grow side by side. All shapes are
// known from the start, so every stored member of the zip archive has its place
// before the first row arrives and rows go straight there; archive/zip would
// want one member finished before the next one begins. Checksums are filled in
// at the end. The members carry Zip64 sizes, as numpy's own files do; the
// directory uses Zip64 only where a number needs it (APPNOTE.TXT 4.3.9, 4.5.3).
type Writer struct {
	file    *output.File
	members []member
	texts   []textArray
	end     int64 // where the directory begins
	whole   bool  // with its directory
	workers int
}

// textArray is a line of metadata, an array of no dimension.
type textArray struct{ name, value string }

// Spec is an array to be written.
type Spec struct {
	Name  string
	Type  table.Type
	Shape []int64

	descr string // of an array that is copied, "" of others
	size  int64  // and its bytes
}

type member struct {
	name   string // with .npy
	start  int64  // offset of the local header
	data   int64  // offset of the content
	size   int64  // of the content, NPY header included
	at     int64  // offset of the next value
	crc    uint32
	header []byte // NPY header
}

const (
	zipVersion  = 45     // Zip64
	zipDate     = 0x0021 // 1980-01-01, so that equal content gives equal files
	zipLimit    = math.MaxUint32
	localHeader = 30 + 20 // fixed part and Zip64 field
)

// Create begins an NPZ file of arrays of known shapes.
func Create(fs output.FS, path string, arrays []Spec) (*Writer, error) {
	f, err := output.Create(fs, path)
	if err != nil {
		return nil, err
	}
	w := &Writer{file: f}
	for _, a := range arrays {
		if a.descr != "" {
			w.add(a.Name, headerBytes(a.descr, a.Shape), a.size)
			continue
		}
		h := Header{Type: a.Type, Shape: a.Shape}
		w.add(a.Name, headerOf(a.Type, a.Shape), h.Size())
	}
	return w, nil
}

// add makes room for an array: its header, and so many bytes that follow.
func (w *Writer) add(name string, header []byte, rest int64) {
	m := member{name: name + ".npy", start: w.end, header: header}
	m.data = m.start + localHeader + int64(len(m.name))
	m.size = int64(len(m.header)) + rest
	m.at = m.data + int64(len(m.header))
	m.crc = crc32.ChecksumIEEE(m.header)
	w.end = m.data + m.size
	w.members = append(w.members, m)
}

// AppendAll writes the next values of arrays, vals[i] of array i: parts of them by several workers, whose checksums are
// combined.
func (w *Writer) AppendAll(vals []any) error {
	type part struct {
		member int
		vals   any
		at     int64
		bytes  int64
		crc    uint32
	}
	var parts []part
	for i, v := range vals {
		m, size := &w.members[i], table.TypeOf(v).Size()
		n := table.Len(v)
		if err := m.room(int64(n * size)); err != nil {
			return err
		}
		for lo := 0; lo < n; lo += table.PartBytes / size {
			hi := min(n, lo+table.PartBytes/size)
			parts = append(parts, part{member: i, vals: table.Slice(v, lo, hi), at: m.at + int64(lo*size),
				bytes: int64((hi - lo) * size)})
		}
	}
	err := table.Parallel(table.WorkersOr(w.workers), len(parts), func(i int) error {
		p := &parts[i]
		b, err := table.FileBytes(p.vals)
		if err != nil {
			return err
		}
		p.crc = crc32.ChecksumIEEE(b)
		_, err = w.file.WriteAt(b, p.at)
		return err
	})
	if err != nil {
		return err
	}
	for _, p := range parts {
		m := &w.members[p.member]
		m.at += p.bytes
		m.crc = combineCRC(m.crc, p.crc, p.bytes)
	}
	return nil
}

// room reports an array that has no room for so many bytes.
func (m *member) room(bytes int64) error {
	if m.at+bytes > m.data+m.size {
		return fmt.Errorf("array %s: more values than its shape holds", m.name)
	}
	return nil
}

// appendBytes writes the next bytes of array i.
func (w *Writer) appendBytes(i int, b []byte) error {
	m := &w.members[i]
	if err := m.room(int64(len(b))); err != nil {
		return err
	}
	if _, err := w.file.WriteAt(b, m.at); err != nil {
		return err
	}
	m.crc = crc32.Update(m.crc, crc32.IEEETable, b)
	m.at += int64(len(b))
	return nil
}

// Complete writes headers, texts and directory.
func (w *Writer) Complete() (path string, err error) {
	if !w.whole {
		if err := w.finish(); err != nil {
			w.file.Abort()
			return "", fmt.Errorf("dataset: cannot write %s: %w", w.file.Final, err)
		}
		w.whole = true
	}
	return w.file.Temp, w.file.Durable()
}

// Commit completes the file and gives it its final name.
func (w *Writer) Commit() error {
	if _, err := w.Complete(); err != nil {
		return err
	}
	return w.file.Commit()
}

// Abort discards the file.
func (w *Writer) Abort() { w.file.Abort() }

// SetWorkers sets the number of goroutines that write values.
func (w *Writer) SetWorkers(n int) { w.workers = n }

func (w *Writer) finish() error {
	for _, t := range w.texts {
		w.add(t.name, npyText(t.value), 0)
	}
	w.texts = nil
	var dir []byte
	for i := range w.members {
		m := &w.members[i]
		if m.at != m.data+m.size {
			return fmt.Errorf("array %s is incomplete", m.name)
		}
		if _, err := w.file.WriteAt(append(m.local(), m.header...), m.start); err != nil {
			return err
		}
		dir = m.appendEntry(dir)
	}
	_, err := w.file.WriteAt(appendDirectoryEnd(dir, len(w.members), w.end), w.end)
	return err
}

// local is the header in front of the member's content.
func (m *member) local() []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, 0x04034b50)
	b = m.appendCommon(b)
	b = le.AppendUint32(b, zipLimit)
	b = le.AppendUint32(b, zipLimit)
	b = le.AppendUint16(b, uint16(len(m.name)))
	b = le.AppendUint16(b, 20)
	b = append(b, m.name...)
	b = le.AppendUint16(b, 1) // Zip64 field
	b = le.AppendUint16(b, 16)
	b = le.AppendUint64(b, uint64(m.size))
	return le.AppendUint64(b, uint64(m.size))
}

// appendCommon adds version, flags, method, time, date and checksum.
func (m *member) appendCommon(b []byte) []byte {
	le := binary.LittleEndian
	for _, v := range []uint16{zipVersion, 0, 0, 0, zipDate} {
		b = le.AppendUint16(b, v)
	}
	return le.AppendUint32(b, m.crc)
}

// appendEntry adds the member's entry of the directory.
func (m *member) appendEntry(b []byte) []byte {
	le := binary.LittleEndian
	var extra []byte
	size, start := uint32(zipLimit), uint32(zipLimit)
	if m.size < zipLimit {
		size = uint32(m.size)
	} else {
		extra = le.AppendUint64(extra, uint64(m.size))
		extra = le.AppendUint64(extra, uint64(m.size))
	}
	if m.start < zipLimit {
		start = uint32(m.start)
	} else {
		extra = le.AppendUint64(extra, uint64(m.start))
	}
	if len(extra) > 0 {
		extra = append(le.AppendUint16(le.AppendUint16(nil, 1), uint16(len(extra))), extra...)
	}
	b = le.AppendUint32(b, 0x02014b50)
	b = le.AppendUint16(b, zipVersion)
	b = m.appendCommon(b)
	b = le.AppendUint32(b, size)
	b = le.AppendUint32(b, size)
	b = le.AppendUint16(b, uint16(len(m.name)))
	b = le.AppendUint16(b, uint16(len(extra)))
	b = append(b, make([]byte, 10)...) // comment, disk, attributes
	b = le.AppendUint32(b, start)
	b = append(b, m.name...)
	return append(b, extra...)
}

// appendDirectoryEnd adds the records behind a directory that begins at start.
func appendDirectoryEnd(b []byte, entries int, start int64) []byte {
	le := binary.LittleEndian
	size := uint64(len(b))
	short := uint32(zipLimit)
	if start < zipLimit {
		short = uint32(start)
	} else {
		b = le.AppendUint32(b, 0x06064b50) // Zip64 end of directory
		b = le.AppendUint64(b, 44)
		b = le.AppendUint16(b, zipVersion)
		b = le.AppendUint16(b, zipVersion)
		b = append(b, make([]byte, 8)...) // disks
		b = le.AppendUint64(b, uint64(entries))
		b = le.AppendUint64(b, uint64(entries))
		b = le.AppendUint64(b, size)
		b = le.AppendUint64(b, uint64(start))
		b = le.AppendUint32(b, 0x07064b50) // and its locator
		b = le.AppendUint32(b, 0)
		b = le.AppendUint64(b, uint64(start)+size)
		b = le.AppendUint32(b, 1)
	}
	b = le.AppendUint32(b, 0x06054b50)
	b = append(b, make([]byte, 4)...) // disks
	b = le.AppendUint16(b, uint16(entries))
	b = le.AppendUint16(b, uint16(entries))
	b = le.AppendUint32(b, uint32(size))
	b = le.AppendUint32(b, short)
	return append(b, 0, 0)
}

// combineCRC is the checksum (CRC-32 of IEEE 802.3, which ZIP uses) of a text whose first part has the checksum a, and
// the second one, of n bytes, the checksum b. The initial and final inversions cancel out, and what remains is linear:
// a·x^(8n) + b, modulo the polynomial.
func combineCRC(a, b uint32, n int64) uint32 {
	const x8 = 1 << (31 - 8) // bit 31 is the power 0
	for power := uint32(x8); n > 0; n >>= 1 {
		if n&1 != 0 {
			a = mulCRC(a, power)
		}
		power = mulCRC(power, power)
	}
	return a ^ b
}

// mulCRC is the product of two polynomials over GF(2) modulo that of the checksum.
func mulCRC(a, b uint32) (product uint32) {
	for ; a != 0; a <<= 1 {
		if a>>31 != 0 {
			product ^= b
		}
		carry := b & 1
		b >>= 1
		if carry != 0 {
			b ^= crc32.IEEE
		}
	}
	return product
}

// Extra are arrays of an NPZ file of any type but Python's objects.
type Extra struct {
	*File
	columns []*Array
	buf     []byte
}

// OpenExtra opens the arrays of a file of pairs that are not those of pairs, and returns their names.
func OpenExtra(path string, rows int64) (e *Extra, names []string, err error) {
	z, err := Open(path, table.IsPair, table.DefaultLimits())
	if err != nil {
		return nil, nil, err
	}
	e = &Extra{File: z}
	for _, name := range z.Names() {
		a := z.Arrays[name]
		if table.IsPair(name) || a.Header.Type == table.Text {
			continue
		}
		if len(a.Header.Shape) == 0 || a.Header.Shape[0] != rows {
			_ = z.Close()
			return nil, nil, fmt.Errorf("column %s has shape %s, want one entry per row, of which there are %d", name,
				a.Header.ShapeString(), rows)
		}
		e.columns, names = append(e.columns, a), append(names, name)
	}
	return e, names, nil
}

// specs are the arrays as they are to be written.
func (e *Extra) specs() []Spec {
	list := make([]Spec, len(e.columns))
	for i, a := range e.columns {
		list[i] = Spec{Name: a.Name, descr: a.Header.descr, Shape: a.Header.Shape, size: a.Header.Size()}
	}
	return list
}

// copy appends the next rows of every array to those of a writer from the first on.
func (e *Extra) copy(w *Writer, first, rows int) error {
	const block = 1 << 16
	if e.buf == nil {
		e.buf = make([]byte, block)
	}
	for i, a := range e.columns {
		row := int64(0)
		if n := a.Header.Shape[0]; n > 0 {
			row = a.Header.Size() / n
		}
		for left := row * int64(rows); left > 0; {
			b := e.buf[:min(left, block)]
			if _, err := io.ReadFull(a.in, b); err != nil {
				return fmt.Errorf("%s: column %s: %w", e.path, a.Name, bodyError(err))
			}
			if err := w.appendBytes(first+i, b); err != nil {
				return err
			}
			left -= int64(len(b))
		}
		if a.Left -= int64(rows) * (a.Header.count() / max(a.Header.Shape[0], 1)); a.Left == 0 {
			if _, err := a.in.ReadByte(); !errors.Is(err, io.EOF) {
				return fmt.Errorf("%s: column %s: %w", e.path, a.Name, bodyError(err))
			}
		}
	}
	return nil
}

// Sink writes the columns of a table.
type Sink struct {
	*Writer
	extra *Extra // nil if there is none
}

// CreateTable begins a table of n rows, with the arrays of extra if that is not nil.
func CreateTable(fs output.FS, path string, cols []table.Column, n int64, extra *Extra) (Sink, error) {
	arrays := make([]Spec, len(cols))
	for i, c := range cols {
		arrays[i] = Spec{Name: c.Name, Type: c.Types[0], Shape: []int64{n}}
		if c.Width > 1 {
			arrays[i].Shape = append(arrays[i].Shape, int64(c.Width))
		}
	}
	if extra != nil {
		arrays = append(arrays, extra.specs()...)
	}
	w, err := Create(fs, path, arrays)
	return Sink{w, extra}, err
}

// Write appends rows of all columns, and those of the arrays that are copied.
func (s Sink) Write(vals []any, rows int) error {
	if err := s.AppendAll(vals); err != nil {
		return err
	}
	if s.extra != nil {
		return s.extra.copy(s.Writer, len(vals), rows)
	}
	return nil
}

// Describe keeps the last text of a key.
func (s Sink) Describe(key, value string) {
	name := textName(key)
	s.texts = slices.DeleteFunc(s.texts, func(t textArray) bool { return t.name == name })
	s.texts = append(s.texts, textArray{name, value})
}
