package geom

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

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
