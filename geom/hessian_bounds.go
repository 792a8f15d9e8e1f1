package geom

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// CapBound is a lower bound of the support function f of a core over a spherical cap of directions.
// With x the CoreSupport of the unit direction n, for every y orthogonal to n with |y| ≤ t,
//
//	f(n+y) ≥ <x, n+y> + ½·yᵀ·K·y - Slack·|y|,
//
// up to the rounding of one support value. As t → 0, K tends to the Hessian of f where it exists, up to
// 2⁻³⁰ of some terms.
type CapBound struct {
	K     Mat3    // metres; applies to y orthogonal to n only; reduced by its own rounding error
	Slack float64 // metres: bounds the error of the computed x as the gradient of f at n
}

// HessianBounds computes lower bounds of the Hessian of a support function over a sequence of
// spherical caps around one direction, each wider than the one before. It allocates nothing.
//
// All bounds except the ellipsoid's follow f along the segment from n to n + y and integrate its
// second derivative, which is bounded from below over each ring between two caps. A norm is
// homogeneous of degree 1, so the second derivative, of degree -3 for a fixed area spanned with the
// displacement, is evaluated at the points n + σy divided by 1 + σr, r = <x, y>/f(n): there the
// linear part of f is constant. The integral that remains over a ring,
//
//	∫ (1-σ)·(1+σr)⁻³ dσ  =  -½/(1+r)·((1-σ)/(1+σr))²,
//
// is smallest for the largest r. Where r may be below -½ the second derivative counts as zero.
type HessianBounds struct {
	shape Shape
	n     r3.Vec
	rings int
	end   [MaxCaps]float64
	outer ringBounds // of f, or of the first of two terms
	inner ringBounds // of the second term

	square  squareCap
	nested  nestedCap
	powers  powersCap
	profile profileCap
}

// MaxCaps is the largest number of caps, and so of calls of Widen.
const MaxCaps = 12

const (
	// steepest is the largest magnitude of r.
	steepest = 0.5

	// stiffest bounds the trace of K of one ring, in units of the support value: rounding the
	// direction by a few 2⁻⁵³ then shifts ½·yᵀKy by less than the rounding of a support value.
	stiffest = 1e8

	unitRoundoff = 0x1p-53
)

// Reset starts a sequence of caps around the unit direction n for the core of s.
func (c *HessianBounds) Reset(s Shape, n r3.Vec) {
	if r, ok := s.(Rounded); ok {
		s = r.Shape
	}
	c.shape, c.n, c.rings = s, n, 0
	c.outer.slope, c.inner.slope = 0, 0
	switch s := s.(type) {
	case Ellipsoid:
		c.square.reset(s, n)
	case Superquadric:
		c.nested.reset(c, s)
	case *SmoothHull:
		c.resetHull(s)
	case *SmoothRevolution:
		c.resetRevolution(s)
	}
}

// Widen returns the bound over the cap of directions n + y, |y| ≤ t, that is, within the angle
// atan(t) of n. Each t must be larger than the one before. For shapes that are not [Smooth], and
// where nothing better is known, K is zero, which holds for every convex function.
func (c *HessianBounds) Widen(t float64) (b CapBound) {
	if c.rings == MaxCaps || !(t > 0) || c.rings > 0 && !(t > c.end[c.rings-1]) {
		return b
	}
	c.end[c.rings] = t
	c.rings++
	switch s := c.shape.(type) {
	case Ellipsoid:
		c.square.widen(&b, t)
	case Superquadric:
		c.nested.widen(c, &b, t)
	case *SmoothHull:
		c.widenHull(&b, s, t)
	case *SmoothRevolution:
		c.widenRevolution(&b, s, t)
	}
	for _, e := range b.K {
		if e-e != 0 {
			b.K = Mat3{}
			break
		}
	}
	return b
}

// ringBounds holds a lower bound of the second derivative per ring, in units in which the linear part
// of f is constant.
type ringBounds struct {
	k     [MaxCaps]Mat3
	slope float64 // of r: the length of the tangential part of the gradient, divided by f
}

// integrate adds the integral over all rings, times a factor, to b.
func (d *ringBounds) integrate(b *CapBound, c *HessianBounds, times float64) {
	t := c.end[c.rings-1]
	rest := func(s float64) float64 { q := (1 - s/t) / (1 + s*d.slope); return q * q }
	start := 0.0
	for i := range c.rings {
		share := (rest(start) - rest(c.end[i])) / (1 + t*d.slope) * (1 - 64*unitRoundoff)
		for j := range b.K {
			b.K[j] += times * share * d.k[i][j]
		}
		start = c.end[i]
	}
}

