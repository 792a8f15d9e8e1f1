package contact

import "fmt"

// Warm is what a simulation keeps of the contacts of the last step of each world, to start the next solve from. With
// the state it is all that the next step depends on: a simulation that is given both goes on with the same bits.
// C is the capacity of a world.
type Warm struct {
	Count    []int32   // [W]
	Pair     []int32   // [W,C] pairs of parts, by the order of the simulation
	ID       []uint64  // [W,C] of the points
	Position []float64 // [W,C,3] metres
	Impulse  []float64 // [W,C,3] N·s, world axes
}

// Warm returns a copy.
func (s *Simulation) Warm() *Warm {
	n := len(s.ids) / 2
	m := &Warm{Count: append([]int32{}, s.oldN...), Pair: make([]int32, n), ID: make([]uint64, n),
		Position: make([]float64, 3*n), Impulse: make([]float64, 3*n)}
	for w, count := range s.oldN {
		old := s.contactsOf(w, s.side[w])
		for i := range int(count) {
			c := w*s.o.Contacts + i
			m.Pair[c], m.ID[c] = s.ids[old+i].pair, s.ids[old+i].id
			copy(m.Position[3*c:3*c+3], s.at[3*(old+i):])
			copy(m.Impulse[3*c:3*c+3], s.impulse[3*(old+i):])
		}
	}
	return m
}

// Resume sets what [Simulation.Warm] returned of a simulation of the same scene, worlds and options. With the state of
// that simulation, given to [NewSimulation], the next steps have the same bits.
func (s *Simulation) Resume(m *Warm) error {
	n := len(s.ids) / 2
	if len(m.Count) != len(s.oldN) || len(m.Pair) != n || len(m.ID) != n || len(m.Position) != 3*n ||
		len(m.Impulse) != 3*n {
		return fmt.Errorf("contact: contacts to resume from are not those of %d worlds of %d contacts", len(s.oldN),
			s.o.Contacts)
	}
	for w, count := range m.Count {
		if count < 0 || int(count) > s.o.Contacts {
			return fmt.Errorf("contact: world %d: %d contacts to resume from; there is room for %d", w, count,
				s.o.Contacts)
		}
		for c := w * s.o.Contacts; c < w*s.o.Contacts+int(count); c++ {
			if !finite(m.Position[3*c:3*c+3]...) || !finite(m.Impulse[3*c:3*c+3]...) {
				return fmt.Errorf("contact: world %d: a contact to resume from is not finite", w)
			}
		}
	}
	copy(s.oldN, m.Count)
	for w := range m.Count {
		old, first := s.contactsOf(w, s.side[w]), w*s.o.Contacts
		for i := range s.o.Contacts {
			s.ids[old+i] = contactID{m.Pair[first+i], m.ID[first+i]}
		}
		copy(s.at[3*old:3*(old+s.o.Contacts)], m.Position[3*first:])
		copy(s.impulse[3*old:3*(old+s.o.Contacts)], m.Impulse[3*first:])
	}
	return nil
}
