// Package batch holds the columns: the shape library, poses, pairs and results, and the
// only validation of input.
//
// # Conventions
//
// Metres and radians; quaternions are (w, x, y, z). Columns of vectors are
// row-major: position [N,3] is a slice of 3·N numbers. Results stand at the
// index of their input row.
//
// # Threads
//
// A [Library] is immutable after building. Inputs are read only. [Results] may be
// written by several goroutines as long as their rows are disjoint.
package batch

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
)

// Library is the table of shapes to which pairs refer by index. It is immutable and may be
// used for any number of calls by any number of goroutines.
type Library struct {
	shapes []geom.Shape
	names  []string

	sizes   []float64 // contribution of each shape to the size of a pair
	minSize float64   // smallest of sizes
	hasHalf []bool    // whether the shape is a half-space

	attributes [geom.AttributeCount][][]float64 // by shape, nil for none
	inradius   []float64                        // about the centers of growth

	prepared *prepared // by packages
}

// NewLibrary returns a library of the given shapes after validating them. names is nil or
// has one name per shape, "" for none. The slices are copied.
//
// The error is a *[ShapeError] for the first invalid shape.
func NewLibrary(shapes []geom.Shape, names []string) (*Library, error) {
	l := &Library{shapes: slices.Clone(shapes), names: slices.Clone(names), prepared: new(prepared)}
	if err := l.validate(); err != nil {
		return nil, err
	}
	l.sizes = make([]float64, len(shapes))
	l.hasHalf = make([]bool, len(shapes))
	l.minSize = math.Inf(1)
	for i, s := range l.shapes {
		l.sizes[i] = s.BoundingRadius()
		if math.IsInf(l.sizes[i], 1) {
			l.sizes[i] = s.Radius()
		}
		l.minSize = min(l.minSize, l.sizes[i])
		l.hasHalf[i] = s.Kind().Traits().Unbounded
	}
	l.setDefaults()
	return l, nil
}

func (l *Library) validate() error {
	if len(l.shapes) > MaxShapes {
		return fmt.Errorf("batch: library of %d shapes, want at most %d", len(l.shapes), MaxShapes)
	}
	if l.names != nil && len(l.names) != len(l.shapes) {
		return fmt.Errorf("batch: library of %d shapes has %d names, want one per shape or none", len(l.shapes),
			len(l.names))
	}
	for i, s := range l.shapes {
		if err := validateShape(s); err != nil {
			return &ShapeError{Index: i, Name: l.Name(int32(i)), Err: err}
		}
	}
	return nil
}

func validateShape(s geom.Shape) error {
	if s == nil {
		return fmt.Errorf("shape is nil")
	}
	if err := s.Validate(); err != nil {
		return err
	}
	if r := s.BoundingRadius(); !s.Kind().Traits().Unbounded && !(r <= MaxLength) {
		return fmt.Errorf("bounding radius %g m, want at most %g", r, float64(MaxLength))
	}
	if r := s.Radius(); !(r <= MaxLength) {
		return fmt.Errorf("radius and margin of %g m, want at most %g", r, float64(MaxLength))
	}
	if c := s.Center(); !within(c, MaxLength) {
		return fmt.Errorf("center (%g, %g, %g), want coordinates of at most %g m", c.X, c.Y, c.Z, float64(MaxLength))
	}
	return nil
}

// within reports whether every coordinate of v is finite and at most limit in magnitude.
func within(v r3.Vec, limit float64) bool {
	return math.Abs(v.X) <= limit && math.Abs(v.Y) <= limit && math.Abs(v.Z) <= limit
}

// ShapeError is the error of an invalid shape of a library.
type ShapeError struct {
	Index int
	Name  string // "" if none
	Err   error
}

func (e *ShapeError) Error() string {
	if e.Name != "" {
		return fmt.Sprintf("batch: shape %d (%q): %v", e.Index, e.Name, e.Err)
	}
	return fmt.Sprintf("batch: shape %d: %v", e.Index, e.Err)
}

func (e *ShapeError) Unwrap() error { return e.Err }

// Len returns the number of shapes.
func (l *Library) Len() int { return len(l.shapes) }

// Shape returns shape i.
func (l *Library) Shape(i int32) geom.Shape { return l.shapes[i] }

// Name returns the name of shape i, "" if it has none.
func (l *Library) Name(i int32) string {
	if int(i) < len(l.names) {
		return l.names[i]
	}
	return ""
}

// PairSize returns the size of a pair of shapes, the length in metres that tolerances are
// relative to: the sum of their bounding radii. A half-space contributes only its margin.
func (l *Library) PairSize(a, b int32) float64 { return l.sizes[a] + l.sizes[b] }

// MinPairSize returns a lower bound of PairSize over all pairs.
func (l *Library) MinPairSize() float64 {
	if len(l.sizes) == 0 {
		return 0
	}
	return 2 * l.minSize
}

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
	with.prepared = new(prepared)
	with.prepared.extended.Store(true) // it shares columns
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

// GrowthCenter returns the point, in the frame of shape i, about which the shape grows in the query [Growth]: its
// attribute [geom.AttributeCenter], by default that of [geom.GrowthCenter].
func (l *Library) GrowthCenter(i int32) r3.Vec {
	c := l.attributes[geom.AttributeCenter][i]
	return r3.Vec{X: c[0], Y: c[1], Z: c[2]}
}

// GrowthInradius returns the radius of a ball about GrowthCenter(i) that is proved to lie in shape i: 0 if
// it is flat or a half-space.
func (l *Library) GrowthInradius(i int32) float64 { return l.inradius[i] }

func (l *Library) setInradius(i int32) {
	l.inradius[i] = geom.InradiusAt(l.shapes[i], l.GrowthCenter(i))
}

// WithCenters is [Library.WithAttributes] for centers of growth alone, each in the frame of its shape. A center must be
// an interior point, or any point of a shape that is flat. A half-space has none.
func (l *Library) WithCenters(centers map[int32]r3.Vec) (*Library, error) {
	var stated Attributes
	for i, c := range centers {
		stated.Set(geom.AttributeCenter, i, []float64{c.X, c.Y, c.Z})
	}
	return l.WithAttributes(&stated)
}
