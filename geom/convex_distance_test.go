package geom_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/spatial/r3"
)

// The sides of a prism at a random rotation are quadrilaterals that rounding splits into triangles, nearly coplanar.
// Within rounding of a vertex the signed distance is that rounding, whichever of the triangles has the vertex.
func TestResidualAtVerticesOfPrisms(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	for range 400 {
		sides := 3 + rng.IntN(20)
		pose := testkit.Pose(rng, 1)
		var vertices []r3.Vec
		for k := range sides {
			sin, cos := math.Sincos(2 * math.Pi * float64(k) / float64(sides))
			for _, z := range [2]float64{-0.4, 0.4} {
				vertices = append(vertices, pose.Apply(r3.Vec{X: 0.3 * cos, Y: 0.3 * sin, Z: z}))
			}
		}
		c, err := geom.NewConvex(vertices)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range vertices {
			for range 40 {
				inward := math.Pow(10, -16+3*rng.Float64())
				aim := r3.Scale(0.3, testkit.Unit(rng))
				p := r3.Add(v, r3.Scale(inward, r3.Sub(r3.Add(c.Center(), aim), v)))
				if d := c.Residual(p); !(math.Abs(d) <= 1e-12) {
					t.Fatalf("prism of %d sides: %g at %g of the way inward from a vertex", sides, d, inward)
				}
			}
		}
	}
}
