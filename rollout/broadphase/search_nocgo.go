//go:build !cgo

package broadphase

// call is empty without kernels.
type call struct{}

// run finds the rows of a leaf.
func (s *search) run(_ string, t *tree, offset []int64) { s.scan(t, offset) }
