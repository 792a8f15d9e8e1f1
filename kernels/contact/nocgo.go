//go:build !cgo

package contact

import "sync/atomic"

// Supported returns no variants: without cgo there are no kernels.
func Supported() []string { return nil }

// Scratch is the memory of a call.
type Scratch struct{}

// Width must not be called.
func Width(string) int { panic("contact: no kernels without cgo") }

// SweepBytes must not be called.
func SweepBytes(string, int, int) float64 { panic("contact: no kernels without cgo") }

// Sweep must not be called.
func Sweep(string, *Problem, []int32, *Options, *Scratch, *atomic.Int32) uint32 {
	panic("contact: no kernels without cgo")
}

// Newton must not be called.
func Newton(string, *Problem, int, *Options, *Scratch, *atomic.Int32, func(float64) error) (int, bool) {
	panic("contact: no kernels without cgo")
}

// Manifold must not be called.
func Manifold(string, *Shapes, *Rows, []int32, *Points, *Scratch) {
	panic("contact: no kernels without cgo")
}

// Serves must not be called.
func (*Shapes) Serves(int) bool { panic("contact: no kernels without cgo") }

// Prepare must not be called.
func Prepare(string, *Scene, *Columns, []int32) []int32 { panic("contact: no kernels without cgo") }

// Move must not be called.
func Move(string, *Scene, *Columns, []int32) { panic("contact: no kernels without cgo") }

// Assemble must not be called.
func Assemble(string, *Rules, *Columns, *Assembly, []int32) { panic("contact: no kernels without cgo") }
