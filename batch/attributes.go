package batch

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"clearance/geom"
)

// Attributes are values that shapes state, by the attribute and by the index of the shape.
type Attributes [geom.AttributeCount]map[int32][]float64

// Set states the value of an attribute of shape i.
func (s *Attributes) Set(a geom.Attribute, i int32, value []float64) {
	if s[a] == nil {
		s[a] = map[int32][]float64{}
	}
	s[a][i] = value
}

// Of returns the values that shape i states, nil for the others.
func (s *Attributes) Of(i int32) (values [geom.AttributeCount][]float64) {
	for a := range values {
		values[a] = s[a][i]
	}
	return values
}

// setDefaults sets every attribute of every shape to its default.
func (l *Library) setDefaults() {
	l.inradius = make([]float64, len(l.shapes))
	for a := range geom.AttributeCount {
		l.attributes[a] = make([][]float64, len(l.shapes))
		for i, s := range l.shapes {
			l.attributes[a][i] = a.Default(s)
		}
	}
	for i := range l.shapes {
		l.setInradius(int32(i))
	}
}

// Attribute returns the value of an attribute of shape i: what [Library.WithAttributes] stated, or the default; nil if
// the shape has none. It must not be changed.
func (l *Library) Attribute(a geom.Attribute, i int32) []float64 { return l.attributes[a][i] }

// Stated returns the value of an attribute of shape i if it is not the default.
func (l *Library) Stated(a geom.Attribute, i int32) (value []float64, ok bool) {
	value = l.attributes[a][i]
	return value, !slices.Equal(value, a.Default(l.shapes[i]))
}

// WithAttributes returns a library of the same shapes with the attributes given. Those that are not given stay as they
// are. The values are copied.
//
// The error is a *[ShapeError] for the first shape that cannot have the value.
func (l *Library) WithAttributes(stated *Attributes) (*Library, error) {
	with := *l
	with.inradius = slices.Clone(l.inradius)
	for code, values := range stated {
		a := geom.Attribute(code)
		with.attributes[a] = slices.Clone(l.attributes[a])
		for _, i := range slices.Sorted(maps.Keys(values)) {
			if i < 0 || int(i) >= len(l.shapes) {
				return nil, fmt.Errorf("batch: %s of shape %d, want one in [0, %d)", a, i, len(l.shapes))
			}
			if err := checkAttribute(l.shapes[i], a, values[i]); err != nil {
				return nil, &ShapeError{Index: int(i), Name: l.Name(i), Err: err}
			}
			with.attributes[a][i] = slices.Clone(values[i])
			if a == geom.AttributeCenter {
				with.setInradius(i)
			}
		}
	}
	return &with, nil
}

// checkAttribute reports a value that the shape cannot have, and lengths above the limit.
func checkAttribute(s geom.Shape, a geom.Attribute, v []float64) error {
	if err := a.Check(s, v); err != nil {
		return err
	}
	for _, x := range v {
		if a.Info().Length && math.Abs(x) > MaxLength {
			return fmt.Errorf("%s: %s = %v, want lengths of at most %g m", s.Kind(), a, v, float64(MaxLength))
		}
	}
	return nil
}
