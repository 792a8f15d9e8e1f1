package contact

import (
	"context"
	"math"
	"sync/atomic"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
	native "clearance/kernels/contact"
)

// twist is the velocity of a body, or M⁻¹Jᵀλ: that of the center of mass, and the angular velocity.
type twist struct{ lin, ang r3.Vec }

// row is a contact as the solvers read it. Components X, Y and Z of impulses and relative velocities are those
// along t1, t2 and n.
type row struct {
	a, b      int // the world is the body behind the last one
	ra, rb    r3.Vec
	t1, t2, n r3.Vec
	bias      float64 // −c*_N
	mu        float64
	rT, rN    float64 // compliances

	g      [3][3]float64 // block of G = JM⁻¹Jᵀ + R
	stepN  float64       // 1/G_NN
	stepT  float64       // 1/λ_max(G_TT)
	height float64       // an upper bound of λ_max(G_ii) by at most 15 %, where setHeights was called

	rigid  float64 // trace of the block of JM⁻¹Jᵀ
	trace  float64 // h of the residual: rigid and the compliances
	scale  float64 // in m/s
	island int
}

// worldSolver holds the problem of one world and the memory of its solvers. It is used by one goroutine.
type worldSolver struct {
	mass                []float64 // of the bodies and of the world; 0 where invMass is 0
	invMass             []float64
	inertia, invInertia []sym3
	condition           []float64 // of the inertia, set by sizes
	free, v             []twist
	units               units
	island              []int     // by body, see setScales
	violation, speed    []float64 // of islands, see setScales
	rows                []row
	lambda              []r3.Vec
	best                []r3.Vec // the impulses of the least residual so far
	kept                []r3.Vec // best of the starts before, see restart
	bestError           float64
	sweeps, steps       int
	newton              newtonState
	group               [mostWidth]int32
	scratch             native.Scratch
	sharing             int             // the memory: goroutines of the call, see room
	ctx                 context.Context // of the call, nil for none
	stop                *atomic.Int32   // set when ctx has ended, for kernels in C; nil for none
	escape              escapeState
}

// ended reports whether the context of the call has ended: the solver then leaves what it has, which nobody takes.
func (s *worldSolver) ended() bool { return s.ctx != nil && s.ctx.Err() != nil }

// load takes the problem of world w, whose input was checked, in units of its own.
func (s *worldSolver) load(p *Problem, w int) {
	s.units = p.unitsOf(w)
	u := &s.units
	length, speed, impulse, perMass := 1/u.length, 1/u.speed, 1/u.impulse(), u.mass
	s.loadBodies(p, w)
	n := int(p.Count[w])
	resize(&s.rows, n)
	resize(&s.lambda, n)
	resize(&s.best, n)
	resize(&s.kept, n)
	body := func(b int32) int {
		if b < 0 {
			return p.Bodies
		}
		return int(b)
	}
	for i := range s.rows {
		k := w*p.Contacts + i
		r := &s.rows[i]
		r.a, r.b, r.mu = body(p.BodyA[k]), body(p.BodyB[k]), p.Friction[k]
		r.ra, r.rb, r.bias, r.rT, r.rN = r3.Vec{}, r3.Vec{}, 0, 0, 0 // prepare sets the rest
		if r.a < p.Bodies {
			r.ra = r3.Scale(length, vecOf(p.ArmA[3*k:]))
		}
		if r.b < p.Bodies {
			r.rb = r3.Scale(length, vecOf(p.ArmB[3*k:]))
		}
		q := frameRows(p.Frame[9*k:])
		r.t1, r.t2, r.n = q[0], q[1], q[2]
		if len(p.Target) > 0 {
			r.bias = -p.Target[k] * speed
		}
		if len(p.Compliance) > 0 {
			r.rT, r.rN = p.Compliance[2*k]*perMass, p.Compliance[2*k+1]*perMass
		}
		s.lambda[i] = r3.Vec{}
		if len(p.Warm) > 0 {
			s.lambda[i] = r3.Scale(impulse, vecOf(p.Warm[3*k:]))
		}
	}
}

