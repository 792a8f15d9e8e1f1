package contact

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"runtime"
	"slices"
	"sync/atomic"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/internal/fault"
	"clearance/kernels"
	native "clearance/kernels/contact"
)

// Options of [Solve]. The zero value is the documented default.
type Options struct {
	Model Model
	// Tolerance is the largest residual of a contact of a solved world relative to its speed scale, see
	// [Solution].Residual. Zero: 1e-6.
	Tolerance float64
	// Sweeps is the largest number of sweeps of projected Gauss-Seidel before Newton's method, which takes over earlier
	// where they are slow. Zero: 60. Negative: none.
	Sweeps int
	// Relaxation is the factor ω of the sweeps, in (0, 2). Zero: 1.3.
	Relaxation float64
	// Steps is the largest number of steps of Newton's method. Zero: 400. Negative: none. A world of the NCP that stays
	// undecided starts again twice, with as many steps each, and as many to the convex solution that one begins at.
	Steps int
	// Bound asks for the bound of the error of the CCP. It costs a second solve.
	Bound bool
	// DropInternal takes internal forces, which sweeps leave, out of the impulses of worlds whose contacts all stick
	// without them. It costs three factorizations a world.
	DropInternal bool
	// Workers is the number of goroutines. Zero: GOMAXPROCS.
	Workers int
	// SIMD names the kernels as [clearance/cpu.Options] does: avx512, avx2, neon, portable or [Off], which is Go alone.
	// Empty: what the environment variable CLEARANCE_SIMD names, and without it the best. The variant of
	// package kernels/contact is the best of [native.Supported] that is not above the named one, and Go where there is
	// none, as in builds without cgo. Residuals and statuses mean the same.
	SIMD string
}

// Off is the choice of Go alone, see Options.SIMD.
const Off = "off"

// supported are the variants of this machine, best first.
var supported = native.Supported()

// Check returns an error for a value out of range, and for kernels that this machine does not have.
func (o Options) Check() error {
	_, err := o.withDefaults()
	return err
}

func (o Options) withDefaults() (Options, error) {
	if err := Models.Check(o.Model); err != nil {
		return o, fmt.Errorf("contact: %w", err)
	}
	switch {
	case !(o.Tolerance >= 0) || math.IsInf(o.Tolerance, 1):
		return o, fmt.Errorf("contact: tolerance %g; it is not negative and finite", o.Tolerance)
	case !(o.Relaxation >= 0) || o.Relaxation >= 2:
		return o, fmt.Errorf("contact: relaxation %g; it lies in (0, 2), and 0 stands for 1.3", o.Relaxation)
	}
	variant, err := variantOf(o.SIMD)
	if err != nil {
		return o, err
	}
	o.SIMD = variant
	if o.Tolerance == 0 {
		o.Tolerance = 1e-6
	}
	if o.Relaxation == 0 {
		o.Relaxation = 1.3
	}
	o.Sweeps = limit(o.Sweeps, 60)
	o.Steps = limit(o.Steps, 400)
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	return o, nil
}

// variantOf is the variant of package kernels/contact, or [Off], of the name of an option. A name of package
// kernels/contact itself stands for its kernels also where package cpu is compiled without those of that name.
func variantOf(name string) (string, error) {
	if name == Off || slices.Contains(supported, name) {
		return name, nil
	}
	name, err := kernels.Named(name, "options")
	if err != nil {
		return "", fmt.Errorf("contact: %w", err)
	}
	return kernels.Best(name, supported), nil
}

func limit(n, standard int) int {
	if n == 0 {
		return standard
	}
	return max(n, 0)
}

// Solver keeps the memory of solves. A Solver is used by one goroutine at a time.
type Solver struct {
	workers []*worldSolver
	groups  groups
	granted float64 // bytes of workers, of which there was enough, see room
	only    []int32 // the worlds to solve, if not all
	trusted bool    // the problems are made by a simulation, which checks what they are made from
	stop    atomic.Int32
}

// Solve solves the problem of every world and writes out, whose memory is kept if it suffices. Worlds are
// independent: the answer of a world has the same bits for any number of workers and any other worlds beside
// it. A world whose input is invalid has the status Invalid, and [Problem.CheckWorld] says why; the others are
// answered. The error is that of options, of columns of the wrong length, of too little memory, or of ctx.
func Solve(ctx context.Context, p *Problem, o Options, out *Solution) error {
	return new(Solver).Solve(ctx, p, o, out)
}

