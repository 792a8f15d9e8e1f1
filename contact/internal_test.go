package contact_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"clearance/contact"
	"clearance/contact/scenes"
	"clearance/ref"

	"gonum.org/v1/gonum/spatial/r3"
)

// pushedBoxes are cubes of 1 kg on the ground. Their free velocities are those of gravity in 10 ms and of a push, which
// a friction of 0.5 stops.
func pushedBoxes(n int) (worlds []scenes.World) {
	const half, moment = 0.1, 1.0 / 150
	rng := rand.New(rand.NewPCG(3, 4))
	push := func() float64 { return 0.02 * (2*rng.Float64() - 1) }
	for range n {
		w := scenes.World{Bodies: []scenes.Body{{Mass: 1, Inertia: [6]float64{moment, moment, moment},
			Velocity: r3.Vec{X: push(), Y: push(), Z: -0.0981}, Omega: r3.Vec{Z: push()}}}}
		for i := range 4 {
			w.Contacts = append(w.Contacts, scenes.Contact{A: -1, Friction: 0.5,
				ArmB:  r3.Vec{X: half * float64(2*(i&1)-1), Y: half * float64(i&2-1), Z: -half},
				Frame: [3]r3.Vec{{X: 1}, {Y: 1}, {Z: 1}}})
		}
		worlds = append(worlds, w)
	}
	return worlds
}

// TestDropInternal: where all contacts stick, internal forces that the sweeps leave are gone, by package ref, and the
// velocities stay; where they slide, the impulses keep their bits.
func TestDropInternal(t *testing.T) {
	laws := map[contact.Model]ref.ContactModel{contact.NCP: ref.ContactNCP, contact.CCP: ref.ContactCCP}
	kinds := map[string][]scenes.World{"stick": pushedBoxes(20), "slide": worldsOf(t, "slide", 20, 6)}
	for model, law := range laws {
		for kind, worlds := range kinds {
			p := scenes.Pack(worlds)
			// Package lanes leaves no internal forces on the ground.
			o := contact.Options{Model: model, Tolerance: 1e-9, SIMD: contact.Off}
			before := solve(t, p, o)
			o.DropInternal = true
			after := solve(t, p, o)
			n, least, left := 3*p.Contacts, 1.0, 0.0
			for w := range worlds {
				d := dense(t, worlds[w])
				least = min(least, d.Residual(law, before.Impulse[w*n:][:3*p.Count[w]], o.Tolerance).Internal)
				left = max(left, d.Residual(law, after.Impulse[w*n:][:3*p.Count[w]], o.Tolerance).Internal)
			}
			e := distance(after.Velocity, before.Velocity)
			t.Logf("%v %s: internal force at least %.1e before, at most %.1e after, velocities differ by %.1e", model,
				kind, least, left, e)
			switch {
			case kind == "slide" && !slices.Equal(before.Impulse, after.Impulse):
				t.Errorf("%v: impulses of sliding contacts changed", model)
			case kind == "stick" && (!(least > 1e-5) || !(left <= 1e-9) || !(e <= 1e-9)):
				t.Errorf("%v: internal force %g N·s, before %g; velocities differ by %g m/s", model, left, least, e)
			}
		}
	}
}
