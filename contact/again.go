package contact

import (
	"cmp"
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/geom"
)

// Contacts at points that none of the pair's own contacts keeps out: of pairs that the motion of a step is not proved
// to keep from penetrating too deep.

// suspect is a pair that may penetrate too deep within the step.
type suspect struct {
	world, pair int32
	depth, goal float64 // see [partPair.allowed]
	normal      r3.Vec  // of the pair at time at
	at          float64 // in [0, 1]; until then it is proved
	slow        bool    // the parts move by less than half of the width relative to each other
	last        r3.Vec  // normal at the end of the step
	lands       bool    // the end is not deeper than allowed
	query       float64 // the time at which it is solved next
	queries     int
	state       suspectState
	entry       entry
}

type suspectState uint8

const (
	pending suspectState = iota
	proved
	enters  // at entry
	unknown // the pair is undecided, or rotates too far
)

// entry is a contact at a point that would enter: the material points of both parts that are deepest, or closest, at
// some time of the step. The gap between them along the normal after the step must not be less than the goal, as far as
// the law of restitution lets its impact ask for it.
type entry struct {
	pair     int32
	normal   r3.Vec
	position r3.Vec // between both, at the poses before the step
	target   float64
}

const (
	mostAgain    = 8      // solves with more entries
	mostQueries  = 48     // of a suspect, for each solve
	leastAdvance = 0x1p-7 // of the step
)

// gather lists the suspects of all workers by world and pair.
func (s *Simulation) gather() {
	s.suspects = s.suspects[:0]
	for i := range s.workers {
		s.suspects = append(s.suspects, s.workers[i].suspects...)
		s.workers[i].suspects = s.workers[i].suspects[:0]
	}
	slices.SortFunc(s.suspects, func(a, b suspect) int {
		return cmp.Or(cmp.Compare(a.world, b.world), cmp.Compare(a.pair, b.pair))
	})
}

// examine decides about the suspects. Each is solved at the end of the step, and if no plane at that normal proves the
// step, from its beginning on: a plane proves a part of the step, at the end of which the pair is solved again. Where
// the planes advance no further, or the end is deeper than allowed, points enter.
func (s *Simulation) examine(ctx context.Context) error {
	s.gather()
	for {
		s.asked = s.asked[:0]
		for i := range s.suspects {
			if s.suspects[i].state == pending {
				s.asked = append(s.asked, int32(i))
			}
		}
		if len(s.asked) == 0 {
			break
		}
		if err := s.ask(ctx); err != nil {
			return err
		}
		for k, i := range s.asked {
			s.answer(&s.suspects[i], k)
		}
	}
	for lo, hi := 0, 0; lo < len(s.suspects); lo = hi {
		for hi = lo; hi < len(s.suspects) && s.suspects[hi].world == s.suspects[lo].world; hi++ {
		}
		s.settle(int(s.suspects[lo].world), s.suspects[lo:hi])
	}
	return nil
}

// ask solves the suspects listed at the poses of their times.
func (s *Simulation) ask(ctx context.Context) error {
	n := len(s.asked)
	if s.askedRoom.Len() < n {
		s.askedRoom = *batch.PairsIn(nil, n+n/4)
	}
	s.askedPairs = *s.askedRoom.Slice(0, n)
	for k, i := range s.asked {
		u := &s.suspects[i]
		p := &s.pairs[u.pair]
		a, b := s.pathOf(int(u.world), p.a), s.pathOf(int(u.world), p.b)
		s.askedPairs.SetRow(k, &batch.Row{ShapeA: p.shapeA, ShapeB: p.shapeB,
			PoseA: s.scene.Bodies.PartPose(s.scene.Body[p.a], int(p.partA), a.poseAt(u.query)),
			PoseB: s.scene.Bodies.PartPose(s.scene.Body[p.b], int(p.partB), b.poseAt(u.query))})
	}
	s.askedResults.Resize(n)
	s.askedResults.Reset()
	s.askedJob.Results = s.askedResults
	return s.solver.Run(ctx, &s.askedJob, 0, n, s.askedResults)
}

