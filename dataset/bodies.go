package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/dataset/output"
	"clearance/geom"
	"clearance/geom/mesh"
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

// BodyPairs are pairs of bodies, A[i] and B[i], that a scene asks about. Stated is false if the file does not list
// them.
type BodyPairs struct {
	A, B   []int32
	Stated bool
}

// Scene is the scene of a library file: bodies, which are its shapes if it lists none, and pairs of bodies.
type Scene struct {
	Bodies *batch.Bodies
	Listed bool // whether the file lists bodies
	Pairs  BodyPairs
	// Physics of each body that the file lists; nil if it lists none.
	Physics []batch.Physics
	// Surfaces of pairs of bodies. The last one that names a pair counts.
	Surfaces []batch.PairPhysics
}

// ReadScene reads the bodies of a library file as [ReadBodies] does, and the pairs of them that are asked about:
//
//	{"version": 1, "shapes": […], "bodies": […], "pairs": [["hammer", "mug"], [0, 2]]}
//
// A pair names its bodies or gives their indices. Files of worlds have pairs of their own, and other readers of a
// library file check these but do not use them. For time steps, bodies may have physics:
//
//	{"name": "hammer", "parts": […], "mass": 0.6, "inertia": [0.01, 0.01, 0.001], "center_of_mass": [0, 0, 0.2],
//	 "friction": 0.5, "restitution": 0.1}
//
// or a density in place of the mass. Parts may state friction and restitution of their own, and the document those of
// pairs of bodies, or of one part of either:
//
//	"surfaces": [{"bodies": ["hammer", "mug"], "parts": [1, null], "friction": 0.2, "restitution": 0}]
//
// The last one that names a pair counts. Inertias have 3 or 6 numbers, see [batch.Physics]. "fixed": true is a body
// that does not move.
func ReadScene(path string) (Scene, error) {
	p, lib, err := readLibrary(path)
	if err != nil {
		return Scene{}, err
	}
	s := Scene{batch.BodiesOfShapes(lib), p.hasBodies, p.pairs, p.physics, p.surfaces}
	if p.hasBodies {
		if s.Bodies, err = batch.NewBodies(lib, p.bodies); err != nil {
			return Scene{}, fmt.Errorf("%s: %w", path, err)
		}
	}
	return s, nil
}

// WriteScene writes bodies as [WriteBodies] does, and pairs of them if they are stated.
func WriteScene(path string, b *batch.Bodies, pairs BodyPairs) error {
	p, err := bodyParts(b)
	if err != nil {
		return fmt.Errorf("dataset: %s: %w", path, err)
	}
	p.pairs = pairs
	return writeShapes(output.Disk{}, path, p)
}

// readPairs reads the list of pairs of the bodies read before.
func (p *parts) readPairs(raw json.RawMessage) error {
	bodies := p.bodyNames()
	d := json.NewDecoder(bytes.NewReader(raw))
	if err := delim(d, '['); err != nil {
		return fmt.Errorf("pairs: %w", err)
	}
	p.pairs.Stated = true
	for d.More() {
		pair, err := bodies.pair(d)
		if err == nil && pair[0] == pair[1] {
			err = errors.New("a body and itself")
		}
		if err != nil {
			return fmt.Errorf("pairs: pair %d: %w", len(p.pairs.A), err)
		}
		p.pairs.A, p.pairs.B = append(p.pairs.A, pair[0]), append(p.pairs.B, pair[1])
	}
	return delim(d, ']')
}

// bodyNames finds the bodies of the file.
func (p *parts) bodyNames() *names {
	list := p.names // each shape is a body
	if p.hasBodies {
		list = make([]string, len(p.bodies))
		for i := range p.bodies {
			list[i] = p.bodies[i].Name
		}
	}
	return newNames(list, "body", "bodies")
}

// pair reads a list of two entries.
func (n *names) pair(d *json.Decoder) (pair [2]int32, err error) {
	var list []json.RawMessage
	if err = inWords(d.Decode(&list)); err == nil && len(list) != len(pair) {
		err = fmt.Errorf("%d bodies, want %d", len(list), len(pair))
	}
	for i := range pair {
		if err == nil {
			pair[i], err = n.index(list[i])
		}
	}
	return pair, err
}

// names finds entries of a list, which a document names or gives the index of.
type names struct {
	what, plural string
	count        int
	of           map[string][]int32
}

func newNames(list []string, what, plural string) *names {
	n := &names{what: what, plural: plural, of: map[string][]int32{}}
	n.add(list)
	return n
}

// add makes known those of a list that were appended to it.
func (n *names) add(list []string) {
	for ; n.count < len(list); n.count++ {
		n.of[list[n.count]] = append(n.of[list[n.count]], int32(n.count))
	}
}

// index returns the index that a value gives or names.
func (n *names) index(raw json.RawMessage) (int32, error) {
	var name string
	if json.Unmarshal(raw, &name) == nil && string(raw) != "null" {
		switch found := n.of[name]; {
		case len(found) == 0 || name == "":
			return 0, fmt.Errorf("no %s is named %q", n.what, name)
		case len(found) > 1:
			return 0, fmt.Errorf("several %s are named %q; give the index of one of them", n.plural, name)
		default:
			return found[0], nil
		}
	}
	var i int32
	if json.Unmarshal(raw, &i) != nil || string(raw) == "null" || i < 0 || int(i) >= n.count {
		return 0, fmt.Errorf("%s, want the name of a %s or an index in [0, %d)", raw, n.what, n.count)
	}
	return i, nil
}

