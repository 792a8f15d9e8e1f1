package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"clearance/batch"
)

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
	return writeShapes(osFS{}, path, p)
}
