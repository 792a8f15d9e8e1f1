package batch

import (
	"context"
	"errors"
	"fmt"
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

func (k DeviceKind) String() string { return name(deviceKindNames[:], uint8(k), "device") }

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
