package contact

// What a solved step does to the bodies: the audit of the energy, and the integration.

import (
	"math"

	"clearance/contact/lanes"
	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

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
			if s.state.Status[w] == Advanced {
				worker.list = append(worker.list, int32(w))
			}
		}
	}
	if s.variant != Off {
		lanes.Move(s.variant, &s.kernel, &s.columns, worker.list)
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
		change := (*sym3)(s.problem.Inertia[6*k:]).mul(r3.Sub(spin, vecOf(free[3:])))
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
