package adjoint

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/contact"
	"clearance/contact/internal/modes"
	"clearance/geom"
)

// The problem of a world at a solution, in units of its own. What the modes of its contacts ask of tangents, in package
// modes, is in velocity space a small system by bodies; see problemSystem.

// twist is the velocity of a body, or the impulse and the moment on it.
type twist struct{ lin, ang r3.Vec }

// sym3 is a symmetric matrix: xx, yy, zz, xy, xz, yz.
type sym3 = geom.Sym3

func dot(a, b r3.Vec) float64   { return a.X*b.X + a.Y*b.Y + a.Z*b.Z }
func cross(a, b r3.Vec) r3.Vec  { return r3.Cross(a, b) }
func vecOf(s []float64) r3.Vec  { return r3.Vec{X: s[0], Y: s[1], Z: s[2]} }
func length(a r3.Vec) float64   { return math.Sqrt(dot(a, a)) }
func put(s []float64, a r3.Vec) { s[0], s[1], s[2] = a.X, a.Y, a.Z }
func axpy(a r3.Vec, f float64, b r3.Vec) r3.Vec {
	return r3.Vec{X: a.X + f*b.X, Y: a.Y + f*b.Y, Z: a.Z + f*b.Z}
}

// problemRow is a contact.
type problemRow struct {
	modes.Contact
	a, b     int // the world is the body behind the last one
	ra, rb   r3.Vec
	q        [3]r3.Vec // t1, t2, n
	target   float64
	scale    float64   // of the margins of the island
	place    [2]int    // of the bodies a and b in the matrix, -1 for one that impulses do not move
	onA, onB [3]r3.Vec // columns of A and B in world axes: forces on the body b
}

// problemWorld has the problem of one world, and memory.
type problemWorld struct {
	valid               bool // problems that are Solved are known to be valid
	model               contact.Model
	mass, length, speed float64 // units, see contact.Problem.Units
	bodies              int
	lightest, heaviest  float64   // masses
	bodyMass, invMass   []float64 // of the bodies and of the world; 0 where impulses do not move it
	inertia, invInertia []sym3
	free, v             []twist
	island              []int
	violation           []float64 // largest ‖Jv_f − c*‖ of an island, by its first body
	rows                []problemRow
	system              problemSystem
	transposed          bool    // the system is that of tangents
	hat, bar            []twist // v̂ and v̄ of a VJP, or dv⁺ and the right hand side of a JVP
	failed              error   // why the last world that had no derivative for want of memory had none
}

func (x *problemWorld) impulse() float64 { return x.mass * x.speed }
func (x *problemWorld) spin() float64    { return x.speed / x.length }

// load takes the problem of a world with the impulses of its solution, in units of its own, and forms v and c anew.
func (x *problemWorld) load(p *contact.Problem, w int, impulse []float64, model contact.Model) {
	x.model = model
	x.mass, x.length, x.speed = p.Units(w)
	x.loadBodies(p, w)
	resize(&x.rows, int(p.Count[w]))
	perLength, perSpeed, perImpulse, compliance := 1/x.length, 1/x.speed, 1/x.impulse(), x.mass
	body := func(b int32) int {
		if b < 0 {
			return p.Bodies
		}
		return int(b)
	}
	for i := range x.rows {
		k, r := w*p.Contacts+i, &x.rows[i]
		r.a, r.b, r.Mu = body(p.BodyA[k]), body(p.BodyB[k]), p.Friction[k]
		r.ra, r.rb, r.target, r.RT, r.RN = r3.Vec{}, r3.Vec{}, 0, 0, 0
		if r.a < p.Bodies {
			r.ra = r3.Scale(perLength, vecOf(p.ArmA[3*k:]))
		}
		if r.b < p.Bodies {
			r.rb = r3.Scale(perLength, vecOf(p.ArmB[3*k:]))
		}
		f := p.Frame[9*k : 9*k+9]
		r.q = [3]r3.Vec{vecOf(f), vecOf(f[3:]), vecOf(f[6:])}
		if len(p.Target) > 0 {
			r.target = p.Target[k] * perSpeed
		}
		if len(p.Compliance) > 0 {
			r.RT, r.RN = p.Compliance[2*k]*compliance, p.Compliance[2*k+1]*compliance
		}
		r.Lambda = r3.Scale(perImpulse, vecOf(impulse[3*i:]))
	}
	x.form()
}

func (x *problemWorld) loadBodies(p *contact.Problem, w int) {
	n := p.Bodies + 1
	x.bodies = p.Bodies
	resize(&x.bodyMass, n)
	resize(&x.invMass, n)
	resize(&x.inertia, n)
	resize(&x.invInertia, n)
	resize(&x.free, n)
	resize(&x.v, n)
	resize(&x.hat, n)
	resize(&x.bar, n)
	perMass, perInertia := 1/x.mass, 1/(x.mass*x.length*x.length)
	perSpeed, perSpin := 1/x.speed, 1/x.spin()
	x.lightest, x.heaviest = math.Inf(1), 0
	for b := range n {
		x.bodyMass[b], x.invMass[b], x.inertia[b], x.invInertia[b], x.free[b] = 0, 0, sym3{}, sym3{}, twist{}
		if b == p.Bodies {
			break
		}
		k := w*p.Bodies + b
		v := p.Velocity[6*k : 6*k+6]
		x.free[b] = twist{r3.Scale(perSpeed, vecOf(v)), r3.Scale(perSpin, vecOf(v[3:]))}
		if m := p.Mass[k]; !math.IsInf(m, 1) {
			i := sym3(p.Inertia[6*k : 6*k+6])
			for j := range i {
				i[j] *= perInertia
			}
			x.bodyMass[b], x.invMass[b] = m*perMass, 1/(m*perMass)
			x.lightest, x.heaviest = min(x.lightest, m), max(x.heaviest, m)
			x.inertia[b], x.invInertia[b] = i, i.Inverse()
		}
	}
}

