package kinematics

import "math"

// Parts of π/2, of which the first two have 25 bits, so that their products with whole numbers of up to 28 bits are
// exact: twice those of π/4 in [Cephes], which package math has, too.
const (
	halfPi1 = 2 * 7.85398125648498535156e-1
	halfPi2 = 2 * 3.77489470793079817668e-8
	halfPi3 = 2 * 2.69515142907905952645e-15
)

// reduced is the largest argument that three parts of π/2 reduce.
const reduced = 1 << 20

// sincos returns sine and cosine as [math.Sincos] does, to two units in the last place of 1, without a branch on the
// octant, which nothing predicts: the polynomials of Cephes over [-π/4, π/4], exchanged and negated by bits.
func sincos(x float64) (float64, float64) {
	if !(math.Abs(x) <= reduced) {
		return math.Sincos(x)
	}
	const shift = 3 << 51 // a number of this size has no fraction
	t := x*(2/math.Pi) + shift
	k := math.Float64bits(t)
	n := t - shift
	r := ((x - n*halfPi1) - n*halfPi2) - n*halfPi3
	z := r * r
	// The coefficients in pairs, which a processor adds side by side.
	zz := z * z
	s := r + r*z*((-1.66666666666666307295e-1+8.33333333332211858878e-3*z)+
		zz*((-1.98412698295895385996e-4+2.75573136213857245213e-6*z)+
			zz*(-2.50507477628578072866e-8+1.58962301576546568060e-10*z)))
	c := 1 - 0.5*z + zz*((4.16666666666665929218e-2-1.38888888888730564116e-3*z)+
		zz*((2.48015872888517045348e-5-2.75573141792967388112e-7*z)+
			zz*(2.08757008419747316778e-9-1.13585365213876817300e-11*z)))
	sine, cosine := math.Float64bits(s), math.Float64bits(c)
	exchanged := (sine ^ cosine) & -(k & 1)
	sine ^= exchanged ^ (k&2)<<62
	cosine ^= exchanged ^ ((k+1)&2)<<62
	return math.Float64frombits(sine), math.Float64frombits(cosine)
}
