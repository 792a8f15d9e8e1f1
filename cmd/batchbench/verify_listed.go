package main

import (
	"fmt"
	"math"

	"clearance/contact"
	"clearance/dataset"
)

// listedTolerance is the difference, relative to the impulse, of an impulse in world axes from that in the frame of its
// contact: sums of three products, and frames that are orthonormal to rounding.
const listedTolerance = 1e-12

// auditListed compares a file of contacts with the problems of the same steps, whose impulses are audited: of each
// world that was solved it has the contacts in their order, with bodies, normal and impulse, and of no other. Of a step
// in parts the problem is that of the last part, whose contacts are the last ones; earlier is the number of those
// before, of which nothing is known. It returns what is refuted.
func auditListed(problems, contacts string, p *contact.Problem, s *contact.Solution) (failures []string, earlier int,
	err error) {
	specs := problemColumns(1, 1)
	for i := range specs {
		specs[i].Width = 0
	}
	of, err := dataset.ReadColumns(problems, specs)
	if err != nil {
		return nil, 0, err
	}
	if !of.Has("step") || !of.Has("world") {
		return nil, 0, fmt.Errorf("%s has no columns step and world, by which contacts are found", problems)
	}
	list := listedColumns()
	t, err := dataset.ReadColumns(contacts, list)
	if err != nil {
		return nil, 0, err
	}
	for _, c := range list {
		if !t.Has(c.Name) {
			return nil, 0, fmt.Errorf("%s: column %s is missing", contacts, c.Name)
		}
	}
	steps, worlds := t.Ints("step"), t.Ints("world")
	row := 0
	fail := func(format string, args ...any) { failures = append(failures, fmt.Sprintf(format, args...)) }
	for w := range p.Worlds {
		step, world := of.Ints("step")[w], of.Ints("world")[w]
		first := row
		for row < t.Rows && steps[row] == step && worlds[row] == world {
			row++
		}
		n := 0
		if s.Status[w] == contact.Solved || row > first {
			n = int(p.Count[w])
		}
		if row-first < n {
			fail("step %d, world %d: %d contacts, want %d", step, world, row-first, n)
			continue
		}
		earlier += row - n - first
		first = row - n
		for i := range n {
			if what := listedFault(p, s, w*p.Contacts+i, t, first+i); what != "" {
				fail("step %d, world %d, contact %d: %s", step, world, i, what)
			}
		}
	}
	if row < t.Rows {
		fail("contact %d of the file: step %d, world %d is not the next one of the problems", row, steps[row],
			worlds[row])
	}
	return failures, earlier, nil
}

// listedFault is what is wrong with row i of a file of contacts, which is contact c of the problems.
func listedFault(p *contact.Problem, s *contact.Solution, c int, t *dataset.ColumnTable, i int) string {
	if a, b := t.Ints("body_a")[i], t.Ints("body_b")[i]; a != p.BodyA[c] || b != p.BodyB[c] {
		return fmt.Sprintf("bodies %d and %d, want %d and %d", a, b, p.BodyA[c], p.BodyB[c])
	}
	frame, impulse := p.Frame[9*c:9*c+9], s.Impulse[3*c:3*c+3]
	size := math.Abs(impulse[0]) + math.Abs(impulse[1]) + math.Abs(impulse[2])
	for k := range 3 {
		if got, want := t.Reals("normal")[3*i+k], frame[6+k]; got != want {
			return fmt.Sprintf("normal %v, want %v", t.Reals("normal")[3*i:3*i+3], frame[6:])
		}
		got, want := t.Reals("impulse")[3*i+k], impulse[0]*frame[k]+impulse[1]*frame[3+k]+impulse[2]*frame[6+k]
		if !(math.Abs(got-want) <= listedTolerance*size) {
			return fmt.Sprintf("impulse %g N·s along axis %d, want %g", got, k, want)
		}
	}
	return ""
}
