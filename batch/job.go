package batch

import "clearance/geom"

// Library is the table of shapes that pairs index. It is immutable: build it once
// and use it for any number of calls.
type Library struct {
	shapes []geom.Shape
	names  []string
}

// NewLibrary validates the shapes and builds the table. names may be nil.
// The error names the index and the name of the offending shape.
func NewLibrary(shapes []geom.Shape, names []string) (*Library, error) {
	l := &Library{shapes: shapes, names: names}
	return l, l.validate()
}

// Len returns the number of shapes.
func (l *Library) Len() int { return len(l.shapes) }

// Shape returns shape i.
func (l *Library) Shape(i int32) geom.Shape { return l.shapes[i] }

// Name returns the name of shape i, or "".
func (l *Library) Name(i int32) string {
	if int(i) < len(l.names) {
		return l.names[i]
	}
	return ""
}

// Options say what is asked of a batch. The zero value asks for the signed
// distance in single precision with every column.
type Options struct {
	Query     Query
	Method    Method
	Precision Precision

	// Columns wanted; 0 is all of them.
	Columns Columns

	// Tolerance is the gap asked for, relative to the size of each pair (the sum
	// of both bounding radii). 0 is the default of the precision.
	Tolerance float64

	// CutOff, with HasCutOff, is the signed distance in metres beyond which the
	// caller does not care: such rows are only proved to lie beyond it.
	CutOff    float64
	HasCutOff bool

	// MaxIterations caps the support evaluations of a row; 0 is the default.
	MaxIterations int

	// WarmStart, if not nil, holds a direction from A to B a row, [N,3], world frame.
	WarmStart []float64
}

// Job is one call: a library, an input, what is asked, and where answers go.
type Job struct {
	Library *Library
	Input   Input
	Options Options
	Results *Results
}
