package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"sync"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/klauspost/compress/zstd"

	"clearance/dataset/table"
)

// pageReader reads the pages of a column chunk in place of the reader of arrow-go 18.8, which decompresses whatever a
// page unpacks to: for a file of 134 kB whose page unpacks to 4.3 GB it allocates 25 GB, this one 1 MB
// (TestLibraryHasNoBounds has a smaller one). Headers are checked first, decompression stops at the size that the
// header declares, and buffers count in the memory budget of the file. The library decodes the values of the pages.
type pageReader struct {
	f     io.ReaderAt
	at    int64 // in the file
	left  int64 // bytes of the chunk from there on
	codec compress.Compression
	kind  parquet.Type
	width int // bytes of a value in a dictionary

	values, seen int64       // of the chunk
	given        int64       // values of pages that the library got
	page         int         // number of the page, from 0 in each chunk
	pending      *pageHeader // of the page at this place, nil if it was not read
	current      file.Page
	err          error

	*pageBuffers
}

// pageBuffers are the buffers of a column, used for one chunk after the other.
type pageBuffers struct {
	*table.Limits
	head                         []byte // what was read ahead
	packed, unpacked, dictionary []byte
	decoded                      int64 // bytes of the largest dictionary
}

// newPageReader begins at the first page of a column chunk.
func newPageReader(f io.ReaderAt, size int64, m *metadata.ColumnChunkMetaData, old bool, b *pageBuffers) (*pageReader,
	error) {
	start, length := m.DataPageOffset(), m.TotalCompressedSize()
	if m.HasDictionaryPage() && m.DictionaryPageOffset() > 0 {
		start = min(start, m.DictionaryPageOffset())
	}
	switch {
	case m.CryptoMetadata() != nil:
		return nil, errors.New("is encrypted, which is not supported")
	case start < 0 || length < 0 || length > size || start > size-length:
		return nil, fmt.Errorf("bytes %d to %d+%d in a file of %d", start, start, length, size)
	}
	if old {
		// parquet-mr before 1.2.9 leaves the header of the dictionary page out of the length
		// (PARQUET-816).
		length = min(length+maxPageHeader, size-start)
	}
	if err := b.ready(); err != nil {
		return nil, err
	}
	return &pageReader{f: f, at: start, left: length, codec: m.Compression(), kind: m.Type(),
		width: m.Type().ByteSize(), values: m.NumValues(), page: -1, pageBuffers: b}, nil
}

// ready allocates what every column needs.
func (b *pageBuffers) ready() error {
	if b.head != nil {
		return nil
	}
	if err := b.Limits.Take(maxPageHeader, "buffer"); err != nil {
		return err
	}
	b.head = make([]byte, maxPageHeader)
	return nil
}

// Next advances to the next page that holds values.
func (p *pageReader) Next() bool {
	p.release()
	if p.err != nil {
		return false
	}
	for p.pending != nil || p.seen < p.values && p.left > 0 {
		page, err := p.read()
		if err != nil {
			p.err = fmt.Errorf("page %d: %w", p.page, err)
			return false
		}
		if page != nil {
			p.current = page
			return true
		}
	}
	return false
}

