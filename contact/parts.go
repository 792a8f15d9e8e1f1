package contact

// Steps in parts: of worlds in which the motion of a whole step is not proved, or its contact problem is not solved.

import "context"

// mostHalvings is how often a step is halved at most: its least part is a 1024th.
const mostHalvings = 10

// inParts steps the worlds of the block that are undecided in two halves, which may be halved in turn. A world whose
// halves are both advanced is advanced; others keep their state, with the status of the part that failed.
func (s *Simulation) inParts(ctx context.Context) error {
	if s.halvings >= mostHalvings {
		return nil
	}
	s.split = s.split[:0]
	for w := s.lo; w < s.hi; w++ {
		if v := s.state.Status[w]; v == MotionUndecided || v == SolveUndecided {
			s.split = append(s.split, int32(w))
		}
	}
	if len(s.split) == 0 {
		return nil
	}
	if s.half == nil {
		if err := s.newHalf(); err != nil {
			return err
		}
	}
	for worlds := s.split; len(worlds) > 0; {
		n := min(len(worlds), len(s.half.idle))
		if err := s.stepHalves(ctx, worlds[:n]); err != nil {
			return err
		}
		worlds = worlds[n:]
	}
	return nil
}

// newHalf makes the simulation that steps some worlds by half of the time step.
func (s *Simulation) newHalf() error {
	worlds, bodies := min(len(s.idle), stepBlock), len(s.scene.Body) // state.Worlds may be fewer now
	o := s.o
	o.TimeStep /= 2
	state := &State{Worlds: worlds, Pose: make([]float64, 7*worlds*bodies)}
	half := &Simulation{scene: s.scene, pairs: s.pairs, features: s.features, inverse: s.inverse, solver: s.solver,
		o:       o,
		gravity: s.gravity, builder: s.builder, fixed: s.fixed, arm: s.arm, memory: s.memory, halvings: s.halvings + 1}
	half.contacts.trusted = true
	if err := half.start(state); err != nil {
		return err
	}
	s.half, s.inHalves = half, make([]halves, len(s.idle))
	return nil
}

// stepHalves makes both halves of the step of worlds.
func (s *Simulation) stepHalves(ctx context.Context, worlds []int32) error {
	half := s.half
	if !half.makeRoom(s.capacity) {
		for _, w := range worlds {
			s.state.Status[w] = OutOfMemory
		}
		return nil
	}
	half.state.Worlds = len(worlds)
	clear(half.idle) // of a step that was cancelled
	var force []float64
	for k, w := range worlds {
		half.take(k, s, int(w))
		if s.force != nil {
			n := 6 * len(s.scene.Body)
			s.halfForce = append(s.halfForce[:n*k], s.force[n*int(w):n*int(w)+n]...)
			force = s.halfForce
		}
	}
	if err := half.Step(ctx, force); err != nil {
		return err
	}
	for k, w := range worlds {
		s.state.Energy[w] = half.state.Energy[k]
		s.state.Parts[w] = half.state.Parts[k]
		s.state.Solves[w] += half.state.Solves[k]
		if half.idle[k] = !half.state.Status[k].Advances(); half.idle[k] {
			s.state.Status[w] = half.state.Status[k]
			continue
		}
		s.inHalves[w].clear(len(s.scene.Body))
		s.inHalves[w].add(half, k)
	}
	if err := half.Step(ctx, force); err != nil {
		return err
	}
	for k, w := range worlds {
		if half.idle[k] {
			half.idle[k] = false
			continue
		}
		s.state.Energy[w] += half.state.Energy[k]
		s.state.Parts[w] += half.state.Parts[k]
		s.state.Solves[w] += half.state.Solves[k]
		switch v := half.state.Status[k]; {
		case !v.Advances():
			s.state.Status[w] = v
		case !s.makeRoom(half.capacity):
			s.state.Status[w] = OutOfMemory
		default:
			s.state.Status[w] = AdvancedInParts
			s.inHalves[w].add(half, k)
			s.give(int(w), half, k)
		}
	}
	return nil
}

