package adjoint

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"runtime"
	"slices"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/contact"
	"clearance/geom"
	"clearance/internal/fault"
)

// A tape of a run keeps its state before every √T-th of T steps. The backward pass goes through these segments from the
// last one: it restores the state, repeats the steps with their records, and takes the cotangents back through them. So
// a run keeps √T states and √T records of steps, and its steps are made twice. A repeated segment must end in the bits
// of the run, which is checked; steps depend on the state and on the impulses that solves start from alone, and a tape
// keeps both.

// Repeater makes the steps of tapes again. Tapes of simulations of the same scene, worlds and options may share one,
// since it has no state between two calls. It belongs to one goroutine.
type Repeater struct {
	sim     *contact.Simulation // that repeats the steps
	workers int

	records []contact.StepRecord // of a segment
	memory  []*Steps             // of workers
	bar     []StateCotangent     // of worlds
	spin    [][]float64          // [W][B,3] cotangents of spins of the present state
}

// NewRepeater returns the repeater of runs of a simulation.
func NewRepeater(sim *contact.Simulation) (*Repeater, error) {
	twin, err := sim.Twin()
	if err != nil {
		return nil, err
	}
	return &Repeater{sim: twin, workers: sim.Options().Solve.Workers}, nil
}

// Tape is the tape of a run. It belongs to the goroutine of its repeater.
type Tape struct {
	*Repeater
	steps  int // that were made
	each   int // length of a segment
	force  []float64
	forces bool // of each step
	marks  []mark
	end    mark
}

// mark is a state of all worlds, and what the next step starts from.
type mark struct {
	state *contact.State
	warm  *contact.Warm
}

func markOf(s *contact.Simulation) mark {
	st := s.State()
	return mark{&contact.State{Worlds: st.Worlds, Pose: slices.Clone(st.Pose), Velocity: slices.Clone(st.Velocity),
		Momentum: slices.Clone(st.Momentum), Steps: slices.Clone(st.Steps), Status: slices.Clone(st.Status),
		Contacts: slices.Clone(st.Contacts), Solves: slices.Clone(st.Solves), Parts: slices.Clone(st.Parts),
		Energy: slices.Clone(st.Energy)}, s.Warm()}
}

// Run makes steps of a simulation as [contact.Simulation.Run] does and returns their tape, which does not depend on the
// simulation afterwards. Where the run ends with a [contact.StillError] the tape has the steps that were made.
func Run(ctx context.Context, sim *contact.Simulation, steps int, force []float64, after func(step int) bool) (*Tape,
	error) {
	r, err := NewRepeater(sim)
	if err != nil {
		return nil, err
	}
	return r.Run(ctx, sim, steps, force, after)
}

// Run is [Run] with a repeater that there is.
func (r *Repeater) Run(ctx context.Context, sim *contact.Simulation, steps int, force []float64,
	after func(step int) bool) (*Tape, error) {
	if steps < 0 {
		return nil, fmt.Errorf("adjoint: a run of %d steps", steps)
	}
	if sim.State().Worlds != r.sim.State().Worlds || sim.Scene() != r.sim.Scene() {
		return nil, errors.New("adjoint: the repeater is that of another scene, or of other worlds")
	}
	n := 6 * sim.State().Worlds * len(sim.Scene().Body)
	t := &Tape{Repeater: r, each: max(1, int(math.Ceil(math.Sqrt(float64(steps))))),
		force: slices.Clone(force), forces: steps > 1 && n > 0 && len(force) == steps*n}
	t.marks = append(t.marks, markOf(sim))
	err := sim.Run(ctx, steps, force, func(step int) bool {
		if t.steps = step + 1; t.steps%t.each == 0 && t.steps < steps {
			t.marks = append(t.marks, markOf(sim))
		}
		return after == nil || after(step)
	})
	var still *contact.StillError
	if err != nil && !errors.As(err, &still) {
		return nil, err
	}
	t.end = markOf(sim)
	return t, err
}

// Steps is the number of steps that were made.
func (t *Tape) Steps() int { return t.steps }

// First is the state that the run began with.
func (t *Tape) First() *contact.State { return t.marks[0].state }

// Bytes is the memory of the states that the tape keeps. The backward pass has a record of each step of a segment
// beside them.
func (t *Tape) Bytes() (n int) {
	for _, m := range append(t.marks[:len(t.marks):len(t.marks)], t.end) {
		s, w := m.state, m.warm
		n += 8*(len(s.Pose)+len(s.Velocity)+len(s.Momentum)+len(s.Steps)+len(s.Energy)) + len(s.Status) +
			4*(len(s.Contacts)+len(s.Solves)+len(s.Parts))
		n += 4*(len(w.Count)+len(w.Pair)) + 8*(len(w.ID)+len(w.Position)+len(w.Impulse))
	}
	return n
}