// Solve is like the function [Solve]. It allocates nothing if the memory of earlier calls suffices and there is
// one worker.
func (s *Solver) Solve(ctx context.Context, p *Problem, o Options, out *Solution) (err error) {
	defer recovered(&err)
	if o, err = o.withDefaults(); err != nil {
		return err
	}
	if err := p.CheckShape(); err != nil {
		return err
	}
	s.groups.width = widthOf(o.SIMD)
	workers := max(1, min(o.Workers, (p.Worlds+s.groups.width-1)/s.groups.width))
	if !s.trusted { // a simulation asks for itself
		if workers, err = s.room(p, o.SIMD, workers, out); err != nil {
			return err
		}
	}
	out.resize(p)
	s.groups.form(p, s.only, &o, s.trusted, out)
	n := s.groups.len()
	workers = max(1, min(workers, n))
	for len(s.workers) < workers {
		s.workers = append(s.workers, new(worldSolver))
	}
	if ctx.Done() != nil && (p.Bodies > shortBodies || p.Contacts > shortContacts) {
		defer s.watch(ctx)()
	}
	for _, w := range s.workers[:workers] {
		w.sharing, w.ctx, w.stop = workers, ctx, &s.stop
	}
	if workers == 1 {
		for g := range n {
			if ctx.Err() != nil {
				break
			}
			s.workers[0].solveGroup(&s.groups, g, p, &o, s.trusted, out)
		}
		return ctx.Err()
	}
	shared := o // o itself stays on the stack
	return s.solveGroups(ctx, workers, p, &shared, out)
}

// Kernels in C look for an interrupt in worlds of more bodies or contacts than these. In smaller ones they take at most
// 200 steps of Newton's method, of (6·16)³/3 multiplications and a pass over 64 contacts each, and 60 sweeps of eight
// worlds: some hundredths of a second.
const shortBodies, shortContacts = 16, 64

// watch sets stop when ctx ends, until the function that it returns has been called.
func (s *Solver) watch(ctx context.Context) (end func()) {
	s.stop.Store(0)
	set := make(chan struct{})
	unwatch := context.AfterFunc(ctx, func() { s.stop.Store(1); close(set) })
	return func() {
		if !unwatch() { // so that it is not set in the next solve
			<-set
		}
		s.stop.Store(0)
	}
}

// solveGroups is a function of its own: what its closure refers to is on the heap.
func (s *Solver) solveGroups(ctx context.Context, workers int, p *Problem, o *Options, out *Solution) error {
	return inParallel(ctx, workers, s.groups.len(), groupChunk, func(k, g int) {
		s.workers[k].solveGroup(&s.groups, g, p, o, s.trusted, out)
	})
}

// solveWorld solves world w, whose input was checked or is trusted, and writes its columns. If swept is true the
// impulses in out are those of the sweeps of package kernels/contact.
func (s *worldSolver) solveWorld(g *groups, p *Problem, w int, o *Options, trusted, swept bool, out *Solution) {
	s.load(p, w)
	s.setScales(o.Model, o.Tolerance)
	s.sweeps, s.steps = 0, 0
	if swept {
		s.sweeps = int(out.Sweeps[w])
		for i := range s.lambda {
			s.lambda[i] = r3.Scale(1/s.units.impulse(), vecOf(out.Impulse[3*(w*p.Contacts+i):]))
		}
	} else if len(p.Warm) > 0 {
		s.startFromRest(o.Model)
	}
	s.intoCones()
	e := s.measure(o.Model, s.v, s.lambda)
	if !(e.ratio <= o.Tolerance) {
		if trusted && p.checkWorld(w, false) != nil { // not reached, unless the simulation lets something invalid pass
			out.invalid(p, w)
			return
		}
		if !g.serves(p, w) {
			g = nil
		}
		s.solve(o, swept, trusted, g, w)
		e = s.measure(o.Model, s.v, s.lambda)
	} else if trusted && !swept && o.Sweeps > 0 && e.ratio > exactly*o.Tolerance {
		s.refine(o)
		e = s.measure(o.Model, s.v, s.lambda)
	}
	out.Sweeps[w], out.Steps[w] = int32(s.sweeps), int32(s.steps)
	out.Status[w] = Undecided
	if e.ratio <= o.Tolerance {
		out.Status[w] = Solved
		if o.DropInternal && len(s.rows) > 0 {
			s.dropInternal(o.Model, o.Tolerance, &e)
		}
	}
	u := &s.units
	out.Residual[w], out.Scale[w] = e.residual*u.speed, e.scale*u.speed
	out.Primal[w], out.Dual[w], out.Complementarity[w] = e.primal*u.impulse(), e.dual*u.speed,
		e.complementarity*u.energy()
	out.Bound[w] = math.NaN()
	if o.Bound && o.Model == CCP {
		out.Bound[w] = s.bound() * u.speed
	}
	s.store(p, w, out)
}

