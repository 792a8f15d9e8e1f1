package dataset

import (
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
)

// pageReader reads the pages of a column chunk in place of the library's own, which
// decompresses whatever a page unpacks to: here headers are checked first, decompression
// stops at the size that the header declares, and buffers count in the memory budget of the
// file. The library decodes the values of the pages.
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

// pageBuffers are those of a column, used for one chunk after the other.
type pageBuffers struct {
	*limits
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
	if err := b.limits.take(maxPageHeader, "buffer"); err != nil {
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
	if p.packed, err = p.grow(p.packed, int(h.packed), "compressed page"); err != nil {
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
	if *into, err = p.grow(*into, int(h.unpacked), "decompressed page"); err != nil {
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
			if err := p.take(more, "dictionary"); err != nil {
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
