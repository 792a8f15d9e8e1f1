package contact

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
)

// What a step did to its worlds, for its derivative: the contact problem that was solved last, its answer, what the
// problem was made from, and the state of the bodies before and after. A step in parts has a record of each part.
// Recording copies, and changes no bit of a step.

// A StepRecord is what the last step did to each world. Its memory is kept from step to step.
type StepRecord struct {
	Worlds []WorldRecord
}

// A WorldRecord is what a step did to a world.
type WorldRecord struct {
	// Parts are those of the step in order, and one for a step as a whole. There are none if the world was not
	// advanced: the step is the identity then.
	Parts []PartRecord
}

// A PartRecord is a step of a world by one contact problem.
type PartRecord struct {
	TimeStep float64
	Accepted bool // the solve was undecided, see [StepOptions].Accept

	Problem  Problem  // of one world
	Solution Solution // impulses, velocities, residual, scale and status

	Bodies   []BodyRecord
	Pairs    []PairRecord    // that have contact points
	Contacts []ContactRecord // of the problem, in its order
}

// A BodyRecord is the motion of a body in a step, in world axes.
type BodyRecord struct {
	Matrix, NextMatrix geom.Mat3 // of the rotation before and after
	Position           r3.Vec    // of the pose before
	Center, NextCenter r3.Vec    // of mass
	Velocity, Spin     r3.Vec    // before
	Momentum           r3.Vec    // angular, before the step; of a body of mass +Inf the angular velocity
	Pushed             r3.Vec    // the momentum with the torque of the step
	Rotating           r3.Vec    // the momentum after the step, with which the body rotates
	Force              r3.Vec    // at the center of mass
}

// A PairRecord is a pair of parts with contact points, as they were found.
type PairRecord struct {
	Pair     Pair
	Manifold Manifold
	Size     float64 // of the pair

	Index          int32 // in the order of the simulation
	BodyA, BodyB   int32
	PartA, PartB   int32
	ShapeA, ShapeB int32
	Carrier        int32 // the one of both bodies that impulses do not move, or -1
	First          int32 // of its contacts
}

// A TargetRule says where the target of a contact comes from, see [Simulation.target].
type TargetRule uint8

// Rules of targets, with φ the gap.
const (
	Closes       TargetRule = iota // −φ/Δt: a gap closes in the step
	Rests                          // 0: a penetration within the slop
	Recovers                       // a share of the penetration beyond the slop, over Δt
	RecoversMost                   // the largest speed at which penetrations are removed
	Bounces                        // −e·c_N of the speed before the step
	EntersLater                    // of a point that would enter later in the step, see [entry]
)

// A ContactRecord says how the target of a contact was found.
type ContactRecord struct {
	Rule  TargetRule
	Pair  int32 // of PartRecord.Pairs; -1 of EntersLater
	Index int32 // of the pair in the order of the simulation
	// Restitution is e, and Factor what the law of restitution has left of the bounce, see [BoundedRestitution].
	Restitution, Factor float64
	// Margin is how far the numbers that choose the rule are from another one, in m/s. Jump: the target jumps there.
	Margin float64
	Jump   bool
}

// Record has the following steps write what they did to r, which nil ends. A step that returns an error leaves r
// unspecified.
func (s *Simulation) Record(r *StepRecord) { s.record = r }

// Options returns the options, with their defaults.
func (s *Simulation) Options() StepOptions { return s.o }

// Twin returns another simulation of the same scene, worlds, options and solver of pairs, at the state of this one. It
// goes on with the same bits.
func (s *Simulation) Twin() (*Simulation, error) {
	t, err := NewSimulation(s.scene, &s.state, s.solver, s.given)
	if err != nil {
		return nil, err
	}
	return t, t.Restore(&s.state, s.Warm())
}

// startRecord begins the record of a step.
func (s *Simulation) startRecord() {
	if s.record == nil {
		return
	}
	resize(&s.record.Worlds, s.state.Worlds)
	for w := range s.record.Worlds {
		r := &s.record.Worlds[w]
		r.Parts = r.Parts[:0]
	}
}

// next is the memory of the next part.
func (r *WorldRecord) next() *PartRecord {
	if n := len(r.Parts); n < cap(r.Parts) {
		r.Parts = r.Parts[:n+1]
	} else {
		r.Parts = append(r.Parts, PartRecord{})
	}
	return &r.Parts[len(r.Parts)-1]
}

// recordWorlds records the worlds of a solve that have advanced by it. Worlds of earlier solves of the step have their
// record.
func (s *Simulation) recordWorlds(_ *stepWorker, lo, hi int) {
	for w := lo; w < hi; w++ {
		status := s.state.Status[w]
		if r := &s.record.Worlds[w]; !s.open[w] && (status == underway || status == Accepted) && len(r.Parts) == 0 {
			s.recordWorld(w, r.next())
		}
	}
}

