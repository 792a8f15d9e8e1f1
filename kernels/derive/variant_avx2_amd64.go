//go:build cgo && !race && !noavx2

package derive

import "clearance/kernels/derive/avx2"

func init() { compiled["avx2"] = avx2.Unit }