// read reads one page, nil if it holds no values.
func (p *pageReader) read() (file.Page, error) {
	var h pageHeader
	if p.pending != nil {
		h, p.pending = *p.pending, nil
	} else {
		var err error
		p.page++
		if h, err = p.header(); err != nil {
			return nil, fmt.Errorf("header: %w", err)
		}
	}
	if h.typ == pageIndex {
		p.skip(int(h.packed))
		return nil, nil
	}
	var err error
	if p.packed, err = p.Grow(p.packed, int(h.packed), "compressed page"); err != nil {
		return nil, err
	}
	if n, err := p.f.ReadAt(p.packed, p.at); n < len(p.packed) {
		if !errors.Is(err, io.EOF) {
			return nil, err
		}
		return nil, errEndsWithin
	}
	p.skip(int(h.packed))
	into := &p.unpacked
	if h.typ == pageDictionary {
		into = &p.dictionary
	}
	if *into, err = p.Grow(*into, int(h.unpacked), "decompressed page"); err != nil {
		return nil, err
	}
	if err := h.unpack(p.codec, *into, p.packed); err != nil {
		return nil, err
	}
	buf, n, encoding := memory.NewBufferBytes(*into), h.values, parquet.Encoding(h.encoding)
	switch h.typ {
	case pageDictionary:
		// The library allocates the values before it looks for them.
		least, each := int64(p.width), int64(p.width)
		switch { // of texts a length of four bytes, and in memory a slice each
		case p.kind == parquet.Types.ByteArray:
			least, each = 4, 28
		case p.kind == parquet.Types.FixedLenByteArray:
			least, each = 1, 24
		}
		if int64(n)*least > int64(len(*into)) {
			return nil, fmt.Errorf("dictionary of %d values in %d bytes", n, len(*into))
		}
		if more := int64(n)*each - p.decoded; more > 0 {
			if err := p.Take(more, "dictionary"); err != nil {
				return nil, err
			}
			p.decoded += more
		}
		return file.NewDictionaryPage(buf, n, encoding), nil
	case pageDataV2:
		p.seen, p.given = p.seen+int64(n), p.given+int64(n)
		return file.NewDataPageV2(buf, n, h.nulls, h.rows, encoding, h.defBytes, h.repBytes, h.unpacked, false), nil
	}
	p.seen, p.given = p.seen+int64(n), p.given+int64(n)
	return file.NewDataPageV1(buf, n, encoding, parquet.Encoding(h.defEncoding), parquet.Encoding(h.repEncoding),
		h.unpacked), nil
}

// header reads and checks the header of the next page.
func (p *pageReader) header() (pageHeader, error) {
	const usual = 256
	for n := usual; ; n = maxPageHeader {
		data, err := p.peek(n)
		if err != nil {
			return pageHeader{}, err
		}
		h, length, err := readPageHeader(data)
		if err != nil && len(data) == usual { // statistics of texts may be long
			continue
		}
		if err != nil {
			return h, fmt.Errorf("byte %d: %w", length, err)
		}
		p.skip(length)
		return h, h.check(p.left)
	}
}

var errEndsWithin = errors.New("the file ends within it")

// peek returns the next bytes, at most maxPageHeader: fewer at the end of the chunk or of the file.
func (p *pageReader) peek(n int) ([]byte, error) {
	data := p.head[:min(int64(n), p.left)]
	n, err := p.f.ReadAt(data, p.at)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return data[:n], nil
}

// skip goes on behind bytes of the chunk.
func (p *pageReader) skip(n int) {
	p.at += int64(n)
	p.left -= int64(n)
}

// unpack decompresses a page; levels of version 2 are never compressed.
func (h *pageHeader) unpack(codec compress.Compression, dst, src []byte) error {
	if h.typ == pageDataV2 {
		levels := int(h.defBytes + h.repBytes)
		copy(dst, src[:levels])
		dst, src = dst[levels:], src[levels:]
		if h.plain {
			codec = compress.Codecs.Uncompressed
		}
	}
	return unpack(codec, dst, src)
}

func (p *pageReader) release() {
	if p.current != nil {
		p.current.Release()
		p.current = nil
	}
}

// Page returns the current page, nil behind the last.
func (p *pageReader) Page() file.Page { return p.current }

// Err returns the error that ended the pages.
func (p *pageReader) Err() error { return p.err }

// Close releases the current page.
func (p *pageReader) Close() error {
	p.release()
	return nil
}

// GetDictionaryPage returns none: the dictionary is the first page that Next returns.
func (p *pageReader) GetDictionaryPage() (*file.DictionaryPage, error) { return nil, nil }

// SetMaxPageHeaderSize does nothing: the limit is maxPageHeader.
func (p *pageReader) SetMaxPageHeaderSize(int) {}

// SeekToPageWithRow is not used: columns are read from first to last.
func (p *pageReader) SeekToPageWithRow(int64) error {
	return errors.New("pages are read in their order")
}

// Reset is not used: a chunk has a reader of its own.
func (p *pageReader) Reset(parquet.BufferedReader, int64, compress.Compression, *file.CryptoContext) {
	p.err = errors.New("a page reader is not used again")
}

// Pages of plain values need no decoding: once the levels are known to be those of rows without nulls, the values go
// from the file into the column. The readers of arrow-go 18.8 copy them twice and return two levels of 16 bits for each
// of them. It gains (CPU time of a row, Xeon, BenchmarkLibrary): pairs 22 ns where the library takes 93 to 97, results
// 14 where it takes 50 to 60, and 2 bytes of memory a row where it allocates 186 and 92. All other pages are the
// library's.

