package dataset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"clearance/batch"
	"clearance/geom"
)

// WriteShapes writes a shape library that ReadShapes reads back bit for bit. names may be nil.
// Hulls are written with all their points, also those read from meshes.
func WriteShapes(path string, shapes []geom.Shape, names []string) error {
	if names != nil && len(names) != len(shapes) {
		return fmt.Errorf("dataset: %s: %d names for %d shapes", path, len(names), len(shapes))
	}
	return writeShapes(osFS{}, path, parts{shapes: shapes, names: names})
}

// WriteLibrary writes a library that [ReadLibrary] reads back bit for bit, with the attributes that are
// not the default. Where a kind has a parameter of that name, as smooth hulls have, others cannot be written.
func WriteLibrary(path string, l *batch.Library) error {
	p, err := partsOf(l)
	if err != nil {
		return fmt.Errorf("dataset: %s: %w", path, err)
	}
	return writeShapes(osFS{}, path, p)
}

func partsOf(l *batch.Library) (p parts, err error) {
	for i := range int32(l.Len()) {
		s := l.Shape(i)
		p.shapes, p.names = append(p.shapes, s), append(p.names, l.Name(i))
		for a := range geom.AttributeCount {
			v, ok := l.Stated(a, i)
			if ok && a.ParameterOf(s.Kind()) {
				return p, fmt.Errorf("shape %d: %v: the %s is not the parameter of that name, which files state", i,
					s.Kind(), a)
			}
			if ok {
				p.attributes.Set(a, i, v)
			}
		}
	}
	return p, nil
}

func writeShapes(fs fileSystem, path string, p parts) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\"version\": %d, \"shapes\": [", shapesVersion)
	for i, s := range p.shapes {
		name := ""
		if p.names != nil {
			name = p.names[i]
		}
		line, err := encoded(s, name, p.attributes.Of(int32(i)))
		if err != nil {
			return fmt.Errorf("dataset: %s: shape %d: %w", path, i, err)
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n  ")
		b.Write(line)
	}
	b.WriteString("\n]")
	if p.hasBodies {
		b.WriteString(", \"bodies\": [")
		for i := range p.bodies {
			var physics *batch.Physics
			if p.physics != nil {
				physics = &p.physics[i]
			}
			line, err := encodedBody(&p.bodies[i], physics)
			if err != nil {
				return fmt.Errorf("dataset: %s: body %d: %w", path, i, err)
			}
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString("\n  ")
			b.Write(line)
		}
		b.WriteString("\n]")
	}
	if p.pairs.Stated {
		b.WriteString(", \"pairs\": [")
		for i := range p.pairs.A {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "[%d, %d]", p.pairs.A[i], p.pairs.B[i])
		}
		b.WriteString("]")
	}
	for i := range p.surfaces {
		line, err := encodedSurface(&p.surfaces[i])
		if err != nil {
			return fmt.Errorf("dataset: %s: surface %d: %w", path, i, err)
		}
		if i == 0 {
			b.WriteString(", \"surfaces\": [")
		} else {
			b.WriteByte(',')
		}
		b.WriteString("\n  ")
		b.Write(line)
	}
	if len(p.surfaces) > 0 {
		b.WriteString("\n]")
	}
	b.WriteString("}\n")
	return writeAtomic(fs, path, b.Bytes())
}

// encoded is a shape as a JSON object: its kind, its name, margin and attributes if it states them, and the parameters
// of its kind in their order.
func encoded(s geom.Shape, name string, stated [geom.AttributeCount][]float64) ([]byte, error) {
	if s == nil {
		return nil, fmt.Errorf("shape is nil")
	}
	if err := s.Validate(); err != nil {
		return nil, err
	}
	inner, margin := geom.WithoutMargin(s)
	values, ok := geom.Values(inner)
	if !ok {
		return nil, fmt.Errorf("%T has no form in a file", inner)
	}
	o := objectWriter{b: []byte("{")}
	o.field("kind", s.Kind().String())
	if name != "" {
		o.field("name", name)
	}
	for i, p := range s.Kind().Params() {
		if p.List {
			o.field(p.Name, slices.Collect(slices.Chunk(values[i], p.Width)))
		} else {
			o.field(p.Name, numberOrList(values[i]))
		}
	}
	if margin != 0 {
		o.field("margin", margin)
	}
	for a, v := range stated {
		if v != nil {
			o.field(geom.Attribute(a).String(), numberOrList(v))
		}
	}
	return append(o.b, '}'), o.err
}

// numberOrList is a value in JSON: a number, or a list if there are several.
func numberOrList(v []float64) any {
	if len(v) == 1 {
		return v[0]
	}
	return v
}

// objectWriter is a JSON object under construction.
type objectWriter struct {
	b   []byte
	err error // the first one
}

func (o *objectWriter) field(name string, v any) {
	value, err := json.Marshal(v)
	if err != nil && o.err == nil {
		o.err = fmt.Errorf("%s: %w", name, err)
	}
	if len(o.b) > 1 {
		o.b = append(o.b, ',')
	}
	key, _ := json.Marshal(name) // a string has a form
	o.b = append(append(append(o.b, key...), ':'), value...)
}
