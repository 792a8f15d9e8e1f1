package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"clearance/batch"
	"clearance/geom"
	"clearance/geom/mesh"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

// ReadBodies reads the bodies of a library file, see [ReadLibrary]:
//
//	{"version": 1, "shapes": […], "bodies": [
//	  {"name": "hammer", "parts": [
//	    {"shape": "handle", "position": [0, 0, 0.1], "rotation": [1, 0, 0, 0]}, {"shape": 3}]},
//	  {"name": "mug", "mesh": "mug_parts.obj"}
//	]}
//
// A part names a shape of the file, or gives its index. Position (metres) and rotation (a quaternion w, x, y, z) are
// optional and place the shape in the frame of the body. The groups of a mesh file, which must be convex, are the
// parts of one body; they follow the shapes of the file in the library. Without the field bodies each shape is a
// body.
func ReadBodies(path string) (*batch.Bodies, error) {
	p, lib, err := readLibrary(path)
	if err != nil {
		return nil, err
	}
	if !p.hasBodies {
		return batch.BodiesOfShapes(lib), nil
	}
	b, err := batch.NewBodies(lib, p.bodies)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return b, nil
}

// WriteBodies writes a library file with a list of bodies, also of those that are shapes alone, that [ReadBodies] reads
// back: shapes, names and positions bit for bit, and rotations normalized once more, which may change their last bits.
func WriteBodies(path string, b *batch.Bodies) error {
	p, err := partsOf(b.Library())
	if err != nil {
		return fmt.Errorf("dataset: %s: %w", path, err)
	}
	p.hasBodies = true
	for i := range int32(b.Len()) {
		p.bodies = append(p.bodies, batch.Body{Name: b.Name(i), Parts: b.Parts(i)})
	}
	return writeShapes(osFS{}, path, p)
}

// encodedBody is a body as a JSON object.
func encodedBody(b *batch.Body) ([]byte, error) {
	o := objectWriter{b: []byte("{")}
	if b.Name != "" {
		o.field("name", b.Name)
	}
	list := make([]json.RawMessage, len(b.Parts))
	for i, p := range b.Parts {
		part := objectWriter{b: []byte("{")}
		v, q := p.Pose.Position, p.Pose.Rotation
		part.field("shape", p.Shape)
		part.field("position", []float64{v.X, v.Y, v.Z})
		part.field("rotation", []float64{q.Real, q.Imag, q.Jmag, q.Kmag})
		if part.err != nil {
			return nil, part.err
		}
		list[i] = append(part.b, '}')
	}
	o.field("parts", list)
	return append(o.b, '}'), o.err
}

// readBodies reads the list of bodies, whose shapes are those read before.
func (p *parts) readBodies(raw json.RawMessage, load *meshes) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	if err := delim(d, '['); err != nil {
		return fmt.Errorf("bodies: %w", err)
	}
	for d.More() {
		b := bodyEntry{of: p, load: load}
		if err := b.read(d); err != nil {
			at := fmt.Sprintf("body %d", len(p.bodies))
			if b.body.Name != "" {
				at += fmt.Sprintf(" (%q)", b.body.Name)
			}
			return fmt.Errorf("%s: %w", at, err)
		}
		p.bodies = append(p.bodies, b.body)
	}
	return delim(d, ']')
}

// bodyEntry is one body of the list.
type bodyEntry struct {
	of   *parts
	load *meshes
	body batch.Body
}

