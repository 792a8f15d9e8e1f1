package batch

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// ErrClosed is wrapped by the error of a call on a back end that is closed.
var ErrClosed = errors.New("the back end is closed")

// Job is one call: a library, an input, the options of the query, and the results.
type Job struct {
	Library *Library
	Input   Input
	Options Options
	Results *Results // of Input.Len() rows, see NewResults

	// Reduction, if not nil, allows back ends to omit rows.
	Reduction *Reduction

	// Plan is that of the options by the back end that runs the job. A back end that is given none makes it.
	Plan Plan
}

// A Plan is what a back end resolves of checked options once a call: that it serves them, and by which of its kernels.
// Only that back end reads it.
type Plan any

// Check returns an error if the job as a whole is invalid: its options, the lengths of its
// columns, or the form of its results. Single rows are checked by [Job.Read].
func (j *Job) Check() error {
	if err := j.CheckInput(); err != nil {
		return err
	}
	return j.checkResults()
}

// CheckForm is Check of a job whose options have been checked.
func (j *Job) CheckForm() error {
	if err := j.CheckInputForm(); err != nil {
		return err
	}
	return j.checkResults()
}

// CheckInput is Check without the results.
func (j *Job) CheckInput() error {
	if j.Library != nil && j.Input != nil { // else the form says so
		if err := j.Options.Check(); err != nil {
			return err
		}
	}
	return j.CheckInputForm()
}

// CheckInputForm is CheckForm without the results.
func (j *Job) CheckInputForm() error {
	if j.Library == nil {
		return errors.New("batch: the job has no library")
	}
	if j.Input == nil {
		return errors.New("batch: the job has no input")
	}
	if c, ok := j.Input.(interface{ CheckShape() error }); ok {
		if err := c.CheckShape(); err != nil {
			return err
		}
	}
	n := j.Input.Len()
	if w := j.Options.WarmStart; w != nil && len(w) != 3*n {
		return fmt.Errorf("batch: column warm_start has %d numbers, want %d for %d pairs", len(w), 3*n, n)
	}
	return nil
}

// checkResults checks the results, of a job whose input is valid.
func (j *Job) checkResults() error {
	n := j.Input.Len()
	if j.Results == nil {
		return errors.New("batch: the job has no results; allocate them with NewResults")
	}
	if j.Results.N != n {
		return fmt.Errorf("batch: results of %d rows for an input of %d", j.Results.N, n)
	}
	if p := j.Results.Precision; p != j.Options.Precision {
		return fmt.Errorf("batch: results in %v precision for a query in %v", p, j.Options.Precision)
	}
	if missing := j.Options.EffectiveColumns() &^ j.Results.Columns; missing != 0 {
		return fmt.Errorf("batch: results lack the columns %v", missing)
	}
	if j.Reduction != nil {
		if err := j.Reduction.check(n, j.Results); err != nil {
			return err
		}
	}
	return j.Results.CheckShape()
}

// Held is a batch that stays in the memory of a device between calls: its library, its pairs
// and the poses of its bodies. A rollout holds its worlds once and then updates the poses.
//
// The methods may be called by several goroutines; calls are serialized. After Close, and
// after the device was closed, they return errors.
type Held interface {
	// Len returns the number of rows.
	Len() int

	// Update reads the poses of in, an input of the same form and with as many rows as
	// the one that is held. Its shapes and templates are ignored.
	Update(ctx context.Context, in Input) error

	// Run answers all rows into out, which has o's columns and a status column. Rows
	// that the device declines keep the status they had. After an error the contents of
	// all rows are undefined.
	Run(ctx context.Context, o *Options, out *Results) error

	// Close frees the memory of the batch. Closing again does nothing.
	Close() error
}

// DeviceKind is the kind of a device, best first.
type DeviceKind uint8

// Kinds of device.
const (
	DiscreteGPU DeviceKind = iota
	IntegratedGPU
	VirtualGPU
	SoftwareGPU // a Vulkan driver that runs on the CPU
	CPU
	DeviceKindCount
)

var deviceKindNames = [DeviceKindCount]string{"discrete", "integrated", "virtual", "software", "cpu"}

