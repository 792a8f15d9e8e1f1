package rollout

import (
	"math/rand/v2"
	"testing"

	"clearance/batch"
	"clearance/dispatch"
)

// TestStop: worlds whose contact bounds prove need no solver, and have the answers of those that are solved.
func TestStop(t *testing.T) {
	d := dispatcher(t)
	rng := rand.New(rand.NewPCG(4, 4))
	bodies := table(t, rng)
	w := scene(rng, bodies, 300, 12, 40, true)
	for i := range w.Poses { // closer
		if i%7 < 3 {
			w.Poses[i] *= 0.4
		}
	}
	o := Options{Reduce: ReduceWorld, Options: batch.Options{Query: batch.Collide}}
	stopped := &Job{Bodies: bodies, Worlds: w, Options: o}
	rep, err := Run(t.Context(), d, stopped, dispatch.Options{Backend: "cpu"})
	if err != nil {
		t.Fatal(err)
	}
	o.NoCulling = true
	want := run(t, d, bodies, w, o)
	got, fewer := stopped.Results, 0
	for i := range want.N {
		if got.Status()[i] != want.Status()[i] || got.Any[i] != want.Any[i] || got.Contacts[i] > want.Contacts[i] ||
			(got.Pair[i] < 0) != (want.Pair[i] < 0) || got.Bit(i) != want.Bit(i) {
			t.Fatalf("world %d: %v, any %d, %d contacts, pair %d; want %v, %d, %d, %d", i,
				batch.Status(got.Status()[i]),
				got.Any[i], got.Contacts[i], got.Pair[i], batch.Status(want.Status()[i]), want.Any[i], want.Contacts[i],
				want.Pair[i])
		}
		if got.Contacts[i] < want.Contacts[i] {
			fewer++
		}
	}
	if got.ContactsComplete || !want.ContactsComplete || fewer < 50 || rep.Solved*4 > rep.PartPairs {
		t.Errorf("complete %t and %t, %d worlds stopped, %d of %d pairs of parts solved", got.ContactsComplete,
			want.ContactsComplete, fewer, rep.Solved, rep.PartPairs)
	}
}
