//go:build !cgo

package kernels

import "clearance/batch"

// Without cgo there are no kernels; the types below are never made.
type (
	Shapes struct{}
	Table  struct{}
	Call   struct{}
	Solver struct{}
)

// ShapesOf returns nil.
func ShapesOf(*batch.Library) *Shapes { return nil }

// TableOf returns nil.
func TableOf(*batch.Library, string, func() error) (*Table, error) { return nil, nil }

// NewTable returns nil.
func NewTable(*batch.Library, string) *Table { return nil }

// NewSolver returns nil.
func NewSolver(string) *Solver { return nil }

// NewCall reports that the kernels do not support the job.
func NewCall(*Table, *batch.Job, int, *batch.Results) (*Call, bool) { return nil, false }

// Prepare reports that the kernels do not support the job.
func (c *Call) Prepare(*Entry, *Table, *batch.Job, int, *batch.Results) bool { return false }

// Close does nothing.
func (c *Call) Close() {}

// Run is never called.
func (s *Solver) Run(*Call, int, int) []int32 { panic("kernels: none without cgo") }

// Stats returns zeros.
func (s *Solver) Stats() Stats { return Stats{} }

// CullLanes is the number of worlds that a Culler would take.
const CullLanes = 8

// Culler is never made.
type Culler struct{ batch.Culler }

// NewCuller returns nil.
func NewCuller(string, *batch.Culling) *Culler { return nil }

// BoxSearch is never used.
type BoxSearch struct{}

// Need returns zeros.
func (s *BoxSearch) Need() (rows, leaves int) { return 0, 0 }

// Run is never called.
func (s *BoxSearch) Run(string, *BoxArrays, int, int, int) (nextLeaf, nowUsed int) {
	panic("kernels: none without cgo")
}
