//go:build cgo && !race && !noavx512

package derive

import "clearance/kernels/derive/avx512"

func init() { compiled["avx512"] = avx512.Unit }