func (s *worldSolver) loadBodies(p *Problem, w int) {
	n, u := p.Bodies+1, &s.units
	mass, inertia, speed, spin := 1/u.mass, 1/u.inertia(), 1/u.speed, 1/u.spin()
	resize(&s.mass, n)
	resize(&s.invMass, n)
	resize(&s.inertia, n)
	resize(&s.invInertia, n)
	resize(&s.condition, n)
	resize(&s.free, n)
	resize(&s.v, n)
	for b := range p.Bodies {
		k := w*p.Bodies + b
		s.free[b] = twist{r3.Scale(speed, vecOf(p.Velocity[6*k:])), r3.Scale(spin, vecOf(p.Velocity[6*k+3:]))}
		s.mass[b], s.invMass[b], s.condition[b] = 0, 0, 1
		s.inertia[b], s.invInertia[b] = sym3{}, sym3{}
		if m := p.Mass[k]; !math.IsInf(m, 1) {
			i := sym3(p.Inertia[6*k : 6*k+6])
			for j := range i {
				i[j] *= inertia
			}
			m *= mass
			s.mass[b], s.invMass[b] = m, 1/m
			s.inertia[b], s.invInertia[b] = i, i.Inverse()
		}
	}
	b := p.Bodies
	s.mass[b], s.invMass[b], s.condition[b] = 0, 0, 1
	s.inertia[b], s.invInertia[b], s.free[b] = sym3{}, sym3{}, twist{}
}

// prepare forms the block of G of every contact and the step sizes of the sweeps.
func (s *worldSolver) prepare() {
	for i := range s.rows {
		s.prepareRow(&s.rows[i])
	}
}

func (s *worldSolver) prepareRow(r *row) {
	d := [3]r3.Vec{r.t1, r.t2, r.n}
	for j := range d {
		qa, qb := crossVec(r.ra, d[j]), crossVec(r.rb, d[j])
		ka, kb := s.invInertia[r.a].Mul(qa), s.invInertia[r.b].Mul(qb)
		for i := range j + 1 {
			x := dotVec(crossVec(r.ra, d[i]), ka) + dotVec(crossVec(r.rb, d[i]), kb) +
				(s.invMass[r.a]+s.invMass[r.b])*dotVec(d[i], d[j])
			r.g[i][j], r.g[j][i] = x, x
		}
	}
	r.g[0][0] += r.rT
	r.g[1][1] += r.rT
	r.g[2][2] += r.rN
	half := math.Hypot((r.g[0][0]-r.g[1][1])/2, r.g[0][1])
	r.stepN = 1 / r.g[2][2]
	r.stepT = 1 / ((r.g[0][0]+r.g[1][1])/2 + half)
}

// setHeights computes h of every contact, which the sweeps of the CCP and Newton's method need.
func (s *worldSolver) setHeights() {
	for i := range s.rows {
		s.rows[i].height = largestBlock(&s.rows[i].g)
	}
}

// velocity returns Jv − c* of a contact; compliance is added by the caller.
func (r *row) velocity(v []twist) r3.Vec {
	c := r.moving(v)
	c.Z += r.bias
	return c
}

// moving returns Jv of a contact.
func (r *row) moving(v []twist) r3.Vec {
	a, b := &v[r.a], &v[r.b]
	wb, wa := crossVec(b.ang, r.rb), crossVec(a.ang, r.ra)
	u := r3.Vec{
		X: b.lin.X + wb.X - a.lin.X - wa.X,
		Y: b.lin.Y + wb.Y - a.lin.Y - wa.Y,
		Z: b.lin.Z + wb.Z - a.lin.Z - wa.Z,
	}
	return r3.Vec{X: dotVec(r.t1, u), Y: dotVec(r.t2, u), Z: dotVec(r.n, u)}
}

// slip returns c = Jv − c* + Rλ.
func (r *row) slip(v []twist, l r3.Vec) r3.Vec {
	c := r.velocity(v)
	return r3.Vec{X: c.X + r.rT*l.X, Y: c.Y + r.rT*l.Y, Z: c.Z + r.rN*l.Z}
}

// world returns the impulse l in world axes.
func (r *row) world(l r3.Vec) r3.Vec {
	return r3.Vec{
		X: r.t1.X*l.X + r.t2.X*l.Y + r.n.X*l.Z,
		Y: r.t1.Y*l.X + r.t2.Y*l.Y + r.n.Y*l.Z,
		Z: r.t1.Z*l.X + r.t2.Z*l.Y + r.n.Z*l.Z,
	}
}

// apply adds M⁻¹Jᵀd of a contact to v.
func (s *worldSolver) apply(v []twist, r *row, d r3.Vec) {
	p := r.world(d)
	if m := s.invMass[r.b]; m > 0 {
		t := &v[r.b]
		t.lin = addScaled(t.lin, m, p)
		t.ang = r3.Add(t.ang, s.invInertia[r.b].Mul(crossVec(r.rb, p)))
	}
	if m := s.invMass[r.a]; m > 0 {
		t := &v[r.a]
		t.lin = addScaled(t.lin, -m, p)
		t.ang = r3.Sub(t.ang, s.invInertia[r.a].Mul(crossVec(r.ra, p)))
	}
}

