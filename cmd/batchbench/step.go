package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/contact"
	"clearance/contact/scenes"
	"clearance/cpu"
	"clearance/dataset"
	"clearance/dispatch"
	"clearance/internal/console"
	"clearance/internal/memory"
	"clearance/internal/score"
	"clearance/kernels"
	native "clearance/kernels/contact"
	"clearance/verify"
)

// stepFlags are the flags of `step`.
type stepFlags struct {
	inputFlags
	scene, velocities              string
	count                          int
	seed                           uint64
	steps, every, saveEvery        int
	options                        contact.StepOptions
	gravity                        []float64
	friction, restitution, density float64
	reference                      bool
	simd, kernels                  string // as asked for; of the pairs, with those of the contacts
	out, problems, contacts, json  string
	frictionRule, restitutionRule  contact.Rule
	resume                         bool
	version                        string // of the program: bits may depend on it
}

func newStepFlags() stepFlags {
	f := stepFlags{count: 1000, seed: 1, steps: 1000, every: 1, saveEvery: 1000, gravity: []float64{0, 0, -9.81},
		friction: 0.5, version: console.Version()}
	f.options.TimeStep = 5e-3
	return f
}

// addScene registers the flags of the worlds, and the time step, that `step` makes and `verify contact` audits.
func (f *stepFlags) addScene(fs *pflag.FlagSet) {
	f.addWorlds(fs, "worlds of bodies, or of shapes")
	fs.StringVar(&f.scene, "scene", "", "in place of files, a kind of seeded scene: "+
		strings.Join(scenes.SimulationKinds(), ", "))
	fs.IntVar(&f.count, "count", f.count, "number of worlds of --scene")
	fs.Uint64Var(&f.seed, "seed", f.seed, "seed of --scene")
	fs.Float64Var(&f.options.TimeStep, "time-step", f.options.TimeStep, "seconds")
	fs.Float64Var(&f.density, "density", 0, "kg/m³ of bodies that state no mass; 0: they must state one")
}

// checkScene returns an error for flags of worlds that are missing or do not go together.
func (f *stepFlags) checkScene() error {
	switch {
	case f.scene == "" && f.worlds == "" && f.shapes == "":
		return errors.New("there are no worlds; give --shapes and --worlds, or --scene")
	case f.scene != "" && (f.worlds != "" || f.shapes != ""):
		return errors.New("--scene and files of worlds are two forms of the same input; give one of them")
	case f.scene != "" && f.count < 1:
		return fmt.Errorf("--count %d: there is no world", f.count)
	case !(f.density >= 0) || math.IsInf(f.density, 1):
		return fmt.Errorf("--density %g: it is finite and not negative", f.density)
	case f.scene == "":
		return f.checkWorlds()
	}
	return nil
}

