package contact_test

import (
	"fmt"
	"math"
	"testing"

	"clearance/contact"
	"clearance/contact/scenes"
	"clearance/ref"
)

// dense is the problem of one world for package ref.
func dense(t testing.TB, w scenes.World) *ref.Contacts {
	t.Helper()
	var bodies []ref.ContactBody
	for _, b := range w.Bodies {
		v, o := b.Velocity, b.Omega
		bodies = append(bodies, ref.ContactBody{Mass: b.Mass, Inertia: b.Inertia,
			Velocity: [6]float64{v.X, v.Y, v.Z, o.X, o.Y, o.Z}})
	}
	var points []ref.ContactPoint
	for _, c := range w.Contacts {
		points = append(points, ref.ContactPoint(c))
	}
	p, err := ref.NewContacts(bodies, points)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func worldsOf(t testing.TB, kind string, n int, seed uint64) []scenes.World {
	t.Helper()
	list, err := scenes.Worlds(kind, n, seed)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// difference is the largest difference of two velocities.
func difference(a [][6]float64, b []float64) (most float64) {
	for i := range a {
		for k, x := range a[i] {
			most = max(most, math.Abs(x-b[6*i+k]))
		}
	}
	return most
}

// TestCCPSolversAgree solves the CCP by PGS, ADMM and Newton of ref and by Solve: the velocity is unique. Its error
// goes with the root of the residual, so that all go on to what float64 resolves of the speeds, or as far as they get.
// PGS is left out of stacks and of unequal masses, which it does not end in 20,000 sweeps.
func TestCCPSolversAgree(t *testing.T) {
	for _, kind := range []string{"random", "stick", "slide", "spin", "tip", "stack4", "heavy"} {
		t.Run(kind, func(t *testing.T) {
			worlds := worldsOf(t, kind, 4, 11)
			var s contact.Solution
			o := contact.Options{Model: contact.CCP, Tolerance: 1e-16, Bound: true}
			p := scenes.Pack(worlds)
			if err := contact.Solve(t.Context(), p, o, &s); err != nil {
				t.Fatal(err)
			}
			for w := range worlds {
				d := dense(t, worlds[w])
				for _, solver := range ref.ContactSolvers() {
					slow := kind == "heavy" || kind == "stack4"
					if solver.Model != ref.ContactCCP || slow && solver.Name == "ccp-pgs" {
						continue
					}
					most := 10000
					if solver.Name == "ccp-newton" {
						most = 300
					}
					r := solver.Solve(d, ref.ContactOptions{Tolerance: 1e-15, Limit: most})
					e := difference(d.Velocities(r.Impulse), s.Velocity[6*w*p.Bodies:])
					t.Logf("world %d %s: difference %.1e, residual %.1e, %d iterations, bound %.1e", w, solver.Name, e,
						r.Residual.Relative(), r.Iterations, s.Bound[w])
					limit := 1e-9
					if kind == "stack4" { // float64 resolves a velocity of hyperstatic stacks to the root of 1e-16
						limit = 1e-6
					}
					if !(e <= limit) {
						t.Errorf("world %d: %s differs by %g m/s", w, solver.Name, e)
					}
				}
			}
		})
	}
}

// TestNCPSolversAgree compares the solvers of the NCP where its velocity is unique.
func TestNCPSolversAgree(t *testing.T) {
	for _, kind := range []string{"stick", "slide", "random"} {
		t.Run(kind, func(t *testing.T) {
			worlds := worldsOf(t, kind, 4, 5)
			var s contact.Solution
			p := scenes.Pack(worlds)
			if err := contact.Solve(t.Context(), p, contact.Options{Tolerance: 1e-14}, &s); err != nil {
				t.Fatal(err)
			}
			for w := range worlds {
				d := dense(t, worlds[w])
				for _, solver := range ref.ContactSolvers() {
					if solver.Model != ref.ContactNCP {
						continue
					}
					r := solver.Solve(d, ref.ContactOptions{Tolerance: 1e-13})
					e := difference(d.Velocities(r.Impulse), s.Velocity[6*w*p.Bodies:])
					t.Logf("world %d %s: difference %.1e, residual %.1e, %d iterations", w, solver.Name, e,
						r.Residual.Relative(), r.Iterations)
					if !r.Decided {
						t.Errorf("world %d: %s is undecided", w, solver.Name)
					}
					if !(e <= 1e-9) {
						t.Errorf("world %d: %s differs by %g m/s", w, solver.Name, e)
					}
				}
			}
		})
	}
}

// TestResidualOfRef: package ref has the residual and the speed scale of a solution, at solutions and at impulses that
// are none, under both models and several tolerances.
func TestResidualOfRef(t *testing.T) {
	law := map[contact.Model]ref.ContactModel{contact.NCP: ref.ContactNCP, contact.CCP: ref.ContactCCP}
	for _, kind := range scenes.Kinds() {
		worlds := worldsOf(t, kind, 3, 9)
		p := scenes.Pack(worlds)
		for model, of := range law {
			for _, o := range []contact.Options{{}, {Tolerance: 1e-12}, {Sweeps: 1, Steps: -1},
				{Sweeps: -1, Steps: -1}} {
				o.Model = model
				var s contact.Solution
				if err := contact.Solve(t.Context(), p, o, &s); err != nil {
					t.Fatal(err)
				}
				for w := range worlds {
					tolerance := o.Tolerance
					if tolerance == 0 {
						tolerance = 1e-6
					}
					e := dense(t, worlds[w]).Residual(of, s.Impulse[3*w*p.Contacts:][:3*p.Count[w]], tolerance)
					speed := 0.0
					for _, v := range p.Velocity[6*w*p.Bodies:][:6*p.Bodies] {
						speed = max(speed, math.Abs(v))
					}
					name := fmt.Sprintf("%s %v, world %d, tolerance %g", kind, model, w, tolerance)
					if !(math.Abs(e.Relative()-s.Relative(w))*s.Scale[w] <= 1e-12*speed+1e-9*s.Residual[w]) {
						t.Errorf("%s: residual %g m/s, ref has %g", name, s.Residual[w], e.Natural)
					}
					// Which contact has the largest ratio is rounding where all residuals are.
					if s.Residual[w] > 1e-9*speed && !(math.Abs(e.Scale-s.Scale[w]) <= 1e-9*s.Scale[w]) {
						t.Errorf("%s: scale %g m/s, ref has %g", name, s.Scale[w], e.Scale)
					}
					if solved := s.Status[w] == contact.Solved; solved != (s.Relative(w) <= tolerance) {
						t.Errorf("%s: %v at %g", name, s.Status[w], s.Relative(w))
					}
				}
			}
		}
	}
}

// TestSolversOfRef runs every solver on scenes that it is known to solve.
func TestSolversOfRef(t *testing.T) {
	unsolved := map[string]int{}
	for _, solver := range ref.ContactSolvers() {
		counts := ""
		for _, kind := range scenes.Kinds() {
			if kind == "stack8" {
				continue
			}
			decided := 0
			worlds := worldsOf(t, kind, 1, 2)
			for w := range worlds {
				r := solver.Solve(dense(t, worlds[w]), ref.ContactOptions{Tolerance: 1e-6, Limit: 200})
				if r.Decided {
					decided++
				}
			}
			counts += fmt.Sprintf(" %s %d", kind, decided)
			if decided < len(worlds) {
				unsolved[solver.Name]++
			}
		}
		t.Log(solver.Name, counts)
	}
	for _, name := range []string{"ccp-newton", "ncp-newton"} {
		if unsolved[name] > 0 {
			t.Errorf("%s: worlds of %d kinds are undecided", name, unsolved[name])
		}
	}
}
