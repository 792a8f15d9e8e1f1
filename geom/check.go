package geom

import (
	"fmt"
	"math"
)

// Sizes that Validate accepts, in metres. Within them the squares, products and
// ratios of squares that solvers form stay far from the ends of float64.
const (
	MinSize = 1e-9
	MaxSize = 1e9
)

// checkSize reports a size that is not in [MinSize, MaxSize].
func checkSize(k Kind, name string, v float64) error {
	switch {
	case v >= MinSize && v <= MaxSize:
		return nil
	case !(v > 0) || math.IsInf(v, 0):
		return fmt.Errorf("%s: %s = %g, want > 0 and finite", k, name, v)
	default:
		return fmt.Errorf("%s: %s = %g m is out of range, want %g to %g (choose another unit of length)", k, name, v,
			MinSize, MaxSize)
	}
}

// checkSizeOrZero reports a size that is neither 0 nor in [MinSize, MaxSize].
func checkSizeOrZero(k Kind, name string, v float64) error {
	switch {
	case v == 0:
		return nil
	case !(v > 0) || math.IsInf(v, 0):
		return fmt.Errorf("%s: %s = %g, want ≥ 0 and finite", k, name, v)
	default:
		return checkSize(k, name, v)
	}
}
