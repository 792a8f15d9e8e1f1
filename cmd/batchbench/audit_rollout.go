package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"clearance/batch"
	"clearance/cpu"
	"clearance/dispatch"
	"clearance/rollout"
	"clearance/verify"
)

// auditedPairs is the number of pairs of parts that the audit of a rollout has the reference solve: whole worlds, at
// even distances.
const auditedPairs = 20_000

// rolloutAudit is the audit of the results of a rollout. Of each row it checks the form and, from the shapes alone, the
// answer as one of the pair of parts that the row names. The reference solves every pair of parts of a sample of
// worlds, culled or not, and its certified bounds refute answers that exclude them.
type rolloutAudit struct {
	Rows      int            `json:"rows"`
	Undecided int            `json:"undecided"`
	Invalid   int            `json:"invalid"`
	Named     *verify.Report `json:"named"`  // rows that name a pair of parts, as answers of that pair
	Worlds    int            `json:"worlds"` // solved by the reference
	PartPairs int            `json:"part_pairs"`
	Refuted   int            `json:"refuted"`         // rows, by their form or by the reference
	First     []string       `json:"first,omitempty"` // the first of them
}

// rolloutSample says which worlds the reference solves.
type rolloutSample struct {
	pairs   int64 // of parts, but that worlds are solved whole
	seed    uint64
	workers int
	bar     *progress // of rows
}

// print adds the audit as text.
func (r *rolloutAudit) print(b *strings.Builder) {
	fmt.Fprintf(b, "audit: %s of parts in %s solved by the reference, %s refuted\n", plural(r.PartPairs, "pair"),
		plural(r.Worlds, "world"), plural(r.Refuted, "row"))
	fmt.Fprintf(b, "audit: %s checked, %s as answers of the pair of parts that they name, %s refuted\n",
		plural(r.Rows, "row"), thousands(r.Named.Rows), plural(refutedAs(r.Named), "row"))
	for _, text := range r.First {
		fmt.Fprintf(b, "refuted: %s\n", text)
	}
	for i := range r.Named.Checks {
		for _, w := range r.Named.Checks[i].Worst {
			if name := r.Named.Checks[i].Name; w.Failed && name != gapCheck {
				fmt.Fprintf(b, "refuted: row %d fails check %s: found %.9g, expected %.9g\n", w.Row, name,
					float64(w.Found), float64(w.Expected))
			}
		}
	}
}

// note counts a refuted row.
func (r *rolloutAudit) note(world, row int, err error) {
	if err == nil {
		return
	}
	if r.Refuted++; len(r.First) < 5 {
		r.First = append(r.First, fmt.Sprintf("world %d, row %d: %v", world, row, err))
	}
}

// wrong is the larger of the numbers of rows that both kinds of checks refute, since a row may be in both.
func (r *rolloutAudit) wrong() int { return max(r.Refuted, refutedAs(r.Named)) }

// step returns the distance of the worlds that are solved, and an error if a world has more pairs of parts than the
// reference could solve.
func (s *rolloutSample) step(job *rollout.Job) (step int, err error) {
	w, all := job.Worlds, int64(0)
	for world := range w.Len() {
		n := partPairs(job, world)
		if n/50 > max(s.pairs, auditedPairs) {
			return 0, fmt.Errorf("audit: world %d has %d pairs of parts, which the reference would solve", world, n)
		}
		all += n
		if len(w.Bodies) == w.BodiesPerWorld() { // the same in all worlds
			all *= int64(w.Len())
			break
		}
	}
	return int(max(1, all/max(1, s.pairs))), nil
}

// partPairs is the number of pairs of parts of a world; of all pairs with those that are skipped.
func partPairs(job *rollout.Job, world int) (n int64) {
	w := job.Worlds
	parts := func(k int32) int64 {
		if x := w.Body(world, k); x != rollout.Absent {
			return int64(len(job.Bodies.Parts(x)))
		}
		return 0
	}
	if !w.AllPairs {
		for p, a := range w.TemplateA {
			n += parts(a) * parts(w.TemplateB[p])
		}
		return n
	}
	before := int64(0)
	for k := range int32(w.BodiesPerWorld()) {
		n += before * parts(k)
		before += parts(k)
	}
	return n
}

// auditRollout audits the results of a job.
func auditRollout(ctx context.Context, job *rollout.Job, s *rolloutSample) (*rolloutAudit, error) {
	step, err := s.step(job)
	if err != nil {
		return nil, err
	}
	r := &rolloutAudit{Rows: job.Results.N, Named: new(verify.Report)}
	if err := r.rows(ctx, job, s); err != nil {
		return nil, err
	}
	d := dispatch.New(cpu.NewReference())
	defer d.Close()
	world := 0
	if w := job.Worlds.Len(); w > 0 {
		world = rand.New(rand.NewPCG(s.seed, 0)).IntN(min(step, w))
	}
	for ; world < job.Worlds.Len() && int64(r.PartPairs) < s.pairs; world += step {
		rows, list := listOf(job, world)
		o := batch.Options{Precision: batch.Double, Columns: batch.ColDistance | batch.ColGap | batch.ColStatus}
		if job.Options.Query == batch.Growth {
			o.Query = batch.Growth
		}
		pairs := batch.NewPairs(len(list))
		for i := range list {
			pairs.SetRow(i, &list[i])
		}
		solved := &batch.Job{Library: job.Bodies.Library(), Input: pairs, Options: o}
		if _, err := d.Run(ctx, solved, dispatch.Options{}); err != nil {
			return nil, err
		}
		r.Worlds++
		r.PartPairs += len(list)
		r.world(job, world, rows, solved.Results)
	}
	return r, nil
}
