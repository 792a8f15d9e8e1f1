package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"clearance/contact"
	"clearance/dataset"
	"clearance/internal/console"
	"clearance/verify"
)

// listedTolerance is the difference, relative to the impulse, of an impulse in world axes from that in the frame of its
// contact: sums of three products, and frames that are orthonormal to rounding.
const listedTolerance = 1e-12

// listedFiles are a file of contacts, and the files that it is audited by.
type listedFiles struct {
	contacts, problems string
	scene              *contact.Scene // nil: positions, gaps, parts and IDs are not audited
	states             string
	timeStep           float64
}

// listedReport is what the audit of a file of contacts finds.
type listedReport struct {
	Contacts int `json:"contacts"`
	Earlier  int `json:"of_earlier_parts"` // of steps in parts, whose problems the file does not have
	// Places are contacts of which position, gap, parts and ID are not audited.
	Places int `json:"places_not_audited"`
	// Worlds were solved and have no contacts; whether they were advanced is not known without states.
	Worlds   int      `json:"worlds_not_audited"`
	wrong    int      // claims that are refuted
	failures []string // the first of them
	stated   bool     // states are given
}

// listAudit audits a file of contacts.
type listAudit struct {
	listedReport
	problem  *contact.Problem
	solution *contact.Solution
	table    *dataset.ColumnTable
	list     contact.Contacts
	points   *verify.ContactPoints // nil without states
	states   *dataset.ColumnTable
	rows     map[[2]int32]int // of states, by step and world
}

func (a *listAudit) fail(format string, args ...any) {
	if a.wrong++; a.wrong <= mostFailures {
		a.failures = append(a.failures, fmt.Sprintf(format, args...))
	}
}

// audit compares a file of contacts with the problems of the same steps, whose impulses are audited: of each world that
// was advanced it has the contacts in their order, with bodies, normal and impulse, and of no other. Of a step in parts
// the problem is that of the last part, whose contacts are the last ones. By the states before and the scene it audits
// where the contacts of steps in one part lie.
func (f *listedFiles) audit(p *contact.Problem, s *contact.Solution) (*listedReport, error) {
	a := &listAudit{problem: p, solution: s}
	of, err := f.read(a)
	if err != nil {
		return nil, err
	}
	a.run(of.Ints("step"), of.Ints("world"))
	return &a.listedReport, nil
}

// run audits all worlds of the problems, of these steps and worlds.
func (a *listAudit) run(ofStep, ofWorld []int32) {
	steps, worlds := a.table.Ints("step"), a.table.Ints("world")
	row := 0
	for w := range a.problem.Worlds {
		step, world := ofStep[w], ofWorld[w]
		first := row
		for row < a.table.Rows && steps[row] == step && worlds[row] == world {
			row++
		}
		a.world(w, step, world, first, row)
	}
	if row < a.table.Rows {
		a.fail("contact %d of the file: step %d, world %d is not the next one of the problems", row, steps[row],
			worlds[row])
	}
}

// read reads the files, and returns the columns step and world of the problems.
func (f *listedFiles) read(a *listAudit) (*dataset.ColumnTable, error) {
	specs := problemColumns(1, 1)
	for i := range specs {
		specs[i].Width = 0
	}
	of, err := dataset.ReadColumns(f.problems, specs)
	if err != nil {
		return nil, err
	}
	if !of.Has("step") || !of.Has("world") {
		return nil, fmt.Errorf("%s has no columns step and world, by which contacts are found", f.problems)
	}
	if a.table, err = f.table(f.contacts, listedColumns()); err != nil {
		return nil, err
	}
	t := a.table
	a.Contacts = t.Rows
	a.list = contact.Contacts{World: t.Ints("world"), BodyA: t.Ints("body_a"), BodyB: t.Ints("body_b"),
		PartA: t.Ints("part_a"), PartB: t.Ints("part_b"), Position: t.Reals("position"), Normal: t.Reals("normal"),
		Impulse: t.Reals("impulse"), Gap: t.Reals("gap")}
	for i, high := range t.Ints("id_high") {
		a.list.ID = append(a.list.ID, joined(high, t.Ints("id_low")[i]))
	}
	if f.states == "" {
		return of, nil
	}
	a.stated = true
	bodies := len(f.scene.Body)
	if a.problem.Bodies != bodies {
		return nil, fmt.Errorf("%s has worlds of %d bodies, the scene has %d", f.problems, a.problem.Bodies, bodies)
	}
	if a.states, err = f.table(f.states, stateColumns(bodies)); err != nil {
		return nil, err
	}
	a.rows = make(map[[2]int32]int, a.states.Rows)
	for i, step := range a.states.Ints("step") {
		a.rows[[2]int32{step, a.states.Ints("world")[i]}] = i
	}
	a.points, err = verify.NewContactPoints(f.scene, f.timeStep)
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "verify: "))
	}
	return of, nil
}