// put sets the bound of the last ring to times·(h - off·I), times ≥ 0, scaled down where its trace is too
// large relative to the support value f.
func (d *ringBounds) put(c *HessianBounds, h *Mat3, times, off, f float64) {
	k := &d.k[c.rings-1]
	*k = Mat3{}
	if !(times > 0) {
		return
	}
	times *= traceLimit(times*(h[0]+h[4]+h[8]), f)
	for i := range h {
		k[i] = times * h[i]
	}
	k[0] -= times * off
	k[4] -= times * off
	k[8] -= times * off
}

// putSquare sets the bound of the last ring to times·v·vᵀ, less the effect of rounding errors of a few
// units in v.
func (d *ringBounds) putSquare(c *HessianBounds, times float64, v r3.Vec, f float64) {
	var h Mat3
	addSquare(&h, 1, v)
	d.put(c, &h, times, 32*unitRoundoff*r3.Norm2(v), f)
}

// traceLimit returns the factor by which to scale a term of the given trace, relative to a support
// value f.
func traceLimit(trace, f float64) float64 {
	if trace > stiffest*f {
		return stiffest * f / trace
	}
	return 1
}

// tangentialLength returns the length of the part of x orthogonal to the unit vector n, rounded up.
func tangentialLength(x, n r3.Vec) float64 {
	return math.Sqrt(r3.Norm2(r3.Sub(x, r3.Scale(r3.Dot(x, n), n)))) * (1 + 16*unitRoundoff)
}

// squareCap bounds f = |An|, whose square is a quadratic form. With a = <x, y> and q = f·yᵀHy,
// H the Hessian at n,
//
//	f(n+y) = √((f+a)² + q) ≥ f + a + q/(2·f(n+y)),
//
// and f(n+y) is at most f + t·|tangent part of x| + ½t²·trace H.
type squareCap struct {
	h               Mat3
	f, slope, trace float64
	slack           float64
}

func (q *squareCap) reset(e Ellipsoid, n r3.Vec) {
	x := e.CoreSupport(n)
	q.h, _ = e.SupportHessian(n)
	q.f, q.slope, q.trace = r3.Dot(x, n), tangentialLength(x, n), q.h[0]+q.h[4]+q.h[8]
	q.slack = 8 * unitRoundoff * e.BoundingRadius()
}

func (q *squareCap) widen(b *CapBound, t float64) {
	b.Slack = q.slack
	k := q.f / (q.f + t*q.slope + 0.5*t*t*q.trace) * (1 - 32*unitRoundoff)
	k *= traceLimit(k*q.trace, q.f)
	for i := range q.h {
		b.K[i] = k * q.h[i]
	}
	off := 32 * unitRoundoff * k * q.trace
	b.K[0] -= off
	b.K[4] -= off
	b.K[8] -= off
}

// normCap bounds the norm g(u, v) = (|u|^p + |v|^p)^(1/p) of two linear functions of the direction, over a cap.
// Along a segment its second derivative is, for u, v ≥ 0,
//
//	(p-1)·(uv)^(p-2)·g^(1-2p)·ω²,  ω = v·δu - u·δv,
//
// and ω is constant along the segment. Its points divided by the linear growth of g are
//
//	(u + σ·gv/g, v - σ·gu/g),  |σ| ≤ m = t·|ω|/(1-r),
//
// with the gradient (gu, gv).
type normCap struct {
	u, v, p float64 // at n, in units of g there
	gu, gv  float64
	g       float64
	omega   r3.Vec  // ω/g as a vector; orthogonal to n by construction
	area    float64 // its length divided by g: |ω|/g²
	slope   float64 // of |r|
}

func (c *normCap) reset(u, v, g, p float64, gradU, gradV, n r3.Vec) {
	c.u, c.v, c.g, c.p = u/g, v/g, g, p
	c.omega = r3.Sub(r3.Scale(c.v, gradU), r3.Scale(c.u, gradV))
	c.area = math.Sqrt(r3.Norm2(c.omega)) / g * (1 + 16*unitRoundoff)
	c.slope = tangentialLength(r3.Add(r3.Scale(c.gu, gradU), r3.Scale(c.gv, gradV)), n) / g * (1 + 4*unitRoundoff)
}

