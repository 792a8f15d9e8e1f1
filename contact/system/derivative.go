package system

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/contact"
	"clearance/contact/adjoint"
)

// The derivative of a solution, as in package contact/adjoint, which has the modes of the contacts, the columns A and B
// of the impulses and velocities that a mode allows, and the iteration. Here the matrix is dense, and the mass matrix
// the identity:
//
//	v̂ + JᵀAz = v̄,  BᵀJv̂ − Sz = −Bᵀλ̄,  S = BᵀRA + D
//
// with P = max(S, εh) in place of S, and iterations for what that changes. With u = Az the gradients are
//
//	v̄_f = Mv̂,  M̄ = −v̂(v⁺ − v_f)ᵀ,  J̄ = λv̂ᵀ − uv⁺ᵀ,  c̄* = u_N,  R̄ = −u∘λ,  −u by the offset,
//	μ̄ = −λ_N t·(Jv̂ − R_T u + λ̄)_T + ‖c_T‖z_e₁ (the last of the CCP).

// Gradient is the product of cotangents with the derivative of the solutions.
type Gradient struct {
	Velocity   []float64 // [W,N] by v_f
	Mass       []float64 // [W,N,N] by each number, as if they were independent
	Jacobian   []float64 // [W,C,3,N]
	Target     []float64 // [W,C]
	Friction   []float64 // [W,C]
	Compliance []float64 // [W,C,2]
	Offset     []float64 // [W,C,3]

	Smoothness []adjoint.Smoothness // [W]
	Margin     []float64            // [W], see [adjoint.Report]
	Nearest    []int32              // [W]
	Residual   []float64            // [W] of the linear system, relative
	Mode       []adjoint.Mode       // [W,C]
}

// Resize makes every column large enough for a problem, and sets it to zero.
func (g *Gradient) Resize(p *Problem) {
	w, n, c := p.Worlds, p.Velocities, p.Contacts
	for _, x := range []struct {
		to *[]float64
		n  int
	}{{&g.Velocity, w * n}, {&g.Mass, w * n * n}, {&g.Jacobian, 3 * w * c * n}, {&g.Target, w * c},
		{&g.Friction, w * c}, {&g.Compliance, 2 * w * c}, {&g.Offset, 3 * w * c}, {&g.Margin, w}, {&g.Residual, w}} {
		resize(x.to, x.n)
		clear(*x.to)
	}
	resize(&g.Nearest, w)
	resize(&g.Smoothness, w)
	resize(&g.Mode, w*c)
	clear(g.Mode)
}

// VJP sets out to the products of cotangents with the derivative of the solution s of the problem p: velocityBar [W,N]
// is the gradient of a function by the velocities, impulseBar [W,C,3] by the impulses, nil for zero. Only the impulses,
// the statuses and the residuals of s are read.
func VJP(ctx context.Context, p *Problem, s *Solution, o Options, velocityBar, impulseBar []float64,
	out *Gradient) error {
	if err := p.CheckShape(); err != nil {
		return err
	}
	w, c := p.Worlds, p.Contacts
	if len(s.Impulse) != 3*w*c || len(s.Residual) != w || len(s.Status) != w {
		return errors.New("contact: the solution is not that of the problem")
	}
	if len(velocityBar) != w*p.Velocities || (len(impulseBar) != 3*w*c && len(impulseBar) != 0) {
		return fmt.Errorf("contact: cotangents of %d velocities and %d impulses", len(velocityBar), len(impulseBar))
	}
	out.Resize(p)
	return p.inParallel(ctx, o.Workers, func(x *solver, w int) {
		x.vjp(p, w, s, o.Model, velocityBar, impulseBar, out)
	})
}

const (
	regularization  = 0x1p-20
	mostRounds      = 40
	mostAttempts    = 3
	enough          = 0x1p-48
	rounded         = 1e-11
	unsolved        = 1e-4
	nullRounds      = 8
	nullPart        = 1e-5
	shareCompliance = 1e-3
	least           = 1e-6 // margin below which a world is on a boundary
	most            = 1e30
)

// derivative is the memory of a derivative.
type derivative struct {
	hat, bar, residual []float64
	matrix             []float64
	pivots             []int
}

