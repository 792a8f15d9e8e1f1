package mesh

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/internal/poll"
)

// ReadPLY reads a PLY file: x, y, z of the element vertex and the list vertex_indices
// (or vertex_index) of the element face. Other elements and properties are read
// over. In an ASCII file every record stands on a line of its own.
func ReadPLY(r io.Reader, name string) ([]Part, error) {
	return readPLY(&source{Reader: r, name: name})
}

func readPLY(s *source) ([]Part, error) {
	name := s.name
	data, err := s.readAll()
	if err != nil {
		return nil, err
	}
	t := &text{name: name, rest: data, poll: &s.poll}
	h, err := readPLYHeader(t)
	if err != nil {
		return nil, err
	}
	p := plyReader{part: Part{Name: baseName(name)}, poll: &s.poll}
	switch h.format {
	case plyASCII:
		p.src = &plyText{text: t}
	case plyLittle:
		p.src = &plyBinary{name: name, data: t.rest, offset: int64(len(data) - len(t.rest)), order: binary.LittleEndian}
	case plyBig:
		p.src = &plyBinary{name: name, data: t.rest, offset: int64(len(data) - len(t.rest)), order: binary.BigEndian}
	}
	for i := range h.elements {
		if e := &h.elements[i]; e.name == "vertex" {
			p.total = e.count
		}
	}
	if p.total == 0 {
		return nil, wholeFile(name, "no vertices (element vertex)")
	}
	for i := range h.elements {
		e := &h.elements[i]
		least := e.minimum(h.format == plyASCII)
		// The last value of an ASCII file needs no separator.
		if e.count > 0 && (least == 0 || e.count > (p.src.remaining()+1)/least) {
			return nil, &Error{File: name, Line: e.line, Offset: -1, Msg: fmt.Sprintf(
				"element %s has %d records of at least %d bytes, but %d bytes are left: truncated", e.name, e.count,
				least, p.src.remaining())}
		}
		if err := p.element(e); err != nil {
			return nil, err
		}
	}
	if err := p.src.end(); err != nil {
		return nil, err
	}
	return withRounding([]Part{p.part}, &t.digits), nil
}

type plyReader struct {
	src   plySource
	part  Part
	total int64 // vertices that the header announces
	poll  *poll.Poll
}

// element reads all records of an element.
func (p *plyReader) element(e *plyElement) error {
	x, y, z := e.find("x"), e.find("y"), e.find("z")
	list := e.find("vertex_indices", "vertex_index")
	isVertex, isFace := e.name == "vertex", e.name == "face"
	switch {
	case isVertex &&
		(x < 0 || y < 0 || z < 0 || e.properties[x].count|e.properties[y].count|e.properties[z].count != 0):
		return p.src.errorf("element vertex has no scalar properties x, y, z")
	case isFace && e.count > 0 && (list < 0 || e.properties[list].count == 0 || !e.properties[list].typ.integer()):
		return p.src.errorf("element face has no list vertex_indices of integers")
	}
	if isVertex {
		p.part.Vertices = make([]r3.Vec, 0, e.count)
	}
	for i := range e.count {
		if p.poll.Stopped() {
			return context.Canceled
		}
		if err := p.src.record(e, i); err != nil {
			return err
		}
		var v r3.Vec
		for k, property := range e.properties {
			if property.count != 0 {
				face, err := p.list(property, isFace && k == list)
				if err != nil {
					return err
				}
				if isFace && k == list {
					p.part.Faces = append(p.part.Faces, face)
				}
				continue
			}
			val, err := p.src.value(property.typ, property.name)
			if err != nil {
				return err
			}
			if isVertex && (k == x || k == y || k == z) && (math.IsNaN(val.f) || math.IsInf(val.f, 0)) {
				return p.src.errorf("%s of vertex %d is %g", property.name, i, val.f)
			}
			switch k {
			case x:
				v.X = val.f
			case y:
				v.Y = val.f
			case z:
				v.Z = val.f
			}
		}
		if isVertex {
			p.part.Vertices = append(p.part.Vertices, v)
		}
		if err := p.src.recordEnd(e); err != nil {
			return err
		}
	}
	return nil
}

