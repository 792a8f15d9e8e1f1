package system

import (
	"context"
	"math"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/contact"
	"clearance/contact/internal/proximal"
)

// newton is the memory of proximalNewton. Velocities x are relative to base = L⁻¹Jᵀλᵏ.
type newton struct {
	outer, lambda []r3.Vec
	curvature     [][3][3]float64
	prox, shift   []float64 // P = ρh, and Γ frozen
	slip          []r3.Vec  // Jv − c* of base, with the offset
	base, v, try  []float64
	measured      []float64
	gradient      []float64
	step          []float64
	matrix        []float64
	pivots        []int
	energy        float64
	velocity      float64
}

// proximalNewton solves the problem by proximal steps, each by Newton's method in v: the method of package contact, in
// which it is derived, on the dense matrix 1 + JᵀHJ. It reports whether the residual is within the tolerance.
func (s *solver) proximalNewton(ctx context.Context, o *Options) (done bool) {
	n, model := &s.newton, o.Model
	c := len(s.rows)
	for _, x := range [...]*[]r3.Vec{&n.outer, &n.lambda, &n.slip} {
		resize(x, c)
	}
	resize(&n.curvature, c)
	resize(&n.prox, c)
	resize(&n.shift, c)
	for _, x := range [...]*[]float64{&n.base, &n.v, &n.try, &n.measured, &n.gradient, &n.step} {
		resize(x, s.n)
	}
	resize(&n.matrix, s.n*s.n)
	resize(&n.pivots, s.n)
	n.velocity = s.energy
	copy(n.outer, s.lambda)
	s.form(n.base, s.lambda)
	next := proximal.Start(model == contact.CCP, s.leastProx(o.Tolerance))
	for s.steps < o.Steps && ctx.Err() == nil {
		convex := next.Convex()
		for i := range s.rows {
			r := &s.rows[i]
			n.prox[i], n.shift[i], n.slip[i] = next.Rho*r.H, 0, r3.Add(r.free, s.moving(i, n.base))
			if convex && model == contact.NCP {
				c := s.slip(i, n.base, n.outer[i])
				n.shift[i] = r.Mu * math.Hypot(c.X, c.Y)
			}
		}
		clear(n.v)
		used, ended, done := s.inner(o, convex)
		if done {
			return true
		}
		if used == 0 { // an outer step without a factorization counts as well, so that the loop ends
			s.steps++
		}
		if !ended && !convex {
			next.Fails()
			continue
		}
		copy(n.outer, n.lambda)
		e, done := s.keep(model, n.measured, n.outer, o.Tolerance)
		if done {
			return true
		}
		copy(n.base, n.measured)
		next.Ends(used, e)
	}
	return false
}

// leastProx is the least ρ, below which rounding outweighs the progress of an outer step.
func (s *solver) leastProx(tol float64) float64 {
	return max(1e-10, min(1e-6, max(1e-7, 0x1p-53*s.speed/(tol*s.scale))))
}

