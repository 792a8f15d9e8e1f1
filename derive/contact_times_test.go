package derive

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"clearance/batch"
	"clearance/cpu"
	"clearance/dispatch"
	"clearance/internal/testkit"
	"clearance/rollout"
)

// TestContactTimes: the gradients of many rows are the sums of those of each, for any number of workers; rows without
// a derivative say why, and columns that do not fit are refused.
func TestContactTimes(t *testing.T) {
	ctx := context.Background()
	bodies := armBodies(t)
	d := dispatch.New(cpu.NewReference())
	defer d.Close()
	rng := rand.New(rand.NewPCG(8, 1))
	const worlds, points = 12, 3
	m := &batch.Motions{Bodies: []int32{0, 1, 2}, T: points, TemplateA: []int32{0, 1, 0}, TemplateB: []int32{2, 2, 1}}
	for range worlds {
		for k := range points {
			for place := range 3 {
				p := testkit.Pose(rng, 0.3)
				p.Position.X += float64(place-1) * (1 - float64(k)) * 1.5
				m.Poses = appendPose(m.Poses, p)
			}
		}
	}
	job := &rollout.SweepJob{Bodies: bodies, Motions: m}
	if _, err := rollout.Sweep(ctx, d, job, dispatch.Options{}); err != nil {
		t.Fatal(err)
	}
	r := job.Results
	f := &FirstContacts{State: r.State, T1: r.T1, PartA: r.PartA, PartB: r.PartB, Time: make([]float64, r.N),
		Smoothness: make([]uint8, r.N)}
	want := make([]float64, 6*len(m.Poses)/7)
	var w Workspace
	regular := 0
	for i := range r.N {
		pair := i % 3
		f.World = append(f.World, int32(i/3))
		f.PlaceA, f.PlaceB = append(f.PlaceA, m.TemplateA[pair]), append(f.PlaceB, m.TemplateB[pair])
		f.Weights = append(f.Weights, rng.NormFloat64())
		c, err := w.ContactTime(bodies, m, r, i)
		if err != nil || c.Regular != (c.Smoothness == TimeRegular) {
			t.Fatal(err, c)
		}
		if c.Regular {
			regular++
		}
		for side, g := range [2]*[2][BodyWidth]float64{&c.A, &c.B} {
			for k := range g {
				place := int([2]int32{m.TemplateA[pair], m.TemplateB[pair]}[side])
				at := BodyWidth * ((i/3*points+min(c.WayPoint+k, points-1))*3 + place)
				for j, x := range g[k] {
					want[at+j] += f.Weights[i] * x
				}
			}
		}
	}
	if regular < 5 || regular == r.N {
		t.Fatalf("%d of %d contacts are regular", regular, r.N)
	}
	for _, workers := range []int{0, 1, 3} {
		got := make([]float64, len(want))
		if err := ContactTimes(ctx, bodies, m, f, got, workers); err != nil || !slices.Equal(got, want) {
			t.Fatalf("%d workers: %v", workers, err)
		}
	}
	for i, s := range f.Smoothness {
		c, _ := w.ContactTime(bodies, m, r, i)
		if TimeSmoothness(s) != c.Smoothness || c.Regular && f.Time[i] != c.Time {
			t.Errorf("row %d: %v at %g, want %+v", i, TimeSmoothness(s), f.Time[i], c)
		}
	}
	for _, change := range []func(g *FirstContacts){
		func(g *FirstContacts) { g.World = slices.Clone(g.World); g.World[0] = 1 },
		func(g *FirstContacts) { g.PlaceB = slices.Repeat([]int32{3}, r.N) }, func(g *FirstContacts) { g.T1 = nil },
		func(g *FirstContacts) { g.Time = g.Time[1:] }, func(g *FirstContacts) { g.Weights = nil },
	} {
		wrong := *f
		change(&wrong)
		if err := ContactTimes(ctx, bodies, m, &wrong, slices.Clone(want), 1); err == nil {
			t.Errorf("no error of %+v", wrong)
		}
	}
	if got := TimeSmoothnessCount.String(); len(TimeSmoothnesses.List) != int(TimeSmoothnessCount) || got == "" {
		t.Errorf("%d names of %d codes", len(TimeSmoothnesses.List), TimeSmoothnessCount)
	}
}