func newStep(e *env) *cobra.Command {
	f := newStepFlags()
	c := &cobra.Command{
		Use:   "step --shapes shapes.json --worlds worlds.parquet|.npz --out states.parquet|.npz",
		Short: "simulate worlds of free rigid bodies",
		Long: `Advances worlds of free rigid bodies by time steps: pairs, contact points, contact impulses,
poses. The worlds come from files, as 'rollout' takes them, whose bodies may state mass or
density, inertia, center_of_mass, friction, restitution and fixed; or of a seeded --scene. They
begin at rest, or with the columns velocity [B,3], of centers of mass in m/s, and spin [B,3],
angular velocities in rad/s, both in world axes, of a file with a row for each world (--velocities).

The results have a row for each world and recorded step, in this order, the first state
included: poses, velocities, angular momenta (of fixed bodies angular velocities), the status,
and of the last step the number of contacts, the error of the energy identity, and the
residuals of the contact impulses, and the force and torque of all contacts on each body.
--contacts writes a row for each contact: bodies, parts, position, normal, impulse, gap and id.
--problems writes the contact problems with their impulses, which 'verify contact' audits.

A contact has the friction and the restitution that the file of shapes states of its pair, or the
combination of those of its bodies or parts by a rule: --friction-rule, --restitution-rule.

A world that is not advanced keeps its state and says why; the others go on. Where ten steps in a
row advance no world, the run ends, with the states before. After an interrupt
the same command with --resume goes on where the last saved step was, in the folder
OUT.parts; the results have the same bits as those of a run without an interrupt.`,
		Args: console.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runStep(c.Context(), e, &f) },
	}
	fs := c.Flags()
	f.addScene(fs)
	fs.StringVar(&f.velocities, "velocities", "", "file of first velocities, .parquet or .npz")
	fs.IntVar(&f.steps, "steps", f.steps, "number of time steps")
	fs.IntVar(&f.every, "every", f.every, "record each of so many steps")
	o := &f.options
	fs.Var(choice[contact.Model]{&o.Solve.Model, contact.Models.Parse}, "model", "ncp, Coulomb's law, or ccp, its "+
		"convex relaxation")
	fs.Float64Var(&o.Solve.Tolerance, "tolerance",
		1e-6, "largest residual of a solved world, relative to its speed scale")
	fs.Float64SliceVar(&f.gravity, "gravity", f.gravity, "m/s² along x, y and z")
	fs.Float64Var(&o.MaxGap, "max-gap", 0, "largest gap of a contact in metres; 0: what a step may close")
	fs.Float64Var(&o.Correction, "correction", 0, "share of a penetration that a step removes; 0 is 0.1, negative none")
	fs.Float64Var(&o.Compliance, "compliance", 0, "of contacts, relative to the inverse masses; 0: rigid")
	fs.IntVar(&o.Contacts, "max-contacts", 0, "largest number of contacts of a world; 0: no limit but memory")
	fs.Var(choice[contact.RestitutionLaw]{&o.Restitution, contact.RestitutionLaws.Parse}, "restitution-law",
		"bounded, by which impacts create no energy, or newton")
	fs.BoolVar(&o.Accept, "accept", false, "advance worlds whose contact problem is undecided")
	fs.Float64Var(&f.friction, "friction", f.friction, "of bodies that state none")
	fs.Float64Var(&f.restitution, "restitution", 0, "of bodies that state none")
	fs.Var(choice[contact.Rule]{&f.frictionRule, contact.Rules.Parse}, "friction-rule",
		"combination of the frictions of two bodies: "+strings.Join(contact.Rules.List, ", ")+
			"; standard is geometric_mean")
	fs.Var(choice[contact.Rule]{&f.restitutionRule, contact.Rules.Parse}, "restitution-rule",
		"likewise of restitutions; standard is maximum")
	fs.IntVar(&o.Solve.Workers, "workers", 0, "goroutines; 0 is one per core")
	fs.BoolVar(&f.reference, "reference", false, "pairs are solved by the reference")
	fs.StringVar(&f.simd, "simd", "", "kernels of the CPU: avx512, avx2, neon, portable or off; default: "+
		"$CLEARANCE_SIMD, else the best")
	fs.StringVar(&f.out, "out", "", "file of states to write, .parquet or .npz")
	fs.StringVar(&f.problems, "problems", "", "file of contact problems and impulses to write, .parquet or .npz")
	fs.StringVar(&f.contacts, "contacts", "", "file of contacts to write, .parquet or .npz")
	fs.StringVar(&f.json, "json", "", "write the report as JSON to this file, - for standard output")
	fs.IntVar(&f.saveEvery, "save-every", f.saveEvery, "save the run after each of so many steps, and wherever rows "+
		"fill the memory that they may take")
	fs.BoolVar(&f.resume, "resume", false, "go on with an interrupted run")
	return c
}

