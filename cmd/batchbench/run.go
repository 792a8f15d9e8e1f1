package main

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"time"

	"clearance/batch"
	"clearance/dataset/generate"
	"clearance/dispatch"
	"clearance/engine"
	"clearance/internal/console"
	"clearance/verify"

	"github.com/spf13/cobra"
)

// clockText describes what the times of `run` include.
const clockText = "end to end, from pairs in host memory to answers in host memory; generating and checking are outside"

// runFlags are the flags of `run`.
type runFlags struct {
	solveFlags
	sets   []string
	meshes []string
	pairs  int64
	seed   uint64
	rounds int
	sample int64
	json   string
	beside string
}

func newRun(e *env) *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run",
		Short: "the main job: run seeded sets, check every answer, print the table",
		Long: `Runs seeded sets of all kinds of pairs, audits every answer from the shapes alone,
has the reference solve a sample again, checks that repeated rounds give the same
bits, and prints speed and accuracy in one table.

` + setsText(),
		Args: console.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runSets(c.Context(), e, &f) },
	}
	fs := c.Flags()
	fs.Int64Var(&f.pairs, "pairs", 1_000_000, "total number of pairs, divided evenly among the sets")
	fs.StringSliceVar(&f.sets, "sets", benchmarkSets(), "sets to run; all: "+strings.Join(generate.Names(), ", "))
	fs.StringSliceVar(&f.meshes, "mesh", nil, "mesh file (OBJ, STL, PLY) or directory for the set mesh; may be "+
		"repeated")
	fs.Uint64Var(&f.seed, "seed", 1, "seed of the sets")
	fs.IntVar(&f.rounds, "rounds", 5, "number of times that every pair is run; the table shows the median")
	fs.Int64Var(&f.sample, "sample", defaultSample, "rows of every set that the reference solves again; 0 is none")
	fs.StringVar(&f.json, "json", "", "write the report as JSON to this file; - is standard output, in place of the "+
		"table")
	fs.StringVar(&f.beside, "beside", "cpu", "second back end, run on the same pairs as a Vulkan device and shown in "+
		"the same table; cpu, ref or none")
	f.solveFlags.add(fs)
	return c
}

// check returns an error for a flag out of range.
func (f *runFlags) check() error {
	if err := checkSets("--sets", f.sets); err != nil {
		return err
	}
	switch {
	case f.pairs < int64(len(f.sets)):
		return fmt.Errorf("--pairs %d: want at least one for each of %s", f.pairs, plural(len(f.sets), "set"))
	case f.rounds < 1 || f.rounds > maxRounds:
		return fmt.Errorf("--rounds %d: want 1 to %d", f.rounds, maxRounds)
	case f.pairs > maxPairs:
		return fmt.Errorf("--pairs %d: want at most %d", f.pairs, int64(maxPairs))
	case f.sample < 0:
		return fmt.Errorf("--sample %d: want 0 (none) or more", f.sample)
	}
	if err := checkBeside(f.beside); err != nil {
		return err
	}
	return f.solveFlags.check()
}

func runSets(ctx context.Context, e *env, f *runFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	if err := checkOutputs(meshInputs(f.meshes), []namedFile{{"json", f.json}}); err != nil {
		return err
	}
	rows := min(f.pairs/int64(len(f.sets)), chunkRows) // per call
	h, chosen, err := f.choose(int(rows))
	if err != nil {
		return err
	}
	defer h.Close()

	report, names := newRunReport(f, chosen), []string{chosen.Name()}
	beside, err := f.besideOf(h.Dispatcher(), chosen, f.beside)
	if err != nil {
		return err
	}
	if beside != nil {
		report.Beside = &besideReport{Backend: beside.Name(), Device: devicesText(beside.Devices())}
		names = append(names, beside.Name())
	}
	sets := int64(len(f.sets))
	for i, name := range f.sets {
		pairs := f.pairs / sets
		if int64(i) < f.pairs%sets {
			pairs++
		}
		bar := e.Progress(name, pairs*int64(f.rounds+1)*int64(len(names)))
		m := &measurement{flags: f}
		for _, backend := range names {
			m.subjects = append(m.subjects, &subject{flags: f, dispatcher: h.Dispatcher(), backend: backend, bar: bar})
		}
		err := m.run(ctx, name, pairs)
		bar.Done()
		if err != nil {
			return err
		}
		report.Sets = append(report.Sets, m.subjects[0].report)
		if report.Beside != nil {
			report.Beside.Sets = append(report.Beside.Sets, m.subjects[1].report)
		}
	}
	report.summarize()

	if f.json != "-" {
		if err := report.printTable(e.Stdout); err != nil {
			return err
		}
	}
	if f.json != "" {
		if err := console.WriteJSON(e.Stdout, f.json, report); err != nil {
			return err
		}
	}
	if !report.Good {
		t := report.Total // the worse of the two
		if report.Beside != nil && t.good() {
			t = report.Beside.Total
		}
		return console.Wrong("not every answer is good: %s, %s undecided, %s invalid", plural(t.wrong(), "fault"),
			thousands(t.Counts.Undecided), thousands(t.bad()))
	}
	return nil
}

