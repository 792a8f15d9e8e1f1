package adjoint

import (
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/contact"
	"clearance/contact/internal/modes"
)

// prepare loads a world, finds its modes and orders its bodies. It reports false if there is no derivative; the report
// of the world says so then.
func (x *problemWorld) prepare(p *contact.Problem, w int, s *contact.Solution, model contact.Model, out *Report) bool {
	clear(out.Mode[w*p.Contacts : (w+1)*p.Contacts])
	out.Nearest[w] = -1
	if s.Status[w] != contact.Solved || !x.valid && !p.ValidWorld(w) {
		out.none(w)
		return false
	}
	x.load(p, w, s.Impulse[3*w*p.Contacts:], model)
	out.Residual[w] = 0
	out.Smoothness[w] = x.judge(s.Residual[w], out, w, p.Contacts)
	if err := x.number(); err != nil {
		x.failed = err
		out.none(w)
		return false
	}
	return true
}

// regular factors the system of a world, and reports false like prepare.
func (x *problemWorld) regular(w int, out *Report) bool {
	x.regularize(modes.Regularization, false)
	if !x.factor() {
		out.none(w)
		return false
	}
	if x.shared() {
		out.Smoothness[w] = OneOfMany
		x.regularize(modes.Regularization, true)
		if !x.factor() {
			out.none(w)
			return false
		}
	}
	return true
}

// solveCotangents factors the system and solves it for the cotangents of a world. It reports false like prepare.
func (x *problemWorld) solveCotangents(p *contact.Problem, w int, velocityBar, impulseBar []float64,
	out *Report) (ok bool) {
	if len(impulseBar) == 0 && x.factorHeld() {
		x.loadCotangents(p, w, velocityBar, nil)
		if out.Residual[w], _ = x.settle(false); out.Residual[w] <= modes.Rounded {
			return true
		}
	}
	if !x.regular(w, out) {
		return false
	}
	x.loadCotangents(p, w, velocityBar, impulseBar)
	if out.Residual[w], ok = x.settle(false); !ok {
		out.none(w)
	}
	return ok
}

// vjp is Problems.VJP of a world. With the solution v̂, z of the system for r = v̄ and s = Bᵀλ̄, and u = Az,
//
//	v̄_f = v̄ − Jᵀu,  J̄ = λv̂ᵀ − uvᵀ,  c̄* = u_N,  R̄ = −u∘λ,  M̄ = −v̂(v − v_f)ᵀ,
//	μ̄ = −λ_N·t·((Jv̂ − Ru + λ̄)_T), and + ‖c_T‖z on e₁ of the CCP.
func (x *problemWorld) vjp(p *contact.Problem, w int, s *contact.Solution, model contact.Model,
	velocityBar, impulseBar []float64, out *Gradient) {
	if !x.prepare(p, w, s, model, &out.Report) || !x.solveCotangents(p, w, velocityBar, impulseBar, &out.Report) {
		out.clear(p, w)
		return
	}
	x.storeBodies(p, w, out)
	for i := range x.rows {
		k := w*p.Contacts + i
		var bar r3.Vec
		if len(impulseBar) > 0 {
			bar = r3.Scale(x.impulse(), vecOf(impulseBar[3*k:]))
		}
		x.storeContact(&x.rows[i], k, bar, out)
	}
	out.clearContacts(w*p.Contacts+len(x.rows), (w+1)*p.Contacts)
	if !out.finite(p, w) {
		out.none(w)
		out.clear(p, w)
	}
}

// loadCotangents takes the cotangents of a world in its units.
func (x *problemWorld) loadCotangents(p *contact.Problem, w int, velocityBar, impulseBar []float64) {
	for b := range x.bodies {
		k := 6 * (w*p.Bodies + b)
		lin, ang := r3.Scale(x.speed, vecOf(velocityBar[k:])), r3.Scale(x.spin(), vecOf(velocityBar[k+3:]))
		x.bar[b] = twist{lin, ang}
		x.hat[b] = twist{r3.Scale(x.invMass[b], lin), x.invInertia[b].Mul(ang)}
	}
	x.bar[x.bodies], x.hat[x.bodies] = twist{}, twist{}
	for i := range x.rows {
		r := &x.rows[i]
		for k := range r.N {
			r.Right[k] = 0
			if len(impulseBar) > 0 {
				bar := r3.Scale(x.impulse(), vecOf(impulseBar[3*(w*p.Contacts+i):]))
				r.Right[k] = dot(r.B[k], bar)
			}
		}
	}
}

