package dataset

import (
	"errors"
	"fmt"
)

// maxPageHeader bounds a page header. Those of columns of numbers have some 50 bytes.
const maxPageHeader = 1 << 16

// Types of pages in parquet.thrift.
const (
	pageData       = 0
	pageIndex      = 1
	pageDictionary = 2
	pageDataV2     = 3
)

// pageHeader is what a reader needs of PageHeader in parquet.thrift.
type pageHeader struct {
	typ, unpacked, packed int32

	values   int32
	encoding int32
	// Version 1.
	defEncoding, repEncoding int32
	// Version 2.
	nulls, rows        int32
	defBytes, repBytes int32
	plain              bool // is_compressed is false

	has [4]bool // header of the type
}

// readPageHeader reads the header at the start of data and returns its length.
func readPageHeader(data []byte) (h pageHeader, length int, err error) {
	r := &thriftReader{data: data}
	err = r.structure(func(id int16, typ byte) error {
		switch id {
		case 1:
			return r.integer("type", typ, &h.typ)
		case 2:
			return r.integer("uncompressed_page_size", typ, &h.unpacked)
		case 3:
			return r.integer("compressed_page_size", typ, &h.packed)
		case 5:
			return r.dataHeader(typ, &h)
		case 7:
			return r.dictionaryHeader(typ, &h)
		case 8:
			return r.dataHeaderV2(typ, &h)
		}
		return r.skip(typ)
	})
	return h, r.at, err
}

// check reports what no page can have. left is what is left of the column chunk in bytes.
func (h *pageHeader) check(left int64) error {
	switch {
	case h.packed < 0 || h.unpacked < 0:
		return fmt.Errorf("sizes of %d and %d bytes, want 0 or more", h.packed, h.unpacked)
	case int64(h.packed) > left:
		return fmt.Errorf("compressed size of %d bytes, but %d are left of the column chunk", h.packed, left)
	case h.packed > maxPacked:
		return fmt.Errorf("compressed size of %d bytes, more than %d", h.packed, maxPacked)
	case h.unpacked > maxUnpacked:
		return fmt.Errorf("uncompressed size of %d bytes, more than %d", h.unpacked, maxUnpacked)
	case h.typ < 0 || int(h.typ) >= len(h.has) || h.typ != pageIndex && !h.has[h.typ]:
		return fmt.Errorf("no header for a page of type %d", h.typ)
	case h.values < 0 || h.nulls < 0 || h.nulls > h.values || h.rows < 0:
		return fmt.Errorf("%d values, %d nulls, %d rows", h.values, h.nulls, h.rows)
	case h.typ == pageDataV2:
		levels := int64(h.defBytes) + int64(h.repBytes)
		if h.defBytes < 0 || h.repBytes < 0 || levels > int64(min(h.packed, h.unpacked)) {
			return fmt.Errorf("levels of %d and %d bytes in a page of %d, uncompressed %d", h.defBytes, h.repBytes,
				h.packed, h.unpacked)
		}
	}
	return nil
}

// integer reads a field that is an i32 or an enumeration.
func (r *thriftReader) integer(name string, typ byte, v *int32) error {
	if err := want(name, typ, thriftI32); err != nil {
		return err
	}
	var err error
	if *v, err = r.i32(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// fields reads a structure whose fields of the given numbers are integers.
func (r *thriftReader) fields(name string, typ byte, places map[int16]*int32, flag func(id int16, typ byte)) error {
	if err := want(name, typ, thriftStruct); err != nil {
		return err
	}
	return r.structure(func(id int16, typ byte) error {
		if p := places[id]; p != nil {
			return r.integer(fmt.Sprintf("%s, field %d", name, id), typ, p)
		}
		if flag != nil {
			flag(id, typ)
		}
		return r.skip(typ)
	})
}

var errSecondHeader = errors.New("two headers of one page")

func (h *pageHeader) note(typ int) error {
	if h.has != [4]bool{} {
		return errSecondHeader
	}
	h.has[typ] = true
	return nil
}

func (r *thriftReader) dataHeader(typ byte, h *pageHeader) error {
	if err := h.note(pageData); err != nil {
		return err
	}
	return r.fields("data_page_header", typ,
		map[int16]*int32{1: &h.values, 2: &h.encoding, 3: &h.defEncoding, 4: &h.repEncoding}, nil)
}

func (r *thriftReader) dictionaryHeader(typ byte, h *pageHeader) error {
	if err := h.note(pageDictionary); err != nil {
		return err
	}
	return r.fields("dictionary_page_header", typ, map[int16]*int32{1: &h.values, 2: &h.encoding}, nil)
}

func (r *thriftReader) dataHeaderV2(typ byte, h *pageHeader) error {
	if err := h.note(pageDataV2); err != nil {
		return err
	}
	places := map[int16]*int32{1: &h.values, 2: &h.nulls, 3: &h.rows, 4: &h.encoding, 5: &h.defBytes, 6: &h.repBytes}
	return r.fields("data_page_header_v2", typ, places, func(id int16, typ byte) {
		if id == 7 { // is_compressed, true where it is absent
			h.plain = typ == thriftFalse
		}
	})
}
