package system

import (
	"math"

	"clearance/contact"
)

// OfBodies returns a problem of rigid bodies as one of a mechanism with six velocities a body, linear and angular:
// M has the masses and inertias on its diagonal, and row i of a contact is q_i·(v_B + ω_B×r_B) − q_i·(v_A + ω_A×r_A).
// Bodies that impulses do not move have M = 1, no Jacobian, and add the velocities of their points to the offset.
// Warm impulses are taken along.
func OfBodies(p *contact.Problem) *Problem {
	n, c := 6*p.Bodies, p.Contacts
	d := &Problem{Worlds: p.Worlds, Velocities: n, Contacts: c, Count: p.Count, Velocity: p.Velocity,
		Friction: p.Friction, Target: p.Target, Compliance: p.Compliance, Warm: p.Warm,
		Mass: make([]float64, p.Worlds*n*n), Jacobian: make([]float64, 3*p.Worlds*c*n),
		Offset: make([]float64, 3*p.Worlds*c)}
	for w := range p.Worlds {
		for b := range p.Bodies {
			d.setBody(w, b, p.Mass[w*p.Bodies+b], p.Inertia[6*(w*p.Bodies+b):])
		}
		for k := w * c; k < w*c+max(0, min(int(p.Count[w]), c)); k++ {
			for side, b := range [2]int32{p.BodyA[k], p.BodyB[k]} {
				if b < 0 || int(b) >= p.Bodies {
					continue
				}
				arm, sign := p.ArmA[3*k:], -1.0
				if side == 1 {
					arm, sign = p.ArmB[3*k:], 1
				}
				d.addSide(w, k, int(b), sign, arm, p.Frame[9*k:], math.IsInf(p.Mass[w*p.Bodies+int(b)], 1))
			}
		}
	}
	return d
}

// setBody sets the block of M of a body.
func (d *Problem) setBody(w, b int, mass float64, inertia []float64) {
	i := [3][3]float64{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}
	if math.IsInf(mass, 1) {
		mass = 1
	} else {
		i = [3][3]float64{{inertia[0], inertia[3], inertia[4]}, {inertia[3], inertia[1], inertia[5]},
			{inertia[4], inertia[5], inertia[2]}}
	}
	m, n := d.Mass[w*d.Velocities*d.Velocities:], d.Velocities
	for k := range 3 {
		m[(6*b+k)*n+6*b+k] = mass
		copy(m[(6*b+3+k)*n+6*b+3:], i[k][:])
	}
}

// addSide adds a side of contact k of all worlds to its Jacobian, or of a body that impulses do not move to its offset.
func (d *Problem) addSide(w, k, b int, sign float64, arm, frame []float64, still bool) {
	n := d.Velocities
	v := d.Velocity[w*n+6*b:]
	for a := range 3 {
		axis := frame[3*a : 3*a+3]
		for j := range 3 {
			next, last := (j+1)%3, (j+2)%3
			linear, angular := sign*axis[j], sign*(arm[next]*axis[last]-arm[last]*axis[next])
			if still {
				d.Offset[3*k+a] += linear*v[j] + angular*v[3+j]
				continue
			}
			line := d.Jacobian[(3*k+a)*n+6*b:]
			line[j] += linear
			line[3+j] += angular
		}
	}
}
