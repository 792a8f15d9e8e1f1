package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"clearance/batch"
	"clearance/dataset"
	"clearance/dispatch"
	"clearance/rollout"
	"clearance/rollout/sweep"
	"clearance/verify"

	"github.com/spf13/pflag"
)

// sweepName is the query of sweeps, which is one of worlds alone.
const sweepName = "sweep"

// allPairs is the value of --pairs for all pairs of the bodies of a world.
const allPairs = "all"

// sweepFlags are the flags of `score` for sweeps.
type sweepFlags struct {
	sweep         bool
	timeTolerance float64
	maxEvaluation int
}

// queryOrSweep is the flag --query with the query sweep besides those of pairs.
type queryOrSweep struct {
	pflag.Value
	sweep *bool
}

func (q queryOrSweep) String() string {
	if q.sweep != nil && *q.sweep {
		return sweepName
	}
	return q.Value.String()
}

func (q queryOrSweep) Set(s string) error {
	if *q.sweep = s == sweepName; *q.sweep {
		return nil
	}
	return q.Value.Set(s)
}

// add registers the flags, and sweep as a value of the flag query.
func (f *sweepFlags) add(fs *pflag.FlagSet) {
	query := fs.Lookup("query")
	query.Value = queryOrSweep{query.Value, &f.sweep}
	query.Usage += "; with --worlds also sweep, for the first contact of bodies that move along way points"
	fs.Float64Var(&f.timeTolerance, "time-tolerance", 0, fmt.Sprintf("with --query sweep: largest width of the "+
		"interval of the first contact, way points being 1 apart; 0 is %g", sweep.DefaultTimeTolerance))
}

// addLimit registers the flag of score alone.
func (f *sweepFlags) addLimit(fs *pflag.FlagSet) {
	fs.IntVar(&f.maxEvaluation, "max-evaluations", 0, fmt.Sprintf("with --query sweep: poses of a pair of parts at "+
		"which the solvers are asked, beyond which a row is undecided; 0 is %d", sweep.DefaultMaxEvaluations))
}

// checkSweep returns an error for flags that do not go together.
func (f *scoreFlags) checkSweep() error {
	switch {
	case !f.sweep && (f.timeTolerance != 0 || f.maxEvaluation != 0):
		return errors.New("--time-tolerance and --max-evaluations apply to --query sweep")
	case !f.sweep:
		return nil
	case f.worlds == "":
		return errors.New("--query sweep applies to --worlds, with poses at way points")
	case f.given("precision") && f.options.Precision != batch.Double:
		return errors.New("--precision single does not apply to --query sweep, whose distances are in double precision")
	}
	for _, name := range []string{"audit", "reduce", "no-culling", "pairs", "columns", "cutoff", "method",
		"max-iterations"} {
		if f.given(name) {
			return fmt.Errorf("--%s does not apply to --query sweep", name)
		}
	}
	return nil
}

// scoreSweep finds the first contacts of worlds of moving bodies.
func scoreSweep(ctx context.Context, e *env, f *scoreFlags, d *dispatch.Dispatcher) error {
	bodies, err := dataset.ReadBodies(f.shapes)
	if err != nil {
		return err
	}
	motions, err := dataset.ReadMotions(f.worlds, bodies)
	if err != nil {
		return err
	}
	first, end, err := f.rows.worlds(motions.Count(), len(motions.TemplateA))
	if err != nil {
		return err
	}
	motions = motions.Slice(first, end)
	o := sweep.Options{TimeTolerance: f.timeTolerance, Tolerance: f.options.Tolerance, MaxEvaluations: f.maxEvaluation,
		Workers: f.workers}
	if f.maxDistance != math.Inf(1) {
		o.MaxDistance, o.HasMaxDistance = f.maxDistance, true
	}
	if err := o.Check(); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "sweep: "))
	}
	job := &rollout.SweepJob{Bodies: bodies, Motions: motions, Options: o}
	bar := e.progress("score", int64(motions.Len()))
	defer bar.done()
	last := 0
	rep, err := rollout.Sweep(ctx, d, job, dispatch.Options{Backend: f.backend, MaxRowErrors: listedRowErrors,
		Progress: func(done, _ int) { bar.add(done - last); last = done }})
	if err != nil {
		return f.ofFile(ctx, err)
	}
	meta := map[string]string{metaTolerance: strconv.FormatFloat(o.Tolerance, 'g', -1, 64),
		"time_tolerance": strconv.FormatFloat(o.TimeTolerance, 'g', -1, 64)}
	if f.rows.given {
		meta[metaRows] = f.rows.String()
	}
	if err := dataset.WriteSweepResults(f.out, job.Results, motions.Count(), motions.WayPoints(), meta); err != nil {
		return err
	}
	for _, row := range rep.RowErrors {
		row.World += first
		e.warn("%s: %v", f.worlds, row)
	}
	report := newSweepReport(&rep)
	if err := f.write(e, report); err != nil {
		return err
	}
	advice := "try a larger --tolerance"
	if rep.Limited > 0 {
		advice = fmt.Sprintf("%s reached the limit of evaluations, try a larger --max-evaluations",
			plural(rep.Limited, "row"))
	}
	return f.unanswered(int64(report.Invalid), int64(report.Undecided), int64(report.Rows), "state", advice)
}

// sweepReport is the report of `score --query sweep --json`.
type sweepReport struct {
	Program     string        `json:"program"`
	Version     string        `json:"version"`
	Date        string        `json:"date"`
	Platform    string        `json:"platform"`
	Backend     string        `json:"backend"`
	Why         string        `json:"why"`
	Query       string        `json:"query"`
	Worlds      int           `json:"worlds"`
	Rows        int           `json:"rows"`
	Clock       string        `json:"clock"`
	Seconds     verify.Number `json:"seconds"`
	Evaluations int64         `json:"evaluations"`
	Free        int           `json:"free"`
	Contact     int           `json:"contact"`
	Undecided   int           `json:"undecided"`
	Invalid     int           `json:"invalid"`
	RowErrors   []string      `json:"row_errors,omitempty"`
}

func newSweepReport(rep *rollout.SweepReport) *sweepReport {
	r := &sweepReport{
		Program: "batchbench score", Version: versionString(), Date: now(), Platform: platform(),
		Backend: rep.Backend, Why: rep.Why, Query: sweepName, Worlds: rep.Worlds, Rows: rep.Rows,
		Clock: "without reading and writing the files", Seconds: verify.Number(rep.Wall.Seconds()),
		Evaluations: rep.Evaluations, Free: rep.States[sweep.Free], Contact: rep.States[sweep.Contact],
		Undecided: rep.States[sweep.Undecided], Invalid: rep.States[sweep.Invalid],
	}
	for _, row := range rep.RowErrors {
		r.RowErrors = append(r.RowErrors, row.Error())
	}
	return r
}

func (r *sweepReport) print(w io.Writer, out string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", r.Backend, r.Why)
	fmt.Fprintf(&b, "query %s: %s, %s of bodies in %.3gs (%s)\n", r.Query, plural(r.Worlds, "world"),
		plural(r.Rows, "pair"), float64(r.Seconds), r.Clock)
	fmt.Fprintf(&b, "%s free, %s in contact, %s undecided, %s invalid; distances of parts at %s\n", thousands(r.Free),
		thousands(r.Contact), thousands(r.Undecided), thousands(r.Invalid), plural(r.Evaluations, "pose"))
	fmt.Fprintf(&b, "results: %s\n", out)
	_, err := io.WriteString(w, b.String())
	return err
}
