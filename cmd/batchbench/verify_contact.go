package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"clearance/contact"
	"clearance/dataset"
	"clearance/internal/console"
	"clearance/verify"
)

// verifyContactFlags are the flags of `verify contact`.
type verifyContactFlags struct {
	results, json string
	contacts      string
	states        string
	step          stepFlags // of the steps: the worlds and the time step
	options       verify.ContactAudit
}

func newVerifyContact(e *env) *cobra.Command {
	f := verifyContactFlags{step: newStepFlags()}
	c := &cobra.Command{
		Use:   "contact --results contacts.parquet|.npz",
		Short: "audit contact impulses",
		Long: `Recomputes velocities, residuals and the energy identity of each world of a file of contact
problems from its impulses alone, and compares them with what the file claims: velocities,
residuals, statuses. Such files are written by 'contact --out' and 'step --problems'.

--contacts compares the file that 'step --contacts' has written of the same steps with these
impulses: bodies, normals, impulses. With --states, the file of states of all steps (--every 1),
and the worlds of the step, position, gap, parts and ID of each contact are audited by the shapes
and the poses before the step. Those of steps in parts are not, since no file has the states
between the parts. What was not audited is said, and is not exit code 0.

What a right answer is, the command line says: the --model and the --tolerance. A file that
claims another model is refused. Bounds of the error, which only the ccp has, are audited with
--bounds: the convex problem is solved again to refute them, and bounds are taken again to
confirm them. Undecided worlds and bounds that were not audited are said, and are not exit
code 0. Nothing depends on the numbers of sweeps and steps: they are not audited.`,
		Args: console.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runVerifyContact(c.Context(), e, &f) },
	}
	fs := c.Flags()
	fs.StringVar(&f.results, "results", "", "file of contact problems and impulses, .parquet or .npz")
	fs.Var(choice[contact.Model]{&f.options.Model, contact.Models.Parse}, "model", "ncp or ccp")
	fs.Float64Var(&f.options.Tolerance, "tolerance", 1e-6,
		"largest residual of a solved world, relative to its speed scale")
	fs.BoolVar(&f.options.Bounds, "bounds", false, "solve the ccp again, to audit bounds of the error")
	fs.StringVar(&f.contacts, "contacts", "", "file of contacts of the same steps, .parquet or .npz")
	fs.StringVar(&f.states, "states", "", "file of states of the same steps, .parquet or .npz")
	f.step.addScene(fs)
	fs.StringVar(&f.json, "json", "", "write the report as JSON to this file, - for standard output")
	return c
}

// mostFailures is the number of refuted claims of each file that are listed.
const mostFailures = 20

// verifyContactReport is the report of `verify contact --json`.
type verifyContactReport struct {
	Program   string        `json:"program"`
	Version   string        `json:"version"`
	Date      string        `json:"date"`
	Results   string        `json:"results"`
	Model     string        `json:"model"`
	Tolerance verify.Number `json:"tolerance"`
	Claimed   string        `json:"claimed_tolerance,omitempty"` // which nothing rests on
	Worlds    int           `json:"worlds"`
	Solved    int           `json:"solved"`
	Undecided int           `json:"undecided"`
	Invalid   int           `json:"invalid"`
	Unaudited int           `json:"unaudited"` // bounds of the error that are neither refuted nor confirmed
	Wrong     int           `json:"wrong_claims"`
	Failures  []string      `json:"failures,omitempty"` // the first
	Listed    *listedReport `json:"contacts,omitempty"` // of --contacts

	// The largest of all worlds, recomputed.
	Residual        verify.Number `json:"residual"`
	Primal          verify.Number `json:"primal"`
	Dual            verify.Number `json:"dual"`
	Complementarity verify.Number `json:"complementarity"`
	Velocity        verify.Number `json:"velocity_difference"`
	Energy          verify.Number `json:"energy"`

	bounds bool // were audited
}

// check returns an error for flags that are missing or do not go together.
func (f *verifyContactFlags) check() error {
	if err := needFlags("results", f.results); err != nil {
		return err
	}
	worlds := f.step.scene != "" || f.step.worlds != "" || f.step.shapes+f.step.model != ""
	switch {
	case !(f.options.Tolerance > 0):
		return fmt.Errorf("--tolerance %g: it is positive", f.options.Tolerance)
	case f.states != "" && f.contacts == "":
		return errors.New("--states is about --contacts, which is missing")
	case (f.states != "") != worlds:
		return errors.New("--states and the worlds of the step, --shapes and --worlds or --scene, go together")
	}
	if err := checkKernels(""); err != nil {
		return err
	}
	if worlds {
		if err := f.step.checkScene(); err != nil {
			return err
		}
	}
	return checkOutputs(append(f.step.files(f.json), namedFile{"results", f.results}, namedFile{"contacts", f.contacts},
		namedFile{"states", f.states}), []namedFile{{"json", f.json}})
}

func runVerifyContact(ctx context.Context, e *env, f *verifyContactFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	report, err := verifyContacts(ctx, e, f)
	if err != nil {
		return err
	}
	return writeAudit(e, f.json, report)
}

