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
//	  {"name": "mug", "mesh": "mug_parts.obj", "tolerance": 0.01}
//	]}
//
// A part names a shape of the file, or gives its index. Position (metres) and rotation (a quaternion w, x, y, z) are
// optional and place the shape in the frame of the body. The groups of a mesh file are the parts of one body. They must
// be convex or consist of convex components, see [mesh.ConvexParts]: to what rounding by the format of the file
// explains, or to a tolerance relative to their size. They follow the shapes of the file in the library, and bodies of
// the same mesh share them. Without the field bodies each shape is a
// body. Bodies may have physics besides, see [ReadScene].
func ReadBodies(path string) (*batch.Bodies, error) {
	s, err := ReadScene(path)
	return s.Bodies, err
}

// WriteBodies writes a library file with a list of bodies, also of those that are shapes alone, that [ReadBodies] reads
// back: shapes, names and positions bit for bit, and rotations normalized once more, which may change their last bits.
func WriteBodies(path string, b *batch.Bodies) error { return WriteScene(path, b, BodyPairs{}) }

// bodyParts is a library with all of its bodies listed.
func bodyParts(b *batch.Bodies) (parts, error) {
	p, err := partsOf(b.Library())
	p.hasBodies = true
	for i := range int32(b.Len()) {
		p.bodies = append(p.bodies, batch.Body{Name: b.Name(i), Parts: b.Parts(i)})
	}
	return p, err
}

// encodedBody is a body as a JSON object.
func encodedBody(b *batch.Body, physics *batch.Physics) ([]byte, error) {
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
		if physics != nil && i < len(physics.Parts) {
			part.writeSurface(physics.Parts[i].Friction, physics.Parts[i].Restitution)
		}
		if part.err != nil {
			return nil, part.err
		}
		list[i] = append(part.b, '}')
	}
	o.field("parts", list)
	if physics != nil {
		o.writePhysics(physics)
	}
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
		p.bodies, p.physics = append(p.bodies, b.body), append(p.physics, b.physics)
	}
	return delim(d, ']')
}

// bodyEntry is one body of the list.
type bodyEntry struct {
	of   *parts
	load *meshes
	body batch.Body

	physics batch.Physics
}

func (b *bodyEntry) read(d *json.Decoder) error {
	file, listed, tolerance := "", false, real(mesh.FormatTolerance)
	err := object(d, func(key string) (err error) {
		switch key {
		case "name":
			err = text(d, &b.body.Name)
		case "mesh":
			err = text(d, &file)
		case "tolerance":
			if err = inWords(d.Decode(&tolerance)); err == nil && !(tolerance >= 0 && tolerance <= 1) {
				err = fmt.Errorf("%g, want 0 to 1", float64(tolerance))
			}
		case "parts":
			listed = true
			return b.list(d)
		default:
			var known bool
			if known, err = readPhysics(d, key, &b.physics); !known {
				return fmt.Errorf("unknown field %q, want name, parts, mesh, tolerance, %s", key, physicsFields)
			}
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
		return b.mesh(file, float64(tolerance))
	case tolerance != mesh.FormatTolerance:
		return errors.New("a tolerance, but no mesh")
	case len(b.body.Parts) == 0:
		return errors.New("no parts")
	}
	return nil
}

func (b *bodyEntry) list(d *json.Decoder) error {
	if err := delim(d, '['); err != nil {
		return fmt.Errorf("parts: %w", err)
	}
	stated := false // whether a part states its surface
	for d.More() {
		p, physics, err := b.part(d)
		if err != nil {
			return fmt.Errorf("part %d: %w", len(b.body.Parts), err)
		}
		stated = stated || physics != batch.PartPhysics{}
		b.body.Parts, b.physics.Parts = append(b.body.Parts, p), append(b.physics.Parts, physics)
	}
	if !stated {
		b.physics.Parts = nil
	}
	return delim(d, ']')
}

// part reads one part, and what it states of its surface.
func (b *bodyEntry) part(d *json.Decoder) (p batch.Part, physics batch.PartPhysics, err error) {
	p = batch.Part{Shape: -1, Pose: geom.IdentityPose()}
	err = object(d, func(key string) (err error) {
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
		case "friction":
			err = numberOf(d, &physics.Friction)
		case "restitution":
			err = numberOf(d, &physics.Restitution)
		default:
			return fmt.Errorf("unknown field %q, want shape, position, rotation, friction or restitution", key)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		return nil
	})
	if err == nil && p.Shape < 0 {
		err = errors.New("no shape")
	}
	return p, physics, err
}

// shapeNamed reads the index of a shape, or its name.
func (p *parts) shapeNamed(d *json.Decoder) (int32, error) {
	var raw json.RawMessage
	if err := d.Decode(&raw); err != nil {
		return 0, err
	}
	if p.shapeNames == nil {
		p.shapeNames = newNames(nil, "shape", "shapes")
	}
	p.shapeNames.add(p.names) // bodies that are meshes append to them
	return p.shapeNames.index(raw)
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

// mesh makes the groups of a mesh file the parts of the body, and adds their hulls to the shapes, unless another body
// has.
func (b *bodyEntry) mesh(named string, tolerance float64) error {
	key := meshPart{path: b.load.path(named), tolerance: tolerance}
	if parts, ok := b.load.bodies[key]; ok {
		b.body.Parts = slices.Clone(parts)
		return nil
	}
	file, err := b.load.file(key.path)
	if err != nil {
		return fmt.Errorf("mesh: %w", err)
	}
	if len(file.parts) == 0 {
		return fmt.Errorf("mesh: %s has no groups", named)
	}
	groups, err := mesh.ConvexParts(file.parts, tolerance)
	if err != nil {
		return fmt.Errorf("mesh: %s: %w; write the parts of a convex decomposition as "+
			"groups of an OBJ file, for example with 'batchbench decompose'", named, err)
	}
	for i := range groups {
		g := &groups[i]
		s, err := geom.NewConvex(g.Vertices)
		if err != nil {
			return fmt.Errorf("mesh: group %q of %s: %w", g.Name, named, err)
		}
		b.body.Parts = append(b.body.Parts, batch.Part{Shape: int32(len(b.of.shapes)), Pose: geom.IdentityPose()})
		name := g.Name
		if b.body.Name != "" {
			name = b.body.Name + "/" + g.Name
		}
		b.of.shapes, b.of.names = append(b.of.shapes, s), append(b.of.names, name)
	}
	b.load.bodies[key] = slices.Clone(b.body.Parts)
	return nil
}
