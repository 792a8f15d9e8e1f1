package dataset

import (
	"archive/zip"
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
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

// npyArray is one array of an NPZ file, read front to back.
type npyArray struct {
	name   string
	header npyHeader
	body   io.ReadCloser
	in     *bufio.Reader
	left   int64 // values not yet read
	raw    []byte

	// Of a stored array, whose parts are read where they lie; nil of a deflated one.
	file  io.ReaderAt
	at    int64  // of the next value
	crc   uint32 // of what has been read, header included
	total uint32 // of all, 0 if unknown
}

// npzFile is an open NPZ file, that is a zip of NPY arrays, stored or deflated.
type npzFile struct {
	path   string
	f      *os.File
	arrays map[string]*npyArray
	budget *limits // of memory
}

// openNPZ opens the file and the header of every array. Errors name the file,
// and the array where there is one. Arrays that are not known may have any type, unless known is nil.
func openNPZ(path string, known func(name string) bool) (*npzFile, error) {
	return openNPZWithin(path, known, newLimits(nil))
}

// openNPZWithin is openNPZ within a memory budget.
func openNPZWithin(path string, known func(name string) bool, budget *limits) (*npzFile, error) {
	f, size, err := openRegular(path)
	if err != nil {
		return nil, fmt.Errorf("dataset: %w", err)
	}
	z := &npzFile{path: path, f: f, arrays: map[string]*npyArray{}, budget: budget}
	if err := z.open(size, known); err != nil {
		_ = z.Close()
		return nil, err
	}
	return z, nil
}

func (z *npzFile) open(size int64, known func(name string) bool) error {
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
		if z.arrays[name] != nil {
			return fmt.Errorf("dataset: %s: array %s occurs twice", z.path, name)
		}
		err := z.budget.take(arrayBuffers, "buffers of an array")
		var a *npyArray
		if err == nil {
			a, err = openArray(z.f, e, size, known != nil && !known(name))
		}
		if err != nil {
			return fmt.Errorf("dataset: %s: array %s: %w", z.path, name, err)
		}
		a.name = name
		z.arrays[name] = a
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

func (d *directoryReader) ReadAt(p []byte, at int64) (int, error) {
	if !d.listed {
		if len(p) > d.left {
			return 0, errDirectory
		}
		d.left -= len(p)
	}
	return d.r.ReadAt(p, at)
}

// arrayBuffers is what an array that is read takes at most beside its values: what is read ahead of it (readAhead),
// what is inflated, its values before they are converted, and what deflate looks back at.
const (
	readAhead    = 1 << 16
	arrayBuffers = readAhead + 8*inflateBlock + 1<<16
)

// openArray opens a member of a zip archive of the given size.
func openArray(f io.ReaderAt, e *zip.File, size int64, anyType bool) (*npyArray, error) {
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
	a := &npyArray{body: body, in: bufio.NewReaderSize(body, readAhead)}
	a.header, err = readNPYHeader(a.in, anyType)
	if err == nil {
		a.left = a.header.count()
		if want := a.header.bytes + a.header.data(); uint64(want) != e.UncompressedSize64 {
			err = fmt.Errorf("holds %d bytes, but its shape %s of %s needs %d",
				e.UncompressedSize64, a.header.shapeString(), a.header.typ, want)
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
func (z *npzFile) Close() error {
	for _, a := range z.arrays {
		_ = a.body.Close()
	}
	return z.f.Close()
}

// names returns the names of the arrays, sorted.
func (z *npzFile) names() []string {
	var s []string
	for n := range z.arrays {
		s = append(s, n)
	}
	slices.Sort(s)
	return s
}

// direct prepares an array that is stored to be read where it lies.
func (a *npyArray) direct(f io.ReaderAt, e *zip.File) error {
	start, err := e.DataOffset()
	if err != nil {
		return err
	}
	header := make([]byte, a.header.bytes)
	if _, err := f.ReadAt(header, start); err != nil {
		return headerError(err)
	}
	a.file, a.at, a.crc, a.total = f, start+a.header.bytes, crc32.ChecksumIEEE(header), e.CRC32
	return nil
}

// arrayPart are values of an array that one worker reads.
type arrayPart struct {
	of  *npyArray
	dst any
	at  int64 // in the file, of a stored array

	bytes int64
	crc   uint32
}

// parts divides the reading of the next values: those of a stored array into parts of some size. Each is read, by any
// worker, and then all are settled in order.
func (a *npyArray) parts(dst any) ([]arrayPart, error) {
	n, size := lenOf(dst), a.header.typ.size()
	if int64(n) > a.left {
		return nil, fmt.Errorf("%d values asked for, %d left", n, a.left)
	}
	if a.file == nil || n == 0 {
		return []arrayPart{{of: a, dst: dst}}, nil
	}
	var all []arrayPart
	for lo := 0; lo < n; lo += partBytes / size {
		hi := min(n, lo+partBytes/size)
		all = append(all, arrayPart{of: a, dst: sliceOf(dst, lo, hi), at: a.at + int64(lo*size),
			bytes: int64((hi - lo) * size)})
	}
	return all, nil
}

// rawBlock is what a worker holds of values that it converts.
const rawBlock = 1 << 16

var rawBlocks = sync.Pool{New: func() any { return new([rawBlock]byte) }}

func (p *arrayPart) read() error {
	a := p.of
	if a.file == nil {
		return a.inflate(p.dst)
	}
	if typ := a.header.typ; littleEndian && a.header.order == binary.LittleEndian && typ == typeOfSlice(p.dst) {
		to := bytesOf(p.dst)
		if _, err := a.file.ReadAt(to, p.at); err != nil {
			return bodyError(err)
		}
		p.crc = crc32.ChecksumIEEE(to)
		return nil
	}
	block := rawBlocks.Get().(*[rawBlock]byte)
	defer rawBlocks.Put(block)
	size := a.header.typ.size()
	for lo, n := 0, lenOf(p.dst); lo < n; lo += rawBlock / size {
		hi := min(n, lo+rawBlock/size)
		raw := block[:(hi-lo)*size]
		if _, err := a.file.ReadAt(raw, p.at+int64(lo*size)); err != nil {
			return bodyError(err)
		}
		p.crc = crc32.Update(p.crc, crc32.IEEETable, raw)
		if err := decode(raw, a.header.order, a.header.typ, sliceOf(p.dst, lo, hi)); err != nil {
			return err
		}
	}
	return nil
}

// settle advances the array by a part that has been read. Behind the last value the checksum has to agree.
func (p *arrayPart) settle() error {
	a := p.of
	a.left -= int64(lenOf(p.dst))
	if a.file == nil {
		return a.checkEnd()
	}
	a.at += p.bytes
	a.crc = combineCRC(a.crc, p.crc, p.bytes)
	if a.left == 0 && a.total != 0 && a.crc != a.total {
		return bodyError(zip.ErrChecksum)
	}
	return nil
}

// inflateBlock is the number of values that are inflated at a time.
const inflateBlock = 1 << 13

// inflate fills dst with the next values of a deflated array.
func (a *npyArray) inflate(dst any) error {
	n := lenOf(dst)
	size := a.header.typ.size()
	if a.raw == nil {
		a.raw = make([]byte, inflateBlock*size)
	}
	for at := 0; at < n; {
		k := min(inflateBlock, n-at)
		raw := a.raw[:k*size]
		if _, err := io.ReadFull(a.in, raw); err != nil {
			return bodyError(err)
		}
		if err := decode(raw, a.header.order, a.header.typ, sliceOf(dst, at, at+k)); err != nil {
			return err
		}
		at += k
	}
	return nil
}

// checkEnd makes sure, behind the last value of a deflated array, that the checksum agrees.
func (a *npyArray) checkEnd() error {
	if a.left > 0 {
		return nil
	}
	if _, err := a.in.ReadByte(); !errors.Is(err, io.EOF) {
		return bodyError(err)
	}
	return nil
}

// skip passes over the next n values. A stored array is not read, so its checksum is no longer compared.
func (a *npyArray) skip(n int64) error {
	if n > a.left {
		return fmt.Errorf("%d values to skip, %d left", n, a.left)
	}
	bytes := n * int64(a.header.typ.size())
	a.left -= n
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
func (a *npyArray) read(dst any) error {
	parts, err := a.parts(dst)
	if err != nil {
		return err
	}
	return readParts(parts, 0, func(_ *npyArray, err error) error { return err })
}

// readParts reads parts by several workers and settles them. wrong says of which array an error is.
func readParts(parts []arrayPart, workers int, wrong func(*npyArray, error) error) error {
	err := parallel(workersOr(workers), len(parts), func(i int) error {
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

// text reads the text of an array that holds one, within a memory budget.
func (a *npyArray) text(budget *limits) (string, error) {
	// The bytes, as many of the characters, and those of the text.
	if err := budget.take(3*a.header.data(), "a text"); err != nil {
		return "", err
	}
	raw := make([]byte, a.header.data())
	if _, err := io.ReadFull(a.in, raw); err != nil {
		return "", bodyError(err)
	}
	if _, err := a.in.ReadByte(); !errors.Is(err, io.EOF) { // which also tells that the checksum agrees
		return "", bodyError(err)
	}
	a.left = 0
	runes := make([]rune, a.header.runes)
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

// decode converts raw values of type t to the type of dst.
func decode(raw []byte, order binary.ByteOrder, t dtype, dst any) error {
	switch d := dst.(type) {
	case []int32:
		if t == typeInt64 {
			for i := range d {
				d[i] = clamp32(int64(order.Uint64(raw[8*i:])))
			}
			return nil
		}
	case []float64:
		if t == typeFloat32 {
			for i := range d {
				d[i] = float64(math.Float32frombits(order.Uint32(raw[4*i:])))
			}
			return nil
		}
	}
	_, err := binary.Decode(raw, order, dst)
	return err
}

// lenOf and sliceOf act on any of the slice types of a column.
func lenOf(v any) int {
	switch s := v.(type) {
	case []int32:
		return len(s)
	case []int64:
		return len(s)
	case []float32:
		return len(s)
	case []float64:
		return len(s)
	case []uint8:
		return len(s)
	case []uint16:
		return len(s)
	}
	panic(fmt.Sprintf("dataset: no column holds a %T", v))
}

func sliceOf(v any, lo, hi int) any {
	switch s := v.(type) {
	case []int32:
		return s[lo:hi]
	case []int64:
		return s[lo:hi]
	case []float32:
		return s[lo:hi]
	case []float64:
		return s[lo:hi]
	case []uint8:
		return s[lo:hi]
	case []uint16:
		return s[lo:hi]
	}
	panic(fmt.Sprintf("dataset: no column holds a %T", v))
}
