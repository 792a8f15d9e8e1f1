package adjoint

import (
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/contact"
)

// The derivative of impacts by their time.
//
// A step in which a gap φ closes at the speed −c_N changes the velocities at its beginning, where the motion changes
// them at the time t = −φ/c_N. The impulse λ of a bounce moves its bodies by (Δt − t)·M⁻¹Jᵀλ in the step, and not by
// Δt·M⁻¹Jᵀλ. Of positions this is a difference of the order of the step, but not of derivatives: a ball that bounces
// with the restitution e has
//
//	y⁺ = y + t·v + (Δt − t)·(−e·v),  t = −y/v,  so that ∂y⁺/∂y = −e,
//
// while the step as it is has ∂y⁺/∂y = 1: the wrong sign, at steps of any length [Zhong et al., Improving gradient
// computation for differentiable physics simulation with contacts, arXiv 2207.05060]. So [TimeOfImpact] adds to the
// positions and rotations after a step the derivative of
//
//	−Σ t·M⁻¹Jᵀλ
//
// over the contacts that bounce, by times and impulses, arms, frames and inertias. What the sum itself would change of
// the motion is left out: the state that is differentiated is that of the step.
//
// Velocities have a term too. Under the acceleration a along the normal the approach at the time t is c + a·t, and
// after the bounce a acts for Δt − t, where the step has the target −e·c:
//
//	c⁺ = −e·(c + a·t) + a·(Δt − t),  so that ∂c⁺/∂t = −(1 + e)·a,
//
// with a from the velocities before the step and without impulses. A ball pushed into another one by a force hits it
// later, and so faster, the farther it is away: this is all that the velocity of the other one knows of the distance.
//
// Impacts without restitution need none of this. Their targets are −φ/Δt, which takes the bodies to where they touch at
// the end of the step.

// impact is what a contact that bounces gives to its gap and approach.
type impact struct{ gap, approach float64 }

// findImpacts returns the cotangents of the impulses by the times of impacts, nil if there are none. It takes what does
// not depend on the derivative of the impulses to the impacts.
func (x *Steps) findImpacts(r *contact.PartRecord) []float64 {
	resize(&x.impacts, len(r.Contacts))
	clear(x.impacts)
	if x.Impacts != TimeOfImpact {
		return nil
	}
	resize(&x.impulse, 3*len(r.Contacts))
	clear(x.impulse)
	found := false
	for c := range r.Contacts {
		if r.Contacts[c].Rule != contact.Bounces {
			continue
		}
		found = true
		time, _ := x.timeOf(r, c)
		w := x.lateness(r, c)
		for k := range 3 {
			x.impulse[3*c+k] = -time * dot(vecOf(r.Problem.Frame[9*c+3*k:]), w)
		}
	}
	if !found {
		return nil
	}
	return x.impulse
}

// timeOf is the time in the step at which the gap of a contact closes, and the speed along the normal before the step.
// Of a penetration it is before the step.
func (x *Steps) timeOf(r *contact.PartRecord, c int) (time, approach float64) {
	p := &r.Pairs[r.Contacts[c].Pair]
	a, b := &r.Bodies[p.BodyA], &r.Bodies[p.BodyB]
	relative := r3.Sub(r3.Add(b.Velocity, cross(b.Spin, vecOf(r.Problem.ArmB[3*c:]))),
		r3.Add(a.Velocity, cross(a.Spin, vecOf(r.Problem.ArmA[3*c:]))))
	approach = dot(vecOf(r.Problem.Frame[9*c+6:]), relative)
	return -p.Manifold.Points[c-int(p.First)].Gap / approach, approach
}

// late is M⁻¹ times the cotangents of the position and the rotation of a body after the step.
func (x *Steps) late(r *contact.PartRecord, b int32) (lin, ang r3.Vec) {
	if x.fixed[b] {
		return lin, ang
	}
	i := sym3(r.Problem.Inertia[6*b : 6*b+6])
	inverse := i.Inverse()
	return r3.Scale(1/r.Problem.Mass[b], x.body[b].shift), inverse.Mul(x.body[b].rotate)
}