// moving returns Jv of a contact.
func (r *problemRow) moving(v []twist) r3.Vec {
	u := r.relative(v)
	return r3.Vec{X: dot(r.q[0], u), Y: dot(r.q[1], u), Z: dot(r.q[2], u)}
}

// relative returns the velocity of the point of b relative to that of a, in world axes.
func (r *problemRow) relative(v []twist) r3.Vec {
	a, b := &v[r.a], &v[r.b]
	return r3.Sub(r3.Add(b.lin, cross(b.ang, r.rb)), r3.Add(a.lin, cross(a.ang, r.ra)))
}

// world returns the impulse l in world axes.
func (r *problemRow) world(l r3.Vec) r3.Vec {
	q := &r.q
	return r3.Vec{
		X: q[0].X*l.X + q[1].X*l.Y + q[2].X*l.Z,
		Y: q[0].Y*l.X + q[1].Y*l.Y + q[2].Y*l.Z,
		Z: q[0].Z*l.X + q[1].Z*l.Y + q[2].Z*l.Z,
	}
}

// form sets v = v_f + M⁻¹Jᵀλ, c, h, and the scales of the islands.
func (x *problemWorld) form() {
	clear(x.v)
	resize(&x.island, len(x.v))
	resize(&x.violation, len(x.v))
	for b := range x.island {
		x.island[b], x.violation[b] = b, 0
	}
	for i := range x.rows {
		r := &x.rows[i]
		p := r.world(r.Lambda)
		x.v[r.b].lin, x.v[r.b].ang = r3.Add(x.v[r.b].lin, p), r3.Add(x.v[r.b].ang, cross(r.rb, p))
		x.v[r.a].lin, x.v[r.a].ang = r3.Sub(x.v[r.a].lin, p), r3.Sub(x.v[r.a].ang, cross(r.ra, p))
		if x.invMass[r.a] > 0 && x.invMass[r.b] > 0 {
			a, b := x.root(r.a), x.root(r.b)
			x.island[max(a, b)] = min(a, b)
		}
	}
	for b := range x.v {
		v := &x.v[b]
		v.lin, v.ang = axpy(x.free[b].lin, x.invMass[b], v.lin), r3.Add(x.free[b].ang, x.invInertia[b].Mul(v.ang))
	}
	for i := range x.rows {
		r := &x.rows[i]
		c := r.moving(x.v)
		r.C = r3.Vec{X: c.X + r.RT*r.Lambda.X, Y: c.Y + r.RT*r.Lambda.Y, Z: c.Z - r.target + r.RN*r.Lambda.Z}
		r.H = x.traceOf(r) + 2*r.RT + r.RN
		c = r.moving(x.free)
		c.Z -= r.target
		of := x.islandOf(r)
		x.violation[of] = max(x.violation[of], length(c))
	}
	for i := range x.rows {
		x.rows[i].scale = x.violation[x.islandOf(&x.rows[i])]
	}
}

func (x *problemWorld) root(b int) int {
	for x.island[b] != b {
		x.island[b] = x.island[x.island[b]]
		b = x.island[b]
	}
	return b
}

func (x *problemWorld) islandOf(r *problemRow) int {
	if x.invMass[r.b] > 0 {
		return x.root(r.b)
	}
	return x.root(r.a)
}

// traceOf is the trace of the block JM⁻¹Jᵀ of a contact: a body of mass m and inertia I adds 3/m + ‖r‖²·tr I⁻¹ −
// rᵀI⁻¹r.
func (x *problemWorld) traceOf(r *problemRow) float64 {
	ia, ib := &x.invInertia[r.a], &x.invInertia[r.b]
	return 3*(x.invMass[r.a]+x.invMass[r.b]) +
		dot(r.ra, r.ra)*(ia[0]+ia[1]+ia[2]) - dot(r.ra, ia.Mul(r.ra)) +
		dot(r.rb, r.rb)*(ib[0]+ib[1]+ib[2]) - dot(r.rb, ib.Mul(r.rb))
}

// setMode finds the mode of a contact, and its columns in world axes.
func (x *problemWorld) setMode(r *problemRow) {
	r.Find(x.model)
	for k := range r.N {
		r.onA[k] = r.world(r.A[k])
		if r.onB[k] = r.onA[k]; r.A[k] != r.B[k] {
			r.onB[k] = r.world(r.B[k])
		}
	}
}

// judge sets the modes of the contacts, the margin and what follows from it. residual is that of the solution.
func (x *problemWorld) judge(residual float64, out *Report, w, contacts int) Smoothness {
	names := out.Mode[w*contacts : (w+1)*contacts]
	clear(names)
	margin := modes.NoMargin
	for i := range x.rows {
		r := &x.rows[i]
		x.setMode(r)
		names[i] = r.Mode
		margin.Take(i, &r.Contact, x.model, r.scale, x.speed, residual)
	}
	out.Margin[w], out.Nearest[w] = margin.Value, margin.Nearest
	if margin.Boundary {
		return Boundary
	}
	return Smooth
}

// none writes the report of a world that has no derivative.
func (r *Report) none(w int) {
	r.Smoothness[w], r.Margin[w], r.Residual[w] = None, 0, 0
}
