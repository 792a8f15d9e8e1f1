//go:build !cgo

package derive

import "clearance/kernels"

// Solver is empty without cgo.
type Solver struct{}

// NewSolver is never called, since there are no variants.
func NewSolver(*kernels.Shapes, *Call) *Solver { return nil }

// Close does nothing.
func (*Solver) Close() {}

// Run is never called.
func (*Solver) Run(lo, hi int) []int32 { return nil }

// Variants returns none.
func Variants() []string { return nil }

// Displace returns false.
func (*Samples) Displace(variant string, lo, hi int) bool { return false }

// Add returns false.
func (*Samples) Add(variant string, lo, hi int) bool { return false }