func (s *worldSolver) store(p *Problem, w int, out *Solution) {
	impulses := out.Impulse[3*w*p.Contacts : 3*(w+1)*p.Contacts]
	clear(impulses)
	for i, l := range s.lambda {
		putVec(impulses[3*i:], r3.Scale(s.units.impulse(), l))
	}
	speed, spin := s.units.speed, s.units.spin()
	velocities := out.Velocity[6*w*p.Bodies : 6*(w+1)*p.Bodies]
	for b := range p.Bodies {
		t, v := &s.v[b], velocities[6*b:6*b+6]
		putVec(v, r3.Scale(speed, t.lin))
		putVec(v[3:], r3.Scale(spin, t.ang))
	}
}

// invalid writes the columns of a world whose input is invalid.
func (s *Solution) invalid(p *Problem, w int) {
	nan := math.NaN()
	for _, column := range [][]float64{
		s.Impulse[3*w*p.Contacts : 3*(w+1)*p.Contacts], s.Velocity[6*w*p.Bodies : 6*(w+1)*p.Bodies],
		s.Residual[w : w+1], s.Scale[w : w+1], s.Primal[w : w+1], s.Dual[w : w+1], s.Complementarity[w : w+1],
		s.Bound[w : w+1],
	} {
		for i := range column {
			column[i] = nan
		}
	}
	s.Sweeps[w], s.Steps[w], s.Status[w] = 0, 0, Invalid
}

// sweepsPerCheck is the number of sweeps between two residuals.
const sweepsPerCheck = 5

// solve leaves the impulses of the least residual in lambda. swept: sweeps were made. more: see sweepAll. g is nil
// where package kernels/contact does not support the problem.
func (s *worldSolver) solve(o *Options, swept, more bool, g *groups, w int) {
	s.bestError = math.Inf(1)
	copy(s.best, s.lambda)
	_, done := s.keep(o.Model, s.v, s.lambda, o.Tolerance)
	if !done && !swept && o.Sweeps > 0 {
		done = s.sweepAll(o, more)
	}
	if !done && o.Steps > 0 && g != nil {
		done = s.newtonKernel(g, w, o)
	}
	if !done && o.Steps > s.steps {
		copy(s.lambda, s.best)
		s.prepare()
		s.setHeights()
		done = s.proximalNewton(o.Model, o.Tolerance, o.Steps)
		for start := restartConvex; !done && o.Model == NCP && start < restarts && !s.ended(); start++ {
			done = s.restart(start, o)
		}
	}
	copy(s.lambda, s.best)
	s.intoCones()
}

// Starts of Newton's method after the first one, where that leaves a world of the NCP undecided.
const (
	restartConvex = iota // at the solution of the CCP, which is unique
	restartCold          // without impulses
	restarts
)

// restart makes as many steps of Newton's method again as o has, from another start. The impulses of the least residual
// of all starts remain the best ones.
func (s *worldSolver) restart(start int, o *Options) (done bool) {
	clear(s.lambda)
	if start == restartConvex {
		copy(s.kept, s.best)
		least := s.bestError
		s.bestError = math.Inf(1)
		s.keep(CCP, s.v, s.lambda, o.Tolerance)
		s.proximalNewton(CCP, o.Tolerance, s.steps+o.Steps)
		copy(s.lambda, s.best)
		s.intoCones()
		s.bestError = least
		copy(s.best, s.kept)
	}
	if _, done := s.keep(o.Model, s.v, s.lambda, o.Tolerance); done {
		return true
	}
	return s.proximalNewton(o.Model, o.Tolerance, s.steps+o.Steps)
}

// exactly is the part of the tolerance below which impulses to start from are not refined.
const exactly = 1e-3

// refine makes a block of sweeps from impulses within the tolerance. The next step starts from what this one ends with:
// if that were taken as it is, a body at rest would creep by the same error in every step.
func (s *worldSolver) refine(o *Options) {
	s.bestError = math.Inf(1)
	s.keep(o.Model, s.v, s.lambda, o.Tolerance)
	limited := *o
	limited.Sweeps = min(o.Sweeps, sweepsPerCheck)
	s.sweepAll(&limited, true)
	copy(s.lambda, s.best)
	s.intoCones()
}

// progress is the part of the least residual that two blocks of sweeps may leave without being slow.
const progress = 0.6

// moreBlocks is the number of blocks of sweeps after the one that reaches the tolerance, as in package kernels/contact.
const moreBlocks = 2

