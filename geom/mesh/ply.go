package mesh

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"clearance/internal/poll"

	"gonum.org/v1/gonum/spatial/r3"
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
