package contact

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
	"clearance/internal/testkit"
	native "clearance/kernels/contact"
)

// spinning is a body in free flight.
type spinning struct {
	name string
	half r3.Vec // extents of the box of its inertia
	spin r3.Vec // in its axes
	step float64
}

var spinningBodies = []spinning{
	{"rod", r3.Vec{X: 1, Y: 0.05, Z: 0.02}, r3.Vec{X: 0.01, Y: 30}, 5e-3},
	{"pencil", r3.Vec{X: 0.09, Y: 0.0035, Z: 0.003}, r3.Vec{X: 0.01, Y: 10}, 1. / 60},
	{"phone", r3.Vec{X: 0.07, Y: 0.035, Z: 0.004}, r3.Vec{X: 0.02, Y: 20, Z: 0.01}, 1. / 60},
	{"disc", r3.Vec{X: 0.05, Y: 0.05, Z: 0.005}, r3.Vec{X: 3, Y: 1, Z: 150}, 5e-3},
}

// freeBody is a simulation of a body far from the ground.
func freeBody(t testing.TB, b *spinning, pose geom.Pose, o StepOptions) *Simulation {
	scene := testScene(t, []geom.Shape{geom.Box{HalfExtents: b.half}}, []r3.Vec{b.half}, 1, 0, 0)
	state := stateOf(1, []geom.Pose{geom.Translate(0, 0, -10), pose})
	m := pose.Matrix()
	putVec(state.Momentum[3:], scene.Momentum(1, pose.Rotation, m.MulVec(b.spin)))
	return simulation(t, scene, state, o)
}

// jacobiSn is sn(u, k), by descending Landen transformations (DLMF 22.20(ii)), and the complete integral K(k).
func jacobiSn(u, k float64) (sn, complete float64) {
	a, b := []float64{1}, math.Sqrt((1-k)*(1+k))
	c := []float64{k}
	for n := 0; math.Abs(c[n]) > 1e-16 && n < 20; n++ {
		a, c, b = append(a, (a[n]+b)/2), append(c, (a[n]-b)/2), math.Sqrt(a[n]*b)
	}
	n := len(a) - 1
	complete = math.Pi / (2 * a[n])
	u = math.Remainder(u, 4*complete)
	phi := math.Ldexp(a[n]*u, n)
	for ; n > 0; n-- {
		phi = (phi + math.Asin(c[n]/a[n]*math.Sin(phi))) / 2
	}
	return math.Sin(phi), complete
}

// TestFreeRotation: a body without torque keeps the bits of its momentum and its energy to 1e-9 in 100 s. Its angular
// velocity about the middle axis is that of the closed form, ω₂ = w·sn(λt + K) (Landau and Lifshitz, Mechanics, §37),
// whose flips come at the times 2K/λ, to 1e-6 of the time: that of the rod, which is next to the separatrix, is off by
// 3e-7 in 138 flips, the others by 6e-8.
func TestFreeRotation(t *testing.T) {
	for _, variant := range append(native.Supported(), Off) {
		for _, b := range spinningBodies {
			pose := geom.Pose{Rotation: quat.Number{Real: 0.5, Imag: 0.1, Jmag: -0.7, Kmag: 0.5}}
			pose.Rotation = quat.Scale(1/quat.Abs(pose.Rotation), pose.Rotation)
			o := StepOptions{TimeStep: b.step, Solve: Options{SIMD: variant, Workers: 1}}
			s := freeBody(t, &b, pose, o)
			l := vecOf(s.state.Momentum[3:])
			energy := func() float64 { return 0.5 * r3.Dot(vecOf(s.state.Momentum[3:]), s.Spin(0, 1)) }
			exact := closedForm(t, &b)
			e, off, late, flips, before := energy(), 0.0, 0.0, 0, b.spin.Y
			for step := range int(100 / b.step) {
				if err := s.Step(t.Context(), nil); err != nil || s.state.Status[0] != Advanced {
					t.Fatal(err, s.state.Status[0])
				}
				off = max(off, math.Abs(energy()/e-1))
				m := geom.Pose{Rotation: quaternion(s.state.Pose[10:])}.Matrix()
				w := m.MulVecT(s.Spin(0, 1)).Y
				if exact == nil {
					continue
				}
				time := float64(step+1) * b.step
				const dt = 1e-6
				if rate := (exact(time+dt) - exact(time-dt)) / (2 * dt); w*before < 0 {
					flips++
					late = math.Abs((w - exact(time)) / rate / time)
				}
				before = w
			}
			if vecOf(s.state.Momentum[3:]) != l {
				t.Errorf("%s %s: the momentum is off by %v", variant, b.name, r3.Sub(vecOf(s.state.Momentum[3:]), l))
			}
			if !(off <= 1e-11) || !(late <= 1e-6) || exact != nil && flips < 10 {
				t.Errorf("%s %s: energy off by %.3g, the last of %d flips by %.3g", variant, b.name, off, flips, late)
			}
			t.Logf("%s %s: energy off by %.2g, the last of %d flips by %.2g of the time", variant, b.name, off, flips,
				late)
		}
	}
}

