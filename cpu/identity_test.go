package cpu

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/internal/testkit/rowcheck"
)

func TestSameBitsForAnyWorkersAndChunks(t *testing.T) {
	n := size(3000)
	lib, pairs := mixed(t, n, 1)
	for _, o := range []batch.Options{
		{Columns: everything}, {Columns: everything, Precision: batch.Double, Method: batch.Nesterov},
		{Columns: everything, Query: batch.Penetration, Method: batch.Polyak},
		{Columns: everything, Query: batch.Collide},
		{Columns: everything, Method: batch.RTR},
	} {
		want := solve(t, newBackend(t, 1), lib, pairs, o, n)
		var count [batch.StatusCount]int
		for _, s := range want.Status() {
			count[s]++
		}
		if count[batch.Separated] < n/10 || count[batch.Penetrating] < n/10 || count[batch.Invalid] == 0 {
			t.Fatalf("%v: the set is one-sided: %v", o.Query, count)
		}
		for _, workers := range []int{2, 5} {
			b := newBackend(t, workers)
			for _, chunk := range []int{64, 640, n} {
				got := solve(t, b, lib, pairs, o, chunk)
				for i := range n {
					if !rowcheck.Same(want, i, got, i) {
						t.Fatalf("%v: row %d differs with %d workers, chunks of %d", o.Query, i, workers, chunk)
					}
				}
			}
		}
	}
}

func TestSameBitsForAnyOrder(t *testing.T) {
	n := size(2000)
	lib, pairs := mixed(t, n, 2)
	o := batch.Options{Columns: everything}
	b := newBackend(t, 3)
	want := solve(t, b, lib, pairs, o, 256)
	order := rand.New(rand.NewPCG(3, 4)).Perm(n)
	shuffled := batch.NewPairs(n)
	var r batch.Row
	for to, from := range order {
		pairs.Row(from, &r)
		shuffled.SetRow(to, &r)
	}
	got := solve(t, b, lib, shuffled, o, 256)
	for to, from := range order {
		if !rowcheck.Same(want, from, got, to) {
			t.Fatalf("row %d differs when it stands at %d", from, to)
		}
	}
}

// Worlds of bodies give, bit for bit, what the pair list written out gives.
func TestWorldsEqualPairs(t *testing.T) {
	lib, _ := mixed(t, 0, 0)
	rng := rand.New(rand.NewPCG(5, 6))
	w := &batch.Worlds{Shapes: []int32{0, 3, 5, 6, 8}}
	for a := range int32(5) {
		for b := range int32(4) {
			if a != b {
				w.TemplateA, w.TemplateB = append(w.TemplateA, a), append(w.TemplateB, b)
			}
		}
	}
	for range 20 * len(w.Shapes) {
		p := randomPose(rng)
		w.Poses = append(w.Poses, p.Position.X, p.Position.Y, p.Position.Z, p.Rotation.Real, p.Rotation.Imag,
			p.Rotation.Jmag, p.Rotation.Kmag)
	}
	w.Poses[7*7] = math.Inf(1) // body 2 of world 1
	pairs := rowcheck.Listed(w)
	o := batch.Options{Columns: everything, Precision: batch.Double}
	b := newBackend(t, 2)
	got, want := solve(t, b, lib, w, o, 64), solve(t, b, lib, pairs, o, 0)
	if w.Len() != 320 || got.N != 320 {
		t.Fatalf("%d rows, want 20 worlds × 16 pairs", w.Len())
	}
	invalid := 0
	for i := range got.N {
		if !rowcheck.Same(got, i, want, i) {
			t.Fatalf("row %d differs", i)
		}
		if batch.Status(got.Status()[i]) == batch.Invalid {
			invalid++
		}
	}
	if invalid != 7 { // body 2 is A of 3 pairs and B of 4
		t.Errorf("%d invalid rows, want 7", invalid)
	}
}

func TestConcurrentCalls(t *testing.T) {
	n := size(1200)
	lib, pairs := mixed(t, n, 9)
	b := newBackend(t, 2)
	o := batch.Options{Columns: everything}
	want := solve(t, b, lib, pairs, o, 0)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			job := &batch.Job{Library: lib, Input: pairs, Options: o}
			if _, err := dispatch.New(b).Run(context.Background(), job, dispatch.Options{}); err != nil {
				t.Error(err)
				return
			}
			for i := range n {
				if !rowcheck.Same(want, i, job.Results, i) {
					t.Errorf("row %d differs", i)
					return
				}
			}
		})
	}
	wg.Wait()
}
