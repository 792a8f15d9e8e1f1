package contact

import (
	"context"
	"fmt"
	"math"
	"unsafe"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/geom"
	native "clearance/kernels/contact"
)

// Step advances every world by one time step. force [W,B,6] is a force at the center of mass in N and a torque in N·m,
// in world axes; nil is none. The error is that of the columns, of ctx or of the pair solver; no world is advanced
// then, and the next step has the bits that it would have had without this one. What is wrong with a single world is
// its status: it keeps its state, and the others are advanced.
//
// Velocities are advanced first, semi-implicit Euler: v_f = v + Δt(g + F/m), ω_f = I⁻¹(L + Δt·τ). The contact problem
// gives v⁺ and ω⁺; positions move by Δt·v⁺. Rotations follow the exact motion of a body without torque at the angular
// momentum L⁺ = L + Δt·τ + I(ω⁺ − ω_f), to the order Δt⁷; it keeps L⁺ and the energy at every Δt, see [rotate].
func (s *Simulation) Step(ctx context.Context, force []float64) error {
	st := &s.state
	n := st.Worlds * len(s.scene.Body)
	if force != nil && len(force) != 6*n {
		return fmt.Errorf("contact: column force has %d values; %d worlds of %d bodies take %d", len(force), st.Worlds,
			len(s.scene.Body), 6*n)
	}
	s.force, s.columns.Force = force, force
	err := s.step(ctx)
	if err != nil {
		s.takeBack()
	}
	return err
}

func (s *Simulation) step(ctx context.Context) (err error) {
	defer recovered(&err)
	st := &s.state
	for i := range s.workers {
		s.workers[i].began.clear()
	}
	s.startRecord()
	block := stepBlock * len(s.workers)
	for lo := 0; lo < st.Worlds; lo += block {
		s.lo, s.hi = lo, min(lo+block, st.Worlds)
		if err := s.parallel(ctx, s.passPrepare); err != nil {
			return err
		}
		for s.listOpen() {
			if err := s.solve(ctx); err != nil {
				return err
			}
		}
		if err := s.inParts(ctx); err != nil {
			return err
		}
	}
	s.lo, s.hi = 0, st.Worlds
	if err := s.parallel(context.Background(), s.passFinish); err != nil { // all worlds or none
		return err
	}
	s.endRecord()
	s.countStill()
	return nil
}

// stepBlock is the number of worlds of each worker that a step takes through its passes before the next ones, so that a
// pass finds in the cache what the last one has left there.
const stepBlock = 64

// solve finds the contacts and the velocities of the open worlds, and where these take the bodies.
func (s *Simulation) solve(ctx context.Context) error {
	s.listRows()
	if err := s.parallel(ctx, s.passRows); err != nil {
		return err
	}
	s.results.Resize(len(s.rows))
	s.results.Reset()
	s.job.Results, s.assembly.Normal = s.results, s.results.Normal().F64
	if len(s.rows) > 0 {
		if err := s.solver.Run(ctx, &s.job, 0, len(s.rows), s.results); err != nil {
			return err
		}
	}
	if err := s.parallel(ctx, s.passAssemble); err != nil {
		return err
	}
	s.admit()
	if err := s.contacts.Solve(ctx, &s.problem, s.o.Solve, &s.solution); err != nil {
		return err
	}
	s.columns.Solved, s.columns.Impulse = s.solution.Velocity, s.solution.Impulse
	s.columns.Complementarity = s.solution.Complementarity
	if err := s.parallel(ctx, s.passMove); err != nil {
		return err
	}
	if err := s.examine(ctx); err != nil || s.record == nil {
		return err
	}
	return s.parallel(ctx, s.passRecord)
}

// prepare computes the free velocities of worlds and finds the pairs whose balls are near.
func (s *Simulation) prepare(worker *stepWorker, lo, hi int) {
	worker.list = worker.list[:0]
	for w := lo; w < hi; w++ {
		s.state.Status[w], s.state.Contacts[w], s.state.Energy[w] = underway, 0, math.NaN()
		s.state.Solves[w], s.state.Parts[w] = 0, 1
		s.again[w], s.entries[w], s.fresh[w] = 0, s.entries[w][:0], false
		if s.idle[w] {
			s.state.Status[w] = NotStepped
			continue
		}
		worker.list = append(worker.list, int32(w))
	}
	left := worker.list
	if s.variant != Off {
		left = native.Prepare(s.variant, &s.kernel, &s.columns, left)
	}
	for _, w := range left {
		s.setFree(int(w))
	}
	for w := lo; w < hi; w++ {
		s.resetBounces(w)
		s.findNear(w)
	}
}