// rowForm describes the rows of a column.
type rowForm struct {
	width   int
	size    int    // bytes of a value
	maxRep  int    // levels, as the schema has them
	maxDef  int    // definition level of what is not null
	pattern []byte // of repetition levels, see appendPattern
}

// patternBytes is the length of a pattern in units of its period.
const patternBytes = 256

// plainValues are the values of a page that have not been read yet.
type plainValues struct {
	left int64 // values
	at   int64 // of the next one in the file
}

// plain advances to the next page, if its values are plain, not compressed, and whole rows without a null. Otherwise
// the library is to read that page.
func (p *pageReader) plain(s *rowForm) (v plainValues, ok bool, err error) {
	if p.err != nil || p.pending != nil {
		return v, false, p.err
	}
	for p.seen < p.values && p.left > 0 {
		p.page++
		h, err := p.header()
		if err != nil {
			p.err = fmt.Errorf("page %d: header: %w", p.page, err)
			return v, false, p.err
		}
		if h.typ == pageIndex {
			p.skip(int(h.packed))
			continue
		}
		from, ok, err := p.constant(&h, s)
		if err != nil {
			p.err = fmt.Errorf("page %d: %w", p.page, err)
			return v, false, p.err
		}
		if !ok {
			p.pending = &h
			return v, false, nil
		}
		v = plainValues{left: int64(h.values), at: p.at + int64(from)}
		p.seen += int64(h.values)
		p.skip(int(h.packed))
		return v, true, nil
	}
	return v, false, nil
}

// constant returns where the values of a page begin behind its header, if they are plain ones whose levels are those of
// whole rows without nulls.
func (p *pageReader) constant(h *pageHeader, s *rowForm) (from int, ok bool, err error) {
	v2 := h.typ == pageDataV2
	switch {
	case h.typ != pageData && !v2, h.encoding != int32(parquet.Encodings.Plain), h.packed != h.unpacked, h.nulls != 0,
		h.values == 0, int(h.values)%s.width != 0, p.codec != compress.Codecs.Uncompressed && !(v2 && h.plain):
		return 0, false, nil
	case !v2 && s.maxRep > 0 && h.repEncoding != int32(parquet.Encodings.RLE),
		!v2 && s.maxDef > 0 && h.defEncoding != int32(parquet.Encodings.RLE):
		return 0, false, nil
	}
	n := int(h.values)
	levels := int(h.packed) - n*s.size
	if levels < 0 || levels > maxPageHeader {
		return 0, false, nil
	}
	data, err := p.peek(levels)
	if err == nil && len(data) < levels {
		err = errEndsWithin
	}
	if err != nil {
		return 0, false, err
	}
	rep, def := data[:0], data[:0]
	if v2 {
		if int(h.repBytes+h.defBytes) != levels {
			return 0, false, nil
		}
		rep, def = data[:h.repBytes], data[h.repBytes:]
	} else {
		if s.maxRep > 0 {
			rep, data = cutLevels(data)
		}
		if s.maxDef > 0 {
			def, data = cutLevels(data)
		}
		if len(data) > 0 {
			return 0, false, nil
		}
	}
	return levels, (s.maxRep == 0 || repeats(rep, n, s.pattern)) && (s.maxDef == 0 || isRun(def, n, s.maxDef)), nil
}

// cutLevels splits levels of version 1, whose length comes first, off a page. Without room for them they are empty.
func cutLevels(data []byte) (levels, rest []byte) {
	if len(data) < 4 {
		return nil, data
	}
	n := binary.LittleEndian.Uint32(data)
	if int64(n) > int64(len(data)-4) {
		return nil, data
	}
	return data[4 : 4+n], data[4+n:]
}

// isRun reports whether run-length encoded levels are n times the same.
func isRun(data []byte, n, level int) bool {
	if bits.Len(uint(level)) > 8 {
		return false
	}
	for n > 0 {
		v, k := binary.Uvarint(data)
		if k <= 0 || v&1 != 0 || v == 0 || len(data) == k || data[k] != byte(level) {
			return false
		}
		if v>>1 >= uint64(n) {
			return true
		}
		n -= int(v >> 1)
		data = data[k+1:]
	}
	return true
}