func (x *solver) vjp(p *Problem, w int, s *Solution, model contact.Model, velocityBar, impulseBar []float64,
	out *Gradient) {
	n, c, count := p.Velocities, p.Contacts, int(p.Count[w])
	out.Smoothness[w], out.Nearest[w] = adjoint.None, -1
	bar := velocityBar[w*n : (w+1)*n]
	if s.Status[w] != contact.Solved || p.CheckWorld(w) != nil || !finite(bar) {
		return
	}
	if count == 0 {
		out.Smoothness[w], out.Margin[w] = adjoint.Smooth, math.Inf(1)
		copy(out.Velocity[w*n:], bar)
		return
	}
	if !x.load(p, w) || !finite(s.Impulse[3*w*c:3*(w*c+count)]) {
		return
	}
	for i := range x.lambda {
		x.lambda[i] = r3.Scale(1/x.unit, vecOf(s.Impulse[3*(w*c+i):]))
	}
	d := &x.derivative
	resize(&d.hat, n)
	resize(&d.bar, n)
	resize(&d.residual, n)
	resize(&d.matrix, n*n)
	resize(&d.pivots, n)
	smoothness := x.judge(model, s.Residual[w], out, w, c)
	// The cotangents of the velocities have the mass as a factor in the units of the world.
	copy(d.bar, bar)
	intoFactor(x.lower, n, d.bar)
	for i := range x.rows {
		r := &x.rows[i]
		if len(impulseBar) > 0 {
			l := r3.Scale(x.unit, vecOf(impulseBar[3*(w*c+i):]))
			for k := range r.columns {
				r.right[k] = r3.Dot(r.b[k], l)
			}
		}
	}
	residual, ok := x.settle()
	if !ok {
		return
	}
	if x.shared() {
		smoothness = adjoint.OneOfMany
		for i := range x.rows {
			r := &x.rows[i]
			for k := range r.columns {
				if r.mode == adjoint.Stick && k == 2 || r.mode == adjoint.Slide && k == 0 {
					r.s[k] += shareCompliance * r.h
				}
			}
		}
		if residual, ok = x.settle(); !ok {
			return
		}
	}
	out.Smoothness[w], out.Residual[w] = smoothness, residual
	x.write(p, w, model, impulseBar, out)
	out.keepFinite(p, w)
}

// keepFinite clears the gradients of a world if a number leaves the range of float64: it has no derivative then.
func (g *Gradient) keepFinite(p *Problem, w int) {
	n, c := p.Velocities, p.Contacts
	columns := [][]float64{g.Velocity[w*n : (w+1)*n], g.Mass[w*n*n : (w+1)*n*n], g.Jacobian[3*w*c*n : 3*(w+1)*c*n],
		g.Target[w*c : (w+1)*c], g.Friction[w*c : (w+1)*c], g.Compliance[2*w*c : 2*(w+1)*c],
		g.Offset[3*w*c : 3*(w+1)*c], g.Margin[w : w+1], g.Residual[w : w+1]}
	for _, x := range columns {
		if finite(x) || &x[0] == &g.Margin[w] && math.IsInf(x[0], 1) {
			continue
		}
		for _, x := range columns {
			clear(x)
		}
		g.Smoothness[w], g.Nearest[w] = adjoint.None, -1
		return
	}
}

// judge forms v and c anew, finds the modes and the margin, and sets the columns of A and B.
func (x *solver) judge(model contact.Model, residual float64, out *Gradient, w, contacts int) adjoint.Smoothness {
	x.form(x.v, x.lambda)
	scale := 0.0
	for i := range x.rows {
		scale = max(scale, length(x.slip(i, x.free, r3.Vec{})))
	}
	margin, nearest, boundary := math.Inf(1), int32(-1), false
	for i, l := range x.lambda {
		r := &x.rows[i]
		r.c = x.slip(i, x.v, l)
		r.setMode(model, l)
		out.Mode[w*contacts+i] = r.mode
		m := r.margin(model, l)
		relative := 0.0
		if m > 0 {
			relative = m / scale
		}
		if relative < margin {
			margin, nearest = relative, int32(i)
		}
		boundary = boundary || !(relative > least) || !(m > residual)
	}
	out.Margin[w], out.Nearest[w] = margin, nearest
	if boundary {
		return adjoint.Boundary
	}
	return adjoint.Smooth
}

// setMode finds the mode by the natural map of the law, which does not depend on how well the solution resolves zeros.
func (r *row) setMode(model contact.Model, l r3.Vec) {
	slip := math.Hypot(r.c.X, r.c.Y)
	r.columns, r.mode, r.t, r.cone = 0, adjoint.Open, r3.Vec{}, false
	if r.h == 0 {
		return
	}
	u := axpy(l, -1/r.h, r.c)
	if model == contact.NCP {
		u.Z -= r.mu * slip / r.h
	}
	t := math.Hypot(u.X, u.Y)
	if t > 0 {
		r.t = r3.Vec{X: -u.X / t, Y: -u.Y / t}
	}
	n := r3.Vec{Z: 1}
	switch {
	case r.mu*t <= -u.Z:
	case t <= r.mu*u.Z && r.mu > 0:
		r.mode = adjoint.Stick
		r.add(r3.Vec{X: 1}, r3.Vec{X: 1}, r.rT)
		r.add(r3.Vec{Y: 1}, r3.Vec{Y: 1}, r.rT)
		r.add(n, n, r.rN)
	default:
		r.mode, r.cone = adjoint.Slide, true
		e := axpy(n, -r.mu, r.t)
		if model == contact.CCP {
			r.add(e, e, r.rN+r.mu*r.mu*r.rT)
		} else {
			r.add(n, e, r.rN)
		}
		if normal := r.mu * l.Z; normal > 0 && slip < most*r.h*normal {
			across := r3.Vec{X: -r.t.Y, Y: r.t.X}
			r.add(across, across, r.rT+slip/normal)
		}
	}
}