func (k DeviceKind) String() string { return Names[DeviceKind]{"device", deviceKindNames[:]}.Name(k) }

// Device describes the device of a back end.
type Device struct {
	Kind   DeviceKind
	Name   string // as reported by the driver or the system
	Driver string // driver and version, or the instruction set

	// Proof is the arithmetic that proves answers in single precision: "double precision", "two floats", or
	// "two floats, no double precision"; "" where there is no choice.
	Proof string

	// Reason states in one line why the device cannot be used and what to do about it;
	// "" if it can be used.
	Reason string
}

// Usable reports whether the device can be used.
func (d *Device) Usable() bool { return d.Reason == "" }

// ErrNotAvailable is wrapped by errors about queries and methods that have a name but are
// not implemented.
var ErrNotAvailable = errors.New("not available yet")

// Options describe the query of a batch. The zero value is the signed distance in single
// precision with [AllColumns].
type Options struct {
	Query     Query
	Method    Method
	Precision Precision

	// Columns is the set of result columns to compute. 0 is the default of the query,
	// see [Options.EffectiveColumns].
	Columns Columns

	// Tolerance is the largest gap of a decided row, relative to the scale of the query's
	// [ToleranceRule]: the size of the pair, the sum of both bounding radii, or the value of
	// the row, if that is above 1. 0 is the default of the precision.
	Tolerance float64

	// CutOff, if HasCutOff is set, is a value of the query: a signed distance in metres, or
	// a growth factor. Rows beyond it are only proved to lie beyond it. It applies to queries
	// whose rule is [CallersCutOff].
	CutOff    float64
	HasCutOff bool

	// MaxIterations is the largest number of evaluations of the support function of each
	// solver that works on a row; 0 is the default of the solver. A row that reaches it is
	// undecided, with the bounds proved so far.
	MaxIterations int

	// Derivative says what the columns of derivatives hold.
	Derivative Derivative

	// WarmStart, if not nil, has a direction from A to B in the world frame for each row,
	// [N,3]; (0, 0, 0) is none. Growth does not use it.
	WarmStart []float64
}

// Check returns an error for the first invalid option. The length of WarmStart is checked
// by [Job.Check].
func (o *Options) Check() error {
	query := o.Query.Info()
	switch {
	case o.Query >= QueryCount:
		return fmt.Errorf("batch: unknown %v", o.Query)
	case o.Method >= MethodCount:
		return fmt.Errorf("batch: unknown %v", o.Method)
	case o.Precision >= PrecisionCount:
		return fmt.Errorf("batch: unknown %v", o.Precision)
	case !query.Answered:
		return fmt.Errorf("batch: query %v: %w, ask for one of %v", o.Query, ErrNotAvailable, AnsweredQueries())
	case o.Columns&^anyColumns != 0:
		return fmt.Errorf("batch: unknown columns %#x", uint64(o.Columns&^anyColumns))
	case o.Columns&^o.Query.Available() != 0:
		return fmt.Errorf("batch: the query %v has no column %v", o.Query, o.Columns&^o.Query.Available())
	case o.Columns&DerivedColumns != 0 && o.Derivative.Check() != nil:
		return fmt.Errorf("batch: %w", o.Derivative.Check())
	case !(o.Tolerance >= 0) || math.IsInf(o.Tolerance, 1):
		return fmt.Errorf("batch: tolerance %g, want a finite number above 0, or 0 for the default", o.Tolerance)
	case o.HasCutOff && query.CutOff != CallersCutOff:
		return fmt.Errorf("batch: a cut-off applies to one of the queries %v, not to %v", cutOffQueries(), o.Query)
	case o.HasCutOff && (math.IsNaN(o.CutOff) || math.IsInf(o.CutOff, 0)):
		return fmt.Errorf("batch: cut-off %g, want a finite number", o.CutOff)
	case o.HasCutOff && query.Tolerance == OfValue && o.CutOff <= 0:
		return fmt.Errorf("batch: cut-off %g of the query %v, want a factor above 0", o.CutOff, o.Query)
	case o.MaxIterations < 0:
		return fmt.Errorf("batch: iteration limit %d, want a number above 0, or 0 for the default", o.MaxIterations)
	}
	return nil
}