func (f *stepFlags) check() error {
	o := &f.options
	if err := f.checkScene(); err != nil {
		return err
	}
	switch {
	case f.steps < 1 || f.steps > math.MaxInt32:
		return fmt.Errorf("--steps %d: want 1 to %d", f.steps, math.MaxInt32)
	case o.Solve.Workers < 0 || o.Solve.Workers > maxWorkers:
		return fmt.Errorf("--workers %d: want 1 to %d, or 0 for one per core", o.Solve.Workers, maxWorkers)
	case f.every < 1 || f.saveEvery < 1:
		return fmt.Errorf("--every %d, --save-every %d: want 1 or more", f.every, f.saveEvery)
	case len(f.gravity) != 3:
		return fmt.Errorf("--gravity: %d numbers, want 3", len(f.gravity))
	case !(f.friction >= 0) || math.IsInf(f.friction, 1):
		return fmt.Errorf("--friction %g: it is finite and not negative", f.friction)
	case !(f.restitution >= 0 && f.restitution <= 1):
		return fmt.Errorf("--restitution %g: it lies in 0 to 1", f.restitution)
	case !(o.Solve.Tolerance > 0):
		return fmt.Errorf("--tolerance %g: it is positive", o.Solve.Tolerance)
	}
	if err := f.chooseKernels(); err != nil {
		return err
	}
	o.Gravity = r3.Vec{X: f.gravity[0], Y: f.gravity[1], Z: f.gravity[2]}
	if err := needFlags("out", f.out); err != nil {
		return err
	}
	for _, out := range []namedFile{{"out", f.out}, {"problems", f.problems}, {"contacts", f.contacts}} {
		if err := checkColumnFile(out.flag, out.path); err != nil {
			return err
		}
	}
	inputs := append(f.files(f.json), namedFile{"velocities", f.velocities})
	return checkOutputs(inputs, []namedFile{{"out", f.out}, {"problems", f.problems},
		{"contacts", f.contacts}, {"json", f.json}})
}

// chooseKernels chooses those of pairs and of contacts: the bits of a run depend on both.
func (f *stepFlags) chooseKernels() error {
	name, err := kernels.Named(f.simd, "--simd")
	if err != nil {
		return err
	}
	pairs := kernels.Best(name, kernels.Supported())
	f.options.Solve.SIMD = kernels.Best(name, native.Supported())
	f.kernels = fmt.Sprintf("%s, %s of %s", pairs, f.options.Solve.SIMD, native.Supported())
	return nil
}

// read reads or makes the scene and its first state.
func (f *stepFlags) read(ctx context.Context, e *env) (*contact.Scene, *contact.State, error) {
	scene, state, err := f.readWorlds(ctx, e)
	if err == nil {
		scene.FrictionRule, scene.RestitutionRule = f.frictionRule, f.restitutionRule
	}
	if err != nil || f.velocities == "" {
		return scene, state, err
	}
	return scene, state, f.readVelocities(scene, state)
}

// readVelocities sets the velocities of the first state.
func (f *stepFlags) readVelocities(scene *contact.Scene, state *contact.State) error {
	b := max(len(scene.Body), 1)
	t, err := dataset.ReadColumns(f.velocities, []dataset.ColumnSpec{{Name: "velocity", Width: 3 * b},
		{Name: "spin", Width: 3 * b}})
	if err != nil {
		return err
	}
	velocity, spin := t.Reals("velocity"), t.Reals("spin")
	switch {
	case velocity == nil && spin == nil:
		return fmt.Errorf("%s: neither column velocity nor spin", f.velocities)
	case t.Rows != state.Worlds:
		return fmt.Errorf("%s: %d rows; there are %s", f.velocities, t.Rows, plural(state.Worlds, "world"))
	}
	for _, c := range []struct {
		name   string
		values []float64
	}{{"velocity", velocity}, {"spin", spin}} {
		for i, x := range c.values {
			if x-x != 0 {
				return fmt.Errorf("%s: column %s, row %d, body %d: %g is not finite", f.velocities, c.name, i/(3*b),
					i/3%b, x)
			}
		}
	}
	state.Velocity = velocity
	for k := range len(spin) / 3 {
		q, w := state.Pose[7*k+3:], spin[3*k:]
		l := scene.Momentum(k%b, quat.Number{Real: q[0], Imag: q[1], Jmag: q[2], Kmag: q[3]},
			r3.Vec{X: w[0], Y: w[1], Z: w[2]})
		state.Momentum = append(state.Momentum, l.X, l.Y, l.Z)
	}
	return nil
}

