//go:build cgo && !race && !noneon

package contact

import "clearance/kernels/contact/neon"

func init() { compiled["neon"] = neon.Kernels }
