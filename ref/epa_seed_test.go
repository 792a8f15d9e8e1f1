package ref

import (
	"math"
	"math/rand/v2"
	"testing"

	"clearance/internal/testkit"

	"gonum.org/v1/gonum/spatial/r3"
)

// TestExtend: the basis that the seed of a polytope extends is orthonormal, and its first vectors span those that it
// was given, axes of the frame and nearly dependent ones among them.
func TestExtend(t *testing.T) {
	rng := rand.New(rand.NewPCG(92, 1))
	given := []r3.Vec{{X: 1}, {X: -3}, {Y: 2}, {Z: -1}, {X: 1, Y: 1e-9}, {X: 0.59, Y: 1}, {X: 0.61, Z: 1}, {X: 1e-5}}
	for range 200 {
		given = append(given, testkit.Normal(rng))
	}
	var e expansion
	for _, first := range given {
		for _, second := range given {
			if norm(cross(first, second)) < 1e-10*norm(first)*norm(second) {
				continue
			}
			var basis [3]r3.Vec
			list := [3]r3.Vec{first, second, r3.Add(cross(first, second), r3.Scale(0.3, first))}
			for n := 1; n <= 3; n++ {
				e.extend(&basis, n, list[n-1])
				for i := range 3 {
					for j := range 3 {
						want := 0.0
						if i == j {
							want = 1
						}
						if got := r3.Dot(basis[i], basis[j]); !(math.Abs(got-want) < 1e-14) {
							t.Fatalf("%v, step %d: vectors %d and %d have the product %g", list, n, i, j, got)
						}
					}
				}
				for i := range n {
					rest := list[i]
					for k := range n {
						rest = r3.Sub(rest, r3.Scale(r3.Dot(rest, basis[k]), basis[k]))
					}
					if !(norm(rest) < 1e-14*norm(list[i])) {
						t.Fatalf("%v, step %d: vector %d is %g beside the span", list, n, i, norm(rest))
					}
				}
			}
		}
	}
}
