package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"clearance/dataset/parquet/thrift"
	"clearance/dataset/table"
)

// This file checks the metadata of a file and the headers of its pages before arrow-go 18.8 decodes them. The library
// takes the number of children of a schema element at its word: 1.9 kB that claim 2^31-1 have it ask for 32 GiB, which
// ends the process; here they are refused after 8 MiB at most (TestParquetFooterHostile).

// Limits of a schema. A column of ours is a number or a list of them: a root, a group, a
// repeated group and a leaf.
const (
	maxSchemaDepth    = 16
	maxSchemaElements = 1 << 16
)

// Memory of the decoded metadata. A structure of Parquet's metadata takes at most 256 bytes in
// memory, an element of a list at most 16 beside the structure that it may be.
const (
	structBytes  = 256
	elementBytes = 16
)

// checkFooter walks the metadata at the end of a Parquet file before the library decodes it.
func checkFooter(f io.ReaderAt, size int64, l *table.Limits) error {
	var tail [8]byte
	if size < int64(len(tail))+4 {
		return fmt.Errorf("not a complete Parquet file (%d bytes)", size)
	}
	if _, err := f.ReadAt(tail[:], size-int64(len(tail))); err != nil {
		return err
	}
	switch string(tail[4:]) {
	case "PAR1":
	case "PARE":
		return errors.New("footer is encrypted, which is not supported")
	default:
		return errors.New("not a complete Parquet file (truncated, or another format): no magic bytes at its end")
	}
	length := int64(binary.LittleEndian.Uint32(tail[:]))
	if length > size-int64(len(tail)) {
		return fmt.Errorf("footer claims %d bytes in a file of %d", length, size)
	}
	// Twice: these bytes and the library's.
	if err := l.Take(2*length, "footer"); err != nil {
		return err
	}
	data := make([]byte, length)
	if _, err := f.ReadAt(data, size-int64(len(tail))-length); err != nil {
		return fmt.Errorf("footer: %w", err)
	}
	r := &thrift.Reader{Data: data}
	if err := fileMetadata(r); err != nil {
		return fmt.Errorf("damaged footer: byte %d: %w", r.At, err)
	}
	return l.Take(structBytes*r.Structs+elementBytes*r.Elements, "decoded footer")
}