// RunCotangents is the gradient of a function of states of a run by these states. Nil columns are zero.
type RunCotangents struct {
	Impacts Impacts // the derivative of impacts with restitution

	At       []int     // [R] numbers of steps after which states are taken, rising; 0 is the state before the first one
	Pose     []float64 // [R,W,B,6] by the twists of the poses
	Velocity []float64 // [R,W,B,3]
	Momentum []float64 // [R,W,B,3] as in [contact.State]
	Spin     []float64 // [R,W,B,3] by angular velocities, beside momenta
}

// RunGradient is the gradient of a function of states of a run. The columns of numbers that all worlds share are those
// of each world by itself.
type RunGradient struct {
	Pose, Velocity []float64 // [W,B,6] and [W,B,3], by the state that the run began with
	Momentum       []float64 // [W,B,3]
	// Spin [W,B,3] is by the angular velocities that the run began with, in place of its momenta: Pose and Inertia are
	// for constant angular velocities where FromSpin is set, and else for constant momenta.
	Spin     []float64
	FromSpin bool

	Force   []float64 // [T,W,B,6], or [W,B,6] where all steps have the same forces
	Mass    []float64 // [W,B] at constant inertia
	Inertia []float64 // [W,B,6] in the axes of the bodies
	Gravity []float64 // [W,3]
	// Friction and Restitution [W,S] are by the values of [contact.Scene.FrictionSources].
	Friction, Restitution []float64
	Parts                 []float64 // [W,P,6] by the poses of the parts in their bodies, as [StepGradient.Parts]

	Smoothness []Smoothness // [T,W] of the steps
	Margin     []float64    // [T,W]
}

// resize makes the columns those of the tape, and zero.
func (g *RunGradient) resize(t *Tape) {
	scene, w := t.sim.Scene(), t.sim.State().Worlds
	n, steps := w*len(scene.Body), 1
	if t.forces {
		steps = t.steps
	}
	for _, c := range []struct {
		column *[]float64
		n      int
	}{{&g.Pose, 6 * n}, {&g.Velocity, 3 * n}, {&g.Momentum, 3 * n}, {&g.Spin, 3 * n}, {&g.Force, 6 * n * steps},
		{&g.Mass, n}, {&g.Inertia, 6 * n}, {&g.Gravity, 3 * w}, {&g.Friction, w * scene.FrictionSources()},
		{&g.Restitution, w * scene.RestitutionSources()}, {&g.Parts, 6 * w * PartCount(scene)},
		{&g.Margin, w * t.steps}} {
		resize(c.column, c.n)
		clear(*c.column)
	}
	resize(&g.Smoothness, w*t.steps)
	clear(g.Smoothness)
}

// check returns an error if a column has the wrong length.
func (c *RunCotangents) check(t *Tape) error {
	n := t.sim.State().Worlds * len(t.sim.Scene().Body)
	for _, x := range []struct {
		name   string
		column []float64
		per    int
	}{{"pose", c.Pose, 6}, {"velocity", c.Velocity, 3}, {"momentum", c.Momentum, 3}, {"spin", c.Spin, 3}} {
		if err := checkColumn("cotangents of "+x.name, x.column, x.per*n*len(c.At), true); err != nil {
			return err
		}
	}
	last := -1
	for _, step := range c.At {
		if step <= last || step > t.steps {
			return fmt.Errorf("adjoint: a state after step %d, following %d; the run has %d steps", step, last, t.steps)
		}
		last = step
	}
	return nil
}

// VJP sets out to the gradient of a function of states of the run. A step of a world that has no derivative counts as
// constant, which ends the gradient there. Bits do not depend on the number of goroutines.
func (t *Tape) VJP(ctx context.Context, c *RunCotangents, out *RunGradient) error {
	if err := c.check(t); err != nil {
		return err
	}
	if err := ImpactNames.Check(c.Impacts); err != nil {
		return fmt.Errorf("adjoint: %w", err)
	}
	out.resize(t)
	worlds, bodies := t.sim.State().Worlds, len(t.sim.Scene().Body)
	t.prepare(worlds, bodies)
	b := &backward{t: t, c: c, out: out, bodies: bodies, worlds: worlds, next: len(c.At) - 1}
	for s := len(t.marks) - 1; s >= 0; s-- {
		b.first, b.last = s*t.each, min((s+1)*t.each, t.steps)
		end := &t.end
		if s+1 < len(t.marks) {
			end = &t.marks[s+1]
		}
		if err := t.repeat(ctx, b.first, b.last, &t.marks[s], end); err != nil {
			return err
		}
		if err := t.eachWorld(ctx, worlds, b.world); err != nil {
			return err
		}
		for b.next >= 0 && c.At[b.next] > b.first {
			b.next--
		}
	}
	return t.eachWorld(ctx, worlds, b.begin)
}