// verifyContacts audits the files of the flags, which have been checked.
func verifyContacts(ctx context.Context, e *env, f *verifyContactFlags) (*verifyContactReport, error) {
	p, s, meta, err := readContacts(f.results)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return nil, fmt.Errorf("%s has problems and no impulses; 'batchbench contact --out' solves them", f.results)
	}
	if m, ok := meta[metaModel]; ok && m != f.options.Model.String() {
		return nil, fmt.Errorf("%s claims the model %s, not %v; see --model", f.results,
			strconv.Quote(console.Printable(m, 60)), f.options.Model)
	}
	audit, err := verify.AuditContacts(p, s, f.options)
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "verify: "))
	}
	report := newVerifyContactReport(f, audit)
	report.Claimed = console.Printable(meta[metaTolerance], 60)
	if f.contacts == "" {
		return report, nil
	}
	files := &listedFiles{contacts: f.contacts, problems: f.results, states: f.states,
		timeStep: f.step.options.TimeStep}
	if files.scene, err = f.scene(ctx, e); err != nil {
		return nil, err
	}
	if report.Listed, err = files.audit(p, s); err != nil {
		return nil, err
	}
	report.Wrong += report.Listed.wrong
	report.Failures = append(report.Failures, report.Listed.failures...)
	return report, nil
}

// verdict returns an error with the exit code if the claims are not good.
func (r *verifyContactReport) verdict() error {
	switch {
	case r.Wrong > 0:
		return console.Wrong("the audit refutes %s", plural(r.Wrong, "claim"))
	case r.Undecided > 0:
		return console.Wrong("%s undecided", plural(r.Undecided, "world"))
	case r.Unaudited > 0 && !r.bounds:
		return console.Wrong("%s of the error not audited; see --bounds", plural(r.Unaudited, "bound"))
	case r.Unaudited > 0:
		return console.Wrong("%s of the error neither refuted nor confirmed", plural(r.Unaudited, "bound"))
	case r.Listed != nil:
		return r.Listed.verdict()
	}
	return nil
}

func newVerifyContactReport(f *verifyContactFlags, a *verify.ContactReport) *verifyContactReport {
	r := &verifyContactReport{Program: "batchbench verify contact", Version: console.Version(), Date: console.Now(),
		Results: f.results, Model: f.options.Model.String(), Tolerance: verify.Number(f.options.Tolerance),
		Worlds: len(a.Worlds), Solved: a.Solved, Undecided: a.Undecided, Invalid: a.Invalid,
		Unaudited: a.Unaudited, Wrong: a.Wrong, bounds: f.options.Bounds}
	for _, fault := range a.Failures[:min(mostFailures, len(a.Failures))] {
		r.Failures = append(r.Failures, fault.String())
	}
	for _, w := range a.Worlds {
		for _, n := range []struct {
			to *verify.Number
			of float64
		}{{&r.Residual, w.Residual}, {&r.Primal, w.Primal}, {&r.Dual, w.Dual},
			{&r.Complementarity, w.Complementarity}, {&r.Velocity, w.Velocity}, {&r.Energy, w.Energy}} {
			*n.to = max(*n.to, verify.Number(n.of))
		}
	}
	return r
}

func (r *verifyContactReport) print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s under the %s, tolerance %g", plural(r.Worlds, "world"), r.Results, r.Model,
		float64(r.Tolerance))
	if r.Claimed != "" {
		fmt.Fprintf(&b, "; the file claims the tolerance %s", r.Claimed)
	}
	fmt.Fprintf(&b, "\n%d solved, %d undecided, %d invalid; %s refuted, %s of the error not audited\n", r.Solved,
		r.Undecided, r.Invalid, plural(r.Wrong, "claim"), plural(r.Unaudited, "bound"))
	for _, f := range r.Failures {
		fmt.Fprintf(&b, "  %s\n", f)
	}
	if c := r.Listed; c != nil {
		fmt.Fprintf(&b, "%s listed, %s of them of earlier parts of steps, whose problems the file does not have; "+
			"position, gap, parts and ID of %s not audited\n", plural(c.Contacts, "contact"),
			thousands(int64(c.Earlier)),
			thousands(int64(c.Places)))
	}
	fmt.Fprintf(&b, "recomputed from the impulses, the largest: residual %.2g m/s, ε_p %.2g N·s, ε_d %.2g m/s, "+
		"ε_c %.2g J, difference of velocities %.2g m/s, energy identity %.2g J\n", float64(r.Residual),
		float64(r.Primal), float64(r.Dual), float64(r.Complementarity), float64(r.Velocity), float64(r.Energy))
	fmt.Fprintln(&b, "A residual bounds no error in velocity: the ncp may have several solutions.")
	_, err := io.WriteString(w, b.String())
	return err
}

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

// listedReport is the report of the audit of a file of contacts.
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
// the problem belongs to the last part, whose contacts are the last ones. By the states before and the scene it audits
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
	a.Contacts, a.list = a.table.Rows, readListed(a.table)
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

// fault says what is wrong with row i of a file of contacts, which is contact c of the problems.
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
