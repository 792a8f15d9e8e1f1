package hull

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/spatial/r3"
)

// TestOrient3DExact compares the predicate with rational arithmetic on points that
// are coplanar but for their last bits, over the whole range of magnitudes.
func TestOrient3DExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	seen := map[int]int{}
	for round := range 4000 {
		scale := math.Pow(10, float64(rng.IntN(99)-90)) // 1e-90..1e8
		a := r3.Scale(scale, randomPoint(rng))
		b := r3.Scale(scale, randomPoint(rng))
		c := r3.Scale(scale*math.Pow(10, float64(-rng.IntN(12))), randomPoint(rng))
		p := r3.Add(a, r3.Add(r3.Scale(rng.NormFloat64(), r3.Sub(b, a)), r3.Scale(rng.NormFloat64(), r3.Sub(c, a))))
		switch round % 3 {
		case 1: // exactly coplanar: small integers
			q := func() r3.Vec {
				x, y := float64(rng.IntN(9)), float64(rng.IntN(9))
				return vec(x, y, 3*x-2*y+7)
			}
			a, b, c, p = r3.Scale(0x1p-40, q()), r3.Scale(0x1p-40, q()), r3.Scale(0x1p-40, q()), r3.Scale(0x1p-40, q())
		case 2: // mixed magnitudes
			p.X = math.Nextafter(a.X, b.X)
		}
		for _, v := range []*r3.Vec{&a, &b, &c, &p} {
			*v = vec(flush(v.X), flush(v.Y), flush(v.Z))
		}
		want := orientBig(a, b, c, p)
		seen[want]++
		if got := Orient3D(a, b, c, p); got != want {
			t.Fatalf("Orient3D(%v, %v, %v, %v) = %d, want %d", a, b, c, p, got, want)
		}
		if got := Orient3D(b, a, c, p); got != -want {
			t.Fatalf("Orient3D(%v, %v, %v, %v) = %d after a swap, want %d", b, a, c, p, got, -want)
		}
		if got := orient3DExact(a, b, c, p); got != want {
			t.Fatalf("orient3DExact(%v, %v, %v, %v) = %d, want %d", a, b, c, p, got, want)
		}
	}
	if seen[-1] < 500 || seen[0] < 500 || seen[1] < 500 {
		t.Errorf("samples do not test every sign: %v", seen)
	}
}

func TestCollinearExact(t *testing.T) {
	for _, tt := range []struct {
		a, b, c r3.Vec
		want    bool
	}{
		{vec(0, 0, 0), vec(1, 2, 3), vec(3, 6, 9), true},
		{vec(0, 0, 0), vec(1, 2, 3), vec(3, 6, math.Nextafter(9, 10)), false},
		{vec(1e9, 1e9, 1e9), vec(1e9, 1e9, 1e9), vec(1, 2, 3), true},
		{vec(0, 0, 0), vec(1e9, 0, 0), vec(1, 1e-90, 0), false},
		{vec(0, 0, 0), vec(0x1p-299, 0, 0), vec(0x1p-298, 0, 0), true},
		{vec(0.1, 0.2, 0.3), vec(0.2, 0.4, 0.6), vec(0.4, 0.8, 1.2), true},
		{vec(0.1, 0.2, 0.3), vec(0.2, 0.4, 0.6), vec(0.3, 0.6, 0.9), false}, // as floats
	} {
		if got := Collinear(tt.a, tt.b, tt.c); got != tt.want {
			t.Errorf("Collinear(%v, %v, %v) = %v", tt.a, tt.b, tt.c, got)
		}
	}
}

func TestCompareAlongExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	seen := map[int]int{}
	for range 3000 {
		d, w, v := randomPoint(rng), randomPoint(rng), r3.Vec{}
		// v differs from w within the plane normal to d, up to rounding.
		v = r3.Add(w, r3.Cross(d, randomPoint(rng)))
		if rng.IntN(3) == 0 {
			d.Z, v = 0, vec(w.X, w.Y, w.Z+1)
		}
		sum := new(big.Rat)
		for _, x := range [3][3]float64{{d.X, w.X, v.X}, {d.Y, w.Y, v.Y}, {d.Z, w.Z, v.Z}} {
			diff := new(big.Rat).Sub(new(big.Rat).SetFloat64(x[1]), new(big.Rat).SetFloat64(x[2]))
			sum.Add(sum, diff.Mul(diff, new(big.Rat).SetFloat64(x[0])))
		}
		seen[sum.Sign()]++
		if got := compareAlong(d, w, v); got != sum.Sign() {
			t.Fatalf("compareAlong(%v, %v, %v) = %d, want %d", d, w, v, got, sum.Sign())
		}
	}
	if seen[-1] < 300 || seen[0] < 300 || seen[1] < 300 {
		t.Errorf("samples do not test every sign: %v", seen)
	}
}

// TestUnitNormalOfSliver: the float cross product of this triangle has no correct
// digit, the exact one all of them.
func TestUnitNormalOfSliver(t *testing.T) {
	a := vec(0.1, 0.2, 0.3)
	b := vec(1.1, 1.2, 1.3)
	c := vec(2.1, 2.2, math.Nextafter(2.3, 3))
	if Collinear(a, b, c) {
		t.Fatal("the sliver is degenerate")
	}
	n := unitNormal(a, b, c)
	exact := [3]*big.Rat{}
	comp := func(v r3.Vec, i int) *big.Rat {
		return new(big.Rat).SetFloat64([3]float64{v.X, v.Y, v.Z}[i])
	}
	norm := 0.0
	for i := range 3 {
		j, k := (i+1)%3, (i+2)%3
		u := func(p r3.Vec, i int) *big.Rat { return new(big.Rat).Sub(comp(p, i), comp(a, i)) }
		exact[i] = new(big.Rat).Sub(new(big.Rat).Mul(u(b, j), u(c, k)), new(big.Rat).Mul(u(b, k), u(c, j)))
		f, _ := exact[i].Float64()
		norm += f * f
	}
	for i := range 3 {
		f, _ := exact[i].Float64()
		if got, want := [3]float64{n.X, n.Y, n.Z}[i], f/math.Sqrt(norm); math.Abs(got-want) > 4*roundoff {
			t.Errorf("component %d is %v, want %v", i, got, want)
		}
	}
}