func newRunReport(f *runFlags, c *dispatch.Choice) *runReport {
	o := &f.options
	return &runReport{
		Program: "batchbench run", Version: console.Version(), Date: console.Now(), Platform: console.Platform(),
		Backend: c.Name(), Device: devicesText(c.Devices()), Cores: runtime.NumCPU(),
		Query: o.Query.String(), Method: o.Method.String(), Precision: o.Precision.String(),
		Tolerance: verify.Number(o.Tolerance), Columns: columnList(o.Columns),
		Seed: f.seed, Rounds: f.rounds, Clock: clockText,
	}
}

// listedFaults is the number of faults of a set that the table lists.
const listedFaults = 5

// warmupRows is the number of rows run before the clock starts, so that workspaces are
// allocated and the processor has left its idle state.
const warmupRows = 4096

// measurement runs and checks one set on one back end, or on two alternately.
type measurement struct {
	flags    *runFlags
	subjects []*subject
}

// subject is a back end with its results for a set.
type subject struct {
	flags      *runFlags
	dispatcher *dispatch.Dispatcher
	backend    string
	bar        *console.Progress

	seconds    []float64 // one entry per round
	iterations int64
	kernel     time.Duration // device time of all rounds
	kernelRows int64         // rows computed in that time
	before     *deviceRows   // counts of the back end when the clock started
	check      *checker
	report     setReport

	answers, again *batch.Results
}

// run measures a set of n pairs chunk by chunk, so that memory is bounded.
func (m *measurement) run(ctx context.Context, name string, n int64) error {
	f := m.flags
	gen, err := openSet(name, f.seed, f.meshes)
	if err != nil {
		return err
	}
	rows := int(min(n, chunkRows))
	for _, l := range m.subjects {
		l.seconds = make([]float64, f.rounds)
		l.report = setReport{Set: name, Pairs: n}
		l.check = &checker{total: n, sample: min(f.sample, n), prove: min(f.sample, n), seed: f.seed,
			workers: f.workers, bar: l.bar}
		l.answers, l.again = batch.NewResults(rows, &f.options), batch.NewResults(rows, &f.options)
	}
	pairs := batch.NewPairs(rows)
	for first := int64(0); first < n; first += chunkRows {
		rows := int(min(n-first, chunkRows))
		input := pairs.Slice(0, rows)
		if err := fillRows(ctx, gen, input, first); err != nil {
			return err
		}
		for _, l := range m.subjects {
			job := &batch.Job{Library: gen.Library(), Input: input, Options: f.options,
				Results: l.answers.Slice(0, rows)}
			if first == 0 {
				if err := l.warmUp(ctx, job); err != nil {
					return err
				}
				l.before = deviceRowsOf(l)
			}
			if err := l.rounds(ctx, job, l.again.Slice(0, rows), first); err != nil {
				return err
			}
			if err := l.check.chunk(ctx, job, first); err != nil {
				return err
			}
		}
	}
	for _, l := range m.subjects {
		l.summarize(deviceRowsOf(l).minus(l.before))
	}
	return nil
}

