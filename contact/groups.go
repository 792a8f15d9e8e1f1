package contact

import (
	"cmp"
	"math"
	"slices"

	"clearance/contact/lanes"

	"gonum.org/v1/gonum/spatial/r3"
)

// groupChunk is the number of groups that a worker takes at a time.
const groupChunk = 2

// groups are the worlds of a batch in the order in which package lanes takes them: those that have contacts of the same
// pairs of bodies beside each other. Each group has lanes.Width worlds, the last one fewer. The order changes no bit of
// an answer. It is kept, since the next problem is mostly similar and the order is nearly right then.
type groups struct {
	worlds  []world
	variant string // of the kernels, "" for none
	problem lanes.Problem
	options lanes.Options
}

// world is a world to solve.
type world struct {
	key   uint64 // set of pairs of bodies, each a bit that others may share
	index int32
}

func (g *groups) len() int { return (len(g.worlds) + lanes.Width - 1) / lanes.Width }

// form makes the groups of a problem: of its worlds in only, or, if that is nil, of all.
func (g *groups) form(p *Problem, only []int32, o *Options, refine bool, out *Solution) {
	switch {
	case only != nil:
		resize(&g.worlds, len(only))
		for i, w := range only {
			g.worlds[i].index = w
		}
	case len(g.worlds) != p.Worlds:
		resize(&g.worlds, p.Worlds)
		for w := range g.worlds {
			g.worlds[w].index = int32(w)
		}
	}
	g.variant = ""
	if o.SIMD == Off || p.Bodies == 0 || p.Contacts == 0 {
		return
	}
	g.variant = o.SIMD
	for i := range g.worlds {
		g.worlds[i].key = p.pairSet(int(g.worlds[i].index))
	}
	slices.SortFunc(g.worlds, func(a, b world) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.index, b.index))
	})
	g.problem = lanes.Problem{Bodies: p.Bodies, Contacts: p.Contacts, Mass: p.Mass, Inertia: p.Inertia,
		Velocity: p.Velocity, Count: p.Count, BodyA: p.BodyA, BodyB: p.BodyB, ArmA: p.ArmA, ArmB: p.ArmB,
		Frame: p.Frame, Friction: p.Friction, Target: p.Target, Warm: p.Warm, Impulse: out.Impulse,
		Solved: out.Velocity, Residual: out.Residual, Scale: out.Scale, Primal: out.Primal, Dual: out.Dual,
		Complementarity: out.Complementarity,
		Sweeps:          out.Sweeps}
	// The residual of Newton's method is measured anew, and rounding must not send a solved world on. Half of the
	// steps are left for Go.
	g.options = lanes.Options{Convex: o.Model == CCP, Tolerance: 0.999 * o.Tolerance,
		Resolved: resolved / o.Tolerance,
		Sweeps:   o.Sweeps, Steps: (o.Steps + 1) / 2, Relaxation: o.Relaxation, Refine: refine}
}

// pairSet is the set of the pairs of bodies that have contacts, hashed to 64 bits.
func (p *Problem) pairSet(w int) (set uint64) {
	n := min(max(int(p.Count[w]), 0), p.Contacts)
	a, b := p.BodyA[w*p.Contacts:][:n], p.BodyB[w*p.Contacts:][:n]
	for i := range a {
		hi, lo := uint64(max(a[i], b[i]))+1, uint64(min(a[i], b[i]))+1
		set |= 1 << ((hi*(hi-1)/2 + lo) % 64)
	}
	return set
}

// rigid reports whether no contact of a world has a compliance.
func (p *Problem) rigid(w int) bool {
	if len(p.Compliance) == 0 {
		return true
	}
	for _, r := range p.Compliance[2*w*p.Contacts:][:2*p.Count[w]] {
		if r != 0 {
			return false
		}
	}
	return true
}

// serves reports whether package lanes solves a world.
func (g *groups) serves(p *Problem, w int) bool {
	return g.variant != "" && p.Count[w] > 0 && p.rigid(w)
}

// solveGroup checks and solves the worlds of group i.
func (s *worldSolver) solveGroup(g *groups, i int, p *Problem, o *Options, trusted bool, out *Solution) {
	all := g.worlds[i*lanes.Width : min((i+1)*lanes.Width, len(g.worlds))]
	n := 0
	for k := range all {
		w := int(all[k].index)
		switch {
		case !trusted && !p.plain(w) && p.CheckWorld(w) != nil:
			out.invalid(p, w)
		case o.Sweeps > 0 && g.serves(p, w):
			s.group[n] = all[k].index
			n++
		default:
			s.solveWorld(g, p, w, o, trusted, false, out)
		}
	}
	if n == 0 || s.ended() {
		return
	}
	group := s.group[:n]
	solved := lanes.Sweep(g.variant, &g.problem, group, &g.options, &s.scratch, s.stop)
	for i, w := range group {
		if solved>>i&1 != 0 && !o.Bound && !o.DropInternal {
			out.swept(p, int(w))
		} else {
			s.solveWorld(g, p, int(w), o, trusted, true, out)
		}
	}
}

// swept completes the columns of a world that the sweeps of package lanes have solved.
func (s *Solution) swept(p *Problem, w int) {
	clear(s.Impulse[3*(w*p.Contacts+int(p.Count[w])) : 3*(w+1)*p.Contacts])
	s.Bound[w], s.Steps[w], s.Status[w] = math.NaN(), 0, Solved
}

// newtonKernel solves a world by the kernel of Newton's method from the best impulses, and reports whether it is within
// the tolerance.
func (s *worldSolver) newtonKernel(g *groups, w int, o *Options) (done bool) {
	impulse := g.problem.Impulse[3*w*g.problem.Contacts:]
	for i, l := range s.best {
		putVec(impulse[3*i:], r3.Scale(s.units.impulse(), l))
	}
	steps, ok := lanes.Newton(g.variant, &g.problem, w, &g.options, &s.scratch, s.stop, s.room)
	if s.steps = steps; !ok {
		return false
	}
	for i := range s.lambda {
		s.lambda[i] = r3.Scale(1/s.units.impulse(), vecOf(impulse[3*i:]))
	}
	s.intoCones()
	_, done = s.keep(o.Model, s.v, s.lambda, o.Tolerance)
	return done
}
