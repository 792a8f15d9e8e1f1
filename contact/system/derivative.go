package system

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/contact"
	"clearance/contact/adjoint"
	"clearance/contact/internal/modes"
)

// The derivative of a solution. Package modes has the modes of the contacts, the columns A and B of the impulses and
// velocities that a mode allows, and the iteration. Here the matrix is dense, and the mass matrix the identity:
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
			for k := range r.N {
				r.Right[k] = r3.Dot(r.B[k], l)
			}
		}
	}
	if !x.factorSystem(false) {
		return
	}
	if modes.Shared(x) {
		smoothness = adjoint.OneOfMany
		if !x.factorSystem(true) {
			return
		}
	}
	residual, ok := modes.Settle(x)
	if !ok {
		return
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
	margin := modes.NoMargin
	for i, l := range x.lambda {
		r := &x.rows[i]
		r.Lambda, r.C = l, x.slip(i, x.v, l)
		r.Find(model)
		out.Mode[w*contacts+i] = r.Mode
		margin.Take(i, &r.Contact, model, scale, 1, residual)
	}
	out.Margin[w], out.Nearest[w] = margin.Value, margin.Nearest
	if margin.Boundary {
		return adjoint.Boundary
	}
	return adjoint.Smooth
}

// factorSystem forms and factors the matrix of the derivative. The contacts share their load: see [adjoint.OneOfMany].
func (x *solver) factorSystem(share bool) bool {
	d, n := &x.derivative, x.n
	identity(d.matrix, n)
	for i := range x.rows {
		r := &x.rows[i]
		r.Regularize(modes.Regularization, share)
		for k := range r.N {
			for a, f := range [3]float64{r.A[k].X, r.A[k].Y, r.A[k].Z} {
				for b, g := range [3]float64{r.B[k].X, r.B[k].Y, r.B[k].Z} {
					addOuter(d.matrix, n, f*g*r.Inverse[k], x.line(i, a), x.line(i, b))
				}
			}
		}
	}
	return factorLU(d.matrix, n, d.pivots)
}

// Contacts and Contact make a world a [modes.System].
func (x *solver) Contacts() int                { return len(x.rows) }
func (x *solver) Contact(i int) *modes.Contact { return &x.rows[i].Contact }

// Begin sets v̂ and z to zero, and the residuals to the right hand sides. It returns the square of their norm.
func (x *solver) Begin() float64 {
	clear(x.derivative.hat)
	for i := range x.rows {
		x.rows[i].Z = [3]float64{}
	}
	return x.Measure()
}

// Rest sets the residuals of the velocities to zero.
func (x *solver) Rest() { clear(x.derivative.residual) }

// Measure sets the residuals v̄ − v̂ − JᵀAz and BᵀJv̂ + Bᵀλ̄ − Sz, and returns the square of their norm.
func (x *solver) Measure() (sum float64) {
	d := &x.derivative
	for k, b := range d.bar {
		d.residual[k] = b - d.hat[k]
	}
	for i := range x.rows {
		r := &x.rows[i]
		if r.N == 0 {
			continue
		}
		v := x.moving(i, d.hat)
		x.push(i, r3.Scale(-1, r.Combined()), d.residual)
		for k := range r.N {
			r.Left[k] = r3.Dot(r.B[k], v) + r.Right[k] - r.S[k]*r.Z[k]
			sum += r.Left[k] * r.Left[k] / max(r.H, r.S[k])
		}
	}
	return sum + dot(d.residual, d.residual)
}

// Correct adds the correction of the residuals to v̂ and z.
func (x *solver) Correct() {
	d := &x.derivative
	for i := range x.rows {
		r := &x.rows[i]
		for k := range r.N {
			x.push(i, r3.Scale(-r.Left[k]*r.Inverse[k], r.A[k]), d.residual)
		}
	}
	solveLU(d.matrix, x.n, d.pivots, d.residual, false)
	for k, v := range d.residual {
		d.hat[k] += v
	}
	for i := range x.rows {
		r := &x.rows[i]
		if r.N > 0 {
			v := x.moving(i, d.residual)
			for k := range r.N {
				r.Z[k] += (r3.Dot(r.B[k], v) + r.Left[k]) * r.Inverse[k]
			}
		}
	}
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
		u := r.Combined()
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
		if r.Mode != adjoint.Slide {
			continue
		}
		v := axpy(slips[i], -r.RT, u)
		if len(impulseBar) > 0 {
			v = axpy(v, x.unit, vecOf(impulseBar[3*k:]))
		}
		out.Friction[k] = -l.Z * (r.T.X*v.X + r.T.Y*v.Y)
		if model == contact.CCP {
			out.Friction[k] += r.Slip() * r.Z[0]
		}
	}
}
