package batch

import (
	"errors"
	"fmt"
	"math"
)

// ErrNotAvailable is wrapped by errors about queries and methods that are named
// but not built yet.
var ErrNotAvailable = errors.New("not available yet")

// Options say what is asked of a batch. The zero value asks for the signed
// distance in single precision with [AllColumns].
type Options struct {
	Query     Query
	Method    Method
	Precision Precision

	// Columns wanted; 0 is the default of the query, see [Options.EffectiveColumns].
	Columns Columns

	// Tolerance is the gap asked for, relative to the size of each pair (the sum
	// of both bounding radii). 0 is the default of the precision.
	Tolerance float64

	// CutOff, with HasCutOff, is the signed distance in metres beyond which the
	// caller does not care: such rows are only proved to lie beyond it. It goes
	// with the distance query; penetration is distance with a cut-off of 0.
	CutOff    float64
	HasCutOff bool

	// MaxIterations caps the support evaluations of each solver that a row goes through; 0 is
	// the default of the solver. A row that reaches the cap is undecided, with the bounds proved so far.
	MaxIterations int

	// WarmStart, if not nil, holds a direction from A to B a row, [N,3], world
	// frame; (0, 0, 0) is none.
	WarmStart []float64
}

// Check reports the first option that makes no sense by itself. The length of
// WarmStart is checked by [Job.Check].
func (o *Options) Check() error {
	switch {
	case o.Query >= QueryCount:
		return fmt.Errorf("batch: unknown %v", o.Query)
	case o.Method >= MethodCount:
		return fmt.Errorf("batch: unknown %v", o.Method)
	case o.Precision >= PrecisionCount:
		return fmt.Errorf("batch: unknown %v", o.Precision)
	case o.Query == Growth:
		return fmt.Errorf("batch: query growth: %w, ask for distance, collide or penetration", ErrNotAvailable)
	case o.Columns&^anyColumns != 0:
		return fmt.Errorf("batch: unknown columns %#x", uint16(o.Columns&^anyColumns))
	case !(o.Tolerance >= 0) || math.IsInf(o.Tolerance, 1):
		return fmt.Errorf("batch: tolerance %g, want a finite number above 0, or 0 for the default", o.Tolerance)
	case o.HasCutOff && o.Query != Distance:
		return fmt.Errorf("batch: a cut-off goes with the distance query, not with %v", o.Query)
	case o.HasCutOff && (math.IsNaN(o.CutOff) || math.IsInf(o.CutOff, 0)):
		return fmt.Errorf("batch: cut-off %g, want a finite number", o.CutOff)
	case o.MaxIterations < 0:
		return fmt.Errorf("batch: iteration cap %d, want a number above 0, or 0 for the default", o.MaxIterations)
	}
	return nil
}

// EffectiveColumns is the set of columns that the query answers: those asked for,
// or by default status and bits for collide, and [AllColumns] for the others.
func (o *Options) EffectiveColumns() Columns {
	switch {
	case o.Columns != 0:
		return o.Columns
	case o.Query == Collide:
		return ColStatus | ColBits
	}
	return AllColumns
}

// EffectiveTolerance is the gap promised to the caller, in metres, for a pair of
// the given size. For double precision without a Tolerance it is 0, which stands for the
// reference solvers' own default: [DoubleTolerance], or
// [DoubleCurvedDepthTolerance] for depths of curved shapes, times size.
func (o *Options) EffectiveTolerance(size float64) float64 {
	switch {
	case o.Tolerance > 0:
		return o.Tolerance * size
	case o.Precision == Single:
		return SingleTolerance * size
	}
	return 0
}

// SolverTolerance is the gap, in metres, to ask of a solver that works in float64,
// so that the stored gap meets EffectiveTolerance. In single precision it is half
// of that: rounding the distance to float32 adds up to 2⁻²⁴·|distance| to the gap,
// which the other half covers while |distance| ≤ 8·size at the default tolerance.
func (o *Options) SolverTolerance(size float64) float64 {
	t := o.EffectiveTolerance(size)
	if o.Precision == Single {
		t /= 2
	}
	return t
}

// EffectiveCutOff is the cut-off of the query: that of the options for distance, 0
// for penetration, none for collide.
func (o *Options) EffectiveCutOff() (cutOff float64, ok bool) {
	switch o.Query {
	case Distance:
		return o.CutOff, o.HasCutOff
	case Penetration:
		return 0, true
	}
	return 0, false
}
