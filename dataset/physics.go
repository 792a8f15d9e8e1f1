package dataset

import (
	"encoding/json"
	"fmt"

	"clearance/batch"
)

// Names of the fields of a body that are its physics.
const physicsFields = "mass, density, inertia, center_of_mass, friction, restitution or fixed"

// readPhysics reads a field of a body for time steps. known is false if the key is none of them.
func readPhysics(d *json.Decoder, key string, p *batch.Physics) (known bool, err error) {
	number := func(to **float64) error {
		var x real
		err := inWords(d.Decode(&x))
		v := float64(x)
		*to = &v
		return err
	}
	switch key {
	case "mass":
		err = number(&p.Mass)
	case "density":
		err = number(&p.Density)
	case "friction":
		err = number(&p.Friction)
	case "restitution":
		err = number(&p.Restitution)
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
	for _, f := range [...]struct {
		name string
		v    *float64
	}{{"mass", p.Mass}, {"density", p.Density}, {"friction", p.Friction}, {"restitution", p.Restitution}} {
		if f.v != nil {
			o.field(f.name, *f.v)
		}
	}
	if p.Inertia != nil {
		o.field("inertia", p.Inertia)
	}
	if p.Center != nil {
		o.field("center_of_mass", p.Center)
	}
}

// WritePhysics writes bodies as [WriteScene] does, with the physics of each, which [ReadScene] reads back.
func WritePhysics(path string, b *batch.Bodies, pairs BodyPairs, physics []batch.Physics) error {
	p, err := bodyParts(b)
	if err != nil {
		return fmt.Errorf("dataset: %s: %w", path, err)
	}
	if len(physics) != b.Len() {
		return fmt.Errorf("dataset: %s: physics of %d bodies, want %d", path, len(physics), b.Len())
	}
	p.pairs, p.physics = pairs, physics
	return writeShapes(osFS{}, path, p)
}
