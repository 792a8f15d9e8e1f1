package audit

import (
	"fmt"
	"math"
	"testing"

	"clearance/batch"
	"clearance/rollout"
)

// TestForgedRollouts: results of worlds that state falsehoods do not pass, whichever columns they have.
func TestForgedRollouts(t *testing.T) {
	const status = batch.ColStatus
	inf := math.Inf(1)
	near := rollout.Options{MaxDistance: 0.3, HasMaxDistance: true}
	worlds := rollout.Options{Reduce: rollout.ReduceWorld}
	with := func(o rollout.Options, q batch.Query, columns batch.Columns) rollout.Options {
		o.Query, o.Columns = q, columns
		return o
	}
	type forgery map[string]func(r *rollout.Results)
	each := func(change func(r *rollout.Results, i int)) func(r *rollout.Results) {
		return func(r *rollout.Results) {
			for i := range r.N {
				change(r, i)
			}
		}
	}
	statuses := forgery{
		"all touching":    each(func(r *rollout.Results, i int) { r.Status()[i] = uint8(batch.Touching) }),
		"all separated":   each(func(r *rollout.Results, i int) { r.Status()[i] = uint8(batch.Separated) }),
		"all penetrating": each(func(r *rollout.Results, i int) { r.Status()[i] = uint8(batch.Penetrating) }),
		"one touching":    func(r *rollout.Results) { r.Status()[apart(r)] = uint8(batch.Touching) },
	}
	counts := forgery{
		"unknown": each(func(r *rollout.Results, i int) { r.Any[i] = rollout.AnyUnknown }),
		"unknown, all failed": each(func(r *rollout.Results, i int) {
			r.Any[i], r.Failed[i], r.Contacts[i] = rollout.AnyUnknown, 4, 0
		}),
		"none": each(func(r *rollout.Results, i int) { r.Any[i], r.Contacts[i] = rollout.AnyNone, 0 }),
		"none, separated": each(func(r *rollout.Results, i int) {
			r.Any[i], r.Contacts[i], r.Status()[i] = rollout.AnyNone, 0, uint8(batch.Separated)
		}),
		"contacts":      each(func(r *rollout.Results, i int) { r.Any[i], r.Contacts[i] = rollout.AnyContact, 4 }),
		"more failures": func(r *rollout.Results) { r.Failed[0] = 1000 },
		"no contacts, incomplete": func(r *rollout.Results) {
			r.ContactsComplete = false
			clearInts(r.Contacts)
		},
	}
	empty := each(func(r *rollout.Results, i int) {
		r.Status()[i] = uint8(batch.Separated)
		if r.Distance().Len() != 0 {
			r.Distance().F32[i] = float32(inf)
		}
		if r.Gap() != nil {
			r.Gap()[i] = 0
		}
		if r.Pair != nil {
			r.Pair[i], r.Contacts[i], r.Any[i], r.Failed[i] = -1, 0, 0, 0
		}
		if r.BodyA != nil && r.Offsets == nil {
			r.BodyA[i], r.BodyB[i] = -1, -1
		}
		r.PartA[i], r.PartB[i] = -1, -1
	})
	lengths := forgery{
		"7.5 m": each(func(r *rollout.Results, i int) { r.Distance().F32[i] = 7.5 }),
		"7.5 m and touching": each(func(r *rollout.Results, i int) {
			r.Distance().F32[i], r.Status()[i] = 7.5, uint8(batch.Touching)
		}),
		"one farther": func(r *rollout.Results) { r.Distance().F32[apart(r)] += 0.01 },
		"infinite":    func(r *rollout.Results) { r.Distance().F32[0] = float32(inf) },
		"empty":       empty,
	}
	fewer := forgery{"fewer, incomplete": func(r *rollout.Results) {
		r.ContactsComplete = false
		for i := range r.N {
			r.Contacts[i] = min(r.Contacts[i], 1)
		}
	}}
	rows := forgery{
		"deleted":     func(r *rollout.Results) { deleteRow(r, 0) },
		"all deleted": func(r *rollout.Results) { r.N = 0; clearOffsets(r) },
		"out of order": func(r *rollout.Results) {
			r.BodyA[0], r.BodyB[0], r.BodyA[1], r.BodyB[1] = r.BodyA[1], r.BodyB[1], r.BodyA[0], r.BodyB[0]
		},
		"twice": func(r *rollout.Results) { r.BodyA[1], r.BodyB[1] = r.BodyA[0], r.BodyB[0] },
	}
	values := status | batch.ColDistance
	for _, c := range []struct {
		name      string
		o         rollout.Options
		all       bool
		forgeries []forgery
	}{
		{"rows", with(rollout.Options{}, batch.Distance, batch.FileColumns), false, []forgery{statuses, lengths}},
		{"rows without gap", with(rollout.Options{}, batch.Distance, values), false, []forgery{statuses, lengths}},
		{"Boolean rows", with(rollout.Options{}, batch.Collide, status), false, []forgery{statuses, {"empty": empty}}},
		{"worlds", with(worlds, batch.Distance, batch.FileColumns), false, []forgery{statuses, lengths, counts}},
		{"worlds without gap", with(worlds, batch.Distance, values), false, []forgery{lengths, counts}},
		{"Boolean worlds", with(worlds, batch.Collide, status), false, []forgery{statuses, {"empty": empty,
			"unknown": counts["unknown"], "all failed": counts["unknown, all failed"],
			"none": counts["none, separated"], "none, incomplete": counts["no contacts, incomplete"]}}},
		{"growth of worlds", with(worlds, batch.Growth, batch.FileColumns), false,
			[]forgery{statuses, lengths, counts}},
		{"all pairs", with(near, batch.Distance, batch.FileColumns), true, []forgery{statuses, lengths, rows}},
		{"Boolean all pairs", with(rollout.Options{}, batch.Collide, status), true, []forgery{rows, {
			"touching": statuses["all touching"], "separated": statuses["all separated"]}}},
		{"least of all", with(worlds, batch.Distance, batch.FileColumns), true, []forgery{lengths, counts, fewer, {
			"touching": statuses["all touching"], "separated": statuses["all separated"]}}},
	} {
		verdict := func(change func(r *rollout.Results)) error {
			job := auditedJob(t, c.o, c.all)
			if change != nil {
				change(job.Results)
			}
			a, err := auditInMemory(t.Context(), job, &Sample{Pairs: All})
			if err != nil {
				return err
			}
			if !a.Good() {
				return fmt.Errorf("%+v", a)
			}
			return nil
		}
		if err := verdict(nil); err != nil {
			t.Errorf("%s: honest results: %v", c.name, err)
		}
		for _, f := range c.forgeries {
			for what, change := range f {
				if err := verdict(change); err == nil {
					t.Errorf("%s: %s passes", c.name, what)
				}
			}
		}
	}
}

// apart is a row that is separated by more than a hundredth, the first row if there is none.
func apart(r *rollout.Results) int {
	for i := range r.N {
		if batch.Status(r.Status()[i]) == batch.Separated && (r.Distance().Len() == 0 || r.Distance().At(i) > 0.01) {
			return i
		}
	}
	return 0
}

func clearInts(list []int32) {
	for i := range list {
		list[i] = 0
	}
}

// clearOffsets makes all worlds those without rows.
func clearOffsets(r *rollout.Results) {
	for i := range r.Offsets {
		r.Offsets[i] = 0
	}
}

// deleteRow deletes a row of all pairs.
func deleteRow(r *rollout.Results, i int) {
	for k := i; k+1 < r.N; k++ {
		r.CopyRow(k, r.Results, k+1, r.Columns)
		r.PartA[k], r.PartB[k], r.BodyA[k], r.BodyB[k] = r.PartA[k+1], r.PartB[k+1], r.BodyA[k+1], r.BodyB[k+1]
	}
	r.N--
	for w := range r.Offsets {
		if int(r.Offsets[w]) > i {
			r.Offsets[w]--
		}
	}
}