// fileMetadata reads FileMetaData of parquet.thrift. Its field 2 is the schema, all else is
// walked for lengths and depth.
func fileMetadata(r *thrift.Reader) error {
	var children []int32
	err := r.Structure(func(id int16, typ byte) error {
		if id != 2 {
			return r.Skip(typ)
		}
		if err := thrift.Want("schema", typ, thrift.List); err != nil {
			return err
		}
		if children != nil {
			return errors.New("schema occurs twice")
		}
		return r.List(func(i int, typ byte) error {
			if err := thrift.Want("schema element", typ, thrift.Struct); err != nil {
				return err
			}
			if i >= maxSchemaElements {
				return fmt.Errorf("schema of more than %d elements", maxSchemaElements)
			}
			n, err := schemaElement(r)
			children = append(children, n)
			if err != nil {
				return fmt.Errorf("schema element %d: %w", i, err)
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	return checkTree(children)
}

// schemaElement reads a SchemaElement and returns its num_children, field 5.
func schemaElement(r *thrift.Reader) (children int32, err error) {
	err = r.Structure(func(id int16, typ byte) error {
		if id != 5 {
			return r.Skip(typ)
		}
		if err := thrift.Want("num_children", typ, thrift.I32); err != nil {
			return err
		}
		children, err = r.I32()
		if err == nil && (children < 0 || children > maxSchemaElements) {
			err = fmt.Errorf("num_children is %d, want 0 to %d", children, maxSchemaElements)
		}
		return err
	})
	return children, err
}

// checkTree checks that elements with these numbers of children, listed depth first, are one
// tree that is not too deep.
func checkTree(children []int32) error {
	var open []int32 // children yet to come of the elements on the path
	for i, n := range children {
		if i > 0 {
			for len(open) > 0 && open[len(open)-1] == 0 {
				open = open[:len(open)-1]
			}
			if len(open) == 0 {
				return fmt.Errorf("schema element %d has no parent", i)
			}
			open[len(open)-1]--
		}
		if int(n) > len(children)-1-i {
			return fmt.Errorf("schema element %d has %d children, but %d elements follow", i, n, len(children)-1-i)
		}
		if n > 0 {
			if open = append(open, n); len(open) > maxSchemaDepth {
				return fmt.Errorf("schema nested more than %d deep", maxSchemaDepth)
			}
		}
	}
	for _, n := range open {
		if n > 0 {
			return errors.New("schema ends before its last element")
		}
	}
	if len(children) == 0 {
		return errors.New("no schema")
	}
	return nil
}

// maxPageHeader bounds a page header. Those of columns of numbers have some 50 bytes.
const maxPageHeader = 1 << 16

// Types of pages in parquet.thrift.
const (
	pageData       = 0
	pageIndex      = 1
	pageDictionary = 2
	pageDataV2     = 3
)

// pageHeader has the fields of PageHeader in parquet.thrift that a reader needs.
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
	r := &thrift.Reader{Data: data}
	err = r.Structure(func(id int16, typ byte) error {
		switch id {
		case 1:
			return r.Integer("type", typ, &h.typ)
		case 2:
			return r.Integer("uncompressed_page_size", typ, &h.unpacked)
		case 3:
			return r.Integer("compressed_page_size", typ, &h.packed)
		case 5:
			return h.dataHeader(r, typ)
		case 7:
			return h.dictionaryHeader(r, typ)
		case 8:
			return h.dataHeaderV2(r, typ)
		}
		return r.Skip(typ)
	})
	return h, r.At, err
}

// check reports what no page can have. left is the number of bytes left of the column chunk.
func (h *pageHeader) check(left int64) error {
	switch {
	case h.packed < 0 || h.unpacked < 0:
		return fmt.Errorf("sizes of %d and %d bytes, want 0 or more", h.packed, h.unpacked)
	case int64(h.packed) > left:
		return fmt.Errorf("compressed size of %d bytes, but %d are left of the column chunk", h.packed, left)
	case h.packed > MaxPacked:
		return fmt.Errorf("compressed size of %d bytes, more than %d", h.packed, MaxPacked)
	case h.unpacked > MaxUnpacked:
		return fmt.Errorf("uncompressed size of %d bytes, more than %d", h.unpacked, MaxUnpacked)
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

var errSecondHeader = errors.New("two headers of one page")

func (h *pageHeader) note(typ int) error {
	if h.has != [4]bool{} {
		return errSecondHeader
	}
	h.has[typ] = true
	return nil
}

func (h *pageHeader) dataHeader(r *thrift.Reader, typ byte) error {
	if err := h.note(pageData); err != nil {
		return err
	}
	return r.Fields("data_page_header", typ,
		map[int16]*int32{1: &h.values, 2: &h.encoding, 3: &h.defEncoding, 4: &h.repEncoding}, nil)
}

func (h *pageHeader) dictionaryHeader(r *thrift.Reader, typ byte) error {
	if err := h.note(pageDictionary); err != nil {
		return err
	}
	return r.Fields("dictionary_page_header", typ, map[int16]*int32{1: &h.values, 2: &h.encoding}, nil)
}

func (h *pageHeader) dataHeaderV2(r *thrift.Reader, typ byte) error {
	if err := h.note(pageDataV2); err != nil {
		return err
	}
	places := map[int16]*int32{1: &h.values, 2: &h.nulls, 3: &h.rows, 4: &h.encoding, 5: &h.defBytes, 6: &h.repBytes}
	return r.Fields("data_page_header_v2", typ, places, func(id int16, typ byte) {
		if id == 7 { // is_compressed, true where it is absent
			h.plain = typ == thrift.False
		}
	})
}
