package adjoint

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/contact"
	"clearance/derive"
	"clearance/geom"
)

// Steps whose contacts change their modes have no derivative, or one that tells nothing of what lies beyond. The
// smoothed step is the mean of the step over Gaussian noise of the state before and of the forces, which has a
// derivative everywhere:
//
//	∇E[f(u + σz)] = E[(f(u + σz) − f(u))·z]/σ,
//
// where f(u) changes the variance and not the mean. The estimate takes samples of the step alone, as package derive
// does of answers of pairs. It differs from the derivative of the step, where there is one, by how far the step is from
// linear within σ of u, and by the sampling, which goes with 1/√samples.

// StepNoise is the noise of the state and of the forces of a smoothed step. A scale of zero leaves its numbers as they
// are, and their gradients zero.
type StepNoise struct {
	Samples    int
	Seed       uint64
	Position   float64 // m
	Rotation   float64 // rad
	Velocity   float64 // m/s
	Spin       float64 // rad/s
	Force      float64 // N
	Torque     float64 // N·m
	FirstWorld uint64  // the number of the first world, by which its noise is drawn
	// BySpin says that functions are of spins, and gradients by these, in place of angular momenta. Gradients by poses
	// are at constant spins then.
	BySpin bool
}

// check returns an error for a value out of range.
func (o *StepNoise) check() error {
	if o.Samples < 1 {
		return fmt.Errorf("adjoint: %d samples, want one or more", o.Samples)
	}
	for _, s := range [...]float64{o.Position, o.Rotation, o.Velocity, o.Spin, o.Force, o.Torque} {
		if !(s >= 0) || math.IsInf(s, 1) {
			return fmt.Errorf("adjoint: noise of the scale %g, want one that is not negative and finite", s)
		}
	}
	return nil
}

// SmoothedStep is the gradient of a function of the state after a step by the state before and by the forces,
// estimated by noise.
type SmoothedStep struct {
	Pose     []float64 // [W,B,6] by the twists of the poses; zero of bodies that impulses do not move
	Velocity []float64 // [W,B,3]
	Momentum []float64 // [W,B,3], or by spins
	Force    []float64 // [W,B,6] by forces and torques
	// Answered [W] is the number of samples that were advanced. The others are left out, which makes the gradient that
	// of the mean over those that are; it is zero where the step itself was not advanced.
	Answered []int32
}

// Smoothed estimates the gradient of a function of the state after one step, from the present state of a simulation,
// under forces [W,B,6] or nil. bar has the gradients of the function by the states after the step without noise, one of
// each world: the function is linear in positions, rotation vectors, velocities and momenta there. The simulation is
// left as it is. A world and its noise do not depend on the other worlds but by their numbers.
func Smoothed(ctx context.Context, sim *contact.Simulation, force []float64, bar []StateCotangent, o *StepNoise,
	out *SmoothedStep) error {
	if err := o.check(); err != nil {
		return err
	}
	st, n := sim.State(), len(sim.Scene().Body)
	if len(bar) != st.Worlds || force != nil && len(force) != 6*n*st.Worlds {
		return errors.New("adjoint: cotangents or forces are not those of the worlds")
	}
	resize(&out.Pose, 6*n*st.Worlds)
	resize(&out.Velocity, 3*n*st.Worlds)
	resize(&out.Momentum, 3*n*st.Worlds)
	resize(&out.Force, 6*n*st.Worlds)
	resize(&out.Answered, st.Worlds)
	clear(out.Force)
	clear(out.Pose)
	clear(out.Velocity)
	clear(out.Momentum)
	clear(out.Answered)
	base, err := sim.Twin()
	if err != nil {
		return err
	}
	if err := base.Step(ctx, force); err != nil {
		return err
	}
	s := &smoothing{sim: sim, o: o, steps: NewSteps(sim), bar: bar, base: markOf(base).state, moved: base,
		state: markOf(sim).state, warm: sim.Warm(), z: make([]float64, noises*n*st.Worlds), out: out}
	s.force = make([]float64, 6*n*st.Worlds)
	for sample := range o.Samples {
		clear(s.force)
		copy(s.force, force)
		if err := s.sample(ctx, uint32(sample)); err != nil {
			return err
		}
	}
	for w, count := range out.Answered {
		f := 1 / float64(max(count, 1))
		for _, c := range [...]struct {
			column []float64
			per    int
		}{{out.Pose, 6}, {out.Velocity, 3}, {out.Momentum, 3}, {out.Force, 6}} {
			for i := range c.per * n {
				c.column[c.per*n*w+i] *= f
			}
		}
	}
	return nil
}

