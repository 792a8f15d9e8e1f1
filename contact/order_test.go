package contact

import (
	"math"
	"testing"

	"clearance/contact/lanes"
	"clearance/geom"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

// preciseTop is a symmetric top about a fixed point under its weight in steady precession at a rate Ω: with the spin ω₃
// and the inclination θ, Ω(I₃ω₃ − I₁Ω·cos θ) = mgl (Landau and Lifshitz, Mechanics, §35).
type preciseTop struct {
	i1, i3, moment float64 // mgl
	tilt, spin     float64
	rate           float64
}

func newPreciseTop(i1, i3, moment, tilt, spin float64) *preciseTop {
	p := &preciseTop{i1: i1, i3: i3, moment: moment, tilt: tilt, spin: spin}
	c, l := i1*math.Cos(tilt), i3*spin
	p.rate = 2 * moment / (l + math.Sqrt(l*l-4*c*moment)) // the slow one
	return p
}

// at is the rotation and the angular velocity at a time.
func (p *preciseTop) at(time float64) (rotation quat.Number, spin r3.Vec) {
	own := p.spin - p.rate*math.Cos(p.tilt)
	pose := geom.Rotate(r3.Vec{Z: 1}, p.rate*time).Compose(geom.Rotate(r3.Vec{X: 1}, p.tilt)).Compose(
		geom.Rotate(r3.Vec{Z: 1}, own*time))
	m := pose.Matrix()
	return pose.Rotation, r3.Add(r3.Vec{Z: p.rate}, r3.Scale(own, m.MulVec(r3.Vec{Z: 1})))
}

// torque is that of the weight.
func (p *preciseTop) torque(rotation quat.Number) r3.Vec {
	m := geom.Pose{Rotation: rotation}.Matrix()
	return r3.Scale(p.moment, r3.Cross(r3.Vec{Z: 1}, m.MulVec(r3.Vec{Z: 1})))
}

// TestTorqueOrder: a heavy top at 150 rad/s that its torques alone hold keeps its inclination for 2 s at 5 ms. A step
// takes the momentum from half a step before to half a step after the pose (leapfrog): with the first momentum of that
// time poses are of second order in Δt, and so is the momentum L + ½Δt·τ of the time of the pose. With the first
// momentum of the time of the pose they are of first order: they precess with a nutation of the size of ½Δt·τ/L, which
// does not grow.
func TestTorqueOrder(t *testing.T) {
	const seconds = 2.0
	half := r3.Vec{X: 0.06, Y: 0.06, Z: 0.02}
	i1, i3 := (half.Y*half.Y+half.Z*half.Z)/3, (half.X*half.X+half.Y*half.Y)/3
	top := newPreciseTop(i1, i3, 9.81*0.05, 0.3, 150)
	for _, variant := range append(lanes.Supported(), Off) {
		for _, staggered := range []bool{true, false} {
			var last, lastTilt, lastMomentum float64
			for _, dt := range []float64{5e-3, 2.5e-3, 1.25e-3} {
				rotation, spin := top.at(0)
				pose := geom.Pose{Rotation: rotation}
				m := pose.Matrix()
				b := spinning{half: half, spin: m.MulVecT(spin), step: dt}
				s := freeBody(t, &b, pose, StepOptions{TimeStep: dt, Solve: Options{SIMD: variant, Workers: 1}})
				if staggered {
					putVec(s.state.Momentum[3:], addScaled(vecOf(s.state.Momentum[3:]), -dt/2, top.torque(rotation)))
				}
				var off, tilt, momentum float64
				force := make([]float64, 12)
				for step := range int(math.Round(seconds / dt)) {
					putVec(force[9:], top.torque(quaternion(s.state.Pose[10:])))
					if err := s.Step(t.Context(), force); err != nil || s.state.Status[0] != Advanced {
						t.Fatal(err, s.state.Status[0])
					}
					rotation, spin := top.at(float64(step+1) * dt)
					got := quaternion(s.state.Pose[10:])
					d := quat.Mul(quat.Conj(rotation), got)
					off = max(off, 2*math.Asin(min(1, length(r3.Vec{X: d.Imag, Y: d.Jmag, Z: d.Kmag}))))
					axis := rotatedBy(&geom.Pose{Rotation: got}, r3.Vec{Z: 1})
					tilt = max(tilt, math.Abs(math.Acos(axis.Z)-top.tilt))
					l := addScaled(vecOf(s.state.Momentum[3:]), dt/2, top.torque(got))
					want := s.scene.Momentum(1, rotation, spin)
					momentum = max(momentum, r3.Norm(r3.Sub(l, want))/r3.Norm(want))
				}
				t.Logf("%s, staggered %t, step %g: rotation off by %.2e, inclination by %.2e, momentum by %.2e",
					variant, staggered, dt, off, tilt, momentum)
				order := func(what string, now, before, least, most float64) {
					if r := before / now; before > 0 && !(r > least && r < most) {
						t.Errorf("%s, staggered %t, step %g: %s off by %.2e, by %.2e at twice the step", variant,
							staggered, dt, what, now, before)
					}
				}
				if staggered {
					order("rotation", off, last, 3.7, 4.3)
					order("momentum", momentum, lastMomentum, 3.7, 4.3)
				} else {
					order("rotation", off, last, 1.8, 2.2)
					order("inclination", tilt, lastTilt, 1.8, 2.6)
				}
				if limit := top.moment * dt / (i3 * top.spin); !(tilt <= limit) { // twice the amplitude of the nutation
					t.Errorf("%s, staggered %t, step %g: inclination off by %.2e, limit %.2e", variant, staggered, dt,
						tilt, limit)
				}
				last, lastTilt, lastMomentum = off, tilt, momentum
			}
		}
	}
}

// TestTopStands: a cone on its tip at 150 rad/s stands for 2 s at 5 ms, with friction and without. Contacts are of
// first order: a tip that sticks goes along a tangent in each step, and the top leans by a rate that goes with Δt.
func TestTopStands(t *testing.T) {
	const radius, half, mass, tilt, spin, seconds = 0.06, 0.025, 0.3, 0.3, 150.0, 2.0
	i3 := 0.3 * mass * radius * radius
	i1 := i3/2 + 3./20*mass*half*half
	for _, mu := range []float64{0, 1} {
		var last float64
		for _, dt := range []float64{5e-3, 2.5e-3, 1.25e-3} {
			scene := testScene(t, []geom.Shape{geom.Cone{R: radius, HalfLength: half}}, []r3.Vec{cube}, mass, mu, 0)
			copy(scene.Inertia[6:], []float64{i1, i1, i3, 0, 0, 0})
			scene.Center = []float64{0, 0, 0, 0, 0, -half / 2} // 3/4 of the way from the apex
			pose := geom.Rotate(r3.Vec{X: 1}, math.Pi+tilt)
			tip := pose.Apply(r3.Vec{Z: half})
			pose.Position = r3.Scale(-1, tip)
			m := pose.Matrix()
			axis := m.MulVec(r3.Vec{Z: -1})
			state := stateOf(1, []geom.Pose{geom.IdentityPose(), pose})
			putVec(state.Momentum[3:], scene.Momentum(1, pose.Rotation, r3.Scale(spin, axis)))
			s := simulation(t, scene, state, StepOptions{TimeStep: dt, Gravity: down})
			lean, from, steps := 0.0, 0.0, 0
			run(t, s, int(seconds/dt), func() {
				q := quaternion(s.state.Pose[10:])
				now := math.Acos(rotatedBy(&geom.Pose{Rotation: q}, r3.Vec{Z: -1}).Z) - tilt
				if steps++; steps == int(0.5/dt) { // the nutation has gone by then
					from = now
				}
				lean = now
			})
			rate := (lean - from) / 1.5
			t.Logf("μ %g, step %g: leans by %.4f rad after 2 s, by %.2e rad/s", mu, dt, lean, rate)
			if !(math.Abs(lean) <= 0.03) || mu > 0 && last != 0 && !(last/rate > 1.7 && last/rate < 2.4) ||
				mu == 0 && !(math.Abs(rate) < 5e-4) {
				t.Errorf("μ %g, step %g: leans by %.4f rad after 2 s, by %.2e rad/s", mu, dt, lean, rate)
			}
			last = rate
		}
	}
}
