//go:build cgo && (race || !noportable)

package contact

import "clearance/kernels/contact/portable"

func init() { compiled["portable"] = portable.Kernels }
