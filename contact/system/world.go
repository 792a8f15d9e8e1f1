package system

import (
	"context"
	"math"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/contact"
	"clearance/contact/internal/modes"
)

// The problem of an island in coordinates in which its mass matrix is the identity: with M = LLᵀ they are
// x = Lᵀ(v − v_f), and the Jacobian is JL⁻ᵀ. Masses are divided by the power of two of the first number of M. That
// number scales with the masses, and with an even power of the unit of length where the first velocity is an angular
// one. So units of mass, length and time that change by powers of two change no bit of the square roots in L, and none
// of an answer.

// row is a contact.
type row struct {
	modes.Contact
	shift        r3.Vec        // −c*, with the offset
	free         r3.Vec        // Jv_f + shift
	shifted      float64       // bounds the terms of shift
	speed        float64       // bounds those of free
	g            [3][3]float64 // its block of G, with R
	diagonal     [3]float64    // without R
	rigid        float64       // its trace without R
	stepN, stepT float64       // of sweeps
}

// solver has the problem of one island, and memory.
type solver struct {
	islands    islands
	velocities []int // of the island, in its world
	contacts   []int
	n          int
	unit       float64   // of masses
	mass       []float64 // M of the island in its unit [n,n], the lower half
	given      []float64 // J [3c,n]
	free       []float64 // v_f
	lower      []float64 // L [n,n]
	jacobian   []float64 // JL⁻ᵀ [3c,n]
	v          []float64 // x
	energy     float64   // ‖v_f‖²_M
	rows       []row
	lambda     []r3.Vec
	best       []r3.Vec
	bestRatio  float64
	residual   float64 // of best
	scale      float64
	speed      float64 // bounds the terms of the velocities of the contacts
	steps      int
	after      []float64 // velocities of the island
	newton     newton
	bounds     bounds
	derivative derivative
	check      []float64
}

// valid reports whether a world is valid.
func (s *solver) valid(p *Problem, w int) bool {
	resize(&s.check, p.Velocities*p.Velocities)
	return p.check(w, s.check) == nil
}

// load takes the problem of island k of a valid world. It reports false if numbers leave the range of float64.
func (s *solver) load(p *Problem, w, k int) bool {
	const most = 1000 // exponent of the unit
	s.velocities, s.contacts = s.islands.velocities.of(k), s.islands.contacts.of(k)
	n, c := len(s.velocities), len(s.contacts)
	s.n = n
	for _, x := range [...]*[]float64{&s.mass, &s.lower} {
		resize(x, n*n)
	}
	for _, x := range [...]*[]float64{&s.given, &s.jacobian} {
		resize(x, 3*c*n)
	}
	for _, x := range [...]*[]float64{&s.free, &s.v, &s.after} {
		resize(x, n)
	}
	resize(&s.rows, c)
	resize(&s.lambda, c)
	resize(&s.best, c)
	s.unit = 1
	if n > 0 {
		first := s.velocities[0]
		_, exponent := math.Frexp(p.Mass[(w*p.Velocities+first)*p.Velocities+first])
		s.unit = math.Ldexp(1, max(-most, min(exponent, most)))
	}
	for a, i := range s.velocities {
		line := p.Mass[(w*p.Velocities+i)*p.Velocities:]
		for b, j := range s.velocities[:a+1] {
			s.mass[a*n+b] = line[j] / s.unit
			s.mass[b*n+a] = s.mass[a*n+b]
		}
		s.free[a] = p.Velocity[w*p.Velocities+i]
	}
	factored(s.mass, n, s.lower)
	s.energy = 0
	for i := range n {
		sum := 0.0
		for k := i; k < n; k++ {
			sum += s.lower[k*n+i] * s.free[k]
		}
		s.energy += sum * sum
	}
	for i := range s.rows {
		s.loadContact(p, w*p.Contacts+s.contacts[i], i)
		if r := &s.rows[i]; !finite([]float64{r.H, 1 / r.H, r.stepT, r.stepN}) && r.H != 0 {
			return false
		}
	}
	return finite(s.lower) && finite(s.jacobian) && !math.IsNaN(s.energy) && !math.IsInf(s.energy, 0)
}

