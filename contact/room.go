package contact

import (
	"fmt"
	"unsafe"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/internal/memory"
	native "clearance/kernels/contact"
)

// worldBytes and bodyBytes are the memory of a world and of a body of a simulation, but for contacts and pairs: its
// state, the columns of the problem and of its solution, and what a step keeps of it, rounded up.
const (
	worldBytes = 256
	bodyBytes  = int(unsafe.Sizeof(bodyState{})+unsafe.Sizeof(bounce{})) + 8*(7+3+3+1+1+6+6+6)
)

// checkRoom returns an error if the simulation of a scene in a number of worlds takes more memory than there is. It
// looks before anything is allocated. The number of pairs of parts is bounded from above: of all parts, but of those of
// bodies that do not move.
func checkRoom(s *Scene, worlds, limit int) error {
	all, fixed := 0.0, 0.0
	for b, body := range s.Body {
		n := float64(len(s.Bodies.Parts(body)))
		all += n
		if !s.movable(int32(b)) {
			fixed += n
		}
	}
	contacts := firstCapacity(len(s.Body), limit)
	pairs, w := (all*all-fixed*fixed)/2, float64(worlds)
	bytes := pairs*float64(unsafe.Sizeof(partPair{})+unsafe.Sizeof(native.Pair{})) +
		w*(pairs*float64(unsafe.Sizeof(nearPair{}))+worldBytes+float64(len(s.Body)*bodyBytes)+
			float64(contacts)*float64(contactBytes))
	what := fmt.Sprintf("%d worlds of %d bodies with up to %.0f pairs of parts and %d contacts", worlds, len(s.Body),
		pairs, contacts)
	if err := memory.Check(what, bytes); err != nil {
		return fmt.Errorf("contact: %w", err)
	}
	return nil
}

// bodyOfWorld and contactOfWorld are the memory that a worldSolver has of a body and of a contact of a world, but for
// the matrix of Newton's method, which is asked for when its pattern is known: the problem in units of its own, its
// islands, the vectors of Newton's method and those of the bound of the error.
const (
	bodyOfWorld = 2*8 + 2*int(unsafe.Sizeof(sym3{})) + 8 + 2*int(unsafe.Sizeof(twist{})) + 3*8 + 3*8 +
		6*int(unsafe.Sizeof(twist{})) + 2*int(unsafe.Sizeof(twist{})) +
		int(unsafe.Sizeof(twistSize{})+unsafe.Sizeof(islandBound{}))
	contactOfWorld = int(unsafe.Sizeof(row{})) + 7*int(unsafe.Sizeof(r3.Vec{})) + 8*(9+36) + 5*8
)

// sweepBytes is the memory of a group of worlds of so many contacts.
func sweepBytes(variant string, bodies, worlds, contacts int) float64 {
	if variant == Off {
		return 0
	}
	return native.SweepBytes(variant, bodies, min(widthOf(variant), worlds)*contacts)
}

// room returns how many of the workers of a call there is memory for beside the columns of the solution, and an error
// if there is none for one. It looks before anything is allocated, and says nothing of what earlier calls have taken.
func (s *Solver) room(p *Problem, variant string, workers int, out *Solution) (int, error) {
	columns := out.growth(p) + float64(max(p.Worlds-cap(s.groups.worlds), 0))*float64(unsafe.Sizeof(world{}))
	each := func(contacts int) float64 {
		return float64(p.Bodies+1)*float64(bodyOfWorld) + float64(contacts)*float64(contactOfWorld) +
			sweepBytes(variant, p.Bodies, p.Worlds, contacts)
	}
	need := each(p.Contacts)
	if columns+float64(workers)*need > coarse { // of the contacts that there are
		most := 0
		for _, n := range p.Count {
			most = max(most, min(int(n), p.Contacts))
		}
		need = each(most)
	}
	if columns == 0 && float64(workers)*need <= s.granted {
		return workers, nil
	}
	what := fmt.Sprintf("the solution of %d worlds of %d bodies and %d contacts", p.Worlds, p.Bodies, p.Contacts)
	for {
		err := memory.Check(what, columns+float64(workers)*need)
		if err == nil {
			s.granted = max(s.granted, float64(workers)*need)
			return workers, nil
		}
		if workers == 1 {
			return 0, fmt.Errorf("contact: %w", err)
		}
		workers /= 2
	}
}

// coarse is the memory of a call beyond which its contacts are counted: it is far below what [memory.Check] looks at.
const coarse = 1 << 20

// growth is the memory of the columns of a solution of a problem that it does not have yet.
func (s *Solution) growth(p *Problem) float64 {
	w := float64(p.Worlds)
	bytes := 8*max(3*w*float64(p.Contacts)-float64(cap(s.Impulse)), 0) +
		8*max(6*w*float64(p.Bodies)-float64(cap(s.Velocity)), 0)
	for _, c := range []*[]float64{&s.Residual, &s.Scale, &s.Primal, &s.Dual, &s.Complementarity, &s.Bound} {
		bytes += 8 * max(w-float64(cap(*c)), 0)
	}
	return bytes + 4*max(w-float64(cap(s.Sweeps)), 0) + 4*max(w-float64(cap(s.Steps)), 0) +
		max(w-float64(cap(s.Status)), 0)
}

// The capacity of a world in contacts. All worlds have the same, so that column entry w·capacity + i is contact i of
// world w. It starts at contactsPerBody for each body and grows where a world has more, but not beyond
// [StepOptions].Contacts, which asks for no memory itself. It changes where contacts lie and none of their bits.

// contactsPerBody is what bodies that rest on each other have: four points below and four above, and some to the sides.
const contactsPerBody = 12

// contactBytes is the memory of a contact of the problem, its impulse, and what is kept of two solves and of the one
// before the step.
const contactBytes = 2*4 + 8*(2*3+9+1+1+2+3) + 8 + 8*3 + 3*(int(unsafe.Sizeof(contactID{}))+8*6)

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
		st.Status[w] = underway
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
		sweeps := sweepBytes(s.variant, len(s.scene.Body), len(s.side), n)
		return s.memory(float64(len(s.side))*float64(n)*float64(contactBytes)+float64(len(s.workers))*sweeps) == nil
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
	if p.Compliance != nil {
		move(&p.Compliance, w, 2*from, 2*n)
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

// setContactColumns gives package kernels/contact the columns of contacts.
func (s *Simulation) setContactColumns() {
	p, c, a := &s.problem, &s.columns, &s.assembly
	s.kernel.Contacts, s.rules.Contacts = int32(s.capacity), int32(s.capacity)
	c.BodyA, c.BodyB, c.ArmA, c.ArmB, c.Frame, c.Friction = p.BodyA, p.BodyB, p.ArmA, p.ArmB, p.Frame, p.Friction
	c.Target, c.Compliance, c.WorldImpulse = p.Target, p.Compliance, s.impulse
	a.IDs, a.Position, a.Warm = unsafe.Pointer(unsafe.SliceData(s.ids)), s.at, p.Warm
}