// storeBodies writes the gradients by velocities, masses and inertias.
func (x *problemWorld) storeBodies(p *contact.Problem, w int, out *Gradient) {
	for i := range x.rows {
		r := &x.rows[i]
		var force r3.Vec
		for k := range r.N {
			force = axpy(force, -r.Z[k], r.onA[k])
		}
		a, b := &x.bar[r.a], &x.bar[r.b]
		a.lin, a.ang = r3.Sub(a.lin, force), r3.Sub(a.ang, cross(r.ra, force))
		b.lin, b.ang = r3.Add(b.lin, force), r3.Add(b.ang, cross(r.rb, force))
	}
	perSpeed, perSpin, perMass, perInertia := 1/x.speed, 1/x.spin(), 1/x.mass, 1/(x.mass*x.length*x.length)
	for b := range x.bodies {
		k := w*p.Bodies + b
		put(out.Velocity[6*k:], r3.Scale(perSpeed, x.bar[b].lin))
		put(out.Velocity[6*k+3:], r3.Scale(perSpin, x.bar[b].ang))
		i := out.Inertia[6*k : 6*k+6]
		if x.invMass[b] == 0 {
			out.Mass[k] = 0
			clear(i)
			continue
		}
		hat := &x.hat[b]
		lin, ang := r3.Sub(x.v[b].lin, x.free[b].lin), r3.Sub(x.v[b].ang, x.free[b].ang)
		out.Mass[k] = -perMass * dot(hat.lin, lin)
		h, d := hat.ang, ang
		i[0], i[1], i[2] = -perInertia*(h.X*d.X), -perInertia*(h.Y*d.Y), -perInertia*(h.Z*d.Z)
		i[3], i[4], i[5] = -perInertia*(h.X*d.Y+h.Y*d.X), -perInertia*(h.X*d.Z+h.Z*d.X), -perInertia*(h.Y*d.Z+h.Z*d.Y)
	}
}

// storeContact writes the gradients by the numbers of contact k of all worlds. bar is λ̄.
func (x *problemWorld) storeContact(r *problemRow, k int, bar r3.Vec, out *Gradient) {
	u := r.Combined()
	perLength := 1 / x.length
	force, weight := r.world(r.Lambda), r.world(u)
	hat, v := r.relative(x.hat), r.relative(x.v)
	arm := func(b int) r3.Vec {
		return r3.Scale(perLength, r3.Sub(cross(force, x.hat[b].ang), cross(weight, x.v[b].ang)))
	}
	clear(out.ArmA[3*k : 3*k+3])
	clear(out.ArmB[3*k : 3*k+3])
	if r.a < x.bodies {
		put(out.ArmA[3*k:], r3.Scale(-1, arm(r.a)))
	}
	if r.b < x.bodies {
		put(out.ArmB[3*k:], arm(r.b))
	}
	var frame [3]r3.Vec
	l, uu := [3]float64{r.Lambda.X, r.Lambda.Y, r.Lambda.Z}, [3]float64{u.X, u.Y, u.Z}
	for i := range frame {
		frame[i] = axpy(r3.Scale(l[i], hat), -uu[i], v)
		if len(out.Frame) > 0 {
			put(out.Frame[9*k+3*i:], frame[i])
		}
	}
	n := r.q[2]
	normal := axpy(frame[2], -dot(frame[2], n), n)
	normal = axpy(normal, -dot(frame[0], n), r.q[0])
	normal = axpy(normal, -dot(frame[1], n), r.q[1])
	put(out.Normal[3*k:], normal)
	out.Target[k] = u.Z / x.speed
	out.Compliance[2*k] = -(u.X*r.Lambda.X + u.Y*r.Lambda.Y) * x.mass
	out.Compliance[2*k+1] = -u.Z * r.Lambda.Z * x.mass
	out.Friction[k] = 0
	if r.Mode == Slide {
		tx, ty := dot(r.q[0], hat)-r.RT*u.X+bar.X, dot(r.q[1], hat)-r.RT*u.Y+bar.Y
		out.Friction[k] = -r.Lambda.Z * (r.T.X*tx + r.T.Y*ty)
		if x.model == contact.CCP {
			out.Friction[k] += r.Slip() * r.Z[0]
		}
	}
}