// loadContact takes contact at of all worlds as contact i of the island.
func (s *solver) loadContact(p *Problem, at, i int) {
	s.rows[i] = row{}
	r := &s.rows[i]
	r.Mu = p.Friction[at]
	s.lambda[i] = r3.Vec{}
	if len(p.Warm) > 0 {
		s.lambda[i] = r3.Scale(1/s.unit, vecOf(p.Warm[3*at:]))
	}
	var free, terms [3]float64
	for a := range 3 {
		line, all := s.line(i, a), p.Jacobian[(3*at+a)*p.Velocities:]
		for b, j := range s.velocities {
			line[b] = all[j]
			free[a] += all[j] * s.free[b]
			terms[a] += math.Abs(all[j] * s.free[b])
		}
		copy(s.lineOf(s.given, i, a), line)
		intoFactor(s.lower, s.n, line)
	}
	r.free = vecOf(free[:])
	r.speed = max(terms[0], terms[1], terms[2])
	if len(p.Offset) > 0 {
		r.shift = vecOf(p.Offset[3*at:])
	}
	shifted := length(r.shift)
	if len(p.Target) > 0 {
		r.shift.Z -= p.Target[at]
		shifted += math.Abs(p.Target[at])
	}
	r.free, r.shifted, r.speed = r3.Add(r.free, r.shift), shifted, r.speed+shifted
	for a := range 3 {
		for b := range 3 {
			r.g[a][b] = dot(s.line(i, a), s.line(i, b))
		}
	}
	r.diagonal = [3]float64{r.g[0][0], r.g[1][1], r.g[2][2]}
	rT, rN := 0.0, 0.0
	if len(p.Compliance) > 0 {
		rT, rN = p.Compliance[2*at]*s.unit, p.Compliance[2*at+1]*s.unit
	}
	r.comply(rT, rN)
}

// comply sets the compliance, the block of G and its trace, and the steps of sweeps.
func (r *row) comply(rT, rN float64) {
	d := &r.diagonal
	r.RT, r.RN, r.g[0][0], r.g[1][1], r.g[2][2] = rT, rN, d[0]+rT, d[1]+rT, d[2]+rN
	r.rigid = d[0] + d[1] + d[2]
	r.H, r.stepT, r.stepN = r.rigid+2*rT+rN, 0, 0
	mean, half := (r.g[0][0]+r.g[1][1])/2, (r.g[0][0]-r.g[1][1])/2
	if largest := mean + math.Hypot(half, r.g[0][1]); largest > 0 {
		r.stepT = 1 / largest
	}
	if r.g[2][2] > 0 {
		r.stepN = 1 / r.g[2][2]
	}
}

// line is row a of contact i of JL⁻ᵀ, and lineOf that of such a matrix.
func (s *solver) line(i, a int) []float64 { return s.lineOf(s.jacobian, i, a) }

func (s *solver) lineOf(j []float64, i, a int) []float64 { return j[(3*i+a)*s.n : (3*i+a+1)*s.n] }

// moving returns JL⁻ᵀx of contact i.
func (s *solver) moving(i int, x []float64) r3.Vec { return s.times(s.jacobian, i, x) }

func (s *solver) times(j []float64, i int, x []float64) r3.Vec {
	return r3.Vec{X: dot(s.lineOf(j, i, 0), x), Y: dot(s.lineOf(j, i, 1), x), Z: dot(s.lineOf(j, i, 2), x)}
}

// slip returns c of contact i.
func (s *solver) slip(i int, v []float64, l r3.Vec) r3.Vec {
	r := &s.rows[i]
	c := r3.Add(r.free, s.moving(i, v))
	return r3.Vec{X: c.X + r.RT*l.X, Y: c.Y + r.RT*l.Y, Z: c.Z + r.RN*l.Z}
}

// push adds L⁻¹Jᵀl of contact i to v.
func (s *solver) push(i int, l r3.Vec, v []float64) { s.pushBy(s.jacobian, i, l, v) }

func (s *solver) pushBy(j []float64, i int, l r3.Vec, v []float64) {
	x, y, z := s.lineOf(j, i, 0), s.lineOf(j, i, 1), s.lineOf(j, i, 2)
	for k := range v {
		v[k] += l.X*x[k] + l.Y*y[k] + l.Z*z[k]
	}
}

// form sets v = L⁻¹Jᵀλ.
func (s *solver) form(v []float64, lambda []r3.Vec) {
	clear(v)
	for i, l := range lambda {
		if l != (r3.Vec{}) {
			s.push(i, l, v)
		}
	}
}

// resolved is the part of the speeds at a contact that float64 resolves, as in package contact.
const resolved = 0x1p-44

// setScale sets the speed scale of the island: the largest residual that the contacts have without impulses, and at
// least what float64 resolves of the speeds, divided by the tolerance.
func (s *solver) setScale(model contact.Model, tol float64) (moves bool) {
	violation, speed := 0.0, 0.0
	for i := range s.rows {
		r := &s.rows[i]
		violation = max(violation, contact.DualDistance(contact.WithSlip(model, r.free, r.Mu), r.Mu))
		speed = max(speed, r.speed)
	}
	s.scale, s.speed = max(violation, resolved/tol*speed), speed
	return violation > 0
}

