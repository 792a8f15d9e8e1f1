//go:build cgo

package simd_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/spatial/r2"
	"gonum.org/v1/gonum/spatial/r3"
)

// Support points, gradients and Hessians of hessian.h are those of package geom, in a basis of the plane
// orthogonal to the direction.
func TestHessians(t *testing.T) {
	const ellipsoid, superquadric, revolution, hull = 1, 3, 4, 5 // classes of api.h
	rng := rand.New(rand.NewPCG(71, 72))
	var rows [][9]float64
	var shapes []geom.Smooth
	var directions []r3.Vec
	for i := range 3000 {
		u := testkit.Unit(rng)
		axes := r3.Vec{X: math.Exp(rng.NormFloat64()), Y: math.Exp(rng.NormFloat64()), Z: math.Exp(rng.NormFloat64())}
		row := [9]float64{ellipsoid, axes.X, axes.Y, axes.Z, 0, 0, u.X, u.Y, u.Z}
		var s geom.Smooth = geom.Ellipsoid{SemiAxes: axes}
		beta := 2.1 * math.Exp(4*rng.Float64())
		switch i % 6 {
		case 0:
			var corners []r3.Vec
			for k := range 8 {
				sign := func(bit int) float64 { return float64(k>>bit&1*2 - 1) }
				corners = append(corners, r3.Vec{X: sign(0) * axes.X, Y: sign(1) * axes.Y, Z: sign(2) * axes.Z})
			}
			h, err := geom.NewSmoothHull(corners, beta, r3.Vec{})
			if err != nil {
				t.Fatal(err)
			}
			row[0], row[4], s = hull, beta, h
		case 1:
			gamma := math.Exp(-6 * rng.Float64())
			r, err := geom.NewSmoothRevolution([]r2.Vec{{X: axes.X, Y: axes.Y}, {X: axes.X, Y: -axes.Y},
				{X: axes.X / 2, Y: axes.Z}}, beta, gamma)
			if err != nil {
				t.Fatal(err)
			}
			row[0], row[4], row[5], s = revolution, beta, gamma, r
		case 2, 3, 4:
			q := geom.Superquadric{SemiAxes: axes, Alpha1: 0.1 + 1.8*rng.Float64(), Alpha2: 0.1 + 1.8*rng.Float64()}
			row[0], row[4], row[5] = superquadric, q.Alpha2, q.Alpha1
			s = q
		}
		rows, shapes, directions = append(rows, row), append(shapes, s), append(directions, u)
	}
	var in bytes.Buffer
	if err := binary.Write(&in, binary.LittleEndian, rows); err != nil {
		t.Fatal(err)
	}
	eachVariant(t, func(t *testing.T, variant string) {
		got := make([][15]float64, len(rows))
		if err := binary.Read(bytes.NewReader(runProgram(t, variant, "hessian.c", in.Bytes())), binary.LittleEndian,
			got); err != nil {
			t.Fatal(err)
		}
		for i, g := range got {
			p, q, at := r3.Vec{X: g[0], Y: g[1], Z: g[2]}, r3.Vec{X: g[3], Y: g[4], Z: g[5]},
				r3.Vec{X: g[6], Y: g[7], Z: g[8]}
			h, ok := shapes[i].SupportHessian(directions[i])
			if !ok {
				t.Fatalf("row %d: %+v has no Hessian", i, shapes[i])
			}
			size, s := shapes[i].BoundingRadius(), geom.Support(shapes[i], directions[i])
			bend := math.Abs(h[0]) + math.Abs(h[4]) + math.Abs(h[8])
			hp, hq := h.MulVec(p), h.MulVec(q)
			want := [9]float64{s.X, s.Y, s.Z, r3.Dot(directions[i], s), r3.Dot(p, s), r3.Dot(q, s), r3.Dot(p, hp),
				r3.Dot(p, hq), r3.Dot(q, hq)}
			for k, w := range want {
				scale := size
				if k >= 6 {
					scale = bend
					// (β − 1)/h times what two squares of lengths leave
					if rows[i][0] == revolution || rows[i][0] == hull {
						scale += 0.01 * rows[i][4] * size * size / want[3]
					}
				}
				if !(math.Abs(g[6+k]-w) <= 1e-11*scale) {
					t.Fatalf("row %d: value %d of %+v along %v at %v is %g, want %g", i, k, shapes[i], directions[i],
						at, g[6+k], w)
				}
			}
		}
	})
}
