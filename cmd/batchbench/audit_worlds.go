package main

import (
	"fmt"
	"math"

	"clearance/batch"
	"clearance/rollout"
)

// interval is what the reference proves of a pair of parts, of a row or of a world.
type interval struct {
	lower, upper float64
	sure, maybe  int // rows that are, and that may be, in contact
	invalid      bool
}

var nothing = interval{lower: math.Inf(1), upper: math.Inf(1)}

// rowOf is a pair of bodies of a world with its pairs of parts.
type rowOf struct {
	a, b           int32
	first          int // of its pairs of parts in the list
	partsA, partsB int // numbers of parts, 0 of an absent body
	known          interval
}

// listOf returns the pairs of bodies of a world, and the list of their pairs of parts.
func listOf(job *rollout.Job, world int) (rows []rowOf, list []batch.Row) {
	w, b := job.Worlds, job.Bodies
	add := func(ka, kb int32) {
		x, y := w.Body(world, ka), w.Body(world, kb)
		row := rowOf{a: ka, b: kb, first: len(list), known: nothing}
		if x != rollout.Absent && y != rollout.Absent {
			row.partsA, row.partsB = len(b.Parts(x)), len(b.Parts(y))
			for i, p := range b.Parts(x) {
				for j, q := range b.Parts(y) {
					list = append(list, batch.Row{ShapeA: p.Shape, PoseA: b.PartPose(x, i, w.Pose(world, ka)),
						ShapeB: q.Shape, PoseB: b.PartPose(y, j, w.Pose(world, kb))})
				}
			}
		}
		rows = append(rows, row)
	}
	if !w.AllPairs {
		for p, a := range w.TemplateA {
			add(a, w.TemplateB[p])
		}
		return rows, list
	}
	m := int32(w.BodiesPerWorld())
	skipped := map[[2]int32]bool{}
	for i, a := range w.SkipA {
		skipped[[2]int32{min(a, w.SkipB[i]), max(a, w.SkipB[i])}] = true
	}
	for a := range m {
		for b := a + 1; b < m; b++ {
			if !skipped[[2]int32{a, b}] {
				add(a, b)
			}
		}
	}
	return rows, list
}

// world audits the rows of a world.
func (r *rolloutAudit) world(job *rollout.Job, world int, rows []rowOf, solved *batch.Results) {
	whole := nothing
	for i := range rows {
		row := &rows[i]
		end := solved.N
		if i+1 < len(rows) {
			end = rows[i+1].first
		}
		for k := row.first; k < end; k++ {
			row.known.add(boundsOf(solved, k))
		}
		if row.known.upper <= 0 {
			row.known.sure = 1
		}
		if row.known.lower <= 0 {
			row.known.maybe = 1
		}
		whole.add(row.known)
		whole.sure, whole.maybe = whole.sure+row.known.sure, whole.maybe+row.known.maybe
	}
	out := job.Results
	note := func(at int, err error) { r.note(world, at, err) }
	switch {
	case out.Pair != nil:
		err := whole.check(out, world, &job.Options)
		for i := range rows {
			if row := &rows[i]; err == nil && row.least(out, world, i) {
				err = row.named(out, world, solved)
			}
		}
		note(world, err)
	case out.Offsets == nil:
		for i := range rows {
			at := world*len(rows) + i
			note(at, rows[i].check(out, at, &job.Options, solved))
		}
	default:
		at := int(out.Offsets[world])
		for i := range rows {
			row := &rows[i]
			if at < int(out.Offsets[world+1]) && out.BodyA[at] == row.a && out.BodyB[at] == row.b {
				note(at, row.check(out, at, &job.Options, solved))
				at++
			} else if least := job.Options.MaxDistance; row.known.invalid || row.known.upper < least {
				note(at, fmt.Errorf("bodies %d and %d have no row, and are nearer than %g m", row.a, row.b, least))
			}
		}
		if at != int(out.Offsets[world+1]) {
			note(at, fmt.Errorf("bodies %d and %d are not asked, or out of order", out.BodyA[at], out.BodyB[at]))
		}
	}
}