// closedForm is the angular velocity about the middle axis, or nil of a symmetric body.
func closedForm(t *testing.T, b *spinning) func(time float64) float64 {
	x, y, z := b.half.X*b.half.X, b.half.Y*b.half.Y, b.half.Z*b.half.Z
	i1, i2, i3 := (y+z)/3, (z+x)/3, (x+y)/3 // of the mass 1
	w := b.spin
	if i1 == i2 {
		return nil
	}
	// 2E·I₃ − L², 2E·I₂ − L² and L² − 2E·I₁ without cancellation.
	above := i1*(i3-i1)*w.X*w.X + i2*(i3-i2)*w.Y*w.Y
	middle := i1*(i2-i1)*w.X*w.X - i3*(i3-i2)*w.Z*w.Z
	below := i2*(i2-i1)*w.Y*w.Y + i3*(i3-i1)*w.Z*w.Z
	if middle > 0 { // about the first axis
		i1, i3, above, below = i3, i1, -below, -above
	}
	lambda := math.Sqrt((i3 - i2) * below / (i1 * i2 * i3))
	k := math.Sqrt((i2 - i1) * above / ((i3 - i2) * below))
	most := math.Sqrt(above / (i2 * (i3 - i2)))
	_, complete := jacobiSn(0, k)
	// The body begins near the largest ω₂ or at it; ω̇₂ = (I₃ − I₁)/I₂·ω₁ω₃ says on which side.
	from := complete
	if w.X*w.Z != 0 {
		lo, hi := 0.0, complete
		for range 200 {
			mid := (lo + hi) / 2
			if sn, _ := jacobiSn(mid, k); most*sn < w.Y {
				lo = mid
			} else {
				hi = mid
			}
		}
		if from = lo; w.X*w.Z < 0 == (b.half.X > b.half.Z) {
			from = 2*complete - lo
		}
	}
	return func(time float64) float64 {
		sn, _ := jacobiSn(lambda*time+from, k)
		return most * sn
	}
}

// randomBody is the rotation data of a random inertia with principal axes of its own: needles, plates and lumps.
func randomBody(rng *rand.Rand) *native.Fixed {
	var e [3]float64
	for i := range e {
		e[i] = math.Pow(10, -3*rng.Float64())
	}
	x, y, z := e[0]*e[0], e[1]*e[1], e[2]*e[2]
	m := geom.Pose{Rotation: testkit.Rotation(rng)}.Matrix()
	var f native.Fixed
	f.Inertia = rotated(&m, &sym3{y + z, z + x, x + y})
	setRotation(&f)
	return &f
}

// TestRotationOrder: against 32 steps, a Moser-Veselov step of the angle θ is off by 1e-10 of θ at 0.2 and 2e-7 at 0.5,
// for random inertias of ratios up to 10⁶, and it keeps the energy to rounding.
func TestRotationOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(44, 2))
	worst := map[float64]float64{}
	for range 2000 {
		f := randomBody(rng)
		q := testkit.Rotation(rng)
		m := geom.Pose{Rotation: q}.Matrix()
		axes := (*geom.Mat3)(&f.Axes)
		spin := testkit.Unit(rng)
		spin.X, spin.Z = spin.X*rng.Float64(), spin.Z*rng.Float64()
		y := r3.Vec{X: spin.X / f.Turn[0], Y: spin.Y / f.Turn[1], Z: spin.Z / f.Turn[2]}
		l := m.MulVec(axes.MulVec(y))
		_, rate, _ := rotate(f, q, &m, l, 1e-3)
		for _, theta := range []float64{0.1, 0.2, 0.4, 0.499} {
			dt := theta / (rate * 1e3)
			got, angle, ok := rotate(f, q, &m, l, dt)
			if !ok || math.Abs(angle/theta-1) > 1e-9 {
				t.Fatalf("angle %g, want %g", angle, theta)
			}
			want := q
			const parts = 32
			for range parts {
				n := geom.Pose{Rotation: want}.Matrix()
				want, _, _ = rotate(f, want, &n, l, dt/parts)
			}
			d := quat.Sub(got, want)
			worst[theta] = max(worst[theta], 2*math.Sqrt(squaredNorm(d))/theta)
			n := geom.Pose{Rotation: got}.Matrix()
			energy := func(m *geom.Mat3) float64 {
				y := axes.MulVecT(m.MulVecT(l))
				return f.Turn[0]*y.X*y.X + f.Turn[1]*y.Y*y.Y + f.Turn[2]*y.Z*y.Z
			}
			// A rotation that is off by ε changes the energy by εL·ω, of which ω and L are along each other but for the
			// ratio of their product to twice the energy.
			e := energy(&m)
			if off := math.Abs(energy(&n) - e); off > 4e-15*(r3.Norm(l)*r3.Norm(spin)+e) {
				t.Errorf("energy %g off by %g", e, off)
			}
		}
	}
	t.Log(worst)
	if !(worst[0.1] < 1e-10 && worst[0.2] < 1e-10 && worst[0.499] < 2e-7) || !(worst[0.4] > 30*worst[0.2]) {
		t.Errorf("errors by angle: %v", worst)
	}
}