// sweepAll makes sweeps until the tolerance is reached, or they are slow and Newton's method is allowed. Where more,
// moreBlocks follow the block that reaches the tolerance, until the residual is as small as refine leaves it.
func (s *worldSolver) sweepAll(o *Options, more bool) (done bool) {
	s.prepare()
	if o.Model == CCP {
		s.setHeights()
	}
	left := 0
	if more {
		left = moreBlocks
	}
	before, past := math.Inf(1), s.bestError // two blocks and one block ago
	for s.sweeps < o.Sweeps && !s.ended() {
		for range min(sweepsPerCheck, o.Sweeps-s.sweeps) {
			s.sweep(o.Model, o.Relaxation)
			s.sweeps++
		}
		s.keep(o.Model, s.v, s.lambda, o.Tolerance)
		if s.bestError <= o.Tolerance {
			if done = true; left == 0 || s.bestError <= exactly*o.Tolerance {
				break
			}
			left--
		}
		if o.Steps > 0 && slow(s.bestError, before, o.Tolerance) {
			break
		}
		before, past = past, s.bestError
	}
	return done
}

// slow reports whether two blocks of sweeps have left more than progress of the least residual, and at this rate four
// more do not take it to the tolerance.
func slow(now, before, tol float64) bool {
	rate := now / before
	return rate > progress && now*rate*rate > tol
}

// intoCones takes impulses into their cones, which rounding, or a warm start, may leave.
func (s *worldSolver) intoCones() {
	for i := range s.lambda {
		if r := &s.rows[i]; coneDistance(s.lambda[i], r.mu) > 0 {
			s.lambda[i] = r.intoCone(s.lambda[i])
		}
	}
}

// intoCone shortens the tangential part of an impulse to the cone; a negative normal impulse becomes zero.
func (r *row) intoCone(l r3.Vec) r3.Vec {
	if !(l.Z > 0) {
		return r3.Vec{}
	}
	t := math.Hypot(l.X, l.Y)
	if t > r.mu*l.Z {
		f := r.mu * l.Z / t * (1 - 0x1p-52)
		l.X, l.Y = l.X*f, l.Y*f
	}
	return l
}

// groupChunk is the number of groups that a worker takes at a time.
const groupChunk = 2

// groups are the worlds of a batch in the order in which package kernels/contact takes them: those that have contacts
// of the same pairs of bodies beside each other. Each group has width worlds, the last one fewer. The order
// changes no bit of an answer. It is kept, since the next problem is mostly similar and the order is nearly right then.
type groups struct {
	worlds  []world
	variant string // of the kernels, "" for none
	width   int    // worlds of a group
	problem native.Problem
	options native.Options
}

// world is a world to solve.
type world struct {
	key   uint64 // set of pairs of bodies, each a bit that others may share
	index int32
}

func (g *groups) len() int { return (len(g.worlds) + g.width - 1) / g.width }

// mostWidth is the largest number of worlds of a group of any variant.
const mostWidth = 16

// widthOf is the number of worlds of a group: those that a variant sweeps at once.
func widthOf(variant string) int {
	if variant == Off {
		return 8
	}
	return native.Width(variant)
}

// form makes the groups of a problem: of its worlds in only, or, if that is nil, of all.
func (g *groups) form(p *Problem, only []int32, o *Options, refine bool, out *Solution) {
	switch {
	case only != nil:
		resize(&g.worlds, len(only))
		for i, w := range only {
			g.worlds[i].index = w
		}
	case len(g.worlds) != p.Worlds:
		resize(&g.worlds, p.Worlds)
		for w := range g.worlds {
			g.worlds[w].index = int32(w)
		}
	}
	g.variant = ""
	if o.SIMD == Off || p.Bodies == 0 || p.Contacts == 0 {
		return
	}
	g.variant = o.SIMD
	for i := range g.worlds {
		g.worlds[i].key = p.pairSet(int(g.worlds[i].index))
	}
	slices.SortFunc(g.worlds, func(a, b world) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.index, b.index))
	})
	g.problem = native.Problem{Bodies: p.Bodies, Contacts: p.Contacts, Mass: p.Mass, Inertia: p.Inertia,
		Velocity: p.Velocity, Count: p.Count, BodyA: p.BodyA, BodyB: p.BodyB, ArmA: p.ArmA, ArmB: p.ArmB,
		Frame: p.Frame, Friction: p.Friction, Target: p.Target, Compliance: p.Compliance, Warm: p.Warm,
		Impulse: out.Impulse, Solved: out.Velocity, Residual: out.Residual, Scale: out.Scale, Primal: out.Primal,
		Dual: out.Dual, Complementarity: out.Complementarity, Sweeps: out.Sweeps}
	// The residual of Newton's method is measured anew, and rounding must not send a solved world on. Half of the
	// steps are left for Go.
	g.options = native.Options{Convex: o.Model == CCP, Tolerance: 0.999 * o.Tolerance,
		Resolved: resolved / o.Tolerance,
		Sweeps:   o.Sweeps, Steps: (o.Steps + 1) / 2, Relaxation: o.Relaxation, Refine: refine}
}

