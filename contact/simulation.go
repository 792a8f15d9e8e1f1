package contact

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"unsafe"

	"clearance/batch"
	"clearance/geom"
	native "clearance/kernels/contact"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

// A PairSolver answers rows of pairs. A step asks for all rows of a job at once, and every job has the same options:
// package dispatch answers them by back ends that it chooses once (dispatch.Steps); tests give a back end itself.
type PairSolver interface {
	Run(ctx context.Context, job *batch.Job, lo, hi int, out *batch.Results) error
}

// StepOptions configure a [Simulation]. Zero values are the defaults, but for TimeStep.
type StepOptions struct {
	TimeStep float64 // Δt in seconds, > 0
	Gravity  r3.Vec  // m/s²

	// Solve are the options of the contact solver.
	Solve Options

	// MaxGap is the largest gap of a contact, in metres. Zero: 2Δt times a bound of the relative speed of the pair and
	// 1e-4 of its size, at most a hundredth of its size. Pairs beyond it that may meet in the step have contacts too.
	MaxGap float64
	// Correction is the share of a penetration beyond the slop that a step removes. Zero: 0.1. Negative: none.
	Correction float64
	// RecoverySpeed limits the speed at which penetrations are removed, in m/s. Zero: √(g·size) of the pair, its speed
	// after a fall by half its size, and without gravity size/(40Δt).
	RecoverySpeed float64
	// BounceSpeed is the least speed of approach that is restituted, in m/s. Zero: gΔt, which a body at rest gets from
	// gravity in a step.
	BounceSpeed float64
	// Restitution is the law of impacts.
	Restitution RestitutionLaw
	// Compliance is ρ ≥ 0, without unit: R = ρ(1/m_a + 1/m_b) on all axes of a contact of bodies of masses m_a and m_b,
	// see [Simulation.soften]. Zero: rigid contacts.
	Compliance float64
	// Contacts limits the contacts of a world: one that has more is not advanced. Zero: no limit but memory.
	Contacts int
	// Accept advances worlds whose solve is undecided with the best impulses found.
	Accept bool
}

// slopOfSize is the penetration that is left alone, relative to the size of a pair, and the part of MaxGap that does
// not depend on speeds.
const slopOfSize = 1e-4

func (o StepOptions) withDefaults() (StepOptions, error) {
	set := func(x *float64, standard float64) {
		if *x == 0 {
			*x = standard
		}
	}
	switch {
	case !(o.TimeStep > 0) || math.IsInf(o.TimeStep, 1):
		return o, fmt.Errorf("contact: time step %g s; it is positive", o.TimeStep)
	case !finite(o.Gravity.X, o.Gravity.Y, o.Gravity.Z):
		return o, fmt.Errorf("contact: gravity %v is not finite", o.Gravity)
	case !(o.MaxGap >= 0) || math.IsInf(o.MaxGap, 1):
		return o, fmt.Errorf("contact: largest gap %g m; it is not negative and finite", o.MaxGap)
	case !(o.Correction <= 1):
		return o, fmt.Errorf("contact: correction %g; it is at most 1", o.Correction)
	case !(o.RecoverySpeed >= 0) || !(o.BounceSpeed >= 0):
		return o, fmt.Errorf("contact: recovery speed %g, bounce speed %g m/s; they are not negative", o.RecoverySpeed,
			o.BounceSpeed)
	case !(o.Compliance >= 0) || math.IsInf(o.Compliance, 1):
		return o, fmt.Errorf("contact: compliance %g; it is not negative and finite", o.Compliance)
	case o.Contacts < 0:
		return o, fmt.Errorf("contact: a limit of %d contacts; it is not negative", o.Contacts)
	}
	if err := RestitutionLaws.Check(o.Restitution); err != nil {
		return o, fmt.Errorf("contact: %w", err)
	}
	set(&o.Correction, 0.1)
	o.Correction = max(o.Correction, 0)
	set(&o.BounceSpeed, r3.Norm(o.Gravity)*o.TimeStep)
	solve, err := o.Solve.withDefaults()
	o.Solve.Tolerance, o.Solve.Workers, o.Solve.SIMD = solve.Tolerance, solve.Workers, solve.SIMD
	return o, err
}

// StepStatus says how the last step of a world ended.
type StepStatus uint8

