//go:build !cgo

package simd

import "clearance/batch"

// Without cgo there are no kernels; the types below are never made.
type (
	Table  struct{}
	Call   struct{}
	Solver struct{}
)

// Supported returns no variants.
func Supported() []string { return nil }

// NewTable returns nil.
func NewTable(*batch.Library, string) *Table { return nil }

// NewSolver returns nil.
func NewSolver(string) *Solver { return nil }

// NewCall reports that the kernels do not support the job.
func NewCall(*Table, *batch.Job, int, *batch.Results) (*Call, bool) { return nil, false }

// Prepare reports that the kernels do not support the job.
func (c *Call) Prepare(*Table, *batch.Job, int, *batch.Results) bool { return false }

// Close does nothing.
func (c *Call) Close() {}

// Run is never called.
func (s *Solver) Run(*Call, int, int) []int32 { panic("simd: no kernels without cgo") }

// Stats returns zeros.
func (s *Solver) Stats() Stats { return Stats{} }

// CullLanes is the number of worlds that a Culler would take.
const CullLanes = 8

// The types of culling, of which none is made.
type (
	Culler   struct{}
	CullBody struct {
		Center                 [3]float64
		Radius, Magnitude, Far float64
		Inner                  [3]float64
		Inradius, Slack        float64
		Parts                  []CullPart
	}
	CullPart struct {
		Center                  [3]float64
		Radius, Inradius, Slack float64
		Box, Half               [3]float64
		Axes                    [9]float64
	}
	CullOptions struct {
		Stride    int
		Threshold float64
		Valued    bool
	}
	CullOpen   struct{ Pair, First int32 }
	CullBounds struct{ Balls, Boxes, Upper []float64 }
	Culled     struct {
		Open                 []CullOpen
		Upper, Beyond, Least float64
	}
)

// NewCuller returns nil.
func NewCuller(string, []int32, []CullBody, []int32, []int32, []bool, CullOptions) *Culler {
	return nil
}

// Run is never called.
func (u *Culler) Run([]float64) uint { panic("simd: no kernels without cgo") }

// Parts is never called.
func (u *Culler) Parts(CullOpen) CullBounds { panic("simd: no kernels without cgo") }

// World is never called.
func (u *Culler) World(int) Culled { panic("simd: no kernels without cgo") }
