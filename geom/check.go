package geom

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/spatial/r3"
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
		return fmt.Errorf("%s: %s = %g m is out of range, want %g to %g (choose another unit of length)", k, name, v, MinSize, MaxSize)
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

// checkSizes checks the three components of a vector of sizes.
func checkSizes(k Kind, name string, v r3.Vec) error {
	if err := checkSize(k, name+".x", v.X); err != nil {
		return err
	}
	if err := checkSize(k, name+".y", v.Y); err != nil {
		return err
	}
	return checkSize(k, name+".z", v.Z)
}

// firstError returns the first error that is not nil.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
