package system

import (
	"context"
	"math"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/contact"
	"clearance/contact/internal/modes"
)

// The problem of a world in coordinates in which its mass matrix is the identity: with M = LLᵀ they are x = Lᵀv, and
// the Jacobian is JL⁻ᵀ. Masses are divided by the power of two of the first number of M. That number scales with the
// masses, and with an even power of the unit of length where the first velocity is an angular one. So units of mass,
// length and time that change by powers of two change no bit of the square roots in L, and none of an answer.

// row is a contact.
type row struct {
	modes.Contact
	target       float64
	offset       r3.Vec
	g            [3][3]float64 // its block of G, with R
	rigid        float64       // its trace without R
	stepN, stepT float64       // of sweeps
}

// solver has the problem of one world, and memory.
type solver struct {
	n          int
	unit       float64   // of masses
	lower      []float64 // L [n,n]
	jacobian   []float64 // JL⁻ᵀ [3c,n]
	free, v    []float64
	rows       []row
	lambda     []r3.Vec
	best       []r3.Vec
	bestRatio  float64
	residual   float64 // of best
	scale      float64
	speed      float64 // bounds the terms of the velocities of the contacts
	steps      int
	newton     newton
	derivative derivative
}

// factored sets lower to L of m = LLᵀ, and reports whether m is positive definite.
func factored(m []float64, n int, lower []float64) bool {
	clear(lower)
	for i := range n {
		for j := range i + 1 {
			sum := m[i*n+j]
			for k := range j {
				sum -= lower[i*n+k] * lower[j*n+k]
			}
			switch {
			case i != j:
				lower[i*n+j] = sum / lower[j*n+j]
			case !(sum > 1e-14*m[i*n+i]):
				return false
			default:
				lower[i*n+i] = math.Sqrt(sum)
			}
		}
	}
	return true
}

// intoFactor sets x to L⁻¹x.
func intoFactor(lower []float64, n int, x []float64) {
	for i := range n {
		sum := x[i]
		for k, l := range lower[i*n : i*n+i] {
			sum -= l * x[k]
		}
		x[i] = sum / lower[i*n+i]
	}
}

// fromFactor sets x to L⁻ᵀx.
func fromFactor(lower []float64, n int, x []float64) {
	for i := n - 1; i >= 0; i-- {
		x[i] /= lower[i*n+i]
		for k, l := range lower[i*n : i*n+i] {
			x[k] -= l * x[i]
		}
	}
}

// timesFactor sets to = Lᵀx, or Lx.
func timesFactor(lower []float64, n int, transposed bool, x, to []float64) {
	clear(to)
	for i := range n {
		for k, l := range lower[i*n : i*n+i+1] {
			if transposed {
				to[k] += l * x[i]
			} else {
				to[i] += l * x[k]
			}
		}
	}
}

