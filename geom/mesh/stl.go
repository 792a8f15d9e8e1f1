package mesh

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strings"

	"clearance/internal/poll"

	"gonum.org/v1/gonum/spatial/r3"
)

const (
	stlHeader = 84 // 80 free bytes and the number of triangles
	stlRecord = 50 // normal, three corners as float32, two bytes of attributes
)

// ReadSTL reads an STL file. It is binary if its length is the one that a binary
// header gives, whatever its first word, and if it does not start with "solid". An
// ASCII file may hold several solids, each a part. Corners with equal
// coordinates become one vertex; normals are skipped, as writers fill them with
// anything.
func ReadSTL(r io.Reader, name string) ([]Part, error) {
	return readSTL(&source{Reader: r, name: name})
}

func readSTL(s *source) ([]Part, error) {
	name := s.name
	data, err := s.readAll()
	if err != nil {
		return nil, err
	}
	start := bytes.TrimLeft(data, " \t\r\n")
	ascii := len(start) >= 5 && bytes.EqualFold(start[:5], []byte("solid"))
	if !ascii || len(data) >= stlHeader && int64(len(data)) == stlLength(data) {
		return readBinarySTL(data, name, &s.poll)
	}
	return readASCIISTL(data, name, &s.poll)
}

// stlLength returns the length that the header of a binary file gives.
func stlLength(data []byte) int64 {
	return stlHeader + stlRecord*int64(binary.LittleEndian.Uint32(data[80:]))
}

func readBinarySTL(data []byte, name string, p *poll.Poll) ([]Part, error) {
	if len(data) < stlHeader {
		return nil, &Error{File: name, Offset: int64(len(data)),
			Msg: fmt.Sprintf("the file ends within the header of %d bytes", stlHeader)}
	}
	count := binary.LittleEndian.Uint32(data[80:])
	if want := stlLength(data); int64(len(data)) != want {
		return nil, &Error{File: name, Offset: 80, Msg: fmt.Sprintf(
			"%d triangles make a file of %d bytes, but it has %d: truncated, or not an STL file", count, want,
			len(data))}
	}
	if count == 0 {
		return nil, &Error{File: name, Offset: 80, Msg: "no triangles"}
	}
	w := newWelder(baseName(name))
	for at := stlHeader; at < len(data) && !p.Stopped(); at += stlRecord {
		var c [9]float64
		for i := range c {
			offset := at + 12 + 4*i
			c[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(data[offset:])))
			if math.IsNaN(c[i]) || math.IsInf(c[i], 0) {
				return nil, &Error{File: name, Offset: int64(offset), Msg: fmt.Sprintf(
					"%c of corner %d of triangle %d is %g", "xyz"[i%3], i/3+1, (at-stlHeader)/stlRecord+1, c[i])}
			}
		}
		w.add([3]r3.Vec{{X: c[0], Y: c[1], Z: c[2]}, {X: c[3], Y: c[4], Z: c[5]}, {X: c[6], Y: c[7], Z: c[8]}})
	}
	return withRounding([]Part{w.part}, new(digits)), nil
}

// readASCIISTL follows the grammar line by line:
//
//	solid name
//	  facet normal x y z
//	    outer loop
//	      vertex x y z   (three times)
//	    endloop
//	  endfacet
//	endsolid name
func readASCIISTL(data []byte, name string, p *poll.Poll) ([]Part, error) {
	t := &text{name: name, rest: data, poll: p}
	var parts []Part
	for t.next(0, false) {
		if t.keyword() != "solid" {
			return nil, t.errorf("%q where solid was expected", short(t.fields[0]))
		}
		w := newWelder(t.joined(1))
		if w.part.Name == "" {
			w.part.Name = baseName(name)
		}
		if err := readSolid(t, w); err != nil {
			return nil, err
		}
		if len(w.part.Faces) == 0 {
			return nil, t.errorf("solid %q has no facets", w.part.Name)
		}
		parts = append(parts, w.part)
	}
	return withRounding(parts, &t.digits), nil
}

// readSolid reads the facets up to endsolid.
func readSolid(t *text, w *welder) error {
	for {
		if !t.next(0, false) {
			return t.errorf("the file ends where facet or endsolid was expected")
		}
		switch t.keyword() {
		case "endsolid":
			return nil
		case "facet":
		default:
			return t.errorf("%q where facet or endsolid was expected", short(t.fields[0]))
		}
		if err := t.expect("outer", 2); err != nil {
			return err
		}
		var corners [3]r3.Vec
		for i := range corners {
			err := t.expect("vertex", 4)
			if err != nil {
				return err
			}
			if corners[i], err = t.vec(1); err != nil {
				return err
			}
		}
		if err := t.expect("endloop", 1); err != nil {
			return err
		}
		if err := t.expect("endfacet", 1); err != nil {
			return err
		}
		w.add(corners)
	}
}

// keyword returns the first field in lower case.
func (t *text) keyword() string { return strings.ToLower(string(t.fields[0])) }

// expect moves to the next line, which must start with keyword and have n fields.
func (t *text) expect(keyword string, n int) error {
	if !t.next(0, false) {
		return t.errorf("the file ends where %s was expected", keyword)
	}
	if t.keyword() != keyword {
		return t.errorf("%q where %s was expected", short(t.fields[0]), keyword)
	}
	if len(t.fields) != n {
		return t.errorf("%s is followed by %d words, want %d", keyword, len(t.fields)-1, n-1)
	}
	return nil
}
