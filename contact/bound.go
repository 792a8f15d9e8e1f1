package contact

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// escapeState is the memory of bound.
type escapeState struct {
	v          []twist
	lambda     []r3.Vec
	free       []twist
	bias       []float64
	compliance [][2]float64
	size       []twistSize
	islands    []islandBound // by the first body of each
}

// twistSize bounds the absolute values that were added up to a velocity.
type twistSize struct{ lin, ang float64 }

// islandBound is what the bound of an island is made from.
type islandBound struct {
	gap       float64 // λᵀc
	compliant float64 // γ if all contacts have a normal compliance
	rigid     bool    // one has none
	jammed    bool    // the escape velocity enters a contact, so that it makes no velocity feasible
	sigma     float64
	push      float64 // λᵀJv_0
	norm      float64 // ‖v_0‖²_M
}

// bound returns a bound of ‖J_i(v − v*)‖ over all contacts i, where v* is the velocity of the CCP and v that of
// s.lambda, which must lie in K. Islands are problems of their own. The CCP is the dual of the projection of v_f on
// {Jv − c* ∈ K*}, so that ½‖v − v*‖²_M is at most the duality gap γ, and ‖J_i(v − v*)‖² ≤ 2γ·h_i with the trace h_i of
// J_i·M⁻¹·J_iᵀ. A feasible velocity follows from an escape velocity v_0, which has m = (Jv_0)_N − μ‖(Jv_0)_T‖ > 0 at
// every contact: with the violations w = max(0, μ‖c_T‖ − c_N) and σ = max w/m, the velocity v + σv_0 is feasible, and
//
//	γ = λᵀc + σλᵀJv_0 + ½σ²‖v_0‖²_M.
//
// If every contact has a normal compliance, λ_N + w/R_N is feasible and γ = λᵀc + Σ λ_N·w + ½w²/R_N. Without
// escape velocity the bodies are jammed, and the bound is +Inf. Rounding errors are added to w, m and γ.
func (s *worldSolver) bound() (most float64) {
	if len(s.rows) == 0 {
		return 0
	}
	e := &s.escape
	resize(&e.islands, len(s.mass))
	clear(e.islands)
	s.sizes(s.lambda)
	rigid := false
	for i := range s.rows {
		of := &e.islands[s.rows[i].island]
		of.rigid = of.rigid || !(s.rows[i].rN > 0)
		rigid = rigid || of.rigid
	}
	if rigid {
		s.findEscape()
		s.escapeNorms()
	}
	for i := range s.rows {
		s.addToBound(&s.rows[i], s.lambda[i])
	}
	for i := range s.rows {
		r := &s.rows[i]
		of := &e.islands[r.island]
		gap := of.compliant
		switch {
		case of.jammed && of.sigma > 0:
			return math.Inf(1)
		case of.rigid:
			gap = of.gap + of.sigma*of.push + of.sigma*of.sigma*of.norm/2
		}
		most = max(most, root(gap*r.rigid))
	}
	return most
}

// addToBound adds a contact to the terms of its island.
func (s *worldSolver) addToBound(r *row, l r3.Vec) {
	e, of := &s.escape, &s.escape.islands[r.island]
	c, w, round := s.violationOf(r, l)
	gap := dotVec(l, c) + round*r3.Norm(l)
	of.gap += gap
	if !of.rigid {
		of.compliant += gap + l.Z*w + w*w/(2*r.rN)
		return
	}
	d := r.moving(e.v)
	m := d.Z - r.mu*math.Hypot(d.X, d.Y) - s.rounding(r, twistSizeOf(e.v[r.a]), twistSizeOf(e.v[r.b]), 16)
	of.push += dotVec(l, d)
	of.jammed = of.jammed || !(m > 0)
	if w > 0 {
		of.sigma = max(of.sigma, w/math.Abs(m))
	}
}

// escapeNorms sets ‖v_0‖²_M of every island.
func (s *worldSolver) escapeNorms() {
	e := &s.escape
	for b := range s.mass {
		if v := &e.v[b]; s.invMass[b] > 0 {
			e.islands[s.root(b)].norm += s.mass[b]*dotVec(v.lin, v.lin) + dotVec(v.ang, s.inertia[b].mul(v.ang))
		}
	}
}

