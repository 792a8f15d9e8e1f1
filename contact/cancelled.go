package contact

// Steps that end with an error, of their context or of the pair solver, are taken back: the next step has the bits that
// it would have had without them. Poses and momenta change at the end of a step alone. But a world that is solved again
// starts from the impulses of its last solve, and two solves overwrite those that the step began with; so these are
// kept where a first solve is not the last.

import "math"

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
	s.state.Status[w], s.open[w] = Advanced, true
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