func (t *Tape) prepare(worlds, bodies int) {
	resize(&t.bar, worlds)
	resize(&t.spin, worlds)
	for w := range t.bar {
		bar := &t.bar[w]
		bar.Resize(bodies)
		clear(bar.Pose)
		clear(bar.Velocity)
		clear(bar.Momentum)
		resize(&t.spin[w], 3*bodies)
		clear(t.spin[w])
	}
	for len(t.records) < min(t.each, t.steps) {
		t.records = append(t.records, contact.StepRecord{})
	}
}

// repeat makes steps first to last−1 of the run from a mark, with records.
func (t *Tape) repeat(ctx context.Context, first, last int, from, to *mark) error {
	if err := t.sim.Restore(from.state, from.warm); err != nil {
		return err
	}
	for i := first; i < last; i++ {
		t.sim.Record(&t.records[i-first])
		if err := t.sim.Step(ctx, t.forceOf(i)); err != nil {
			return err
		}
	}
	t.sim.Record(nil)
	st := t.sim.State()
	if !sameBits(st.Pose, to.state.Pose) || !sameBits(st.Velocity, to.state.Velocity) ||
		!sameBits(st.Momentum, to.state.Momentum) {
		return fmt.Errorf("adjoint: steps %d to %d of the run have other bits when they are repeated", first, last)
	}
	return nil
}

func sameBits(a, b []float64) bool {
	for i := range a {
		if math.Float64bits(a[i]) != math.Float64bits(b[i]) {
			return false
		}
	}
	return len(a) == len(b)
}

func (t *Tape) forceOf(step int) []float64 {
	if !t.forces {
		return t.force
	}
	n := 6 * t.sim.State().Worlds * len(t.sim.Scene().Body)
	return t.force[step*n : (step+1)*n]
}

// eachWorld calls do for all worlds, some at a time on each worker.
func (t *Tape) eachWorld(ctx context.Context, worlds int, do func(x *Steps, w int)) error {
	const chunk = 4
	workers := t.workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = max(1, min(workers, (worlds+chunk-1)/chunk))
	for len(t.memory) < workers {
		t.memory = append(t.memory, NewSteps(t.sim))
	}
	if workers == 1 {
		for w := 0; w < worlds && ctx.Err() == nil; w++ {
			do(t.memory[0], w)
		}
		return ctx.Err()
	}
	return fault.Blocks(ctx, workers, worlds, chunk, func(worker int, chunks iter.Seq2[int, int]) {
		for lo, hi := range chunks {
			for w := lo; w < hi; w++ {
				do(t.memory[worker], w)
			}
		}
	})
}

// backward is a backward pass at a segment.
type backward struct {
	t              *Tape
	c              *RunCotangents
	out            *RunGradient
	worlds, bodies int
	first, last    int
	next           int // the last cotangents that were not taken yet
}

// world takes the cotangents of a world through the segment.
func (b *backward) world(x *Steps, w int) {
	next, bar, spin := b.next, &b.t.bar[w], b.t.spin[w]
	x.Impacts = b.c.Impacts
	g := b.gradient(w)
	for i := b.last - 1; i >= b.first; i-- {
		for ; next >= 0 && b.c.At[next] == i+1; next-- {
			b.take(w, next)
		}
		r := &b.t.records[i-b.first].Worlds[w]
		b.force(w, i, &g)
		if n := len(r.Parts); n > 0 {
			last := &r.Parts[n-1]
			for k := range b.bodies {
				body := &last.Bodies[k]
				x.spinVJP(k, &body.NextMatrix, body.Rotating, spin, bar, g.Inertia)
			}
		}
		report := x.VJP(r, bar, &g)
		b.out.Smoothness[i*b.worlds+w], b.out.Margin[i*b.worlds+w] = report.Smoothness, report.Margin
	}
}

