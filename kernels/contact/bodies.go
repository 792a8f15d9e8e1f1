package contact

import "unsafe"

// Scene is what all worlds of a simulation have in common; contact_scene of api.h.
type Scene struct {
	Bodies, Contacts     int32 // of a world
	Convex               int32 // 1: the CCP, 0: the NCP
	_                    int32
	TimeStep, MostLength float64    // seconds; of coordinates in metres
	Gravity              [3]float64 // m/s²
}

// Fixed is what does not change of a body, in its axes; contact_fixed of api.h.
type Fixed struct {
	Mass             float64 // +Inf of a body that does not move
	Inertia, Inverse [6]float64
	Center           [3]float64 // of mass
	Radius           float64    // bounding radius, +Inf of half-spaces
	Arm              float64    // from the center of mass to the farthest point

	// Of a movable body: the rotation from its principal axes to those of the body, in ascending order of moments; the
	// inverse principal moments a₁ ≥ a₂ ≥ a₃; a₁ − a₂, a₂ − a₃ and a₁ − a₃; the series of contact.seriesOf; and 1 where
	// the moments are equal, else 0.
	Axes         [9]float64
	Turn, Spread [3]float64
	Series       [18]float64
	Round        float64
}

// BodyBytes is the size of the state of a body, contact_body of api.h, which is contact.bodyState.
const BodyBytes = 44 * 8

// Columns are those of a simulation of W worlds of B bodies and C contacts.
type Columns struct {
	Fixed                    []Fixed        // [B]
	Pose, Velocity, Momentum []float64      // [W,B,7], [W,B,3], [W,B,3]
	Force                    []float64      // [W,B,6], or none
	State                    unsafe.Pointer // [W,B]

	Inertia, Free, Solved []float64 // [W,B,6] world axes; velocities without contacts and of the solve
	Count, BodyA, BodyB   []int32   // [W], [W,C], [W,C]
	ArmA, ArmB, Frame     []float64 // [W,C,3], [W,C,3], [W,C,3,3]
	Friction, Target      []float64 // [W,C]
	Compliance            []float64 // [W,C,2], or none
	Impulse               []float64 // [W,C,3] in the frames of the contacts
	Complementarity       []float64 // [W] of the solve
	Sides                 []uint8   // [W] the side of WorldImpulse that is in use
	WorldImpulse          []float64 // [W,2,C,3] in world axes
	Energy, Allowed       []float64 // [W] error of the energy identity, and what residuals and rounding allow
	// [W] of the relative speed of points of two bodies at most; -1: not finite, -2: too fast
	Change []float64
}

// Rules say how contacts are made, see contact.StepOptions; contact_rules of api.h.
type Rules struct {
	Bodies, Contacts                                 int32 // of a world
	TimeStep, Correction, RecoverySpeed, BounceSpeed float64
	Gravity                                          float64 // its magnitude
}

// Pair is a pair of parts of two bodies; contact_pair of api.h.
type Pair struct {
	A, B                              int32 // bodies
	Carrier                           int32 // the one of both that impulses do not move, or -1
	_                                 int32
	Friction, Restitution, Size, Slop float64
}

// RowBytes and IDBytes are the sizes of contact_row and contact_id of api.h, which are contact.worldRow and
// contact.contactID.
const RowBytes, IDBytes = 16, 16

// Assembly is the columns that contacts are made from, beside those of the simulation.
type Assembly struct {
	Pairs  []Pair
	First  []int32        // [W+1] rows of each world
	Rows   unsafe.Pointer // [N]
	Points Points         // [N]
	Normal []float64      // [N,3]

	Old      []int32        // [W] contacts of the last solve
	IDs      unsafe.Pointer // [W,2,C]
	Position []float64      // [W,2,C,3]
	Warm     []float64      // [W,C,3]
}
