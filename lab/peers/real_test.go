package peers

import (
	"context"
	"math/rand/v2"
	"testing"

	"clearance/batch"
	"clearance/lab/regress"
)

// TestRealPeers asks the installed peers for answers on small sets of every kind:
// shapes, axes and poses have to arrive as they were meant. Where none is installed
// it is skipped, and says so.
func TestRealPeers(t *testing.T) {
	needClock(t)
	others, missing, err := Open("build", t.TempDir())
	if err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	for _, m := range missing {
		t.Run(m.Name, func(t *testing.T) { t.Skipf("SKIPPED: %s", m.Why) })
	}
	contestants, err := Ours("test")
	if err != nil {
		t.Fatal(err)
	}
	contestants = append(contestants, others...)
	for _, c := range contestants {
		defer c.Close()
	}
	report, err := Measure(context.Background(), contestants, Options{
		Sets: []string{"ellipsoids", "boxes", "capsule-cylinder-cone", "hull8", "hull32"}, Questions: Questions(),
		Rows: 300, Rounds: 1, Seed: 3,
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range report.Tables {
		for k := range report.Tables[i].Entries {
			tb, e := &report.Tables[i], &report.Tables[i].Entries[k]
			where := tb.Set + ", " + tb.Question + ", " + e.Name
			if e.Missing != "" {
				if tb.Question == "growth" && k >= ourContestants {
					continue
				}
				if e.Name != "MuJoCo" || tb.Set != "capsule-cylinder-cone" {
					t.Errorf("%s: missing: %s", where, e.Missing)
				}
				continue
			}
			a := e.Accuracy
			// The library may err on single pairs, as FCL's own EPA does on most; a wrong
			// pose or axis would spoil the distances of nearly all of them.
			if a.Wrong > a.Rows/20 || a.Failed > a.Rows/20 {
				t.Errorf("%s: %d wrong, %d failed of %d", where, a.Wrong, a.Failed, a.Rows)
			}
			if tb.Question == "distance" && (!(a.MedianError < 1e-5) || a.Judged < a.Rows*9/10 || a.NoWitnesses > 0) {
				t.Errorf("%s: %+v", where, a)
			}
			if k < ourContestants && (!a.Sound(2e-6*10) || a.Wrong > 0) {
				t.Errorf("%s: %+v", where, a)
			}
		}
	}
}

// TestRegression times real kernels: a run that does half its work again, and the
// portable kernels in place of the best ones, are flagged; the same again is not.
func TestRegression(t *testing.T) {
	needClock(t)
	q, err := ParseQuestion("distance")
	if err != nil {
		t.Fatal(err)
	}
	set, err := NewSet(context.Background(), "boxes", 1, 9000, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	part, _, err := set.Part(t.Context(), &q)
	if err != nil {
		t.Fatal(err)
	}
	open := func(simd string) *ours {
		c, err := NewOurs("test", batch.Single, simd)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Shapes(set); err != nil {
			t.Fatal(err)
		}
		if err := c.Pairs(part); err != nil {
			t.Fatal(err)
		}
		return c.(*ours)
	}
	best, off := open(""), open("off")
	n := float64(part.Pairs.Len())
	once := func(c *ours) float64 {
		s, err := c.Run(&q, "")
		if err != nil {
			t.Fatal(err)
		}
		return 1e9 * s / n
	}
	slowed := func() float64 {
		start, err := threadSeconds()
		if err != nil {
			t.Fatal(err)
		}
		once(best)
		half := part.Pairs.Len() / 2
		if err := best.backend.Run(context.Background(), best.job, 0, half, best.out); err != nil {
			t.Fatal(err)
		}
		end, err := threadSeconds()
		if err != nil {
			t.Fatal(err)
		}
		return 1e9 * (end - start) / n
	}
	samples := map[string][]float64{}
	const rounds = 31
	err = WithPinned(func(int) error {
		once(best)
		once(off)
		runs := []struct {
			name string
			run  func() float64
		}{
			{"before", func() float64 { return once(best) }}, {"again", func() float64 { return once(best) }},
			{"half as much work again", slowed}, {"without kernels", func() float64 { return once(off) }},
		}
		order := rand.New(rand.NewPCG(1, 1))
		for range rounds { // in turn and in random order, so that nothing but the run differs
			for _, i := range order.Perm(len(runs)) {
				runs[i].run()
				samples[runs[i].name] = append(samples[runs[i].name], runs[i].run())
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"again": false, "half as much work again": true,
		"without kernels": best.backend.SIMD() != "off"} {
		c, err := regress.Compare([]regress.Sample{{Name: "x", Rounds: samples["before"]}},
			[]regress.Sample{{Name: "x", Rounds: samples[name]}}, regress.Options{Threshold: 0.05})
		if err != nil {
			t.Fatal(err)
		}
		r := c.Rows[0]
		t.Logf("%s: %.1f to %.1f ns/pair, %+.1f %%, p = %.2g: %v", name, r.Old.Median, r.New.Median, 100*r.Change, r.P,
			r.Verdict)
		if got := len(c.Slower()) == 1; got != want {
			t.Errorf("%s is flagged: %v, want %v", name, got, want)
		}
	}
}