// recordHalves moves the records of a half of the steps of worlds to theirs. The memory is exchanged.
func (s *Simulation) recordHalves(worlds []int32) {
	if s.record == nil {
		return
	}
	for k, w := range worlds {
		from, to := &s.half.record.Worlds[k], &s.record.Worlds[w]
		for i := range from.Parts {
			p := to.next()
			*p, from.Parts[i] = from.Parts[i], *p
		}
		from.Parts = from.Parts[:0]
	}
}

// endRecord leaves worlds that were not advanced without parts.
func (s *Simulation) endRecord() {
	if s.record == nil {
		return
	}
	for w := range s.record.Worlds {
		if r := &s.record.Worlds[w]; !s.state.Status[w].Advances() {
			r.Parts = r.Parts[:0]
		}
	}
}

func (s *Simulation) recordWorld(w int, r *PartRecord) {
	r.TimeStep, r.Accepted = s.o.TimeStep, s.state.Status[w] == Accepted
	s.recordProblem(w, r)
	bodies := len(s.scene.Body)
	resize(&r.Bodies, bodies)
	for b := range r.Bodies {
		s.recordBody(w*bodies+b, b, &r.Bodies[b])
	}
	r.Pairs = r.Pairs[:0]
	first := int32(0)
	for i := int(s.first[w]); i < int(s.first[w+1]); i++ {
		if n := s.rows[i].points; n > 0 {
			s.recordPair(i, first, r)
			first += n
		}
	}
	resize(&r.Contacts, int(s.problem.Count[w]))
	for k := range r.Contacts {
		r.Contacts[k] = ContactRecord{Pair: -1, Rule: EntersLater, Factor: 1, Margin: math.Inf(1)}
		r.Contacts[k].Index = s.ids[s.contactsOf(w, 1-s.side[w])+k].pair
	}
	for i := range r.Pairs {
		for k := range r.Pairs[i].Manifold.N {
			s.recordContact(w, int32(i), k, r)
		}
	}
}

// recordProblem copies the problem of a world and its solution.
func (s *Simulation) recordProblem(w int, r *PartRecord) {
	p, q, bodies, n := &s.problem, &r.Problem, len(s.scene.Body), int(s.problem.Count[w])
	if q.Target == nil {
		q.Target = []float64{}
	}
	if len(p.Compliance) > 0 && q.Compliance == nil {
		q.Compliance = []float64{}
	}
	q.Resize(1, bodies, n)
	c := w * p.Contacts
	copy(q.Mass, p.Mass[w*bodies:])
	copy(q.Inertia, p.Inertia[6*w*bodies:])
	copy(q.Velocity, p.Velocity[6*w*bodies:])
	q.Count[0] = int32(n)
	copy(q.BodyA, p.BodyA[c:])
	copy(q.BodyB, p.BodyB[c:])
	copy(q.ArmA, p.ArmA[3*c:])
	copy(q.ArmB, p.ArmB[3*c:])
	copy(q.Frame, p.Frame[9*c:])
	copy(q.Friction, p.Friction[c:])
	copy(q.Target, p.Target[c:])
	if len(p.Compliance) > 0 {
		copy(q.Compliance, p.Compliance[2*c:])
	}
	r.Solution.resize(q)
	out, in := &r.Solution, &s.solution
	copy(out.Impulse, in.Impulse[3*c:])
	copy(out.Velocity, in.Velocity[6*w*bodies:])
	out.Residual[0], out.Scale[0], out.Status[0] = in.Residual[w], in.Scale[w], in.Status[w]
	out.Primal[0], out.Dual[0], out.Complementarity[0] = in.Primal[w], in.Dual[w], in.Complementarity[w]
	out.Bound[0], out.Sweeps[0], out.Steps[0] = in.Bound[w], in.Sweeps[w], in.Steps[w]
}

// recordBody records body b of its world, entry k of all.
func (s *Simulation) recordBody(k, b int, r *BodyRecord) {
	body := &s.bodies[k]
	next := &body.next
	*r = BodyRecord{Matrix: body.matrix, NextMatrix: next.pose.Matrix(), Position: body.pose.Position,
		Center: body.center, NextCenter: addScaled(body.center, s.o.TimeStep, next.velocity), Velocity: body.velocity,
		Spin: body.spin, Momentum: vecOf(s.state.Momentum[3*k:]), Pushed: body.momentum, Rotating: next.momentum}
	if s.force != nil {
		r.Force = vecOf(s.force[6*k:])
	}
	if !s.scene.movable(int32(b)) { // it rotates with the angular velocity of the solve, which is that before
		r.Rotating = vecOf(s.solution.Velocity[6*k+3:])
	}
}