// readWorlds reads or makes the scene, at rest.
func (f *stepFlags) readWorlds(ctx context.Context, e *env) (*contact.Scene, *contact.State, error) {
	if f.scene != "" {
		scene, state, err := scenes.Simulation(f.scene, f.count, f.seed)
		if err != nil {
			return nil, nil, fmt.Errorf("--scene: %w", err)
		}
		return scene, state, nil
	}
	q := rolloutFlags{}
	bodies, worlds, err := q.read(ctx, e, &f.inputFlags)
	if err != nil {
		return nil, nil, err
	}
	defaults := batch.Physics{Friction: &f.friction, Restitution: &f.restitution}
	if f.density != 0 {
		defaults.Density = &f.density
	}
	return score.Simulation(f.shapes, f.worlds, bodies, worlds, defaults)
}

// pairs returns the back end that answers the pairs.
func (f *stepFlags) pairs() (*dispatch.Dispatcher, error) {
	if f.reference {
		return dispatch.New(cpu.NewReference()), nil
	}
	c, err := cpu.New(cpu.Options{Workers: f.options.Solve.Workers, SIMD: f.simd})
	if err != nil {
		return nil, err
	}
	return dispatch.New(c), nil
}

func runStep(ctx context.Context, e *env, f *stepFlags) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	scene, state, err := f.read(ctx, e)
	if err != nil {
		return err
	}
	pairs, err := f.pairs()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pairs.Close()) }()
	r, err := f.begin(scene, state, pairs.Steps(""))
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "contact: "))
	}
	defer r.locked.Close()
	bar := e.Progress("step", int64(f.steps-r.step))
	defer bar.Done()
	start := time.Now()
	first := r.step
	for r.step < f.steps && err == nil {
		if err = r.advance(ctx); err == nil {
			bar.Add(1)
			if r.step%f.saveEvery == 0 || r.held() > r.most {
				err = r.save()
			}
		}
	}
	bar.Done()
	var still *contact.StillError
	if err != nil && !errors.As(err, &still) {
		if ctx.Err() != nil {
			r.interrupted(e)
		}
		return err
	}
	seconds := time.Since(start).Seconds()
	if err := r.finish(); err != nil {
		return err
	}
	err = r.report(e, seconds, r.step-first)
	if still != nil && (err == nil || console.ExitCode(err) == exitWrong) {
		return console.Wrong("%s; the run ends after step %d of %d", strings.TrimPrefix(still.Error(), "contact: "),
			r.step, f.steps)
	}
	return err
}

// interrupted saves the steps of a run that was interrupted.
func (r *stepRun) interrupted(e *env) {
	if err := r.save(); err != nil {
		e.Warn("the steps since the last part of %s are not saved: %v", r.folder, err)
		return
	}
	e.Warn("%s steps of %s are saved in %s; the same command with --resume goes on", thousands(int64(r.step)),
		thousands(int64(r.flags.steps)), r.folder)
}

// stepReport is the report of `step --json`.
type stepReport struct {
	Program    string           `json:"program"`
	Version    string           `json:"version"`
	Date       string           `json:"date"`
	Platform   string           `json:"platform"`
	Model      string           `json:"model"`
	Tolerance  verify.Number    `json:"tolerance"`
	TimeStep   verify.Number    `json:"time_step"`
	Worlds     int              `json:"worlds"`
	Bodies     int              `json:"bodies"`
	Steps      int              `json:"steps"`
	Timed      int              `json:"timed_steps"` // of this process
	Seconds    verify.Number    `json:"seconds"`
	WorldSteps map[string]int64 `json:"world_steps"` // by status
	Energy     verify.Number    `json:"largest_energy_error"`
	Residual   verify.Number    `json:"largest_residual"` // of world-steps that were advanced
}

