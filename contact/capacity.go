package contact

import (
	"unsafe"

	"clearance/contact/lanes"
	"clearance/internal/memory"
)

// The capacity of a world in contacts. All worlds have the same, so that column entry w·capacity + i is contact i of
// world w. It starts at contactsPerBody for each body and grows where a world has more, but not beyond
// [StepOptions].Contacts, which asks for no memory itself. It changes where contacts lie and none of their bits.

// contactsPerBody is what bodies that rest on each other have: four points below and four above, and some to the sides.
const contactsPerBody = 12

// contactBytes is the memory of a contact of the problem, its impulse, and what is kept of two solves and of the one
// before the step.
const contactBytes = 2*4 + 8*(2*3+9+1+1+3) + 8 + 8*3 + 3*(int(unsafe.Sizeof(contactID{}))+8*6)

// firstCapacity is the capacity of worlds of so many bodies before a world has more contacts, given their limit.
func firstCapacity(bodies, limit int) int {
	if n := contactsPerBody * bodies; limit == 0 || n < limit {
		return n
	}
	return limit
}

// admit gives room to the worlds of the block that have more contacts than the capacity, and adds their contacts. It
// leaves out those of which the limit or the memory does not allow it, and sets their status.
func (s *Simulation) admit() {
	st, list := &s.state, s.workers[0].list[:0]
	for w := s.lo; w < s.hi; w++ {
		if s.open[w] && st.Status[w] == TooManyContacts && (s.o.Contacts == 0 || int(st.Contacts[w]) <= s.o.Contacts) {
			list = append(list, int32(w))
		}
	}
	s.workers[0].list = list
	if len(list) == 0 {
		return
	}
	for len(list) > 0 {
		most := 0
		for _, w := range list {
			most = max(most, int(st.Contacts[w]))
		}
		if s.makeRoom(most) {
			break
		}
		kept := list[:0]
		for _, w := range list {
			if st.Status[w] = OutOfMemory; int(st.Contacts[w]) < most {
				kept = append(kept, w)
			}
		}
		list = kept
	}
	for _, w := range list {
		st.Status[w] = Advanced
	}
	s.addContacts(list)
}

// makeRoom makes the capacity of each world n contacts at least, with half as many beyond the present ones if there is
// memory for them. It reports whether there is memory for n.
func (s *Simulation) makeRoom(n int) bool {
	if n <= s.capacity {
		return true
	}
	room := func(n int) bool {
		group := min(len(s.side), lanes.Width) * n
		return s.memory(float64(len(s.side))*float64(n)*float64(contactBytes)+
			float64(len(s.workers))*lanes.SweepBytes(len(s.scene.Body), group)) == nil
	}
	more := s.capacity + s.capacity/2
	if s.o.Contacts > 0 {
		more = min(more, s.o.Contacts)
	}
	if n < more && room(more) {
		n = more
	} else if !room(n) {
		return false
	}
	s.setCapacity(n)
	return true
}

// checkMemory is the budget of a simulation.
func checkMemory(bytes float64) error { return memory.Check("contacts of a simulation", bytes) }

// setCapacity moves the contacts of all worlds to columns of another capacity.
func (s *Simulation) setCapacity(n int) {
	w, from, p := len(s.side), s.capacity, &s.problem
	for _, c := range [...]struct {
		column *[]float64
		per    int
	}{{&p.ArmA, 3}, {&p.ArmB, 3}, {&p.Frame, 9}, {&p.Friction, 1}, {&p.Target, 1}, {&p.Warm, 3},
		{&s.solution.Impulse, 3}, {&s.gap, 1}} {
		move(c.column, w, c.per*from, c.per*n)
	}
	move(&p.BodyA, w, from, n)
	move(&p.BodyB, w, from, n)
	move(&s.ids, 2*w, from, n)
	move(&s.at, 2*w, 3*from, 3*n)
	move(&s.impulse, 2*w, 3*from, 3*n)
	s.capacity, p.Contacts = n, n
	s.setContactColumns()
}

// move makes rows of from values rows of to values, of which the first ones are kept.
func move[T any](column *[]T, rows, from, to int) {
	next := make([]T, rows*to)
	if len(*column) > 0 {
		for r := range rows {
			copy(next[r*to:(r+1)*to], (*column)[r*from:(r+1)*from])
		}
	}
	*column = next
}

// setContactColumns gives package lanes the columns of contacts.
func (s *Simulation) setContactColumns() {
	p, c, a := &s.problem, &s.columns, &s.assembly
	s.kernel.Contacts, s.rules.Contacts = int32(s.capacity), int32(s.capacity)
	c.BodyA, c.BodyB, c.ArmA, c.ArmB, c.Frame, c.Friction = p.BodyA, p.BodyB, p.ArmA, p.ArmB, p.Frame, p.Friction
	c.Target, c.WorldImpulse = p.Target, s.impulse
	a.IDs, a.Position, a.Warm = unsafe.Pointer(unsafe.SliceData(s.ids)), s.at, p.Warm
}
