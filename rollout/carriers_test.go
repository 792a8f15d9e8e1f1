package rollout

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/internal/testkit"
)

// carried attaches bodies to others, in all worlds alike or in each world others. The poses of what is carried are NaN:
// nobody reads them.
func carried(rng *rand.Rand, w *batch.Worlds, perWorld bool) {
	m, lists := w.BodiesPerWorld(), 1
	if perWorld {
		lists = w.Count()
	}
	for range lists {
		list := make([]int32, m)
		for k := range list {
			list[k] = int32(k)
			if k%3 == 2 && rng.IntN(3) > 0 {
				list[k] -= 1 + rng.Int32N(2)
			}
		}
		w.Carriers = append(w.Carriers, list...)
	}
	for world := range w.Count() {
		for k := range int32(m) {
			if w.Carrier(world, k) != k {
				for i := range 7 {
					w.Poses[7*(world*m+int(k))+i] = math.NaN()
				}
			}
		}
	}
}

// expand returns worlds lo to hi, which carry alike, without carriers: the poses are written out, and the pairs that
// one place carries are left out. rows are the pairs that are left.
func expand(w *batch.Worlds, lo, hi int) (out *batch.Worlds, rows []int) {
	s, m := *w.Slice(lo, hi), w.BodiesPerWorld()
	s.Poses, s.Carriers = nil, nil
	for world := lo; world < hi; world++ {
		for k := range int32(m) {
			p := w.Pose(world, k)
			s.Poses = appendPose(s.Poses, &p)
		}
	}
	s.TemplateA, s.TemplateB = nil, nil
	for i, a := range w.TemplateA {
		if b := w.TemplateB[i]; w.Carrier(lo, a) != w.Carrier(lo, b) {
			s.TemplateA, s.TemplateB, rows = append(s.TemplateA, a), append(s.TemplateB, b), append(rows, i)
		}
	}
	for a := range int32(m) {
		for b := range a {
			if w.AllPairs && w.Carrier(lo, a) == w.Carrier(lo, b) {
				s.SkipA, s.SkipB = append(slices.Clip(s.SkipA), a), append(slices.Clip(s.SkipB), b)
			}
		}
	}
	return &s, rows
}

// rowText is all that results say of a row but its pair.
func rowText(r *Results, o *Options, i int) string {
	one := NewResults(1, o)
	one.CopyRows(0, r.Results, i, 1, r.Columns)
	text := fmt.Sprintf("%v %d %d", one.Results, r.PartA[i], r.PartB[i])
	if r.Pair != nil {
		text += fmt.Sprint(" ", r.Contacts[i], r.Failed[i], r.Any[i])
	}
	if r.BodyA != nil {
		text += fmt.Sprint(" ", r.BodyA[i], r.BodyB[i])
	}
	return text
}

// TestCarriers compares worlds with attached bodies with the same worlds written out: the same bits of every row, of
// pairs and of worlds, listed and all, attached alike and in each world otherwise.
func TestCarriers(t *testing.T) {
	rng := rand.New(rand.NewPCG(49, 7))
	d, bodies := dispatcher(t), table(t, rng)
	const worlds, m = 20, 9
	for _, perWorld := range []bool{false, true} {
		listed := scene(rng, bodies, worlds, m, 16, perWorld)
		carried(rng, listed, perWorld)
		every := *listed
		every.TemplateA, every.TemplateB, every.AllPairs = nil, nil, true
		every.SkipA, every.SkipB = []int32{0}, []int32{1}
		for _, w := range []*batch.Worlds{listed, &every} {
			for _, o := range []Options{{}, {Reduce: ReduceWorld}, {Reduce: ReduceWorld, NoCulling: true},
				{Options: batch.Options{Query: batch.Collide}},
				{Options: batch.Options{Query: batch.Collide}, Reduce: ReduceWorld}} {
				if w.AllPairs {
					o.MaxDistance, o.HasMaxDistance = 0.3, true
				}
				for _, backend := range []string{"cpu", "ref"} {
					name := fmt.Sprintf("per world %v, all %v, %v, reduce %v, %s", perWorld, w.AllPairs, o.Query,
						o.Reduce, backend)
					got, _ := mustRun(t, d, bodies, w, o, backend)
					step := worlds
					if perWorld {
						step = 1
					}
					compared := 0
					for lo := 0; lo < worlds; lo += step {
						compared += compareCarried(t, name, w, got, &o, lo, lo+step, func(w *batch.Worlds) *Results {
							want, _ := mustRun(t, d, bodies, w, o, backend)
							return want
						})
					}
					if compared < worlds {
						t.Errorf("%s: %d rows compared", name, compared)
					}
				}
			}
		}
	}
}

// compareCarried compares worlds lo to hi with those written out, and returns the number of rows.
func compareCarried(t *testing.T, name string, w *batch.Worlds, got *Results, o *Options, lo, hi int,
	run func(*batch.Worlds) *Results) (rows int) {
	t.Helper()
	plain, pairs := expand(w, lo, hi)
	want := run(plain)
	for world := lo; world < hi; world++ {
		gotRows := batch.RolloutRows{Worlds: w, Results: got}
		wantRows := batch.RolloutRows{Worlds: plain, Results: want}
		first, last := gotRows.Range(world)
		begin, end := wantRows.Range(world - lo)
		if w.AllPairs && last-first != end-begin {
			t.Fatalf("%s: world %d has %d rows, want %d", name, world, last-first, end-begin)
		}
		for j := begin; j < end; j++ {
			i := first + j - begin
			if !w.AllPairs && o.Reduce == ReduceNone {
				i = first + pairs[j-begin]
			}
			if x, y := rowText(got, o, i), rowText(want, o, j); x != y {
				t.Fatalf("%s: world %d, row %d:\n%s, want\n%s", name, world, i, x, y)
			}
			if got.Pair != nil && !w.AllPairs && want.Pair[j] >= 0 && int(got.Pair[i]) != pairs[want.Pair[j]] {
				t.Fatalf("%s: world %d is that of pair %d, want %d", name, world, got.Pair[i], pairs[want.Pair[j]])
			}
			rows++
		}
	}
	return rows
}

// TestCarriersRefused names the place at fault, and refuses carriers where they mean nothing.
func TestCarriersRefused(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	bodies := table(t, rng)
	w := scene(rng, bodies, 2, 3, 2, false)
	for _, c := range []struct {
		carriers []int32
		want     []string
	}{
		{[]int32{0, 1}, []string{"carriers have 2 numbers", "want 3, or 2 × 3"}},
		{[]int32{0, 1, 3}, []string{"carriers[2]", "= 3", "[0, 3)"}},
		{[]int32{0, 0, 1}, []string{"carriers[2]", "carries itself"}},
		{[]int32{0, 1, 2, 0, -1, 2}, []string{"carriers[4]", "world 1, body 1", "= -1"}},
	} {
		w.Carriers = c.carriers
		testkit.WantError(t, w.CheckBodies(bodies), c.want...)
	}
	w.Carriers = []int32{0, 1, 1}
	of := &batch.Worlds{Shapes: []int32{0, 1, 2}, Poses: w.Poses, TemplateA: w.TemplateA, TemplateB: w.TemplateB,
		Carriers: w.Carriers}
	testkit.WantError(t, of.CheckShape(), "carriers", "rollouts")
	b, err := Hold(dispatcher(t), bodies, w, Options{}, dispatch.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	other := *w
	other.Carriers = nil
	testkit.WantError(t, b.Update(&other), "other bodies")
}