func (r *stepRun) report(e *env, seconds float64, timed int) error {
	f := r.flags
	rep := &stepReport{Program: "batchbench step", Version: console.Version(), Date: console.Now(),
		Platform: console.Platform(),
		Model:    f.options.Solve.Model.String(), Tolerance: verify.Number(f.options.Solve.Tolerance),
		TimeStep: verify.Number(f.options.TimeStep), Worlds: r.worlds, Bodies: r.bodies, Steps: r.step, Timed: timed,
		Seconds: verify.Number(seconds), WorldSteps: map[string]int64{}, Energy: verify.Number(r.energy),
		Residual: verify.Number(r.residual)}
	failed := int64(0)
	for s, n := range r.counts {
		if n > 0 {
			status := contact.StepStatus(s)
			rep.WorldSteps[status.String()] = n
			if !status.Advances() {
				failed += n
			}
		}
	}
	if f.json != "" {
		if err := console.WriteJSON(e.Stdout, f.json, rep); err != nil {
			return err
		}
	}
	if f.json != "-" {
		if err := rep.print(e.Stdout, f.out); err != nil {
			return err
		}
	}
	if failed > 0 {
		return console.Wrong("%s not advanced; the column status says why", plural(failed, "world-step"))
	}
	return nil
}

func (r *stepReport) print(w io.Writer, out string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %d bodies, %s of %g s by the %s to %g\n", plural(r.Worlds, "world"), r.Bodies,
		plural(r.Steps, "step"), float64(r.TimeStep), r.Model, float64(r.Tolerance))
	if r.Seconds > 0 {
		rate := float64(r.Worlds) * float64(r.Timed) / float64(r.Seconds)
		fmt.Fprintf(&b, "%s in %.3gs, with the files of the run: %s a second\n", plural(r.Timed, "step"),
			float64(r.Seconds), plural(int64(rate), "world-step"))
	}
	for _, name := range contact.StepStatuses.List {
		if n := r.WorldSteps[name]; n > 0 {
			fmt.Fprintf(&b, "%s: %s\n", name, plural(n, "world-step"))
		}
	}
	fmt.Fprintf(&b, "largest residual %s, largest error of the energy identity %s J\n",
		strconv.FormatFloat(float64(r.Residual), 'g', 3, 64), strconv.FormatFloat(float64(r.Energy), 'g', 3, 64))
	fmt.Fprintf(&b, "states: %s\n", out)
	_, err := io.WriteString(w, b.String())
	return err
}

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
	list := stepColumns[:1:1] // the step
	for _, k := range contact.ContactColumns {
		if k.IDs != nil {
			list = append(list, dataset.ColumnSpec{Name: k.Name + "_high", Width: 1, Ints: true},
				dataset.ColumnSpec{Name: k.Name + "_low", Width: 1, Ints: true})
			continue
		}
		list = append(list, dataset.ColumnSpec{Name: k.Name, Width: k.Width, Ints: k.Ints != nil})
	}
	return list
}

// addListed adds the contacts of a step to rows.
func addListed(to *columnBuffer, step int32, c *contact.Contacts) {
	values := []any{slices.Repeat([]int32{step}, c.Len())}
	for _, k := range contact.ContactColumns {
		switch {
		case k.Ints != nil:
			values = append(values, *k.Ints(c))
		case k.Reals != nil:
			values = append(values, *k.Reals(c))
		default:
			high, low := halves(*k.IDs(c))
			values = append(values, high, low)
		}
	}
	to.add(c.Len(), values...)
}

// readListed returns the contacts of the rows of a file.
func readListed(t *dataset.ColumnTable) (c contact.Contacts) {
	for _, k := range contact.ContactColumns {
		switch {
		case k.Ints != nil:
			*k.Ints(&c) = t.Ints(k.Name)
		case k.Reals != nil:
			*k.Reals(&c) = t.Reals(k.Name)
		default:
			low := t.Ints(k.Name + "_low")
			for i, high := range t.Ints(k.Name + "_high") {
				*k.IDs(&c) = append(*k.IDs(&c), joined(high, low[i]))
			}
		}
	}
	return c
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
