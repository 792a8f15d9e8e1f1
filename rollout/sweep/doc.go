// Package sweep finds first contacts of moving convex shapes, and lower bounds of their distance over a motion, by
// conservative advancement [Mirtich1996; Zhang2006] on certified distances.
//
// A row is two shapes of a library, each at a pose in the frame of a moving body. A body moves from one pose to
// another in the time from 0 to 1: its position along a line at constant speed, its rotation by spherical linear
// interpolation, which is a rotation about a fixed axis at constant speed, at most half a revolution.
//
// # What is proved
//
// At a time a the solvers of a back end give a lower bound L of the distance and a normal n. Along n the package
// computes the separation S by itself, with the rounding bound of package verify. In a time s no point of one shape
// comes nearer to the other by more than s·μ, and nearer along n by more than s·σ, where, with the relative velocity
// v of B, the angles θ of rotation, the unit axes w, and the largest distance ρ of points of a shape from its axis of
// rotation
//
//	μ = |v| + θ_A·ρ_A + θ_B·ρ_B
//	σ = max(0, −⟨v, n⟩ + θ_A·ρ_A·|w_A × n| + θ_B·ρ_B·|w_B × n|)
//
// So the distance is at least max(L − s·μ, S − s·σ). Backward in time the same holds with −v. An interval between two
// such times is proved free of contact where both bounds leave no gap. Others are halved, the earliest first, until all
// are proved, or a contact is known at the end of an interval that is proved up to the tolerance before it.
//
// A contact is a pose at which the shapes intersect, or are proved to be nearer than the tolerance, relative to the
// size of the pair, or than what the rounding of their poses leaves if that is more. So vertices, edges and triangles,
// which have no interior and whose distance is never negative, are in contact where they pass through one another.
//
// A row that never meets and whose least distance lies between half of the tolerance (Ratio of it, where that is less)
// and all of it is in contact if a pose nearer than the tolerance is proved, and else free with a lower bound of at
// least that half. Which of them depends on the last digits of the times that solvers are asked at, so that back ends
// may differ there, and nowhere else.
package sweep