// pairSet is the set of the pairs of bodies that have contacts, hashed to 64 bits.
func (p *Problem) pairSet(w int) (set uint64) {
	n := min(max(int(p.Count[w]), 0), p.Contacts)
	a, b := p.BodyA[w*p.Contacts:][:n], p.BodyB[w*p.Contacts:][:n]
	for i := range a {
		hi, lo := uint64(max(a[i], b[i]))+1, uint64(min(a[i], b[i]))+1
		set |= 1 << ((hi*(hi-1)/2 + lo) % 64)
	}
	return set
}

// serves reports whether package kernels/contact solves a world.
func (g *groups) serves(p *Problem, w int) bool { return g.variant != "" && p.Count[w] > 0 }

// solveGroup checks and solves the worlds of group i.
func (s *worldSolver) solveGroup(g *groups, i int, p *Problem, o *Options, trusted bool, out *Solution) {
	all := g.worlds[i*g.width : min((i+1)*g.width, len(g.worlds))]
	n := 0
	for k := range all {
		w := int(all[k].index)
		switch {
		case !trusted && !p.plain(w) && p.CheckWorld(w) != nil:
			out.invalid(p, w)
		case o.Sweeps > 0 && g.serves(p, w):
			s.group[n] = all[k].index
			n++
		default:
			s.solveWorld(g, p, w, o, trusted, false, out)
		}
	}
	if n == 0 || s.ended() {
		return
	}
	group := s.group[:n]
	solved := native.Sweep(g.variant, &g.problem, group, &g.options, &s.scratch, s.stop)
	for i, w := range group {
		if solved>>i&1 != 0 && !o.Bound && !o.DropInternal {
			out.swept(p, int(w))
		} else {
			s.solveWorld(g, p, int(w), o, trusted, true, out)
		}
	}
}

// swept completes the columns of a world that the sweeps of package kernels/contact have solved.
func (s *Solution) swept(p *Problem, w int) {
	clear(s.Impulse[3*(w*p.Contacts+int(p.Count[w])) : 3*(w+1)*p.Contacts])
	s.Bound[w], s.Steps[w], s.Status[w] = math.NaN(), 0, Solved
}

// newtonKernel solves a world by the kernel of Newton's method from the best impulses, and reports whether it is within
// the tolerance.
func (s *worldSolver) newtonKernel(g *groups, w int, o *Options) (done bool) {
	impulse := g.problem.Impulse[3*w*g.problem.Contacts:]
	for i, l := range s.best {
		putVec(impulse[3*i:], r3.Scale(s.units.impulse(), l))
	}
	steps, ok := native.Newton(g.variant, &g.problem, w, &g.options, &s.scratch, s.stop, s.room)
	if s.steps = steps; !ok {
		return false
	}
	for i := range s.lambda {
		s.lambda[i] = r3.Scale(1/s.units.impulse(), vecOf(impulse[3*i:]))
	}
	s.intoCones()
	_, done = s.keep(o.Model, s.v, s.lambda, o.Tolerance)
	return done
}

// worldChunk is the number of worlds that a worker takes at a time, so that few wait for a slow one.
const worldChunk = 16

// inParallel calls f for 0 to n-1 by so many workers, 0 to workers-1, each of which takes a chunk at a time. A context
// that ends stops it between chunks. A panic of f ends the call with an error in place of the process.
func inParallel(ctx context.Context, workers, n, chunk int, f func(worker, i int)) error {
	return inChunks(ctx, workers, n, chunk, func(worker, lo, hi int) {
		for i := lo; i < hi; i++ {
			f(worker, i)
		}
	})
}

// inChunks is inParallel with a call for each chunk, lo to hi-1.
func inChunks(ctx context.Context, workers, n, chunk int, f func(worker, lo, hi int)) error {
	return fault.Blocks(ctx, workers, n, chunk, func(worker int, chunks iter.Seq2[int, int]) {
		for lo, hi := range chunks {
			f(worker, lo, hi)
		}
	})
}

// recovered makes an error of a panic. It must be deferred by itself.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("contact: panic: %v", p)
	}
}
