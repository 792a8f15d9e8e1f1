package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"clearance/batch"
	"clearance/dataset"
	"clearance/dispatch"
	"clearance/internal/audit"
	"clearance/internal/console"
	"clearance/internal/score"
	"clearance/rollout"
	"clearance/rollout/sweep"
	"clearance/verify"
)

// rolloutFlags are the flags of the question that `rollout` answers and `verify rollout` audits.
type rolloutFlags struct {
	solveFlags
	maxDistance float64
	reduce      rollout.Reduce
	allPairs    bool
	noCulling   bool
}

// addQuestion registers the flags that define a correct answer.
func (f *rolloutFlags) addQuestion(fs *pflag.FlagSet) {
	addMaxDistance(fs, &f.maxDistance)
	fs.Var(choice[rollout.Reduce]{&f.reduce, rollout.ParseReduce}, "reduce", "none, or world for one row per world, "+
		"that of its least pair")
	fs.BoolVar(&f.allPairs, "all-pairs", false, "all pairs of the bodies of a world, whatever pairs the file lists")
}

// addMaxDistance registers the flag --max-distance.
func addMaxDistance(fs *pflag.FlagSet, d *float64) {
	fs.Float64Var(d, "max-distance", math.Inf(1), "distance in metres; pairs of bodies beyond it are only proved to "+
		"be so, mostly by bounds and without a solver")
}

// rolloutOptions are the options of a rollout.
func (f *rolloutFlags) rolloutOptions() (rollout.Options, error) {
	o := rollout.Options{Options: f.options, Reduce: f.reduce, NoCulling: f.noCulling, Workers: f.workers}
	if f.maxDistance != math.Inf(1) {
		o.MaxDistance, o.HasMaxDistance = f.maxDistance, true
	}
	if err := o.Check(); err != nil {
		return o, errors.New(strings.TrimPrefix(strings.TrimPrefix(err.Error(), "rollout: "), "batch: "))
	}
	return o, nil
}

// openWorlds opens the worlds of the files, and reads their bodies.
func (f *rolloutFlags) openWorlds(ctx context.Context, e *env, in *inputFlags) (*score.WorldSource, error) {
	bodies, err := in.bodies(ctx, e)
	if err != nil {
		return nil, err
	}
	return score.OpenWorlds(in.worlds, bodies, f.allPairs)
}

// read reads the bodies and all worlds of the files.
func (f *rolloutFlags) read(ctx context.Context, e *env, in *inputFlags) (*batch.Bodies, *batch.Worlds, error) {
	s, err := f.openWorlds(ctx, e, in)
	if err != nil {
		return nil, nil, err
	}
	defer s.Close()
	w, err := s.Worlds(0, s.Count())
	return s.Bodies, w, err
}

func newRollout(e *env) *cobra.Command {
	var f struct {
		answerFlags
		rolloutFlags
		audit bool
	}
	c := &cobra.Command{
		Use:   "rollout --shapes shapes.json --worlds worlds.parquet|.npz --out results.parquet|.npz",
		Short: "answer the pairs of bodies of worlds",
		Long: `Answers the pairs of bodies of worlds; the answer of a pair of bodies is the answer of its
nearest, or deepest, pair of parts, which the columns part_a and part_b name. With
--reduce world there is one row per world. With --all-pairs, or where the file lists no
pairs, all pairs of the bodies of a world are asked, and the results have rows
(world, body_a, body_b) for those within --max-distance.

The results file appears under its name only once it is complete and, with --audit,
checked. With --rows whole worlds of the file are answered, so that several machines
can share it.

` + failedRows,
		Args: console.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return runRollout(c.Context(), e, &f.answerFlags, &f.rolloutFlags, f.audit)
		},
	}
	fs := c.Flags()
	f.modelFlags.add(fs)
	f.addWorlds(fs, "worlds of bodies, or of shapes")
	f.answerFlags.add(fs, ", whole worlds")
	f.addColumns(fs)
	fs.BoolVar(&f.audit, "audit", false, "audit the answers before the file gets its name, as 'verify rollout' does")
	f.solveFlags.add(fs)
	f.rolloutFlags.addQuestion(fs)
	fs.BoolVar(&f.noCulling, "no-culling", false, "every pair of parts is solved")
	return c
}

