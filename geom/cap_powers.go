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
// the points divided by the linear growth of f have τ/f = z + σ·Vy, |σy| ≤ c, c = t/(1-r) at most. So
// the sum is at least f^(2β)·yᵀ(W₀W₂ - W₁W₁ᵀ)y, and S at most f^β·R, where, for |V| = v,
//
//	R = 1 + ½β(β-1)·c²·Σ v²·max(0, z+cv)^(β-2),  W = Σ ω·(z², z·V, V·Vᵀ),  ω = max(0, z-cv)^(β-2):
//
// R is S along a line from where it is 1 and has no slope.
type powersCap struct {
	beta, f, t, r float64
	reach         float64 // by what a displacement is multiplied before it meets a V
	rings         [rings]powersRing
	rough         float64 // the largest rounding error of a z or a V
	tilt, sum     float64 // of the gradient, in units of f: from its weights, and by adding
	terms         int
}

// powersRing has the sums for points up to c from n.
type powersRing struct {
	c, bend    float64 // bend is the sum of R
	w0, wv, wz float64 // Σωz², Σωv, Σωz
	w1         r3.Vec
	w2         Mat3
}

// over takes the size of the cap; slope is the length of the tangent part of the gradient. It reports
// whether the cap is not too wide.
func (p *powersCap) over(t, slope, reach float64) bool {
	p.reach = reach * (1 + 16*unitRoundoff)
	p.r = t * slope / p.f * (1 + 16*unitRoundoff)
	for i := range p.rings {
		end, _ := ring(i, p.r)
		p.rings[i].c = end * t / (1 - p.r) * (1 + 16*unitRoundoff)
	}
	return p.r <= steepest
}

// add takes a point q: z and V as above, length that of q over f.
func (p *powersCap) add(z float64, across r3.Vec, v, length float64) {
	e := 8 * unitRoundoff * (length + 1)
	v += e
	p.terms++
	p.rough = max(p.rough, e)
	for i := range p.rings {
		r := &p.rings[i]
		high := z + r.c*v + e
		if !(high > 0) {
			continue
		}
		g := math.Exp((p.beta - 2) * math.Log(high))
		r.bend += v * v * g
		if i == 0 {
			p.tilt += ((p.beta-1)*e + 16*unitRoundoff*high) * v * g
			p.sum += high * g * length
		}
		low := z - r.c*v - e
		if !(low > 0) {
			continue
		}
		w := math.Exp((p.beta - 2) * math.Log(low))
		r.w0 += w * z * z
		r.wv += w * v
		r.wz += w * z
		r.w1 = r3.Add(r.w1, r3.Scale(w*z, across))
		addSquare(&r.w2, w, across)
	}
}

// growth is R.
func (p *powersCap) growth(r *powersRing) float64 {
	return (1 + 0.5*p.beta*(p.beta-1)*r.c*r.c*r.bend) * (1 + 32*p.beta*unitRoundoff)
}

// bound adds what the sums say to b. The rounding of the two products is that of z and V, and of as many
// additions as there were terms.
func (p *powersCap) bound(b *CapBound) {
	b.Slack += p.f * (p.tilt + float64(p.terms+16)*unitRoundoff*p.sum)
	for i := range p.rings {
		r := &p.rings[i]
		var h Mat3
		addSquare(&h, -1, r.w1)
		for j := range h {
			h[j] += r.w0 * r.w2[j]
		}
		trace := r.w2[0] + r.w2[4] + r.w2[8]
		off := 8*p.rough*(r.w0*r.wv+r.wz*trace) + float64(8*p.terms+64)*unitRoundoff*r.w0*trace
		_, share := ring(i, p.r)
		k := share * (p.beta - 1) * p.f * math.Pow(p.growth(r), 1/p.beta-2) * (1 - 64*p.beta*unitRoundoff)
		b.add(&h, k*tame(k*r.w0*trace, p.f), off)
	}
}

func (s *SmoothHull) overCap(n r3.Vec, t float64) (b CapBound) {
	f, x := s.about(n)
	p := powersCap{beta: s.sharpness, f: f}
	if !p.over(t, lengthAcross(x, n), 1) {
		return b
	}
	for _, q := range s.rel {
		z := r3.Dot(q, n) / f
		v := r3.Scale(1/f, r3.Sub(q, r3.Scale(z, x)))
		p.add(z, v, math.Sqrt(r3.Norm2(v)), math.Sqrt(r3.Norm2(q))/f)
	}
	p.bound(&b)
	return b
}

// overCap is that of the profile, F(ρ, z), with ρ by its linear part, and what ρ curves times the least
// ∂F/∂ρ: F is convex in ρ, and no less for a larger one. All V are multiples of one unit vector
// across (ρ, z), along which a displacement y has the component <turn, y>.
func (s *SmoothRevolution) overCap(n r3.Vec, t float64) (b CapBound) {
	e := s.disc.CoreSupport(n)
	rho := r3.Dot(e, n)
	f, g := s.planar(rho, n.Z)
	x := r3.Vec{X: g.X * e.X, Y: g.X * e.Y, Z: g.X*e.Z + g.Y}
	length := math.Hypot(rho, n.Z)
	ar, az := -n.Z/length, rho/length
	turn := r3.Vec{X: ar * e.X, Y: ar * e.Y, Z: ar*e.Z + az}
	p := powersCap{beta: s.sharpness, f: f}
	if !p.over(t, lengthAcross(x, n), math.Sqrt(r3.Norm2(turn))) {
		return b
	}
	last, slope := &p.rings[rings-1], 0.0 // ∂F/∂ρ at the least
	for _, q := range s.profile {
		z := (q.X*rho + q.Y*n.Z) / f
		a := ((q.X-z*g.X)*ar + (q.Y-z*g.Y)*az) / f
		p.add(z, r3.Scale(a, turn), math.Abs(a)*p.reach, math.Hypot(q.X, q.Y)/f)
		if low := z - last.c*(math.Abs(a)*p.reach+p.rough) - p.rough; low > 0 {
			slope += math.Exp((p.beta-1)*math.Log(low)) * q.X
		}
	}
	p.bound(&b)
	slope *= math.Pow(p.growth(last), 1/p.beta-1) * (1 - 64*p.beta*unitRoundoff)
	d := s.disc.overCap(n, t)
	b.add(&d.K, slope*tame(slope*(d.K[0]+d.K[4]+d.K[8]), f), 0)
	b.Slack += slope * d.Slack
	return b
}
