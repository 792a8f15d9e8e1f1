package verify

import (
	"math"

	"clearance/contact"
)

// claims checks what a solution states of a valid world besides its velocities and residuals: impulses of contacts that
// the world lacks, numbers of steps, and the bound of the error.
func (r *ContactReport) claims(p *contact.Problem, s *contact.Solution, o *ContactAudit, w int) {
	for k := 3 * (w*p.Contacts + int(p.Count[w])); k < 3*(w+1)*p.Contacts; k++ {
		if s.Impulse[k] != 0 {
			r.fail(w, "impulse", "an impulse of %g N·s at contact %d of %d", s.Impulse[k], k/3-w*p.Contacts, p.Count[w])
			break
		}
	}
	if s.Sweeps[w] < 0 || s.Steps[w] < 0 {
		r.fail(w, "steps", "%d sweeps and %d steps", s.Sweeps[w], s.Steps[w])
	}
	switch bound := s.Bound[w]; {
	case math.IsNaN(bound), math.IsInf(bound, 1) && o.Model == contact.CCP: // it is not claimed, or the proof failed
	case o.Model != contact.CCP:
		r.fail(w, "bound", "a bound of the error of %g, which the %v does not have", bound, o.Model)
	case !(bound >= 0):
		r.fail(w, "bound", "a bound of the error of %g", bound)
	case !o.Bounds:
		r.Unaudited++
	case p.Count[w] > 0:
		before := r.Wrong
		r.refute(p, s, w)
		if r.Wrong == before && !(r.Worlds[w].farthest <= bound*(1+1e-3)) {
			r.Unaudited++
		}
	}
}

// invalid requires that the columns of an invalid world are NaN.
func (r *ContactReport) invalid(p *contact.Problem, s *contact.Solution, w int) {
	for _, c := range [...]struct {
		name string
		v    []float64
	}{{"impulse", s.Impulse[3*w*p.Contacts : 3*(w+1)*p.Contacts]},
		{"velocity", s.Velocity[6*w*p.Bodies : 6*(w+1)*p.Bodies]}, {"residual", s.Residual[w : w+1]},
		{"scale", s.Scale[w : w+1]}, {"primal", s.Primal[w : w+1]},
		{"dual", s.Dual[w : w+1]}, {"complementarity", s.Complementarity[w : w+1]}, {"bound", s.Bound[w : w+1]}} {
		for _, x := range c.v {
			if !math.IsNaN(x) {
				r.fail(w, c.name, "%g in an invalid world", x)
				break
			}
		}
	}
}