// add adds a column a of A and b of B, and what stands for it on the diagonal of S.
func (r *row) add(a, b r3.Vec, s float64) {
	k := r.columns
	r.columns++
	r.a[k], r.b[k], r.s[k], r.z[k], r.right[k] = a, b, s, 0, 0
}

// margin is how far the contact is from a change of its mode, in m/s.
func (r *row) margin(model contact.Model, l r3.Vec) (m float64) {
	slip, force := math.Hypot(r.c.X, r.c.Y), math.Hypot(l.X, l.Y)
	switch {
	case r.mode == adjoint.Open && model == contact.CCP:
		m = r.c.Z - r.mu*slip
	case r.mode == adjoint.Open:
		m = r.c.Z
	case r.mode == adjoint.Stick:
		m = r.h * min(l.Z, r.mu*l.Z-force)
	case r.mu > 0:
		m = min(r.h*l.Z, slip)
	default:
		m = r.h * l.Z
	}
	return max(m, 0)
}

// settle solves the system, and leaves v̂ in hat and z in the rows. It returns the relative residual, and false without
// a solution. What cotangents of impulses ask of redundant contacts that these cannot do is taken away, as in package
// contact/adjoint.
func (x *solver) settle() (residual float64, ok bool) {
	d, n := &x.derivative, x.n
	identity(d.matrix, n)
	for i := range x.rows {
		r := &x.rows[i]
		for k := range r.columns {
			r.z[k], r.pivot[k] = 0, max(r.s[k], regularization*r.h)
			for a, f := range [3]float64{r.a[k].X, r.a[k].Y, r.a[k].Z} {
				for b, g := range [3]float64{r.b[k].X, r.b[k].Y, r.b[k].Z} {
					addOuter(d.matrix, n, f*g/r.pivot[k], x.line(i, a), x.line(i, b))
				}
			}
		}
	}
	if !factorLU(d.matrix, n, d.pivots) {
		return 0, false
	}
	whole, last := 0.0, 0.0
	for attempt := range mostAttempts {
		clear(d.hat)
		for i := range x.rows {
			x.rows[i].z = [3]float64{}
		}
		if last = x.remainder(); last == 0 {
			return 0, true
		}
		if attempt == 0 {
			whole = last
		}
		stays := false
		for range mostRounds {
			x.correct()
			now := x.remainder()
			slow := !(now <= last/4)
			stays = now > 0.9*last && now > rounded*rounded*whole
			last = now
			if now <= enough*enough*whole || stays || slow && (now <= rounded*rounded*whole || attempt > 0) {
				break
			}
		}
		if !stays {
			break
		}
		if attempt+1 < mostAttempts {
			for i := range x.rows {
				r := &x.rows[i]
				for k := range r.columns {
					r.right[k] -= r.left[k]
				}
			}
		}
	}
	residual = math.Sqrt(last / whole)
	return residual, residual <= unsolved
}

// remainder sets the residuals v̄ − v̂ − JᵀAz and BᵀJv̂ + Bᵀλ̄ − Sz, and returns the square of their norm.
func (x *solver) remainder() (sum float64) {
	d := &x.derivative
	for k, b := range d.bar {
		d.residual[k] = b - d.hat[k]
	}
	for i := range x.rows {
		r := &x.rows[i]
		if r.columns == 0 {
			continue
		}
		v := x.moving(i, d.hat)
		x.push(i, r3.Scale(-1, r.combined()), d.residual)
		for k := range r.columns {
			r.left[k] = r3.Dot(r.b[k], v) + r.right[k] - r.s[k]*r.z[k]
			sum += r.left[k] * r.left[k] / max(r.h, r.s[k])
		}
	}
	return sum + dot(d.residual, d.residual)
}

// combined is u = Az.
func (r *row) combined() (u r3.Vec) {
	for k := range r.columns {
		u = axpy(u, r.z[k], r.a[k])
	}
	return u
}