// root is √(2γh); the last factor covers the rounding of γ itself.
func root(gap float64) float64 { return math.Sqrt(2*max(gap, 0)) * (1 + 1e-12) }

// violationOf returns c, the violation of c ∈ K* with the rounding error of c added, and that error.
func (s *worldSolver) violationOf(r *row, l r3.Vec) (c r3.Vec, w, round float64) {
	c = r.slip(s.v, l)
	size := s.escape.size
	round = s.rounding(r, size[r.a], size[r.b], len(s.rows)+16)
	round += 4 * 0x1p-53 * (math.Abs(r.bias) + max(r.rT, r.rN)*r3.Norm(l))
	return c, max(0, r.mu*math.Hypot(c.X, c.Y)-c.Z+(1+r.mu)*round), round
}

func twistSizeOf(v twist) twistSize { return twistSize{r3.Norm(v.lin), r3.Norm(v.ang)} }

// rounding bounds the rounding error of a component of Jv by terms·u times what was added up.
func (s *worldSolver) rounding(r *row, a, b twistSize, terms int) float64 {
	return float64(terms) * 0x1p-53 * (a.lin + b.lin + a.ang*r3.Norm(r.ra) + b.ang*r3.Norm(r.rb))
}

// sizes adds up the absolute values of the terms of v_f + M⁻¹Jᵀλ. Those of rotations are weighted with the
// condition of the inertia, of which the rounding error of its inverse is a multiple.
func (s *worldSolver) sizes(lambda []r3.Vec) {
	e := &s.escape
	for b := range s.condition {
		if i := &s.inertia[b]; s.invMass[b] > 0 {
			s.condition[b] = (i[0] + i[1] + i[2]) / i.minEigenvalue()
		}
	}
	resize(&e.size, len(s.free))
	for b := range e.size {
		e.size[b] = twistSizeOf(s.free[b])
	}
	for i := range s.rows {
		r := &s.rows[i]
		l := r3.Norm(lambda[i])
		for _, side := range [2]struct {
			b   int
			arm r3.Vec
		}{{r.a, r.ra}, {r.b, r.rb}} {
			if s.invMass[side.b] > 0 {
				inverse := &s.invInertia[side.b]
				e.size[side.b].lin += s.invMass[side.b] * l
				e.size[side.b].ang += (inverse[0] + inverse[1] + inverse[2]) * r3.Norm(side.arm) * l *
					s.condition[side.b]
			}
		}
	}
}

// findEscape sets escape.v to the velocity of the CCP with v_f = 0, c*_N = 1 and R = 0, which is an escape
// velocity wherever there is one. The state of the solver is kept.
func (s *worldSolver) findEscape() {
	e := &s.escape
	resize(&e.v, len(s.v))
	resize(&e.lambda, len(s.lambda))
	resize(&e.free, len(s.free))
	resize(&e.bias, len(s.rows))
	resize(&e.compliance, len(s.rows))
	copy(e.lambda, s.lambda)
	copy(e.free, s.free)
	clear(s.free)
	for i := range s.rows {
		r := &s.rows[i]
		e.bias[i], e.compliance[i] = r.bias, [2]float64{r.rT, r.rN}
		r.bias, r.rT, r.rN = -1, 0, 0
		s.lambda[i] = r3.Vec{}
	}
	const tolerance = 1e-3
	s.setScales(CCP, tolerance)
	sweeps, steps := s.sweeps, s.steps
	s.sweeps, s.steps = 0, 0
	s.solve(&Options{Model: CCP, Tolerance: tolerance, Relaxation: 1, Sweeps: 20, Steps: 400}, false, false, nil, 0)
	s.form(e.v, s.lambda)
	s.sweeps, s.steps = sweeps, steps
	for i := range s.rows {
		r := &s.rows[i]
		r.bias, r.rT, r.rN = e.bias[i], e.compliance[i][0], e.compliance[i][1]
	}
	copy(s.free, e.free)
	copy(s.lambda, e.lambda)
	s.form(s.v, s.lambda)
}
