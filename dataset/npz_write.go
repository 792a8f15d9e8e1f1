package dataset

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
)

// npzWriter writes an NPZ file whose arrays grow side by side. All shapes are
// known from the start, so every stored member of the zip archive has its place
// before the first row arrives and rows go straight there; archive/zip would
// want one member finished before the next one begins. Checksums are filled in
// at the end. The members carry Zip64 sizes, as numpy's own files do; the
// directory uses Zip64 only where a number needs it (APPNOTE.TXT 4.3.9, 4.5.3).
type npzWriter struct {
	file    *atomicFile
	members []member
	texts   []textArray
	end     int64 // where the directory begins
	whole   bool  // with its directory
	workers int
}

// textArray is a line of metadata, an array of no dimension.
type textArray struct{ name, value string }

// arraySpec is an array to be written.
type arraySpec struct {
	name  string
	typ   dtype
	shape []int64

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

func createNPZ(fs fileSystem, path string, arrays []arraySpec) (*npzWriter, error) {
	f, err := createAtomic(fs, path)
	if err != nil {
		return nil, err
	}
	w := &npzWriter{file: f}
	for _, a := range arrays {
		if a.descr != "" {
			w.add(a.name, headerBytes(a.descr, a.shape), a.size)
			continue
		}
		h := npyHeader{typ: a.typ, shape: a.shape}
		w.add(a.name, npyHeaderBytes(a.typ, a.shape), h.data())
	}
	return w, nil
}

// add makes room for an array: its header, and so many bytes that follow.
func (w *npzWriter) add(name string, header []byte, rest int64) {
	m := member{name: name + ".npy", start: w.end, header: header}
	m.data = m.start + localHeader + int64(len(m.name))
	m.size = int64(len(m.header)) + rest
	m.at = m.data + int64(len(m.header))
	m.crc = crc32.ChecksumIEEE(m.header)
	w.end = m.data + m.size
	w.members = append(w.members, m)
}

// appendAll writes the next values of arrays, vals[i] of array i: parts of them by several workers, whose checksums are
// combined.
func (w *npzWriter) appendAll(vals []any) error {
	type part struct {
		member int
		vals   any
		at     int64
		bytes  int64
		crc    uint32
	}
	var parts []part
	for i, v := range vals {
		m, size := &w.members[i], typeOfSlice(v).size()
		n := lenOf(v)
		if err := m.room(int64(n * size)); err != nil {
			return err
		}
		for lo := 0; lo < n; lo += partBytes / size {
			hi := min(n, lo+partBytes/size)
			parts = append(parts, part{member: i, vals: sliceOf(v, lo, hi), at: m.at + int64(lo*size),
				bytes: int64((hi - lo) * size)})
		}
	}
	err := parallel(workersOr(w.workers), len(parts), func(i int) error {
		p := &parts[i]
		b, err := fileBytes(p.vals)
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
func (w *npzWriter) appendBytes(i int, b []byte) error {
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

// complete writes headers, texts and directory.
func (w *npzWriter) complete() (path string, err error) {
	if !w.whole {
		if err := w.finish(); err != nil {
			w.file.abort()
			return "", fmt.Errorf("dataset: cannot write %s: %w", w.file.final, err)
		}
		w.whole = true
	}
	return w.file.temp, w.file.sync()
}

// commit completes the file and gives it its final name.
func (w *npzWriter) commit() error {
	if _, err := w.complete(); err != nil {
		return err
	}
	return w.file.commit()
}

func (w *npzWriter) abort() { w.file.abort() }

func (w *npzWriter) setWorkers(n int) { w.workers = n }

func (w *npzWriter) finish() error {
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
