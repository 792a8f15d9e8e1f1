package main

import (
	"context"
	"fmt"
	"time"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/verify"
)

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
	bar        *progress

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
			Progress: func(d, _ int) { l.bar.add(d - done); done = d },
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