// warmUp answers the first rows of the job once.
func (l *subject) warmUp(ctx context.Context, job *batch.Job) error {
	rows := min(job.Input.Len(), warmupRows)
	_, err := l.dispatcher.Run(ctx, &batch.Job{
		Library: job.Library, Input: job.Input.(*batch.Pairs).Slice(0, rows), Options: job.Options,
	}, dispatch.Options{Backend: l.backend})
	return err
}

// rounds answers the job once per round: first into its own results, then into again, which
// must be bit-identical.
func (l *subject) rounds(ctx context.Context, job *batch.Job, again *batch.Results, first int64) error {
	for round := range l.seconds {
		j := *job
		if round > 0 {
			j.Results = again
		}
		done := 0
		rep, err := l.dispatcher.Run(ctx, &j, dispatch.Options{
			Backend:  l.backend,
			Progress: func(d, _ int) { l.bar.Add(d - done); done = d },
		})
		if err != nil {
			return err
		}
		l.seconds[round] += rep.Wall.Seconds()
		l.kernel += rep.Kernel
		l.kernelRows += int64(rep.KernelRows)
		if round > 0 {
			l.report.Repeated += int64(again.N)
			l.report.Unrepeatable += differingRows(job.Results, again)
			continue
		}
		l.report.Counts.add(countsOf(&rep))
		l.report.Solvers = l.report.Solvers.plus(solversOf(&rep))
		l.iterations += rep.Iterations
		l.report.Declined += int64(rep.Declined())
		l.report.WorstGap = max(l.report.WorstGap, verify.Number(rep.WorstGap))
		for _, e := range rep.RowErrors {
			if len(l.report.Faults) < listedFaults && !e.Undefined {
				l.report.Faults = append(l.report.Faults, fmt.Sprintf("row %d of the set is invalid: %v",
					first+int64(e.Row), e))
			}
		}
	}
	return nil
}

// summarize computes the line of the table from the sums.
func (l *subject) summarize(rows *deviceRows) {
	r, c := &l.report, l.check
	r.setRates(l.seconds)
	if l.kernel > 0 {
		rate := verify.Number(float64(l.kernelRows) / l.kernel.Seconds())
		r.KernelPerSec = &rate
	}
	r.DeviceRows = rows
	r.MeanIterations = verify.Number(mean(l.iterations, int(r.Pairs-r.Counts.Invalid)))
	r.Audit, r.Compare = &c.audit, &c.compare
	r.Audited, r.Refuted = int64(c.audit.Rows), int64(c.audit.Wrong())
	r.Undefined = int64(c.audit.Undefined)
	r.Compared, r.Mismatches = int64(c.compare.Compared), int64(c.compare.Wrong())
	r.Proof = &c.proof
	r.Proved, r.Disproved, r.Open = int64(c.proof.Proved), int64(c.proof.Refuted), int64(c.proof.Unproved)
	r.Faults = append(r.Faults, faults(c, listedFaults)...)
	if r.Unrepeatable > 0 {
		r.Faults = append(r.Faults, fmt.Sprintf("%s had other bits when run again", plural(r.Unrepeatable, "answer")))
	}
}

// setRates sets the times of the rounds and the rates that follow from them.
func (r *setReport) setRates(seconds []float64) {
	rates := make([]float64, len(seconds))
	for i, s := range seconds {
		r.Seconds = append(r.Seconds, verify.Number(s))
		rates[i] = float64(r.Pairs) / s
	}
	r.PairsPerSecond = verify.Number(median(rates))
	r.Spread = verify.Number(spread(rates))
	r.NsPerPair = 1e9 / r.PairsPerSecond
}

// summarize computes the totals of the sets.
func (r *runReport) summarize() {
	r.side.summarize(r.Rounds)
	r.Good = r.Total.good()
	if r.Beside != nil {
		r.Beside.summarize(r.Rounds)
		r.Good = r.Good && r.Beside.Total.good()
	}
}

