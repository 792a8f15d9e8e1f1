package main

import (
	"fmt"
	"strconv"

	"clearance/contact"
	"clearance/dataset"
	"clearance/internal/memory"
)

// Metadata of files of contact problems.
const (
	metaModel  = "model"
	metaStatus = "status"
	// metaTimeStep is that of files of steps.
	metaTimeStep = "time_step"
)

// contactColumns are the columns of a file of contact problems and, behind the warm start, of their solutions, in the
// order of contactValues. A row is a world. Widths are those of so many bodies and contacts.
func contactColumns(bodies, contacts int) (problem, solution []dataset.ColumnSpec) {
	b, c := max(bodies, 1), max(contacts, 1)
	real := func(name string, width int) dataset.ColumnSpec { return dataset.ColumnSpec{Name: name, Width: width} }
	ints := func(name string, width int) dataset.ColumnSpec {
		return dataset.ColumnSpec{Name: name, Width: width, Ints: true}
	}
	problem = []dataset.ColumnSpec{real("mass", b), real("inertia", 6*b), real("velocity", 6*b), ints("count", 1),
		ints("body_a", c), ints("body_b", c), real("arm_a", 3*c), real("arm_b", 3*c), real("frame", 9*c),
		real("friction", c), real("target", c), real("compliance", 2*c), real("warm", 3*c)}
	solution = []dataset.ColumnSpec{real("impulse", 3*c), real("solved_velocity", 6*b), real("residual", 1),
		real("scale", 1), real("primal", 1), real("dual", 1), real("complementarity", 1), real("bound", 1),
		ints("sweeps", 1), ints("newton_steps", 1),
		{Name: "status", Width: 1, Codes: true}}
	return problem, solution
}

// stepColumns tell the world-steps of a simulation apart.
var stepColumns = []dataset.ColumnSpec{{Name: "step", Width: 1, Ints: true}, {Name: "world", Width: 1, Ints: true}}

// padded is a column that a problem may lack.
func padded(v []float64, n int) []float64 {
	if len(v) == 0 {
		return make([]float64, n)
	}
	return v
}

// problemValues and solutionValues are the columns of contactColumns.
func problemValues(p *contact.Problem) []any {
	wc := p.Worlds * p.Contacts
	return []any{p.Mass, p.Inertia, p.Velocity, p.Count, p.BodyA, p.BodyB, p.ArmA, p.ArmB, p.Frame, p.Friction,
		padded(p.Target, wc), padded(p.Compliance, 2*wc), padded(p.Warm, 3*wc)}
}

func solutionValues(s *contact.Solution) []any {
	status := make([]uint8, len(s.Status))
	for i, c := range s.Status {
		status[i] = uint8(c)
	}
	return []any{s.Impulse, s.Velocity, s.Residual, s.Scale, s.Primal, s.Dual, s.Complementarity, s.Bound, s.Sweeps,
		s.Steps, status}
}

// contactTexts are the metadata of a file of solutions.
func contactTexts(m contact.Model, tolerance float64) []string {
	return []string{metaModel, m.String(), metaTolerance, strconv.FormatFloat(tolerance, 'g', -1, 64), metaStatus,
		fmt.Sprintf("%d=%v,%d=%v,%d=%v", contact.Solved, contact.Solved, contact.Undecided, contact.Undecided,
			contact.Invalid, contact.Invalid)}
}

// writeContacts writes problems with their solutions.
func writeContacts(path string, p *contact.Problem, s *contact.Solution, m contact.Model, tolerance float64) error {
	if p.Bodies == 0 || p.Contacts == 0 {
		return fmt.Errorf("%s: a file of problems takes at least a body and a contact", path)
	}
	problem, solution := contactColumns(p.Bodies, p.Contacts)
	// Columns that the problem lacks are written as zeros.
	what := fmt.Sprintf("%d worlds of %d contacts in a file", p.Worlds, p.Contacts)
	if err := memory.Check(what, float64(p.Worlds)*(1+8*6*float64(p.Contacts))); err != nil {
		return err
	}
	return writeColumns(path, append(problem, solution...), int64(p.Worlds), contactTexts(m, tolerance),
		func(out *dataset.ColumnWriter) error {
			return out.Write(p.Worlds, append(problemValues(p), solutionValues(s)...)...)
		})
}

// readContacts reads problems, and their solutions if the file has them, else nil.
func readContacts(path string) (p *contact.Problem, s *contact.Solution, meta map[string]string, err error) {
	problem, solution := contactColumns(1, 1)
	var specs []dataset.ColumnSpec
	for _, c := range append(append(problem, solution...), stepColumns...) {
		c.Width = 0 // as many as the file has
		specs = append(specs, c)
	}
	t, err := dataset.ReadColumns(path, specs)
	if err != nil {
		return nil, nil, nil, err
	}
	p = &contact.Problem{Worlds: t.Rows, Bodies: t.Width("mass"), Contacts: t.Width("friction"),
		Mass: t.Reals("mass"), Inertia: t.Reals("inertia"), Velocity: t.Reals("velocity"), Count: t.Ints("count"),
		BodyA: t.Ints("body_a"), BodyB: t.Ints("body_b"), ArmA: t.Reals("arm_a"), ArmB: t.Reals("arm_b"),
		Frame: t.Reals("frame"), Friction: t.Reals("friction"), Target: t.Reals("target"),
		Compliance: t.Reals("compliance"), Warm: t.Reals("warm")}
	for _, c := range problem[:10] { // the others are zero where they are missing
		if !t.Has(c.Name) {
			return nil, nil, nil, fmt.Errorf("%s: column %s is missing", path, c.Name)
		}
	}
	if err := p.CheckShape(); err != nil {
		return nil, nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	if !t.Has("impulse") {
		return p, nil, t.Metadata, nil
	}
	for _, c := range solution {
		if !t.Has(c.Name) {
			return nil, nil, nil, fmt.Errorf("%s: column %s of the solution is missing", path, c.Name)
		}
	}
	s = &contact.Solution{Impulse: t.Reals("impulse"), Velocity: t.Reals("solved_velocity"),
		Residual: t.Reals("residual"), Scale: t.Reals("scale"), Primal: t.Reals("primal"), Dual: t.Reals("dual"),
		Complementarity: t.Reals("complementarity"), Bound: t.Reals("bound"),
		Sweeps: t.Ints("sweeps"), Steps: t.Ints("newton_steps")}
	for w, code := range t.Codes("status") {
		if code > uint8(contact.Invalid) {
			return nil, nil, nil, fmt.Errorf("%s: world %d: status %d is none of %d codes", path, w, code,
				contact.Invalid+1)
		}
		s.Status = append(s.Status, contact.Status(code))
	}
	if len(s.Impulse) != len(p.ArmA) || len(s.Velocity) != len(p.Velocity) {
		return nil, nil, nil, fmt.Errorf("%s: the solution is not that of %d bodies and %d contacts a world", path,
			p.Bodies, p.Contacts)
	}
	return p, s, t.Metadata, nil
}
