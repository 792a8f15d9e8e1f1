package contact_test

import (
	"fmt"
	"testing"

	"clearance/contact"
	"clearance/contact/scenes"
)

// TestScenes solves every kind of scene under both models to 1e-6, and the CCP proves a bound.
func TestScenes(t *testing.T) {
	for _, kind := range scenes.Kinds() {
		p, err := scenes.Generate(kind, 200, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Check(); err != nil {
			t.Fatal(err)
		}
		for _, m := range []contact.Model{contact.NCP, contact.CCP} {
			t.Run(fmt.Sprint(kind, "/", m), func(t *testing.T) {
				var s contact.Solution
				o := contact.Options{Model: m, Bound: m == contact.CCP}
				if err := contact.Solve(t.Context(), p, o, &s); err != nil {
					t.Fatal(err)
				}
				undecided, sweeps, steps := 0, 0, 0
				for w, status := range s.Status {
					if status != contact.Solved {
						undecided++
					}
					sweeps, steps = sweeps+int(s.Sweeps[w]), steps+int(s.Steps[w])
				}
				t.Logf("%d undecided, %.1f sweeps, %.1f steps", undecided, float64(sweeps)/200, float64(steps)/200)
				if undecided > 0 {
					t.Errorf("%d worlds are undecided", undecided)
				}
			})
		}
	}
}
