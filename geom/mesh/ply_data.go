package mesh

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
)

// plySource gives the values of the data section one by one.
type plySource interface {
	record(e *plyElement, i int64) error            // start of record i
	value(t plyType, what string) (plyValue, error) // next value
	recordEnd(e *plyElement) error
	remaining() int64 // bytes
	end() error       // reports what stands after the last record
	errorf(format string, args ...any) *Error
}

// plyValue is a value in the two forms that callers want.
type plyValue struct {
	f float64
	i int64 // for integer types
}

// plyText reads the ASCII form.
type plyText struct {
	*text
	at int // next field of the line
}

func (s *plyText) record(e *plyElement, i int64) error {
	if !s.next(0, false) {
		return s.errorf("the file ends at record %d of the %d of element %s", i, e.count, e.name)
	}
	s.at = 0
	return nil
}

func (s *plyText) recordEnd(e *plyElement) error {
	if s.at < len(s.fields) {
		return s.errorf("%d values too many for element %s", len(s.fields)-s.at, e.name)
	}
	return nil
}

func (s *plyText) value(t plyType, what string) (v plyValue, err error) {
	if s.at >= len(s.fields) {
		return v, s.errorf("the line ends where %s was expected", what)
	}
	field := s.fields[s.at]
	s.at++
	if t.integer() {
		bits := int(8 * t.size())
		if t == plyUint8 || t == plyUint16 || t == plyUint32 {
			var u uint64
			u, err = strconv.ParseUint(string(field), 10, bits)
			v.i = int64(u)
		} else {
			v.i, err = strconv.ParseInt(string(field), 10, bits)
		}
		v.f = float64(v.i)
		if err != nil {
			return v, s.errorf("%s %q is not an integer of %d bits", what, short(field), bits)
		}
		return v, nil
	}
	v.f, err = strconv.ParseFloat(string(field), 64)
	if err != nil && !math.IsInf(v.f, 0) { // out of range is caught as not finite where it matters
		return v, s.errorf("%s %q is not a number", what, short(field))
	}
	s.digits.note(field)
	return v, nil
}

func (s *plyText) remaining() int64 { return int64(len(s.rest)) + s.left() }

// left counts the bytes of the fields that are still to come on the line.
func (s *plyText) left() (n int64) {
	if s.at >= len(s.fields) {
		return 0
	}
	for _, f := range s.fields[s.at:] {
		n += int64(len(f))
	}
	return n
}

func (s *plyText) end() error {
	if s.next(0, false) {
		return s.errorf("%q after the last record", short(s.fields[0]))
	}
	return nil
}

// plyBinary reads the binary forms.
type plyBinary struct {
	name   string
	data   []byte // what is left
	offset int64  // of data in the file
	order  binary.ByteOrder
}

func (s *plyBinary) record(*plyElement, int64) error { return nil }
func (s *plyBinary) recordEnd(*plyElement) error     { return nil }
func (s *plyBinary) remaining() int64                { return int64(len(s.data)) }

func (s *plyBinary) value(t plyType, what string) (v plyValue, err error) {
	n := t.size()
	if int64(len(s.data)) < n {
		return v, s.errorf("the file ends where %s was expected", what)
	}
	b := s.data[:n]
	switch t {
	case plyInt8:
		v.i = int64(int8(b[0]))
	case plyUint8:
		v.i = int64(b[0])
	case plyInt16:
		v.i = int64(int16(s.order.Uint16(b)))
	case plyUint16:
		v.i = int64(s.order.Uint16(b))
	case plyInt32:
		v.i = int64(int32(s.order.Uint32(b)))
	case plyUint32:
		v.i = int64(s.order.Uint32(b))
	case plyFloat32:
		v.f = float64(math.Float32frombits(s.order.Uint32(b)))
	case plyFloat64:
		v.f = math.Float64frombits(s.order.Uint64(b))
	}
	if t.integer() {
		v.f = float64(v.i)
	}
	s.data = s.data[n:]
	s.offset += n
	return v, nil
}

func (s *plyBinary) end() error {
	if len(s.data) > 0 {
		return s.errorf("%d bytes after the last record", len(s.data))
	}
	return nil
}

func (s *plyBinary) errorf(format string, args ...any) *Error {
	return &Error{File: s.name, Offset: s.offset, Msg: fmt.Sprintf(format, args...)}
}