// setFree reads the state of the bodies of a world and computes their velocities without contacts.
func (s *Simulation) setFree(w int) {
	st, scene := &s.state, s.scene
	bodies := len(scene.Body)
	dt := s.o.TimeStep
	for b := range bodies {
		k := w*bodies + b
		if !s.place(k, b) {
			st.Status[w] = StepInvalid
		}
		body := &s.bodies[k]
		free := twist{body.velocity, body.spin}
		p := &s.problem
		if scene.movable(int32(b)) {
			*(*sym3)(p.Inertia[6*k:]) = rotated(&body.matrix, ptr(sym3(scene.Inertia[6*b:6*b+6])))
			l := vecOf(st.Momentum[3*k:])
			free.lin = addScaled(free.lin, dt, s.o.Gravity)
			if s.force != nil {
				free.lin = addScaled(free.lin, dt/scene.Mass[b], vecOf(s.force[6*k:]))
				l = addScaled(l, dt, vecOf(s.force[6*k+3:]))
			}
			free.ang = s.spinOf(b, &body.matrix, l)
			body.momentum = l
		}
		v := p.Velocity[6*k : 6*k+6]
		v[0], v[1], v[2] = free.lin.X, free.lin.Y, free.lin.Z
		v[3], v[4], v[5] = free.ang.X, free.ang.Y, free.ang.Z
		if !finite(v...) {
			st.Status[w] = StepInvalid
		}
	}
}

// findNear finds the pairs of a world whose balls are near.
func (s *Simulation) findNear(w int) {
	s.nearN[w], s.spare[w], s.open[w] = 0, math.Inf(1), true
	if s.state.Status[w] != underway {
		return
	}
	near := s.near[w*len(s.pairs):]
	pace := s.pace[w*len(s.scene.Body):][:len(s.scene.Body)]
	for b := range pace {
		body := &s.bodies[w*len(pace)+b]
		pace[b] = length(body.velocity) + body.rim + 0.5*s.gravity*s.o.TimeStep
	}
	for i := range s.pairs {
		p := &s.pairs[i]
		if far := s.bodiesApart(w, p); far > s.gapOf(math.Inf(1), p) {
			s.spare[w] = min(s.spare[w], far-s.o.TimeStep*(pace[p.a]+pace[p.b]))
			continue
		}
		apart, speed := s.ballsApart(w, p), s.speed(w, p)
		if apart > s.gapOf(speed, p) {
			s.spare[w] = min(s.spare[w], apart-s.o.TimeStep*speed)
			continue
		}
		near[s.nearN[w]] = nearPair{pair: int32(i)}
		s.nearN[w]++
	}
}

// unitError bounds the rounding of the squared length of a quaternion that a step leaves.
const unitError = 0x1p-50

// place reads the state of body b of its world, entry k of all, and reports whether it is valid.
func (s *Simulation) place(k, b int) bool {
	st := &s.state
	at := st.Pose[7*k : 7*k+7]
	body := &s.bodies[k]
	*body = bodyState{velocity: vecOf(st.Velocity[3*k:])}
	pose := geom.Pose{Position: vecOf(at), Rotation: quaternion(at[3:])}
	// The rotation that a step leaves has length 1 to rounding; others are normalized.
	valid := math.Abs(squaredNorm(pose.Rotation)-1) <= unitError && taxicab(pose.Position) <= batch.MaxLength
	if !valid && !batch.CheckPose(&pose) || !finite(st.Velocity[3*k:3*k+3]...) || !finite(st.Momentum[3*k:3*k+3]...) {
		body.pose = geom.IdentityPose()
		body.matrix = body.pose.Matrix()
		return false
	}
	body.pose, body.matrix = pose, pose.Matrix()
	body.center = r3.Add(pose.Position, body.matrix.MulVec(s.scene.center(b)))
	body.spin, body.momentum = vecOf(st.Momentum[3*k:]), vecOf(st.Momentum[3*k:])
	if s.scene.movable(int32(b)) {
		body.spin = s.spinOf(b, &body.matrix, body.spin)
	}
	if r := s.scene.Bodies.Bounds(s.scene.Body[b]).Radius; !math.IsInf(r, 1) {
		body.rim = 2 * r * length(body.spin)
	}
	return true
}