// answer goes on with a suspect by row k of the answers.
func (s *Simulation) answer(u *suspect, k int) {
	r := s.askedResults
	u.queries++
	v, gap := batch.Status(r.Status()[k]), float64(r.Gap()[k])
	if v == batch.Undecided || v == batch.Invalid || !(gap < math.Inf(1)) || !s.unique(int(u.world), &s.pairs[u.pair]) {
		u.state = unknown
		return
	}
	q := s.pathsOf(int(u.world), &s.pairs[u.pair])
	n, lower := vecOf(r.Normal().F64[3*k:]), r.Distance().F64[k]-gap
	width := s.pairs[u.pair].depth / depthOfWidth
	if u.queries == 1 { // the end of the step
		switch {
		case lower < -u.depth && (u.slow && lower >= -u.depth-width/8 || s.apartAlong(&q, n, 1.25*u.depth)):
			s.enter(u, &q, n, 1, k)
			return
		case lower >= -u.depth && s.withinBoth(&q, u.normal, n, 0, u.depth):
			u.state = proved
			return
		}
		u.last, u.lands = n, lower >= -u.depth
	} else if u.at, u.normal = u.query, n; u.lands && s.withinBoth(&q, n, u.last, u.at, u.depth) {
		u.state = proved
		return
	}
	for left := 1 - u.at; ; left /= 2 {
		switch {
		case left < min(leastAdvance, 1-u.at) || u.queries > mostQueries:
			if u.queries == 1 { // at the beginning: of which these are not the witnesses
				u.query = 0
				return
			}
			s.enter(u, &q, u.normal, u.at, k)
			return
		case !s.withinAny(&q, u.normal, u.at, u.at, u.at+left, u.depth):
			continue
		case left == 1-u.at:
			u.state = proved
			return
		}
		u.query = u.at + left
		return
	}
}

// apartAlong reports whether a pair that meets along n at the end of the step is separated along it before the step,
// but for some depth: if the normal is fixed, or rotates with one of the bodies. Beyond the middle of a thin body n
// points the other way. A normal that is wrong makes a contact that does not help, and proves nothing.
func (s *Simulation) apartAlong(q *paths, n r3.Vec, depth float64) bool {
	return s.gapAt(q, n, 0) >= -depth || q.a.angle != 0 && s.gapAt(q, q.a.carry(n, 1, 0), 0) >= -depth ||
		q.b.angle != 0 && s.gapAt(q, q.b.carry(n, 1, 0), 0) >= -depth
}

// enter sets the entry of a suspect to the witnesses of row k of the answers, which are those of a time, or to the
// points of the end that are farthest along n.
//
// The target makes the linear model of the step exact at the velocities of the solve: the relative velocity of the
// points along n, and what is missing of their gap at the end of the step over Δt. So solves repeated this way are
// Newton's method for the gap at the end. The arms are those of the time at which the points enter, where they approach
// each other: by those of the beginning, points of bodies that rotate fast would seem to recede, and the impulses that
// part them would do work.
func (s *Simulation) enter(u *suspect, q *paths, n r3.Vec, t float64, k int) {
	p, r := q.pair, s.askedResults
	a0, a1 := q.a.points(vecOf(r.WitnessA().F64[3*k:]), t)
	b0, b1 := q.b.points(vecOf(r.WitnessB().F64[3*k:]), t)
	if dotVec(n, r3.Sub(b1, a1)) >= u.goal { // they part again: those that are behind the plane at the end
		t = 1
		a0, a1 = q.a.points(s.supportOf(p.a, p.partA, p.shapeA, &q.a.to, n), 1)
		b0, b1 = q.b.points(s.supportOf(p.b, p.partB, p.shapeB, &q.b.to, r3.Scale(-1, n)), 1)
	}
	a, b := s.bodiesOf(int(u.world), p)
	at := s.pointOf(u, q, n, q.a.armAt(a0, t), q.b.armAt(b0, t))
	first, armA, armB := int(u.world)*len(s.scene.Body), r3.Sub(at, a.center), r3.Sub(at, b.center)
	speed := dotVec(n, r3.Sub(s.velocityAt(first+int(p.b), armB), s.velocityAt(first+int(p.a), armA)))
	missing := u.goal - dotVec(n, r3.Sub(b1, a1))
	target := speed + missing/s.o.TimeStep
	if target < 0 { // a gap, which restitution may keep open
		target = s.target(-target*s.o.TimeStep, speedBefore(a, b, n, armA, armB), p)
	}
	u.state, u.entry = enters, entry{u.pair, n, at, target}
}

