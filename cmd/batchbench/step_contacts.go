package main

import (
	"fmt"
	"slices"

	"clearance/contact"
	"clearance/dataset"
	"clearance/internal/memory"
)

// Contacts in files of `step`: problems, a row for each world and as many columns as a world has contacts at most, and
// lists, a row for each contact.

// problemColumns are the columns of a file of the problems of steps.
func problemColumns(bodies, contacts int) []dataset.ColumnSpec {
	problem, solution := contactColumns(bodies, contacts)
	return append(append(stepColumns[:2:2], problem...), solution...)
}

// ofContacts are the columns of problems that have values of each contact.
var ofContacts = []string{"body_a", "body_b", "arm_a", "arm_b", "frame", "friction", "target", "compliance", "warm",
	"impulse"}

// resized gives the columns of contacts room for to contacts in place of from. Contacts beyond are left out: those of
// rows behind the count of their world.
func resized(specs []dataset.ColumnSpec, values []any, rows, from, to int) []any {
	if from == to {
		return values
	}
	out := slices.Clone(values)
	for i, s := range specs {
		if slices.Contains(ofContacts, s.Name) {
			per := s.Width / max(from, 1)
			switch v := values[i].(type) {
			case []float64:
				out[i] = resizedRows(v, rows, per*from, per*to)
			case []int32:
				out[i] = resizedRows(v, rows, per*from, per*to)
			}
		}
	}
	return out
}

func resizedRows[T any](v []T, rows, from, to int) []T {
	out := make([]T, rows*to)
	for r := range rows {
		copy(out[r*to:(r+1)*to], v[r*from:(r+1)*from])
	}
	return out
}

// addProblems adds the problems of the last step to the rows.
func (r *stepRun) addProblems(step, world []int32) error {
	p := r.sim.Problem()
	most := r.width
	for w, n := range p.Count {
		if solved(r.sim.State().Status[w]) {
			most = max(most, int(n))
		}
	}
	// The rows before with more contacts, those of the step, and the buffer of both as it grows.
	rows := 2 * float64(r.problems.rows+2*r.worlds)
	what := fmt.Sprintf("problems of %d worlds of %d contacts", r.worlds, most)
	if err := memory.Check(what, rows*rowBytes(problemColumns(r.bodies, most))); err != nil {
		return fmt.Errorf("--problems: %w", err)
	}
	r.widen(most)
	values := append(append([]any{step, world}, problemValues(p)...), solutionValues(r.sim.Solution())...)
	r.problems.add(r.worlds, resized(problemColumns(r.bodies, p.Contacts), values, r.worlds, p.Contacts, r.width)...)
	return nil
}

// addContacts adds the contacts of the last step to the rows.
func (r *stepRun) addContacts() error {
	n := r.sim.CountContacts()
	// The list, and the buffer as it grows.
	bytes := 2.25 * rowBytes(listedColumns()) * float64(n+r.contacts.rows)
	if err := memory.Check(fmt.Sprintf("%d contacts of a step", n), bytes); err != nil {
		return fmt.Errorf("--contacts: %w", err)
	}
	r.list.Clear()
	r.sim.AppendContacts(&r.list)
	addListed(r.contacts, int32(r.step), &r.list)
	return nil
}

// widen gives the rows of problems room for n contacts.
func (r *stepRun) widen(n int) {
	if n <= r.width {
		return
	}
	old := r.problems
	r.problems = newColumnBuffer(problemColumns(r.bodies, n))
	r.problems.add(old.rows, resized(old.specs, old.slices(), old.rows, r.width, n)...)
	r.width = n
}

// listedColumns are the columns of a file of contacts.
func listedColumns() []dataset.ColumnSpec {
	list := stepColumns[:2:2]
	for _, name := range []string{"body_a", "body_b", "part_a", "part_b"} {
		list = append(list, dataset.ColumnSpec{Name: name, Width: 1, Ints: true})
	}
	for _, name := range []string{"position", "normal", "impulse"} {
		list = append(list, dataset.ColumnSpec{Name: name, Width: 3})
	}
	return append(list, dataset.ColumnSpec{Name: "gap", Width: 1},
		dataset.ColumnSpec{Name: "id_high", Width: 1, Ints: true}, dataset.ColumnSpec{Name: "id_low", Width: 1,
			Ints: true})
}

// addListed adds the contacts of a step to rows.
func addListed(to *columnBuffer, step int32, c *contact.Contacts) {
	high, low := halves(c.ID)
	to.add(c.Len(), slices.Repeat([]int32{step}, c.Len()), c.World, c.BodyA, c.BodyB, c.PartA, c.PartB, c.Position,
		c.Normal, c.Impulse, c.Gap, high, low)
}

// halves are the upper and the lower 32 bits of numbers.
func halves(ids []uint64) (high, low []int32) {
	high, low = make([]int32, len(ids)), make([]int32, len(ids))
	for i, id := range ids {
		high[i], low[i] = int32(id>>32), int32(id)
	}
	return high, low
}

// joined is the number of two halves.
func joined(high, low int32) uint64 { return uint64(uint32(high))<<32 | uint64(uint32(low)) }
