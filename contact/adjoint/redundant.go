package adjoint

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/contact"
	"clearance/contact/internal/modes"
)

// Redundant contacts of a step that cannot follow its changes.
//
// Contacts that stick at two points of the same two bodies are redundant: the points keep their distance, whatever the
// impulses are. With the vector d between them, the velocities w = c*·n that both contacts are asked for obey
//
//	d·(w_j − w_i) = 0.
//
// At a solution they do. A change of the step asks for
//
//	δd·(w_j − w_i) + d·(δw_j − δw_i)
//
// in its place. Where this is not zero, no impulses make both contacts stick. One of them slides, at a speed that is
// proportional to the change, where the derivative of the present modes has impulses of least norm. With Ω the relative
// angular velocity, w_j − w_i = Ω×d. Compared with d/Δt, by which velocities change with angles where gaps close, the
// terms are at most
//
//	Δt·‖Ω×d̂‖  and  |d̂·n|,
//
// the angle by which d rotates in the step, and that between d and the plane of the contact. The latter counts where
// targets change with gaps or approaches. A box at rest on its corners has neither. Compliance makes contacts follow
// all changes.

// mostAngle is the sum of both above which such a step is a [Boundary]: what the derivative may be off by, relative.
const mostAngle = 1e-7

// anchor is the first contact that sticks of two bodies, of which all that impulses do not move count as one.
type anchor struct {
	body, other int32 // body moves
	at          r3.Vec
	spin        r3.Vec // Ω
	normal      r3.Vec
	held        bool // the target does not change
}

// redundant takes redundant contacts into the report of a part of a step, whose contact problem has been solved.
func (x *Steps) redundant(r *contact.PartRecord, report *StepReport) {
	x.anchors = x.anchors[:0]
	for c := range r.Contacts {
		row := &x.problem.rows[c]
		if row.Mode != Stick || !(row.S[0] < modes.Regularization*row.H) {
			continue
		}
		a, b := r.Problem.BodyA[c], r.Problem.BodyB[c]
		spin := r3.Sub(vecOf(r.Solution.Velocity[6*b+3:]), vecOf(r.Solution.Velocity[6*a+3:]))
		this := anchor{body: b, other: a, at: vecOf(r.Problem.ArmB[3*c:]), spin: spin,
			normal: vecOf(r.Problem.Frame[9*c+6:]), held: r.Contacts[c].Rule == contact.Rests}
		if x.fixed[b] {
			this.body, this.other, this.at = a, b, vecOf(r.Problem.ArmA[3*c:])
		}
		if x.fixed[this.other] {
			this.other = -1
		}
		if first := x.anchorOf(this.body, this.other); first == nil {
			x.anchors = append(x.anchors, this)
		} else if !first.follows(&this, r.TimeStep) {
			report.worse(Boundary, 0)
			return
		}
	}
}

func (x *Steps) anchorOf(body, other int32) *anchor {
	for i := len(x.anchors) - 1; i >= 0; i-- {
		if y := &x.anchors[i]; y.body == body && y.other == other {
			return y
		}
	}
	return nil
}

// follows reports whether the sum of both angles of a contact and another one of the same bodies is small.
func (x *anchor) follows(y *anchor, dt float64) bool {
	d, inclined := r3.Sub(y.at, x.at), 0.0
	for _, z := range [2]*anchor{x, y} {
		if !z.held {
			inclined = max(inclined, math.Abs(dot(d, z.normal)))
		}
	}
	rotates := length(cross(x.spin, d))
	if y.spin != x.spin { // of two bodies that impulses do not move
		rotates = max(rotates, length(cross(y.spin, d)))
	}
	return inclined+dt*rotates <= mostAngle*length(d)
}
