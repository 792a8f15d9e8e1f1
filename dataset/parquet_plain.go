package dataset

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
)

// This file reads pages of plain values, which need no decoding: once the levels are known to be those of rows without
// nulls, the values go from the file into the column. The readers of the Arrow library (arrow-go 18.8) copy them twice
// and return two levels of 16 bits for each of them. All other pages are the library's.

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

// plainValues are those of a page, or what is left of them.
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
	n, size := lenOf(dst), l.typ.size()
	row := l.row
	step := partBytes / size / l.width * l.width
	for lo := 0; lo < n; lo += step {
		hi := min(n, lo+step)
		l.parts = append(l.parts, plainPart{of: l, row: row + int64(lo/l.width), at: l.page.at + int64(lo*size),
			dst: sliceOf(dst, lo, hi)})
	}
	l.page.at += int64(n * size)
	l.page.left -= int64(n)
}

// read reads the values from the file.
func (p *plainPart) read(t *parquetTable) error {
	wrong := func(err error) error {
		if errors.Is(err, io.EOF) {
			err = errEndsWithin
		}
		return fmt.Errorf("dataset: %s: column %s: row %d or later: damaged page: %w", t.path, p.of.name, p.row, err)
	}
	typ := p.of.typ
	if littleEndian && typ == typeOfSlice(p.dst) {
		if _, err := t.f.ReadAt(bytesOf(p.dst), p.at); err != nil {
			return wrong(err)
		}
		return nil
	}
	block := rawBlocks.Get().(*[rawBlock]byte)
	defer rawBlocks.Put(block)
	size := typ.size()
	for lo, n := 0, lenOf(p.dst); lo < n; lo += rawBlock / size {
		hi := min(n, lo+rawBlock/size)
		raw := block[:(hi-lo)*size]
		if _, err := t.f.ReadAt(raw, p.at+int64(lo*size)); err != nil {
			return wrong(err)
		}
		if err := decode(raw, binary.LittleEndian, typ, sliceOf(p.dst, lo, hi)); err != nil {
			return wrong(err)
		}
	}
	return nil
}