// runRollout answers worlds of bodies into the results file.
func runRollout(ctx context.Context, e *env, f *answerFlags, q *rolloutFlags, audited bool) error {
	if err := f.checkWorlds(); err != nil {
		return err
	}
	if err := q.check(); err != nil {
		return err
	}
	if err := checkAudit(audited, q.options.Columns); err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	h, err := q.open()
	if err != nil {
		return err
	}
	defer h.Close()
	file, err := q.openWorlds(ctx, e, &f.inputFlags)
	if err != nil {
		return err
	}
	defer file.Close()
	part, err := f.rows.worlds(file.Count(), file.RowsPerWorld())
	if err != nil {
		return err
	}
	stream := &rollout.Stream[*batch.Worlds]{Bodies: file.Bodies, Source: file, Lo: part.Lo, Hi: part.Hi}
	o, err := q.rolloutOptions()
	if err != nil {
		return err
	}
	sample := &audit.Sample{Pairs: audit.DefaultPairs, Seed: 1, Workers: q.workers}
	if audited {
		stream.Source = sample.Checked(file.Bodies, file)
	}
	out := file.CreateRollout(f.out, &o, part)
	defer out.Abort()
	bar := e.Progress("rollout", int64(part.Len()*max(file.RowsPerWorld(), 1)))
	defer bar.Done()
	results := 0
	rep, err := rollout.RunStream(ctx, h.Dispatcher(), stream, o, f.runOptions(q.backend, bar),
		func(r *rollout.Results) error {
			results += r.N
			return out.Write(r)
		})
	if err != nil {
		return f.ofFile(ctx, err)
	}
	bar.Done()
	var found *audit.Rollout
	if audited { // before the file gets its name: after an interrupt there is none
		bar := e.Progress("verify", int64(results))
		defer bar.Done()
		sample.Progress = bar.Add
		complete, err := out.Complete()
		if err != nil {
			return err
		}
		files := &audit.RolloutFiles{AllPairs: q.allPairs, Options: o,
			Files: audit.Files{Bodies: file.Bodies, Worlds: f.worlds, Results: complete, Lo: part.Lo, Hi: part.Hi}}
		if found, err = files.Audit(ctx, sample); err != nil {
			return err
		}
	}
	if err := out.Close(); err != nil {
		return err
	}
	for _, row := range rep.RowErrors {
		e.Warn("%s: %v", f.worlds, row)
	}
	report := newRolloutReport(&o, &rep)
	report.Results = results
	report.Audit = found
	if err := f.write(e, report); err != nil {
		return err
	}
	if report.Audit != nil && report.Audit.Wrong() > 0 {
		return console.Wrong("%s refuted by the audit", plural(report.Audit.Wrong(), "row"))
	}
	c := report.Counts
	return f.unanswered(c.Invalid, c.Undecided, int64(report.Results), "status", adviceUndecided)
}

// rolloutReport is the report of `rollout --json`.
type rolloutReport struct {
	Program         string         `json:"program"`
	Version         string         `json:"version"`
	Date            string         `json:"date"`
	Platform        string         `json:"platform"`
	Backend         string         `json:"backend"`
	Why             string         `json:"why"`
	Query           string         `json:"query"`
	Precision       string         `json:"precision"`
	Reduce          string         `json:"reduce"`
	Worlds          int            `json:"worlds"`
	Pairs           int            `json:"pairs"`   // of bodies in worlds
	Results         int            `json:"results"` // rows of the file
	AbsentPairs     int64          `json:"absent_pairs"`
	CulledPairs     int64          `json:"culled_pairs"`
	PartPairs       int64          `json:"part_pairs"`
	SolvedPartPairs int64          `json:"solved_part_pairs"`
	Omitted         int64          `json:"omitted_part_pairs,omitempty"` // of the solved ones
	DeviceBytes     int64          `json:"device_bytes,omitempty"`       // read of the memory of a device
	Clock           string         `json:"clock"`
	Seconds         verify.Number  `json:"seconds"`
	Counts          counts         `json:"counts"` // of the results
	RowErrors       []string       `json:"row_errors,omitempty"`
	Audit           *audit.Rollout `json:"audit,omitempty"` // with --audit
}

func newRolloutReport(o *rollout.Options, rep *rollout.Report) *rolloutReport {
	r := &rolloutReport{
		Program: "batchbench rollout", Version: console.Version(), Date: console.Now(), Platform: console.Platform(),
		Backend: rep.Backend, Why: rep.Why, Query: o.Query.String(), Precision: o.Precision.String(),
		Reduce: o.Reduce.String(), Worlds: rep.Worlds, Pairs: rep.Rows, AbsentPairs: rep.AbsentRows,
		CulledPairs: rep.CulledRows, PartPairs: rep.PartPairs, SolvedPartPairs: rep.Solved,
		Omitted: rep.Omitted, DeviceBytes: rep.BytesDown,
		Clock: "without reading and writing the files", Seconds: verify.Number(rep.Wall.Seconds()),
		Counts: countsOf(&dispatch.Report{Counts: rep.Counts}),
	}
	for _, row := range rep.RowErrors {
		r.RowErrors = append(r.RowErrors, row.Error())
	}
	return r
}

func (r *rolloutReport) print(w io.Writer, out string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", r.Backend, r.Why)
	fmt.Fprintf(&b, "query %s, precision %s, reduce %s\n", r.Query, r.Precision, r.Reduce)
	fmt.Fprintf(&b, "%s, %s of bodies in %.3gs (%s)\n", plural(r.Worlds, "world"), plural(r.Pairs, "pair"),
		float64(r.Seconds), r.Clock)
	fmt.Fprintf(&b, "%s of bodies culled, %s with an absent body; %s of %s of parts solved\n",
		plural(r.CulledPairs, "pair"), thousands(r.AbsentPairs), thousands(r.SolvedPartPairs),
		plural(r.PartPairs, "pair"))
	if r.DeviceBytes > 0 {
		fmt.Fprintf(&b, "%s of parts reduced on the device, %s read of it\n", plural(r.Omitted, "pair"),
			plural(r.DeviceBytes, "byte"))
	}
	fmt.Fprintf(&b, "%s separated, %s touching, %s penetrating, %s undecided, %s invalid\n",
		thousands(r.Counts.Separated), thousands(r.Counts.Touching), thousands(r.Counts.Penetrating),
		thousands(r.Counts.Undecided), thousands(r.Counts.Invalid))
	if r.Audit != nil {
		printRolloutAudit(&b, r.Audit)
	}
	fmt.Fprintf(&b, "results: %s\n", out)
	_, err := io.WriteString(w, b.String())
	return err
}

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
