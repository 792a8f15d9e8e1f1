package contact

// The numbers of a body that its rotation without torque needs, see [Simulation.rotate].

import (
	"math"
	"math/big"

	"clearance/contact/lanes"

	"gonum.org/v1/gonum/spatial/r3"
)

// setRotation sets the principal axes of a movable body and what follows from its moments.
func setRotation(f *lanes.Fixed) {
	moments, axes := principalAxes(f.Inertia)
	for i, axis := range axes {
		f.Axes[i], f.Axes[3+i], f.Axes[6+i] = axis.X, axis.Y, axis.Z
	}
	for i, m := range moments {
		f.Turn[i] = 1 / m
	}
	difference := func(i, j int) float64 { return (moments[j] - moments[i]) / (moments[i] * moments[j]) }
	f.Spread = [3]float64{difference(0, 1), difference(1, 2), difference(0, 2)}
	if moments[2]-moments[0] <= roundMoments*moments[2] {
		f.Round = 1
	}
	f.Series = seriesOf(moments)
}

// roundMoments is the relative difference of principal moments up to which a body rotates as one whose moments are
// equal, about its angular momentum. That rotation keeps energy and momentum whatever the moments are; its rate is off
// by the same share.
const roundMoments = 0x1p-40

// principalAxes returns the principal moments of an inertia, in ascending order, and right-handed axes, by Jacobi's
// rotations. Those of a diagonal inertia are exact.
func principalAxes(in [6]float64) (moments [3]float64, axes [3]r3.Vec) {
	a := [3][3]float64{{in[0], in[3], in[4]}, {in[3], in[1], in[5]}, {in[4], in[5], in[2]}}
	v := [3][3]float64{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}} // columns are axes
	for range 30 {                                      // it converges quadratically, in less than ten
		done := true
		for _, pair := range [3][2]int{{0, 1}, {0, 2}, {1, 2}} {
			p, q := pair[0], pair[1]
			if math.Abs(a[p][q]) <= 0x1p-60*math.Sqrt(a[p][p])*math.Sqrt(a[q][q]) {
				continue // it changes both moments by less than their rounding
			}
			done = false
			jacobi(&a, &v, p, q)
		}
		if done {
			break
		}
	}
	order := [3]int{0, 1, 2}
	for _, i := range [3]int{0, 1, 0} {
		if a[order[i+1]][order[i+1]] < a[order[i]][order[i]] {
			order[i], order[i+1] = order[i+1], order[i]
		}
	}
	for i, k := range order {
		moments[i], axes[i] = a[k][k], r3.Vec{X: v[0][k], Y: v[1][k], Z: v[2][k]}
	}
	axes[2] = r3.Cross(axes[0], axes[1])
	return moments, axes
}

// jacobi is a rotation of Jacobi's method: it makes element p, q zero.
func jacobi(a, v *[3][3]float64, p, q int) {
	theta := (a[q][q] - a[p][p]) / (2 * a[p][q])
	t := 1 / (math.Abs(theta) + math.Sqrt(theta*theta+1))
	if theta < 0 {
		t = -t
	}
	c := 1 / math.Sqrt(t*t+1)
	s := t * c
	a[p][p], a[q][q] = a[p][p]-t*a[p][q], a[q][q]+t*a[p][q]
	a[p][q], a[q][p] = 0, 0
	r := 3 - p - q
	a[r][p], a[r][q] = c*a[r][p]-s*a[r][q], s*a[r][p]+c*a[r][q]
	a[p][r], a[q][r] = a[r][p], a[r][q]
	for i := range v {
		v[i][p], v[i][q] = c*v[i][p]-s*v[i][q], s*v[i][p]+c*v[i][q]
	}
}

// seriesTerm is num/den·e1^e[0]·e2^e[1]·e3^e[2]·H^h·C^c, where e1, e2 and e3 are the elementary symmetric polynomials
// of the inverse moments, H the energy and C half the square of the angular momentum.
type seriesTerm struct {
	num, den int64
	e        [3]int
	h, c     int
}