// pointOf is where an entry acts: at the arms ra and rb of its points at the time at which they enter, from the centers
// of mass before the step. They differ by how far the centers move by then, and the point is one for both bodies, so
// that angular momentum is kept; it is the one next to their middle at which the speed along n is that of the arms.
func (s *Simulation) pointOf(u *suspect, q *paths, n, ra, rb r3.Vec) r3.Vec {
	p, k := q.pair, 6*int(u.world)*len(s.scene.Body)
	ya, yb := r3.Add(q.a.start, ra), r3.Add(q.b.start, rb)
	at := r3.Scale(0.5, r3.Add(ya, yb))
	switch {
	case !s.scene.movable(p.a):
		at = yb
	case !s.scene.movable(p.b):
		at = ya
	}
	v := s.solution.Velocity
	wa, wb := vecOf(v[k+6*int(p.a)+3:]), vecOf(v[k+6*int(p.b)+3:])
	off := dotVec(n, r3.Sub(r3.Cross(wb, r3.Sub(at, yb)), r3.Cross(wa, r3.Sub(at, ya))))
	g := r3.Cross(n, r3.Sub(wb, wa)) // ⟨n, ω×y⟩ = ⟨y, n×ω⟩
	if square := dotVec(g, g); square > 0 {
		if shift := r3.Scale(-off/square, g); length(shift) <= length(r3.Sub(yb, ya)) {
			return r3.Add(at, shift)
		}
	}
	return at
}

// armAt is the arm at time t of the point of the body that is at x before the step.
func (p *path) armAt(x r3.Vec, t float64) r3.Vec {
	from, pose := p.from.Matrix(), p.poseAt(t)
	return rotatedBy(&pose, from.MulVecT(r3.Sub(x, p.start)))
}

// supportOf is the farthest point of a part along n; of a half-space, one of its plane.
func (s *Simulation) supportOf(body, part, shape int32, pose *geom.Pose, n r3.Vec) r3.Vec {
	at := s.scene.Bodies.PartPose(s.scene.Body[body], int(part), *pose)
	m := at.Matrix()
	return at.Apply(geom.Support(s.features[shape].shape, m.MulVecT(n)))
}

// points are the places before and after the step of the point of the body that is at x at a time.
func (p *path) points(x r3.Vec, t float64) (before, after r3.Vec) {
	rot, from, to := p.poseAt(t).Matrix(), p.from.Matrix(), p.to.Matrix()
	local := rot.MulVecT(r3.Sub(x, p.centerAt(t)))
	return r3.Add(p.start, from.MulVec(local)), r3.Add(p.centerAt(1), to.MulVec(local))
}

// velocityAt is the velocity of the solve of the point of body k of all at an arm.
func (s *Simulation) velocityAt(k int, arm r3.Vec) r3.Vec {
	v := s.solution.Velocity[6*k : 6*k+6]
	return r3.Add(vecOf(v), crossVec(vecOf(v[3:]), arm))
}

// settle decides about a world by its suspects: it stays advanced, is solved again with the entries, or is left.
func (s *Simulation) settle(w int, suspects []suspect) {
	st, found := &s.state, false
	for i := range suspects {
		switch u := &suspects[i]; u.state {
		case unknown:
			st.Status[w] = MotionUndecided
			return
		case enters:
			found = true
		}
	}
	if !found {
		return
	}
	if s.again[w]++; s.again[w] > mostAgain {
		st.Status[w] = MotionUndecided
		return
	}
	for i := range suspects {
		if u := &suspects[i]; u.state == enters {
			s.entries[w] = append(s.entries[w], u.entry)
		}
	}
	s.reopen(&s.workers[0], w)
	s.resetBounces(w)
}

// addEntries adds the entries of a world to its problem, for which there is room.
func (s *Simulation) addEntries(w int) {
	for k := range s.entries[w] {
		e := &s.entries[w][k]
		a, b := s.bodiesOf(w, &s.pairs[e.pair])
		t1, t2 := Tangents(e.normal)
		s.gap[w*s.capacity+int(s.problem.Count[w])] = math.NaN()
		s.putContact(w, contactID{e.pair, pointID(idWitness, uint32(k+1), 0)}, &[3]r3.Vec{t1, t2, e.normal}, e.position,
			r3.Sub(e.position, a.center), r3.Sub(e.position, b.center), e.target)
	}
}

