package npz

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"regexp"
	"strconv"
	"strings"

	"clearance/dataset/table"
)

// This file reads and writes the header of the NPY format (NumPy Enhancement
// Proposal 1; versions 2.0 and 3.0 of numpy.lib.format differ in the width of
// the header length and in its encoding).
//
// A library (sbinet/npyio) was considered: it decodes whole arrays by
// reflection, does not stream columns side by side, takes the sizes of a header
// at their word, and writes only what is in memory. The format is a dictionary
// of three keys in front of raw numbers, so the project reads it itself.

const magic = "\x93NUMPY"

// maxNPYHeader bounds the text of a header. numpy refuses more than 10,000 bytes.
const maxNPYHeader = 10000

// Header describes an array in C order.
type Header struct {
	Type  table.Type
	order binary.ByteOrder
	Shape []int64
	runes int64 // of a text
	bytes int64 // length of the header, magic included

	any   bool   // whether types that no column has are read, too
	descr string // of the type, as the header has it
	item  int64  // bytes of a value of such a type
}

// count is the number of values.
func (h *Header) count() int64 {
	n := int64(1)
	for _, d := range h.Shape {
		n *= d
	}
	return n
}

// Size is the number of bytes behind the header.
func (h *Header) Size() int64 {
	if h.Type == table.Text {
		return h.runes * int64(h.Type.Size())
	}
	return h.count() * h.itemSize()
}

// size is the number of bytes of a value.
func (h *Header) itemSize() int64 {
	if h.Type == table.Other {
		return h.item
	}
	return int64(h.Type.Size())
}

// ShapeString is the shape as error messages give it.
func (h *Header) ShapeString() string {
	s := make([]string, len(h.Shape))
	for i, d := range h.Shape {
		s[i] = strconv.FormatInt(d, 10)
	}
	return "[" + strings.Join(s, ",") + "]"
}

var npyTypes = map[string]table.Type{
	"i4": table.Int32, "i8": table.Int64, "f4": table.Float32, "f8": table.Float64, "u1": table.Uint8,
	"u2": table.Uint16,
}

// readHeader reads the header in front of the data. Types that no column has are an error, unless anyType is set.
func readHeader(r io.Reader, anyType bool) (Header, error) {
	h := Header{any: anyType}
	var fixed [12]byte
	if _, err := io.ReadFull(r, fixed[:8]); err != nil {
		return h, headerError(err)
	}
	if string(fixed[:6]) != magic {
		return h, errors.New("not an NPY array (wrong magic)")
	}
	h.bytes = 8
	var length int
	switch fixed[6] {
	case 1:
		if _, err := io.ReadFull(r, fixed[8:10]); err != nil {
			return h, headerError(err)
		}
		length, h.bytes = int(binary.LittleEndian.Uint16(fixed[8:])), 10
	case 2, 3:
		if _, err := io.ReadFull(r, fixed[8:12]); err != nil {
			return h, headerError(err)
		}
		n := binary.LittleEndian.Uint32(fixed[8:])
		length, h.bytes = int(min(n, maxNPYHeader+1)), 12
	default:
		return h, fmt.Errorf("NPY version %d.%d, want 1.0, 2.0 or 3.0", fixed[6], fixed[7])
	}
	if length > maxNPYHeader {
		return h, fmt.Errorf("NPY header longer than %d bytes", maxNPYHeader)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(r, text); err != nil {
		return h, headerError(err)
	}
	h.bytes += int64(length)
	return h, h.parse(string(text))
}

func headerError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("truncated NPY header")
	}
	return err
}

// parse reads the dictionary {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4)}.
func (h *Header) parse(text string) error {
	p := literal{text: text}
	var descr string
	var seen [3]bool
	p.expect("{")
	for p.err == nil && !p.accept("}") {
		key := p.str()
		p.expect(":")
		if p.err != nil {
			break
		}
		i := map[string]int{"descr": 0, "fortran_order": 1, "shape": 2}
		k, ok := i[key]
		if !ok || seen[k] {
			return fmt.Errorf("NPY header: unexpected key %q", key)
		}
		seen[k] = true
		switch k {
		case 0:
			if p.peek() == '[' {
				return errors.New("NPY header: structured dtype, want plain numbers")
			}
			descr = p.str()
		case 1:
			if p.accept("True") {
				return errors.New("array is in Fortran order, want C order: save numpy.ascontiguousarray(x)")
			}
			p.expect("False")
		case 2:
			h.Shape = p.tuple()
		}
		if !p.accept(",") {
			p.expect("}")
			break
		}
	}
	if p.err == nil && strings.TrimSpace(p.text) != "" {
		p.fail("the end")
	}
	if p.err != nil {
		return p.err
	}
	if seen != [3]bool{true, true, true} {
		return errors.New("NPY header: wants the keys descr, fortran_order and shape")
	}
	if err := h.setType(descr); err != nil {
		return err
	}
	n := uint64(h.itemSize())
	zero := false
	for _, d := range h.Shape {
		zero = zero || d == 0
	}
	for _, d := range h.Shape {
		hi, lo := bits.Mul64(n, uint64(d))
		if hi != 0 || lo > 1<<62 {
			if zero {
				return nil
			}
			return fmt.Errorf("NPY header: shape %s is larger than any file", h.ShapeString())
		}
		n = lo
	}
	return nil
}

