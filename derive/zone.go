package derive

import (
	"math"

	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// The zone of a minimum n of the depth is a cap of normals about it in which there is no other minimum whose value is
// within the tolerance. With h the support function of D without its balls, δ = h(n) and b = δ + tolerance, let
//
//	h(n+y) ≥ δ + ½κ|y|²   for y orthogonal to n, |y| ≤ t, and κ > b.
//
// Then h exceeds b·|n+y|, since √(1+y²) ≤ 1 + ½y², where ½(κ-b)y² exceeds the tolerance; and h is strictly convex
// relative to b·|n+y|, so that n is the only minimum of these. Beyond |y| = t, h(n+y) ≥ δ + ½κt|y|, since h is convex:
// D has points as far as k = ½κt out in every direction orthogonal to n, and no higher than δ along n. With the share
// of the tolerance, tolerance·|y|/t, taken off k, h exceeds b up to the angle whose half has the tangent k/b, obtuse
// ones included. Flat features of two dimensions hold a disc about the difference of the witnesses, whose radius is k.

// provedZone returns the tangent of half the angle of the zone, 0 if none is proved.
func (w *Workspace) provedZone(p *problem, s *system, f *minima) float64 {
	inside := min(s.a.inside, s.b.inside)
	if s.a.flat == 1 && s.b.flat == 1 {
		inside *= math.Abs(cross2(s.tA[0], s.tB[0]))
	}
	if s.a.flat+s.b.flat == 2 {
		return inside / f.bound
	}
	// Half of what the curvature exceeds the depth by may be lost. Its share of the curvature:
	roll := f.rollA + f.rollB
	kappa := f.depth + s.least/2
	q := s.least / 2 / (kappa + roll)
	if !(q > 0) {
		return 0
	}
	most := math.Inf(1)
	d := r3.Scale(-1, s.n)
	if s.a.flat+s.b.flat == 1 {
		// Along the feature, t, h rises by inside·|<t, y>|, less by the mixed term of the Hessian with the direction z
		// across it. That is κ|<t, y>|² at least as long as |y| ≤ inside/(|<t, Kz>| + κ).
		t := s.tA[0]
		if s.b.flat == 1 {
			t = s.tB[0]
		}
		inside = min(sideInside(&p.a, &s.a, s.n, inside, q), sideInside(&p.b, &s.b, d, inside, q))
		most = inside / (math.Abs(cross2(t, s.k.mul(t))) + kappa)
	}
	if isPowered(p.a.core) || isPowered(p.b.core) {
		return w.poweredZone(p, s, f, inside, q)
	}
	t := min(most, reach(&p.a, &s.a, s.n, q), reach(&p.b, &s.b, d, q))
	return f.zoneOf(kappa, t)
}

// zoneOf is the zone of the bound κ up to |y| = t, 0 if h does not exceed b at half of t.
func (f *minima) zoneOf(kappa, t float64) float64 {
	t = min(t, 1e3) // of polytopes, whose curvature is that of balls, it is infinite
	if !(0.5*(kappa-f.bound)*t*t > 4*f.tolerance) {
		return 0
	}
	return (0.5*kappa*t - f.tolerance/t) / f.bound
}

// isPowered reports whether a support function is a sum of powers.
func isPowered(core geom.Shape) bool {
	switch core.(type) {
	case geom.Superquadric, *geom.SmoothHull, *geom.SmoothRevolution:
		return true
	}
	return false
}

func isSuperquadric(core geom.Shape) bool {
	_, ok := core.(geom.Superquadric)
	return ok
}

// reach is the t up to which the support function f of a core rises along y, |y| ≤ t, by at least 1/(1+q) of
// ½yᵀHy, H its Hessian at the unit direction d:
//
//   - Of an ellipsoid f(d+y) = √((f + <x, y>)² + f·yᵀHy) ≥ f + <x, y> + f·yᵀHy/(2·f(d+y)), where f(d+y) is at most
//     f + t·s + ½t²·trace H with s the length of the tangential part of the gradient x.
//   - Of a disc r·ρ(d), ρ(d+y) = √((ρ+a)² + b²) ≥ ρ + a + b²/(2(ρ+t)). On the side of a frustum half of q is for this,
//     and half for sideInside.
//   - Of polytopes H is 0.
func reach(s *placed, f *feature, d r3.Vec, q float64) float64 {
	dl := s.rot.MulVecT(d)
	switch c := s.core.(type) {
	case geom.Ellipsoid:
		x := c.CoreSupport(dl)
		h, ok := c.SupportHessian(dl)
		if !ok {
			return 0
		}
		value := r3.Dot(x, dl)
		slope := r3.Norm(r3.Sub(x, r3.Scale(value, dl)))
		trace := h[0] + h[4] + h[8]
		return 2 * value * q / (slope + math.Sqrt(slope*slope+2*trace*value*q))
	case geom.Cylinder, geom.Cone, geom.Frustum:
		if f.flat == 2 {
			return math.Inf(1)
		}
		if f.flat == 1 {
			q /= 2
		}
		return q * math.Hypot(dl.X, dl.Y)
	}
	return math.Inf(1)
}

// sideInside is the distance from the boundary of an edge that counts. The side of a frustum is curved: with (a, b)
// the unit direction of its line in the plane of radius and axis, the support function of the points up to i from x is
// i·|a·ρ(d) + b·d.Z| above that of x, which lies below i·|<t, y>| by up to i·|a|·y²/(2(ρ-t)). That is at most
// q/2/(1+q) of the curvature r/ρ of the circle through x for i ≤ q·r/(12|a|), q ≤ 1, t ≤ ρ·q/2.
func sideInside(s *placed, f *feature, d r3.Vec, inside, q float64) float64 {
	if f.flat != 1 {
		return inside
	}
	var bottom, top, half float64
	switch c := s.core.(type) {
	case geom.Cone:
		bottom, half = c.R, c.HalfLength
	case geom.Frustum:
		bottom, top, half = c.RBottom, c.RTop, c.HalfLength
	default:
		return inside
	}
	x := s.rot.MulVecT(r3.Sub(r3.Sub(f.point, s.pos), r3.Scale(s.radius, d)))
	z := max(-half, min(half, x.Z))
	r := bottom + (top-bottom)*(z+half)/(2*half)
	if a := math.Abs(top-bottom) / math.Hypot(top-bottom, 2*half); a > 0 {
		return min(inside, q*r/(12*a))
	}
	return inside
}

// capSizes are two sequences of caps over which the curvature of powers is bounded. The second is for sharp shapes,
// where the first cap of the first sequence is too wide.
var capSizes = [2][8]float64{
	{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1},
	{0.00005, 0.0001, 0.0002, 0.0004, 0.0008, 0.0016, 0.0032, 0.0064},
}

// poweredZone is the widest zone that lower bounds of the Hessians over caps prove (geom.HessianBounds). Of a core that
// is no power, 1/(1+q) of its Hessian counts up to its reach. inside is that of a feature with one direction.
func (w *Workspace) poweredZone(p *problem, s *system, f *minima, inside, q float64) (zone float64) {
	type side struct {
		placed *placed
		f      *feature
		d      r3.Vec
		bounds *geom.HessianBounds
		e      basis
	}
	sides := [2]side{{placed: &p.a, f: &s.a, d: s.n, bounds: &w.bounds[0]},
		{placed: &p.b, f: &s.b, d: r3.Scale(-1, s.n), bounds: &w.bounds[1]}}
	most := math.Inf(1)
	for k := range sides {
		x := &sides[k]
		x.e = basis{x.placed.rot.MulVecT(s.e[0]), x.placed.rot.MulVecT(s.e[1])}
		if !isPowered(x.placed.core) {
			most = min(most, reach(x.placed, x.f, x.d, q))
		}
	}
	reset := func() {
		for k := range sides {
			if x := &sides[k]; isPowered(x.placed.core) {
				x.bounds.Reset(x.placed.core, x.placed.rot.MulVecT(x.d))
			}
		}
	}
	over := func(t float64) (kappa float64) {
		var k sym2
		slack := 0.0
		for i := range sides {
			x := &sides[i]
			if isPowered(x.placed.core) {
				b := x.bounds.Widen(t)
				k.add(x.e.form(&b.K))
				slack += b.Slack
				continue
			}
			h := x.f.h
			h.add(sym2{-x.placed.radius, 0, -x.placed.radius})
			k.add(sym2{h[0] / (1 + q), h[1] / (1 + q), h[2] / (1 + q)})
		}
		return s.curvatureOf(k, t, inside) - f.rollA - f.rollB - 2*slack/t
	}
	for _, sizes := range capSizes {
		reset()
		for _, t := range sizes {
			if t > most {
				break
			}
			kappa := over(t)
			next := f.zoneOf(kappa, t)
			if !(kappa > f.bound) || zone > 0 && next <= zone {
				break
			}
			zone = next
		}
		if zone > 0 {
			return zone
		}
	}
	t := min(widestHalved, most)
	for range halvedCaps {
		reset()
		if zone = f.zoneOf(over(t), t); zone > 0 {
			return zone
		}
		t /= 2
	}
	return 0
}

// The caps that the kernel halves come last, so that a row that it proves is proved here: beside a rim, whose curvature
// is large, a reach may be shorter than all of capSizes.
const (
	widestHalved = 0.32
	halvedCaps   = 9
)

// curvatureOf is the κ of a form k on the tangent plane up to |y| = t: its least eigenvalue, or that across a feature,
// along which h rises by at least κ|<t, y>|² as well.
func (s *system) curvatureOf(k sym2, t, inside float64) float64 {
	if s.a.flat+s.b.flat == 0 {
		return k.least()
	}
	along := s.tA[0]
	if s.b.flat == 1 {
		along = s.tB[0]
	}
	across := vec2{-along[1], along[0]}
	return min(dot2(across, k.mul(across)), inside/t-math.Abs(dot2(across, k.mul(along))))
}
