package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"clearance/contact"
	"clearance/internal/console"
	"clearance/verify"

	"github.com/spf13/cobra"
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
	fs.Var(choice[contact.Model]{&f.options.Model, contact.ParseModel}, "model", "ncp or ccp")
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
