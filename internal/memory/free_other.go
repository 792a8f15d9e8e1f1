//go:build !linux

package memory

import "math"

// free returns +Inf: what is free is not known here.
func free(string) float64 { return math.Inf(1) }