func (r *side) summarize(rounds int) {
	t := &r.Total
	t.Set = "all"
	seconds := make([]float64, rounds)
	iterations, kernelPairs, kernelSeconds := 0.0, 0.0, 0.0
	for i := range r.Sets {
		s := &r.Sets[i]
		for k := range seconds {
			seconds[k] += float64(s.Seconds[k])
		}
		t.Pairs += s.Pairs
		t.Declined += s.Declined
		t.DeviceRows = t.DeviceRows.plus(s.DeviceRows)
		if s.KernelPerSec != nil {
			kernelPairs += float64(s.Pairs)
			kernelSeconds += float64(s.Pairs) / float64(*s.KernelPerSec)
		}
		iterations += float64(s.MeanIterations) * float64(s.Pairs)
		t.WorstGap = max(t.WorstGap, s.WorstGap)
		t.Counts.add(s.Counts)
		t.Undefined += s.Undefined
		t.Solvers = t.Solvers.plus(s.Solvers)
		t.Audited += s.Audited
		t.Refuted += s.Refuted
		t.Compared += s.Compared
		t.Mismatches += s.Mismatches
		t.Proved += s.Proved
		t.Disproved += s.Disproved
		t.Open += s.Open
		t.Repeated += s.Repeated
		t.Unrepeatable += s.Unrepeatable
	}
	t.setRates(seconds)
	if kernelSeconds > 0 {
		rate := verify.Number(kernelPairs / kernelSeconds)
		t.KernelPerSec = &rate
	}
	t.MeanIterations = verify.Number(iterations / float64(t.Pairs))
}

// deviceRows counts rows of Vulkan devices: those that the device refined in double precision,
// and those that it declined, by reason.
type deviceRows struct {
	Refined   int64 `json:"refined_in_double"`
	Kind      int64 `json:"no_shader_for_the_kind"`
	Depth     int64 `json:"depth_of_intersecting_cores"`
	Gap       int64 `json:"bounds_too_wide"`
	Budget    int64 `json:"too_many_vertices"`
	Precision int64 `json:"no_double_precision"`
	Unknown   int64 `json:"no_status"`
}

// deviceRowsOf reads the counts of the back end of a subject, nil where it has none.
func deviceRowsOf(l *subject) (sum *deviceRows) {
	chosen, err := l.dispatcher.Choose(l.backend, &l.flags.options, dispatch.UnknownRows)
	if err != nil {
		return nil
	}
	for _, b := range chosen.Share {
		if e, ok := dispatch.As[*engine.Backend](b); ok {
			s := e.Stats()
			d := s.Declined
			sum = sum.plus(&deviceRows{Refined: s.Refined, Kind: d.Kind, Depth: d.Depth, Gap: d.Gap,
				Budget: d.Budget, Precision: d.Precision, Unknown: d.Unknown})
		}
	}
	return sum
}

func (d *deviceRows) plus(o *deviceRows) *deviceRows { return d.combine(o, 1) }

func (d *deviceRows) minus(o *deviceRows) *deviceRows { return d.combine(o, -1) }

// combine adds the counts of o times a sign; nil is all zero.
func (d *deviceRows) combine(o *deviceRows, sign int64) *deviceRows {
	if o == nil {
		return d
	}
	if d == nil {
		d = new(deviceRows)
	}
	return &deviceRows{
		Refined: d.Refined + sign*o.Refined, Kind: d.Kind + sign*o.Kind, Depth: d.Depth + sign*o.Depth,
		Gap:    d.Gap + sign*o.Gap,
		Budget: d.Budget + sign*o.Budget, Precision: d.Precision + sign*o.Precision,
		Unknown: d.Unknown + sign*o.Unknown,
	}
}

// String lists the reasons why rows were declined.
func (d *deviceRows) String() string {
	var list []string
	note := func(n int64, what string) {
		if n > 0 {
			list = append(list, fmt.Sprintf("%s: %s", what, thousands(n)))
		}
	}
	note(d.Depth, "depths")
	note(d.Kind, "kinds without a shader")
	note(d.Gap, "bounds too wide")
	note(d.Budget, "too many vertices")
	note(d.Precision, "no double precision on the device")
	note(d.Unknown, "no status")
	if len(list) == 0 {
		return "reasons unknown"
	}
	return strings.Join(list, ", ") + ", all rounds"
}

// differingRows returns the number of rows that are not bit-identical in two results of the
// same job.
func differingRows(a, b *batch.Results) int64 {
	var rows int64
	for i := range a.N {
		if a.Differs(i, b, i) != 0 {
			rows++
		}
	}
	return rows
}