// Statuses of a step. A world is advanced by [Advanced], [Accepted] and [AdvancedInParts] alone; by all others its
// state is kept.
const (
	NotStepped      StepStatus = iota
	Advanced                   // pairs and contacts are decided
	Accepted                   // the solve was undecided, and the best impulses were taken
	PairUndecided              // a pair that may have contacts has no answer
	TooManyContacts            // more than StepOptions.Contacts
	SolveUndecided             // the contact problem was not solved to the tolerance, or fails the audit of its energy
	StepInvalid                // the state or the forces are invalid
	TooFast                    // a body rotates by more than 512 rad in the step, or one of equal moments by 2²⁰
	AdvancedInParts            // as Advanced, by a half of the time step and less, see State.Parts
	MotionUndecided            // a pair may pass through another by the motion of the step, and of its least parts
	OutOfMemory                // its contacts would take more memory than there is
	stepStatusCount
)

// underway is the status of a world within a step that nothing is wrong with so far.
const underway StepStatus = 255

// StepStatuses are the names of the statuses of a step.
var StepStatuses = batch.Names[StepStatus]{What: "status", List: []string{"not_stepped", "advanced", "accepted",
	"pair_undecided", "too_many_contacts", "solve_undecided", "invalid", "too_fast", "advanced_in_parts",
	"motion_undecided", "out_of_memory"}}

func (s StepStatus) String() string { return StepStatuses.Name(s) }

// Advances reports whether a world of this status was advanced.
func (s StepStatus) Advances() bool { return s == Advanced || s == Accepted || s == AdvancedInParts }

// State is the state of W worlds of B bodies, in columns.
type State struct {
	Worlds int
	Pose   []float64 // [W,B,7] of the frames of the bodies: x, y, z in metres, quaternion w, x, y, z
	// Velocity [W,B,3] is that of the center of mass, in m/s.
	Velocity []float64
	// Momentum [W,B,3] is the angular momentum about the center of mass, in N·m·s and world axes. Of a body of mass
	// +Inf it is the angular velocity in rad/s. It is kept, and not the angular velocity, since it is conserved.
	Momentum []float64

	Steps  []int64      // [W] steps that the world was advanced by
	Status []StepStatus // [W] of the last step

	// Of the last step:
	Contacts []int32 // [W] number of contacts found, of TooManyContacts and OutOfMemory as well; of the last part
	// Solves [W] is the number of contact problems that were solved, which is more than 1 where pairs would have met
	// without a contact, or points would have entered that had none. Parts [W] is in how many parts the step was made.
	Solves, Parts []int32
	// Energy [W] is the error of the energy identity, in J: v⁺ᵀM(v⁺ − v_f) = Σλ_N·c*_N − λᵀRλ + λᵀc, where λᵀc is
	// −Σμλ_N‖c_T‖ under the NCP and 0 under the CCP. NaN where there was no solve.
	Energy []float64
}