// measure returns the largest residual of λ, with v formed anew.
func (s *solver) measure(model contact.Model, v []float64, lambda []r3.Vec) (residual float64) {
	s.form(v, lambda)
	for i, l := range lambda {
		r := &s.rows[i]
		c := contact.WithSlip(model, s.slip(i, v, l), r.Mu)
		if r.H == 0 { // which no impulse moves
			residual = max(residual, contact.DualDistance(c, r.Mu))
			continue
		}
		e := contact.NaturalMap(l, c, r.Mu, r.H)
		if math.IsNaN(e) {
			return math.Inf(1)
		}
		residual = max(residual, e)
	}
	return residual
}

// keep keeps λ if its residual is the least one, and reports the ratio of the residual and whether it is within tol.
func (s *solver) keep(model contact.Model, v []float64, lambda []r3.Vec, tol float64) (ratio float64, done bool) {
	e := s.measure(model, v, lambda)
	if e > 0 {
		ratio = e / s.scale
	}
	if ratio < s.bestRatio {
		s.bestRatio, s.residual = ratio, e
		copy(s.best, lambda)
	}
	return ratio, ratio <= tol
}

// solve sets best to the impulses of the island, from those of lambda.
func (s *solver) solve(ctx context.Context, o *Options) {
	s.steps, s.bestRatio, s.residual = 0, math.Inf(1), math.Inf(1)
	clear(s.best)
	if !s.setScale(o.Model, o.Tolerance) {
		clear(s.lambda)
	}
	ratio, done := s.keep(o.Model, s.v, s.lambda, o.Tolerance)
	if done {
		return
	}
	if !(ratio <= 1) { // no better than none
		clear(s.lambda)
	}
	if !s.sweeps(o) {
		s.proximalNewton(ctx, o)
	}
}

const (
	// sweepsBlock is the number of sweeps between two residuals, blocksAhead that of further blocks that the progress
	// of the last one has to make enough, and mostBlocks that of all blocks. A sweep costs 12cn operations, a step of
	// Newton's method about 6cn² + n³.
	sweepsBlock, blocksAhead, mostBlocks = 10, 6, 20
	// relaxation is the factor of the steps of the NCP. Redundant contacts then share their load.
	relaxation = 1.3
)

// sweeps makes sweeps of projected Gauss-Seidel [AGIMUS2023, Contacts, Alg. 2 and 5], with the steps of package
// contact, while they are about to reach the tolerance.
func (s *solver) sweeps(o *Options) (done bool) {
	s.form(s.v, s.lambda)
	last := math.Inf(1)
	for range mostBlocks {
		for range sweepsBlock {
			s.sweep(o.Model)
		}
		ratio, done := s.keep(o.Model, s.v, s.lambda, o.Tolerance)
		if done {
			return true
		}
		expected, progress := ratio, ratio/last
		for range blocksAhead {
			expected *= progress
		}
		if !math.IsInf(last, 1) && !(expected <= o.Tolerance) {
			break
		}
		last = ratio
	}
	return false
}

// sweep updates the impulses of all contacts, one after the other.
func (s *solver) sweep(model contact.Model) {
	for i := range s.rows {
		r, old := &s.rows[i], s.lambda[i]
		if r.H == 0 {
			continue
		}
		c := s.slip(i, s.v, old)
		var l r3.Vec
		if model == contact.CCP {
			l = contact.ProjectCone(axpy(old, -1/r.H, c), r.Mu)
		} else {
			l.Z = max(0, old.Z-relaxation*c.Z*r.stepN)
			d := l.Z - old.Z
			l.X = old.X - relaxation*(c.X+r.g[0][2]*d)*r.stepT
			l.Y = old.Y - relaxation*(c.Y+r.g[1][2]*d)*r.stepT
			if t, radius := math.Hypot(l.X, l.Y), r.Mu*l.Z; t > radius {
				l.X, l.Y = l.X*radius/t, l.Y*radius/t
			}
		}
		s.lambda[i] = l
		if d := r3.Sub(l, old); d != (r3.Vec{}) {
			s.push(i, d, s.v)
		}
	}
}

func vecOf(s []float64) r3.Vec  { return r3.Vec{X: s[0], Y: s[1], Z: s[2]} }
func put(s []float64, v r3.Vec) { s[0], s[1], s[2] = v.X, v.Y, v.Z }
func length(v r3.Vec) float64   { return math.Sqrt(r3.Dot(v, v)) }
func axpy(a r3.Vec, f float64, b r3.Vec) r3.Vec {
	return r3.Vec{X: a.X + f*b.X, Y: a.Y + f*b.Y, Z: a.Z + f*b.Z}
}
