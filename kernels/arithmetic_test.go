//go:build cgo

package kernels_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/spatial/r2"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
	"clearance/internal/testkit"
)

// The logarithm and the exponential of every instruction set of this machine stay within the
// errors that elementary.h states, in units of 2⁻²⁴ and 2⁻⁵³ of the result.
func TestElementary(t *testing.T) {
	args := elementaryArguments()
	var in bytes.Buffer
	if err := binary.Write(&in, binary.LittleEndian, args); err != nil {
		t.Fatal(err)
	}
	eachVariant(t, func(t *testing.T, variant string) {
		for _, bits := range []int{32, 64} {
			t.Run(fmt.Sprintf("float%d", bits), func(t *testing.T) {
				out := runProgram(t, variant, "elementary.c", in.Bytes(), fmt.Sprintf("-DREAL_BITS=%d", bits))
				got := make([][3]float64, len(args))
				if err := binary.Read(bytes.NewReader(out), binary.LittleEndian, got); err != nil {
					t.Fatal(err)
				}
				checkElementary(t, args, got, bits)
			})
		}
	})
}

// elementaryArguments are positive numbers that float32 holds: near 1, where the logarithm
// vanishes, with all exponents, powers of two and their neighbors, and in [0, 1].
func elementaryArguments() (x []float64) {
	rng := rand.New(rand.NewPCG(63, 64))
	add := func(v float64) { x = append(x, float64(float32(v))) }
	for range 4000 {
		add(rng.Float64())
		add(math.Exp2(-125 * rng.Float64()))
		add(1 + math.Ldexp(rng.Float64()-0.5, -int(20*rng.Float64())))
		add(math.Sqrt2 * (1 + math.Ldexp(rng.Float64()-0.5, -int(20*rng.Float64()))) / 2)
		add((math.Sqrt2 - 1) * (1 + math.Ldexp(rng.Float64()-0.5, -int(20*rng.Float64()))))
		add(100 * rng.Float64())
	}
	for k := range 120 {
		p := math.Ldexp(1, -k)
		add(p)
		x = append(x, float64(math.Nextafter32(float32(p), 0)), float64(math.Nextafter32(float32(p), 2)))
	}
	return x
}

func checkElementary(t *testing.T, args []float64, got [][3]float64, bits int) {
	unit, logs := 0x1p-24, 8.0
	if bits == 64 {
		unit, logs = 0x1p-53, 6
	}
	var names = strings.Fields("log2 log2_1p exp2")
	limit := [3]float64{logs, logs, 3}
	var worst [3]float64
	for i, x := range args {
		want := [3]float64{math.Log2(x), math.Log1p(x) / math.Ln2, math.Exp2(-x)}
		if x > 0.7 && x < 1.5 { // where the logarithm of package math cancels
			want[0] = math.Log1p(x-1) / math.Ln2
		}
		for k := range want {
			if k == 1 && x > 1 || k == 2 && x > 125 {
				continue // outside the domain of the function
			}
			if want[k] == 0 {
				if got[i][k] != 0 {
					t.Fatalf("%s(%g) = %g, want 0", names[k], x, got[i][k])
				}
				continue
			}
			e := math.Abs(got[i][k]-want[k]) / math.Abs(want[k]) / unit
			if !(e <= limit[k]) {
				t.Fatalf("%s(%g) = %.17g, want %.17g: off by %g units, more than %g", names[k], x, got[i][k], want[k],
					e, limit[k])
			}
			worst[k] = max(worst[k], e)
		}
	}
	t.Logf("at most %.2f units off: log2 %.2f, log2_1p %.2f, exp2 %.2f", max(worst[0], worst[1], worst[2]), worst[0],
		worst[1], worst[2])
}

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