// Simulation steps worlds of free rigid bodies. Its memory is kept from step to step. It belongs to one goroutine; a
// step uses as many as Solve.Workers says. Bits do not depend on their number, nor on the other worlds.
type Simulation struct {
	scene    *Scene
	pairs    []partPair
	features []*Features // by shape
	inverse  []sym3      // of the inertias of the scene
	solver   PairSolver
	o        StepOptions // with the defaults of given
	given    StepOptions
	gravity  float64 // its magnitude

	state    State
	problem  Problem
	solution Solution
	contacts Solver
	lo, hi   int // the block of worlds that are stepped

	rows    []worldRow  // pairs of parts that may be in contact, world after world
	query   batch.Pairs // of rows
	room    batch.Pairs // the memory of query
	maxGap  []float64   // of rows, and of more
	points  native.Points
	builder *pointBuilder
	first   []int32    // [W+1] rows of world w
	near    []nearPair // [W, pairs] the near pairs of each world in order, nearN of them
	nearN   []int32    // [W]
	open    []bool     // [W] worlds that have no solve yet, or one that has missed a pair
	pace    []float64  // [W,B] speed of each body at most, or what it moves in the step
	spare   []float64  // [W] by how much the motion of a pair without contacts may exceed that by the speeds before
	results *batch.Results
	job     batch.Job

	fixed        []native.Fixed
	bounces      []bounce // [W,B], nil where Newton's law holds
	bounceSolves []int32  // [W] solves of the step that were for less restitution

	arm    []float64   // [B] distance of the center of mass from the farthest point of a body
	bodies []bodyState // [W,B]

	// Contacts of the last solve that advanced the world, or that has missed a pair, and those of this step. Each world
	// has two sides; side is that of the last solve.
	side    []uint8     // [W]
	ids     []contactID // [W,2,C]
	at      []float64   // [W,2,C,3] positions
	impulse []float64   // [W,2,C,3] in world axes
	oldN    []int32     // [W] contacts of the last solve
	gap     []float64   // [W,C] of the contacts of the problem

	soft     []float64                 // [B] ρ/m of [Simulation.soften], nil where contacts are rigid
	capacity int                       // C
	memory   func(bytes float64) error // nil if there is so much
	still    int                       // steps in a row in which no world has advanced
	fresh    []bool                    // [W] worlds whose state was set after the last step
	inHalves []halves                  // [W] of the last step in parts

	variant  string // of the kernels of package kernels/contact, or Off
	kernel   native.Scene
	columns  native.Columns
	rules    native.Rules
	assembly native.Assembly
	allowed  []float64 // [W] error of the energy identity that residuals and rounding allow
	// [W] of the relative speed of points of two bodies at most; -1: a state is not finite, -2: too fast
	change []float64

	// The passes over worlds lo to hi-1, kept so that a step allocates nothing.
	passPrepare, passRows, passAssemble, passMove, passFinish, passRecord func(worker *stepWorker, lo, hi int)

	workers []stepWorker
	force   []float64
	record  *StepRecord // of the step, or nil
	// ownRecord is that of a simulation that makes halves.
	ownRecord StepRecord

	// Of the proof of the motion, see missed.go and again.go.
	suspects     []suspect
	asked        []int32 // the suspects of a query
	askedPairs   batch.Pairs
	askedRoom    batch.Pairs
	askedResults *batch.Results
	askedJob     batch.Job
	entries      [][]entry // [W]
	again        []int     // [W] solves with entries
	idle         []bool    // [W] worlds that are not stepped
	split        []int32
	half         *Simulation // by half of the time step
	halfForce    []float64
	halvings     int // of the time step of the caller
}

// contactID names a contact of a world.
type contactID struct {
	pair int32
	id   uint64
}

// worldRow is a row of the call of the pair solver.
type worldRow struct {
	pair   int32
	points int32   // contacts
	apart  float64 // lower bound of the distance
}

// bodyState is what a step needs of a body, in world axes. Package kernels/contact knows the order of its fields.
type bodyState struct {
	pose     geom.Pose
	matrix   geom.Mat3 // of the rotation
	center   r3.Vec    // of mass
	velocity r3.Vec
	spin     r3.Vec  // angular velocity
	rim      float64 // twice the speed of the rotation at the farthest point
	momentum r3.Vec  // angular, as in [State], after the step without contacts
	next     nextState
}

type stepWorker struct {
	workspace Workspace
	manifold  Manifold
	scratch   native.Scratch
	list      []int32 // of rows or worlds
	roots     []int32 // [B] of the groups of bodies of a world
	groups    []impactGroup
	suspects  []suspect
	began     beganContacts
}

// NewSimulation returns a simulation of a scene at a state, whose columns Pose, Velocity, Momentum and Steps are
// copied. Nil columns but Pose are zero. Pairs are solved by solver.
func NewSimulation(scene *Scene, state *State, solver PairSolver, o StepOptions) (*Simulation, error) {
	if err := scene.Check(); err != nil {
		return nil, err
	}
	if solver == nil {
		return nil, errors.New("contact: no solver of pairs; give a back end")
	}
	given := o
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := checkRoom(scene, state.Worlds, o.Contacts); err != nil {
		return nil, err
	}
	s := &Simulation{scene: scene, pairs: scene.partPairs(), solver: solver, o: o, given: given,
		gravity: r3.Norm(o.Gravity), memory: checkMemory}
	for i := range s.pairs { // a product may overflow
		if p := &s.pairs[i]; math.IsInf(p.friction, 1) {
			return nil, fmt.Errorf("contact: scene: bodies %d and %d: friction: %g; it is finite", p.a, p.b, p.friction)
		}
	}
	s.inverse, s.arm = make([]sym3, len(scene.Body)), make([]float64, len(scene.Body))
	for b := range s.inverse {
		bounds := scene.Bodies.Bounds(scene.Body[b])
		s.arm[b] = bounds.Radius + r3.Norm(r3.Sub(bounds.Center, scene.center(b)))
		if scene.movable(int32(b)) {
			s.inverse[b] = ptr(sym3(scene.Inertia[6*b : 6*b+6])).Inverse()
		}
	}
	lib := scene.Bodies.Library()
	s.features = make([]*Features, lib.Len())
	for _, p := range s.pairs {
		for _, shape := range [2]int32{p.shapeA, p.shapeB} {
			if s.features[shape] == nil {
				f, err := NewFeatures(lib.Shape(shape))
				if err != nil {
					return nil, fmt.Errorf("shape %d: %w", shape, err)
				}
				s.features[shape] = f
			}
		}
	}
	s.builder = newPointBuilder(o.Solve.SIMD, lib, s.features)
	s.contacts.trusted = true // [Scene.Check] has checked the bodies, prepare their state
	return s, s.start(state)
}

