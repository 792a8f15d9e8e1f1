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
	Name  string // in the C interface, Python and files, which split IDs into halves
	Width int
	Ints  func(*Contacts) *[]int32
	Reals func(*Contacts) *[]float64
	IDs   func(*Contacts) *[]uint64
}

// ContactColumns has one row per field of [Contacts]. The C interface, files of contacts and their audit read it.
var ContactColumns = [...]ContactColumn{
	{Name: "world", Width: 1, Ints: func(c *Contacts) *[]int32 { return &c.World }},
	{Name: "body_a", Width: 1, Ints: func(c *Contacts) *[]int32 { return &c.BodyA }},
	{Name: "body_b", Width: 1, Ints: func(c *Contacts) *[]int32 { return &c.BodyB }},
	{Name: "part_a", Width: 1, Ints: func(c *Contacts) *[]int32 { return &c.PartA }},
	{Name: "part_b", Width: 1, Ints: func(c *Contacts) *[]int32 { return &c.PartB }},
	{Name: "position", Width: 3, Reals: func(c *Contacts) *[]float64 { return &c.Position }},
	{Name: "normal", Width: 3, Reals: func(c *Contacts) *[]float64 { return &c.Normal }},
	{Name: "impulse", Width: 3, Reals: func(c *Contacts) *[]float64 { return &c.Impulse }},
	{Name: "gap", Width: 1, Reals: func(c *Contacts) *[]float64 { return &c.Gap }},
	{Name: "id", Width: 1, IDs: func(c *Contacts) *[]uint64 { return &c.ID }},
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
