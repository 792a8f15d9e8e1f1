package geom

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// CapBound bounds the support function f of a core from below over a cap of directions. With x the
// CoreSupport of the unit direction n, for every y across n with |y| ≤ t,
//
//	f(n+y) ≥ <x, n+y> + ½·yᵀ·K·y - Slack·|y|,
//
// but for the rounding of one support value. K tends to the Hessian of f as t → 0, where there is one.
type CapBound struct {
	K     Mat3    // metres; of y across n only, and the rounding of K itself taken off
	Slack float64 // metres: by how much x, computed, may not be the gradient of f at n
}

// CurvatureOverCap returns a bound over the directions n + y, |y| ≤ t, for a unit vector n: within the
// angle atan(t) of n. For shapes that are not [Smooth], and where nothing better is known, K
// is zero, which is true of every convex function.
//
// All bounds but the ellipsoid's follow f along a segment from n to n + y and integrate its second
// derivative. A norm is homogeneous of degree 1, so that derivative, of degree -3 for a fixed area
// spanned with the displacement, is evaluated at the points of the segment divided by 1 + σr: there
// the linear part of f is constant. What is left to integrate is
//
//	∫ (1-σ)·(1+σr)⁻³ dσ over 0 ≤ σ ≤ 1  =  ½/(1+r),
//
// with r = <x, y>/f(n), which has to be above -½ over the cap.
func CurvatureOverCap(s Shape, n r3.Vec, t float64) CapBound {
	if !(t > 0) {
		return CapBound{}
	}
	var b CapBound
	switch s := s.(type) {
	case Ellipsoid:
		b = s.overCap(n, t)
	case Superquadric:
		b = s.overCap(n, t)
	case *SmoothHull:
		b = s.overCap(n, t)
	case *SmoothRevolution:
		b = s.overCap(n, t)
	case Rounded:
		return CurvatureOverCap(s.Shape, n, t)
	}
	for _, e := range b.K {
		if e-e != 0 {
			b.K = Mat3{}
			break
		}
	}
	return b
}

const (
	// steepest is the most that |r| may be over a cap.
	steepest = 0.5

	// rings is how many parts of equal width a cap is cut into.
	rings = 4

	// stiffest bounds the trace of what a term adds to K, in units of the support value: rounding
	// the direction by a few 2⁻⁵³ then shifts ½·yᵀKy by less than that of a support value.
	stiffest = 1e8

	unitRoundoff = 0x1p-53
)

// overCap uses that the square of f = |An| is a quadratic form. With a = <x, y> and
// q = f·yᵀHy, H the Hessian at n,
//
//	f(n+y) = √((f+a)² + q) ≥ f + a + q/(2·f(n+y)),
//
// and f(n+y) is at most f + t·|tangent part of x| + ½t²·trace H.
func (e Ellipsoid) overCap(n r3.Vec, t float64) CapBound {
	b := CapBound{Slack: 8 * unitRoundoff * e.BoundingRadius()}
	h, ok := e.SupportHessian(n)
	if !ok {
		return b
	}
	x := e.CoreSupport(n)
	f := r3.Dot(x, n)
	trace := h[0] + h[4] + h[8]
	k := f / (f + t*lengthAcross(x, n) + 0.5*t*t*trace)
	k *= 1 - 32*unitRoundoff
	b.add(&h, k*tame(k*trace, f), 32*unitRoundoff*trace)
	return b
}

// add adds k·(h - off·I) to K, k ≥ 0.
func (b *CapBound) add(h *Mat3, k, off float64) {
	if !(k > 0) {
		return
	}
	for i := range h {
		b.K[i] += k * h[i]
	}
	b.K[0] -= k * off
	b.K[4] -= k * off
	b.K[8] -= k * off
}

// addSquare adds k·v·vᵀ, less what rounding of v to a few units may be, k ≥ 0.
func (b *CapBound) addSquare(k float64, v r3.Vec, f float64) {
	vv := r3.Norm2(v)
	var h Mat3
	addSquare(&h, 1, v)
	b.add(&h, k*tame(k*vv, f), 32*unitRoundoff*vv)
}

// tame is what to multiply a term of that trace by, next to a support value f.
func tame(trace, f float64) float64 {
	if trace > stiffest*f {
		return stiffest * f / trace
	}
	return 1
}

// lengthAcross is the length of the part of x across the unit vector n.
func lengthAcross(x, n r3.Vec) float64 {
	return math.Sqrt(r3.Norm2(r3.Sub(x, r3.Scale(r3.Dot(x, n), n))))
}

// ring returns where ring i of a cap ends, as a share of its radius, and the share of the integral of the
// second derivative that lies on it.
func ring(i int, r float64) (end, share float64) {
	rest := func(s float64) float64 { s = (1 - s) / (1 + s*r); return s * s }
	start, end := float64(i)/rings, float64(i+1)/rings
	return end, (rest(start) - rest(end)) / (1 + r) * (1 - 64*unitRoundoff)
}