// clear sets the gradients of a world to zero.
func (g *Gradient) clear(p *contact.Problem, w int) {
	lo, hi := w*p.Bodies, (w+1)*p.Bodies
	clear(g.Velocity[6*lo : 6*hi])
	clear(g.Mass[lo:hi])
	clear(g.Inertia[6*lo : 6*hi])
	g.clearContacts(w*p.Contacts, (w+1)*p.Contacts)
}

func (g *Gradient) clearContacts(lo, hi int) {
	clear(g.ArmA[3*lo : 3*hi])
	clear(g.ArmB[3*lo : 3*hi])
	if len(g.Frame) > 0 {
		clear(g.Frame[9*lo : 9*hi])
	}
	clear(g.Normal[3*lo : 3*hi])
	clear(g.Target[lo:hi])
	clear(g.Friction[lo:hi])
	clear(g.Compliance[2*lo : 2*hi])
}

// finite reports whether the gradients of a world are finite.
func (g *Gradient) finite(p *contact.Problem, w int) bool {
	lo, hi, from, to := w*p.Bodies, (w+1)*p.Bodies, w*p.Contacts, (w+1)*p.Contacts
	return allFinite(g.Velocity[6*lo:6*hi]) && allFinite(g.Mass[lo:hi]) && allFinite(g.Inertia[6*lo:6*hi]) &&
		allFinite(g.ArmA[3*from:3*to]) && allFinite(g.ArmB[3*from:3*to]) && allFinite(g.Frame[9*from:9*to]) &&
		allFinite(g.Normal[3*from:3*to]) && allFinite(g.Target[from:to]) && allFinite(g.Friction[from:to]) &&
		allFinite(g.Compliance[2*from:2*to])
}

func allFinite(s []float64) bool {
	var a, b, c, d float64 // zero times a number is zero, and NaN if that is not finite
	for ; len(s) >= 4; s = s[4:] {
		a, b, c, d = a+0*s[0], b+0*s[1], c+0*s[2], d+0*s[3]
	}
	for _, v := range s {
		a += 0 * v
	}
	return a+b+c+d == 0
}

// jvp is Problems.JVP of a world. A tangent obeys Mdv − JᵀBy = Mdv_f − dM(v − v_f) + dJᵀλ + Jᵀp and AᵀJdv + Sy = κ −
// Aᵀ(dJ·v − dc* + dRλ + Rp): the transposed system, with z = −y.
func (x *problemWorld) jvp(p *contact.Problem, w int, s *contact.Solution, model contact.Model, d *Parameters,
	out *Tangent) {
	velocities := out.Velocity[6*w*p.Bodies : 6*(w+1)*p.Bodies]
	impulses := out.Impulse[3*w*p.Contacts : 3*(w+1)*p.Contacts]
	clear(impulses)
	if !x.prepare(p, w, s, model, &out.Report) || !x.regular(w, &out.Report) {
		clear(velocities)
		return
	}
	x.loadTangents(p, w, d)
	residual, ok := x.settle(true)
	if out.Residual[w] = residual; ok {
		for b := range x.bodies {
			put(velocities[6*b:], r3.Scale(x.speed, x.hat[b].lin))
			put(velocities[6*b+3:], r3.Scale(x.spin(), x.hat[b].ang))
		}
		for i := range x.rows {
			r := &x.rows[i]
			l := r.slideTangent(tangentOf(d.Friction, w*p.Contacts+i))
			for k := range r.N {
				l = axpy(l, -r.Z[k], r.B[k])
			}
			put(impulses[3*i:], r3.Scale(x.impulse(), l))
		}
		ok = allFinite(velocities) && allFinite(impulses)
	}
	if !ok {
		out.none(w)
		clear(velocities)
		clear(impulses)
	}
}

func tangentOf(column []float64, k int) float64 {
	if len(column) == 0 {
		return 0
	}
	return column[k]
}

func tangentVec(column []float64, k int) r3.Vec {
	if len(column) == 0 {
		return r3.Vec{}
	}
	return vecOf(column[k:])
}

// slideTangent is p = −λ_N·t·dμ of a contact that slides.
func (r *problemRow) slideTangent(dmu float64) r3.Vec {
	if r.Mode != Slide {
		return r3.Vec{}
	}
	return r3.Scale(-r.Lambda.Z*dmu, r.T)
}

