package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"gonum.org/v1/gonum/spatial/r3"
)

// This file reads JSON more strictly than encoding/json does by itself: a key
// that occurs twice, a null and a list of another length are errors.

// located adds where JSON itself is at fault.
func located(d *json.Decoder, err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("%w (at byte %d; JSON knows neither NaN nor Infinity)", err, d.InputOffset())
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("ends in the middle (truncated?)")
	}
	return err
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
		return fmt.Errorf("%v at byte %d, want %q", t, d.InputOffset(), want)
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
		return fmt.Errorf("%s: %s: %w", e.kind, name, err)
	}
	return nil
}

// vector decodes a parameter of three numbers.
func (e *entry) vector(name string, v *[]real) (r3.Vec, error) {
	if err := e.get(name, v); err != nil {
		return r3.Vec{}, err
	}
	if len(*v) != 3 {
		return r3.Vec{}, fmt.Errorf("%s: %s has %d numbers, want 3", e.kind, name, len(*v))
	}
	return r3.Vec{X: float64((*v)[0]), Y: float64((*v)[1]), Z: float64((*v)[2])}, nil
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
