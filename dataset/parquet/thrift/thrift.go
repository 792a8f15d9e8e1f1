// Package thrift walks Thrift's compact protocol, in which Parquet stores its metadata, without allocating: lengths and
// depth are checked against the bytes that are there before a library that takes them at their word sees the same
// bytes.
package thrift

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Types of the compact protocol.
const (
	Stop   = 0
	True   = 1
	False  = 2
	Byte   = 3
	I16    = 4
	I32    = 5
	I64    = 6
	Double = 7
	Binary = 8
	List   = 9
	Set    = 10
	Map    = 11
	Struct = 12
)

// MaxDepth bounds how deep structures nest; the deepest path of Parquet's metadata has 8.
const MaxDepth = 24

var errEnds = errors.New("ends in the middle of a value")

// Reader is a position in the bytes of a structure.
type Reader struct {
	Data  []byte
	At    int
	Depth int
	// What a decoder allocates for what has been walked: structures and elements of lists.
	Structs, Elements int64
}

// Left is the number of bytes left.
func (r *Reader) Left() int { return len(r.Data) - r.At }

// Byte reads a byte.
func (r *Reader) Byte() (byte, error) {
	if r.Left() < 1 {
		return 0, errEnds
	}
	r.At++
	return r.Data[r.At-1], nil
}

func (r *Reader) uvarint() (uint64, error) {
	v, n := binary.Uvarint(r.Data[r.At:])
	switch {
	case n == 0:
		return 0, errEnds
	case n < 0:
		return 0, errors.New("an integer of more than 64 bits")
	}
	r.At += n
	return v, nil
}

// Varint reads an integer of any type.
func (r *Reader) Varint() (int64, error) {
	u, err := r.uvarint()
	return int64(u>>1) ^ -int64(u&1), err
}

// I32 reads an integer that must fit 32 bits.
func (r *Reader) I32() (int32, error) {
	v, err := r.Varint()
	if err == nil && (v < math.MinInt32 || v > math.MaxInt32) {
		err = fmt.Errorf("%d is no int32", v)
	}
	return int32(v), err
}

// Length reads the length of a binary or a collection whose elements take a byte at least.
func (r *Reader) Length() (int, error) {
	n, err := r.uvarint()
	if err == nil && n > uint64(r.Left()) {
		err = fmt.Errorf("a length of %d, but %d bytes are left", n, r.Left())
	}
	return int(n), err
}

// Structure reads a structure and calls field for each of its fields, which reads the value.
func (r *Reader) Structure(field func(id int16, typ byte) error) error {
	if r.Depth++; r.Depth > MaxDepth {
		return fmt.Errorf("structures nested more than %d deep", MaxDepth)
	}
	r.Structs++
	id := int16(0)
	for {
		head, err := r.Byte()
		if err != nil {
			return err
		}
		typ := head & 15
		if typ == Stop {
			r.Depth--
			return nil
		}
		if delta := head >> 4; delta != 0 {
			id += int16(delta)
		} else {
			v, err := r.Varint()
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

// List reads a list or set and calls element for each of its elements.
func (r *Reader) List(element func(i int, typ byte) error) error {
	head, err := r.Byte()
	if err != nil {
		return err
	}
	n := int(head >> 4)
	if n == 15 {
		if n, err = r.Length(); err != nil {
			return err
		}
	}
	if n > r.Left() {
		return fmt.Errorf("a list of %d elements, but %d bytes are left", n, r.Left())
	}
	if r.Depth++; r.Depth > MaxDepth {
		return fmt.Errorf("lists nested more than %d deep", MaxDepth)
	}
	r.Elements += int64(n)
	for i := range n {
		if err := element(i, head&15); err != nil {
			return err
		}
	}
	r.Depth--
	return nil
}

// Skip reads a value of a type; truth values of fields have none.
func (r *Reader) Skip(typ byte) error {
	var err error
	switch typ {
	case True, False:
	case Byte:
		_, err = r.Byte()
	case I16, I32, I64:
		_, err = r.Varint()
	case Double:
		if r.Left() < 8 {
			return errEnds
		}
		r.At += 8
	case Binary:
		var n int
		if n, err = r.Length(); err == nil {
			r.At += n
			r.Elements += int64(n)
		}
	case List, Set:
		return r.List(func(_ int, typ byte) error { return r.skipElement(typ) })
	case Map:
		return r.skipMap()
	case Struct:
		return r.Structure(func(_ int16, typ byte) error { return r.Skip(typ) })
	default:
		return fmt.Errorf("unknown type %d", typ)
	}
	return err
}

// skipElement reads an element of a collection, where a truth value takes a byte.
func (r *Reader) skipElement(typ byte) error {
	if typ == True || typ == False {
		typ = Byte
	}
	return r.Skip(typ)
}

func (r *Reader) skipMap() error {
	n, err := r.Length()
	if err != nil || n == 0 {
		return err
	}
	types, err := r.Byte()
	if err != nil {
		return err
	}
	if r.Depth++; r.Depth > MaxDepth {
		return fmt.Errorf("maps nested more than %d deep", MaxDepth)
	}
	r.Elements += 2 * int64(n)
	for range n {
		if err := r.skipElement(types >> 4); err != nil {
			return err
		}
		if err := r.skipElement(types & 15); err != nil {
			return err
		}
	}
	r.Depth--
	return nil
}

// Want fails unless a field has the type that its structure gives it.
func Want(name string, typ, expected byte) error {
	if typ != expected {
		return fmt.Errorf("%s has type %d, want %d", name, typ, expected)
	}
	return nil
}

// Integer reads a field that is an i32 or an enumeration.
func (r *Reader) Integer(name string, typ byte, v *int32) error {
	if err := Want(name, typ, I32); err != nil {
		return err
	}
	var err error
	if *v, err = r.I32(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// Fields reads a structure whose fields of the given numbers are integers.
func (r *Reader) Fields(name string, typ byte, places map[int16]*int32, flag func(id int16, typ byte)) error {
	if err := Want(name, typ, Struct); err != nil {
		return err
	}
	return r.Structure(func(id int16, typ byte) error {
		if p := places[id]; p != nil {
			return r.Integer(fmt.Sprintf("%s, field %d", name, id), typ, p)
		}
		if flag != nil {
			flag(id, typ)
		}
		return r.Skip(typ)
	})
}