// The discrete Moser-Veselov step of length h with the inverse moments aᵢ(1 + s) + d is the exact rotation of a body of
// the inverse moments aᵢ, where s = h²s₃ + h⁴s₅ + …, d likewise, and s₃, d₃, … are polynomials in H and C, which the
// step keeps (E. Hairer and G. Vilmart, Preprocessed discrete Moser-Veselov algorithm for the full dynamics of a rigid
// body, J. Phys. A 39, 2006: s₃ and d₃). Those of higher order follow from the power series of both rotations, of
// symmetric polynomials of the right degrees; TestRotationOrder shows the order of what is left.
var (
	stretch = []seriesTerm{ // s
		{-1, 3, [3]int{1, 0, 0}, 1, 0}, {1, 6, [3]int{0, 1, 0}, 0, 1},

		{1, 30, [3]int{2, 0, 0}, 2, 0}, {-1, 60, [3]int{0, 1, 0}, 2, 0}, {-1, 30, [3]int{1, 1, 0}, 1, 1},
		{2, 15, [3]int{0, 0, 1}, 1, 1}, {1, 30, [3]int{0, 2, 0}, 0, 2}, {-1, 10, [3]int{1, 0, 1}, 0, 2},

		{-1, 630, [3]int{3, 0, 0}, 3, 0}, {1, 630, [3]int{1, 1, 0}, 3, 0}, {1, 35, [3]int{0, 0, 1}, 3, 0},
		{1, 420, [3]int{2, 1, 0}, 2, 1}, {41, 2520, [3]int{0, 2, 0}, 2, 1}, {-53, 630, [3]int{1, 0, 1}, 2, 1},
		{-1, 70, [3]int{1, 2, 0}, 1, 2}, {11, 210, [3]int{2, 0, 1}, 1, 2}, {-1, 84, [3]int{0, 1, 1}, 1, 2},
		{17, 2520, [3]int{0, 3, 0}, 0, 3}, {-11, 420, [3]int{1, 1, 1}, 0, 3}, {5, 126, [3]int{0, 0, 2}, 0, 3},
	}
	shift = []seriesTerm{ // d
		{1, 6, [3]int{0, 1, 0}, 1, 0}, {-1, 3, [3]int{0, 0, 1}, 0, 1},

		{-1, 60, [3]int{1, 1, 0}, 2, 0}, {-1, 10, [3]int{0, 0, 1}, 2, 0}, {-1, 60, [3]int{0, 2, 0}, 1, 1},
		{2, 15, [3]int{1, 0, 1}, 1, 1}, {-1, 60, [3]int{0, 1, 1}, 0, 2},

		{1, 1260, [3]int{2, 1, 0}, 3, 0}, {-13, 1260, [3]int{0, 2, 0}, 3, 0}, {1, 42, [3]int{1, 0, 1}, 3, 0},
		{13, 2520, [3]int{1, 2, 0}, 2, 1}, {-8, 315, [3]int{2, 0, 1}, 2, 1}, {11, 252, [3]int{0, 1, 1}, 2, 1},
		{1, 1260, [3]int{0, 3, 0}, 1, 2}, {-1, 1260, [3]int{1, 1, 1}, 1, 2}, {-22, 315, [3]int{0, 0, 2}, 1, 2},
		{-19, 2520, [3]int{0, 2, 1}, 0, 3}, {1, 35, [3]int{1, 0, 2}, 0, 3},
	}
)

// seriesOf returns the coefficients of s and then those of d/a₂, of a₁ ≥ a₂ ≥ a₃, for the products of X = h²a₁(H − a₂C)
// and Z = h²a₂²C: X, Z, X², XZ, Z², X³, X²Z, XZ², Z³. Triangle inequality gives a₁(a₂ − a₃) ≤ a₂a₃, by which they are
// bounded for every body, as |X| and Z are by the square of the angle of a step. Those of H and C are not: of a needle
// they cancel but for (a₂/a₁)³, which is at least 1e-42 ([inertiaFault]) and the reason for 512 bits.
func seriesOf(moments [3]float64) (out [18]float64) {
	const bits = 512
	number := func(x float64) *big.Float { return new(big.Float).SetPrec(bits).SetFloat64(x) }
	mul := func(x, y *big.Float) *big.Float { return new(big.Float).SetPrec(bits).Mul(x, y) }
	add := func(x, y *big.Float) *big.Float { return new(big.Float).SetPrec(bits).Add(x, y) }
	quo := func(x, y *big.Float) *big.Float { return new(big.Float).SetPrec(bits).Quo(x, y) }
	power := func(x *big.Float, n int) *big.Float {
		p := number(1)
		for range n {
			p = mul(p, x)
		}
		return p
	}
	var a [3]*big.Float // in units of a₁
	for i, m := range moments {
		a[i] = quo(number(moments[0]), number(m))
	}
	e := [3]*big.Float{add(add(a[0], a[1]), a[2]), add(add(mul(a[0], a[1]), mul(a[1], a[2])), mul(a[2], a[0])),
		mul(mul(a[0], a[1]), a[2])}
	var sums [18]*big.Float
	for i := range sums {
		sums[i] = number(0)
	}
	for half, terms := range [2][]seriesTerm{stretch, shift} {
		for _, t := range terms {
			k := t.h + t.c
			v := quo(number(float64(t.num)), number(float64(t.den)))
			for i, n := range t.e {
				v = mul(v, power(e[i], n))
			}
			binomial := 1.0
			for j := range t.h + 1 { // H^h = Σ binomial·(H − a₂C)^(h−j)·(a₂C)^j
				at := [4]int{0, 0, 2, 5}[k] + t.c + j
				sums[9*half+at] = add(sums[9*half+at], mul(number(binomial), mul(v, power(a[1], j))))
				binomial = binomial * float64(t.h-j) / float64(j+1)
			}
		}
	}
	for half := range 2 {
		at := 9 * half
		for k := 1; k <= 3; k++ {
			for z := range k + 1 { // of X^(k−z)·Z^z
				out[at], _ = quo(sums[at], power(a[1], 2*z+half)).Float64()
				at++
			}
		}
	}
	return out
}
