package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"clearance/contact"
	"clearance/contact/scenes"
	"clearance/dataset"
	"clearance/dataset/table"
	"clearance/internal/console"
	"clearance/internal/memory"
	"clearance/ref"
	"clearance/verify"
)

// contactFlags are the flags of `contact`.
type contactFlags struct {
	scene             string
	worlds, limit     int
	workers           int
	seed              uint64
	tolerance, omega  float64
	reference, bounds bool
	problems, out     string
	model             contact.Model
}

func newContact(e *env) *cobra.Command {
	f := contactFlags{scene: "stack4", worlds: 1000, limit: 1000, seed: 1, tolerance: 1e-6, omega: 1}
	c := &cobra.Command{
		Use:   "contact",
		Short: "solve contact problems by every solver",
		Long: `Solves contact problems of a file or of a kind of scene: Coulomb's law (ncp) and its convex
relaxation (ccp) by the solvers of batches, and with --reference these and the other models by the
dense solvers of package ref. Every residual is recomputed from the impulses, and every solution of
a batch audited.

A file of problems has a row for each world: mass [B], inertia [B,6], velocity [B,6], count, body_a,
body_b and friction [C], arm_a and arm_b [C,3], frame [C,3,3], and if they are not zero target [C],
compliance [C,2] and warm [C,3]; see docs/contacts.md. --out writes the problems with the impulses
under --model, which 'verify contact' audits.`,
		Args: console.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runContact(c.Context(), e, &f) },
	}
	fs := c.Flags()
	fs.StringVar(&f.problems, "problems", "", "file of problems, .parquet or .npz, in place of a scene")
	fs.StringVar(&f.out, "out", "", "file of problems and impulses to write, .parquet or .npz")
	fs.Var(choice[contact.Model]{&f.model, contact.Models.Parse}, "model", "of --out: ncp or ccp")
	fs.StringVar(&f.scene, "scene", f.scene, "kind of scene: "+strings.Join(scenes.Kinds(), ", "))
	fs.IntVar(&f.worlds, "worlds", f.worlds, "number of worlds")
	fs.Uint64Var(&f.seed, "seed", f.seed, "seed of the scenes")
	fs.Float64Var(&f.tolerance, "tolerance",
		f.tolerance, "largest residual of a solved world, relative to its speed scale")
	fs.Float64Var(&f.omega, "relaxation", f.omega, "over-relaxation of sweeps, in (0, 2)")
	fs.IntVar(&f.workers, "workers", 0, "goroutines of the batch; 0 is one per CPU")
	fs.BoolVar(&f.bounds, "bounds", false, "bound the error of the ccp, at the cost of a second solve")
	fs.BoolVar(&f.reference, "reference", false, "run the solvers of package ref too, one world after the other")
	fs.IntVar(&f.limit, "limit", f.limit, "largest number of iterations of a reference solver")
	return c
}

// contactLine is a line of the table.
type contactLine struct {
	name                           string
	solved, undecided, invalid     int
	iterations                     float64 // per world
	seconds                        float64
	residual, relative             float64 // the largest: in m/s, and relative to the speed scale
	primal, dual, complementarity  float64 // the largest
	coulomb, dissipation, internal float64 // the largest; NaN in batches
	bound                          float64
	faults                         int
}