// Names of the fields of a body that are its physics.
const physicsFields = "mass, density, inertia, center_of_mass, friction, restitution or fixed"

// readPhysics reads a field of a body for time steps. known is false if the key is none of them.
func readPhysics(d *json.Decoder, key string, p *batch.Physics) (known bool, err error) {
	switch key {
	case "mass":
		err = numberOf(d, &p.Mass)
	case "density":
		err = numberOf(d, &p.Density)
	case "friction":
		err = numberOf(d, &p.Friction)
	case "restitution":
		err = numberOf(d, &p.Restitution)
	case "center_of_mass":
		p.Center, err = numbersOf(d, 3)
	case "inertia":
		p.Inertia, err = inertiaOf(d)
	case "fixed":
		err = inWords(d.Decode(&p.Fixed))
	default:
		return false, nil
	}
	return true, err
}

// numberOf reads a number that is stated.
func numberOf(d *json.Decoder, to **float64) error {
	var x real
	err := inWords(d.Decode(&x))
	v := float64(x)
	*to = &v
	return err
}

// inertiaOf reads an inertia: 6 numbers, or the 3 moments about the axes of the body.
func inertiaOf(d *json.Decoder) ([]float64, error) {
	var list []real
	if err := d.Decode(&list); err != nil {
		return nil, inWords(err)
	}
	if len(list) != 3 && len(list) != 6 {
		return nil, fmt.Errorf("%d numbers, want 6 (xx, yy, zz, xy, xz, yz) or the first 3", len(list))
	}
	v := make([]float64, 6)
	for i, x := range list {
		v[i] = float64(x)
	}
	return v, nil
}

// writePhysics adds what is stated to a body.
func (o *objectWriter) writePhysics(p *batch.Physics) {
	if p.Fixed {
		o.field("fixed", true)
	}
	o.stated("mass", p.Mass)
	o.stated("density", p.Density)
	o.writeSurface(p.Friction, p.Restitution)
	if p.Inertia != nil {
		o.field("inertia", p.Inertia)
	}
	if p.Center != nil {
		o.field("center_of_mass", p.Center)
	}
}

func (o *objectWriter) stated(name string, v *float64) {
	if v != nil {
		o.field(name, *v)
	}
}

// writeSurface adds what is stated of a surface.
func (o *objectWriter) writeSurface(friction, restitution *float64) {
	o.stated("friction", friction)
	o.stated("restitution", restitution)
}

// readSurfaces reads the list of the surfaces of pairs of the bodies read before.
func (p *parts) readSurfaces(raw json.RawMessage) error {
	bodies := p.bodyNames()
	d := json.NewDecoder(bytes.NewReader(raw))
	if err := delim(d, '['); err != nil {
		return fmt.Errorf("surfaces: %w", err)
	}
	for d.More() {
		s := batch.PairPhysics{A: -1, PartA: -1, PartB: -1}
		err := object(d, func(key string) (err error) {
			switch key {
			case "bodies":
				var pair [2]int32
				if pair, err = bodies.pair(d); err == nil {
					s.A, s.B = pair[0], pair[1]
				}
			case "parts":
				var list []*int32
				if err = inWords(d.Decode(&list)); err == nil && len(list) != 2 {
					err = fmt.Errorf("%d parts, want 2; null stands for all", len(list))
				}
				for i, to := range [...]*int32{&s.PartA, &s.PartB} {
					if err == nil && list[i] != nil {
						if *to = *list[i]; *to < 0 {
							err = fmt.Errorf("part %d; parts count from 0", *to)
						}
					}
				}
			case "friction":
				err = numberOf(d, &s.Friction)
			case "restitution":
				err = numberOf(d, &s.Restitution)
			default:
				return fmt.Errorf("unknown field %q, want bodies, parts, friction or restitution", key)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
			return nil
		})
		switch {
		case err != nil:
		case s.A < 0:
			err = errors.New("no bodies")
		case s.Friction == nil && s.Restitution == nil:
			err = errors.New("neither friction nor restitution")
		}
		if err != nil {
			return fmt.Errorf("surface %d: %w", len(p.surfaces), err)
		}
		p.surfaces = append(p.surfaces, s)
	}
	return delim(d, ']')
}

// encodedSurface is the surface of a pair as a JSON object.
func encodedSurface(s *batch.PairPhysics) ([]byte, error) {
	o := objectWriter{b: []byte("{")}
	o.field("bodies", []int32{s.A, s.B})
	if s.PartA >= 0 || s.PartB >= 0 {
		list := make([]*int32, 2)
		for i, part := range []int32{s.PartA, s.PartB} {
			if part >= 0 {
				list[i] = &part
			}
		}
		o.field("parts", list)
	}
	o.writeSurface(s.Friction, s.Restitution)
	return append(o.b, '}'), o.err
}

// WritePhysics writes bodies as [WriteScene] does, with the physics of each and the surfaces of pairs, which
// [ReadScene] reads back.
func WritePhysics(path string, b *batch.Bodies, pairs BodyPairs, physics []batch.Physics,
	surfaces []batch.PairPhysics) error {
	p, err := bodyParts(b)
	if err != nil {
		return fmt.Errorf("dataset: %s: %w", path, err)
	}
	if physics != nil && len(physics) != b.Len() {
		return fmt.Errorf("dataset: %s: physics of %d bodies, want %d", path, len(physics), b.Len())
	}
	p.pairs, p.physics, p.surfaces = pairs, physics, surfaces
	return writeShapes(output.Disk{}, path, p)
}