// start takes a state.
func (s *Simulation) start(from *State) error {
	w, b := from.Worlds, len(s.scene.Body)
	vectors := func(name string, v []float64) ([]float64, error) {
		if v == nil {
			return make([]float64, 3*w*b), nil
		}
		if len(v) != 3*w*b {
			return nil, fmt.Errorf("contact: state: column %s has %d values; %d worlds of %d bodies take %d", name,
				len(v), w, b, 3*w*b)
		}
		return append([]float64(nil), v...), nil
	}
	if w < 0 || len(from.Pose) != 7*w*b {
		return fmt.Errorf("contact: state: column pose has %d values; %d worlds of %d bodies take %d",
			len(from.Pose), w, b, 7*w*b)
	}
	st := &s.state
	var err error
	if st.Velocity, err = vectors("velocity", from.Velocity); err != nil {
		return err
	}
	if st.Momentum, err = vectors("momentum", from.Momentum); err != nil {
		return err
	}
	st.Worlds, st.Pose = w, append([]float64(nil), from.Pose...)
	st.Steps, st.Status = make([]int64, w), make([]StepStatus, w)
	copy(st.Steps, from.Steps)
	st.Contacts, st.Energy = make([]int32, w), make([]float64, w)
	st.Solves, st.Parts = make([]int32, w), make([]int32, w)
	s.entries, s.again, s.idle = make([][]entry, w), make([]int, w), make([]bool, w)
	s.fresh = make([]bool, w)

	c := firstCapacity(b, s.o.Contacts)
	s.capacity = c
	s.problem.Target, s.problem.Warm = []float64{}, []float64{}
	s.startCompliance()
	s.problem.Resize(w, b, c)
	for k := range s.problem.Mass {
		s.problem.Mass[k] = s.scene.Mass[k%b]
	}
	s.bodies = make([]bodyState, w*b)
	s.near, s.nearN, s.first = make([]nearPair, w*len(s.pairs)), make([]int32, w), make([]int32, w+1)
	s.pace = make([]float64, w*b)
	s.open, s.spare, s.contacts.only = make([]bool, w), make([]float64, w), make([]int32, 0, w)
	s.side, s.oldN, s.ids = make([]uint8, w), make([]int32, w), make([]contactID, 2*w*c)
	s.at, s.impulse, s.gap = make([]float64, 6*w*c), make([]float64, 6*w*c), make([]float64, w*c)
	s.allowed, s.change = make([]float64, w), make([]float64, w)
	options := batch.Options{Precision: batch.Double, Columns: manifoldColumns}
	s.results = batch.NewResults(0, &options)
	s.job = batch.Job{Library: s.scene.Bodies.Library(), Input: &s.query, Options: options}
	s.askedResults, s.askedRoom = batch.NewResults(0, &options), *batch.PairsIn(nil, 0)
	s.askedJob = batch.Job{Library: s.scene.Bodies.Library(), Input: &s.askedPairs, Options: options}
	s.workers = make([]stepWorker, max(s.o.Solve.Workers, 1))
	s.passPrepare, s.passRows, s.passAssemble = s.prepare, s.fillRows, s.assemble
	s.passMove, s.passFinish, s.passRecord = s.move, s.finish, s.recordWorlds
	s.startKernels()
	s.startBounces()
	return nil
}