// TestRotationIsExact: a body rotated about a principal axis rotates by the angle ωΔt, and a symmetric one precesses
// about its momentum by |L|Δt/I while it rotates about its axis.
func TestRotationIsExact(t *testing.T) {
	for _, theta := range []float64{1e-9, 1e-3, 0.3, 2, 40, 500} {
		for _, moments := range [][3]float64{{1, 1, 1}, {1, 1, 1.5}, {0.2, 1, 1}, {0.01, 1, 1}} {
			var f native.Fixed
			f.Inertia = [6]float64{moments[0], moments[1], moments[2]}
			setRotation(&f)
			identity := geom.Pose{Rotation: quat.Number{Real: 1}}.Matrix()
			spin := r3.Unit(r3.Vec{X: 0.3, Y: 0.4, Z: 0.5})
			l := r3.Vec{X: moments[0] * spin.X, Y: moments[1] * spin.Y, Z: moments[2] * spin.Z}
			// R(t) = exp(tL/I)·exp(t(1/I₃ − 1/I)·L₃·e₃), the axis e₃ being the one of its own moment.
			axis, own, other := r3.Vec{Z: 1}, moments[2], moments[0]
			if moments[1] == moments[2] {
				axis, own, other = r3.Vec{X: 1}, moments[0], moments[1]
			}
			about := func(v r3.Vec, angle float64) quat.Number {
				if angle *= r3.Norm(v); angle == 0 {
					return quat.Number{Real: 1}
				}
				return geom.Rotate(r3.Unit(v), angle).Rotation
			}
			want := quat.Mul(about(l, theta/other), about(axis, theta*(1/own-1/other)*r3.Dot(l, axis)))
			got, _, ok := rotate(&f, quat.Number{Real: 1}, &identity, l, theta)
			d := quat.Mul(quat.Conj(want), got)
			off := 2 * math.Sqrt(d.Imag*d.Imag+d.Jmag*d.Jmag+d.Kmag*d.Kmag)
			if !ok || !(off <= 1e-15+5e-8*theta) {
				t.Errorf("%v, angle %g: off by %g, %t", moments, theta, off, ok)
			}
		}
	}
}

// TestRotationScales: masses, lengths and times scaled by powers of two leave the bits of the rotation.
func TestRotationScales(t *testing.T) {
	rng := rand.New(rand.NewPCG(44, 3))
	for range 200 {
		f := randomBody(rng)
		q := testkit.Rotation(rng)
		m := geom.Pose{Rotation: q}.Matrix()
		spin := testkit.Unit(rng)
		l := m.MulVec((*geom.Mat3)(&f.Axes).MulVec(r3.Vec{X: spin.X / f.Turn[0], Y: spin.Y / f.Turn[1],
			Z: spin.Z / f.Turn[2]}))
		want, angle, ok := rotate(f, q, &m, l, 0.25)
		if !ok {
			t.Fatal("too fast")
		}
		moment, time := rng.IntN(97)-48, rng.IntN(49)-24
		g := native.Fixed{}
		for i, x := range f.Inertia {
			g.Inertia[i] = math.Ldexp(x, moment)
		}
		setRotation(&g)
		got, again, _ := rotate(&g, q, &m, r3.Scale(math.Ldexp(1, moment-time), l), math.Ldexp(0.25, time))
		if got != want || again != angle {
			t.Errorf("moments by 2^%d, times by 2^%d: %v, want %v", moment, time, got, want)
		}
	}
}

