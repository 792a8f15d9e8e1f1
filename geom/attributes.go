package geom

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/spatial/r3"
)

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