// table reads a file of a step with all of its columns. A file that claims another time step is refused.
func (f *listedFiles) table(path string, columns []dataset.ColumnSpec) (*dataset.ColumnTable, error) {
	t, err := dataset.ReadColumns(path, columns)
	if err != nil {
		return nil, err
	}
	for _, c := range columns {
		if !t.Has(c.Name) {
			return nil, fmt.Errorf("%s: column %s is missing", path, c.Name)
		}
	}
	if claim, ok := t.Metadata[metaTimeStep]; ok && f.scene != nil && claim != digits(f.timeStep) {
		return nil, fmt.Errorf("%s claims the time step %s s, not %s; see --time-step", path,
			console.Printable(claim, 60),
			digits(f.timeStep))
	}
	return t, nil
}

// world audits contacts first to end of the file, those of row w of the problems.
func (a *listAudit) world(w int, step, world int32, first, end int) {
	found, n := end-first, 0
	status, known := contact.NotStepped, false
	if at, ok := a.rows[[2]int32{step, world}]; ok {
		status, known = contact.StepStatus(a.states.Codes("status")[at]), true
	}
	switch {
	case known && !status.Advances():
		if found > 0 {
			a.fail("step %d, world %d: %d contacts of a world that was not advanced: %v", step, world, found, status)
		}
		return
	case known || found > 0:
		n = int(a.problem.Count[w])
	case a.solution.Status[w] == contact.Solved && a.problem.Count[w] > 0:
		a.Worlds++
		return
	}
	if found < n || known && status != contact.AdvancedInParts && found > n {
		a.fail("step %d, world %d: %d contacts, want %d", step, world, found, n)
		return
	}
	a.Earlier += found - n
	a.Places += found - n
	last := end - n
	refuted := make([]bool, n)
	fail := func(i int, reason string) {
		if !refuted[i] { // the first reason
			a.fail("step %d, world %d, contact %d: %s", step, world, last-first+i, reason)
		}
		refuted[i] = true
	}
	for i := range n {
		if reason := a.fault(w*a.problem.Contacts+i, last+i); reason != "" {
			fail(i, reason)
		}
	}
	before, ok := a.rows[[2]int32{step - 1, world}]
	if !ok || !known || status == contact.AdvancedInParts || found > n || n == 0 {
		a.Places += n
		return
	}
	bodies, at := a.problem.Bodies, a.rows[[2]int32{step, world}]
	a.Places += a.points.World(&verify.ContactStep{Pose: a.states.Reals("pose")[7*bodies*before:][:7*bodies],
		Momentum: a.states.Reals("momentum")[3*bodies*before:][:3*bodies],
		Solves:   int(a.states.Ints("solves")[at]), Problem: a.problem, World: w, Contacts: &a.list, First: last}, fail)
}

// fault is what is wrong with row i of a file of contacts, which is contact c of the problems.
func (a *listAudit) fault(c, i int) string {
	p, list := a.problem, &a.list
	if x, y := list.BodyA[i], list.BodyB[i]; x != p.BodyA[c] || y != p.BodyB[c] {
		return fmt.Sprintf("bodies %d and %d, want %d and %d", x, y, p.BodyA[c], p.BodyB[c])
	}
	frame, impulse := p.Frame[9*c:9*c+9], a.solution.Impulse[3*c:3*c+3]
	size := math.Abs(impulse[0]) + math.Abs(impulse[1]) + math.Abs(impulse[2])
	for k := range 3 {
		if got, want := list.Normal[3*i+k], frame[6+k]; got != want {
			return fmt.Sprintf("normal %v, want %v", list.Normal[3*i:3*i+3], frame[6:])
		}
		got, want := list.Impulse[3*i+k], impulse[0]*frame[k]+impulse[1]*frame[3+k]+impulse[2]*frame[6+k]
		if !(math.Abs(got-want) <= listedTolerance*size) {
			return fmt.Sprintf("impulse %g N·s along axis %d, want %g", got, k, want)
		}
	}
	return ""
}

// verdict returns an error with the exit code if something is not audited.
func (r *listedReport) verdict() error {
	switch {
	case r.Places > 0 && !r.stated:
		return console.Wrong("position, gap, parts and ID of %s not audited; see --states, and the worlds of the "+
			"step", plural(r.Places, "contact"))
	case r.Places > 0:
		return console.Wrong("position, gap, parts and ID of %s not audited: of steps in parts, or after states "+
			"that are not in the file", plural(r.Places, "contact"))
	case r.Worlds > 0:
		return console.Wrong("%s without contacts not audited; see --states", plural(r.Worlds, "solved world"))
	}
	return nil
}

// scene reads the scene of the steps that the contacts are of, nil if the flags do not ask for it.
func (f *verifyContactFlags) scene(ctx context.Context, e *env) (*contact.Scene, error) {
	if f.states == "" {
		return nil, nil
	}
	scene, _, err := f.step.readWorlds(ctx, e)
	return scene, err
}