// inner solves M(v − v_f) = Jᵀλ(v) from base. used counts its steps; ended is false if the line search failed.
func (s *solver) inner(o *Options, convex bool) (used int, ended, done bool) {
	n := &s.newton
	s.forces(n.v, convex)
	f, g := n.energy, norm(n.gradient)
	for ; ; used++ {
		if g <= max(proximal.Inexactness*s.proximalStep(), proximal.GradientRounding*math.Sqrt(f+n.velocity)) {
			return used, true, false
		}
		if s.steps >= o.Steps || (used >= proximal.InnerLimit && !convex) {
			return used, convex, false
		}
		s.assemble()
		for k, x := range n.gradient {
			n.step[k] = -x
		}
		if !factorLU(n.matrix, s.n, n.pivots) {
			return used, convex, false
		}
		solveLU(n.matrix, s.n, n.pivots, n.step, false)
		if !finite(n.step) {
			return used, convex, false
		}
		s.steps++
		decrease := -dot(n.gradient, n.step)
		alpha := 1.0
		for {
			for k := range n.try {
				n.try[k] = n.v[k] + alpha*n.step[k]
			}
			s.forces(n.try, convex)
			if math.IsNaN(n.energy) {
				return used, false, false
			}
			after := norm(n.gradient)
			if convex && decrease <= proximal.CostRounding*f { // the cost tells nothing, the gradient may
				if !(after <= g/2) && alpha > proximal.Shortest {
					alpha /= 2
					continue
				}
				if !(after < g) { // it is at its rounding error, or at an edge of the cone
					s.forces(n.v, convex)
					return used, true, false
				}
			} else if convex {
				if !(n.energy <= f-proximal.Armijo*alpha*decrease) && alpha > proximal.ShortestCCP {
					alpha /= 2
					continue
				}
			} else if !(after <= (1-proximal.Armijo*alpha)*g) {
				if alpha < proximal.Shortest {
					return used, false, false
				}
				alpha /= 2
				continue
			}
			f, g = n.energy, after
			break
		}
		n.v, n.try = n.try, n.v
		if _, done := s.keep(o.Model, n.measured, n.lambda, o.Tolerance); done {
			return used, true, true
		}
	}
}

// proximalStep is the largest ‖P(λ − λᵏ)‖/√h, in the unit of the gradient's norm.
func (s *solver) proximalStep() float64 {
	n, most := &s.newton, 0.0
	for i := range s.rows {
		if h := s.rows[i].H; h > 0 {
			d := r3.Sub(n.lambda[i], n.outer[i])
			most = max(most, n.prox[i]*n.prox[i]*r3.Dot(d, d)/h)
		}
	}
	return math.Sqrt(most)
}

// forces sets λ(v), its curvature −dλ/ds, the gradient M(v − base) − Jᵀ(λ(v) − λᵏ), and the cost of the convex problem.
func (s *solver) forces(v []float64, convex bool) {
	n := &s.newton
	n.energy = 0
	for k, x := range v {
		d := x + n.base[k]
		n.energy += d * d / 2
		n.gradient[k] = x
	}
	for i := range s.rows {
		r := &s.rows[i]
		p := n.prox[i]
		if n.curvature[i] = ([3][3]float64{}); r.H == 0 {
			n.lambda[i] = n.outer[i]
			continue
		}
		c := axpy(r3.Add(n.slip[i], s.moving(i, v)), -p, n.outer[i])
		c.Z += n.shift[i]
		var l r3.Vec
		if convex {
			l = contact.ConeForce(c, r.Mu, p+r.RT, p+r.RN, &n.curvature[i])
		} else {
			l = contact.DiscForce(c, r.Mu, p+r.RT, p+r.RN, &n.curvature[i])
		}
		n.lambda[i] = l
		n.energy += ((p+r.RT)*(l.X*l.X+l.Y*l.Y) + (p+r.RN)*l.Z*l.Z) / 2
		s.push(i, r3.Sub(n.outer[i], l), n.gradient)
	}
}

// assemble forms 1 + JᵀHJ.
func (s *solver) assemble() {
	n := &s.newton
	identity(n.matrix, s.n)
	for i := range s.rows {
		if h := &n.curvature[i]; *h != ([3][3]float64{}) {
			s.addBlock(n.matrix, i, h)
		}
	}
}

// addBlock adds J_iᵀHJ_i of contact i.
func (s *solver) addBlock(m []float64, i int, h *[3][3]float64) {
	x, y, z := s.line(i, 0), s.line(i, 1), s.line(i, 2)
	for k := range s.n {
		a := x[k]*h[0][0] + y[k]*h[1][0] + z[k]*h[2][0]
		b := x[k]*h[0][1] + y[k]*h[1][1] + z[k]*h[2][1]
		c := x[k]*h[0][2] + y[k]*h[1][2] + z[k]*h[2][2]
		if a == 0 && b == 0 && c == 0 {
			continue
		}
		line := m[k*s.n : (k+1)*s.n]
		for j := range line {
			line[j] += a*x[j] + b*y[j] + c*z[j]
		}
	}
}
