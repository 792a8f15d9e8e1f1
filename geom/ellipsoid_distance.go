package geom

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// Residual is the signed distance, accurate to a few units of rounding of the
// longest semi-axis (or of |p|, if larger).
//
// With e the shortest semi-axis, rᵢ = (aᵢ/e)² and τ > 0, the nearest point of the
// surface is xᵢ = rᵢ·pᵢ/(τ + rᵢ - 1), where τ is the only positive root of
//
//	N(τ) = |(uᵢ)| = 1, uᵢ = rᵢ·(pᵢ/aᵢ)/(τ + rᵢ - 1),
//
// and the signed distance is (τ - 1)·|(pᵢ/(τ + rᵢ - 1))|: τ is 1 on the surface.
// 1/N is concave in τ, so Newton's method on 1/N = 1 rises monotonically from
// any τ below the root; the largest root of the single terms is such a start.
// Taking τ, not τ - 1, as the unknown keeps it exact for points near the medial
// disc, where it is tiny.
func (e Ellipsoid) Residual(p r3.Vec) float64 {
	a := [3]float64{e.SemiAxes.X, e.SemiAxes.Y, e.SemiAxes.Z}
	y := [3]float64{math.Abs(p.X), math.Abs(p.Y), math.Abs(p.Z)}
	s := 0 // the shortest axis
	if a[1] < a[s] {
		s = 1
	}
	if a[2] < a[s] {
		s = 2
	}
	short := a[s]
	// On the plane across the shortest axis the root may be τ = 0, a case of its
	// own. A step of 1e-20 of that axis off the plane avoids it and moves the
	// distance by no more than itself.
	y[s] = max(y[s], 1e-20*short)

	var w, delta [3]float64 // rᵢ·pᵢ/aᵢ and rᵢ - 1
	tau := 0.0
	for i := range 3 {
		ratio := a[i] / short
		delta[i] = (a[i] - short) / short * (ratio + 1)
		w[i] = y[i] / short * ratio
		tau = max(tau, w[i]-delta[i])
	}
	// Convergence is quadratic but for points near the evolute, where τ first
	// grows by half at a step, over 20 decades at most: that is 114 steps.
	for range 200 {
		n2, sum := 0.0, 0.0
		for i := range 3 {
			q := tau + delta[i]
			u := w[i] / q
			n2 += u * u
			sum += u * u / q
		}
		n := math.Sqrt(n2)
		next := tau + (n-1)*n2/sum
		if !(next > tau) { // rounding ends the rise; NaN ends it too
			break
		}
		tau = next
	}
	d2 := 0.0
	for i := range 3 {
		q := y[i] / (tau + delta[i])
		d2 += q * q
	}
	return (tau - 1) * math.Sqrt(d2)
}
