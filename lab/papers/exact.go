package papers

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"

	"gonum.org/v1/gonum/spatial/r3"
)

// whole is a point with integer coordinates, in units of 2⁻²⁵⁶ m: fine enough for
// every float64 that these experiments make, and for sums of them, without rounding.
type whole [3]*big.Int

const wholeShift = 256

func toWhole(v r3.Vec) (p whole) {
	for k, c := range [3]float64{v.X, v.Y, v.Z} {
		r := new(big.Rat).SetFloat64(c)
		r.Mul(r, new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), wholeShift)))
		if !r.IsInt() {
			panic("coordinate too fine")
		}
		p[k] = r.Num()
	}
	return p
}

func (p whole) minus(q whole) (d whole) {
	for k := range d {
		d[k] = new(big.Int).Sub(p[k], q[k])
	}
	return d
}

func (p whole) dot(q whole) *big.Int {
	sum := new(big.Int)
	for k := range p {
		sum.Add(sum, new(big.Int).Mul(p[k], q[k]))
	}
	return sum
}

// closest is the point num/den, the closest to the origin.
type closest struct {
	num whole
	den *big.Int
}

// optimal reports whether p is not on the near side of the plane through it: <x, p> ≥ <x, x>.
func (f closest) optimal(p whole) bool {
	xp := f.num.dot(p)
	return xp.Mul(xp, f.den).Cmp(f.num.dot(f.num)) >= 0
}

// distance returns the length of the projection of the origin in metres.
func (f closest) distance() *big.Float {
	const prec = 600
	d := new(big.Float).SetPrec(prec).SetInt(f.num.dot(f.num))
	d.Sqrt(d)
	d.Quo(d, new(big.Float).SetPrec(prec).SetInt(f.den))
	return d.SetMantExp(d, -wholeShift)
}

// exactNearest returns the point of the hull of up to four points nearest to the
// origin, and the points that support it, with every operation exact: it is
// Johnson's recursion [Montanari2017, eq. 16-19] in integers. The answer is checked
// by the condition of optimality.
func exactNearest(v []whole) (f closest, support []whole, err error) {
	var dot [4][4]*big.Int
	for i := range v {
		for j := range v {
			dot[i][j] = v[i].dot(v[j])
		}
	}
	var delta [4][16]*big.Int
	for i := range v {
		delta[i][1<<i] = big.NewInt(1)
	}
	full := uint(1)<<len(v) - 1
	for w := uint(1); w <= full; w++ {
		l := bits.TrailingZeros(w)
		for i := range v {
			if w>>i&1 == 1 {
				continue
			}
			sum := new(big.Int)
			for j := range v {
				if w>>j&1 == 1 {
					d := new(big.Int).Sub(dot[j][l], dot[j][i])
					sum.Add(sum, d.Mul(d, delta[j][w]))
				}
			}
			delta[i][w|1<<i] = sum
		}
	}
subsets:
	for w := uint(1); w <= full; w++ {
		for j := range v {
			if s := delta[j][w|1<<j].Sign(); w>>j&1 == 1 && s <= 0 || w>>j&1 == 0 && s > 0 {
				continue subsets
			}
		}
		f = closest{num: whole{new(big.Int), new(big.Int), new(big.Int)}, den: new(big.Int)}
		for j := range v {
			if w>>j&1 == 1 {
				support = append(support, v[j])
				f.den.Add(f.den, delta[j][w])
				for k := range f.num {
					f.num[k].Add(f.num[k], new(big.Int).Mul(delta[j][w], v[j][k]))
				}
			}
		}
		for _, p := range v {
			if !f.optimal(p) {
				return f, nil, fmt.Errorf("exact solution of %v is not optimal", v)
			}
		}
		return f, support, nil
	}
	return f, nil, fmt.Errorf("no subset of %v is optimal", v)
}

// off returns | |x| − exact |.
func off(x r3.Vec, exact *big.Float) float64 {
	d := closest{toWhole(x), big.NewInt(1)}.distance()
	e, _ := d.Sub(d, exact).Float64()
	return math.Abs(e)
}