// spinOf is the angular velocity of a movable body of a rotation and an angular momentum, in world axes.
func (s *Simulation) spinOf(b int, m *geom.Mat3, momentum r3.Vec) r3.Vec {
	return m.MulVec(s.inverse[b].Mul(m.MulVecT(momentum)))
}

func ptr[T any](x T) *T { return &x }

// rotated is m·a·mᵀ.
func rotated(m *geom.Mat3, a *sym3) (out sym3) {
	x, y, z := a.Mul(r3.Vec{X: m[0], Y: m[1], Z: m[2]}), a.Mul(r3.Vec{X: m[3], Y: m[4], Z: m[5]}),
		a.Mul(r3.Vec{X: m[6], Y: m[7], Z: m[8]})
	out[0] = m[0]*x.X + m[1]*x.Y + m[2]*x.Z
	out[1] = m[3]*y.X + m[4]*y.Y + m[5]*y.Z
	out[2] = m[6]*z.X + m[7]*z.Y + m[8]*z.Z
	out[3] = m[3]*x.X + m[4]*x.Y + m[5]*x.Z
	out[4] = m[6]*x.X + m[7]*x.Y + m[8]*x.Z
	out[5] = m[6]*y.X + m[7]*y.Y + m[8]*y.Z
	return out
}

// speed bounds the relative speed of any points of two bodies before the step, with that of gravity.
func (s *Simulation) speed(w int, p *partPair) float64 {
	a, b := s.bodiesOf(w, p)
	return length(r3.Sub(b.velocity, a.velocity)) + s.gravity*s.o.TimeStep + a.rim + b.rim
}

func (s *Simulation) bodiesOf(w int, p *partPair) (a, b *bodyState) {
	first := w * len(s.scene.Body)
	return &s.bodies[first+int(p.a)], &s.bodies[first+int(p.b)]
}

// centers are those of the balls around two parts.
func (s *Simulation) centers(w int, p *partPair) (ca, cb r3.Vec) {
	a, b := s.bodiesOf(w, p)
	return r3.Add(a.pose.Position, a.matrix.MulVec(p.centerA)), r3.Add(b.pose.Position, b.matrix.MulVec(p.centerB))
}

// gapOf is the largest gap of a contact of a pair of a relative speed, where no solve has shown that the pair may meet
// from farther apart, see [Simulation.missed].
func (s *Simulation) gapOf(speed float64, p *partPair) float64 {
	if s.o.MaxGap > 0 {
		return s.o.MaxGap
	}
	return min(2*s.o.TimeStep*speed+slopOfSize*p.size, 1e-2*p.size)
}

// ballsApart is a lower bound of the distance of two parts, by the balls around them. Rounding is a few units, 2⁻⁵³ of
// the coordinates and sizes; 1e-12 of them is thousands of units, at any size.
func (s *Simulation) ballsApart(w int, p *partPair) float64 {
	a, b := s.bodiesOf(w, p)
	fa, fb := s.features[p.shapeA], s.features[p.shapeB]
	ca, cb := s.centers(w, p)
	var distance float64
	switch {
	case fa.form == formPlane && fb.form == formPlane:
		return math.Inf(1) // two half-spaces have no finite depth, and no body of theirs moves
	case fa.form == formPlane:
		distance = dotVec(a.matrix.MulVec(p.normalA), r3.Sub(cb, ca)) - fa.radius - fb.size
	case fb.form == formPlane:
		distance = dotVec(b.matrix.MulVec(p.normalB), r3.Sub(ca, cb)) - fb.radius - fa.size
	default:
		distance = length(r3.Sub(cb, ca)) - fa.size - fb.size
	}
	return distance - 1e-12*(taxicab(ca)+taxicab(cb)+taxicab(a.pose.Position)+taxicab(b.pose.Position)+p.size)
}

// bodiesApart is a lower bound of the distance of two bodies, by the balls around their centers of mass, for less than
// that of two parts: most pairs of a world of many bodies are far apart.
func (s *Simulation) bodiesApart(w int, p *partPair) float64 {
	a, b := s.bodiesOf(w, p)
	arms := s.arm[p.a] + s.arm[p.b]
	return length(r3.Sub(b.center, a.center)) - arms - 1e-12*(taxicab(a.center)+taxicab(b.center)+arms)
}

func slipSpeed(x, y float64) float64 { return math.Sqrt(x*x + y*y) }

