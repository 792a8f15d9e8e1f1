package geom

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"

	"gonum.org/v1/gonum/spatial/r2"
	"gonum.org/v1/gonum/spatial/r3"
)

// Param describes one parameter of a kind.
type Param struct {
	Name  string // in files and errors
	Width int    // numbers of the value, or of each entry of a list

	List     bool // a list of points
	Optional bool // a file may leave it out; it is zero then
	Length   bool // in metres: it grows with the shape
	Center   bool // the center of the shape, which device records hold for every kind

	check func(k Kind, name string, v float64) error // of each number; nil where the constructor checks
}

func length(name string) Param { return Param{Name: name, Width: 1, Length: true, check: checkSize} }

func lengthOrZero(name string) Param {
	return Param{Name: name, Width: 1, Length: true, check: checkSizeOrZero}
}

func lengths(name string) Param { return Param{Name: name, Width: 3, Length: true, check: checkSize} }

func number(name string, lo, hi float64) Param {
	return Param{Name: name, Width: 1, check: within(lo, hi)}
}

func points(name string, width int) Param {
	return Param{Name: name, Width: width, List: true, Length: true}
}

func center(name string) Param {
	return Param{Name: name, Width: 3, Length: true, Optional: true, Center: true}
}

// Component returns the name of number i of a value: x, y or z, 0 or 1, or nothing for the only one.
func (p *Param) Component(i int) string {
	switch p.Width {
	case 1:
		return ""
	case 3:
		return "xyz"[i : i+1]
	}
	return fmt.Sprint(i)
}

// values are those of all parameters of a kind, in their order; a list stands entry after entry.
type values [][]float64

func (v values) number(i int) float64 { return v[i][0] }

func (v values) vector(i int) r3.Vec { return r3.Vec{X: v[i][0], Y: v[i][1], Z: v[i][2]} }

func (v values) points(i int) []r3.Vec {
	out := make([]r3.Vec, len(v[i])/3)
	for k := range out {
		out[k] = r3.Vec{X: v[i][3*k], Y: v[i][3*k+1], Z: v[i][3*k+2]}
	}
	return out
}

func (v values) profile(i int) []r2.Vec {
	out := make([]r2.Vec, len(v[i])/2)
	for k := range out {
		out[k] = r2.Vec{X: v[i][2*k], Y: v[i][2*k+1]}
	}
	return out
}

func numbers(v r3.Vec) []float64 { return []float64{v.X, v.Y, v.Z} }

func flattened(points []r3.Vec) []float64 {
	out := make([]float64, 0, 3*len(points))
	for _, p := range points {
		out = append(out, p.X, p.Y, p.Z)
	}
	return out
}

// New makes a shape of the kind of the values of its parameters, in the order of [Kind.Params]; a list
// stands entry after entry. It reports the first parameter that is out of range, by name.
func (k Kind) New(values [][]float64) (Shape, error) {
	return k.NewContext(context.Background(), values)
}

// interruptible is a kind whose shapes may take long to make.
type interruptible interface {
	within(ctx context.Context, v values) (Shape, error)
}

// NewContext is [Kind.New]; it ends soon after the context, with the error of that.
func (k Kind) NewContext(ctx context.Context, values [][]float64) (Shape, error) {
	params := k.Params()
	if k >= KindCount || len(values) != len(params) {
		return nil, fmt.Errorf("%s: %d parameters, want %d", k, len(values), len(params))
	}
	for i, p := range params {
		if n := len(values[i]); !p.List && n != p.Width || p.List && n%p.Width != 0 {
			return nil, fmt.Errorf("%s: %s has %d numbers, want %d", k, p.Name, n, p.Width)
		}
	}
	var s Shape
	var err error
	if long, ok := kinds[k].zero.(interruptible); ok {
		s, err = long.within(ctx, values)
	} else {
		s, err = kinds[k].zero.of(values)
	}
	if err != nil {
		return nil, err
	}
	return s, s.Validate()
}

// Values returns the values of the parameters of a shape, as [Kind.New] takes them. It reports false for a
// shape that is [Rounded], whose margin is no parameter of its kind, and for types of other packages that
// embed a shape.
func Values(s Shape) ([][]float64, bool) {
	k := s.Kind()
	if k >= KindCount || reflect.TypeOf(s) != reflect.TypeOf(kinds[k].zero) {
		return nil, false
	}
	return s.values(), true
}

// WithoutMargin takes the margins off a shape and returns their sum.
func WithoutMargin(s Shape) (inner Shape, margin float64) {
	for {
		r, ok := s.(Rounded)
		if !ok {
			return s, margin
		}
		margin += r.Margin
		s = r.Shape
	}
}

