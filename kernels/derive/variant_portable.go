//go:build cgo && (race || !noportable)

package derive

import "clearance/kernels/derive/portable"

func init() { compiled["portable"] = portable.Unit }