// repeats reports whether run-length encoded levels of one bit are n that repeat a pattern of bytes, in runs of bits.
func repeats(data []byte, n int, pattern []byte) bool {
	want := (n + 7) / 8
	for at := 0; at < want; {
		v, k := binary.Uvarint(data)
		if k <= 0 || v&1 == 0 || v>>1 == 0 {
			return false
		}
		count := int(min(v>>1, uint64(want-at)))
		if data = data[k:]; len(data) < count {
			return false
		}
		whole := count
		if at+count == want && n%8 != 0 {
			whole--
		}
		for i := 0; i < whole; {
			part := pattern[(at+i)%len(pattern):]
			part = part[:min(len(part), whole-i)]
			if !bytes.Equal(data[i:i+len(part)], part) {
				return false
			}
			i += len(part)
		}
		if whole < count {
			if mask := byte(1)<<(n%8) - 1; (data[whole]^pattern[(at+whole)%len(pattern)])&mask != 0 {
				return false
			}
		}
		data, at = data[count:], at+count
	}
	return true
}

// plainPart are plain values that one worker reads.
type plainPart struct {
	of  *leaf
	row int64 // the first
	at  int64 // in the file
	dst any
}

// take notes that the next values of a plain page go to dst.
func (l *leaf) take(dst any) {
	n, size := table.Len(dst), l.typ.Size()
	row := l.row
	step := table.PartBytes / size / l.Width * l.Width
	for lo := 0; lo < n; lo += step {
		hi := min(n, lo+step)
		l.parts = append(l.parts, plainPart{of: l, row: row + int64(lo/l.Width), at: l.page.at + int64(lo*size),
			dst: table.Slice(dst, lo, hi)})
	}
	l.page.at += int64(n * size)
	l.page.left -= int64(n)
}

// read reads the values from the file.
func (p *plainPart) read(t *Table) error {
	wrong := func(err error) error {
		if errors.Is(err, io.EOF) {
			err = errEndsWithin
		}
		return fmt.Errorf("dataset: %s: column %s: row %d or later: damaged page: %w", t.path, p.of.Name, p.row, err)
	}
	typ := p.of.typ
	if table.LittleEndian && typ == table.TypeOf(p.dst) {
		if _, err := t.f.ReadAt(table.Bytes(p.dst), p.at); err != nil {
			return wrong(err)
		}
		return nil
	}
	block := table.RawBlocks.Get().(*[table.RawBlock]byte)
	defer table.RawBlocks.Put(block)
	size := typ.Size()
	for lo, n := 0, table.Len(p.dst); lo < n; lo += table.RawBlock / size {
		hi := min(n, lo+table.RawBlock/size)
		raw := block[:(hi-lo)*size]
		if _, err := t.f.ReadAt(raw, p.at+int64(lo*size)); err != nil {
			return wrong(err)
		}
		if err := table.Decode(raw, binary.LittleEndian, typ, table.Slice(p.dst, lo, hi)); err != nil {
			return wrong(err)
		}
	}
	return nil
}

// zstdDecoder refuses to write beyond the capacity of its destination.
var zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecodeAllCapLimit(true))
})

// unpack decompresses src into all of dst, which has the length that the header of the page
// declares. It allocates no more than a block beyond that, whatever src unpacks to.
func unpack(codec compress.Compression, dst, src []byte) error {
	if len(dst) == 0 && len(src) == 0 {
		return nil
	}
	var out []byte
	switch codec {
	case compress.Codecs.Uncompressed:
		out = src
		copy(dst, src)
	case compress.Codecs.Zstd:
		d, err := zstdDecoder()
		if err != nil {
			return err
		}
		if out, err = d.DecodeAll(src, dst[:0:len(dst)]); err != nil {
			return fmt.Errorf("%v: %w", codec, err)
		}
	case compress.Codecs.Snappy:
		// A block begins with the length that it unpacks to, which the decoder allocates.
		if n, k := binary.Uvarint(src); k <= 0 || n != uint64(len(dst)) {
			return fmt.Errorf("%v: unpacks to %d bytes, its header declares %d", codec, n, len(dst))
		}
		fallthrough
	default: // these stop at the end of dst
		c, err := compress.GetCodec(codec)
		if err != nil {
			return err
		}
		if out, err = compress.Decode(c, dst, src); err != nil {
			return fmt.Errorf("%v: %w", codec, err)
		}
	}
	if len(out) != len(dst) {
		return fmt.Errorf("%v: unpacks to %d bytes, its header declares %d", codec, len(out), len(dst))
	}
	return nil
}
