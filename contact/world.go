package contact

import (
	"context"
	"math"
	"sync/atomic"

	"clearance/contact/lanes"

	"gonum.org/v1/gonum/spatial/r3"
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
	group               [lanes.Width]int32
	scratch             lanes.Scratch
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
			s.inertia[b], s.invInertia[b] = i, i.inverse()
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
		ka, kb := s.invInertia[r.a].mul(qa), s.invInertia[r.b].mul(qb)
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
		t.ang = r3.Add(t.ang, s.invInertia[r.b].mul(crossVec(r.rb, p)))
	}
	if m := s.invMass[r.a]; m > 0 {
		t := &v[r.a]
		t.lin = addScaled(t.lin, -m, p)
		t.ang = r3.Sub(t.ang, s.invInertia[r.a].mul(crossVec(r.ra, p)))
	}
}

// form sets v = v_f + M⁻¹Jᵀλ.
func (s *worldSolver) form(v []twist, lambda []r3.Vec) {
	copy(v, s.free)
	for i := range s.rows {
		s.apply(v, &s.rows[i], lambda[i])
	}
}