// form sets v = v_f + M⁻¹Jᵀλ.
func (s *worldSolver) form(v []twist, lambda []r3.Vec) {
	copy(v, s.free)
	for i := range s.rows {
		s.apply(v, &s.rows[i], lambda[i])
	}
}

// units are those in which a world is solved: powers of two near its masses, lengths and speeds. So no number of a
// solver depends on the units of the problem, and scaling masses, lengths or times by powers of two scales the answer
// by powers of two, bit for bit: multiplications by powers of two are exact short of the ends of the range of float64.
type units struct{ mass, length, speed float64 }

// exponentLimit bounds the exponents of units, so that products of some of them stay within the range of float64.
const exponentLimit = 150

func (u *units) impulse() float64 { return u.mass * u.speed }
func (u *units) energy() float64  { return u.mass * u.speed * u.speed }
func (u *units) spin() float64    { return u.speed / u.length }
func (u *units) inertia() float64 { return u.mass * u.length * u.length }

// exponentOf is the exponent e of x = f·2^e, ½ ≤ f < 1, of x > 0.
func exponentOf(x float64) int {
	_, e := math.Frexp(x)
	return e
}

// powerOfTwo is 2^e.
func powerOfTwo(e int) float64 { return math.Ldexp(1, max(-exponentLimit, min(e, exponentLimit))) }

// unitsOf finds the units of world w: the middle of the exponents of the masses of the bodies that move, and of those
// of their radii of gyration, and the largest speed of a body, of its rotation at that radius, or of a target.
func (p *Problem) unitsOf(w int) units {
	lightest, heaviest, shortest, longest := math.MaxInt32, math.MinInt32, math.MaxInt32, math.MinInt32
	for b := w * p.Bodies; b < (w+1)*p.Bodies; b++ {
		if math.IsInf(p.Mass[b], 1) {
			continue
		}
		m := exponentOf(p.Mass[b])
		i := p.Inertia[6*b : 6*b+3]
		l := (exponentOf(i[0]+i[1]+i[2]) - m) >> 1
		lightest, heaviest = min(lightest, m), max(heaviest, m)
		shortest, longest = min(shortest, l), max(longest, l)
	}
	if lightest > heaviest {
		return units{1, 1, 1}
	}
	length := (shortest + longest) >> 1
	speed, spin := 0.0, 0.0
	for k := 6 * w * p.Bodies; k < 6*(w+1)*p.Bodies; k += 6 {
		for i := range 3 {
			speed, spin = max(speed, math.Abs(p.Velocity[k+i])), max(spin, math.Abs(p.Velocity[k+3+i]))
		}
	}
	if len(p.Target) > 0 {
		for _, t := range p.Target[w*p.Contacts : w*p.Contacts+int(p.Count[w])] {
			speed = max(speed, math.Abs(t))
		}
	}
	u := units{powerOfTwo((lightest + heaviest) >> 1), powerOfTwo(length), 1}
	switch {
	case speed > 0 && spin > 0:
		u.speed = powerOfTwo(max(exponentOf(speed), exponentOf(spin)+length))
	case speed > 0:
		u.speed = powerOfTwo(exponentOf(speed))
	case spin > 0:
		u.speed = powerOfTwo(exponentOf(spin) + length)
	}
	return u
}

// Units are powers of two near the masses, lengths and speeds of world w, whose input must be valid. In these units
// scaling masses, lengths or times by powers of two changes no number of the problem.
func (p *Problem) Units(w int) (mass, length, speed float64) {
	u := p.unitsOf(w)
	return u.mass, u.length, u.speed
}

func dotVec(a, b r3.Vec) float64      { return a.X*b.X + a.Y*b.Y + a.Z*b.Z }
func crossVec(a, b r3.Vec) r3.Vec     { return r3.Cross(a, b) }
func vecOf(s []float64) r3.Vec        { return r3.Vec{X: s[0], Y: s[1], Z: s[2]} }
func frameRows(s []float64) [3]r3.Vec { return [3]r3.Vec{vecOf(s), vecOf(s[3:]), vecOf(s[6:])} }
func addScaled(a r3.Vec, f float64, b r3.Vec) r3.Vec {
	return r3.Vec{X: a.X + f*b.X, Y: a.Y + f*b.Y, Z: a.Z + f*b.Z}
}

