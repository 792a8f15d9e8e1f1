package papers

import (
	"math"
	"testing"

	"clearance/ref"
)

// checkContacts holds what the report says of contact models, at the time step of the run.
func checkContacts(t *testing.T, c *ContactResults, dt float64) {
	t.Helper()
	for _, s := range c.Slides {
		switch model := s.Model(); {
		case model == ref.ContactNCP || (model == ref.ContactLCP && s.Angle == 0):
			if !(s.Energy < 1e-6 && s.Sideways < 1e-6 && s.Lift < 1e-6) || s.Undecided != 0 {
				t.Errorf("%s at %g rad: energy off by %g J, %g m sideways, lift %g m, %d undecided", s.Solver, s.Angle,
					s.Energy, s.Sideways, s.Lift, s.Undecided)
			}
		case model == ref.ContactLCP:
			if !(s.Sideways > 0.01 && s.Way < 0.8 && s.Coulomb > 0.01) {
				t.Errorf("%s at %g rad: %g m sideways, %g of the way", s.Solver, s.Angle, s.Sideways, s.Way)
			}
		case model == ref.ContactCCP:
			// With targets -φ/Δt the cube glides with a gap of Δt·μ·‖v‖.
			if glide := dt * cubeFriction * slideSpeed; !(s.Signorini > 0.1 && s.Energy > 1e-3 && s.Lift > glide/2) {
				t.Errorf("%s: Signorini %g, energy off by %g J, lift %g m", s.Solver, s.Signorini, s.Energy, s.Lift)
			}
		case model == ref.ContactRaiSim:
			if !(s.Signorini < 1e-6 && s.Energy > 1e-4 && s.Way > 1.005*cubeWay(dt)) {
				t.Errorf("%s: Signorini %g, energy off by %g J, %g of the way", s.Solver, s.Signorini, s.Energy, s.Way)
			}
		}
	}
	for _, p := range c.Pushes {
		if !(math.Abs(p.Slip-pushSlips) <= 1.5*dt+0.01) {
			t.Errorf("%s slips at %g s", p.Solver, p.Slip)
		}
		without := map[string]bool{"ccp-admm": true, "ccp-newton": true, "ncp-admm": true, "ncp-newton": true}
		if without[p.Solver] != (p.Internal < 1e-6) {
			t.Errorf("%s: %g of the impulses move nothing", p.Solver, p.Internal)
		}
	}
	for _, r := range c.Ratios {
		global := map[string]bool{"ccp-admm": true, "ccp-newton": true, "ncp-admm": true, "ncp-newton": true,
			"ncp-staggered": true}
		if global[r.Solver] != r.Decided && r.Ratio >= 100 {
			t.Errorf("%s, masses 1 to %g: decided %v after %d", r.Solver, r.Ratio, r.Decided, r.Iterations)
		}
	}
}

// cubeWay is the way of the sliding cube by semi-implicit Euler, relative to v₀²/2μg: shorter by half a step.
func cubeWay(dt float64) float64 {
	a, way := cubeFriction*cubeGravity, 0.0
	for v := slideSpeed - a*dt; v > 0; v -= a * dt {
		way += dt * v
	}
	return way * 2 * a / (slideSpeed * slideSpeed)
}

// TestContacts: the statements of the report hold on few steps and in the committed results.
func TestContacts(t *testing.T) {
	c := quick(t, "contacts").Contacts
	checkContacts(t, c, 20*cubeStep)
	for _, s := range c.TimeSteps {
		if !(s.Error >= 0) {
			t.Errorf("%s, Δt = %g s: %g m·s", s.Solver, s.Value, s.Error)
		}
	}
	full := committed(t).Contacts
	if full == nil {
		t.Fatal("the committed results lack contacts")
	}
	checkContacts(t, full, cubeStep)
	// Table III is the error of the integrator, μg(Δt - Δt_ref)t/2 until the stop, under every model but the CCP,
	// whose cube lands later.
	stop := slideSpeed / (cubeFriction * cubeGravity)
	for _, s := range full.TimeSteps {
		off := cubeFriction * cubeGravity * (s.Value - finestStep) / 2
		want := off * (stop*stop/2 + stop*(consistencyTime-stop))
		within := 0.1
		if s.Value > 0.05 {
			within = 0.3 // the cube stops within three steps
		}
		if s.Solver == "ccp-pgs" {
			within = 0.4
		}
		if !(math.Abs(s.Error-want) <= within*want) {
			t.Errorf("%s, Δt = %g s: %g m·s, the integrator's error is %g", s.Solver, s.Value, s.Error, want)
		}
	}
	for i := range full.Tolerances {
		if a := full.Tolerances[i:min(i+2, len(full.Tolerances))]; len(a) == 2 && a[0].Solver == a[1].Solver &&
			!(a[0].Error < a[1].Error) {
			t.Errorf("%s: %g m·s at %g, %g at %g", a[0].Solver, a[0].Error, a[0].Value, a[1].Error, a[1].Value)
		}
	}
}
