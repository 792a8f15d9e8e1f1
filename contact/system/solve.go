package system

import (
	"context"
	"math"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/contact"
)

// solveWorld solves a world, island after island, and writes its answer.
func (s *solver) solveWorld(ctx context.Context, p *Problem, w int, o *Options, out *Solution) {
	n, c := p.Velocities, p.Contacts
	impulse, velocity := out.Impulse[3*w*c:3*(w+1)*c], out.Velocity[w*n:(w+1)*n]
	clear(impulse)
	copy(velocity, p.Velocity[w*n:])
	for _, x := range [...][]float64{out.Residual, out.Scale, out.Primal, out.Dual, out.Complementarity} {
		x[w] = 0
	}
	out.Steps[w], out.Status[w], out.Bound[w] = 0, contact.Solved, math.NaN()
	if o.Bound && o.Model == contact.CCP {
		out.Bound[w] = 0
	}
	if !s.valid(p, w) {
		out.invalid(p, w)
		return
	}
	worst := -1.0
	for k := range s.islands.find(p, w) {
		if !s.load(p, w, k) {
			out.unknown(p, w)
			return
		}
		s.solve(ctx, o)
		if s.bestRatio > o.Tolerance {
			out.Status[w] = contact.Undecided
		}
		if s.bestRatio > worst {
			worst, out.Residual[w], out.Scale[w] = s.bestRatio, s.residual, s.scale
		}
		out.Steps[w] += int32(s.steps)
		s.form(s.v, s.best)
		s.store(o.Model, w, impulse, velocity, out)
		if !finite(s.after) || !(s.scale <= math.MaxFloat64) {
			out.unknown(p, w)
			return
		}
		if o.Bound && o.Model == contact.CCP {
			out.Bound[w] = max(out.Bound[w], s.bound(ctx))
		}
	}
	if !finite(impulse) {
		out.unknown(p, w)
	}
}

// store writes the impulses and velocities of an island, and takes its residuals into those of its world.
func (s *solver) store(model contact.Model, w int, impulse, velocity []float64, out *Solution) {
	copy(s.after, s.v)
	fromFactor(s.lower, s.n, s.after)
	for a, i := range s.velocities {
		s.after[a] += s.free[a]
		velocity[i] = s.after[a]
	}
	for i, l := range s.best {
		put(impulse[3*s.contacts[i]:], r3.Scale(s.unit, l))
		r := &s.rows[i]
		c := contact.WithSlip(model, s.slip(i, s.v, l), r.Mu)
		out.Primal[w] = max(out.Primal[w], contact.ConeDistance(l, r.Mu)*s.unit)
		out.Dual[w] = max(out.Dual[w], contact.DualDistance(c, r.Mu))
		out.Complementarity[w] = max(out.Complementarity[w], math.Abs(r3.Dot(l, c))*s.unit)
	}
}

// unknown is the answer of a world whose numbers leave the range of float64: no impulses, with any residual.
func (s *Solution) unknown(p *Problem, w int) {
	n, c := p.Velocities, p.Contacts
	clear(s.Impulse[3*w*c : 3*(w+1)*c])
	copy(s.Velocity[w*n:(w+1)*n], p.Velocity[w*n:])
	s.Residual[w], s.Scale[w], s.Status[w] = math.Inf(1), 0, contact.Undecided
	s.Primal[w], s.Dual[w], s.Complementarity[w] = 0, math.Inf(1), 0
	if !math.IsNaN(s.Bound[w]) {
		s.Bound[w] = math.Inf(1)
	}
}

// invalid writes the columns of a world whose input is invalid, as package contact does.
func (s *Solution) invalid(p *Problem, w int) {
	n, c := p.Velocities, 3*p.Contacts
	for _, column := range [...][]float64{s.Impulse[w*c : (w+1)*c], s.Velocity[w*n : (w+1)*n], s.Residual[w : w+1],
		s.Scale[w : w+1], s.Primal[w : w+1], s.Dual[w : w+1], s.Complementarity[w : w+1], s.Bound[w : w+1]} {
		for i := range column {
			column[i] = math.NaN()
		}
	}
	s.Status[w] = contact.Invalid
}