// loadTangents sets the right hand sides of a JVP.
func (x *problemWorld) loadTangents(p *contact.Problem, w int, d *Parameters) {
	perLength, perSpeed, perSpin := 1/x.length, 1/x.speed, 1/x.spin()
	perMass, perInertia := 1/x.mass, 1/(x.mass*x.length*x.length)
	for b := range x.bodies {
		k := w*p.Bodies + b
		lin, ang := r3.Scale(perSpeed, tangentVec(d.Velocity, 6*k)), r3.Scale(perSpin, tangentVec(d.Velocity, 6*k+3))
		x.hat[b], x.bar[b] = twist{lin, ang}, twist{}
		if x.invMass[b] == 0 {
			continue
		}
		dm, di := perMass*tangentOf(d.Mass, k), sym3{}
		if len(d.Inertia) > 0 {
			for j := range di {
				di[j] = perInertia * d.Inertia[6*k+j]
			}
		}
		dlin, dang := r3.Sub(x.v[b].lin, x.free[b].lin), r3.Sub(x.v[b].ang, x.free[b].ang)
		x.bar[b].lin = axpy(r3.Scale(x.bodyMass[b], lin), -dm, dlin)
		x.bar[b].ang = r3.Sub(x.inertia[b].Mul(ang), di.Mul(dang))
	}
	x.hat[x.bodies], x.bar[x.bodies] = twist{}, twist{}
	for i := range x.rows {
		r, k := &x.rows[i], w*p.Contacts+i
		var dra, drb r3.Vec
		if r.a < x.bodies {
			dra = r3.Scale(perLength, tangentVec(d.ArmA, 3*k))
		}
		if r.b < x.bodies {
			drb = r3.Scale(perLength, tangentVec(d.ArmB, 3*k))
		}
		dq := [3]r3.Vec{tangentVec(d.Frame, 9*k), tangentVec(d.Frame, 9*k+3), tangentVec(d.Frame, 9*k+6)}
		dmu := tangentOf(d.Friction, k)
		slide := r.slideTangent(dmu)
		// forces: dJᵀλ + Jᵀp
		force, turned := r.world(r.Lambda), r.world(slide)
		for j, l := range [3]float64{r.Lambda.X, r.Lambda.Y, r.Lambda.Z} {
			turned = axpy(turned, l, dq[j])
		}
		x.bar[r.b].lin = r3.Add(x.bar[r.b].lin, turned)
		x.bar[r.b].ang = r3.Add(x.bar[r.b].ang, r3.Add(cross(r.rb, turned), cross(drb, force)))
		x.bar[r.a].lin = r3.Sub(x.bar[r.a].lin, turned)
		x.bar[r.a].ang = r3.Sub(x.bar[r.a].ang, r3.Add(cross(r.ra, turned), cross(dra, force)))
		// velocities: dJ·v − dc* + dRλ + Rp
		v := r.relative(x.v)
		dv := r3.Sub(cross(x.v[r.b].ang, drb), cross(x.v[r.a].ang, dra))
		c := r3.Vec{X: dot(dq[0], v) + dot(r.q[0], dv), Y: dot(dq[1], v) + dot(r.q[1], dv),
			Z: dot(dq[2], v) + dot(r.q[2], dv) - perSpeed*tangentOf(d.Target, k)}
		var dr [2]float64
		if len(d.Compliance) > 0 {
			dr = [2]float64{d.Compliance[2*k] * x.mass, d.Compliance[2*k+1] * x.mass}
		}
		c.X += dr[0]*r.Lambda.X + r.RT*slide.X
		c.Y += dr[0]*r.Lambda.Y + r.RT*slide.Y
		c.Z += dr[1] * r.Lambda.Z
		for j := range r.N {
			r.Right[j] = dot(r.A[j], c)
		}
		if r.Cone && x.model == contact.CCP {
			r.Right[0] -= r.Slip() * dmu
		}
	}
	for b := range x.bodies { // known where no contact has an unknown
		if x.invMass[b] > 0 && x.system.block[b] < 0 {
			x.hat[b] = twist{r3.Scale(x.invMass[b], x.bar[b].lin), x.invInertia[b].Mul(x.bar[b].ang)}
		}
	}
}
