package contact

import (
	"fmt"
	"math"
)

// Warm is what a simulation keeps of the contacts of the last solve of each world, to start the next solve from. With
// the state it is all that the next step depends on: a simulation that is given both goes on with the same bits. C is
// Contacts, the largest of Count; rows from Count on are zero.
type Warm struct {
	Contacts int
	Still    int       // steps in a row, the last one included, in which no world was advanced, see [Simulation.Still]
	Count    []int32   // [W]
	Pair     []int32   // [W,C] pairs of parts, by the order of the simulation
	ID       []uint64  // [W,C] of the points
	Position []float64 // [W,C,3] metres
	Impulse  []float64 // [W,C,3] N·s, world axes
}

// Warm returns a copy.
func (s *Simulation) Warm() *Warm {
	m := &Warm{Still: s.still, Count: append([]int32{}, s.oldN...)}
	for _, n := range m.Count {
		m.Contacts = max(m.Contacts, int(n))
	}
	n := len(m.Count) * m.Contacts
	m.Pair, m.ID = make([]int32, n), make([]uint64, n)
	m.Position, m.Impulse = make([]float64, 3*n), make([]float64, 3*n)
	for w, count := range s.oldN {
		old := s.contactsOf(w, s.side[w])
		for i := range int(count) {
			c := w*m.Contacts + i
			m.Pair[c], m.ID[c] = s.ids[old+i].pair, s.ids[old+i].id
			copy(m.Position[3*c:3*c+3], s.at[3*(old+i):])
			copy(m.Impulse[3*c:3*c+3], s.impulse[3*(old+i):])
		}
	}
	return m
}

// Resume sets what [Simulation.Warm] returned of a simulation of the same scene, worlds and options. With the state of
// that simulation, given to [NewSimulation] or [Simulation.Restore], the next steps have the same bits.
func (s *Simulation) Resume(m *Warm) error {
	c := m.Contacts
	n := len(s.oldN) * c
	if c < 0 || len(m.Count) != len(s.oldN) || len(m.Pair) != n || len(m.ID) != n || len(m.Position) != 3*n ||
		len(m.Impulse) != 3*n {
		return fmt.Errorf("contact: contacts to resume from are not those of %d worlds of %d contacts", len(s.oldN), c)
	}
	if m.Still < 0 {
		return fmt.Errorf("contact: %d steps without an advanced world to resume from", m.Still)
	}
	for w, count := range m.Count {
		if count < 0 || int(count) > c || s.o.Contacts > 0 && int(count) > s.o.Contacts {
			return fmt.Errorf("contact: world %d: %d contacts to resume from; there is room for %d", w, count,
				s.capacity)
		}
		for i := w * c; i < w*c+int(count); i++ {
			if m.Pair[i] < 0 || int(m.Pair[i]) >= len(s.pairs) {
				return fmt.Errorf("contact: world %d: a contact of pair %d to resume from; there are %d pairs", w,
					m.Pair[i], len(s.pairs))
			}
			if !finite(m.Position[3*i:3*i+3]...) || !finite(m.Impulse[3*i:3*i+3]...) {
				return fmt.Errorf("contact: world %d: a contact to resume from is not finite", w)
			}
		}
	}
	if !s.makeRoom(c) {
		return checkMemory(float64(len(s.oldN)) * float64(c) * float64(contactBytes))
	}
	s.still = m.Still
	copy(s.oldN, m.Count)
	for w, count := range m.Count {
		old, first := s.contactsOf(w, s.side[w]), w*c
		for i := range int(count) {
			s.ids[old+i] = contactID{m.Pair[first+i], m.ID[first+i]}
		}
		copy(s.at[3*old:3*(old+int(count))], m.Position[3*first:])
		copy(s.impulse[3*old:3*(old+int(count))], m.Impulse[3*first:])
	}
	return nil
}

