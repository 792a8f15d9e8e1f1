package system

import (
	"context"
	"math"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/contact"
)

// newton is the memory of proximalNewton. Velocities are relative to base = v_f + M⁻¹Jᵀλᵏ.
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

// The constants of package contact, see there.
const (
	proxCCP, proxNCP = 1e-3, 1e-2
	proxMost         = 0.1
	stuck            = 0.99
	leastStuck       = 1e-3
	inexactness      = 0.05
	innerLimit       = 30
	armijo           = 1e-4
	shortest         = 2e-3
	shortestCCP      = 1e-12
	costRounding     = 1e-13
	gradientRounding = 1e-14
)

// proximalNewton solves the problem by proximal steps, each by Newton's method in v: the method of package contact, in
// which it is derived, on the dense matrix 1 + JᵀHJ. It reports whether the residual is within the tolerance.
func (s *solver) proximalNewton(ctx context.Context, o *Options) (done bool) {
	n, model := &s.newton, o.Model
	c := len(s.rows)
	for _, x := range []*[]r3.Vec{&n.outer, &n.lambda, &n.slip} {
		resize(x, c)
	}
	resize(&n.curvature, c)
	resize(&n.prox, c)
	resize(&n.shift, c)
	for _, x := range []*[]float64{&n.base, &n.v, &n.try, &n.measured, &n.gradient, &n.step} {
		resize(x, s.n)
	}
	resize(&n.matrix, s.n*s.n)
	resize(&n.pivots, s.n)
	n.velocity = dot(s.free, s.free)
	copy(n.outer, s.lambda)
	s.form(n.base, s.lambda)
	rho, least := proxNCP, s.leastProx(o.Tolerance)
	if model == contact.CCP {
		rho = proxCCP
	}
	frozen, last := 0, math.Inf(1)
	for s.steps < o.Steps && ctx.Err() == nil {
		convex := model == contact.CCP || frozen > 0
		for i := range s.rows {
			r := &s.rows[i]
			n.prox[i], n.shift[i], n.slip[i] = rho*r.H, 0, r3.Add(s.moving(i, n.base), r.offset)
			n.slip[i].Z -= r.target
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
			frozen, rho = 2, min(10*rho, proxMost)
			continue
		}
		copy(n.outer, n.lambda)
		e, done := s.keep(model, n.measured, n.outer, o.Tolerance)
		if done {
			return true
		}
		copy(n.base, n.measured)
		switch {
		case used > 8:
			rho = min(3*rho, proxMost)
		case e > last/5 && frozen == 0:
			floor := least
			if e > stuck*last && rho <= least {
				floor *= leastStuck
			}
			rho = max(0.3*rho, floor)
		case rho < least:
			rho = least
		}
		frozen = max(0, frozen-1)
		last = e
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
		if g <= max(inexactness*s.proximalStep(), gradientRounding*math.Sqrt(f+n.velocity)) {
			return used, true, false
		}
		if s.steps >= o.Steps || (used >= innerLimit && !convex) {
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
			if convex && decrease <= costRounding*f {
				if !(after <= g/2) { // the gradient is at its rounding error
					return used, true, false
				}
			} else if convex {
				if !(n.energy <= f-armijo*alpha*decrease) && alpha > shortestCCP {
					alpha /= 2
					continue
				}
			} else if !(after <= (1-armijo*alpha)*g) {
				if alpha < shortest {
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
		d := x + (n.base[k] - s.free[k])
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
		h := &n.curvature[i]
		for a := range 3 {
			for b := range 3 {
				addOuter(n.matrix, s.n, h[a][b], s.line(i, a), s.line(i, b))
			}
		}
	}
}

func identity(m []float64, n int) {
	clear(m)
	for i := range n {
		m[i*n+i] = 1
	}
}

// addOuter adds f·x·yᵀ.
func addOuter(m []float64, n int, f float64, x, y []float64) {
	if f == 0 {
		return
	}
	for i, a := range x {
		if a *= f; a != 0 {
			line := m[i*n : (i+1)*n]
			for j, b := range y {
				line[j] += a * b
			}
		}
	}
}

// factorLU factors a matrix in place with the largest pivots of the columns. It reports false if it is singular.
func factorLU(m []float64, n int, pivots []int) bool {
	for k := range n {
		p := k
		for i := k + 1; i < n; i++ {
			if math.Abs(m[i*n+k]) > math.Abs(m[p*n+k]) {
				p = i
			}
		}
		pivots[k] = p
		if p != k {
			for j := range n {
				m[k*n+j], m[p*n+j] = m[p*n+j], m[k*n+j]
			}
		}
		pivot := m[k*n+k]
		if !(math.Abs(pivot) > 0) {
			return false
		}
		from := m[k*n : (k+1)*n]
		for i := k + 1; i < n; i++ {
			line := m[i*n : (i+1)*n]
			if line[k] == 0 {
				continue
			}
			f := line[k] / pivot
			line[k] = f
			for j := k + 1; j < n; j++ {
				line[j] -= f * from[j]
			}
		}
	}
	return true
}

// solveLU replaces x by the solution, or by that of the transposed matrix.
func solveLU(m []float64, n int, pivots []int, x []float64, transposed bool) {
	if !transposed {
		for k, p := range pivots[:n] {
			x[k], x[p] = x[p], x[k]
		}
		for i := range n {
			x[i] -= dot(m[i*n:i*n+i], x)
		}
		for i := n - 1; i >= 0; i-- {
			x[i] = (x[i] - dot(m[i*n+i+1:(i+1)*n], x[i+1:])) / m[i*n+i]
		}
		return
	}
	for i := range n {
		x[i] /= m[i*n+i]
		for j := i + 1; j < n; j++ {
			x[j] -= m[i*n+j] * x[i]
		}
	}
	for i := n - 1; i >= 0; i-- {
		for j := range i {
			x[j] -= m[i*n+j] * x[i]
		}
	}
	for k := n - 1; k >= 0; k-- {
		x[k], x[pivots[k]] = x[pivots[k]], x[k]
	}
}

func norm(x []float64) float64 { return math.Sqrt(dot(x, x)) }

func finite(x []float64) bool {
	for _, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}
