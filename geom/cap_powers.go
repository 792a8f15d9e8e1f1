package geom

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// powersCap is the sum of powers f = (Σ max(0, <q, d>)^β)^(1/β) over a cap. Along a segment, with τ the
// products <q, d> and aⱼ, bⱼ those of its start and of the displacement,
//
//	f″ = (β-1)·S^(1/β-2)·½·ΣΣ (τⱼτₖ)^(β-2)·(aⱼbₖ-aₖbⱼ)²,  S = Σ τ^β,
//
// by Lagrange's identity, and the last factor is the same at all points of the segment. With x the
// gradient, z = <q, n>/f and V = (q - z·x)/f, which lies across n, it is f⁴·(zⱼVₖy - zₖVⱼy)², and
// the points divided by the linear growth of f have τ/f = z + σ·Vy, |σy| ≤ c = t/(1-r). So
// the sum is at least f^(2β)·yᵀ(W₀W₂ - W₁W₁ᵀ)y, and S at most f^β·R, where, for |V| = v,
//
//	R = 1 + ½β(β-1)·c²·Σ v²·max(0, z+cv)^(β-2),  W = Σ ω·(z², z·V, V·Vᵀ),  ω = max(0, z-cv)^(β-2):
//
// R is S along a line from where it is 1 and has no slope.
type powersCap struct {
	beta, f float64
	x       r3.Vec
	slope   float64 // of |r|
	reach   float64 // by what a displacement is multiplied before it meets a V
	faint   float64 // its power β-2 is 2⁻³⁰: lower terms are left out of W, and counted with that in R
	slack   float64

	c, bend    float64 // of the last cap; bend is the sum of R
	w0, wv, wz float64 // Σωz², Σωv, Σωz
	w1         r3.Vec
	w2         Mat3
	rough      float64 // the largest rounding error of a z or a V
	tilt, sum  float64 // of the gradient, in units of f: from its weights, and by adding
	terms      int
}

func (p *powersCap) around(c *Caps, f, beta float64, x r3.Vec, reach float64) {
	*p = powersCap{beta: beta, f: f, x: x, reach: reach * (1 + 16*unitRoundoff), faint: math.Exp2(-30 / (beta - 2))}
	p.slope = lengthAcross(x, c.n) / f * (1 + 16*unitRoundoff)
	c.bend.slope = p.slope
}

// start begins the sums for a cap, and reports whether it is not too wide.
func (p *powersCap) start(t float64) bool {
	r := t * p.slope
	*p = powersCap{beta: p.beta, f: p.f, x: p.x, slope: p.slope, reach: p.reach, faint: p.faint, slack: p.slack, c: t / (1 - r) * (1 + 16*unitRoundoff)}
	return r <= steepest
}

// add takes a point q: z and V as above, v the length of V times reach, length that of q over f.
func (p *powersCap) add(z float64, across r3.Vec, v, length float64) {
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
	p.bend += v * v * g
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
	p.w1 = r3.Add(p.w1, r3.Scale(w*z, across))
	addSquare(&p.w2, w, across)
}

// growth is R.
func (p *powersCap) growth() float64 {
	return (1 + 0.5*p.beta*(p.beta-1)*p.c*p.c*p.bend) * (1 + 32*p.beta*unitRoundoff)
}

// form is what the sums say of the last ring. The rounding of the two products is that of z and V, and of as
// many additions as there were terms.
func (p *powersCap) form(c *Caps) {
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
	k := (p.beta - 1) * p.f * math.Pow(p.growth(), 1/p.beta-2) * (1 - 64*p.beta*unitRoundoff)
	c.bend.put(c, &h, k, off, p.f)
}

func (c *Caps) hullAround(s *SmoothHull) {
	f, x := s.about(c.n)
	c.powers.around(c, f, s.sharpness, x, 1)
}

func (c *Caps) widenHull(b *CapBound, s *SmoothHull, t float64) {
	p := &c.powers
	if c.bend.k[c.rings-1] = (Mat3{}); p.start(t) {
		scale := 1 / p.f
		for _, q := range s.rel {
			z := r3.Dot(q, c.n) * scale
			v := r3.Scale(scale, r3.Sub(q, r3.Scale(z, p.x)))
			p.add(z, v, math.Sqrt(r3.Norm2(v)), math.Sqrt(r3.Norm2(q))*scale)
		}
		p.form(c)
	}
	b.Slack = p.slack
	c.bend.over(b, c, 1)
}

func (c *Caps) revolutionAround(s *SmoothRevolution) {
	e := s.disc.CoreSupport(c.n)
	rho := r3.Dot(e, c.n)
	f, g := s.planar(rho, c.n.Z)
	length := math.Hypot(rho, c.n.Z)
	turn := r3.Add(r3.Scale(-c.n.Z/length, e), r3.Vec{Z: rho / length})
	c.powers.around(c, f, s.sharpness, r3.Vec{X: g.X * e.X, Y: g.X * e.Y, Z: g.X*e.Z + g.Y}, math.Sqrt(r3.Norm2(turn)))
	c.square.around(s.disc, c.n)
	c.profile = profileCap{rho: rho, gr: g.X, gz: g.Y, ar: -c.n.Z / length, az: rho / length, turn: turn}
}

// profileCap is of the profile of a revolution, F(ρ, z), at n: the gradient of F, the unit vector a across
// (ρ, z), and its component <turn, y> of the displacement by y.
type profileCap struct {
	rho, gr, gz, ar, az float64
	turn                r3.Vec
}

// widenRevolution bounds F with ρ by its linear part, and what ρ curves times the least ∂F/∂ρ: F is convex in
// ρ, and no less for a larger one. All V are multiples of a.
func (c *Caps) widenRevolution(b *CapBound, s *SmoothRevolution, t float64) {
	p, m := &c.powers, &c.profile
	slope := 0.0 // ∂F/∂ρ
	if c.bend.k[c.rings-1] = (Mat3{}); p.start(t) {
		for _, q := range s.profile {
			z := (q.X*m.rho + q.Y*c.n.Z) / p.f
			a := ((q.X-z*m.gr)*m.ar + (q.Y-z*m.gz)*m.az) / p.f
			p.add(z, r3.Scale(a, m.turn), math.Abs(a)*p.reach, math.Hypot(q.X, q.Y)/p.f)
			if low := z - p.c*(math.Abs(a)*p.reach+p.rough) - p.rough; low > p.faint {
				slope += math.Exp((p.beta-1)*math.Log(low)) * q.X
			}
		}
		p.form(c)
		slope *= math.Pow(p.growth(), 1/p.beta-1) * (1 - 64*p.beta*unitRoundoff)
	}
	b.Slack = p.slack
	c.bend.over(b, c, 1)
	var round CapBound
	c.square.widen(&round, t)
	slope *= tame(slope*(round.K[0]+round.K[4]+round.K[8]), p.f)
	for i := range b.K {
		b.K[i] += slope * round.K[i]
	}
	b.Slack += slope * round.Slack
}
