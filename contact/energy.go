package contact

// The audit of a solve: the identity of the energy that a step changes.

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// pointVelocity is the velocity after the step of the point of a body at an arm.
func (s *Simulation) pointVelocity(w int, body int32, arm []float64) r3.Vec {
	v := (*[6]float64)(s.solution.Velocity[6*(w*len(s.scene.Body)+int(body)):])
	r := (*[3]float64)(arm)
	return r3.Vec{X: v[0] + v[4]*r[2] - v[5]*r[1], Y: v[1] + v[5]*r[0] - v[3]*r[2], Z: v[2] + v[3]*r[1] - v[4]*r[0]}
}

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
		add(&left, r3.Dot(angular, i.mul(r3.Sub(angular, vecOf(f[3:])))))
		size += p.Mass[k]*r3.Norm2(linear) + r3.Dot(angular, i.mul(angular))
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
		if s.o.Solve.Model == NCP {
			relative := r3.Sub(ofB, ofA)
			add(&right, -p.Friction[c]*l.Z*slipSpeed(dotVec(q[0], relative), dotVec(q[1], relative)))
		}
	}
	const rounding = 1e-12 // of sums of some hundred products
	s.state.Energy[w] = left - right
	s.allowed[w] = float64(contacts)*s.solution.Complementarity[w] + rounding*size
}
