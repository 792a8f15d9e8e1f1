package main

import (
	"context"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"strings"

	"clearance/batch"
	"clearance/cpu"
	"clearance/dispatch"
	"clearance/internal/memory"
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
	Rows       int            `json:"rows"`
	Undecided  int            `json:"undecided"`
	Invalid    int            `json:"invalid"`
	Unanswered int            `json:"unanswered"` // worlds that state rows without an answer
	Unaudited  int            `json:"unaudited"`  // rows with a distance that no column and no solver bounds
	Named      *verify.Report `json:"named"`      // rows that name a pair of parts, as answers of that pair
	Worlds     int            `json:"worlds"`     // solved by the reference
	OfWorlds   int            `json:"of_worlds"`
	Open       int            `json:"open"` // worlds not solved, with rows that are not proved by themselves
	PartPairs  int            `json:"part_pairs"`
	Refuted    int            `json:"refuted"`         // rows, by their form or by the reference
	First      []string       `json:"first,omitempty"` // the first of them
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
	if rest := r.OfWorlds - r.Worlds; rest > 0 {
		fmt.Fprintf(b, "audit: %s not solved; of their rows, the form and the named pairs of parts were checked, "+
			"which leaves %s open\n", plural(rest, "world"), thousands(r.Open))
	}
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

// worldPairs is the largest number of pairs of parts of a world that are in memory at a time, some 300 bytes each.
const worldPairs = 1 << 22

// check returns an error if a world has more pairs of parts than the reference could solve.
func (s *rolloutSample) check(job *rollout.Job) error {
	w := job.Worlds
	most := memory.Room(worldPairs, 512)
	if s.pairs < worldPairs {
		most = min(most, 50*max(s.pairs, auditedPairs))
	}
	for world := range w.Count() {
		if n := partPairs(job, world); n > most {
			return fmt.Errorf("audit: world %d has %d pairs of parts, which the reference would solve", world, n)
		}
		if w.Shared() { // the same in all worlds
			break
		}
	}
	return nil
}

// worlds yields all worlds once, from anywhere on and by steps of about the golden ratio of their number, so that the
// first of them are spread over the whole.
func (s *rolloutSample) worlds(n int) iter.Seq[int] {
	return func(yield func(world int) bool) {
		if n == 0 {
			return
		}
		world, step := rand.New(rand.NewPCG(s.seed, 0)).IntN(n), 1+int(float64(n)/math.Phi)
		for divisor(step, n) != 1 {
			step++
		}
		for range n {
			if !yield(world) {
				return
			}
			world = (world + step) % n
		}
	}
}

// divisor is the greatest common divisor.
func divisor(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// partPairs is the number of pairs of parts of a world; of all pairs with those that are skipped.
func partPairs(job *rollout.Job, world int) (n int64) {
	w := job.Worlds
	parts := func(k int32) int64 {
		if x := w.Body(world, k); x != batch.Absent {
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
	if err := s.check(job); err != nil {
		return nil, err
	}
	r := &rolloutAudit{Rows: job.Results.N, Named: new(verify.Report), OfWorlds: job.Worlds.Count()}
	c := newRowAuditor(job)
	if err := r.rows(ctx, c, s); err != nil {
		return nil, err
	}
	d := dispatch.New(cpu.NewReference())
	defer d.Close()
	solved := 0 // rows
	for _, open := range c.open {
		if open {
			r.Open++
		}
	}
	for world := range s.worlds(job.Worlds.Count()) {
		if int64(r.PartPairs) >= s.pairs {
			break
		}
		rows, list := listOf(job, world)
		o := batch.Options{Precision: batch.Double, Columns: batch.ColDistance | batch.ColGap | batch.ColStatus}
		if q := job.Options.Query; !q.Info().SignedDistance {
			o.Query = q
		}
		pairs := batch.NewPairs(len(list))
		for i := range list {
			pairs.SetRow(i, &list[i])
		}
		again := &batch.Job{Library: job.Bodies.Library(), Input: pairs, Options: o}
		if _, err := d.Run(ctx, again, dispatch.Options{}); err != nil {
			return nil, err
		}
		r.Worlds++
		if c.open[world] {
			r.Open--
		}
		r.PartPairs += len(list)
		solved += c.rowsOf(world)
		r.world(c, world, rows, again.Results)
	}
	if out := job.Results; out.Distance().Len() != 0 && out.Gap() == nil {
		r.Unaudited += out.N - solved
	}
	return r, nil
}
