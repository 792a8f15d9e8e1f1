package mesh

import (
	"bytes"
	"io"
	"strconv"

	"gonum.org/v1/gonum/spatial/r3"
)

// ReadOBJ reads a Wavefront OBJ file; name stands in errors, and its base names a
// part without a name.
//
// Every o statement starts a part, and so does every g statement with a name that is
// new within the object; the part of a group within an object is named
// "object/group". Vertex indices count through the whole file, negative ones back
// from the last vertex. The vertices of a part are those that its faces use, in
// file order; a part without faces has the vertices declared in it, unless a face
// elsewhere uses one of them (then they were only listed there). Parts that come to
// have no vertices are dropped. Lines, points, curves and surfaces are skipped.
func ReadOBJ(r io.Reader, name string) ([]Part, error) {
	return readOBJ(&source{Reader: r, name: name})
}

func readOBJ(s *source) ([]Part, error) {
	name := s.name
	data, err := s.readAll()
	if err != nil {
		return nil, err
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // a byte order mark, as some editors write it
	o := objReader{text: text{name: name, rest: data, poll: &s.poll}}
	o.begin(baseName(name), "")
	for o.next('#', true) {
		if err := o.statement(); err != nil {
			return nil, err
		}
	}
	if o.maxIndex > len(o.vertices) {
		o.line = o.maxLine
		return nil, o.errorf("face uses vertex %d, but the file has %d", o.maxIndex, len(o.vertices))
	}
	if len(o.vertices) == 0 {
		return nil, wholeFile(name, "no vertices (v statements)")
	}
	return withRounding(o.parts(), &o.digits), nil
}

// objGroup is a part while the file is read. Its indices count as in the file.
type objGroup struct {
	name     string
	declared []int32
	faces    [][]int32
}

type objReader struct {
	text
	vertices []r3.Vec
	groups   []*objGroup
	current  *objGroup
	object   string
	byName   map[string]*objGroup // groups of the object
	maxIndex int                  // largest 1-based vertex index used by a face
	maxLine  int                  // and its line
}

// begin makes the group of an object current, new unless the object has it already.
func (o *objReader) begin(object, group string) {
	name := object
	switch {
	case group == "":
		o.byName = map[string]*objGroup{}
	case object == "":
		name = group
	default:
		name = object + "/" + group
	}
	if g := o.byName[group]; g != nil {
		o.current = g
		return
	}
	o.current = &objGroup{name: name}
	o.groups = append(o.groups, o.current)
	o.byName[group] = o.current
}

func (o *objReader) statement() error {
	switch keyword := string(o.fields[0]); keyword {
	case "v":
		return o.vertex()
	case "f", "fo": // fo is the obsolete form
		return o.face()
	case "o":
		if o.object = o.joined(1); o.object == "" {
			o.object = "object"
		}
		o.begin(o.object, "")
	case "g":
		group := o.joined(1)
		if group == "" {
			group = "default"
		}
		o.begin(o.object, group)
	case "vt", "vn", "vp", "p", "l", "s", "mg", "usemtl", "mtllib", "usemap", "maplib",
		"cstype", "deg", "bmat", "step", "curv", "curv2", "surf", "parm", "trim", "hole", "scrv",
		"sp", "end", "con", "bevel", "c_interp", "d_interp", "lod", "shadow_obj", "trace_obj",
		"ctech", "stech", "call", "csh", "bsp", "bzp", "cdc", "cdp", "res":
	default:
		return o.errorf("unknown statement %q", short(o.fields[0]))
	}
	return nil
}

// vertex reads "v x y z", perhaps followed by a weight, a colour, or both.
func (o *objReader) vertex() error {
	switch len(o.fields) {
	case 4, 5, 7, 8:
	default:
		return o.errorf("v has %d numbers, want x y z", len(o.fields)-1)
	}
	v, err := o.vec(1)
	if err != nil {
		return err
	}
	o.current.declared = append(o.current.declared, int32(len(o.vertices)))
	o.vertices = append(o.vertices, v)
	return nil
}

// face reads "f" with corners of the forms v, v/vt, v//vn and v/vt/vn.
func (o *objReader) face() error {
	if len(o.fields) < 4 {
		return o.errorf("face has %d corners, want 3 or more", len(o.fields)-1)
	}
	face := make([]int32, 0, len(o.fields)-1)
	for _, field := range o.fields[1:] {
		index, rest, more := bytes.Cut(field, []byte{'/'})
		k, err := strconv.ParseInt(string(index), 10, 32)
		if err != nil || k == 0 {
			return o.errorf("%q is not a vertex index (1, 2, … or -1, -2, …)", short(field))
		}
		for i := 0; more && i < 2; i++ {
			index, rest, more = bytes.Cut(rest, []byte{'/'})
			if _, err := strconv.ParseInt(string(index), 10, 32); err != nil && len(index) > 0 {
				return o.errorf("%q is not of the form v, v/vt, v//vn or v/vt/vn", short(field))
			}
		}
		if more {
			return o.errorf("%q is not of the form v, v/vt, v//vn or v/vt/vn", short(field))
		}
		if k < 0 {
			if k += int64(len(o.vertices)) + 1; k < 1 {
				return o.errorf("face uses vertex %s, but there are %d so far", index0(field), len(o.vertices))
			}
		}
		if int(k) > o.maxIndex { // vertices may follow, so it is checked at the end
			o.maxIndex, o.maxLine = int(k), o.line
		}
		face = append(face, int32(k-1))
	}
	o.current.faces = append(o.current.faces, face)
	return nil
}

// index0 returns the vertex index of a corner as written.
func index0(field []byte) string {
	index, _, _ := bytes.Cut(field, []byte{'/'})
	return short(index)
}

// parts renumbers the vertices of every group.
func (o *objReader) parts() []Part {
	used := make([]bool, len(o.vertices))
	for _, g := range o.groups {
		for _, face := range g.faces {
			for _, v := range face {
				used[v] = true
			}
		}
	}
	local := make([]int32, len(o.vertices)) // index in the part + 1 while member holds it
	var parts []Part
	for _, g := range o.groups {
		members := g.declared
		if len(g.faces) > 0 {
			members = usedBy(g.faces)
		} else if anyUsed(g.declared, used) {
			continue
		}
		if len(members) == 0 {
			continue
		}
		part := Part{Name: g.name, Vertices: make([]r3.Vec, len(members)), Faces: g.faces}
		for i, v := range members {
			local[v] = int32(i)
			part.Vertices[i] = o.vertices[v]
		}
		for _, face := range part.Faces {
			for i, v := range face {
				face[i] = local[v]
			}
		}
		parts = append(parts, part)
	}
	return parts
}