// maxText bounds the text of an array that holds one.
const maxText = 1 << 16

func (h *Header) setType(descr string) error {
	h.descr = descr
	if digits, ok := strings.CutPrefix(descr, "<U"); ok && len(h.Shape) == 0 {
		n, err := strconv.ParseUint(digits, 10, 32)
		if err != nil || n > maxText {
			return fmt.Errorf("dtype %q: want a text of at most %d characters", descr, maxText)
		}
		h.Type, h.order, h.runes = table.Text, binary.LittleEndian, int64(n)
		return nil
	}
	t, ok := table.Type(0), false
	if len(descr) == 3 {
		t, ok = npyTypes[descr[1:]]
	}
	if ok {
		switch {
		case descr[0] == '<' || descr[0] == '|' && t.Size() == 1:
			h.Type, h.order = t, binary.LittleEndian
			return nil
		case descr[0] == '>':
			h.Type, h.order = t, binary.BigEndian
			return nil
		}
	}
	if h.any {
		h.Type = table.Other
		return h.setItem(descr)
	}
	return fmt.Errorf("dtype %q is not supported, want int32, int64, float32, float64, uint8 or uint16", descr)
}

// itemTypes matches the types whose values are bytes that can be copied: booleans, numbers, texts, times and raw bytes.
var itemTypes = regexp.MustCompile(`^[<>|=]([biufcSUVmM])([0-9]{1,6})(\[[0-9a-zA-Z]+\])?$`)

// setItem sets the size of a value of a type that no column has.
func (h *Header) setItem(descr string) error {
	m := itemTypes.FindStringSubmatch(descr)
	if m == nil {
		return fmt.Errorf("dtype %q is not supported: its values cannot be copied as bytes", descr)
	}
	h.item, _ = strconv.ParseInt(m[2], 10, 64) // of six digits
	if m[1] == "U" {
		h.item *= 4
	}
	return nil
}

// literal scans the few Python literals that a header holds.
type literal struct {
	text string
	err  error
}

func (p *literal) fail(want string) {
	if p.err == nil {
		p.err = fmt.Errorf("NPY header: want %s at %.20q", want, p.text)
	}
}

func (p *literal) peek() byte {
	p.text = strings.TrimLeft(p.text, " \t\n")
	if p.text == "" {
		return 0
	}
	return p.text[0]
}

func (p *literal) accept(s string) bool {
	p.peek()
	if p.err == nil && strings.HasPrefix(p.text, s) {
		p.text = p.text[len(s):]
		return true
	}
	return false
}

func (p *literal) expect(s string) {
	if !p.accept(s) {
		p.fail(s)
	}
}

func (p *literal) str() string {
	q := p.peek()
	if q == '\'' || q == '"' {
		if end := strings.IndexByte(p.text[1:], q); end >= 0 && p.err == nil {
			s := p.text[1 : 1+end]
			p.text = p.text[2+end:]
			return s
		}
	}
	p.fail("a string")
	return ""
}

// tuple reads (), (3,), (3, 4), also with the L that Python 2 put behind long numbers.
func (p *literal) tuple() []int64 {
	p.expect("(")
	shape := []int64{}
	for p.err == nil && !p.accept(")") {
		p.peek()
		end := strings.IndexFunc(p.text, func(r rune) bool { return r < '0' || r > '9' })
		if end <= 0 || len(shape) >= 32 {
			p.fail("a dimension")
			return nil
		}
		d, err := strconv.ParseInt(p.text[:end], 10, 64)
		if err != nil {
			p.fail("a dimension")
			return nil
		}
		shape = append(shape, d)
		p.text = p.text[end:]
		p.accept("L")
		if !p.accept(",") {
			p.expect(")")
			break
		}
	}
	return shape
}

// headerOf is the header of a little-endian array of numbers in C order.
func headerOf(t table.Type, shape []int64) []byte {
	descr := ""
	for name, typ := range npyTypes {
		if typ == t {
			descr = "<" + name
		}
	}
	if t.Size() == 1 {
		descr = "|" + descr[1:]
	}
	return headerBytes(descr, shape)
}

// npyText is an array of no dimension that holds a text, header included.
func npyText(text string) []byte {
	runes := []rune(text)
	b := headerBytes(fmt.Sprintf("<U%d", len(runes)), nil)
	for _, r := range runes {
		b = binary.LittleEndian.AppendUint32(b, uint32(r))
	}
	return b
}

// headerBytes is a header of version 1.0, padded so that the data begins at a multiple of 64
// bytes as numpy does.
func headerBytes(descr string, shape []int64) []byte {
	dims := make([]string, len(shape))
	for i, d := range shape {
		dims[i] = strconv.FormatInt(d, 10)
	}
	tuple := strings.Join(dims, ", ")
	if len(shape) == 1 {
		tuple += ","
	}
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, tuple)
	total := (10 + len(text) + 1 + 63) / 64 * 64
	var b bytes.Buffer
	b.WriteString(magic + "\x01\x00")
	b.Write(binary.LittleEndian.AppendUint16(nil, uint16(total-10)))
	b.WriteString(text)
	b.WriteString(strings.Repeat(" ", total-11-len(text)))
	b.WriteByte('\n')
	return b.Bytes()
}