// lowest returns lower bounds, over |y| ≤ t, of the second derivative, in units of (ω/g²)²·g, and of
// ∂g/∂u. Powers multiply relative errors of a few units of roundoff by p; the factors below exceed that.
func (c *normCap) lowest(t float64) (second, leastGU float64) {
	r := t * c.slope
	if !(r <= steepest) {
		return 0, 0
	}
	const off = 16 * unitRoundoff
	m := t * c.area / (1 - r) * (1 + off)
	du, dv := m*c.gv, m*c.gu
	lowU, lowV := c.u*(1-off)-du*(1+off), c.v*(1-off)-dv*(1+off)
	most := max(pairNorm(c.u+du, math.Abs(c.v-dv), c.p), pairNorm(math.Abs(c.u-du), c.v+dv, c.p)) * (1 + off)
	var product float64 // of the two powers p-2
	switch {
	case c.p == 2:
		product = 1
	case c.p < 2:
		product = math.Pow(c.u+du, c.p-2) * math.Pow(c.v+dv, c.p-2)
	case lowU > 0 && lowV > 0: // u'·v' is concave in σ, so an end has the least
		product = math.Pow(min(lowU*(c.v+dv), (c.u+du)*lowV), c.p-2)
	}
	lose := 1 - 64*c.p*unitRoundoff
	return (c.p - 1) * product * math.Pow(most, 1-2*c.p) * lose, math.Pow(max(0, lowU)/most, c.p-1) * lose
}

// nestedCap bounds the support function of a superquadric, two nested norms: h = g(L, w) with L = g(u, v).
// L is at least the magnitude of its linear part, and g is increasing and convex in L: so h is at least g
// of the linear part plus the curvature of L times the smallest ∂g/∂L.
type nestedCap struct {
	outer, inner normCap
	pole         float64 // for directions along the local z: the smallest radius of the cross-section
	slack        float64
}

func (d *nestedCap) reset(c *HessianBounds, s Superquadric) {
	p, q, n := 2/(2-s.Alpha2), 2/(2-s.Alpha1), c.n
	d.slack = 16 * unitRoundoff * (p + q) * math.Sqrt(r3.Norm2(s.SemiAxes))
	d.pole = 0
	u, v, w := s.SemiAxes.X*math.Abs(n.X), s.SemiAxes.Y*math.Abs(n.Y), s.SemiAxes.Z*math.Abs(n.Z)
	if !(u > 0 || v > 0) {
		// L is zero and has no gradient. L(n + y) = L(y), which lies between the smallest and the
		// largest radius of the cross-section times |y|.
		d.pole = nearest(s.SemiAxes.X, s.SemiAxes.Y, s.Alpha2) * (1 - 16*unitRoundoff)
		most := farthest(s.SemiAxes.X, s.SemiAxes.Y, s.Alpha2) * (1 + 16*unitRoundoff)
		d.outer = normCap{v: 1, p: q, gv: 1, g: w, area: most / w}
		return
	}
	x := r3.Vec{X: math.Copysign(s.SemiAxes.X, n.X)} // gradients of u, v and w
	y := r3.Vec{Y: math.Copysign(s.SemiAxes.Y, n.Y)}
	z := r3.Vec{Z: math.Copysign(s.SemiAxes.Z, n.Z)}
	var l, h float64
	l, d.inner.gu, d.inner.gv = split(u, v, s.Alpha2)
	h, d.outer.gu, d.outer.gv = split(l, w, s.Alpha1)
	d.inner.reset(u, v, l, p, x, y, n)
	d.outer.reset(l, w, h, q, r3.Add(r3.Scale(d.inner.gu, x), r3.Scale(d.inner.gv, y)), z, n)
	c.outer.slope, c.inner.slope = d.outer.slope, d.inner.slope
}

func (d *nestedCap) widen(c *HessianBounds, b *CapBound, t float64) {
	b.Slack = d.slack
	k, leastGU := d.outer.lowest(t)
	if d.pole > 0 {
		c.outer.put(c, &Mat3{0: 1, 4: 1}, k/d.outer.g*d.pole*d.pole, 0, d.outer.g)
		c.outer.integrate(b, c, 1)
		return
	}
	c.outer.putSquare(c, k/d.outer.g, d.outer.omega, d.outer.g)
	c.outer.integrate(b, c, 1)
	k, _ = d.inner.lowest(t)
	c.inner.putSquare(c, k/d.inner.g, d.inner.omega, d.inner.g)
	c.inner.integrate(b, c, leastGU)
}