// gradient is the part of the gradient of a world.
func (b *backward) gradient(w int) StepGradient {
	n, out := b.bodies, b.out
	of := func(column []float64) []float64 {
		per := len(column) / b.worlds
		return column[per*w : per*(w+1)]
	}
	return StepGradient{Mass: out.Mass[n*w : n*(w+1)], Inertia: out.Inertia[6*n*w : 6*n*(w+1)],
		Gravity: out.Gravity[3*w : 3*w+3], Friction: of(out.Friction), Restitution: of(out.Restitution),
		Parts: of(out.Parts)}
}

// force sets where the gradient by the forces of a step goes.
func (b *backward) force(w, step int, g *StepGradient) {
	n, at := 6*b.bodies, w
	if b.t.forces {
		at += step * b.worlds
	}
	g.Force = b.out.Force[n*at : n*(at+1)]
}

// take adds the cotangents of a state of a world.
func (b *backward) take(w, next int) {
	n, at := b.bodies, next*b.worlds+w
	bar := &b.t.bar[w]
	for _, c := range [...]struct {
		to, from []float64
		per      int
	}{{bar.Pose, b.c.Pose, 6}, {bar.Velocity, b.c.Velocity, 3}, {bar.Momentum, b.c.Momentum, 3},
		{b.t.spin[w], b.c.Spin, 3}} {
		if len(c.from) == 0 {
			continue
		}
		for i, v := range c.from[c.per*n*at : c.per*n*(at+1)] {
			c.to[i] += v
		}
	}
}

// begin ends the gradient of a world at the state that the run began with.
func (b *backward) begin(x *Steps, w int) {
	if len(b.c.At) > 0 && b.c.At[0] == 0 {
		b.take(w, 0)
	}
	n, out, bar, first := b.bodies, b.out, &b.t.bar[w], b.t.First()
	inertia := out.Inertia[6*n*w : 6*n*(w+1)]
	for k := range n {
		at := w*n + k
		q := first.Pose[7*at+3 : 7*at+7]
		m := geom.Pose{Rotation: quat.Number{Real: q[0], Imag: q[1], Jmag: q[2], Kmag: q[3]}}.Matrix()
		momentum := vecOf(first.Momentum[3*at:])
		x.spinVJP(k, &m, momentum, b.t.spin[w], bar, inertia)
		spin := vecOf(bar.Momentum[3*k:])
		if !x.fixed[k] {
			i := x.inertiaAt(k, &m)
			inverse, byMomentum := i.Inverse(), spin
			spin = i.Mul(byMomentum)
			if out.FromSpin {
				var g sym3
				g.AddProduct(1, byMomentum, inverse.Mul(momentum))
				addTo(bar.Pose[6*k+3:], axialOf(&i, &g))
				addBodyInertia(inertia[6*k:], &m, &g)
			}
		}
		put(out.Spin[3*at:], spin)
	}
	copy(out.Pose[6*n*w:], bar.Pose)
	copy(out.Velocity[3*n*w:], bar.Velocity)
	copy(out.Momentum[3*n*w:], bar.Momentum)
}

// spinVJP takes the cotangent of the angular velocity ω = I⁻¹L of a body to its momentum, rotation and inertia, and
// clears it.
func (x *Steps) spinVJP(b int, m *geom.Mat3, momentum r3.Vec, spins []float64, bar *StateCotangent, inertia []float64) {
	spin := vecOf(spins[3*b:])
	if spin == (r3.Vec{}) {
		return
	}
	clear(spins[3*b : 3*b+3])
	if x.fixed[b] {
		addTo(bar.Momentum[3*b:], spin)
		return
	}
	i := x.inertiaAt(b, m)
	inverse := i.Inverse()
	u := inverse.Mul(spin)
	var g sym3
	g.AddProduct(-1, u, inverse.Mul(momentum))
	addTo(bar.Momentum[3*b:], u)
	addTo(bar.Pose[6*b+3:], axialOf(&i, &g))
	addBodyInertia(inertia[6*b:], m, &g)
}

// inertiaAt is the inertia of a movable body at a rotation, in world axes.
func (x *Steps) inertiaAt(b int, m *geom.Mat3) (out sym3) {
	i := sym3(x.sim.Scene().Inertia[6*b : 6*b+6])
	u, v, w := i.Mul(r3.Vec{X: m[0], Y: m[1], Z: m[2]}), i.Mul(r3.Vec{X: m[3], Y: m[4], Z: m[5]}),
		i.Mul(r3.Vec{X: m[6], Y: m[7], Z: m[8]})
	row := func(k int) r3.Vec { return r3.Vec{X: m[3*k], Y: m[3*k+1], Z: m[3*k+2]} }
	return sym3{dot(row(0), u), dot(row(1), v), dot(row(2), w), dot(row(0), v), dot(row(0), w), dot(row(1), w)}
}
