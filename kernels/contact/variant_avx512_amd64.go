//go:build cgo && !race && !noavx512

package contact

import "clearance/kernels/contact/avx512"

func init() { compiled["avx512"] = avx512.Kernels }
