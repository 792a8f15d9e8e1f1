package contact

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/contact/internal/proximal"
	"clearance/internal/memory"
)

// newtonState is the memory of proximalNewton.
type newtonState struct {
	block            []int // of the matrix, by body; -1 for a body that does not move or has no contact
	bodies           []int // of each block
	outer            []r3.Vec
	lambda           []r3.Vec // λ(v)
	curvature        [][3][3]float64
	jacobians        [][2][3][6]float64 // of both bodies of a contact, for the directions t1, t2 and n
	prox             []float64          // P = ρh
	shift            []float64          // Γ, frozen
	base             []twist            // v_f + M⁻¹Jᵀλᵏ
	slip             []r3.Vec           // Jv − c* of base
	v, try           []twist            // relative to base
	measured         []twist
	gradient         []twist // M(v − v_f) − Jᵀλ(v) = M(v − base) − Jᵀ(λ(v) − λᵏ)
	step             []twist
	matrix           [][6][6]float64 // the blocks of the pattern
	slot             []int32         // of each block of the pattern in matrix, -1 of others
	pattern, filled  []bool          // of its blocks, with those that elimination fills
	place, degree    []int           // of each block in the order of elimination, and its neighbours
	near             []int
	right            []float64 // [n]
	energy, velocity float64

	memory func(bytes float64) error // of tests, nil for what the machine has
}

// proximalNewton solves the problem by proximal steps, each by Newton's method in v. With the weights P = ρh,
// Rt = P + R and s = Jv − c* − Pλᵏ, an outer step finds v with M(v − v_f) = Jᵀλ(v) and sets λᵏ⁺¹ = λ(v).
//
// CCP: λ(v) minimizes ½λᵀRtλ + sᵀλ over K. The inner problem minimizes ½‖v − v_f‖²_M + ½λᵀRtλ, which is convex.
// NCP: λ_N = max(0, −s_N/Rt_N), and λ_T is −s_T/Rt_T projected on the disc of radius μλ_N; the merit is
// ‖M(v − v_f) − Jᵀλ‖ in the norm of M⁻¹. Where its line search fails, two outer steps of the CCP with Γ frozen
// and a larger ρ follow. P only damps: at a fixed point λᵏ⁺¹ = λᵏ it cancels, so R = 0 is solved exactly.
//
// It ends with the context of the call, too.
//
// v is kept as a difference from base = v_f + M⁻¹Jᵀλᵏ, so that the rounding error of λ(v), that of Jv divided by P, is
// relative to this difference. So P can be small, and an outer step long. Contacts that stick need that where no
// velocity meets all of their targets, if only by the tolerance: each outer step adds −c/P to their impulses, an
// internal force, until one of them opens. Where such steps leave the residual as it is, ρ goes below its least value.
//
// It starts from s.lambda, leaves the impulses of the least residual in s.best, and reports whether it is within tol.
func (s *worldSolver) proximalNewton(model Model, tol float64, limit int) (done bool) {
	n := &s.newton
	if !s.newtonMemory() {
		return
	}
	copy(n.outer, s.lambda)
	s.form(n.base, s.lambda)
	next := proximal.Start(model == CCP, s.leastProx(tol))
	for s.steps < limit && !s.ended() {
		convex := next.Convex()
		for i := range s.rows {
			r := &s.rows[i]
			n.prox[i], n.shift[i], n.slip[i] = next.Rho*r.height, 0, r.velocity(n.base)
			if convex && model == NCP {
				c := r.slip(n.base, n.outer[i])
				n.shift[i] = r.mu * math.Sqrt(c.X*c.X+c.Y*c.Y)
			}
		}
		clear(n.v)
		used, ended, done := s.inner(model, convex, tol, limit)
		if done {
			return true
		}
		if used == 0 { // an outer step that costs no factorization counts as well, so that the loop ends
			s.steps++
		}
		if !ended && !convex {
			next.Fails()
			continue
		}
		copy(n.outer, n.lambda)
		e, done := s.keep(model, n.measured, n.outer, tol)
		if done {
			return true
		}
		copy(n.base, n.measured)
		next.Ends(used, e)
	}
	return false
}