// check reports the first number among values that is out of its range.
func (k Kind) check(v values) error {
	for i, p := range kinds[k].params {
		if p.check == nil {
			continue
		}
		for j, x := range v[i] {
			name := p.Name
			switch p.Width {
			case 2:
				name += "[" + p.Component(j) + "]"
			case 3:
				name += "." + p.Component(j)
			}
			if err := p.check(k, name, x); err != nil {
				return err
			}
		}
	}
	return nil
}

// within returns a check of a number without a unit.
func within(lo, hi float64) func(Kind, string, float64) error {
	return func(k Kind, name string, v float64) error {
		if v >= lo && v <= hi {
			return nil
		}
		return fmt.Errorf("%s: %s = %g, want %g to %g", k, name, v, lo, hi)
	}
}

// Sizes that Validate accepts, in metres. Within them the squares, products and
// ratios of squares that solvers form stay far from the ends of float64.
const (
	MinSize = 1e-9
	MaxSize = 1e9
)

// checkSize reports a size that is not in [MinSize, MaxSize].
func checkSize(k Kind, name string, v float64) error {
	switch {
	case v >= MinSize && v <= MaxSize:
		return nil
	case !(v > 0) || math.IsInf(v, 0):
		return fmt.Errorf("%s: %s = %g, want > 0 and finite", k, name, v)
	default:
		return fmt.Errorf("%s: %s = %g m is out of range, want %g to %g (choose another unit of length)", k, name, v,
			MinSize, MaxSize)
	}
}

// checkSizeOrZero reports a size that is neither 0 nor in [MinSize, MaxSize].
func checkSizeOrZero(k Kind, name string, v float64) error {
	switch {
	case v == 0:
		return nil
	case !(v > 0) || math.IsInf(v, 0):
		return fmt.Errorf("%s: %s = %g, want ≥ 0 and finite", k, name, v)
	default:
		return checkSize(k, name, v)
	}
}

//go:generate go run clearance/cmd/genlayout -python ../python/src/clearance/_shapes.py

// Attribute is the code of an attribute: numbers that a shape of any kind may state beside its parameters, and that
// leave its points as they are. The C interface has the codes: append, never renumber.
type Attribute uint8

// The attributes.
const (
	AttributeCenter Attribute = iota // of growth
	AttributeCount                   // number of attributes, not an attribute
)

// attributes has one row per attribute. Files, the C interface and Python follow from the row; a query that uses an
// attribute names it in its own row, see package batch.
var attributes = [AttributeCount]AttributeInfo{
	AttributeCenter: {
		Name: "center", Plural: "centers", Width: 3, Length: true,
		Meaning: "the point about which the query growth scales the shape, in metres in its own frame",
		Default: func(s Shape) []float64 { return numbers(GrowthCenter(s)) },
		check:   func(s Shape, v []float64) error { return CheckGrowthCenter(s, r3.Vec{X: v[0], Y: v[1], Z: v[2]}) },
	},
}

// AttributeInfo defines an attribute.
type AttributeInfo struct {
	Name    string // in files, errors and Python
	Plural  string // the entry in the metadata of results
	Meaning string // with the unit, as a phrase
	Width   int    // numbers of a value
	Length  bool   // in metres, with the limit of all lengths

	// Default returns the value of a shape that states none. It is nil if such shapes have none.
	Default func(s Shape) []float64

	check func(s Shape, v []float64) error // of Width numbers; nil if all finite numbers are good
}

// Info returns the definition of an attribute.
func (a Attribute) Info() *AttributeInfo { return &attributes[a] }

// String returns the name that files use.
func (a Attribute) String() string {
	if a < AttributeCount {
		return attributes[a].Name
	}
	return fmt.Sprintf("attribute(%d)", uint8(a))
}

// ParameterOf reports whether the kind has a parameter of this name. It is the default of the attribute, and files
// state it alone.
func (a Attribute) ParameterOf(k Kind) bool {
	return slices.ContainsFunc(k.Params(), func(p Param) bool { return p.Name == attributes[a].Name })
}

// Default returns the value of a shape that states none, nil if it has none.
func (a Attribute) Default(s Shape) []float64 {
	if rule := attributes[a].Default; rule != nil {
		return rule(s)
	}
	return nil
}

// Check reports a value that the shape cannot have.
func (a Attribute) Check(s Shape, v []float64) error {
	info := a.Info()
	if len(v) != info.Width {
		return fmt.Errorf("%s: %s has %d numbers, want %d", s.Kind(), info.Name, len(v), info.Width)
	}
	if info.check != nil {
		if err := info.check(s, v); err != nil {
			return err
		}
	}
	for _, x := range v {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("%s: %s = %v, want finite numbers", s.Kind(), info.Name, v)
		}
	}
	return nil
}