// taxicab is at least the length of a vector.
func taxicab(v r3.Vec) float64 { return math.Abs(v.X) + math.Abs(v.Y) + math.Abs(v.Z) }

// length is that of a vector of moderate numbers: without the care of math.Hypot, which takes several times as long.
func length(v r3.Vec) float64 { return math.Sqrt(dotVec(v, v)) }

// listRows makes room for the near pairs of the open worlds, world after world.
func (s *Simulation) listRows() {
	n := 0
	for w := s.lo; w < s.hi; w++ {
		s.first[w] = int32(n)
		if s.open[w] {
			n += int(s.nearN[w])
		}
	}
	s.first[s.hi] = int32(n)
	if n > s.room.Len() { // room for more, since the number changes from step to step
		s.grow(n + n/4)
	}
	s.rows, s.query = s.rows[:n], *s.room.Slice(0, n)
}

// grow makes room for n rows.
func (s *Simulation) grow(n int) {
	s.rows, s.room, s.maxGap = make([]worldRow, n), *batch.PairsIn(nil, n), make([]float64, n)
	s.points = newPoints(n)
	s.results.Resize(n)
	s.assembly.Rows, s.assembly.Points = unsafe.Pointer(unsafe.SliceData(s.rows)), s.points
}

// fillRows lists the near pairs of the open worlds.
func (s *Simulation) fillRows(_ *stepWorker, lo, hi int) {
	for w := lo; w < hi; w++ {
		s.fillWorld(w)
	}
}

func (s *Simulation) fillWorld(w int) {
	for k, near := range s.near[w*len(s.pairs):][:s.first[w+1]-s.first[w]] {
		i, p := int(s.first[w])+k, &s.pairs[near.pair]
		s.maxGap[i] = math.Inf(1)
		if !near.meets {
			s.maxGap[i] = s.gapOf(s.speed(w, p), p)
		}
		s.rows[i] = worldRow{pair: near.pair}
		q := &s.query
		q.ShapeA[i], q.ShapeB[i] = p.shapeA, p.shapeB
		s.putPartPose(w, p.a, p.partA, p.inA, q.PositionA[3*i:], q.RotationA[4*i:])
		s.putPartPose(w, p.b, p.partB, p.inB, q.PositionB[3*i:], q.RotationB[4*i:])
	}
}

// putPartPose puts the pose of a part into columns; in: it is that of the body.
func (s *Simulation) putPartPose(w int, body, part int32, in bool, position, rotation []float64) {
	pose := &s.bodies[w*len(s.scene.Body)+int(body)].pose
	if !in {
		pose = ptr(s.scene.Bodies.PartPose(s.scene.Body[body], int(part), *pose))
	}
	putVec(position, pose.Position)
	q := &pose.Rotation
	rotation[0], rotation[1], rotation[2], rotation[3] = q.Real, q.Imag, q.Jmag, q.Kmag
}

// assemble builds the contacts of the open worlds from the answers of their pairs.
func (s *Simulation) assemble(worker *stepWorker, lo, hi int) {
	worker.list = worker.list[:0]
	for w := lo; w < hi; w++ {
		if s.open[w] {
			worker.list = s.listNear(w, worker.list)
		}
	}
	r := s.results
	rows := native.Rows{ShapeA: s.query.ShapeA, ShapeB: s.query.ShapeB, PositionA: s.query.PositionA,
		PositionB: s.query.PositionB, RotationA: s.query.RotationA, RotationB: s.query.RotationB,
		Normal: r.Normal().F64, Distance: r.Distance().F64, Gap: r.Gap(), WitnessA: r.WitnessA().F64,
		WitnessB: r.WitnessB().F64, MaxGap: s.maxGap}
	s.builder.build(worker, &rows, worker.list, &s.points)
	worker.list = worker.list[:0]
	for w := lo; w < hi; w++ {
		if s.open[w] && s.state.Status[w] == underway && s.countContacts(w) {
			worker.list = append(worker.list, int32(w))
		}
	}
	s.addContacts(worker.list)
}

// addContacts adds the contact points of worlds, for which there is room, to their problems.
func (s *Simulation) addContacts(list []int32) {
	if s.variant != Off {
		native.Assemble(s.variant, &s.rules, &s.columns, &s.assembly, list)
	}
	for _, w := range list {
		to := s.gap[int(w)*s.capacity:]
		for i := int(s.first[w]); i < int(s.first[w+1]); i++ {
			if s.variant == Off {
				s.addRow(int(w), i)
			}
			to = to[copy(to, s.points.Gap[MaxPoints*i:][:s.rows[i].points]):]
		}
		s.addEntries(int(w))
		s.scaleBounces(int(w))
		s.soften(int(w))
	}
}