// powersCap bounds the sum of powers f = (Σ max(0, <q, d>)^β)^(1/β) over a cap. Along a segment, with τ the
// products <q, d> and aⱼ, bⱼ those of its start and of the displacement,
//
//	f″ = (β-1)·S^(1/β-2)·½·ΣΣ (τⱼτₖ)^(β-2)·(aⱼbₖ-aₖbⱼ)²,  S = Σ τ^β,
//
// by Lagrange's identity, and the last factor is constant along the segment. With x the gradient,
// z = <q, n>/f and V = (q - z·x)/f, which is orthogonal to n, it is f⁴·(zⱼVₖy - zₖVⱼy)², and the
// points divided by the linear growth of f have τ/f = z + σ·Vy, |σy| ≤ c = t/(1-r). So the sum is
// at least f^(2β)·yᵀ(W₀W₂ - W₁W₁ᵀ)y, and S at most f^β·R, where, for |V| = v,
//
//	R = 1 + ½β(β-1)·c²·Σ v²·max(0, z+cv)^(β-2),  W = Σ ω·(z², z·V, V·Vᵀ),  ω = max(0, z-cv)^(β-2):
//
// R is S along a line from where it is 1 and has no slope.
type powersCap struct {
	beta, f float64
	x       r3.Vec
	slope   float64 // of |r|
	stretch float64 // factor from a displacement of the direction to one in the space of V
	faint   float64 // its power β-2 is 2⁻³⁰: smaller terms are left out of W and counted as that in R
	slack   float64

	c, growth  float64 // of the last cap; growth is the sum in R
	w0, wv, wz float64 // Σωz², Σωv, Σωz
	w1         r3.Vec
	w2         Mat3
	rough      float64 // the largest rounding error of a z or a V
	tilt, sum  float64 // rounding of the gradient, in units of f: of its weights, and of the summation
	terms      int
}

func (p *powersCap) reset(c *HessianBounds, f, beta float64, x r3.Vec, stretch float64) {
	*p = powersCap{
		beta: beta, f: f, x: x, stretch: stretch * (1 + 16*unitRoundoff), faint: math.Exp2(-30 / (beta - 2)),
	}
	p.slope = tangentialLength(x, c.n) / f * (1 + 16*unitRoundoff)
	c.outer.slope = p.slope
}

// start begins the sums for a cap and reports whether the cap is narrow enough for a bound.
func (p *powersCap) start(t float64) bool {
	r := t * p.slope
	*p = powersCap{
		beta: p.beta, f: p.f, x: p.x, slope: p.slope, stretch: p.stretch, faint: p.faint, slack: p.slack,
		c: t / (1 - r) * (1 + 16*unitRoundoff),
	}
	return r <= steepest
}

// add adds the term of a point q: z and V (tangential) as above, v the length of V times stretch,
// length that of q divided by f.
func (p *powersCap) add(z float64, tangential r3.Vec, v, length float64) {
	e := 8 * unitRoundoff * (length + 1)
	v += e
	p.terms++
	p.rough = max(p.rough, e)
	high := z + p.c*v + e
	if !(high > 0) {
		return
	}
	g := 0x1p-30
	if high > p.faint {
		g = math.Exp((p.beta - 2) * math.Log(high))
	}
	p.growth += v * v * g
	p.tilt += ((p.beta-1)*e + 16*unitRoundoff*high) * v * g
	p.sum += high * g * length
	low := z - p.c*v - e
	if !(low > p.faint) {
		return
	}
	w := math.Exp((p.beta - 2) * math.Log(low))
	p.w0 += w * z * z
	p.wv += w * v
	p.wz += w * z
	p.w1 = r3.Add(p.w1, r3.Scale(w*z, tangential))
	addSquare(&p.w2, w, tangential)
}

// upper returns R, an upper bound of the sum S in units of f^β.
func (p *powersCap) upper() float64 {
	return (1 + 0.5*p.beta*(p.beta-1)*p.c*p.c*p.growth) * (1 + 32*p.beta*unitRoundoff)
}

