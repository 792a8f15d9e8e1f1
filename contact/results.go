package contact

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/spatial/r3"
)

// Contacts are contacts of worlds in columns, world after world. The impulse acts on body b and its opposite on body a.
type Contacts struct {
	World        []int32
	BodyA, BodyB []int32
	PartA, PartB []int32
	Position     []float64 // [N,3] metres, world axes, before the step
	Normal       []float64 // [N,3] unit, from a to b
	Impulse      []float64 // [N,3] N·s, world axes
	// Gap [N] is an upper bound of the gap along the normal before the step, in metres; NaN at points that had none
	// then and would have entered later in the step.
	Gap []float64
	ID  []uint64 // [N] of the points of their pair; it lasts as long as the features that meet
}

// Len is the number of contacts.
func (c *Contacts) Len() int { return len(c.World) }

// ContactColumn is a column of [Contacts]. One of Ints, Reals and IDs is not nil: it returns the values, Width a
// contact.
type ContactColumn struct {
	Name    string // in the C interface, Python and files, which split IDs into halves
	Width   int
	Meaning string
	Ints    func(*Contacts) *[]int32
	Reals   func(*Contacts) *[]float64
	IDs     func(*Contacts) *[]uint64
}

// ContactColumns has one row per field of [Contacts]. The C interface, files of contacts and their audit read it.
var ContactColumns = [...]ContactColumn{
	{Name: "world", Width: 1, Meaning: "number of the world, from 0",
		Ints: func(c *Contacts) *[]int32 { return &c.World }},
	{Name: "body_a", Width: 1, Meaning: "body A, in the order of the scene",
		Ints: func(c *Contacts) *[]int32 { return &c.BodyA }},
	{Name: "body_b", Width: 1, Meaning: "body B, in the order of the scene",
		Ints: func(c *Contacts) *[]int32 { return &c.BodyB }},
	{Name: "part_a", Width: 1, Meaning: "part of A",
		Ints: func(c *Contacts) *[]int32 { return &c.PartA }},
	{Name: "part_b", Width: 1, Meaning: "part of B",
		Ints: func(c *Contacts) *[]int32 { return &c.PartB }},
	{Name: "position", Width: 3, Meaning: "middle between the points of A and B, in metres",
		Reals: func(c *Contacts) *[]float64 { return &c.Position }},
	{Name: "normal", Width: 3, Meaning: "unit normal from A to B",
		Reals: func(c *Contacts) *[]float64 { return &c.Normal }},
	{Name: "impulse", Width: 3, Meaning: "impulse on B in N·s, world axes",
		Reals: func(c *Contacts) *[]float64 { return &c.Impulse }},
	{Name: "gap", Width: 1, Meaning: "upper bound of the gap along the normal in metres, NaN for none",
		Reals: func(c *Contacts) *[]float64 { return &c.Gap }},
	{Name: "id", Width: 1, Meaning: "ID of the point of its pair of parts",
		IDs: func(c *Contacts) *[]uint64 { return &c.ID }},
}

// Bytes is the memory of a contact in the column.
func (k *ContactColumn) Bytes() int {
	if k.Ints != nil {
		return 4 * k.Width
	}
	return 8 * k.Width
}

// Clear removes all contacts and keeps the memory.
func (c *Contacts) Clear() {
	for i := range ContactColumns {
		switch k := &ContactColumns[i]; {
		case k.Ints != nil:
			*k.Ints(c) = (*k.Ints(c))[:0]
		case k.Reals != nil:
			*k.Reals(c) = (*k.Reals(c))[:0]
		default:
			*k.IDs(c) = (*k.IDs(c))[:0]
		}
	}
}

// appendOthers appends the columns of contacts but for the world.
func (c *Contacts) appendOthers(from *Contacts) {
	for i := range ContactColumns[1:] {
		switch k := &ContactColumns[1+i]; {
		case k.Ints != nil:
			*k.Ints(c) = append(*k.Ints(c), *k.Ints(from)...)
		case k.Reals != nil:
			*k.Reals(c) = append(*k.Reals(c), *k.Reals(from)...)
		default:
			*k.IDs(c) = append(*k.IDs(c), *k.IDs(from)...)
		}
	}
}

// CountContacts is the number of contacts that [Simulation.AppendContacts] appends.
func (s *Simulation) CountContacts() (n int) {
	for w := range s.state.Worlds {
		n += s.solvedContacts(w)
	}
	return n
}

// solvedContacts is the number of contacts of the last step of a world: zero, if it was not advanced.
func (s *Simulation) solvedContacts(w int) int {
	switch {
	case !s.state.Status[w].Advances() || s.fresh[w]:
		return 0
	case s.state.Status[w] == AdvancedInParts:
		return s.inHalves[w].contacts.Len()
	}
	return int(s.problem.Count[w])
}

// AppendContacts appends the contacts of the last step of the worlds that it has advanced. Of a step in parts they are
// those of all parts, one after another.
func (s *Simulation) AppendContacts(to *Contacts) {
	for w := range s.state.Worlds {
		s.appendWorld(w, to)
	}
}