// leastProx is the least ρ, below which rounding outweighs the progress of an outer step: that of the factorization,
// and u/ρ of the speeds at a contact, which the force of a contact that slides has, against the residual it may have.
func (s *worldSolver) leastProx(tol float64) float64 {
	lo, hi, rounding := math.Inf(1), 0.0, 0.0
	for i := range s.rows {
		if r := &s.rows[i]; r.scale > 0 {
			rounding = max(rounding, 0x1p-53*s.speed[r.island]/(tol*r.scale))
		}
	}
	for _, b := range s.newton.bodies {
		lo, hi = min(lo, s.mass[b]), max(hi, s.mass[b])
	}
	return max(1e-10, min(1e-6, max(1e-7, rounding), 1e-3*lo/hi))
}

// inner solves M(v − v_f) = Jᵀλ(v) from base. used counts its steps. ended is false if the line search failed.
// done: λ(v) is within the tolerance.
func (s *worldSolver) inner(model Model, convex bool, tol float64, limit int) (used int, ended, done bool) {
	n := &s.newton
	s.forces(n.v, convex)
	f, g := n.energy, s.gradientNorm()
	for ; ; used++ {
		if g <= max(proximal.Inexactness*s.proximalStep(), proximal.GradientRounding*math.Sqrt(f+n.velocity)) {
			return used, true, false
		}
		if s.steps >= limit || (used >= proximal.InnerLimit && !convex) {
			return used, convex, false
		}
		s.assemble()
		if !s.factor() {
			return used, convex, false
		}
		s.steps++
		decrease := s.decrease()
		alpha := 1.0
		for {
			s.trial(alpha)
			s.forces(n.try, convex)
			if math.IsNaN(n.energy) {
				return used, false, false
			}
			after := s.gradientNorm()
			if convex && decrease <= proximal.CostRounding*f {
				if !(after <= g/2) { // the gradient is at its rounding error
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
		if _, done := s.keep(model, n.measured, n.lambda, tol); done {
			return used, true, true
		}
	}
}

// proximalStep is the largest ‖P(λ − λᵏ)‖/√h, in the unit of the gradient's norm.
func (s *worldSolver) proximalStep() float64 {
	n, most := &s.newton, 0.0
	for i := range s.rows {
		d := r3.Sub(n.lambda[i], n.outer[i])
		most = max(most, n.prox[i]*n.prox[i]*dotVec(d, d)/s.rows[i].height)
	}
	return math.Sqrt(most)
}

// forces sets λ(v), its curvature −dλ/ds, the gradient, and the cost energy of the convex problem.
func (s *worldSolver) forces(v []twist, convex bool) {
	n := &s.newton
	n.energy = 0
	for _, b := range n.bodies {
		base, free := &n.base[b], &s.free[b]
		lin, ang := r3.Add(v[b].lin, r3.Sub(base.lin, free.lin)), r3.Add(v[b].ang, r3.Sub(base.ang, free.ang))
		n.energy += (s.mass[b]*dotVec(lin, lin) + dotVec(ang, s.inertia[b].Mul(ang))) / 2
		n.gradient[b] = twist{r3.Scale(s.mass[b], v[b].lin), s.inertia[b].Mul(v[b].ang)}
	}
	for i := range s.rows {
		r := &s.rows[i]
		p := n.prox[i]
		c := addScaled(r3.Add(n.slip[i], r.moving(v)), -p, n.outer[i])
		c.Z += n.shift[i]
		var l r3.Vec
		if convex {
			l = coneForce(c, r.mu, p+r.rT, p+r.rN, &n.curvature[i])
		} else {
			l = discForce(c, r.mu, p+r.rT, p+r.rN, &n.curvature[i])
		}
		n.lambda[i] = l
		n.energy += ((p+r.rT)*(l.X*l.X+l.Y*l.Y) + (p+r.rN)*l.Z*l.Z) / 2
		s.subtractForce(r, r3.Sub(l, n.outer[i]))
	}
}

// subtractForce subtracts Jᵀλ of a contact from the gradient.
func (s *worldSolver) subtractForce(r *row, l r3.Vec) {
	w := r.world(l)
	if s.invMass[r.b] > 0 {
		g := &s.newton.gradient[r.b]
		g.lin, g.ang = r3.Sub(g.lin, w), r3.Sub(g.ang, crossVec(r.rb, w))
	}
	if s.invMass[r.a] > 0 {
		g := &s.newton.gradient[r.a]
		g.lin, g.ang = r3.Add(g.lin, w), r3.Add(g.ang, crossVec(r.ra, w))
	}
}

// coneForce minimizes ½λᵀRλ + sᵀλ over K, R = diag(rT, rT, rN), and sets h = −dλ/ds.
func coneForce(s r3.Vec, mu, rT, rN float64, h *[3][3]float64) r3.Vec {
	t := math.Sqrt(s.X*s.X + s.Y*s.Y)
	*h = [3][3]float64{}
	switch {
	case s.Z >= mu*t: // open
		return r3.Vec{}
	case t/rT <= -mu*s.Z/rN: // stick
		h[0][0], h[1][1], h[2][2] = 1/rT, 1/rT, 1/rN
		return r3.Vec{X: -s.X / rT, Y: -s.Y / rT, Z: -s.Z / rN}
	}
	q := rN + mu*mu*rT
	l := (mu*t - s.Z) / q
	dx, dy := 0.0, 0.0
	if t > 0 {
		dx, dy = -s.X/t, -s.Y/t
		w := mu * l / t // across the slip
		h[0][0], h[0][1], h[1][0], h[1][1] = w*dy*dy, -w*dx*dy, -w*dx*dy, w*dx*dx
	}
	e := [3]float64{mu * dx, mu * dy, 1}
	for i := range e {
		for j := range e {
			h[i][j] += e[i] * e[j] / q
		}
	}
	return r3.Vec{X: l * e[0], Y: l * e[1], Z: l}
}

// discForce is the normal law λ_N = max(0, −s_N/rN), then −s_T/rT projected on the disc of radius μλ_N. It sets
// h = −dλ/ds, which is not symmetric where the contact slides.
func discForce(s r3.Vec, mu, rT, rN float64, h *[3][3]float64) r3.Vec {
	*h = [3][3]float64{}
	l := -s.Z / rN
	if !(l > 0) {
		return r3.Vec{}
	}
	h[2][2] = 1 / rN
	t, radius := math.Sqrt(s.X*s.X+s.Y*s.Y), mu*l
	if t <= radius*rT {
		h[0][0], h[1][1] = 1/rT, 1/rT
		return r3.Vec{X: -s.X / rT, Y: -s.Y / rT, Z: l}
	}
	dx, dy, w := -s.X/t, -s.Y/t, radius/t
	h[0][0], h[0][1], h[1][0], h[1][1] = w*dy*dy, -w*dx*dy, -w*dx*dy, w*dx*dx
	h[0][2], h[1][2] = mu*dx/rN, mu*dy/rN
	return r3.Vec{X: radius * dx, Y: radius * dy, Z: l}
}

// gradientNorm is the norm of the gradient in M⁻¹.
func (s *worldSolver) gradientNorm() float64 {
	sum := 0.0
	for _, b := range s.newton.bodies {
		g := &s.newton.gradient[b]
		sum += s.invMass[b]*dotVec(g.lin, g.lin) + dotVec(g.ang, s.invInertia[b].Mul(g.ang))
	}
	return math.Sqrt(sum)
}

// decrease is that of the linear model of the cost along the step. The gradient must be that at n.v.
func (s *worldSolver) decrease() float64 {
	n, sum := &s.newton, 0.0
	for _, b := range n.bodies {
		sum -= dotVec(n.gradient[b].lin, n.step[b].lin) + dotVec(n.gradient[b].ang, n.step[b].ang)
	}
	return sum
}

func (s *worldSolver) trial(alpha float64) {
	n := &s.newton
	copy(n.try, n.v)
	for _, b := range n.bodies {
		n.try[b].lin = addScaled(n.v[b].lin, alpha, n.step[b].lin)
		n.try[b].ang = addScaled(n.v[b].ang, alpha, n.step[b].ang)
	}
}

// patternBytes is the memory of a place of the pattern of the matrix, and blockBytes that of a block.
const patternBytes, blockBytes = 2*1 + 4, 36 * 8

// newtonMemory numbers the bodies that move and have contacts, and finds the pattern of the matrix. It reports false if
// there is no memory for it.
func (s *worldSolver) newtonMemory() bool {
	n := &s.newton
	resize(&n.block, len(s.mass))
	for b := range n.block {
		n.block[b] = -1
	}
	n.bodies = n.bodies[:0]
	for i := range s.rows {
		for _, b := range [2]int{s.rows[i].a, s.rows[i].b} {
			if s.invMass[b] > 0 {
				n.block[b] = 0
			}
		}
	}
	for b, used := range n.block {
		if used == 0 {
			n.block[b] = len(n.bodies)
			n.bodies = append(n.bodies, b)
		}
	}
	rows, bodies, blocks := len(s.rows), len(s.mass), len(n.bodies)
	resize(&n.outer, rows)
	resize(&n.slip, rows)
	resize(&n.lambda, rows)
	resize(&n.curvature, rows)
	resize(&n.jacobians, rows)
	for i := range s.rows {
		r := &s.rows[i]
		n.jacobians[i] = [2][3][6]float64{r.jacobian(r.ra, -1), r.jacobian(r.rb, 1)}
	}
	resize(&n.prox, rows)
	resize(&n.shift, rows)
	for _, t := range []*[]twist{&n.base, &n.v, &n.try, &n.measured, &n.gradient, &n.step} {
		resize(t, bodies)
	}
	if s.room(patternBytes*(float64(blocks)*float64(blocks)-float64(cap(n.slot)))) != nil {
		return false
	}
	resize(&n.pattern, blocks*blocks)
	resize(&n.slot, blocks*blocks)
	resize(&n.right, 6*blocks)
	n.velocity = 0
	for _, b := range n.bodies {
		v := &s.free[b]
		n.velocity += s.mass[b]*dotVec(v.lin, v.lin) + dotVec(v.ang, s.inertia[b].Mul(v.ang))
	}
	return s.fillPattern()
}

// room returns an error if Newton's method for a world would take so much more memory than there is, in all goroutines
// of the call.
func (s *worldSolver) room(bytes float64) error {
	if s.newton.memory != nil {
		return s.newton.memory(bytes)
	}
	return memory.Check("the matrix of Newton's method", bytes*float64(max(s.sharing, 1)))
}

// order numbers the blocks in the order of elimination by minimum degree [George1989]: the next body is the one with
// the fewest neighbours, of those the first, and its neighbours become neighbours of each other. In pattern are the
// neighbours before, and then also those that the elimination joins, by the old numbers.
func (s *worldSolver) order() {
	n := &s.newton
	size := len(n.bodies)
	resize(&n.place, size)
	resize(&n.degree, size)
	for i := range size {
		n.place[i], n.degree[i] = -1, 0
		for _, filled := range n.pattern[i*size : (i+1)*size] {
			if filled {
				n.degree[i]++
			}
		}
	}
	for k := range size {
		next := -1
		for i, place := range n.place {
			if place < 0 && (next < 0 || n.degree[i] < n.degree[next]) {
				next = i
			}
		}
		n.place[next] = k
		n.near = n.near[:0]
		for i, filled := range n.pattern[next*size : (next+1)*size] {
			if filled && n.place[i] < 0 {
				n.near = append(n.near, i)
			}
		}
		for _, i := range n.near {
			n.degree[i]-- // by next
			for _, j := range n.near {
				if i != j && !n.pattern[i*size+j] {
					n.pattern[i*size+j] = true
					n.degree[i]++
				}
			}
		}
	}
}

// fillPattern numbers the blocks and finds those of the matrix that are not zero, before and during the elimination:
// these alone have memory. It reports false if there is none for them.
func (s *worldSolver) fillPattern() bool {
	n := &s.newton
	size := len(n.bodies)
	clear(n.pattern)
	for i := range s.rows {
		if a, b := n.block[s.rows[i].a], n.block[s.rows[i].b]; a >= 0 && b >= 0 {
			n.pattern[a*size+b], n.pattern[b*size+a] = true, true
		}
	}
	s.order()
	filled := append(n.filled[:0], n.pattern...)
	n.filled = filled
	for i, place := range n.place {
		for j, other := range n.place {
			n.pattern[place*size+other] = i == j || filled[i*size+j]
		}
	}
	for b, i := range n.block {
		if i >= 0 {
			n.block[b] = n.place[i]
			n.bodies[n.place[i]] = b
		}
	}
	count := 0
	for i, filled := range n.pattern {
		if n.slot[i] = -1; filled {
			n.slot[i] = int32(count)
			count++
		}
	}
	if s.room(blockBytes*float64(count-cap(n.matrix))) != nil {
		return false
	}
	resize(&n.matrix, count)
	return true
}

// at is the block of the matrix of the rows of block p and the columns of block q, which are in the pattern.
func (n *newtonState) at(p, q int) *[6][6]float64 { return &n.matrix[n.slot[p*len(n.bodies)+q]] }

// assemble forms M + JᵀHJ.
func (s *worldSolver) assemble() {
	n := &s.newton
	clear(n.matrix)
	for k, b := range n.bodies {
		m := n.at(k, k)
		for i := range 3 {
			m[i][i] = s.mass[b]
		}
		inertia := &s.inertia[b]
		full := [3][3]float64{
			{inertia[0], inertia[3], inertia[4]},
			{inertia[3], inertia[1], inertia[5]},
			{inertia[4], inertia[5], inertia[2]},
		}
		for i := range 3 {
			copy(m[3+i][3:], full[i][:])
		}
	}
	for i := range s.rows {
		r := &s.rows[i]
		h := &n.curvature[i]
		if h[2][2] == 0 {
			continue
		}
		blocks := [2]int{n.block[r.a], n.block[r.b]}
		jacobians := &n.jacobians[i]
		for p, bp := range blocks {
			if bp < 0 {
				continue
			}
			left := product(&jacobians[p], h)
			for q, bq := range blocks {
				if bq >= 0 {
					addBlock(n.at(bp, bq), &left, &jacobians[q])
				}
			}
		}
	}
}

// jacobian returns the rows of J of one body, for the directions t1, t2 and n.
func (r *row) jacobian(arm r3.Vec, sign float64) (j [3][6]float64) {
	for i, d := range [3]r3.Vec{r.t1, r.t2, r.n} {
		c := crossVec(arm, d)
		j[i] = [6]float64{sign * d.X, sign * d.Y, sign * d.Z, sign * c.X, sign * c.Y, sign * c.Z}
	}
	return j
}

// product returns JᵀH, transposed.
func product(j *[3][6]float64, h *[3][3]float64) (left [3][6]float64) {
	for c := range 3 {
		for k := range 6 {
			left[c][k] = j[0][k]*h[0][c] + j[1][k]*h[1][c] + j[2][k]*h[2][c]
		}
	}
	return left
}

func addBlock(m *[6][6]float64, left, right *[3][6]float64) {
	for i := range 6 {
		to := &m[i]
		a, b, c := left[0][i], left[1][i], left[2][i]
		for j := range to {
			to[j] += a*right[0][j] + b*right[1][j] + c*right[2][j]
		}
	}
}

// factor solves for the Newton step by Gaussian elimination over the blocks of the pattern, without pivoting:
// the matrix of the convex model is positive definite. It reports false if a pivot vanishes or a step is not
// finite, which matrices of the NCP can do, and where the context of the call has ended.
func (s *worldSolver) factor() bool {
	n := &s.newton
	blocks := len(n.bodies)
	for k, b := range n.bodies {
		g := &n.gradient[b]
		copy(n.right[6*k:], []float64{-g.lin.X, -g.lin.Y, -g.lin.Z, -g.ang.X, -g.ang.Y, -g.ang.Z})
	}
	for k := range blocks {
		if s.ended() {
			return false
		}
		for c := range 6 {
			if !s.eliminate(k, c) {
				return false
			}
		}
	}
	for k := blocks - 1; k >= 0; k-- {
		x := n.right[6*k : 6*k+6]
		for c := 5; c >= 0; c-- {
			sum, line := x[c], &n.at(k, k)[c]
			for j := c + 1; j < 6; j++ {
				sum -= line[j] * x[j]
			}
			for q := k + 1; q < blocks; q++ {
				if n.pattern[k*blocks+q] {
					for j, m := range n.at(k, q)[c] {
						sum -= m * n.right[6*q+j]
					}
				}
			}
			x[c] = sum / line[c]
		}
	}
	for k, b := range n.bodies {
		x := n.right[6*k : 6*k+6]
		if !finite(x...) {
			return false
		}
		n.step[b] = twist{vecOf(x), vecOf(x[3:])}
	}
	return true
}

// eliminate subtracts multiples of row c of block k from the rows below it.
func (s *worldSolver) eliminate(k, c int) bool {
	n := &s.newton
	blocks := len(n.bodies)
	pivot := &n.at(k, k)[c]
	if !(math.Abs(pivot[c]) > 0) {
		return false
	}
	inverse := 1 / pivot[c]
	for p := k; p < blocks; p++ {
		if !n.pattern[p*blocks+k] {
			continue
		}
		first, rows := 0, n.at(p, k)
		if p == k {
			first = c + 1
		}
		for i := first; i < 6; i++ {
			line := &rows[i]
			f := line[c] * inverse
			if f == 0 {
				continue
			}
			for j := c + 1; j < 6; j++ {
				line[j] -= f * pivot[j]
			}
			for q := k + 1; q < blocks; q++ {
				if n.pattern[k*blocks+q] {
					to, from := &n.at(p, q)[i], &n.at(k, q)[c]
					for j := range to {
						to[j] -= f * from[j]
					}
				}
			}
			n.right[6*p+i] -= f * n.right[6*k+c]
		}
	}
	return true
}
