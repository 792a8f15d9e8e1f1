package contact

// Contacts with a body that is moved and rotates.
//
// A point at the arm r of a body that rotates by θ in the step moves by the chord that is perpendicular to the arm of
// the middle of the step, and not by the tangent θ×r of the beginning, along which it would get farther from the axis
// by θ²/2 of the arm. So arms and normals of contacts with a body that impulses do not move are rotated by half of its
// rotation in the step, about the center of mass of either body: the contact problem is that of the middle of the step
// in axes that rotate with the body. What sticks to it moves by a chord of the length θ|r|. The angle φ has sin φ =
// θ/2, by which the distance from the axis is kept: |r + θ×R(φ)r|² = r² + θ²r² − 2θr²sin φ for r ⊥ θ.
//
// Contacts between two bodies that move freely are those of the beginning: impulses at one point of both keep their
// angular momentum, which the arms of the middle of the step would not.

import (
	"math"

	"clearance/geom"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

// mostCarried is the square of the largest angle θ of a step by which contacts are rotated: sin φ is at most 1.
const mostCarried = 4

// halfRotation is that of the contacts of a pair.
type halfRotation struct {
	matrix geom.Mat3
	any    bool
}

// halfRotationOf is the rotation of the contacts of a pair, by nearly half of that of its carrier.
func (s *Simulation) halfRotationOf(w int, p *partPair) (t halfRotation) {
	if p.carrier < 0 {
		return t
	}
	v := r3.Scale(s.o.TimeStep, s.bodies[w*len(s.scene.Body)+int(p.carrier)].spin)
	square := dotVec(v, v)
	if !(square > 0 && square <= mostCarried) {
		return t
	}
	k := 0.5 / (1 + math.Sqrt(1-0.25*square)) // tan(φ/2)/θ
	pose := geom.Pose{Rotation: quat.Number{Real: 1, Imag: k * v.X, Jmag: k * v.Y, Kmag: k * v.Z}}
	return halfRotation{pose.Matrix(), true}
}

func (t *halfRotation) apply(v r3.Vec) r3.Vec {
	if !t.any {
		return v
	}
	return t.matrix.MulVec(v)
}
