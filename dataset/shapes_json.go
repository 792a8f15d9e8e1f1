package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

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
