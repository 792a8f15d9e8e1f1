package mesh

import (
	"bytes"
	"math"
	"strconv"
)

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

// plyHeader is what stands before the data, and the text reader at its end.
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