// TestTooFast: a body that rotates by more than the limit keeps its world where it is, with a status, and others go on.
func TestTooFast(t *testing.T) {
	half := r3.Vec{X: 0.1, Y: 0.2, Z: 0.3}
	for _, variant := range append(native.Supported(), Off) {
		scene := testScene(t, []geom.Shape{geom.Box{HalfExtents: half}, geom.Sphere{R: 0.1}}, []r3.Vec{half, cube}, 1,
			0, 0)
		var poses []geom.Pose
		for range 5 {
			poses = append(poses, geom.Translate(0, 0, -10), geom.IdentityPose(), geom.Translate(5, 0, 0))
		}
		state := stateOf(5, poses)
		const dt = 5e-3
		for w, spin := range []r3.Vec{{X: 1}, {X: 500 / dt}, {X: 520 / dt}, {}, {}} {
			putVec(state.Momentum[9*w+3:], scene.Momentum(1, quat.Number{Real: 1}, spin))
		}
		putVec(state.Momentum[9*3+6:], scene.Momentum(2, quat.Number{Real: 1}, r3.Vec{Y: 1e6 / dt}))
		putVec(state.Momentum[9*4+6:], scene.Momentum(2, quat.Number{Real: 1}, r3.Vec{Y: 1.1e6 / dt}))
		s := simulation(t, scene, state, StepOptions{TimeStep: dt, Solve: Options{SIMD: variant}})
		if err := s.Step(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		want := []StepStatus{Advanced, Advanced, TooFast, Advanced, TooFast}
		if fmt.Sprint(s.state.Status) != fmt.Sprint(want) || s.state.Steps[2] != 0 {
			t.Errorf("%s: %v, want %v", variant, s.state.Status, want)
		}
	}
}

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
	for _, variant := range append(native.Supported(), Off) {
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

// turntable is a plate of 4 × 4 m that rotates about the vertical with a box on it at a distance of its axis, which
// moves with it, and with another one on top of this, off its center by some offset.
func turntable(t testing.TB, spin, distance, offset float64, o StepOptions) *Simulation {
	plate := r3.Vec{X: 2, Y: 2, Z: 0.1}
	scene := testScene(t, []geom.Shape{geom.Box{HalfExtents: plate}, geom.Box{HalfExtents: cube},
		geom.Box{HalfExtents: cube}}, []r3.Vec{plate, cube, cube}, 1, 0.8, 0)
	scene.Mass[1] = math.Inf(1)
	at := []geom.Pose{geom.Translate(0, 0, -10), geom.Translate(0, 0, -0.1), geom.Translate(distance, 0, 0.1),
		geom.Translate(distance+offset, 0, 0.3)}
	state := stateOf(1, at)
	turn := r3.Vec{Z: spin}
	putVec(state.Momentum[3:], turn)
	for b := 2; b < 4; b++ {
		putVec(state.Velocity[3*b:], r3.Cross(turn, at[b].Position))
		putVec(state.Momentum[3*b:], scene.Momentum(b, at[b].Rotation, turn))
	}
	return simulation(t, scene, state, o)
}

// TestTurntable: a box that sticks to a turntable stays at its distance from the axis, to rounding and the tolerance of
// the solves, at every time step. It moves by chords of the length ωΔt·R, and so is ahead of the table by (ωΔt)²/24
// of the angle. Without a rotation of the contacts by half of the step it would move along tangents, and outwards by
// πωΔt a revolution; so does the upper box from the center of the lower one, since the contacts between two bodies that
// move freely are those of the beginning of the step, by which they keep their angular momentum.
func TestTurntable(t *testing.T) {
	const spin, distance, offset, seconds = 1.5, 0.9, 0.03, 4.0
	for _, variant := range append(native.Supported(), Off) {
		for _, dt := range []float64{2e-2, 5e-3} {
			s := turntable(t, spin, distance, offset, StepOptions{TimeStep: dt, Gravity: down,
				Solve: Options{SIMD: variant, Workers: 1, Tolerance: 1e-9}})
			run(t, s, int(math.Round(seconds/dt)), nil)
			low, high := vecOf(s.state.Pose[14:]), vecOf(s.state.Pose[21:])
			table := quaternion(s.state.Pose[10:])
			off := math.Hypot(low.X, low.Y)/distance - 1
			angle := math.Remainder(math.Atan2(low.Y, low.X)-2*math.Atan2(table.Kmag, table.Real), 2*math.Pi)
			ahead := spin * seconds * math.Pow(spin*dt, 2) / 24
			apart := math.Hypot(high.X-low.X, high.Y-low.Y)/offset - 1
			limit := math.Expm1(spin * spin * dt / 2 * seconds)
			t.Logf("%s, step %g: distance off by %.2e, angle %.2e (chords: %.2e), offset %.4f (tangents: %.4f)",
				variant, dt, off, angle, ahead, apart, limit)
			if !(math.Abs(off) <= 1e-7) || !(math.Abs(angle-ahead) <= 1e-6) || !(math.Abs(apart-limit) <= 1e-2*limit) {
				t.Errorf("%s, step %g: distance off by %.2e, angle %.2e, want %.2e, offset %.4f, want %.4f", variant,
					dt, off, angle, ahead, apart, limit)
			}
		}
	}
}
