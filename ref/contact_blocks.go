package ref

import (
	"math"
)

// NCPExact solves the NCP by block Gauss-Seidel: every contact in turn is solved exactly, given the others.
func (p *Contacts) NCPExact(o ContactOptions) ContactResult {
	return p.blocks(ContactNCP, exactContact, o)
}

// RaiSim solves RaiSim's model by block Gauss-Seidel [AGIMUS2023, Contacts, Alg. 4, eq. 20]. It has no guarantee of
// convergence. A contact with μ‖G_NT‖ ≥ G_NN, where (20) is unbounded, takes the solution of the NCP.
func (p *Contacts) RaiSim(o ContactOptions) ContactResult {
	return p.blocks(ContactRaiSim, raisimContact, o)
}

// blocks sweeps over the contacts with a solver of one contact.
func (p *Contacts) blocks(model ContactModel, solve func(*[3][3]float64, [3]float64, float64) [3]float64,
	o ContactOptions) ContactResult {
	r := p.run(model, o)
	lambda := r.start()
	omega := r.o.Relaxation
	n := 0
	for ; n < r.o.Limit && !r.done(lambda); n++ {
		for k, mu := range p.mu {
			b := p.block(k)
			x := solve(&b, p.others(k, lambda), mu)
			if omega != 1 {
				for i := range x {
					x[i] = omega*x[i] + (1-omega)*lambda[3*k+i]
				}
				x = projectCone(x, mu)
			}
			copy(lambda[3*k:], x[:])
		}
	}
	r.done(lambda)
	return r.result(n)
}

// slipProblem is that of a contact that slides, after the normal impulse is eliminated by c_N = 0:
// λ_N = −(c_N + G_NT·λ_T)/G_NN and c_T = Aλ_T + b.
type slipProblem struct {
	nn   float64    // G_NN
	nt   [2]float64 // G_NT
	c    float64    // c_N without λ
	a    [2][2]float64
	b    [2]float64
	mu   float64
	norm float64 // λ_max(A)
}

func newSlip(g *[3][3]float64, c [3]float64, mu float64) slipProblem {
	s := slipProblem{nn: g[2][2], nt: [2]float64{g[0][2], g[1][2]}, c: c[2], mu: mu}
	for i := range 2 {
		s.b[i] = c[i] - s.nt[i]*c[2]/s.nn
		for j := range 2 {
			s.a[i][j] = g[i][j] - s.nt[i]*s.nt[j]/s.nn
		}
	}
	s.norm = (s.a[0][0]+s.a[1][1])/2 + math.Hypot((s.a[0][0]-s.a[1][1])/2, s.a[0][1])
	return s
}

// shifted is −(A + σI)⁻¹b.
func (s *slipProblem) shifted(sigma float64) [2]float64 {
	xx, yy, xy := s.a[0][0]+sigma, s.a[1][1]+sigma, s.a[0][1]
	det := xx*yy - xy*xy
	return [2]float64{-(yy*s.b[0] - xy*s.b[1]) / det, -(xx*s.b[1] - xy*s.b[0]) / det}
}

func (s *slipProblem) normal(t [2]float64) float64 { return -(s.c + dot2(s.nt, t)) / s.nn }

// sticking returns the impulse that stops the contact, and whether it lies in K.
func (s *slipProblem) sticking() ([3]float64, bool) {
	t := s.shifted(0)
	n := s.normal(t)
	return [3]float64{t[0], t[1], n}, math.Hypot(t[0], t[1]) <= s.mu*n
}

// exactContact solves the NCP of one contact with the velocity c without its impulse. It slides with
// c_T = −σλ_T, so λ_T = −(A + σI)⁻¹b, and σ is the root of ‖λ_T‖ = μλ_N, found by bisection. At σ = 0 the
// friction is too large; for large σ it vanishes.
func exactContact(g *[3][3]float64, c [3]float64, mu float64) [3]float64 {
	if c[2] >= 0 {
		return [3]float64{}
	}
	s := newSlip(g, c, mu)
	if mu == 0 {
		return [3]float64{0, 0, -c[2] / s.nn}
	}
	if l, ok := s.sticking(); ok {
		return l
	}
	tooLarge := func(sigma float64) bool {
		t := s.shifted(sigma)
		return math.Hypot(t[0], t[1]) > mu*s.normal(t)
	}
	lo, hi := 0.0, s.norm
	for tooLarge(hi) && hi < 1e30*s.norm {
		lo, hi = hi, 4*hi
	}
	for range 200 {
		mid := (lo + hi) / 2
		if mid <= lo || mid >= hi {
			break
		}
		if tooLarge(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	t := s.shifted(hi)
	return [3]float64{t[0], t[1], max(0, s.normal(t))}
}

// raisimContact solves [AGIMUS2023, Contacts, eq. 20] for one contact: it takes off, sticks, or minimizes
// ½λᵀGλ + cᵀλ on the ellipse of ‖λ_T‖ = μλ_N and c_N = 0, by a scan of its angle and bisection of the derivative.
func raisimContact(g *[3][3]float64, c [3]float64, mu float64) [3]float64 {
	if c[2] >= 0 || mu == 0 || mu*math.Hypot(g[0][2], g[1][2]) >= g[2][2] {
		return exactContact(g, c, mu)
	}
	s := newSlip(g, c, mu)
	if l, ok := s.sticking(); ok {
		return l
	}
	const scan = 144
	best, least := 0.0, math.Inf(1)
	for i := range scan {
		angle := 2 * math.Pi * float64(i) / scan
		t, _ := s.ellipse(angle)
		if v := s.cost(t); v < least {
			best, least = angle, v
		}
	}
	lo, hi := best-2*math.Pi/scan, best+2*math.Pi/scan
	for range 100 {
		mid := (lo + hi) / 2
		if mid <= lo || mid >= hi {
			break
		}
		if s.slope(mid) < 0 {
			lo = mid
		} else {
			hi = mid
		}
	}
	t, _ := s.ellipse((lo + hi) / 2)
	return [3]float64{t[0], t[1], math.Hypot(t[0], t[1]) / mu}
}

// ellipse is λ_T with ‖λ_T‖ = μλ_N and c_N = 0 in the direction of that angle, and its derivative.
func (s *slipProblem) ellipse(angle float64) (t, derivative [2]float64) {
	d := [2]float64{math.Cos(angle), math.Sin(angle)}
	e := [2]float64{-d[1], d[0]}
	den := s.nn/s.mu + dot2(s.nt, d)
	r := -s.c / den
	slope := s.c * dot2(s.nt, e) / (den * den)
	return [2]float64{r * d[0], r * d[1]}, [2]float64{slope*d[0] + r*e[0], slope*d[1] + r*e[1]}
}

func (s *slipProblem) velocity(t [2]float64) [2]float64 {
	return [2]float64{dot2(s.a[0], t) + s.b[0], dot2(s.a[1], t) + s.b[1]}
}

func (s *slipProblem) cost(t [2]float64) float64 { return (dot2(s.velocity(t), t) + dot2(s.b, t)) / 2 }

func (s *slipProblem) slope(angle float64) float64 {
	t, derivative := s.ellipse(angle)
	return dot2(s.velocity(t), derivative)
}
