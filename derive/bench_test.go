package derive

import (
	"math/rand/v2"
	"testing"

	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/spatial/r3"
)

// BenchmarkDerivative is the time of one row on one core: the derivatives are taken, then multiplied once.
func BenchmarkDerivative(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	ellipsoid := geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.5, Y: 0.2, Z: 0.3}}
	box := geom.Box{HalfExtents: r3.Vec{X: 0.2, Y: 0.3, Z: 0.45}}
	hull := testkit.Hull(rng, r3.Vec{X: 0.5, Y: 0.3, Z: 0.4}, 128)
	for _, c := range []struct {
		name string
		a, b geom.Shape
	}{{"ellipsoids", ellipsoid, ellipsoid}, {"boxes", box, box}, {"hulls of 128", hull, hull}} {
		var rows []Row
		for range 64 {
			rows = append(rows, placedAtGap(rng, c.a, c.b, 0.3))
		}
		for _, o := range []Options{{}, {Mode: Gumbel}, {Mode: Gaussian}} {
			b.Run(c.name+"/"+o.Mode.String(), func(b *testing.B) {
				var w Workspace
				i := 0
				for b.Loop() {
					d := w.Of(&rows[i%64], &o, uint64(i))
					d.VJP(&Cotangent{Value: 1, Normal: r3.Vec{X: 1}, WitnessA: r3.Vec{Y: 1}})
					i++
				}
			})
		}
	}
}