// recordPair records row i, whose contacts begin with first.
func (s *Simulation) recordPair(i int, first int32, r *PartRecord) {
	if n := len(r.Pairs); n < cap(r.Pairs) {
		r.Pairs = r.Pairs[:n+1]
	} else {
		r.Pairs = append(r.Pairs, PairRecord{})
	}
	index := s.rows[i].pair
	p, q, out := &s.pairs[index], &s.query, &r.Pairs[len(r.Pairs)-1]
	*out = PairRecord{Index: index, Size: p.size, BodyA: p.a, BodyB: p.b, PartA: p.partA, PartB: p.partB,
		ShapeA: p.shapeA, ShapeB: p.shapeB, Carrier: p.carrier, First: first}
	a := s.results
	out.Pair = Pair{A: s.features[p.shapeA], B: s.features[p.shapeB],
		PoseA:  geom.Pose{Position: vecOf(q.PositionA[3*i:]), Rotation: quaternion(q.RotationA[4*i:])},
		PoseB:  geom.Pose{Position: vecOf(q.PositionB[3*i:]), Rotation: quaternion(q.RotationB[4*i:])},
		Normal: vecOf(a.Normal().F64[3*i:]), Distance: a.Distance().F64[i], Gap: float64(a.Gap()[i]),
		WitnessA: vecOf(a.WitnessA().F64[3*i:]), WitnessB: vecOf(a.WitnessB().F64[3*i:]), MaxGap: s.maxGap[i]}
	m := &out.Manifold
	m.Normal, m.Lower, m.N = out.Pair.Normal, s.points.Lower[i], int(s.rows[i].points)
	for k := range m.N {
		at := MaxPoints*i + k
		m.Points[k] = Point{Position: vecOf(s.points.Position[3*at:]), Gap: s.points.Gap[at], ID: s.points.ID[at]}
	}
}

// recordContact records point k of pair i of the record: the rule of its target, and how far the next one is.
func (s *Simulation) recordContact(w int, i int32, k int, r *PartRecord) {
	pair := &r.Pairs[i]
	c := int(pair.First) + k
	p, gap, dt := &s.pairs[pair.Index], pair.Manifold.Points[k].Gap, s.o.TimeStep
	out := &r.Contacts[c]
	out.Pair, out.Index, out.Restitution = i, pair.Index, p.restitution
	a, b := s.bodiesOf(w, p)
	approach := speedBefore(a, b, vecOf(r.Problem.Frame[9*c+6:]), vecOf(r.Problem.ArmA[3*c:]),
		vecOf(r.Problem.ArmB[3*c:]))
	toSlow, toFar := approach+s.o.BounceSpeed, approach+gap/dt // it bounces where both are negative
	bounces := p.restitution > 0 && toSlow < 0 && toFar < 0
	if p.restitution > 0 {
		if s.bounces != nil && s.bounceSolves[w] > 0 {
			out.Factor = s.factorOf(w, w*s.problem.Contacts+c)
		}
		// At the limit the kernels may have decided otherwise.
		asked := -out.Factor * p.restitution * approach
		if other := s.withoutBounce(gap, p); math.Abs(asked-r.Problem.Target[c]) < math.Abs(other-r.Problem.Target[c]) {
			bounces = true
		} else if asked != other {
			bounces = false
		}
	}
	toBounce := math.Inf(1)
	if p.restitution > 0 {
		if toBounce = math.Abs(max(toSlow, toFar)); bounces {
			toBounce = min(math.Abs(toSlow), math.Abs(toFar))
		}
	}
	deep, most := -gap-p.slop, s.recoverySpeed(p)
	share := s.o.Correction * deep / dt
	switch {
	case bounces:
		out.Rule, out.Margin = Bounces, math.Inf(1)
	case gap > 0:
		out.Rule, out.Margin = Closes, gap/dt
	case !(deep > 0) || s.o.Correction == 0:
		out.Rule, out.Margin = Rests, -gap/dt
		if s.o.Correction > 0 {
			out.Margin = min(-gap, -deep) / dt
		}
	case share < most:
		out.Rule, out.Margin = Recovers, min(deep/dt, (most-share)/s.o.Correction)
	default:
		out.Rule, out.Margin = RecoversMost, (share-most)/s.o.Correction
	}
	if toBounce < out.Margin {
		out.Margin, out.Jump = toBounce, true
	}
}

// withoutBounce is the target of a contact that does not bounce.
func (s *Simulation) withoutBounce(gap float64, p *partPair) float64 {
	return s.target(gap, math.Inf(1), p)
}