// correct adds the correction of the residuals to v̂ and z.
func (x *solver) correct() {
	d := &x.derivative
	for i := range x.rows {
		r := &x.rows[i]
		for k := range r.columns {
			x.push(i, r3.Scale(-r.left[k]/r.pivot[k], r.a[k]), d.residual)
		}
	}
	solveLU(d.matrix, x.n, d.pivots, d.residual, false)
	for k, v := range d.residual {
		d.hat[k] += v
	}
	for i := range x.rows {
		r := &x.rows[i]
		if r.columns > 0 {
			v := x.moving(i, d.residual)
			for k := range r.columns {
				r.z[k] += (r3.Dot(r.b[k], v) + r.left[k]) / r.pivot[k]
			}
		}
	}
}

// shared reports whether a null vector of the system has a part in a contact that slides: see package contact/adjoint.
// The iteration must have settled. It keeps v̂ and z.
func (x *solver) shared() bool {
	slides := false
	for i := range x.rows {
		r := &x.rows[i]
		slides = slides || r.mode == adjoint.Slide && r.s[0] < regularization*r.h
	}
	if !slides {
		return false
	}
	d, start := &x.derivative, 0.0
	null := make([][3]float64, len(x.rows))
	for i := range x.rows {
		r := &x.rows[i]
		for k := range r.columns {
			_, null[i][k] = math.Modf(float64(3*i+k+1) * math.Phi) // no two are alike
			null[i][k]++
			if k == 1 {
				null[i][k] = -null[i][k]
			}
			start += r.h * null[i][k] * null[i][k]
		}
	}
	for range nullRounds {
		clear(d.residual)
		for i := range x.rows {
			r := &x.rows[i]
			for k := range r.columns {
				r.left[k] = (r.pivot[k] - r.s[k]) * null[i][k]
				x.push(i, r3.Scale(-r.left[k]/r.pivot[k], r.a[k]), d.residual)
			}
		}
		solveLU(d.matrix, x.n, d.pivots, d.residual, false)
		part := 0.0
		for i := range x.rows {
			r := &x.rows[i]
			v := x.moving(i, d.residual)
			for k := range r.columns {
				null[i][k] = (r3.Dot(r.b[k], v) + r.left[k]) / r.pivot[k]
				if r.mode == adjoint.Slide {
					part += r.h * null[i][k] * null[i][k]
				}
			}
		}
		if part <= nullPart*nullPart*start {
			return false
		}
	}
	return true
}

// write writes the gradients of a world, in the units of the caller.
func (x *solver) write(p *Problem, w int, model contact.Model, impulseBar []float64, out *Gradient) {
	n, c, d := p.Velocities, p.Contacts, &x.derivative
	// x.lower is that of M/unit: with the masses of the caller v̂ is smaller by the unit, and M larger.
	timesFactor(x.lower, n, false, d.hat, out.Velocity[w*n:(w+1)*n])
	slips := make([]r3.Vec, len(x.rows))
	for i := range x.rows {
		slips[i] = x.moving(i, d.hat)
	}
	hat, after := d.residual, x.v
	copy(hat, d.hat)
	fromFactor(x.lower, n, hat)
	change := make([]float64, n)
	for k := range change {
		change[k] = after[k] - x.free[k]
	}
	fromFactor(x.lower, n, change)
	fromFactor(x.lower, n, after)
	mass := out.Mass[w*n*n : (w+1)*n*n]
	for a := range n {
		for b := range n {
			mass[a*n+b] = -hat[a] / x.unit * change[b]
		}
	}
	for i := range x.rows {
		r, l, k := &x.rows[i], x.lambda[i], w*c+i
		u := r.combined()
		for a, f := range [3]float64{l.X, l.Y, l.Z} {
			g := [3]float64{u.X, u.Y, u.Z}[a]
			line := out.Jacobian[(3*k+a)*n : (3*k+a+1)*n]
			for j := range line {
				line[j] = f*hat[j] - g*after[j]
			}
		}
		out.Target[k] = u.Z
		put(out.Offset[3*k:], r3.Scale(-1, u))
		out.Compliance[2*k] = -(u.X*l.X + u.Y*l.Y) * x.unit
		out.Compliance[2*k+1] = -u.Z * l.Z * x.unit
		if r.mode != adjoint.Slide {
			continue
		}
		v := axpy(slips[i], -r.rT, u)
		if len(impulseBar) > 0 {
			v = axpy(v, x.unit, vecOf(impulseBar[3*k:]))
		}
		out.Friction[k] = -l.Z * (r.t.X*v.X + r.t.Y*v.Y)
		if model == contact.CCP {
			out.Friction[k] += math.Hypot(r.c.X, r.c.Y) * r.z[0]
		}
	}
}