func (s *Simulation) appendWorld(w int, to *Contacts) {
	n := s.solvedContacts(w)
	if n == 0 {
		return
	}
	to.World = append(to.World, slices.Repeat([]int32{int32(w)}, n)...)
	if s.state.Status[w] == AdvancedInParts {
		to.appendOthers(&s.inHalves[w].contacts)
		return
	}
	last, first := s.contactsOf(w, s.side[w]), w*s.capacity
	for i := range n {
		q, normal := &s.pairs[s.ids[last+i].pair], s.problem.Frame[9*(first+i)+6:]
		to.ID = append(to.ID, s.ids[last+i].id)
		to.BodyA, to.BodyB = append(to.BodyA, q.a), append(to.BodyB, q.b)
		to.PartA, to.PartB = append(to.PartA, q.partA), append(to.PartB, q.partB)
		to.Normal = append(to.Normal, normal[:3]...)
	}
	to.Position = append(to.Position, s.at[3*last:3*(last+n)]...)
	to.Impulse = append(to.Impulse, s.impulse[3*last:3*(last+n)]...)
	to.Gap = append(to.Gap, s.gap[first:first+n]...)
}

// Residual is that of the last solve of a world in m/s, see [Solution]; NaN if the last step had none.
func (s *Simulation) Residual(w int) float64 { return s.ofSolve(w, s.solution.Residual) }

// Scale is the speed scale of that residual.
func (s *Simulation) Scale(w int) float64 { return s.ofSolve(w, s.solution.Scale) }

// ofSolve is the entry of a world in a column of the last solve; NaN if the last step had none.
func (s *Simulation) ofSolve(w int, column []float64) float64 {
	status := s.state.Status[w]
	if s.fresh[w] || !status.Advances() && status != SolveUndecided && status != MotionUndecided {
		return math.NaN()
	}
	return column[w]
}

// ContactForces sets out [W,B,6] to the sum of the contact impulses of the last step over Δt on each body: the force in
// N, and the torque about the center of mass before the step, or its part, in N·m, in world axes. It is zero in worlds
// that were not advanced.
func (s *Simulation) ContactForces(out []float64) error {
	n := 6 * len(s.scene.Body)
	if len(out) != n*s.state.Worlds {
		return fmt.Errorf("contact: contact forces: %d values; %d worlds of %d bodies take %d", len(out),
			s.state.Worlds, len(s.scene.Body), n*s.state.Worlds)
	}
	clear(out)
	for w := range s.state.Worlds {
		s.addImpulses(w, out[n*w:n*(w+1)])
	}
	for i := range out {
		out[i] /= s.o.TimeStep
	}
	return nil
}

// addImpulses adds the impulses, linear and angular, of the contacts of a world to those of its bodies.
func (s *Simulation) addImpulses(w int, to []float64) {
	n, p := s.solvedContacts(w), &s.problem
	if n > 0 && s.state.Status[w] == AdvancedInParts {
		for i, x := range s.inHalves[w].impulse {
			to[i] += x
		}
		return
	}
	add := func(to []float64, impulse, arm r3.Vec) {
		t := r3.Cross(arm, impulse)
		for i, x := range [6]float64{impulse.X, impulse.Y, impulse.Z, t.X, t.Y, t.Z} {
			to[i] += x
		}
	}
	last := s.contactsOf(w, s.side[w])
	for i := range n {
		c, impulse := w*s.capacity+i, vecOf(s.impulse[3*(last+i):])
		add(to[6*p.BodyA[c]:], r3.Scale(-1, impulse), vecOf(p.ArmA[3*c:]))
		add(to[6*p.BodyB[c]:], impulse, vecOf(p.ArmB[3*c:]))
	}
}

// stillSteps is the number of steps in a row without an advanced world that a run makes: a world whose solve is
// undecided may be advanced by the next step, which starts from other impulses or has other forces.
const stillSteps = 10

// A StillError is the error of a run in which no world is advanced any more. The steps that were made are valid, and
// the states are those of the last world-steps that were advanced.
type StillError struct {
	Steps    int // in a row in which no world was advanced
	Statuses [stepStatusCount]int
}

func (e *StillError) Error() string {
	var list []string
	for status, n := range e.Statuses {
		if n > 0 {
			list = append(list, fmt.Sprintf("%d %v", n, StepStatus(status)))
		}
	}
	return fmt.Sprintf("contact: no world advanced in the last %d steps; worlds by status: %s", e.Steps,
		strings.Join(list, ", "))
}

// countStill counts the step among those in which no world was advanced, if it is one.
func (s *Simulation) countStill() {
	for _, status := range s.state.Status {
		if status.Advances() {
			s.still = 0
			return
		}
	}
	if s.state.Worlds > 0 && len(s.scene.Body) > 0 {
		s.still++
	}
}

// Still returns a [StillError] if the last steps, so many or more in a row, have advanced no world; zero is 10.
func (s *Simulation) Still(steps int) error {
	if steps == 0 {
		steps = stillSteps
	}
	if s.still < steps {
		return nil
	}
	e := &StillError{Steps: s.still}
	for _, status := range s.state.Status {
		e.Statuses[status]++
	}
	return e
}

// Run makes steps and calls after, if it is not nil, after each of them, until it returns false. force is that of each
// step, [W,B,6], or has the forces of all steps, [steps,W,B,6]; nil is none. It ends with a [StillError] after ten
// steps in a row in which no world was advanced, or if none was in all of its steps.
func (s *Simulation) Run(ctx context.Context, steps int, force []float64, after func(step int) bool) error {
	n := 6 * s.state.Worlds * len(s.scene.Body)
	each := 0
	if steps > 1 && n > 0 && len(force) == steps*n {
		each = n
	}
	for i := range steps {
		f := force
		if each > 0 {
			f = force[i*each : (i+1)*each]
		}
		if err := s.Step(ctx, f); err != nil {
			return err
		}
		if after != nil && !after(i) {
			return nil
		}
		if err := s.Still(0); err != nil {
			return err
		}
	}
	return s.Still(max(steps, 1))
}

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