// list reads a list and returns it as the corners of a face if it is one.
func (p *plyReader) list(property plyProperty, isFace bool) ([]int32, error) {
	n, err := p.src.value(property.count, "length of "+property.name)
	if err != nil {
		return nil, err
	}
	if n.i < 0 || n.i > p.src.remaining() { // a value takes a byte at least
		return nil, p.src.errorf("list %s of %d values, but %d bytes are left", property.name, n.i, p.src.remaining())
	}
	if !isFace {
		for range n.i {
			if _, err := p.src.value(property.typ, property.name); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
	if n.i < 3 {
		return nil, p.src.errorf("face has %d corners, want 3 or more", n.i)
	}
	face := make([]int32, n.i)
	for i := range face {
		k, err := p.src.value(property.typ, property.name)
		if err != nil {
			return nil, err
		}
		if k.i < 0 || k.i >= p.total {
			return nil, p.src.errorf("face uses vertex %d, but the vertices are 0 to %d", k.i, p.total-1)
		}
		face[i] = int32(k.i)
	}
	return face, nil
}

// plyType is a scalar type of PLY.
type plyType uint8

const (
	plyInt8 plyType = iota + 1
	plyUint8
	plyInt16
	plyUint16
	plyInt32
	plyUint32
	plyFloat32
	plyFloat64
)

var plyTypes = map[string]plyType{
	"char": plyInt8, "uchar": plyUint8, "short": plyInt16, "ushort": plyUint16,
	"int": plyInt32, "uint": plyUint32, "float": plyFloat32, "double": plyFloat64,
	"int8": plyInt8, "uint8": plyUint8, "int16": plyInt16, "uint16": plyUint16,
	"int32": plyInt32, "uint32": plyUint32, "float32": plyFloat32, "float64": plyFloat64,
}

// size returns the bytes of a binary value.
func (t plyType) size() int64 {
	return [...]int64{plyInt8: 1, plyUint8: 1, plyInt16: 2, plyUint16: 2,
		plyInt32: 4, plyUint32: 4, plyFloat32: 4, plyFloat64: 8}[t]
}

func (t plyType) integer() bool { return t < plyFloat32 }

// plyProperty is a scalar, or a list if count is set.
type plyProperty struct {
	name  string
	typ   plyType
	count plyType
}

type plyElement struct {
	name       string
	count      int64
	line       int // of the element statement
	properties []plyProperty
	declared   map[string]bool // names of the properties
}

// minimum returns the fewest bytes that a record takes: the values and empty lists of
// a binary file, one digit and one separator a value in an ASCII file.
func (e *plyElement) minimum(ascii bool) (bytes int64) {
	for _, p := range e.properties {
		switch {
		case ascii:
			bytes += 2
		case p.count != 0:
			bytes += p.count.size()
		default:
			bytes += p.typ.size()
		}
	}
	return bytes
}

// find returns the place of a property, -1 if there is none.
func (e *plyElement) find(names ...string) int {
	for i, p := range e.properties {
		for _, name := range names {
			if p.name == name {
				return i
			}
		}
	}
	return -1
}

type plyFormat uint8

const (
	plyASCII plyFormat = iota + 1
	plyLittle
	plyBig
)

// plyHeader is the header, and the text reader at its end.
type plyHeader struct {
	format   plyFormat
	elements []plyElement
	declared map[string]bool // names of the elements
}

// readPLYHeader reads up to end_header and leaves t at the first byte after it.
func readPLYHeader(t *text) (h plyHeader, err error) {
	if !bytes.HasPrefix(t.rest, []byte("ply")) {
		return h, &Error{File: t.name, Line: 1, Offset: -1, Msg: "the file does not start with ply"}
	}
	t.next(0, false)
	if len(t.fields) != 1 || string(t.fields[0]) != "ply" {
		return h, t.errorf("the first line is not ply")
	}
	for t.next(0, false) {
		switch keyword := string(t.fields[0]); keyword {
		case "comment", "obj_info":
		case "format":
			err = h.setFormat(t)
		case "element":
			err = h.addElement(t)
		case "property":
			err = h.addProperty(t)
		case "end_header":
			if h.format == 0 {
				return h, t.errorf("the header has no format line")
			}
			return h, nil
		default:
			err = t.errorf("unknown header line %q", short(t.fields[0]))
		}
		if err != nil {
			return h, err
		}
	}
	return h, t.errorf("the file ends within the header")
}

func (h *plyHeader) setFormat(t *text) error {
	switch t.joined(1) {
	case "ascii 1.0":
		h.format = plyASCII
	case "binary_little_endian 1.0":
		h.format = plyLittle
	case "binary_big_endian 1.0":
		h.format = plyBig
	default:
		return t.errorf("format %q, want ascii, binary_little_endian or binary_big_endian 1.0",
			short([]byte(t.joined(1))))
	}
	return nil
}

func (h *plyHeader) addElement(t *text) error {
	if len(t.fields) != 3 {
		return t.errorf("want: element name count")
	}
	count, err := strconv.ParseInt(string(t.fields[2]), 10, 64)
	if err != nil || count < 0 || count > math.MaxInt32 {
		return t.errorf("%q is not a count of 0 to %d", short(t.fields[2]), math.MaxInt32)
	}
	name := string(t.fields[1])
	if h.declared[name] {
		return t.errorf("element %s is declared twice", short(t.fields[1]))
	}
	if h.declared == nil {
		h.declared = map[string]bool{}
	}
	h.declared[name] = true
	h.elements = append(h.elements, plyElement{name: name, count: count, line: t.line, declared: map[string]bool{}})
	return nil
}

func (h *plyHeader) addProperty(t *text) error {
	if len(h.elements) == 0 {
		return t.errorf("property before the first element")
	}
	e := &h.elements[len(h.elements)-1]
	var p plyProperty
	switch {
	case len(t.fields) == 3:
		p = plyProperty{name: string(t.fields[2]), typ: plyTypes[string(t.fields[1])]}
	case len(t.fields) == 5 && string(t.fields[1]) == "list":
		p = plyProperty{name: string(t.fields[4]), typ: plyTypes[string(t.fields[3])],
			count: plyTypes[string(t.fields[2])]}
		if !p.count.integer() || p.count == 0 {
			return t.errorf("%q is not an integer type", short(t.fields[2]))
		}
	default:
		return t.errorf("want: property type name, or: property list count-type type name")
	}
	if p.typ == 0 {
		return t.errorf("unknown property type in %q", short([]byte(t.joined(0))))
	}
	if e.declared[p.name] {
		return t.errorf("property %s of %s is declared twice", short([]byte(p.name)), short([]byte(e.name)))
	}
	e.declared[p.name] = true
	e.properties = append(e.properties, p)
	return nil
}

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
