//go:build cgo && !race && !noneon

package derive

import "clearance/kernels/derive/neon"

func init() { compiled["neon"] = neon.Unit }
