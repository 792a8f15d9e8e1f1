//go:build cgo && !race && !noavx2

package contact

import "clearance/kernels/contact/avx2"

func init() { compiled["avx2"] = avx2.Kernels }