// lateness is the relative velocity of a contact by [Steps.late], in world axes.
func (x *Steps) lateness(r *contact.PartRecord, c int) r3.Vec {
	la, wa := x.late(r, r.Problem.BodyA[c])
	lb, wb := x.late(r, r.Problem.BodyB[c])
	lb = r3.Add(lb, cross(wb, vecOf(r.Problem.ArmB[3*c:])))
	return r3.Sub(lb, r3.Add(la, cross(wa, vecOf(r.Problem.ArmA[3*c:]))))
}

// addImpacts adds the cotangents of what impacts displace by their times, arms, frames, masses and inertias, to those
// of the contact problem. The impulses have theirs.
func (x *Steps) addImpacts(r *contact.PartRecord) {
	if x.Impacts != TimeOfImpact {
		return
	}
	for c := range r.Contacts {
		if r.Contacts[c].Rule != contact.Bounces {
			continue
		}
		time, approach := x.timeOf(r, c)
		w, l := x.lateness(r, c), vecOf(r.Solution.Impulse[3*c:])
		q := [3]r3.Vec{vecOf(r.Problem.Frame[9*c:]), vecOf(r.Problem.Frame[9*c+3:]), vecOf(r.Problem.Frame[9*c+6:])}
		force := axpy(axpy(r3.Scale(l.X, q[0]), l.Y, q[1]), l.Z, q[2])
		byTime := -dot(force, w)
		x.impacts[c] = impact{gap: -byTime / approach, approach: -byTime * time / approach}
		// δforce = (n×δn)×force
		normal := cross(cross(force, r3.Scale(-time, w)), q[2])
		addTo(x.gradient.Normal[3*c:], normal)
		x.displace(r, r.Problem.BodyA[c], r3.Scale(-1, force), time, r.Problem.ArmA[3*c:], x.gradient.ArmA[3*c:])
		x.displace(r, r.Problem.BodyB[c], force, time, r.Problem.ArmB[3*c:], x.gradient.ArmB[3*c:])
	}
}

// byAcceleration adds the cotangents of the time of an impact by its target, under the acceleration along the normal.
func (x *Steps) byAcceleration(r *contact.PartRecord, c int, target float64) {
	if x.Impacts != TimeOfImpact {
		return
	}
	time, approach := x.timeOf(r, c)
	free := dot(vecOf(r.Problem.Frame[9*c+6:]), r3.Sub(freeAt(&r.Problem, r.Problem.BodyB[c], r.Problem.ArmB[3*c:]),
		freeAt(&r.Problem, r.Problem.BodyA[c], r.Problem.ArmA[3*c:])))
	rule := &r.Contacts[c]
	byTime := -(1 + rule.Factor*rule.Restitution) * (free - approach) / r.TimeStep * target
	x.impacts[c].gap -= byTime / approach
	x.impacts[c].approach -= byTime * time / approach
}

// freeAt is the velocity of a body at an arm without impulses.
func freeAt(p *contact.Problem, b int32, arm []float64) r3.Vec {
	return r3.Add(vecOf(p.Velocity[6*b:]), cross(vecOf(p.Velocity[6*b+3:]), vecOf(arm)))
}

// displace adds what the force of an impact at an arm gives to the arm, the mass and the inertia of a body.
func (x *Steps) displace(r *contact.PartRecord, b int32, force r3.Vec, time float64, arm, toArm []float64) {
	if x.fixed[b] {
		return
	}
	lin, ang := x.late(r, b)
	addTo(toArm, r3.Scale(-time, cross(force, ang))) // ⟨force, ω×r⟩ = ⟨r, force×ω⟩
	i := sym3(r.Problem.Inertia[6*b : 6*b+6])
	inverse := i.Inverse()
	x.gradient.Mass[b] += time * dot(lin, force) / r.Problem.Mass[b]
	x.body[b].inertia.AddProduct(time, ang, inverse.Mul(cross(vecOf(arm), force)))
}
