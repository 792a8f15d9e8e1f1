package ref

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// speedResolved is the part of the speeds at a contact that float64 resolves after the sums of a solve, 256 times its
// rounding unit 2⁻⁵². Residuals below it are rounding.
const speedResolved = 0x1p-44

// natural is the residual of contact k in m/s: h·‖λ − λ'‖ with h = tr(G_kk). With c + Γ, which is c but for the NCP,
//
//	CCP, NCP: λ' = Π_K(λ − (c + Γ)/h);
//	LCP:      λ'_N = max(0, λ_N − c_N/h), and λ'_a is λ_a − c_a/h clamped to ±μ·max(0, λ_N), by axis;
//	RaiSim:   λ' solves the problem of the contact given the others.
//
// It is 0 at solutions of the model alone, and does not change when masses, inertias and impulses are scaled. Where the
// projection changes nothing, h·(λ − λ') is c + Γ, which is taken without the rounding error of the difference.
func (p *Contacts) natural(model ContactModel, k int, lambda []float64) float64 {
	mu, h, b := p.mu[k], 0.0, p.block(k)
	var l, c [3]float64
	for i := range 3 {
		l[i], c[i] = lambda[3*k+i], p.row(3*k+i, lambda)
		h += b[i][i]
	}
	switch model {
	case ContactLCP:
		d := [3]float64{boxed(l[0], c[0], h, mu*max(0, l[2])), boxed(l[1], c[1], h, mu*max(0, l[2])), h * l[2]}
		if l[2]-c[2]/h > 0 {
			d[2] = c[2]
		}
		return norm3(d)
	case ContactRaiSim:
		own := raisimContact(&b, p.others(k, lambda), mu)
		return h * norm3([3]float64{l[0] - own[0], l[1] - own[1], l[2] - own[2]})
	case ContactNCP:
		c[2] += mu * math.Hypot(c[0], c[1])
	}
	x := [3]float64{l[0] - c[0]/h, l[1] - c[1]/h, l[2] - c[2]/h}
	y := projectCone(x, mu)
	if y == x {
		return norm3(c)
	}
	return h * norm3([3]float64{l[0] - y[0], l[1] - y[1], l[2] - y[2]})
}

// boxed is h·(l − l') for l' = l − c/h clamped to ±radius.
func boxed(l, c, h, radius float64) float64 {
	if x := l - c/h; math.Abs(x) > radius {
		return h * (l - math.Copysign(radius, x))
	}
	return c
}

// speedScales are those of the contacts under a tolerance, in m/s: the largest residual of the contacts of the same
// island without impulses, which is by how much the free motion breaks the law. RaiSim's model has the scale of the
// LCP, max(0, −c_N): its own residual without impulses is that speed times up to the condition of G_kk. A scale is at
// least speedResolved/tolerance of the largest |c*_N| + Σ(‖v_f‖ + ‖ω_f‖‖r‖) of these contacts, so that no residual has
// to be less than float64 resolves. free are the former alone.
func (p *Contacts) speedScales(model ContactModel, tolerance float64) (scales, free []float64) {
	n := p.Points()
	least, speed := make([]float64, len(p.bodies)), make([]float64, len(p.bodies)) // by island
	none := make([]float64, 3*n)
	if model == ContactRaiSim {
		model = ContactLCP
	}
	for k, i := range p.island {
		least[i] = max(least[i], p.natural(model, k, none))
		speed[i] = max(speed[i], p.speed[k])
	}
	for _, i := range p.island {
		scales = append(scales, max(least[i], speedResolved/tolerance*speed[i]))
		free = append(free, least[i])
	}
	return scales, free
}

// relative is the residual and the scale of the contact with the largest ratio of both, and this ratio.
func (p *Contacts) relative(model ContactModel, lambda, scales []float64) (residual, scale, ratio float64) {
	ratio = -1
	for k, s := range scales {
		e := p.natural(model, k, lambda)
		if r := ratioOf(e, s); r > ratio {
			residual, scale, ratio = e, s, r
		}
	}
	return residual, scale, max(ratio, 0)
}

// ratioOf is residual/scale, +Inf in place of NaN. A residual of 0 is a solution whatever the scale.
func ratioOf(residual, scale float64) float64 {
	if residual == 0 {
		return 0
	}
	if ratio := residual / scale; !math.IsNaN(ratio) {
		return ratio
	}
	return math.Inf(1)
}

// setIslands finds the islands: the bodies that move and are joined by contacts. They are named by their first body.
func (p *Contacts) setIslands(points []ContactPoint) {
	moves := func(b int) bool { return b >= 0 && p.columns[b] >= 0 }
	beside := make([][]int, len(p.bodies))
	for _, c := range points {
		if moves(c.A) && moves(c.B) {
			beside[c.A], beside[c.B] = append(beside[c.A], c.B), append(beside[c.B], c.A)
		}
	}
	p.islandOf = make([]int, len(p.bodies))
	for b := range p.islandOf {
		p.islandOf[b] = -1
	}
	for first := range p.bodies {
		if !moves(first) || p.islandOf[first] >= 0 {
			continue
		}
		p.islandOf[first] = first
		for reached := []int{first}; len(reached) > 0; {
			b := reached[len(reached)-1]
			reached = reached[:len(reached)-1]
			for _, other := range beside[b] {
				if p.islandOf[other] < 0 {
					p.islandOf[other] = first
					reached = append(reached, other)
				}
			}
		}
	}
	p.island, p.speed = make([]int, len(points)), make([]float64, len(points))
	for k, c := range points {
		p.speed[k] = math.Abs(c.Target)
		for _, side := range [...]struct {
			body int
			arm  r3.Vec
		}{{c.A, c.ArmA}, {c.B, c.ArmB}} {
			if side.body < 0 {
				continue
			}
			if moves(side.body) {
				p.island[k] = p.islandOf[side.body]
			}
			v := p.bodies[side.body].Velocity
			p.speed[k] += norm3([3]float64(v[:3])) + norm3([3]float64(v[3:]))*r3.Norm(side.arm)
		}
	}
}