// putRing stores the bound that the sums give for the last ring. The rounding of the two products is that
// of z and V and of one addition per term.
func (p *powersCap) putRing(c *HessianBounds) {
	if p.slack == 0 {
		p.slack = p.f * (p.tilt + float64(p.terms+16)*unitRoundoff*p.sum)
	}
	var h Mat3
	addSquare(&h, -1, p.w1)
	for i := range h {
		h[i] += p.w0 * p.w2[i]
	}
	trace := p.w2[0] + p.w2[4] + p.w2[8]
	off := 8*p.rough*(p.w0*p.wv+p.wz*trace) + float64(8*p.terms+64)*unitRoundoff*p.w0*trace
	k := (p.beta - 1) * p.f * math.Pow(p.upper(), 1/p.beta-2) * (1 - 64*p.beta*unitRoundoff)
	c.outer.put(c, &h, k, off, p.f)
}

func (c *HessianBounds) resetHull(s *SmoothHull) {
	f, x := s.about(c.n)
	c.powers.reset(c, f, s.sharpness, x, 1)
}

func (c *HessianBounds) widenHull(b *CapBound, s *SmoothHull, t float64) {
	p := &c.powers
	if c.outer.k[c.rings-1] = (Mat3{}); p.start(t) {
		scale := 1 / p.f
		for _, q := range s.rel {
			z := r3.Dot(q, c.n) * scale
			v := r3.Scale(scale, r3.Sub(q, r3.Scale(z, p.x)))
			p.add(z, v, math.Sqrt(r3.Norm2(v)), math.Sqrt(r3.Norm2(q))*scale)
		}
		p.putRing(c)
	}
	b.Slack = p.slack
	c.outer.integrate(b, c, 1)
}

func (c *HessianBounds) resetRevolution(s *SmoothRevolution) {
	e := s.disc.CoreSupport(c.n)
	rho := r3.Dot(e, c.n)
	f, g := s.planar(rho, c.n.Z)
	length := math.Hypot(rho, c.n.Z)
	tangential := r3.Add(r3.Scale(-c.n.Z/length, e), r3.Vec{Z: rho / length})
	c.powers.reset(c, f, s.sharpness, r3.Vec{X: g.X * e.X, Y: g.X * e.Y, Z: g.X*e.Z + g.Y},
		math.Sqrt(r3.Norm2(tangential)))
	c.square.reset(s.disc, c.n)
	c.profile = profileCap{rho: rho, gr: g.X, gz: g.Y, ar: -c.n.Z / length, az: rho / length, tangential: tangential}
}

// profileCap describes the profile of a solid of revolution, F(ρ, z), at n: the gradient of F, the unit
// vector a orthogonal to (ρ, z), and the component <tangential, y> of the displacement y along a.
type profileCap struct {
	rho, gr, gz, ar, az float64
	tangential          r3.Vec
}

// widenRevolution bounds F by taking the linear part of ρ, and adds the curvature of ρ times the smallest
// ∂F/∂ρ: F is convex and nondecreasing in ρ. All V are multiples of a.
func (c *HessianBounds) widenRevolution(b *CapBound, s *SmoothRevolution, t float64) {
	p, m := &c.powers, &c.profile
	slope := 0.0 // ∂F/∂ρ
	if c.outer.k[c.rings-1] = (Mat3{}); p.start(t) {
		for _, q := range s.profile {
			z := (q.X*m.rho + q.Y*c.n.Z) / p.f
			a := ((q.X-z*m.gr)*m.ar + (q.Y-z*m.gz)*m.az) / p.f
			p.add(z, r3.Scale(a, m.tangential), math.Abs(a)*p.stretch, math.Hypot(q.X, q.Y)/p.f)
			if low := z - p.c*(math.Abs(a)*p.stretch+p.rough) - p.rough; low > p.faint {
				slope += math.Exp((p.beta-1)*math.Log(low)) * q.X
			}
		}
		p.putRing(c)
		slope *= math.Pow(p.upper(), 1/p.beta-1) * (1 - 64*p.beta*unitRoundoff)
	}
	b.Slack = p.slack
	c.outer.integrate(b, c, 1)
	var round CapBound
	c.square.widen(&round, t)
	slope *= traceLimit(slope*(round.K[0]+round.K[4]+round.K[8]), p.f)
	for i := range b.K {
		b.K[i] += slope * round.K[i]
	}
	b.Slack += slope * round.Slack
}
