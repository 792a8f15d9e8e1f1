package system

import (
	"context"
	"errors"
	"fmt"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/contact"
	"clearance/contact/adjoint"
	"clearance/contact/internal/modes"
)

// The derivative of a solution. Package modes has the modes of the contacts, the columns A and B of the impulses and
// velocities that a mode allows, and the iteration. Here the matrix is dense. In the coordinates of an island, in which
// the mass matrix is the identity, the system is
//
//	v̂ + JᵀAz = r,  BᵀJv̂ − Sz = −s,  S = BᵀRA + D
//
// and that with A and B exchanged for tangents. For cotangents r = v̄ and s = Bᵀλ̄. With u = Az the gradients are
//
//	v̄_f = v̄ − Jᵀu,  M̄ = −v̂(v⁺ − v_f)ᵀ,  J̄ = λv̂ᵀ − uv⁺ᵀ,  c̄* = u_N,  R̄ = −u∘λ,  −u by the offset,
//	μ̄ = −λ_N t·(Jv̂ − R_T u + λ̄)_T + ‖c_T‖z_e₁ (the last of the CCP).
//
// The tangent dv − dv_f, for which r = −dM(v⁺ − v_f) + dJᵀλ + Jᵀp and s = Aᵀ(Jdv_f + dJ·v⁺ − dc* + dRλ + Rp) − κ, obeys
// the exchanged system with z = −y.

// derivative is the memory of a derivative.
type derivative struct {
	transposed         bool
	hat, bar, residual []float64
	change             []float64 // M⁻¹Jᵀλ
	matrix             []float64
	pivots             []int
	tangent            []float64 // dv_f of an island
}

// VJP sets out to the products of cotangents with the derivative of the solution s of the problem p: velocityBar [W,N]
// is the gradient of a function by the velocities, impulseBar [W,C,3] by the impulses, nil for zero. Only the impulses,
// the statuses and the residuals of s are read.
func VJP(ctx context.Context, p *Problem, s *Solution, o Options, velocityBar, impulseBar []float64,
	out *Gradient) error {
	return new(Solver).VJP(ctx, p, s, o, velocityBar, impulseBar, out)
}

// VJP is like the function [VJP].
func (m *Solver) VJP(ctx context.Context, p *Problem, s *Solution, o Options, velocityBar, impulseBar []float64,
	out *Gradient) error {
	if err := checkSolution(p, s); err != nil {
		return err
	}
	if n := 3 * p.Worlds * p.Contacts; len(velocityBar) != p.Worlds*p.Velocities ||
		(len(impulseBar) != n && len(impulseBar) != 0) {
		return fmt.Errorf("contact: cotangents of %d velocities and %d impulses, want %d and %d or none",
			len(velocityBar), len(impulseBar), p.Worlds*p.Velocities, n)
	}
	out.Resize(p)
	if m.take(p, o.Workers) == 1 {
		for w := 0; w < p.Worlds && ctx.Err() == nil; w++ {
			m.workers[0].vjp(p, w, s, o.Model, velocityBar, impulseBar, out)
		}
		return ctx.Err()
	}
	return m.inParallel(ctx, p, o.Workers, func(x *solver, w int) {
		x.vjp(p, w, s, o.Model, velocityBar, impulseBar, out)
	})
}

// JVP sets out to the products of the derivative with tangents of the parameters, of which nil columns are zero. It is
// the transpose of [VJP].
func JVP(ctx context.Context, p *Problem, s *Solution, o Options, d *Parameters, out *Tangent) error {
	return new(Solver).JVP(ctx, p, s, o, d, out)
}

