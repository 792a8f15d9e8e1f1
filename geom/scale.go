package geom

import "fmt"

// Scaled returns s made k times as large about the origin of its own frame: support points are
// those of s times k, up to one rounding of every parameter. A half-space stays what it is. The
// result is invalid, which batch.NewLibrary or Validate tells, where a parameter leaves the
// range of its kind.
func Scaled(s Shape, k float64) (Shape, error) {
	if !(k > 0) {
		return nil, fmt.Errorf("geom: a shape cannot be scaled by %g, want a factor above 0", k)
	}
	if r, ok := s.(Rounded); ok {
		inner, err := Scaled(r.Shape, k)
		if err != nil {
			return nil, err
		}
		return Rounded{Shape: inner, Margin: k * r.Margin}, nil
	}
	v, ok := Values(s)
	if !ok {
		return nil, fmt.Errorf("geom: no rule to scale a %v (%T)", s.Kind(), s)
	}
	for i, p := range s.Kind().Params() {
		if !p.Length {
			continue
		}
		for j := range v[i] {
			v[i][j] *= k
		}
	}
	return s.of(v)
}

// shape keeps a pointer that comes with an error from becoming a Shape that is not nil.
func shape[S Shape](s S, err error) (Shape, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}