// startCompliance makes the column of compliances, if contacts have any.
func (s *Simulation) startCompliance() {
	if s.o.Compliance == 0 {
		return
	}
	s.problem.Compliance, s.soft = []float64{}, make([]float64, len(s.scene.Body))
	for b, mass := range s.scene.Mass {
		s.soft[b] = s.o.Compliance / mass
	}
}

// soften sets the compliances of the contacts of a world, R = ρ(1/m_a + 1/m_b) on all axes, which do not change as the
// bodies move. A body on the ground weighs as much on its contacts in a step as its momentum changes by in it, mgΔt: so
// it sinks into the n contacts that carry it at the speed ρgΔt/n, at any mass and size, until the correction of
// penetrations, the share β of each step, balances that ρgΔt²/(βn) beyond the slop. Against friction, which no
// correction helps, it creeps on a slope at ρgΔt·sin α/n for as long as it lies there. The diagonal of JM⁻¹Jᵀ is at
// least 1/m_a + 1/m_b, and a few times that at the corners of bodies. So ρ is about the compliance relative to that of
// the bodies themselves: with 1e-3 impulses and velocities have one answer, and those of impacts hardly change.
func (s *Simulation) soften(w int) {
	if s.soft == nil {
		return
	}
	p := &s.problem
	for c := w * p.Contacts; c < w*p.Contacts+int(p.Count[w]); c++ {
		r := s.soft[p.BodyA[c]] + s.soft[p.BodyB[c]]
		p.Compliance[2*c], p.Compliance[2*c+1] = r, r
	}
}

// listNear appends the rows of a world that have contact points to list.
func (s *Simulation) listNear(w int, list []int32) []int32 {
	st, before := &s.state, len(list)
	s.problem.Count[w], st.Contacts[w] = 0, 0
	if st.Status[w] != underway {
		return list
	}
	distance, gaps, normal, status := s.results.Distance().F64, s.results.Gap(), s.results.Normal().F64,
		s.results.Status()
	for i := s.first[w]; i < s.first[w+1]; i++ {
		row, gap := &s.rows[i], float64(gaps[i])
		s.maxGap[i] = max(s.maxGap[i], s.closes(w, row.pair, vecOf(normal[3*i:])))
		if row.apart = distance[i] - gap; row.apart > s.maxGap[i] {
			s.leave(w, row)
			continue
		}
		if v := batch.Status(status[i]); v == batch.Undecided || v == batch.Invalid || !(gap < math.Inf(1)) {
			st.Status[w] = PairUndecided
			return list[:before]
		}
		list = append(list, i)
	}
	return list
}

// countContacts sets the number of contacts of each row of a world, and reports whether there is room for all.
func (s *Simulation) countContacts(w int) bool {
	n := int32(0)
	for i := int(s.first[w]); i < int(s.first[w+1]); i++ {
		row := &s.rows[i]
		if row.apart > s.maxGap[i] {
			continue
		}
		if row.points = s.points.Count[i]; row.points == 0 {
			s.leave(w, row)
		}
		n += row.points
	}
	n += int32(len(s.entries[w]))
	s.state.Contacts[w] = n
	if int(n) > s.capacity {
		s.state.Status[w] = TooManyContacts
		return false
	}
	return true
}

// addRow adds the contact points of row i to the problem of its world.
func (s *Simulation) addRow(w, i int) {
	row := &s.rows[i]
	p := &s.pairs[row.pair]
	a, b := s.bodiesOf(w, p)
	half := s.halfRotationOf(w, p)
	n := half.apply(vecOf(s.results.Normal().F64[3*i:]))
	t1, t2 := Tangents(n)
	axes := [3]r3.Vec{t1, t2, n}
	for k := range int(row.points) {
		q := MaxPoints*i + k
		at := vecOf(s.points.Position[3*q:])
		armA, armB := half.apply(r3.Sub(at, a.center)), half.apply(r3.Sub(at, b.center))
		s.putContact(w, contactID{row.pair, s.points.ID[q]}, &axes, at, armA, armB,
			s.target(s.points.Gap[q], speedBefore(a, b, n, armA, armB), p))
	}
}

