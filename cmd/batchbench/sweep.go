package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"clearance/batch"
	"clearance/dataset"
	"clearance/internal/console"
	"clearance/internal/score"
	"clearance/rollout"
	"clearance/rollout/sweep"
	"clearance/verify"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// sweepName is the query of sweeps in reports and files.
const sweepName = "sweep"

// sweepFlags are the flags of the question that `sweep` answers and `verify sweep` audits.
type sweepFlags struct {
	options     sweep.Options
	maxDistance float64
}

// addQuestion registers the flags that define a correct answer.
func (f *sweepFlags) addQuestion(fs *pflag.FlagSet) {
	fs.Float64Var(&f.options.Tolerance, "tolerance", 0, fmt.Sprintf("distance, relative to the size of the parts, "+
		"below which they are in contact; 0 is %g", sweep.DefaultTolerance))
	fs.Float64Var(&f.options.TimeTolerance, "time-tolerance", 0, fmt.Sprintf("largest width of the interval of the "+
		"first contact, way points being 1 apart; 0 is %g", sweep.DefaultTimeTolerance))
	addMaxDistance(fs, &f.maxDistance)
}

// check completes the options and returns an error for a value out of range.
func (f *sweepFlags) check() error {
	if f.maxDistance != math.Inf(1) {
		f.options.MaxDistance, f.options.HasMaxDistance = f.maxDistance, true
	}
	if err := f.options.Check(); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "sweep: "))
	}
	return nil
}

func newSweep(e *env) *cobra.Command {
	var f struct {
		answerFlags
		backendFlags
		sweepFlags
	}
	c := &cobra.Command{
		Use:   "sweep --shapes shapes.json --worlds motions.parquet|.npz --out results.parquet|.npz",
		Short: "find the first contacts of moving bodies",
		Long: `Reads poses of bodies at way points and writes, for each pair of bodies, the interval
of the first contact or a lower bound of the distance over the whole motion. Distances
are in double precision. The results file appears under its name only once it is complete.

With --rows whole worlds of the file are answered, so that several machines can share it.

An invalid row gets state invalid and is listed; all other rows are answered. The exit
code is then 2. Without invalid rows it is 1 if a row is undecided.`,
		Args: console.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return runSweep(c.Context(), e, &f.answerFlags, &f.backendFlags, &f.sweepFlags)
		},
	}
	fs := c.Flags()
	f.modelFlags.add(fs)
	f.addWorlds(fs, "motions of bodies along way points")
	f.answerFlags.add(fs, ", whole worlds")
	f.backendFlags.add(fs)
	f.addQuestion(fs)
	fs.IntVar(&f.options.MaxEvaluations, "max-evaluations", 0, fmt.Sprintf("poses of a pair of parts at which the "+
		"solvers are asked, beyond which a row is undecided; 0 is %d", sweep.DefaultMaxEvaluations))
	return c
}

// runSweep finds the first contacts of worlds of moving bodies.
func runSweep(ctx context.Context, e *env, f *answerFlags, b *backendFlags, q *sweepFlags) error {
	if err := f.checkWorlds(); err != nil {
		return err
	}
	if err := errors.Join(b.check(), q.check()); err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	h, err := b.open()
	if err != nil {
		return err
	}
	defer h.Close()
	bodies, err := f.bodies(ctx, e)
	if err != nil {
		return err
	}
	file, err := dataset.OpenMotions(f.worlds, bodies)
	if err != nil {
		return err
	}
	defer file.Close()
	part, err := f.rows.worlds(file.Count(), file.RowsPerWorld())
	if err != nil {
		return err
	}
	stream := &rollout.Stream[*batch.Motions]{Bodies: bodies, Source: file, Lo: part.Lo, Hi: part.Hi}
	o := q.options
	o.Workers = b.workers
	out, err := score.CreateSweep(f.out, file, o.Tolerance, o.TimeTolerance, part)
	if err != nil {
		return err
	}
	defer out.Abort()
	bar := e.Progress("sweep", int64(part.Len())*int64(file.RowsPerWorld()))
	defer bar.Done()
	rep, err := rollout.SweepStream(ctx, h.Dispatcher(), stream, o, f.runOptions(b.backend, bar), out.Write)
	if err != nil {
		return f.ofFile(ctx, err)
	}
	if err := out.Close(); err != nil {
		return err
	}
	for _, row := range rep.RowErrors {
		e.Warn("%s: %v", f.worlds, row)
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

// sweepReport is the report of `sweep --json`.
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
		Program: "batchbench sweep", Version: console.Version(), Date: console.Now(), Platform: console.Platform(),
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