// startKernels sets the columns of package kernels/contact.
func (s *Simulation) startKernels() {
	bodies, o := len(s.scene.Body), &s.o
	if s.variant = o.Solve.SIMD; bodies == 0 {
		s.variant = Off
	}
	s.kernel = native.Scene{Bodies: int32(bodies), TimeStep: o.TimeStep, MostLength: batch.MaxLength,
		Gravity: array(o.Gravity)}
	if o.Solve.Model == CCP {
		s.kernel.Convex = 1
	}
	p := &s.problem
	if s.fixed == nil {
		s.setFixed()
	}
	s.columns = native.Columns{Fixed: s.fixed, Pose: s.state.Pose, Velocity: s.state.Velocity,
		Momentum: s.state.Momentum, State: unsafe.Pointer(unsafe.SliceData(s.bodies)), Inertia: p.Inertia,
		Free: p.Velocity, Count: p.Count, Sides: s.side, Energy: s.state.Energy, Allowed: s.allowed, Change: s.change}
	s.rules = native.Rules{Bodies: int32(bodies), TimeStep: o.TimeStep, Correction: o.Correction,
		RecoverySpeed: o.RecoverySpeed, BounceSpeed: o.BounceSpeed, Gravity: s.gravity}
	s.assembly = native.Assembly{Pairs: make([]native.Pair, len(s.pairs)), First: s.first, Old: s.oldN}
	s.setContactColumns()
	for i := range s.pairs {
		q := &s.pairs[i]
		s.assembly.Pairs[i] = native.Pair{A: q.a, B: q.b, Carrier: q.carrier, Friction: q.friction,
			Restitution: q.restitution, Size: q.size, Slop: q.slop}
	}
}

// setFixed sets what does not change of each body.
func (s *Simulation) setFixed() {
	s.fixed = make([]native.Fixed, len(s.scene.Body))
	for b := range s.fixed {
		f := &s.fixed[b]
		f.Mass, f.Center, f.Arm = s.scene.Mass[b], array(s.scene.center(b)), s.arm[b]
		f.Radius = s.scene.Bodies.Bounds(s.scene.Body[b]).Radius
		if s.scene.movable(int32(b)) {
			f.Inertia, f.Inverse = [6]float64(s.scene.Inertia[6*b:6*b+6]), s.inverse[b]
			setRotation(f)
		}
	}
}

// Structures of which package kernels/contact knows the fields.
var (
	_ [unsafe.Sizeof(bodyState{})]byte = [native.BodyBytes]byte{}
	_ [unsafe.Sizeof(worldRow{})]byte  = [native.RowBytes]byte{}
	_ [unsafe.Sizeof(contactID{})]byte = [native.IDBytes]byte{}
)

// contactsOf is the first contact of a side of a world.
func (s *Simulation) contactsOf(w int, side uint8) int { return (2*w + int(side)) * s.capacity }

// Scene returns the scene, which must not be changed.
func (s *Simulation) Scene() *Scene { return s.scene }

// State returns the state, which is valid until the next step and must not be changed.
func (s *Simulation) State() *State { return &s.state }

// Solution returns the impulses and residuals of the last step; the contacts of world w are those of
// [Simulation.Problem].
func (s *Simulation) Solution() *Solution { return &s.solution }

// Problem returns the contact problem of the last step.
func (s *Simulation) Problem() *Problem { return &s.problem }

// Spin returns the angular velocity of a body in rad/s, in world axes.
func (s *Simulation) Spin(world, body int) r3.Vec {
	k := world*len(s.scene.Body) + body
	l := vecOf(s.state.Momentum[3*k:])
	if !s.scene.movable(int32(body)) {
		return l
	}
	m := geom.Pose{Rotation: quaternion(s.state.Pose[7*k+3:])}.Matrix()
	return s.spinOf(body, &m, l)
}

func quaternion(q []float64) quat.Number {
	return quat.Number{Real: q[0], Imag: q[1], Jmag: q[2], Kmag: q[3]}
}

// parallel calls f for the worlds of the block, some at a time, on all workers. Worlds are independent of each other.
func (s *Simulation) parallel(ctx context.Context, f func(worker *stepWorker, lo, hi int)) error {
	n := s.hi - s.lo
	workers := min(len(s.workers), (n+worldChunk-1)/worldChunk, max(runtime.GOMAXPROCS(0), 1))
	if workers <= 1 {
		for lo := s.lo; lo < s.hi; lo += worldChunk {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			f(&s.workers[0], lo, min(lo+worldChunk, s.hi))
		}
		return nil
	}
	return s.inParallel(ctx, workers, f)
}

// inParallel is a function of its own: what its closure refers to is on the heap.
func (s *Simulation) inParallel(ctx context.Context, workers int, f func(worker *stepWorker, lo, hi int)) error {
	first := s.lo
	return inChunks(ctx, workers, s.hi-first, worldChunk, func(k, lo, hi int) { f(&s.workers[k], first+lo, first+hi) })
}