// putContact adds a contact to the problem of a world, at a point with the axes t1, t2 and n. It starts from the
// impulse of the last solve.
func (s *Simulation) putContact(w int, id contactID, axes *[3]r3.Vec, at, armA, armB r3.Vec, target float64) {
	p, problem := &s.pairs[id.pair], &s.problem
	i, mine, old := int(problem.Count[w]), s.contactsOf(w, 1-s.side[w]), s.contactsOf(w, s.side[w])
	c, m := w*s.capacity+i, mine+i
	problem.BodyA[c], problem.BodyB[c] = p.a, p.b
	problem.Friction[c], problem.Target[c] = p.friction, target
	putVec(problem.ArmA[3*c:], armA)
	putVec(problem.ArmB[3*c:], armB)
	s.ids[m] = id
	putVec(s.at[3*m:], at)
	impulse := s.warm(old, int(s.oldN[w]), i, m, p.size)
	for k, axis := range axes {
		putVec(problem.Frame[9*c+3*k:], axis)
		problem.Warm[3*c+k] = dotVec(axis, impulse)
	}
	problem.Count[w]++
}

// speedBefore is the velocity along n, before the step, of the point at an arm of body b relative to that of body a:
// negative where they approach.
func speedBefore(a, b *bodyState, n, armA, armB r3.Vec) float64 {
	return dotVec(n, r3.Sub(r3.Add(b.velocity, r3.Cross(b.spin, armB)), r3.Add(a.velocity, r3.Cross(a.spin, armA))))
}

func putVec(to []float64, v r3.Vec) { to[0], to[1], to[2] = v.X, v.Y, v.Z }

// target is the least normal velocity after the step. A gap may close within the step and no further; a penetration
// beyond the slop is removed by a share. Where bodies approach fast enough to meet within the step they part with their
// restitution, measured by the speed before the step: after a contact that has not closed has braked them, it is lost.
func (s *Simulation) target(gap, approach float64, p *partPair) float64 {
	dt := s.o.TimeStep
	if e := p.restitution; e > 0 && approach < -s.o.BounceSpeed && gap+dt*approach < 0 {
		return -e * approach
	}
	if gap > 0 {
		return -gap / dt
	}
	return min(s.o.Correction*max(0, -gap-p.slop)/dt, s.recoverySpeed(p))
}

// recoverySpeed limits the speed at which penetrations of a pair are removed.
func (s *Simulation) recoverySpeed(p *partPair) float64 {
	switch {
	case s.o.RecoverySpeed > 0:
		return s.o.RecoverySpeed
	case s.gravity > 0:
		return math.Sqrt(s.gravity * p.size)
	}
	return p.size / (40 * s.o.TimeStep)
}

// sameContact is the distance of two contacts of successive steps that may count as one, relative to the size of the
// pair.
const sameContact = 0.02

// warm is the impulse in world axes of that of the n contacts of the last solve, from old on, that has the features of
// contact m, the i-th of its world, else of the nearest one of the same pair within sameContact of its size; zero if
// there is none.
func (s *Simulation) warm(old, n, i, m int, size float64) (impulse r3.Vec) {
	if i < n && s.ids[old+i] == s.ids[m] { // mostly the contacts are those of the last solve
		return vecOf(s.impulse[3*(old+i):])
	}
	nearest := sameContact * size
	for k := old; k < old+n; k++ {
		if s.ids[k].pair != s.ids[m].pair {
			continue
		}
		if s.ids[k].id == s.ids[m].id {
			return vecOf(s.impulse[3*k:])
		}
		if d := length(r3.Sub(vecOf(s.at[3*k:]), vecOf(s.at[3*m:]))); d < nearest {
			nearest, impulse = d, vecOf(s.impulse[3*k:])
		}
	}
	return impulse
}

// finish commits the step of worlds.
func (s *Simulation) finish(_ *stepWorker, lo, hi int) {
	for w := lo; w < hi; w++ {
		s.finishWorld(w)
	}
}

func (s *Simulation) finishWorld(w int) {
	st := &s.state
	if st.Status[w] == underway {
		st.Status[w] = Advanced
	}
	if !st.Status[w].Advances() {
		return
	}
	for k := w * len(s.scene.Body); k < (w+1)*len(s.scene.Body); k++ {
		next := &s.bodies[k].next
		putVec(st.Velocity[3*k:], next.velocity)
		putVec(st.Momentum[3*k:], next.momentum)
		putVec(st.Pose[7*k:], next.pose.Position)
		q := next.pose.Rotation
		st.Pose[7*k+3], st.Pose[7*k+4], st.Pose[7*k+5], st.Pose[7*k+6] = q.Real, q.Imag, q.Jmag, q.Kmag
	}
	s.remember(w)
	st.Steps[w]++
}

