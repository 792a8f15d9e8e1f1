package dataset

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// This file walks Thrift's compact protocol, in which Parquet stores its metadata, without
// allocating: lengths and depth are checked against the bytes that are there before a library
// that takes them at their word sees the same bytes.

// Types of the compact protocol.
const (
	thriftStop   = 0
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftI16    = 4
	thriftI32    = 5
	thriftI64    = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12
)

// maxThriftDepth bounds how deep structures nest; the deepest path of Parquet's metadata has 8.
const maxThriftDepth = 24

var errThriftEnds = errors.New("ends in the middle of a value")

// thriftReader is a position in the bytes of a structure.
type thriftReader struct {
	data  []byte
	at    int
	depth int
	// What a decoder allocates for what has been walked: structures and elements of lists.
	structs, elements int64
}

func (r *thriftReader) left() int { return len(r.data) - r.at }

func (r *thriftReader) byte() (byte, error) {
	if r.left() < 1 {
		return 0, errThriftEnds
	}
	r.at++
	return r.data[r.at-1], nil
}

func (r *thriftReader) uvarint() (uint64, error) {
	v, n := binary.Uvarint(r.data[r.at:])
	switch {
	case n == 0:
		return 0, errThriftEnds
	case n < 0:
		return 0, errors.New("an integer of more than 64 bits")
	}
	r.at += n
	return v, nil
}

func (r *thriftReader) varint() (int64, error) {
	u, err := r.uvarint()
	return int64(u>>1) ^ -int64(u&1), err
}

// i32 reads an integer that must fit 32 bits.
func (r *thriftReader) i32() (int32, error) {
	v, err := r.varint()
	if err == nil && (v < math.MinInt32 || v > math.MaxInt32) {
		err = fmt.Errorf("%d is no int32", v)
	}
	return int32(v), err
}

// length reads the length of a binary or a collection whose elements take a byte at least.
func (r *thriftReader) length() (int, error) {
	n, err := r.uvarint()
	if err == nil && n > uint64(r.left()) {
		err = fmt.Errorf("a length of %d, but %d bytes are left", n, r.left())
	}
	return int(n), err
}

// structure reads a structure and calls field for each of its fields, which reads the value.
func (r *thriftReader) structure(field func(id int16, typ byte) error) error {
	if r.depth++; r.depth > maxThriftDepth {
		return fmt.Errorf("structures nested more than %d deep", maxThriftDepth)
	}
	r.structs++
	id := int16(0)
	for {
		head, err := r.byte()
		if err != nil {
			return err
		}
		typ := head & 15
		if typ == thriftStop {
			r.depth--
			return nil
		}
		if delta := head >> 4; delta != 0 {
			id += int16(delta)
		} else {
			v, err := r.varint()
			if err != nil {
				return err
			}
			id = int16(v)
		}
		if err := field(id, typ); err != nil {
			return err
		}
	}
}

// list reads a list or set and calls element for each of its elements.
func (r *thriftReader) list(element func(i int, typ byte) error) error {
	head, err := r.byte()
	if err != nil {
		return err
	}
	n := int(head >> 4)
	if n == 15 {
		if n, err = r.length(); err != nil {
			return err
		}
	}
	if n > r.left() {
		return fmt.Errorf("a list of %d elements, but %d bytes are left", n, r.left())
	}
	if r.depth++; r.depth > maxThriftDepth {
		return fmt.Errorf("lists nested more than %d deep", maxThriftDepth)
	}
	r.elements += int64(n)
	for i := range n {
		if err := element(i, head&15); err != nil {
			return err
		}
	}
	r.depth--
	return nil
}

// skip reads a value of a type; truth values of fields have none.
func (r *thriftReader) skip(typ byte) error {
	var err error
	switch typ {
	case thriftTrue, thriftFalse:
	case thriftByte:
		_, err = r.byte()
	case thriftI16, thriftI32, thriftI64:
		_, err = r.varint()
	case thriftDouble:
		if r.left() < 8 {
			return errThriftEnds
		}
		r.at += 8
	case thriftBinary:
		var n int
		if n, err = r.length(); err == nil {
			r.at += n
			r.elements += int64(n)
		}
	case thriftList, thriftSet:
		return r.list(func(_ int, typ byte) error { return r.skipElement(typ) })
	case thriftMap:
		return r.skipMap()
	case thriftStruct:
		return r.structure(func(_ int16, typ byte) error { return r.skip(typ) })
	default:
		return fmt.Errorf("unknown type %d", typ)
	}
	return err
}

// skipElement reads an element of a collection, where a truth value takes a byte.
func (r *thriftReader) skipElement(typ byte) error {
	if typ == thriftTrue || typ == thriftFalse {
		typ = thriftByte
	}
	return r.skip(typ)
}

func (r *thriftReader) skipMap() error {
	n, err := r.length()
	if err != nil || n == 0 {
		return err
	}
	types, err := r.byte()
	if err != nil {
		return err
	}
	if r.depth++; r.depth > maxThriftDepth {
		return fmt.Errorf("maps nested more than %d deep", maxThriftDepth)
	}
	r.elements += 2 * int64(n)
	for range n {
		if err := r.skipElement(types >> 4); err != nil {
			return err
		}
		if err := r.skipElement(types & 15); err != nil {
			return err
		}
	}
	r.depth--
	return nil
}

// want fails unless a field has the type that its structure gives it.
func want(name string, typ, expected byte) error {
	if typ != expected {
		return fmt.Errorf("%s has type %d, want %d", name, typ, expected)
	}
	return nil
}
