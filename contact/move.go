package contact

// What a solved step does to the bodies: the audit of the energy, and the integration.

import (
	"math"

	"clearance/contact/lanes"
	"clearance/geom"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

// nextState is where a step takes a body.
type nextState struct {
	pose               geom.Pose
	velocity, momentum r3.Vec
	angle, reach       float64 // of the rotation, and how far it moves a point of the body at most
}

// move audits the solves of the open worlds and finds where they take the bodies. A world stays open if a pair without
// contacts may meet on the way.
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
		s.decide(int(w))
	}
}

// decide sets the status of a world by the audit of its solve.
func (s *Simulation) decide(w int) {
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
	if s.change[w] < 0 {
		st.Status[w] = StepInvalid
		return
	}
	if !(2*s.o.TimeStep*s.change[w] <= s.spare[w]) && s.missed(w) {
		st.Status[w], s.open[w] = Advanced, true
		s.remember(w)
	}
}

// advanceWorld finds where the velocities of the solve take the bodies of a world.
func (s *Simulation) advanceWorld(w int) {
	change := 0.0 // of the relative speed of points of two bodies
	for b := range s.scene.Body {
		k := w*len(s.scene.Body) + b
		if !s.validAfter(k) {
			s.change[w] = -1
			return
		}
		s.advance(k, b)
		body := &s.bodies[k]
		change = max(change, length(r3.Sub(body.next.velocity, body.velocity))+body.next.reach/s.o.TimeStep-body.rim)
	}
	s.change[w] = change
}

// validAfter reports whether the state of a body after the step is finite.
func (s *Simulation) validAfter(k int) bool {
	v := s.solution.Velocity[6*k : 6*k+6]
	return finite(v...) && finite(s.state.Pose[7*k]+s.o.TimeStep*v[0], s.state.Pose[7*k+1]+s.o.TimeStep*v[1],
		s.state.Pose[7*k+2]+s.o.TimeStep*v[2])
}

// advance finds where the velocities of the solve take body b of its world, entry k of all.
func (s *Simulation) advance(k, b int) {
	dt, body := s.o.TimeStep, &s.bodies[k]
	v := s.solution.Velocity[6*k : 6*k+6]
	spin := vecOf(v[3:])
	next := &body.next
	*next = nextState{pose: geom.Pose{Position: vecOf(s.state.Pose[7*k:]), Rotation: quaternion(s.state.Pose[7*k+3:])},
		velocity: vecOf(v), momentum: vecOf(s.state.Momentum[3*k:])}
	movable := s.scene.movable(int32(b))
	if !movable && next.velocity == (r3.Vec{}) && spin == (r3.Vec{}) {
		return
	}
	rotation := body.pose.Rotation
	if movable {
		next.momentum = (*sym3)(s.problem.Inertia[6*k:]).mul(spin)
		middle := geom.Pose{Rotation: quat.Mul(exponential(r3.Scale(0.5*dt, spin)), rotation)}.Matrix()
		spin = s.spinOf(b, &middle, next.momentum)
	}
	if spin != (r3.Vec{}) {
		next.angle = dt * length(spin)
		next.reach = next.angle * s.arm[b]
	}
	rotation = quat.Mul(exponential(r3.Scale(dt, spin)), rotation)
	next.pose.Rotation = quat.Scale(1/math.Sqrt(squaredNorm(rotation)), rotation)
	m := geom.Pose{Rotation: next.pose.Rotation}.Matrix()
	center := addScaled(body.center, dt, next.velocity)
	next.pose.Position = r3.Sub(center, m.MulVec(s.scene.center(b)))
}

func squaredNorm(q quat.Number) float64 {
	return q.Real*q.Real + q.Imag*q.Imag + q.Jmag*q.Jmag + q.Kmag*q.Kmag
}

// exponential is the quaternion of the rotation by |v| radians about v.
func exponential(v r3.Vec) quat.Number {
	square := 0.25 * dotVec(v, v) // of the half angle
	var sinc, cos float64
	if square < 1e-3 { // the next terms are below 1e-21
		sinc = 1 - square*(1./6)*(1-square*(1./20)*(1-square*(1./42)*(1-square*(1./72))))
		cos = 1 - square*(1./2)*(1-square*(1./12)*(1-square*(1./30)*(1-square*(1./56))))
	} else {
		half := math.Sqrt(square)
		sinc, cos = math.Sin(half)/half, math.Cos(half)
	}
	k := 0.5 * sinc
	return quat.Number{Real: cos, Imag: k * v.X, Jmag: k * v.Y, Kmag: k * v.Z}
}