// load takes the problem of a world, which is valid. It reports false if numbers leave the range of float64.
func (s *solver) load(p *Problem, w int) bool {
	const most = 1000 // exponent of the unit
	n, count := p.Velocities, int(p.Count[w])
	s.n = n
	m := p.Mass[w*n*n : (w+1)*n*n]
	s.unit = 1
	if n > 0 {
		_, exponent := math.Frexp(m[0])
		s.unit = math.Ldexp(1, max(-most, min(exponent, most)))
	}
	resize(&s.lower, n*n)
	scaled := make([]float64, n*n)
	for i, x := range m {
		scaled[i] = x / s.unit
	}
	factored(scaled, n, s.lower)
	resize(&s.free, n)
	resize(&s.v, n)
	timesFactor(s.lower, n, true, p.Velocity[w*n:(w+1)*n], s.free)
	resize(&s.jacobian, 3*count*n)
	copy(s.jacobian, p.Jacobian[3*w*p.Contacts*n:])
	resize(&s.rows, count)
	resize(&s.lambda, count)
	resize(&s.best, count)
	for i := range s.rows {
		k := w*p.Contacts + i
		s.rows[i] = row{}
		r := &s.rows[i]
		r.Mu = p.Friction[k]
		if len(p.Target) > 0 {
			r.target = p.Target[k]
		}
		if len(p.Compliance) > 0 {
			r.RT, r.RN = p.Compliance[2*k]*s.unit, p.Compliance[2*k+1]*s.unit
		}
		if len(p.Offset) > 0 {
			r.offset = vecOf(p.Offset[3*k:])
		}
		s.lambda[i] = r3.Vec{}
		if len(p.Warm) > 0 {
			s.lambda[i] = r3.Scale(1/s.unit, vecOf(p.Warm[3*k:]))
		}
		for a := range 3 {
			intoFactor(s.lower, n, s.line(i, a))
		}
		for a := range 3 {
			for b := range 3 {
				r.g[a][b] = dot(s.line(i, a), s.line(i, b))
			}
		}
		r.rigid = r.g[0][0] + r.g[1][1] + r.g[2][2]
		r.g[0][0], r.g[1][1], r.g[2][2] = r.g[0][0]+r.RT, r.g[1][1]+r.RT, r.g[2][2]+r.RN
		r.H = r.rigid + 2*r.RT + r.RN
		mean, half := (r.g[0][0]+r.g[1][1])/2, (r.g[0][0]-r.g[1][1])/2
		if largest := mean + math.Hypot(half, r.g[0][1]); largest > 0 {
			r.stepT = 1 / largest
		}
		if r.g[2][2] > 0 {
			r.stepN = 1 / r.g[2][2]
		}
		if !finite([]float64{r.H, 1 / r.H, r.stepT, r.stepN}) && r.H != 0 {
			return false
		}
	}
	return finite(s.lower) && finite(s.jacobian) && finite(s.free)
}

// line is row a of contact i of JL⁻ᵀ.
func (s *solver) line(i, a int) []float64 { return s.jacobian[(3*i+a)*s.n : (3*i+a+1)*s.n] }

// moving returns Jv of contact i.
func (s *solver) moving(i int, v []float64) r3.Vec {
	return r3.Vec{X: dot(s.line(i, 0), v), Y: dot(s.line(i, 1), v), Z: dot(s.line(i, 2), v)}
}

// slip returns c of contact i.
func (s *solver) slip(i int, v []float64, l r3.Vec) r3.Vec {
	r := &s.rows[i]
	c := r3.Add(s.moving(i, v), r.offset)
	return r3.Vec{X: c.X + r.RT*l.X, Y: c.Y + r.RT*l.Y, Z: c.Z - r.target + r.RN*l.Z}
}

// push adds Jᵀl of contact i to v.
func (s *solver) push(i int, l r3.Vec, v []float64) {
	x, y, z := s.line(i, 0), s.line(i, 1), s.line(i, 2)
	for k := range v {
		v[k] += l.X*x[k] + l.Y*y[k] + l.Z*z[k]
	}
}

// form sets v = v_f + M⁻¹Jᵀλ.
func (s *solver) form(v []float64, lambda []r3.Vec) {
	copy(v, s.free)
	for i, l := range lambda {
		if l != (r3.Vec{}) {
			s.push(i, l, v)
		}
	}
}

// resolved is the part of the speeds at a contact that float64 resolves, as in package contact.
const resolved = 0x1p-44

