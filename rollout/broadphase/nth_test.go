package broadphase

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSelection compares the item of a rank with that of sorted items, and both sides with it, for orders and numbers
// of equal centers that selections find hard.
func TestSelection(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	orders := map[string]func(i, n int) float64{
		"random":      func(int, int) float64 { return rng.Float64() },
		"ascending":   func(i, _ int) float64 { return float64(i) },
		"descending":  func(i, _ int) float64 { return float64(-i) },
		"equal":       func(int, int) float64 { return 1 },
		"few values":  func(int, int) float64 { return float64(rng.IntN(3)) },
		"two halves":  func(i, n int) float64 { return float64(i * 2 / n) },
		"organ pipes": func(i, n int) float64 { return float64(min(i, n-i)) },
		"one above":   func(i, n int) float64 { return float64(i / (n - 1)) },
		"one below":   func(i, _ int) float64 { return float64(min(i, 1)) },
	}
	for name, center := range orders {
		for _, n := range []int{2, 12, 13, 63, 64, 127, 128, 129, 191, 255, 256, 257, 300, 1000, 4099} {
			for _, k := range []int{0, 1, n / 3, n / 2, n - 1} {
				axis := k % 3
				s, want := make([]item, n), make([]float64, n)
				for i := range s {
					s[i].id, s[i].center[axis] = int32(i), center(i, n)
					want[i] = s[i].center[axis]
				}
				of := slices.Clone(want)
				slices.Sort(want)
				nth(s, k, axis)
				seen := make([]bool, n)
				for i, x := range s {
					c := x.center[axis]
					if seen[x.id] || c != of[x.id] {
						t.Fatalf("%s, %d items: item %d is lost", name, n, x.id)
					}
					seen[x.id] = true
					if i < k && c > want[k] || i > k && c < want[k] || i == k && c != want[k] {
						t.Fatalf("%s, %d items, rank %d: center %g at %d, want %g", name, n, k, c, i, want[k])
					}
				}
			}
		}
	}
}