// remember keeps the contacts and impulses of a solve, from which the next one starts.
func (s *Simulation) remember(w int) { s.side[w], s.oldN[w] = 1-s.side[w], s.problem.Count[w] }

// What a solved step does to the bodies: the audit of the energy, and the integration.

// nextState is where a step takes a body.
type nextState struct {
	pose               geom.Pose
	velocity, momentum r3.Vec
	angle, reach       float64 // of the rotation, and how far it moves a point of the body at most
}

// move audits the solves of the open worlds and finds where they take the bodies. A world stays open if a pair without
// contacts may meet on the way; other pairs that may penetrate too deep are suspects.
func (s *Simulation) move(worker *stepWorker, lo, hi int) {
	worker.list = worker.list[:0]
	for w := lo; w < hi; w++ {
		if s.open[w] {
			s.open[w] = false
			if s.state.Status[w] == underway {
				worker.list = append(worker.list, int32(w))
			}
		}
	}
	if s.variant != Off {
		native.Move(s.variant, &s.kernel, &s.columns, worker.list)
	} else {
		for _, w := range worker.list {
			s.audit(int(w))
			s.advanceWorld(int(w))
		}
	}
	for _, w := range worker.list {
		s.state.Solves[w]++
		s.decide(worker, int(w))
	}
}

// decide sets the status of a world by the audit of its solve.
func (s *Simulation) decide(worker *stepWorker, w int) {
	st := &s.state
	switch {
	case s.solution.Status[w] == Invalid:
		st.Status[w] = StepInvalid
		return
	case s.solution.Status[w] != Solved || !(math.Abs(st.Energy[w]) <= s.allowed[w]):
		if !s.o.Accept {
			st.Status[w] = SolveUndecided
			return
		}
		st.Status[w] = Accepted
	}
	switch s.change[w] {
	case notFinite:
		st.Status[w] = StepInvalid
		return
	case tooFast:
		st.Status[w] = TooFast
		return
	}
	if s.gainsEnergy(worker, w) || !(2*s.o.TimeStep*s.change[w] <= s.spare[w]) && s.missed(w) {
		s.reopen(worker, w)
		return
	}
	worker.suspects = s.unproved(w, worker.suspects)
}

// advanceWorld finds where the velocities of the solve take the bodies of a world.
func (s *Simulation) advanceWorld(w int) {
	change, fault := 0.0, 0.0 // of the relative speed of points of two bodies
	for b := range s.scene.Body {
		k := w*len(s.scene.Body) + b
		if !s.validAfter(k) {
			fault = notFinite
			continue
		}
		if !s.advance(k, b) && fault == 0 {
			fault = tooFast
		}
		body := &s.bodies[k]
		change = max(change, length(r3.Sub(body.next.velocity, body.velocity))+body.next.reach/s.o.TimeStep-body.rim)
	}
	s.change[w] = change
	if fault != 0 {
		s.change[w] = fault
	}
}

// The change of a world that is not advanced.
const notFinite, tooFast = -1, -2

// validAfter reports whether the state of a body after the step is finite.
func (s *Simulation) validAfter(k int) bool {
	v := s.solution.Velocity[6*k : 6*k+6]
	return finite(v...) && finite(s.state.Pose[7*k]+s.o.TimeStep*v[0], s.state.Pose[7*k+1]+s.o.TimeStep*v[1],
		s.state.Pose[7*k+2]+s.o.TimeStep*v[2])
}