// JVP is like the function [JVP].
func (m *Solver) JVP(ctx context.Context, p *Problem, s *Solution, o Options, d *Parameters, out *Tangent) error {
	if err := checkSolution(p, s); err != nil {
		return err
	}
	for _, x := range d.columns(p) {
		if n := len(*x.column); n != p.Worlds*x.n && n != 0 {
			return fmt.Errorf("contact: tangents of %s: %d numbers, want %d or none", x.name, n, p.Worlds*x.n)
		}
	}
	out.Resize(p)
	if m.take(p, o.Workers) == 1 {
		for w := 0; w < p.Worlds && ctx.Err() == nil; w++ {
			m.workers[0].jvp(p, w, s, o.Model, d, out)
		}
		return ctx.Err()
	}
	return m.inParallel(ctx, p, o.Workers, func(x *solver, w int) { x.jvp(p, w, s, o.Model, d, out) })
}

func checkSolution(p *Problem, s *Solution) error {
	if err := p.CheckShape(); err != nil {
		return err
	}
	if len(s.Impulse) != 3*p.Worlds*p.Contacts || len(s.Residual) != p.Worlds || len(s.Status) != p.Worlds {
		return errors.New("contact: the solution is not that of the problem: its columns have other lengths")
	}
	return nil
}

// vjp is VJP of a world.
func (x *solver) vjp(p *Problem, w int, s *Solution, model contact.Model, velocityBar, impulseBar []float64,
	out *Gradient) {
	n := p.Velocities
	bar := velocityBar[w*n : (w+1)*n]
	if s.Status[w] != contact.Solved || !x.valid(p, w) || !finite(bar) {
		none(&out.Report, w)
		return
	}
	copy(out.Velocity[w*n:], bar)
	ok, islands := true, x.islands.find(p, w)
	for k := 0; ok && k < islands; k++ {
		ok = x.prepare(p, w, k, s, model, &out.Report)
		ok = ok && x.solveCotangents(p, w, bar, impulseBar, &out.Report)
		if ok {
			x.storeVelocities(p, w, out)
			x.storeContacts(p, w, model, impulseBar, out)
		}
	}
	out.end(p, w, ok)
}

// jvp is JVP of a world.
func (x *solver) jvp(p *Problem, w int, s *Solution, model contact.Model, d *Parameters, out *Tangent) {
	n := p.Velocities
	if s.Status[w] != contact.Solved || !x.valid(p, w) {
		none(&out.Report, w)
		return
	}
	if len(d.Velocity) > 0 {
		copy(out.Velocity[w*n:(w+1)*n], d.Velocity[w*n:])
	}
	ok, islands := true, x.islands.find(p, w)
	for k := 0; ok && k < islands; k++ {
		ok = x.prepare(p, w, k, s, model, &out.Report) && x.solveTangents(p, w, model, d, out)
	}
	out.end(p, w, ok)
}

// prepare loads an island with its solution, and finds the modes. It reports false if there is no derivative.
func (x *solver) prepare(p *Problem, w, k int, s *Solution, model contact.Model, out *adjoint.Report) bool {
	if !x.load(p, w, k) {
		return false
	}
	for i := range x.lambda {
		x.lambda[i] = r3.Scale(1/x.unit, vecOf(s.Impulse[3*(w*p.Contacts+x.contacts[i]):]))
		if !finite([]float64{x.lambda[i].X, x.lambda[i].Y, x.lambda[i].Z}) {
			return false
		}
	}
	d := &x.derivative
	for _, column := range [...]*[]float64{&d.hat, &d.bar, &d.residual, &d.change, &d.tangent} {
		resize(column, x.n)
	}
	resize(&d.matrix, x.n*x.n)
	resize(&d.pivots, x.n)
	x.judge(p, w, model, s.Residual[w], out)
	return true
}

// judge forms v and c anew, finds the modes and the margin, and sets the columns of A and B.
func (x *solver) judge(p *Problem, w int, model contact.Model, residual float64, out *adjoint.Report) {
	d := &x.derivative
	x.form(x.v, x.lambda)
	copy(d.change, x.v)
	fromFactor(x.lower, x.n, d.change)
	for k, c := range d.change {
		x.after[k] = x.free[k] + c
	}
	scale := 0.0
	for i := range x.rows {
		scale = max(scale, length(x.rows[i].free))
	}
	margin := modes.Margin{Value: out.Margin[w], Nearest: out.Nearest[w]}
	for i, l := range x.lambda {
		r, k := &x.rows[i], x.contacts[i]
		r.Lambda, r.C = l, x.slip(i, x.v, l)
		r.Find(model)
		out.Mode[w*p.Contacts+k] = r.Mode
		margin.Take(k, &r.Contact, model, scale, 1, residual)
	}
	out.Margin[w], out.Nearest[w] = margin.Value, margin.Nearest
	if margin.Boundary {
		out.Smoothness[w] = max(out.Smoothness[w], adjoint.Boundary)
	}
}