func runContact(ctx context.Context, e *env, f *contactFlags) error {
	switch {
	case f.worlds < 1:
		return fmt.Errorf("--worlds %d: there is no world", f.worlds)
	case f.workers < 0 || f.workers > maxWorkers:
		return fmt.Errorf("--workers %d: want 1 to %d, or 0 for one per core", f.workers, maxWorkers)
	case f.limit < 1:
		return fmt.Errorf("--limit %d: there is no iteration", f.limit)
	case !(f.tolerance > 0) || !(f.omega > 0 && f.omega < 2):
		return fmt.Errorf("--tolerance %g, --relaxation %g: the tolerance is positive, the relaxation lies in (0, 2)",
			f.tolerance, f.omega)
	}
	if err := errors.Join(checkKernels(""), checkColumnFile("out", f.out)); err != nil {
		return err
	}
	err := checkOutputs([]namedFile{{"problems", f.problems}}, []namedFile{{"out", f.out}})
	if err != nil {
		return err
	}
	p, err := f.read()
	if err != nil {
		return err
	}
	var lines []contactLine
	var solutions [2]contact.Solution
	faults := 0
	for i, m := range []contact.Model{contact.NCP, contact.CCP} {
		l, err := f.batch(ctx, e, p, m, &solutions[i])
		if err != nil {
			return err
		}
		faults += l.faults
		lines = append(lines, l)
	}
	if f.reference {
		more, err := f.references(ctx, p)
		if err != nil {
			return err
		}
		lines = append(lines, more...)
	}
	if f.out != "" { // at the end: after an interrupt there is none
		if err := writeContacts(f.out, p, &solutions[f.model], f.model, f.tolerance); err != nil {
			return err
		}
	}
	if err := printContacts(e, f, p, lines); err != nil {
		return err
	}
	if faults > 0 {
		return console.Wrong("the audit refutes %s", plural(faults, "claim"))
	}
	bad := lines[0].undecided + lines[0].invalid + lines[1].undecided + lines[1].invalid
	if f.problems != "" && bad > 0 {
		return console.Wrong("%s undecided or invalid", plural(bad, "answer"))
	}
	return nil
}

// read reads or makes the problems. What is wrong with a world of a file is its status.
func (f *contactFlags) read() (*contact.Problem, error) {
	if f.problems == "" {
		p, err := scenes.Generate(f.scene, f.worlds, f.seed)
		if err != nil {
			return nil, fmt.Errorf("--scene: %w", err)
		}
		return p, nil
	}
	p, _, _, err := readContacts(f.problems)
	if err == nil && p.Worlds == 0 {
		err = fmt.Errorf("%s: there is no world", f.problems)
	}
	return p, err
}

// batch solves all worlds under a model and audits the solution.
func (f *contactFlags) batch(ctx context.Context, e *env, p *contact.Problem, m contact.Model,
	s *contact.Solution) (contactLine, error) {
	nan := math.NaN()
	l := contactLine{name: m.String() + "-batch", coulomb: nan, dissipation: nan, internal: nan, bound: nan}
	o := contact.Options{Model: m, Tolerance: f.tolerance, Relaxation: f.omega, Workers: f.workers,
		Bound: f.bounds && m == contact.CCP}
	start := time.Now()
	if err := contact.Solve(ctx, p, o, s); err != nil {
		return l, err
	}
	l.seconds = time.Since(start).Seconds()
	report, err := verify.AuditContacts(p, s, verify.ContactAudit{Model: m, Tolerance: f.tolerance})
	if err != nil {
		return l, err
	}
	l.solved, l.undecided, l.invalid, l.faults = report.Solved, report.Undecided, report.Invalid, report.Wrong
	warnInvalid(e, p, s)
	for _, fault := range report.Failures[:min(5, len(report.Failures))] {
		e.Warn("%s: %v", l.name, fault)
	}
	for w, c := range report.Worlds {
		if l.residual = max(l.residual, c.Residual); c.Residual > 0 {
			l.relative = max(l.relative, c.Residual/c.Scale)
		}
		l.primal, l.dual = max(l.primal, c.Primal), max(l.dual, c.Dual)
		l.complementarity = max(l.complementarity, c.Complementarity)
		l.iterations += float64(s.Sweeps[w]+s.Steps[w]) / float64(p.Worlds)
		if o.Bound && s.Status[w] != contact.Invalid {
			if w == 0 || !(s.Bound[w] <= l.bound) {
				l.bound = s.Bound[w]
			}
		}
	}
	return l, nil
}

// warnInvalid says of the first invalid worlds why they are.
func warnInvalid(e *env, p *contact.Problem, s *contact.Solution) {
	const most = 5
	said := 0
	for w, status := range s.Status {
		if status == contact.Invalid && said < most {
			said++
			e.Warn("%v", p.CheckWorld(w))
		}
	}
}