// Steps in parts: of worlds in which the motion of a whole step is not proved, or its contact problem is not solved.

// mostHalvings is how often a step is halved at most: its least part is a 1024th.
const mostHalvings = 10

// inParts steps the worlds of the block that are undecided in two halves, which may be halved in turn. A world whose
// halves are both advanced is advanced; others keep their state, with the status of the part that failed.
func (s *Simulation) inParts(ctx context.Context) error {
	if s.halvings >= mostHalvings {
		return nil
	}
	s.split = s.split[:0]
	for w := s.lo; w < s.hi; w++ {
		if v := s.state.Status[w]; v == MotionUndecided || v == SolveUndecided {
			s.split = append(s.split, int32(w))
		}
	}
	if len(s.split) == 0 {
		return nil
	}
	if s.half == nil {
		if err := s.newHalf(); err != nil {
			return err
		}
	}
	if s.half.record = nil; s.record != nil {
		s.half.record = &s.half.ownRecord
	}
	for worlds := s.split; len(worlds) > 0; {
		n := min(len(worlds), len(s.half.idle))
		if err := s.stepHalves(ctx, worlds[:n]); err != nil {
			return err
		}
		worlds = worlds[n:]
	}
	return nil
}

// newHalf makes the simulation that steps some worlds by half of the time step.
func (s *Simulation) newHalf() error {
	worlds, bodies := min(len(s.idle), stepBlock), len(s.scene.Body) // state.Worlds may be fewer now
	o := s.o
	o.TimeStep /= 2
	state := &State{Worlds: worlds, Pose: make([]float64, 7*worlds*bodies)}
	half := &Simulation{scene: s.scene, pairs: s.pairs, features: s.features, inverse: s.inverse, solver: s.solver,
		o:       o,
		gravity: s.gravity, builder: s.builder, fixed: s.fixed, arm: s.arm, memory: s.memory, halvings: s.halvings + 1}
	half.contacts.trusted = true
	if err := half.start(state); err != nil {
		return err
	}
	s.half, s.inHalves = half, make([]halves, len(s.idle))
	return nil
}

// stepHalves makes both halves of the step of worlds.
func (s *Simulation) stepHalves(ctx context.Context, worlds []int32) error {
	half := s.half
	if !half.makeRoom(s.capacity) {
		for _, w := range worlds {
			s.state.Status[w] = OutOfMemory
		}
		return nil
	}
	half.state.Worlds = len(worlds)
	clear(half.idle) // of a step that was cancelled
	var force []float64
	for k, w := range worlds {
		half.take(k, s, int(w))
		if s.force != nil {
			n := 6 * len(s.scene.Body)
			s.halfForce = append(s.halfForce[:n*k], s.force[n*int(w):n*int(w)+n]...)
			force = s.halfForce
		}
	}
	if err := half.Step(ctx, force); err != nil {
		return err
	}
	s.recordHalves(worlds)
	for k, w := range worlds {
		s.state.Energy[w] = half.state.Energy[k]
		s.state.Parts[w] = half.state.Parts[k]
		s.state.Solves[w] += half.state.Solves[k]
		if half.idle[k] = !half.state.Status[k].Advances(); half.idle[k] {
			s.state.Status[w] = half.state.Status[k]
			continue
		}
		s.inHalves[w].clear(len(s.scene.Body))
		s.inHalves[w].add(half, k)
	}
	if err := half.Step(ctx, force); err != nil {
		return err
	}
	s.recordHalves(worlds)
	for k, w := range worlds {
		if half.idle[k] {
			half.idle[k] = false
			continue
		}
		s.state.Energy[w] += half.state.Energy[k]
		s.state.Parts[w] += half.state.Parts[k]
		s.state.Solves[w] += half.state.Solves[k]
		switch v := half.state.Status[k]; {
		case !v.Advances():
			s.state.Status[w] = v
		case !s.makeRoom(half.capacity):
			s.state.Status[w] = OutOfMemory
		default:
			s.state.Status[w] = AdvancedInParts
			s.inHalves[w].add(half, k)
			s.give(int(w), half, k)
		}
	}
	return nil
}