// regular factors the system of an island. It reports false if there is no derivative.
func (x *solver) regular(w int, out *adjoint.Report) bool {
	x.derivative.transposed = false
	if !x.factorSystem(false) {
		return false
	}
	if modes.Shared(x) {
		out.Smoothness[w] = max(out.Smoothness[w], adjoint.OneOfMany)
		return x.factorSystem(true)
	}
	return true
}

// factorSystem forms and factors the matrix of the derivative. The contacts share their load: see [adjoint.OneOfMany].
func (x *solver) factorSystem(share bool) bool {
	d, n := &x.derivative, x.n
	identity(d.matrix, n)
	for i := range x.rows {
		r := &x.rows[i]
		r.Regularize(modes.Regularization, share)
		var h [3][3]float64 // AP⁻¹Bᵀ
		for k := range r.N {
			for a, f := range [3]float64{r.A[k].X, r.A[k].Y, r.A[k].Z} {
				for b, g := range [3]float64{r.B[k].X, r.B[k].Y, r.B[k].Z} {
					h[a][b] += f * g * r.Inverse[k]
				}
			}
		}
		if r.N > 0 {
			x.addBlock(d.matrix, i, &h)
		}
	}
	return factorLU(d.matrix, n, d.pivots)
}

// settle solves the system for the right hand sides in bar and the rows, or that with A and B exchanged.
func (x *solver) settle(w int, transposed bool, out *adjoint.Report) bool {
	x.derivative.transposed = transposed
	residual, ok := modes.Settle(x)
	out.Residual[w] = max(out.Residual[w], residual)
	return ok
}

// sides returns the columns whose impulses act, and those whose velocities count: A and B, or B and A.
func (x *solver) sides(r *row) (force, speed *[3]r3.Vec) {
	if x.derivative.transposed {
		return &r.B, &r.A
	}
	return &r.A, &r.B
}

// Contacts and Contact make an island a [modes.System].
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

// Measure sets the residuals r − v̂ − JᵀAz and BᵀJv̂ + s − Sz, and returns the square of their norm.
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
		force, speed := x.sides(r)
		v := x.moving(i, d.hat)
		var sent r3.Vec
		for k := range r.N {
			sent = axpy(sent, -r.Z[k], force[k])
			r.Left[k] = r3.Dot(speed[k], v) + r.Right[k] - r.S[k]*r.Z[k]
			sum += r.Left[k] * r.Left[k] / max(r.H, r.S[k])
		}
		x.push(i, sent, d.residual)
	}
	return sum + dot(d.residual, d.residual)
}

// Correct adds the correction of the residuals to v̂ and z.
func (x *solver) Correct() {
	d := &x.derivative
	for i := range x.rows {
		r := &x.rows[i]
		if r.N == 0 {
			continue
		}
		force, _ := x.sides(r)
		var sent r3.Vec
		for k := range r.N {
			sent = axpy(sent, -r.Left[k]*r.Inverse[k], force[k])
		}
		x.push(i, sent, d.residual)
	}
	solveLU(d.matrix, x.n, d.pivots, d.residual, d.transposed)
	for k, v := range d.residual {
		d.hat[k] += v
	}
	for i := range x.rows {
		r := &x.rows[i]
		if r.N == 0 {
			continue
		}
		_, speed := x.sides(r)
		v := x.moving(i, d.residual)
		for k := range r.N {
			r.Z[k] += (r3.Dot(speed[k], v) + r.Left[k]) * r.Inverse[k]
		}
	}
}