// take starts world k at the state and the contacts of world w of another simulation.
func (s *Simulation) take(k int, from *Simulation, w int) {
	bodies := len(s.scene.Body)
	copyRow(s.state.Pose, k, from.state.Pose, w, 7*bodies)
	copyRow(s.state.Velocity, k, from.state.Velocity, w, 3*bodies)
	copyRow(s.state.Momentum, k, from.state.Momentum, w, 3*bodies)
	s.oldN[k] = from.oldN[w]
	s.copyContacts(s.contactsOf(k, s.side[k]), from, from.contactsOf(w, from.side[w]), int(from.oldN[w]))
}

// give lets the step of world w end in the state of world k of the simulation that has made it in parts. The contacts
// and the problem are those of the last part.
func (s *Simulation) give(w int, half *Simulation, k int) {
	bodies := len(s.scene.Body)
	for b := range bodies {
		j := k*bodies + b
		next := &s.bodies[w*bodies+b].next
		next.pose.Position = vecOf(half.state.Pose[7*j:])
		next.pose.Rotation = quaternion(half.state.Pose[7*j+3:])
		next.velocity, next.momentum = vecOf(half.state.Velocity[3*j:]), vecOf(half.state.Momentum[3*j:])
	}
	n := int(half.oldN[k])
	s.copyContacts(s.contactsOf(w, 1-s.side[w]), half, half.contactsOf(k, half.side[k]), n)
	s.state.Contacts[w] = half.state.Contacts[k]
	p, q := &s.problem, &half.problem
	of := func(to, from []float64, per int) {
		copy(to[per*w*s.capacity:], from[per*k*half.capacity:per*(k*half.capacity+n)])
	}
	p.Count[w] = int32(n)
	copyRow(p.Inertia, w, q.Inertia, k, 6*bodies)
	copyRow(p.Velocity, w, q.Velocity, k, 6*bodies)
	copy(p.BodyA[w*s.capacity:], q.BodyA[k*half.capacity:k*half.capacity+n])
	copy(p.BodyB[w*s.capacity:], q.BodyB[k*half.capacity:k*half.capacity+n])
	of(p.ArmA, q.ArmA, 3)
	of(p.ArmB, q.ArmB, 3)
	of(p.Frame, q.Frame, 9)
	of(p.Friction, q.Friction, 1)
	of(p.Target, q.Target, 1)
	of(p.Warm, q.Warm, 3)
	out, in := &s.solution, &half.solution
	clear(out.Impulse[3*w*s.capacity : 3*(w+1)*s.capacity]) // the step in one part may have had more contacts
	of(out.Impulse, in.Impulse, 3)
	of(s.gap, half.gap, 1)
	copyRow(out.Velocity, w, in.Velocity, k, 6*bodies)
	out.Residual[w], out.Scale[w] = in.Residual[k], in.Scale[k]
	out.Primal[w], out.Dual[w], out.Complementarity[w] = in.Primal[k], in.Dual[k], in.Complementarity[k]
	out.Bound[w], out.Sweeps[w], out.Steps[w] = in.Bound[k], in.Sweeps[k], in.Steps[k]
	out.Status[w] = in.Status[k]
}

// copyContacts copies n contacts of another simulation.
func (s *Simulation) copyContacts(to int, from *Simulation, first, n int) {
	copy(s.ids[to:to+n], from.ids[first:first+n])
	copy(s.at[3*to:3*(to+n)], from.at[3*first:3*(first+n)])
	copy(s.impulse[3*to:3*(to+n)], from.impulse[3*first:3*(first+n)])
}

func copyRow[T any](to []T, i int, from []T, k, width int) {
	copy(to[width*i:width*(i+1)], from[width*k:width*(k+1)])
}

// halves are the contacts of the halves of the step of a world, and the sums of their impulses.
type halves struct {
	contacts Contacts
	impulse  []float64 // [B,6] linear and angular
}

func (h *halves) clear(bodies int) {
	h.contacts.Clear()
	resize(&h.impulse, 6*bodies)
	clear(h.impulse)
}

// add adds those of a half.
func (h *halves) add(half *Simulation, k int) {
	half.appendWorld(k, &h.contacts)
	half.addImpulses(k, h.impulse)
}
