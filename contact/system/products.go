package system

import (
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/contact"
	"clearance/contact/adjoint"
)

// What goes into the linear system of a derivative, and what comes out of it: see derivative.go.

// solveCotangents solves the system of an island for the cotangents of its world.
func (x *solver) solveCotangents(p *Problem, w int, bar, impulseBar []float64, out *adjoint.Report) bool {
	d := &x.derivative
	for a, i := range x.velocities {
		d.bar[a] = bar[i]
	}
	intoFactor(x.lower, x.n, d.bar)
	for i := range x.rows {
		if r := &x.rows[i]; len(impulseBar) > 0 {
			l := x.cotangent(p, w, i, impulseBar)
			for k := range r.N {
				r.Right[k] = r3.Dot(r.B[k], l)
			}
		}
	}
	return x.regular(w, out) && x.settle(w, false, out)
}

// cotangent is λ̄ of contact i of the island in its unit.
func (x *solver) cotangent(p *Problem, w, i int, impulseBar []float64) r3.Vec {
	if len(impulseBar) == 0 {
		return r3.Vec{}
	}
	return r3.Scale(x.unit, vecOf(impulseBar[3*(w*p.Contacts+x.contacts[i]):]))
}

// storeVelocities writes the gradients by the velocities and masses of the island, and leaves v̂ in hat as velocities
// of the mechanism. The masses of the island are those of the caller divided by the unit, and v̂ is larger by the unit.
func (x *solver) storeVelocities(p *Problem, w int, out *Gradient) {
	d, n := &x.derivative, p.Velocities
	for i := range x.rows {
		u := x.rows[i].Combined()
		if u == (r3.Vec{}) {
			continue
		}
		s, t, q := x.lineOf(x.given, i, 0), x.lineOf(x.given, i, 1), x.lineOf(x.given, i, 2)
		for a, at := range x.velocities {
			out.Velocity[w*n+at] -= u.X*s[a] + u.Y*t[a] + u.Z*q[a]
		}
	}
	fromFactor(x.lower, x.n, d.hat)
	for a, i := range x.velocities {
		line := out.Mass[(w*n+i)*n:]
		f := -d.hat[a] / x.unit
		for b, j := range x.velocities {
			line[j] = f * d.change[b]
		}
	}
}

// storeContacts writes the gradients by the numbers of the contacts of the island.
func (x *solver) storeContacts(p *Problem, w int, model contact.Model, impulseBar []float64, out *Gradient) {
	d := &x.derivative
	for i := range x.rows {
		r, at := &x.rows[i], w*p.Contacts+x.contacts[i]
		u, l := r.Combined(), r.Lambda
		for a, f := range [3]float64{l.X, l.Y, l.Z} {
			g, line := [3]float64{u.X, u.Y, u.Z}[a], out.Jacobian[(3*at+a)*p.Velocities:]
			for b, j := range x.velocities {
				line[j] = f*d.hat[b] - g*x.after[b]
			}
		}
		out.Target[at] = u.Z
		put(out.Offset[3*at:], r3.Scale(-1, u))
		out.Compliance[2*at] = -(u.X*l.X + u.Y*l.Y) * x.unit
		out.Compliance[2*at+1] = -u.Z * l.Z * x.unit
		if r.Mode != adjoint.Slide {
			continue
		}
		v := axpy(x.times(x.given, i, d.hat), -r.RT, u)
		v = r3.Add(v, x.cotangent(p, w, i, impulseBar))
		out.Friction[at] = -l.Z * (r.T.X*v.X + r.T.Y*v.Y)
		if model == contact.CCP {
			out.Friction[at] += r.Slip() * r.Z[0]
		}
	}
}

// solveTangents solves the system of an island for the tangents of its world, and writes the product.
func (x *solver) solveTangents(p *Problem, w int, model contact.Model, t *Parameters, out *Tangent) bool {
	d, n := &x.derivative, p.Velocities
	clear(d.tangent)
	clear(d.bar)
	for a, i := range x.velocities {
		d.tangent[a] = number(t.Velocity, w*n+i)
		if len(t.Mass) == 0 {
			continue
		}
		line := t.Mass[(w*n+i)*n:]
		for b, j := range x.velocities {
			d.bar[a] -= line[j] / x.unit * d.change[b]
		}
	}
	for i := range x.rows {
		x.loadTangent(p, w, i, model, t)
	}
	intoFactor(x.lower, x.n, d.bar)
	if !x.regular(w, &out.Report) {
		return false
	}
	if !x.settle(w, true, &out.Report) {
		return false
	}
	fromFactor(x.lower, x.n, d.hat)
	for a, i := range x.velocities {
		out.Velocity[w*n+i] += d.hat[a]
	}
	for i := range x.rows {
		r, at := &x.rows[i], w*p.Contacts+x.contacts[i]
		l := slideTangent(r, number(t.Friction, at))
		for k := range r.N {
			l = axpy(l, -r.Z[k], r.B[k])
		}
		put(out.Impulse[3*at:], r3.Scale(x.unit, l))
	}
	return true
}

// loadTangent adds dJᵀλ + Jᵀp of contact i of the island to r, and sets its s.
func (x *solver) loadTangent(p *Problem, w, i int, model contact.Model, t *Parameters) {
	d, r, at := &x.derivative, &x.rows[i], w*p.Contacts+x.contacts[i]
	dmu := number(t.Friction, at)
	slide := slideTangent(r, dmu)
	x.pushBy(x.given, i, slide, d.bar)
	c := x.times(x.given, i, d.tangent)
	if len(t.Jacobian) > 0 {
		var change [3]float64
		for a, l := range [3]float64{r.Lambda.X, r.Lambda.Y, r.Lambda.Z} {
			line := t.Jacobian[(3*at+a)*p.Velocities:]
			for b, j := range x.velocities {
				d.bar[b] += l * line[j]
				change[a] += line[j] * x.after[b]
			}
		}
		c = r3.Add(c, vecOf(change[:]))
	}
	if len(t.Offset) > 0 {
		c = r3.Add(c, vecOf(t.Offset[3*at:]))
	}
	c.Z -= number(t.Target, at)
	rT, rN := number(t.Compliance, 2*at)*x.unit, number(t.Compliance, 2*at+1)*x.unit
	c.X += rT*r.Lambda.X + r.RT*slide.X
	c.Y += rT*r.Lambda.Y + r.RT*slide.Y
	c.Z += rN * r.Lambda.Z
	for k := range r.N {
		r.Right[k] = r3.Dot(r.A[k], c)
	}
	if r.Cone && model == contact.CCP {
		r.Right[0] -= r.Slip() * dmu
	}
}

// slideTangent is p = −λ_N·t·dμ of a contact that slides.
func slideTangent(r *row, dmu float64) r3.Vec {
	if r.Mode != adjoint.Slide {
		return r3.Vec{}
	}
	return r3.Scale(-r.Lambda.Z*dmu, r.T)
}

// number is that of a column, zero without the column.
func number(column []float64, k int) float64 {
	if len(column) == 0 {
		return 0
	}
	return column[k]
}