// setScale sets the speed scale of the world: the largest residual that the contacts have without impulses, and at
// least what float64 resolves of the speeds, divided by the tolerance.
func (s *solver) setScale(model contact.Model, tol float64) (moves bool) {
	violation, speed := 0.0, 0.0
	for i := range s.rows {
		r := &s.rows[i]
		c := contact.WithSlip(model, s.slip(i, s.free, r3.Vec{}), r.Mu)
		violation = max(violation, contact.DualDistance(c, r.Mu))
		terms := 0.0
		for a := range 3 {
			for k, j := range s.line(i, a) {
				terms += math.Abs(j * s.free[k])
			}
		}
		speed = max(speed, math.Abs(r.target)+length(r.offset)+terms)
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

// sweepsFirst is the number of sweeps before Newton's method.
const sweepsFirst = 20

// solveWorld solves a world and writes its answer.
func (s *solver) solveWorld(ctx context.Context, p *Problem, w int, o *Options, out *Solution) {
	n, c := p.Velocities, p.Contacts
	clear(out.Impulse[3*w*c : 3*(w+1)*c])
	copy(out.Velocity[w*n:(w+1)*n], p.Velocity[w*n:])
	out.Residual[w], out.Scale[w], out.Steps[w], out.Status[w] = 0, 0, 0, contact.Solved
	if p.CheckWorld(w) != nil {
		out.invalid(p, w)
		return
	}
	if p.Count[w] == 0 {
		return
	}
	if !s.load(p, w) {
		out.unknown(w)
		return
	}
	s.steps, s.bestRatio, s.residual = 0, math.Inf(1), math.Inf(1)
	clear(s.best)
	if !s.setScale(o.Model, o.Tolerance) {
		clear(s.lambda)
	}
	if _, done := s.keep(o.Model, s.v, s.lambda, o.Tolerance); !done && !s.sweeps(o) {
		s.proximalNewton(ctx, o)
	}
	if s.bestRatio > o.Tolerance {
		out.Status[w] = contact.Undecided
	}
	out.Residual[w], out.Scale[w], out.Steps[w] = s.residual, s.scale, int32(s.steps)
	s.form(s.v, s.best)
	velocity, impulse := out.Velocity[w*n:(w+1)*n], out.Impulse[3*w*c:3*(w+1)*c]
	copy(velocity, s.v)
	fromFactor(s.lower, n, velocity)
	for i, l := range s.best {
		put(impulse[3*i:], r3.Scale(s.unit, l))
	}
	if !finite(velocity) || !finite(impulse) || !(s.scale <= math.MaxFloat64) {
		clear(impulse)
		copy(velocity, p.Velocity[w*n:])
		out.unknown(w)
	}
}

// unknown is the answer of a world whose numbers leave the range of float64: no impulses, with any residual.
func (s *Solution) unknown(w int) {
	s.Residual[w], s.Scale[w], s.Status[w] = math.Inf(1), 0, contact.Undecided
}

// invalid writes the columns of a world whose input is invalid, as package contact does.
func (s *Solution) invalid(p *Problem, w int) {
	n, c := p.Velocities, 3*p.Contacts
	for _, column := range [][]float64{s.Impulse[w*c : (w+1)*c], s.Velocity[w*n : (w+1)*n], s.Residual[w : w+1],
		s.Scale[w : w+1]} {
		for i := range column {
			column[i] = math.NaN()
		}
	}
	s.Status[w] = contact.Invalid
}

// sweeps makes sweeps of projected Gauss-Seidel [AGIMUS2023, Contacts, Alg. 2 and 5], with the steps of package
// contact.
func (s *solver) sweeps(o *Options) (done bool) {
	s.form(s.v, s.lambda)
	for range sweepsFirst {
		for i := range s.rows {
			r, old := &s.rows[i], s.lambda[i]
			if r.H == 0 {
				continue
			}
			c := s.slip(i, s.v, old)
			var l r3.Vec
			if o.Model == contact.CCP {
				l = contact.ProjectCone(axpy(old, -1/r.H, c), r.Mu)
			} else {
				l.Z = max(0, old.Z-c.Z*r.stepN)
				d := l.Z - old.Z
				l.X, l.Y = old.X-(c.X+r.g[0][2]*d)*r.stepT, old.Y-(c.Y+r.g[1][2]*d)*r.stepT
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
	_, done = s.keep(o.Model, s.v, s.lambda, o.Tolerance)
	return done
}

func dot(a, b []float64) (sum float64) {
	for i, x := range a {
		sum += x * b[i]
	}
	return sum
}

func vecOf(s []float64) r3.Vec  { return r3.Vec{X: s[0], Y: s[1], Z: s[2]} }
func put(s []float64, v r3.Vec) { s[0], s[1], s[2] = v.X, v.Y, v.Z }
func length(v r3.Vec) float64   { return math.Sqrt(r3.Dot(v, v)) }
func axpy(a r3.Vec, f float64, b r3.Vec) r3.Vec {
	return r3.Vec{X: a.X + f*b.X, Y: a.Y + f*b.Y, Z: a.Z + f*b.Z}
}