// Restore sets the state of all worlds, with their statuses, and what the next solves start from. After it steps have
// the same bits as those of the simulation whose state and [Simulation.Warm] these are. There are no contacts of a last
// step until the next one. A state that is refused changes nothing.
func (s *Simulation) Restore(from *State, warm *Warm) error {
	st, b := &s.state, len(s.scene.Body)
	n := st.Worlds * b
	if from.Worlds != st.Worlds || len(from.Pose) != 7*n || len(from.Velocity) != 3*n || len(from.Momentum) != 3*n ||
		len(from.Steps) != st.Worlds || len(from.Status) != st.Worlds || len(from.Contacts) != st.Worlds ||
		len(from.Energy) != st.Worlds || len(from.Solves) != st.Worlds || len(from.Parts) != st.Worlds {
		return fmt.Errorf("contact: the state to restore is not that of %d worlds of %d bodies", st.Worlds, b)
	}
	for w, status := range from.Status {
		if err := StepStatuses.Check(status); err != nil {
			return fmt.Errorf("contact: state: world %d: %w", w, err)
		}
	}
	if err := s.Resume(warm); err != nil {
		return err
	}
	copy(st.Pose, from.Pose)
	copy(st.Velocity, from.Velocity)
	copy(st.Momentum, from.Momentum)
	copy(st.Steps, from.Steps)
	copy(st.Status, from.Status)
	copy(st.Contacts, from.Contacts)
	copy(st.Energy, from.Energy)
	copy(st.Solves, from.Solves)
	copy(st.Parts, from.Parts)
	for w := range s.fresh {
		s.fresh[w] = true
	}
	return nil
}

// Reset puts some worlds into a first state: the columns Pose, Velocity and Momentum of from are those of the worlds
// listed, in this order. Nil columns but Pose are zero. The other worlds are as they were.
func (s *Simulation) Reset(worlds []int32, from *State) error {
	st, b := &s.state, len(s.scene.Body)
	n := len(worlds) * b
	if len(from.Pose) != 7*n || from.Velocity != nil && len(from.Velocity) != 3*n ||
		from.Momentum != nil && len(from.Momentum) != 3*n {
		return fmt.Errorf("contact: the state to reset to is not that of %d worlds of %d bodies", len(worlds), b)
	}
	for _, w := range worlds {
		if w < 0 || int(w) >= st.Worlds {
			return fmt.Errorf("contact: world %d to reset; worlds are 0 to %d", w, st.Worlds-1)
		}
	}
	set := func(to, from []float64, w, i, per int) {
		if to = to[per*b*w : per*b*(w+1)]; from == nil {
			clear(to)
		} else {
			copy(to, from[per*b*i:])
		}
	}
	for i, world := range worlds {
		w := int(world)
		set(st.Pose, from.Pose, w, i, 7)
		set(st.Velocity, from.Velocity, w, i, 3)
		set(st.Momentum, from.Momentum, w, i, 3)
		st.Steps[w], st.Status[w], st.Contacts[w], st.Energy[w] = 0, NotStepped, 0, math.NaN()
		st.Solves[w], st.Parts[w] = 0, 0
		s.oldN[w], s.fresh[w] = 0, true
	}
	s.still = 0
	return nil
}

// Steps that end with an error, of their context or of the pair solver, are taken back: the next step has the bits that
// it would have had without them. Poses and momenta change at the end of a step alone. But a world that is solved again
// starts from the impulses of its last solve, and two solves overwrite those that the step began with; so these are
// kept where a first solve is not the last.

// beganContacts are the contacts that steps of worlds began with, world after world.
type beganContacts struct {
	worlds, counts []int32
	ids            []contactID
	at, impulse    []float64
}

func (b *beganContacts) clear() {
	*b = beganContacts{b.worlds[:0], b.counts[:0], b.ids[:0], b.at[:0], b.impulse[:0]}
}

// reopen has a world solved again, from the contacts of its last solve.
func (s *Simulation) reopen(worker *stepWorker, w int) {
	s.state.Status[w], s.open[w] = underway, true
	if s.state.Solves[w] == 1 {
		b, first, n := &worker.began, s.contactsOf(w, s.side[w]), int(s.oldN[w])
		b.worlds, b.counts = append(b.worlds, int32(w)), append(b.counts, int32(n))
		b.ids = append(b.ids, s.ids[first:first+n]...)
		b.at = append(b.at, s.at[3*first:3*(first+n)]...)
		b.impulse = append(b.impulse, s.impulse[3*first:3*(first+n)]...)
	}
	s.remember(w)
}

// takeBack ends a step that has advanced no world.
func (s *Simulation) takeBack() {
	for i := range s.workers {
		b, at := &s.workers[i].began, 0
		for k, w := range b.worlds {
			first, n := s.contactsOf(int(w), s.side[w]), int(b.counts[k])
			copy(s.ids[first:first+n], b.ids[at:])
			copy(s.at[3*first:3*(first+n)], b.at[3*at:])
			copy(s.impulse[3*first:3*(first+n)], b.impulse[3*at:])
			s.oldN[w] = int32(n)
			at += n
		}
	}
	st := &s.state
	for w := range st.Worlds {
		st.Status[w], st.Contacts[w], st.Energy[w], st.Solves[w], st.Parts[w] = NotStepped, 0, math.NaN(), 0, 0
	}
}