// advance finds where the velocities of the solve take body b of its world, entry k of all. It reports false of a body
// that rotates too fast.
func (s *Simulation) advance(k, b int) (ok bool) {
	dt, body := s.o.TimeStep, &s.bodies[k]
	v, free := s.solution.Velocity[6*k:6*k+6], s.problem.Velocity[6*k:6*k+6]
	spin := vecOf(v[3:])
	next := &body.next
	*next = nextState{pose: geom.Pose{Position: vecOf(s.state.Pose[7*k:]), Rotation: quaternion(s.state.Pose[7*k+3:])},
		velocity: vecOf(v), momentum: body.momentum}
	rotation := &next.pose.Rotation
	if s.scene.movable(int32(b)) { // a body without contacts keeps the bits of its momentum
		change := (*sym3)(s.problem.Inertia[6*k:]).Mul(r3.Sub(spin, vecOf(free[3:])))
		next.momentum = r3.Add(body.momentum, change)
		*rotation, next.angle, ok = rotate(&s.columns.Fixed[b], body.pose.Rotation, &body.matrix, next.momentum, dt)
	} else if next.velocity == (r3.Vec{}) && spin == (r3.Vec{}) {
		return true
	} else {
		*rotation, next.angle, ok = rotateSteady(body.pose.Rotation, r3.Scale(dt, spin))
	}
	if next.angle != 0 {
		next.reach = next.angle * s.arm[b]
	}
	m := geom.Pose{Rotation: *rotation}.Matrix()
	center := addScaled(body.center, dt, next.velocity)
	next.pose.Position = r3.Sub(center, m.MulVec(s.scene.center(b)))
	return ok
}

// The audit of a solve: the identity of the energy that a step changes.

// pointVelocity is the velocity after the step of the point of a body at an arm.
func (s *Simulation) pointVelocity(w int, body int32, arm []float64) r3.Vec {
	v := (*[6]float64)(s.solution.Velocity[6*(w*len(s.scene.Body)+int(body)):])
	r := (*[3]float64)(arm)
	return r3.Vec{X: v[0] + v[4]*r[2] - v[5]*r[1], Y: v[1] + v[5]*r[0] - v[3]*r[2], Z: v[2] + v[3]*r[1] - v[4]*r[0]}
}

// auditRounding bounds the rounding of sums of some hundred products, relative to the sum of their sizes.
const auditRounding = 1e-12

// audit sets the error of the energy identity of a world and the error that its residuals and rounding allow, and the
// impulses in world axes.
func (s *Simulation) audit(w int) {
	p, bodies := &s.problem, len(s.scene.Body)
	impulse := s.impulse[3*s.contactsOf(w, 1-s.side[w]):]
	size := 0.0 // sum of the magnitudes of all terms
	add := func(sum *float64, x float64) {
		*sum += x
		size += math.Abs(x)
	}
	var left, right float64
	for b := range bodies {
		if !s.scene.movable(int32(b)) {
			continue
		}
		k := w*bodies + b
		v, f := s.solution.Velocity[6*k:6*k+6], p.Velocity[6*k:6*k+6]
		i := (*sym3)(p.Inertia[6*k:])
		linear, angular := vecOf(v), vecOf(v[3:])
		add(&left, p.Mass[k]*r3.Dot(linear, r3.Sub(linear, vecOf(f))))
		add(&left, r3.Dot(angular, i.Mul(r3.Sub(angular, vecOf(f[3:])))))
		size += p.Mass[k]*r3.Norm2(linear) + r3.Dot(angular, i.Mul(angular))
	}
	contacts := int(p.Count[w])
	for i := range contacts {
		c := w*p.Contacts + i
		q := frameRows(p.Frame[9*c:])
		l := vecOf(s.solution.Impulse[3*c:])
		world := addScaled(addScaled(r3.Scale(l.X, q[0]), l.Y, q[1]), l.Z, q[2])
		putVec(impulse[3*i:], world)
		ofA, ofB := s.pointVelocity(w, p.BodyA[c], p.ArmA[3*c:]), s.pointVelocity(w, p.BodyB[c], p.ArmB[3*c:])
		if !s.scene.movable(p.BodyA[c]) { // its work on the other body
			add(&left, -dotVec(world, ofA))
		}
		if !s.scene.movable(p.BodyB[c]) {
			add(&left, dotVec(world, ofB))
		}
		add(&right, l.Z*p.Target[c])
		relative := r3.Sub(ofB, ofA)
		x, y := dotVec(q[0], relative), dotVec(q[1], relative)
		if p.Compliance != nil {
			r := p.Compliance[2*c : 2*c+2]
			add(&right, -(r[0]*(l.X*l.X+l.Y*l.Y) + r[1]*(l.Z*l.Z)))
			x, y = x+r[0]*l.X, y+r[0]*l.Y
		}
		if s.o.Solve.Model == NCP {
			add(&right, -p.Friction[c]*l.Z*slipSpeed(x, y))
		}
	}
	s.state.Energy[w] = left - right
	s.allowed[w] = float64(contacts)*s.solution.Complementarity[w] + auditRounding*size
}