// EffectiveColumns returns the set of result columns: those of Columns, or by default those
// of the query.
func (o *Options) EffectiveColumns() Columns {
	if o.Columns != 0 {
		return o.Columns
	}
	return o.Query.Info().Columns
}

// StatusAlone reports whether a row ends as soon as its status is proved, with bounds as wide as that
// allows: always for a Boolean query, and for one that says so ([QueryInfo.EndsAtStatus]) where no column
// that depends on the value is requested.
func (o *Options) StatusAlone() bool {
	query := o.Query.Info()
	return query.Boolean() || query.EndsAtStatus && o.EffectiveColumns()&valueColumns == 0
}

// EffectiveTolerance returns the largest gap of a decided row for a pair of the given scale,
// which is that of [ToleranceRule.Scale]: in metres for a size, without a unit for a factor. In double
// precision without a Tolerance it is 0, which stands for the default of the solvers:
// [DoubleTolerance], or for curved shapes [QueryInfo.CurvedTolerance], times the scale.
func (o *Options) EffectiveTolerance(scale float64) float64 {
	switch {
	case o.Tolerance > 0:
		return o.Tolerance * scale
	case o.Precision == Single:
		return SingleTolerance * scale
	}
	return 0
}

// SolverTolerance returns the tolerance for a solver that works in float64, so
// that the stored gap meets EffectiveTolerance. In single precision it is half
// of that: rounding the value to float32 adds up to 2⁻²⁴·|value| to the gap,
// which the other half covers while |value| ≤ 8·scale at the default tolerance.
func (o *Options) SolverTolerance(scale float64) float64 {
	t := o.EffectiveTolerance(scale)
	if o.Precision == Single {
		t /= 2
	}
	return t
}

// SolverTolerances returns SolverTolerance relative to the scale, for curved shapes too, with the defaults for 0.
func (o *Options) SolverTolerances() (tolerance, curved float64) {
	if t := o.SolverTolerance(1); t != 0 {
		return t, t
	}
	return DoubleTolerance, o.Query.Info().CurvedTolerance
}

// EffectiveCutOff returns the cut-off by the rule of the query.
func (o *Options) EffectiveCutOff() (cutOff float64, ok bool) {
	switch o.Query.Info().CutOff {
	case CallersCutOff:
		return o.CutOff, o.HasCutOff
	case CutOffAtTouch:
		return 0, true
	}
	return 0, false
}

// Limits of a batch.
const (
	// MaxShapes is the largest number of shapes of a library: their records fill a
	// storage buffer of 64 MiB, half the smallest limit of devices in use.
	MaxShapes = 1 << 20

	// MaxVertices is the largest number of vertices of one shape.
	MaxVertices = 65535

	// MaxLength bounds, in metres, every coordinate of a position and every
	// bounding radius: sub-algorithms form products of four lengths, and 1e9 is the
	// largest power of ten for which that of four differences of positions,
	// (2·√3·1e9)⁴ ≈ 1.4e38, stays below the largest float32, 3.4e38.
	MaxLength = 1e9

	// MaxIterations is the largest value of the iterations column, and the largest number of
	// evaluations that any method makes for a row; larger counts are stored as MaxIterations.
	MaxIterations = 65535

	// BitsPerWord is the number of rows in one word of the bits column. Chunks
	// and blocks begin at multiples of it.
	BitsPerWord = 64
)

// Default tolerances of the precisions on the gap, relative to the scale of the query's [ToleranceRule].
const (
	// SingleTolerance is well above the rounding of float32 columns, 6e-8 of the
	// distance.
	SingleTolerance = 1e-6

	// DoubleTolerance is for distances, and for depths of polytopes.
	DoubleTolerance = 1e-12

	// DoubleCurvedDepthTolerance is for depths of curved shapes, where every digit of
	// the lower bound takes more faces of EPA's polytope.
	DoubleCurvedDepthTolerance = 1e-8

	// DoubleCurvedGrowthTolerance is for growth factors of pairs with a curved shape.
	DoubleCurvedGrowthTolerance = 1e-10
)
