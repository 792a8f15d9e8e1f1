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
	"clearance/verify"

	"github.com/spf13/pflag"
)

// rolloutFlags are the flags of `score` for worlds of bodies.
type rolloutFlags struct {
	maxDistance float64
	reduce      rollout.Reduce
	noCulling   bool
}

// add registers the flags that define a correct answer.
func (f *rolloutFlags) add(fs *pflag.FlagSet) {
	fs.Float64Var(&f.maxDistance, "max-distance", math.Inf(1), "with --worlds: distance in metres; pairs of bodies "+
		"beyond it are only proved to be so, mostly by bounds and without a solver")
	fs.Var(choice[rollout.Reduce]{&f.reduce, rollout.ParseReduce}, "reduce", "with --worlds: none, or world for one "+
		"row per world, that of its least pair")
}

// used reports whether a flag asks for a rollout.
func (f *rolloutFlags) used() bool {
	return f.maxDistance != math.Inf(1) || f.reduce != rollout.ReduceNone || f.noCulling
}

// isRollout reports whether the question is one for package rollout: worlds with bodies, or with one of the flags.
func (f *inputFlags) isRollout(of *rolloutFlags) (bool, error) {
	if f.worlds == "" {
		if of.used() {
			return false, errors.New("--max-distance, --reduce and --no-culling apply to --worlds")
		}
		return false, nil
	}
	if of.used() || f.pairs == allPairs {
		return true, nil
	}
	return dataset.HasBodies(f.worlds)
}

// rolloutOptions are the options of a rollout.
func (f *rolloutFlags) rolloutOptions(s *solveFlags) (rollout.Options, error) {
	o := rollout.Options{Options: s.options, Reduce: f.reduce, NoCulling: f.noCulling, Workers: s.workers}
	if f.maxDistance != math.Inf(1) {
		o.MaxDistance, o.HasMaxDistance = f.maxDistance, true
	}
	if err := o.Check(); err != nil {
		return o, errors.New(strings.TrimPrefix(strings.TrimPrefix(err.Error(), "rollout: "), "batch: "))
	}
	return o, nil
}

// rollout reads the bodies and the worlds.
func (f *inputFlags) rollout() (*batch.Bodies, *batch.Worlds, error) {
	has, err := dataset.HasBodies(f.worlds)
	if err != nil {
		return nil, nil, err
	}
	bodies, err := dataset.ReadBodies(f.shapes)
	if err != nil {
		return nil, nil, err
	}
	if has {
		w, err := dataset.ReadRollout(f.worlds, bodies)
		if err == nil && f.pairs == allPairs {
			w.AllPairs, w.TemplateA, w.TemplateB = true, nil, nil
		}
		return bodies, w, err
	}
	w, err := dataset.ReadWorlds(f.worlds)
	if err != nil {
		return nil, nil, err
	}
	if f.pairs == allPairs {
		w.AllPairs, w.TemplateA, w.TemplateB = true, nil, nil
	}
	bodies = batch.BodiesOfShapes(bodies.Library())
	return bodies, w, w.CheckBodies(bodies)
}

// scoreRollout answers worlds of bodies into the results file.
func scoreRollout(ctx context.Context, e *env, f *scoreFlags, d *dispatch.Dispatcher) error {
	bodies, worlds, err := f.rollout()
	if err != nil {
		return err
	}
	first, end, err := f.rows.worlds(worlds.Count(), len(worlds.TemplateA))
	if err != nil {
		return err
	}
	worlds = worlds.Slice(first, end)
	o, err := f.rolloutOptions(&f.solveFlags)
	if err != nil {
		return err
	}
	job := &rollout.Job{Bodies: bodies, Worlds: worlds, Options: o}
	sample := &rolloutSample{pairs: auditedPairs, seed: 1, workers: f.workers}
	if f.audit {
		if err := sample.check(job); err != nil {
			return err
		}
	}
	bar := e.progress("score", int64(worlds.Count()*max(len(worlds.TemplateA), 1)))
	defer bar.done()
	last := 0
	rep, err := rollout.Run(ctx, d, job, dispatch.Options{Backend: f.backend, MaxRowErrors: listedRowErrors,
		Progress: func(done, _ int) { bar.add(done - last); last = done }})
	if err != nil {
		return f.ofFile(ctx, err)
	}
	bar.done()
	var audit *rolloutAudit
	if f.audit { // before the file is written: after an interrupt there is none
		bar := e.progress("verify", int64(job.Results.N))
		defer bar.done()
		sample.bar = bar
		if audit, err = auditRollout(ctx, job, sample); err != nil {
			return err
		}
	}
	meta := map[string]string{metaMethod: o.Method.String(),
		metaTolerance: strconv.FormatFloat(o.Tolerance, 'g', -1, 64)}
	if f.rows.given {
		meta[metaRows] = f.rows.String()
	}
	if err := dataset.WriteRolloutResults(f.out, job.Results, &o, worlds.Count(), meta); err != nil {
		return err
	}
	for _, row := range rep.RowErrors {
		row.World += first
		e.warn("%s: %v", f.worlds, row)
	}
	report := newRolloutReport(&o, &rep)
	report.Results = job.Results.N
	report.Audit = audit
	if err := f.write(e, report); err != nil {
		return err
	}
	if report.Audit != nil && report.Audit.wrong() > 0 {
		return exitf(exitWrong, "%s refuted by the audit", plural(report.Audit.wrong(), "row"))
	}
	c := report.Counts
	return f.unanswered(c.Invalid, c.Undecided, int64(report.Results), "status", adviceUndecided)
}

// ofFile names the file of worlds in an error of the call, such as one of too little memory.
func (f *inputFlags) ofFile(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("%s: %w", f.worlds, err)
}

// rolloutReport is the report of `score --json` for worlds of bodies.
type rolloutReport struct {
	Program         string        `json:"program"`
	Version         string        `json:"version"`
	Date            string        `json:"date"`
	Platform        string        `json:"platform"`
	Backend         string        `json:"backend"`
	Why             string        `json:"why"`
	Query           string        `json:"query"`
	Precision       string        `json:"precision"`
	Reduce          string        `json:"reduce"`
	Worlds          int           `json:"worlds"`
	Pairs           int           `json:"pairs"`   // of bodies in worlds
	Results         int           `json:"results"` // rows of the file
	AbsentPairs     int64         `json:"absent_pairs"`
	CulledPairs     int64         `json:"culled_pairs"`
	PartPairs       int64         `json:"part_pairs"`
	SolvedPartPairs int64         `json:"solved_part_pairs"`
	Omitted         int64         `json:"omitted_part_pairs,omitempty"` // of the solved ones
	DeviceBytes     int64         `json:"device_bytes,omitempty"`       // read of the memory of a device
	Clock           string        `json:"clock"`
	Seconds         verify.Number `json:"seconds"`
	Counts          counts        `json:"counts"` // of the results
	RowErrors       []string      `json:"row_errors,omitempty"`
	Audit           *rolloutAudit `json:"audit,omitempty"` // with --audit
}

func newRolloutReport(o *rollout.Options, rep *rollout.Report) *rolloutReport {
	r := &rolloutReport{
		Program: "batchbench score", Version: versionString(), Date: now(), Platform: platform(),
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
		r.Audit.print(&b)
	}
	fmt.Fprintf(&b, "results: %s\n", out)
	_, err := io.WriteString(w, b.String())
	return err
}