// smoothing is a call of Smoothed.
type smoothing struct {
	sim   *contact.Simulation
	o     *StepNoise
	steps *Steps
	bar   []StateCotangent
	base  *contact.State // after the step without noise
	moved *contact.Simulation
	state *contact.State // of a sample
	warm  *contact.Warm
	force []float64 // of a sample
	z     []float64 // [W,B,noises]
	out   *SmoothedStep
}

// noises is the number of normal numbers of a body: position, rotation, velocity, spin, force, torque, and two that are
// not used.
const noises = 20

// sample takes a sample of all worlds.
func (s *smoothing) sample(ctx context.Context, sample uint32) error {
	st, n := s.sim.State(), len(s.steps.fixed)
	for w := range st.Worlds {
		for b := range n {
			if !s.steps.fixed[b] {
				s.draw(w, b, sample)
			}
		}
	}
	if err := s.moved.Restore(s.state, s.warm); err != nil {
		return err
	}
	if err := s.moved.Step(ctx, s.force); err != nil {
		return err
	}
	after := s.moved.State()
	for w := range st.Worlds {
		if !s.base.Status[w].Advances() || !after.Status[w].Advances() {
			continue
		}
		s.out.Answered[w]++
		s.add(w, s.change(w, after))
	}
	return nil
}

// draw moves the state of a body, and the force on it, by the noise of a sample.
func (s *smoothing) draw(w, b int, sample uint32) {
	n, st := len(s.steps.fixed), s.sim.State()
	k, o := w*n+b, s.o
	z := s.z[noises*k : noises*(k+1)]
	for block := range noises / 4 {
		number := 3*b + block
		if block > 2 { // forces come behind the states of all bodies
			number = 3*n + 2*b + block - 3
		}
		four := derive.Normals(o.Seed, o.FirstWorld+uint64(w), sample, uint32(number))
		copy(z[4*block:], four[:])
	}
	put(s.force[6*k:], axpy(vecOf(s.force[6*k:]), o.Force, vecOf(z[12:])))
	put(s.force[6*k+3:], axpy(vecOf(s.force[6*k+3:]), o.Torque, vecOf(z[15:])))
	pose := st.Pose[7*k : 7*k+7]
	q := quat.Number{Real: pose[3], Imag: pose[4], Jmag: pose[5], Kmag: pose[6]}
	next := quat.Mul(quat.Exp(quat.Number{Imag: 0.5 * o.Rotation * z[3], Jmag: 0.5 * o.Rotation * z[4],
		Kmag: 0.5 * o.Rotation * z[5]}), q)
	put(s.state.Pose[7*k:], axpy(vecOf(pose), o.Position, vecOf(z)))
	to := s.state.Pose[7*k+3 : 7*k+7]
	to[0], to[1], to[2], to[3] = next.Real, next.Imag, next.Jmag, next.Kmag
	put(s.state.Velocity[3*k:], axpy(vecOf(st.Velocity[3*k:]), o.Velocity, vecOf(z[6:])))
	momentum, i := vecOf(st.Momentum[3*k:]), s.inertiaOf(st, k)
	if o.BySpin { // at the same spin
		inverse := i.Inverse()
		spin := inverse.Mul(momentum)
		i = s.inertiaOf(s.state, k)
		momentum = i.Mul(spin)
	}
	put(s.state.Momentum[3*k:], axpy(momentum, o.Spin, i.Mul(vecOf(z[9:]))))
}

