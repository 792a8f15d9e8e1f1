package geom

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// SupportHessian returns the Hessian of the nested dual norm; the conditions for
// ok are those of the type's comment. With u = |a·d.X| and so on,
// H_ij = aᵢ·aⱼ·sgn(dᵢ)·sgn(dⱼ)·∂²h/∂uᵢ∂uⱼ.
func (s Superquadric) SupportHessian(d r3.Vec) (h Mat3, ok bool) {
	dir, scale, ok := hessianDirection(d)
	if !ok {
		return h, false
	}
	u, v, w := s.SemiAxes.X*math.Abs(dir.X), s.SemiAxes.Y*math.Abs(dir.Y), s.SemiAxes.Z*math.Abs(dir.Z)
	switch {
	case u == 0 && v == 0:
		if s.Alpha1 == 1 && s.Alpha2 == 1 {
			return Ellipsoid{SemiAxes: s.SemiAxes}.SupportHessian(d)
		}
		return h, s.Alpha1 > 1 && s.Alpha2 >= 1 // the Hessian is 0: the pole is flat
	case w == 0 && s.Alpha1 < 1, (u == 0 || v == 0) && s.Alpha2 < 1:
		return h, false
	}

	l, gu, gv := split(u, v, s.Alpha2) // gradient of L
	n, gl, _ := split(l, w, s.Alpha1)  // n = h, gl = ∂h/∂L
	luu, luv, lvv := normHessian(u/l, v/l, 2/(2-s.Alpha2))
	hll, hlw, hww := normHessian(l/n, w/n, 2/(2-s.Alpha1))

	// Chain rule; normHessian takes arguments of norm 1, hence the factors 1/l, 1/n.
	inner, outer := gl/l, 1/n
	x := math.Copysign(s.SemiAxes.X, dir.X)
	y := math.Copysign(s.SemiAxes.Y, dir.Y)
	z := math.Copysign(s.SemiAxes.Z, dir.Z)
	xx := x * x / scale * (outer*hll*gu*gu + inner*luu)
	xy := x * y / scale * (outer*hll*gu*gv + inner*luv)
	yy := y * y / scale * (outer*hll*gv*gv + inner*lvv)
	xz := x * z / scale * outer * hlw * gu
	yz := y * z / scale * outer * hlw * gv
	zz := z * z / scale * outer * hww
	h = Mat3{xx, xy, xz, xy, yy, yz, xz, yz, zz}
	for _, e := range h {
		if e-e != 0 { // beside a direction where h is not C² it can overflow
			return h, false
		}
	}
	return h, true
}

// normHessian returns the second derivatives of (u^e + v^e)^(1/e) at (u, v) ≥ 0
// with u^e + v^e = 1.
func normHessian(u, v, e float64) (uu, uv, vv float64) {
	// Powers of e-2, so that e = 2 and a zero coordinate give 0⁰ = 1.
	pu, pv := math.Pow(u, e-2), math.Pow(v, e-2)
	k := (e - 1) * pu * pv
	if u == 0 || v == 0 {
		// k may be 0·0, or infinite for e < 2, which the caller has excluded.
		// The product pu·v^e is what is left.
		return (e - 1) * pu * math.Pow(v, e), 0, (e - 1) * pv * math.Pow(u, e)
	}
	return k * v * v, -k * u * v, k * u * u
}