// boundsOf returns what the reference proves of a pair of parts.
func boundsOf(solved *batch.Results, k int) interval {
	if batch.Status(solved.Status[k]) == batch.Invalid {
		return interval{lower: math.Inf(1), upper: math.Inf(1), invalid: true}
	}
	d, gap := solved.Distance.F64[k], float64(solved.Gap[k])
	if math.IsNaN(d) || math.IsInf(gap, 1) {
		return interval{lower: math.Inf(-1), upper: math.Inf(1)}
	}
	return interval{lower: d - gap, upper: d + gap}
}

// add takes the least of both; rows in contact are counted by the caller.
func (x *interval) add(y interval) {
	x.lower, x.upper = min(x.lower, y.lower), min(x.upper, y.upper)
	x.invalid = x.invalid || y.invalid
}

// check returns an error if row i of the results is refuted, also by the pair of parts that it names.
func (row *rowOf) check(out *rollout.Results, i int, o *rollout.Options, solved *batch.Results) error {
	if err := row.known.check(out, i, o); err != nil {
		return err
	}
	return row.named(out, i, solved)
}

// least reports whether the result of a world is that of row i, this one.
func (row *rowOf) least(out *rollout.Results, world, i int) bool {
	if out.BodyA != nil {
		return out.BodyA[world] == row.a && out.BodyB[world] == row.b
	}
	return out.Pair[world] == int32(i)
}

// named returns an error if the pair of parts that row i of the results names is refuted.
func (row *rowOf) named(out *rollout.Results, i int, solved *batch.Results) error {
	a, b := int(out.PartA[i]), int(out.PartB[i])
	if a < 0 || a >= row.partsA || b < 0 || b >= row.partsB { // which form reports
		return nil
	}
	if out.Distance.Len() != 0 && out.Gap != nil {
		of := boundsOf(solved, row.first+a*row.partsB+b)
		if d, gap := out.Distance.At(i), float64(out.Gap[i]); of.lower > d+gap {
			return fmt.Errorf("%g ± %g by parts %d and %d, which are beyond %g", d, gap, a, b, of.lower)
		}
	}
	return nil
}

// check returns an error if row i of the results excludes what is known.
func (x *interval) check(out *rollout.Results, i int, o *rollout.Options) error {
	status := batch.Undecided
	if out.Status != nil {
		status = batch.Status(out.Status[i])
	}
	growth := o.Query == batch.Growth // whose contacts are those of a factor of at most 1
	switch {
	case x.invalid:
		if out.Status != nil && status != batch.Invalid {
			return fmt.Errorf("%v, with an invalid pose or pair", status)
		}
		return nil
	case status == batch.Invalid:
		return fmt.Errorf("invalid, without an invalid pose or pair")
	case !growth && status == batch.Separated && x.upper < 0:
		return fmt.Errorf("separated, with a distance of at most %g", x.upper)
	case !growth && status == batch.Penetrating && x.lower > 0:
		return fmt.Errorf("penetrating, with a distance of at least %g", x.lower)
	}
	if out.Distance.Len() != 0 && out.Gap != nil {
		d, gap := out.Distance.At(i), float64(out.Gap[i])
		if d-gap > x.upper || d+gap < x.lower {
			return fmt.Errorf("%g ± %g excludes [%g, %g] of the reference", d, gap, x.lower, x.upper)
		}
	}
	if out.Pair == nil || growth {
		return nil
	}
	switch n := int(out.Contacts[i]); {
	case out.Any[i] == rollout.AnyNone && x.sure > 0 || out.Any[i] == rollout.AnyContact && x.maybe == 0:
		return fmt.Errorf("any is %d, with %d to %d pairs in contact", out.Any[i], x.sure, x.maybe)
	case n > x.maybe || out.ContactsComplete && n+int(out.Failed[i]) < x.sure:
		return fmt.Errorf("%d contacts, of %d to %d pairs", n, x.sure, x.maybe)
	}
	return nil
}