// references solves every world by each solver of package ref.
func (f *contactFlags) references(ctx context.Context, p *contact.Problem) (lines []contactLine, err error) {
	for _, solver := range ref.ContactSolvers() {
		l := contactLine{name: solver.Name, bound: math.NaN()}
		for w := range p.Worlds {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if p.CheckWorld(w) != nil { // said where the batch was solved
				l.invalid++
				continue
			}
			if p.Count[w] == 0 {
				l.solved++
				continue
			}
			d, err := verify.DenseContacts(p, w)
			if err != nil {
				return nil, fmt.Errorf("world %d: %w", w, err)
			}
			o := ref.ContactOptions{Tolerance: f.tolerance, Limit: f.limit, Relaxation: f.omega}
			if first := 3 * w * p.Contacts; len(p.Warm) > 0 {
				o.Warm = p.Warm[first : first+3*int(p.Count[w])]
			}
			start := time.Now()
			r := solver.Solve(d, o)
			l.seconds += time.Since(start).Seconds()
			l.iterations += float64(r.Iterations) / float64(p.Worlds)
			if r.Decided {
				l.solved++
			} else {
				l.undecided++
			}
			e := &r.Residual
			l.residual, l.relative = max(l.residual, e.Natural), max(l.relative, e.Relative())
			l.primal, l.dual = max(l.primal, e.Primal), max(l.dual, e.Dual)
			l.complementarity = max(l.complementarity, e.Complementarity)
			l.coulomb, l.dissipation = max(l.coulomb, e.Coulomb), max(l.dissipation, e.Dissipation)
			l.internal = max(l.internal, e.Internal)
		}
		lines = append(lines, l)
	}
	return lines, nil
}

func printContacts(e *env, f *contactFlags, p *contact.Problem, lines []contactLine) error {
	of := fmt.Sprintf("%s, seed %d", f.scene, f.seed)
	if f.problems != "" {
		of = f.problems
	}
	fmt.Fprintf(e.Stdout, "%s of %s, tolerance %g\n", plural(p.Worlds, "world"), of, f.tolerance)
	tw := tabwriter.NewWriter(e.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "solver\tsolved\tundecided\tinvalid\titerations\tµs/world\tresidual m/s\trelative\t"+
		"ε_p N·s\tε_d m/s\tε_c J\tCoulomb N·s\t"+
		"dissipation J\tinternal N·s\tbound m/s\t")
	number := func(x float64) string {
		if math.IsNaN(x) {
			return "-"
		}
		return fmt.Sprintf("%.1e", x)
	}
	for _, l := range lines {
		fmt.Fprintf(tw, "%s\t%d\t%d\t%d\t%.1f\t%.1f\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", l.name, l.solved,
			l.undecided,
			l.invalid, l.iterations, 1e6*l.seconds/float64(p.Worlds), number(l.residual), number(l.relative),
			number(l.primal), number(l.dual),
			number(l.complementarity),
			number(l.coulomb), number(l.dissipation), number(l.internal), number(l.bound))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(e.Stdout, "Residuals are the largest of all worlds. They bound no error in velocity: the "+
		"ncp may have several solutions. Bounds of the ccp are proved (--bounds).")
	return err
}

// Metadata of files of contact problems.
const (
	metaModel  = "model"
	metaStatus = "status"
	// metaTimeStep is the key of the time step of files of steps.
	metaTimeStep = "time_step"
)

// contactColumns are the columns of a file of contact problems and, behind the warm start, of their solutions, in the
// order of contactValues. A row is a world. Widths follow from the numbers of bodies and contacts.
func contactColumns(bodies, contacts int) (problem, solution []dataset.ColumnSpec) {
	return dataset.SizedSpecs(table.Problems, bodies, contacts), dataset.SizedSpecs(table.Solutions, bodies, contacts)
}

// stepColumns tell the world-steps of a simulation apart.
var stepColumns = dataset.SizedSpecs(table.WorldSteps, 1, 1)

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
	for i := range table.Problems { // those that are not required are zero where they are missing
		if c := &table.Problems[i]; c.Required && !t.Has(c.Name) {
			return nil, nil, nil, fmt.Errorf("%s: column %s is missing: %s", path, c.Name, c.Meaning)
		}
	}
	if err := p.CheckShape(); err != nil {
		return nil, nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	if !t.Has("impulse") {
		return p, nil, t.Metadata, nil
	}
	for i := range table.Solutions {
		if c := &table.Solutions[i]; !t.Has(c.Name) {
			return nil, nil, nil, fmt.Errorf("%s: column %s of the solution is missing: %s", path, c.Name, c.Meaning)
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
