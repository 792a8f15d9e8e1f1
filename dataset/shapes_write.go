package dataset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"clearance/geom"
)

// WriteShapes writes a shape library that ReadShapes reads back bit for bit. names may be nil.
// Hulls are written with all their points, also those read from meshes.
func WriteShapes(path string, shapes []geom.Shape, names []string) error {
	return writeShapes(osFS{}, path, shapes, names)
}

func writeShapes(fs fileSystem, path string, shapes []geom.Shape, names []string) error {
	if names != nil && len(names) != len(shapes) {
		return fmt.Errorf("dataset: %s: %d names for %d shapes", path, len(names), len(shapes))
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\"version\": %d, \"shapes\": [", shapesVersion)
	for i, s := range shapes {
		name := ""
		if names != nil {
			name = names[i]
		}
		line, err := encoded(s, name)
		if err != nil {
			return fmt.Errorf("dataset: %s: shape %d: %w", path, i, err)
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n  ")
		b.Write(line)
	}
	b.WriteString("\n]}\n")
	return writeAtomic(fs, path, b.Bytes())
}

// encoded is a shape as a JSON object: its kind, its name and margin if it has them, and the parameters of its
// kind in their order.
func encoded(s geom.Shape, name string) ([]byte, error) {
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
		switch {
		case p.List:
			o.field(p.Name, slices.Collect(slices.Chunk(values[i], p.Width)))
		case p.Width == 1:
			o.field(p.Name, values[i][0])
		default:
			o.field(p.Name, values[i])
		}
	}
	if margin != 0 {
		o.field("margin", margin)
	}
	return append(o.b, '}'), o.err
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