// take starts world k at the state and the contacts of world w of another simulation.
func (s *Simulation) take(k int, from *Simulation, w int) {
	bodies := len(s.scene.Body)
	copyRow(s.state.Pose, k, from.state.Pose, w, 7*bodies)
	copyRow(s.state.Velocity, k, from.state.Velocity, w, 3*bodies)
	copyRow(s.state.Momentum, k, from.state.Momentum, w, 3*bodies)
	s.oldN[k] = from.oldN[w]
	s.copyContacts(s.contactsOf(k, s.side[k]), from, from.contactsOf(w, from.side[w]), int(from.oldN[w]))
}

// give lets the step of world w end in the state of world k of the simulation that has made it in parts. The contacts
// and the problem are those of the last part.
func (s *Simulation) give(w int, half *Simulation, k int) {
	bodies := len(s.scene.Body)
	for b := range bodies {
		j := k*bodies + b
		next := &s.bodies[w*bodies+b].next
		next.pose.Position = vecOf(half.state.Pose[7*j:])
		next.pose.Rotation = quaternion(half.state.Pose[7*j+3:])
		next.velocity, next.momentum = vecOf(half.state.Velocity[3*j:]), vecOf(half.state.Momentum[3*j:])
	}
	n := int(half.oldN[k])
	s.copyContacts(s.contactsOf(w, 1-s.side[w]), half, half.contactsOf(k, half.side[k]), n)
	s.state.Contacts[w] = half.state.Contacts[k]
	p, q := &s.problem, &half.problem
	of := func(to, from []float64, per int) {
		copy(to[per*w*s.capacity:], from[per*k*half.capacity:per*(k*half.capacity+n)])
	}
	p.Count[w] = int32(n)
	copyRow(p.Inertia, w, q.Inertia, k, 6*bodies)
	copyRow(p.Velocity, w, q.Velocity, k, 6*bodies)
	copy(p.BodyA[w*s.capacity:], q.BodyA[k*half.capacity:k*half.capacity+n])
	copy(p.BodyB[w*s.capacity:], q.BodyB[k*half.capacity:k*half.capacity+n])
	of(p.ArmA, q.ArmA, 3)
	of(p.ArmB, q.ArmB, 3)
	of(p.Frame, q.Frame, 9)
	of(p.Friction, q.Friction, 1)
	of(p.Target, q.Target, 1)
	of(p.Warm, q.Warm, 3)
	if p.Compliance != nil {
		of(p.Compliance, q.Compliance, 2)
	}
	out, in := &s.solution, &half.solution
	clear(out.Impulse[3*w*s.capacity : 3*(w+1)*s.capacity]) // the step in one part may have had more contacts
	of(out.Impulse, in.Impulse, 3)
	of(s.gap, half.gap, 1)
	copyRow(out.Velocity, w, in.Velocity, k, 6*bodies)
	out.Residual[w], out.Scale[w] = in.Residual[k], in.Scale[k]
	out.Primal[w], out.Dual[w], out.Complementarity[w] = in.Primal[k], in.Dual[k], in.Complementarity[k]
	out.Bound[w], out.Sweeps[w], out.Steps[w] = in.Bound[k], in.Sweeps[k], in.Steps[k]
	out.Status[w] = in.Status[k]
}

// copyContacts copies n contacts of another simulation.
func (s *Simulation) copyContacts(to int, from *Simulation, first, n int) {
	copy(s.ids[to:to+n], from.ids[first:first+n])
	copy(s.at[3*to:3*(to+n)], from.at[3*first:3*(first+n)])
	copy(s.impulse[3*to:3*(to+n)], from.impulse[3*first:3*(first+n)])
}

func copyRow[T any](to []T, i int, from []T, k, width int) {
	copy(to[width*i:width*(i+1)], from[width*k:width*(k+1)])
}

// halves are the contacts of the halves of the step of a world, and the sums of their impulses.
type halves struct {
	contacts Contacts
	impulse  []float64 // [B,6] linear and angular
}

func (h *halves) clear(bodies int) {
	h.contacts.Clear()
	resize(&h.impulse, 6*bodies)
	clear(h.impulse)
}

// add adds those of a half.
func (h *halves) add(half *Simulation, k int) {
	half.appendWorld(k, &h.contacts)
	half.addImpulses(k, h.impulse)
}
