package dataset

import (
	"archive/zip"
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
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
}

// npzFile is an open NPZ file, that is a zip of NPY arrays, stored or deflated.
type npzFile struct {
	path   string
	f      *os.File
	arrays map[string]*npyArray
}

// openNPZ opens the file and the header of every array. Errors name the file,
// and the array where there is one. Arrays that are not known may have any type, unless known is nil.
func openNPZ(path string, known func(name string) bool) (*npzFile, error) {
	f, size, err := openRegular(path)
	if err != nil {
		return nil, fmt.Errorf("dataset: %w", err)
	}
	z := &npzFile{path: path, f: f, arrays: map[string]*npyArray{}}
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
		a, err := openArray(e, size, known != nil && !known(name))
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

// openArray opens a member of a zip archive of the given size.
func openArray(e *zip.File, size int64, anyType bool) (*npyArray, error) {
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
	a := &npyArray{body: body, in: bufio.NewReaderSize(body, 1<<16)}
	a.header, err = readNPYHeader(a.in, anyType)
	if err == nil {
		a.left = a.header.count()
		if want := a.header.bytes + a.header.data(); uint64(want) != e.UncompressedSize64 {
			err = fmt.Errorf("holds %d bytes, but its shape %s of %s needs %d",
				e.UncompressedSize64, a.header.shapeString(), a.header.typ, want)
		}
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

// read fills dst with the next values. Behind the last one it also makes sure
// that the archive's checksum agrees.
func (a *npyArray) read(dst any) error {
	n := lenOf(dst)
	if int64(n) > a.left {
		return fmt.Errorf("%d values asked for, %d left", n, a.left)
	}
	const block = 1 << 13 // values
	size := a.header.typ.size()
	if a.raw == nil {
		a.raw = make([]byte, block*size)
	}
	for at := 0; at < n; {
		k := min(block, n-at)
		raw := a.raw[:k*size]
		if _, err := io.ReadFull(a.in, raw); err != nil {
			return bodyError(err)
		}
		if err := decode(raw, a.header.order, a.header.typ, sliceOf(dst, at, at+k)); err != nil {
			return err
		}
		at += k
	}
	a.left -= int64(n)
	if a.left == 0 {
		if _, err := a.in.ReadByte(); !errors.Is(err, io.EOF) {
			return bodyError(err)
		}
	}
	return nil
}

// text reads the text of an array that holds one.
func (a *npyArray) text() (string, error) {
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