// sym3 is a symmetric matrix: xx, yy, zz, xy, xz, yz.
type sym3 = geom.Sym3

// largestBlock bounds the largest eigenvalue of a positive semidefinite 3×3 matrix from above, by at most 15 %:
// (tr(Gτ)⁸)^(1/8)/τ with τ = 1/tr G, by three squarings.
func largestBlock(g *[3][3]float64) float64 {
	trace := g[0][0] + g[1][1] + g[2][2]
	if !(trace > 0) {
		return 0
	}
	a := *g
	for i := range a {
		for j := range a[i] {
			a[i][j] /= trace
		}
	}
	for range 3 {
		var b [3][3]float64
		for i := range b {
			for j := range b[i] {
				b[i][j] = a[i][0]*a[0][j] + a[i][1]*a[1][j] + a[i][2]*a[2][j]
			}
		}
		a = b
	}
	return trace * math.Sqrt(math.Sqrt(math.Sqrt(a[0][0]+a[1][1]+a[2][2])))
}

// coneDistance is the distance of x from the cone {‖x_T‖ ≤ μx_N}. The order of the cases is that of μ = 0.
func coneDistance(x r3.Vec, mu float64) float64 {
	t := math.Sqrt(x.X*x.X + x.Y*x.Y)
	switch {
	case mu*t <= -x.Z:
		return math.Sqrt(t*t + x.Z*x.Z)
	case t <= mu*x.Z:
		return 0
	}
	return (t - mu*x.Z) / math.Sqrt(1+mu*mu)
}

// dualDistance is the distance of c from the dual cone {c_N ≥ μ‖c_T‖}.
func dualDistance(c r3.Vec, mu float64) float64 {
	t := math.Sqrt(c.X*c.X + c.Y*c.Y)
	switch {
	case c.Z >= mu*t:
		return 0
	case t <= -mu*c.Z:
		return math.Sqrt(t*t + c.Z*c.Z)
	}
	return (mu*t - c.Z) / math.Sqrt(1+mu*mu)
}

// projectCone is the closest point to x of the cone {‖x_T‖ ≤ μx_N}.
func projectCone(x r3.Vec, mu float64) r3.Vec {
	t := math.Sqrt(x.X*x.X + x.Y*x.Y)
	if mu*t <= -x.Z {
		return r3.Vec{}
	}
	if t <= mu*x.Z {
		return x
	}
	n := (mu*t + x.Z) / (1 + mu*mu)
	k := mu * n / t
	return r3.Vec{X: x.X * k, Y: x.Y * k, Z: n}
}

// sweep is one sweep of projected Gauss-Seidel in velocity space: λ of every contact is updated from the current
// v, and v at once by M⁻¹Jᵀdλ. G is never formed.
//
// NCP [AGIMUS2023, Contacts, Alg. 5], with the step 1/λ_max(G_TT) in place of 1/min(G_xx, G_yy), which can
// exceed 2/λ_max and then never converges. CCP [Alg. 2], with the step 1/h in place of 3/tr(G_ii), which can
// exceed 2/λ_max for some inertias.
func (s *worldSolver) sweep(model Model, omega float64) {
	for i := range s.rows {
		r := &s.rows[i]
		old := s.lambda[i]
		c := r.slip(s.v, old)
		var l r3.Vec
		if model == CCP {
			l = projectCone(addScaled(old, -omega/r.height, c), r.mu)
		} else {
			l = r.horizontal(old, c, omega)
		}
		s.lambda[i] = l
		if d := r3.Sub(l, old); d != (r3.Vec{}) {
			s.apply(s.v, r, d)
		}
	}
}

// horizontal updates the normal impulse and then, from the velocity that follows, the tangential one, which is
// projected on the disc of radius μλ_N.
func (r *row) horizontal(old, c r3.Vec, omega float64) r3.Vec {
	n := max(0, old.Z-omega*c.Z*r.stepN)
	d := n - old.Z
	x := old.X - omega*(c.X+r.g[0][2]*d)*r.stepT
	y := old.Y - omega*(c.Y+r.g[1][2]*d)*r.stepT
	if t, radius := x*x+y*y, r.mu*n; t > radius*radius {
		f := radius / math.Sqrt(t)
		x, y = x*f, y*f
	}
	return r3.Vec{X: x, Y: y, Z: n}
}