func (b *bodyEntry) read(d *json.Decoder) error {
	file, listed := "", false
	err := object(d, func(key string) (err error) {
		switch key {
		case "name":
			err = text(d, &b.body.Name)
		case "mesh":
			err = text(d, &file)
		case "parts":
			listed = true
			return b.list(d)
		default:
			return fmt.Errorf("unknown field %q, want name, parts or mesh", key)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case listed && file != "":
		return errors.New("parts and a mesh, want one or the other")
	case file != "":
		return b.mesh(file)
	case len(b.body.Parts) == 0:
		return errors.New("no parts")
	}
	return nil
}

func (b *bodyEntry) list(d *json.Decoder) error {
	if err := delim(d, '['); err != nil {
		return fmt.Errorf("parts: %w", err)
	}
	for d.More() {
		p, err := b.part(d)
		if err != nil {
			return fmt.Errorf("part %d: %w", len(b.body.Parts), err)
		}
		b.body.Parts = append(b.body.Parts, p)
	}
	return delim(d, ']')
}

// part reads one part.
func (b *bodyEntry) part(d *json.Decoder) (batch.Part, error) {
	p := batch.Part{Shape: -1, Pose: geom.IdentityPose()}
	err := object(d, func(key string) (err error) {
		switch key {
		case "shape":
			p.Shape, err = b.of.shapeNamed(d)
		case "position":
			var v []float64
			if v, err = numbersOf(d, 3); err == nil {
				p.Pose.Position = r3.Vec{X: v[0], Y: v[1], Z: v[2]}
			}
		case "rotation":
			var v []float64
			if v, err = numbersOf(d, 4); err == nil {
				p.Pose.Rotation = quat.Number{Real: v[0], Imag: v[1], Jmag: v[2], Kmag: v[3]}
			}
		default:
			return fmt.Errorf("unknown field %q, want shape, position or rotation", key)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		return nil
	})
	if err == nil && p.Shape < 0 {
		err = errors.New("no shape")
	}
	return p, err
}

// shapeNamed reads the index of a shape, or its name.
func (p *parts) shapeNamed(d *json.Decoder) (int32, error) {
	var raw json.RawMessage
	if err := d.Decode(&raw); err != nil {
		return 0, err
	}
	var name string
	if json.Unmarshal(raw, &name) == nil && string(raw) != "null" {
		i := slices.Index(p.names, name)
		switch {
		case i < 0 || name == "":
			return 0, fmt.Errorf("no shape is named %q", name)
		case slices.Contains(p.names[i+1:], name):
			return 0, fmt.Errorf("several shapes are named %q; give the index of one of them", name)
		}
		return int32(i), nil
	}
	var i int32
	if json.Unmarshal(raw, &i) != nil || string(raw) == "null" || i < 0 || int(i) >= len(p.shapes) {
		return 0, fmt.Errorf("%s, want the name of a shape or an index in [0, %d)", raw, len(p.shapes))
	}
	return i, nil
}

// numbersOf reads a list of n numbers.
func numbersOf(d *json.Decoder, n int) ([]float64, error) {
	var list []real
	if err := d.Decode(&list); err != nil {
		return nil, inWords(err)
	}
	if len(list) != n {
		return nil, fmt.Errorf("%d numbers, want %d", len(list), n)
	}
	v := make([]float64, n)
	for i, x := range list {
		v[i] = float64(x)
	}
	return v, nil
}

// mesh makes the groups of a mesh file the parts of the body, and adds their hulls to the shapes.
func (b *bodyEntry) mesh(file string) error {
	path := b.load.path(file)
	groups, err := b.load.parts(path)
	if err != nil {
		return fmt.Errorf("mesh: %w", err)
	}
	if len(groups) == 0 {
		return fmt.Errorf("mesh: %s has no groups", file)
	}
	for i := range groups {
		g := &groups[i]
		if err := g.CheckConvex(mesh.DefaultConvexTolerance); err != nil {
			return fmt.Errorf("mesh: group %q of %s: %w; write the parts of a convex decomposition as "+
				"groups of an OBJ file, for example with 'batchbench decompose'", g.Name, file, err)
		}
		s, err := geom.NewConvex(g.Vertices)
		if err != nil {
			return fmt.Errorf("mesh: group %q of %s: %w", g.Name, file, err)
		}
		b.body.Parts = append(b.body.Parts, batch.Part{Shape: int32(len(b.of.shapes)), Pose: geom.IdentityPose()})
		name := g.Name
		if b.body.Name != "" {
			name = b.body.Name + "/" + g.Name
		}
		b.of.shapes, b.of.names = append(b.of.shapes, s), append(b.of.names, name)
	}
	return nil
}