// inertiaOf is the inertia of body k of all in a state, in world axes.
func (s *smoothing) inertiaOf(st *contact.State, k int) sym3 {
	pose := poseAt(st.Pose[7*k:])
	m := pose.Matrix()
	return s.steps.inertiaAt(k%len(s.steps.fixed), &m)
}

// rotating is the momentum of body k of all in a state, or its spin, by which the function is.
func (s *smoothing) rotating(st *contact.State, k int) r3.Vec {
	momentum := vecOf(st.Momentum[3*k:])
	if !s.o.BySpin || s.steps.fixed[k%len(s.steps.fixed)] {
		return momentum
	}
	i := s.inertiaOf(st, k)
	inverse := i.Inverse()
	return inverse.Mul(momentum)
}

// change is the function of the state of a world after the step of a sample, less that without noise.
func (s *smoothing) change(w int, after *contact.State) (sum float64) {
	n, bar := len(s.steps.fixed), &s.bar[w]
	for b := range n {
		k := w*n + b
		from, to := poseAt(s.base.Pose[7*k:]), poseAt(after.Pose[7*k:])
		sum += dot(vecOf(bar.Pose[6*b:]), r3.Sub(to.Position, from.Position))
		sum += dot(vecOf(bar.Pose[6*b+3:]), rotationBetween(from.Rotation, to.Rotation))
		sum += dot(vecOf(bar.Velocity[3*b:]), r3.Sub(vecOf(after.Velocity[3*k:]), vecOf(s.base.Velocity[3*k:])))
		sum += dot(vecOf(bar.Momentum[3*b:]), r3.Sub(s.rotating(after, k), s.rotating(s.base, k)))
	}
	return sum
}

// add adds a sample to the gradient of a world.
func (s *smoothing) add(w int, change float64) {
	n, o := len(s.steps.fixed), s.o
	over := func(scale float64) float64 {
		if scale == 0 {
			return 0
		}
		return change / scale
	}
	for b := range n {
		if s.steps.fixed[b] {
			continue
		}
		k := w*n + b
		z := s.z[noises*k : noises*(k+1)]
		addTo(s.out.Force[6*k:], r3.Scale(over(o.Force), vecOf(z[12:])))
		addTo(s.out.Force[6*k+3:], r3.Scale(over(o.Torque), vecOf(z[15:])))
		addTo(s.out.Pose[6*k:], r3.Scale(over(o.Position), vecOf(z)))
		addTo(s.out.Pose[6*k+3:], r3.Scale(over(o.Rotation), vecOf(z[3:])))
		addTo(s.out.Velocity[3*k:], r3.Scale(over(o.Velocity), vecOf(z[6:])))
		by := vecOf(z[9:])
		if !o.BySpin {
			i := s.inertiaOf(s.sim.State(), k) // ∂/∂L = I⁻¹∂/∂ω
			inverse := i.Inverse()
			by = inverse.Mul(by)
		}
		addTo(s.out.Momentum[3*k:], r3.Scale(over(o.Spin), by))
	}
}

func poseAt(v []float64) geom.Pose {
	return geom.Pose{Position: vecOf(v), Rotation: quat.Number{Real: v[3], Imag: v[4], Jmag: v[5], Kmag: v[6]}}
}

// rotationBetween is the rotation vector of next after q.
func rotationBetween(q, next quat.Number) r3.Vec {
	d := quat.Mul(next, quat.Conj(q))
	if d.Real < 0 {
		d = quat.Scale(-1, d)
	}
	v := r3.Vec{X: d.Imag, Y: d.Jmag, Z: d.Kmag}
	sine := length(v)
	if sine == 0 {
		return r3.Vec{}
	}
	return r3.Scale(2*math.Atan2(sine, d.Real)/sine, v)
}
