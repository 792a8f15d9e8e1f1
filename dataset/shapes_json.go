package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"clearance/batch"
	"clearance/dataset/output"
	"clearance/geom"
)

// This file reads JSON more strictly than encoding/json does by itself: a key
// that occurs twice, a null and a list of another length are errors.

// lines is a document that knows where its lines begin, as far as it has been read.
type lines struct {
	r      io.Reader
	length int64
	ends   []int64 // offsets of the line breaks
}

func (l *lines) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	for i, c := range p[:n] {
		if c == '\n' {
			l.ends = append(l.ends, l.length+int64(i))
		}
	}
	l.length += int64(n)
	return n, err
}

// at names the place of an offset.
func (l *lines) at(offset int64) string {
	k, _ := slices.BinarySearch(l.ends, offset)
	begin := int64(0)
	if k > 0 {
		begin = l.ends[k-1] + 1
	}
	return fmt.Sprintf("line %d, column %d", k+1, offset-begin+1)
}

// misplaced is a token where another kind of value is wanted.
type misplaced struct {
	got  json.Token
	want json.Delim
}

func (m misplaced) Error() string {
	if m.got == nil {
		return fmt.Sprintf("null, want %q", m.want)
	}
	return fmt.Sprintf("%v, want %q", m.got, m.want)
}

// located adds where JSON itself is at fault.
func located(d *json.Decoder, l *lines, err error) error {
	var syntax *json.SyntaxError
	var token misplaced
	switch {
	case errors.As(err, &syntax):
		const start = "invalid character '"
		text, hint := syntax.Error(), ""
		if strings.HasPrefix(text, start) && strings.ContainsAny(text[len(start):len(start)+1], "NIni") ||
			strings.Contains(text, "in literal null") {
			hint = "; JSON knows neither NaN nor Infinity"
		}
		return fmt.Errorf("%w (%s%s)", err, l.at(d.InputOffset()), hint)
	case errors.As(err, &token):
		return fmt.Errorf("%w (%s)", err, l.at(d.InputOffset()-1))
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("ends in the middle, in line %d (truncated?)", len(l.ends)+1)
	}
	return err
}

// inWords is err without the names of types of Go.
func inWords(err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case !errors.As(err, &wrong):
		return err
	case wrong.Type.Kind() == reflect.Slice:
		return fmt.Errorf("%s, want a list", wrong.Value)
	case wrong.Type.Kind() == reflect.String:
		return fmt.Errorf("%s, want a string", wrong.Value)
	case strings.HasPrefix(wrong.Value, "number "):
		return fmt.Errorf("%s is out of the range of float64", wrong.Value)
	}
	return fmt.Errorf("%s, want a number", wrong.Value)
}

// object reads an object and calls field behind each key, which must differ.
func object(d *json.Decoder, field func(key string) error) error {
	if err := delim(d, '{'); err != nil {
		return err
	}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return err
		}
		key, _ := t.(string)
		if seen[key] {
			return fmt.Errorf("field %q occurs twice", key)
		}
		seen[key] = true
		if err := field(key); err != nil {
			return err
		}
	}
	return delim(d, '}')
}

func delim(d *json.Decoder, want json.Delim) error {
	t, err := d.Token()
	if err != nil {
		return err
	}
	if t != want {
		return misplaced{t, want}
	}
	return nil
}

// get decodes a parameter.
func (e *entry) get(name string, v any) error {
	raw := e.values[name]
	err := json.Unmarshal(raw, v)
	if err == nil && string(raw) == "null" {
		err = errors.New("null, want a value")
	}
	if err != nil {
		return fmt.Errorf("%s: %s: %w", e.kind, name, inWords(err))
	}
	return nil
}

// value decodes a parameter; entries of a list stand one after the other. One that is left out is zero.
func (e *entry) value(p *geom.Param) (numbers []float64, err error) {
	if _, ok := e.values[p.Name]; !ok {
		return make([]float64, p.Width), nil
	}
	var rows [][]real
	switch {
	case p.List:
		err = e.get(p.Name, &rows)
	case p.Width == 1:
		var v real
		err = e.get(p.Name, &v)
		rows = [][]real{{v}}
	default:
		rows = make([][]real, 1)
		err = e.get(p.Name, &rows[0])
	}
	if err != nil {
		return nil, err
	}
	for i, row := range rows {
		name := p.Name
		if p.List {
			name = fmt.Sprintf("%s[%d]", p.Name, i)
		}
		if len(row) != p.Width {
			return nil, fmt.Errorf("%s: %s has %d numbers, want %d", e.kind, name, len(row), p.Width)
		}
		for _, x := range row {
			numbers = append(numbers, float64(x))
		}
	}
	return numbers, nil
}

// real is a number that is neither null nor missing.
type real float64

// UnmarshalJSON refuses null, which encoding/json reads as 0.
func (r *real) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return errors.New("null, want a number")
	}
	return json.Unmarshal(b, (*float64)(r))
}

// text reads a string that is not null.
func text(d *json.Decoder, s *string) error {
	t, err := d.Token()
	if err != nil {
		return err
	}
	v, ok := t.(string)
	if !ok {
		return fmt.Errorf("%v, want a string", t)
	}
	*s = v
	return nil
}

// WriteShapes writes a shape library that ReadShapes reads back bit for bit. names may be nil.
// Hulls are written with all their points, also those read from meshes.
func WriteShapes(path string, shapes []geom.Shape, names []string) error {
	if names != nil && len(names) != len(shapes) {
		return fmt.Errorf("dataset: %s: %d names for %d shapes", path, len(names), len(shapes))
	}
	return writeShapes(output.Disk{}, path, parts{shapes: shapes, names: names})
}

// WriteLibrary writes a library that [ReadLibrary] reads back bit for bit, with the attributes that are
// not the default. Where a kind has a parameter of that name, as smooth hulls have, others cannot be written.
func WriteLibrary(path string, l *batch.Library) error {
	p, err := partsOf(l)
	if err != nil {
		return fmt.Errorf("dataset: %s: %w", path, err)
	}
	return writeShapes(output.Disk{}, path, p)
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

func writeShapes(fs output.FS, path string, p parts) error {
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
	return output.Write(fs, path, b.Bytes())
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
