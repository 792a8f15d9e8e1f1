// Package contact holds the kernels of package clearance/contact, in C. They solve contact problems of worlds of rigid
// bodies: by sweeps of projected Gauss-Seidel with a world in each SIMD lane, and by Newton's method, one world at a
// time. They find contact points of pairs of every kind, row by row. Package clearance/contact does what this package
// leaves of problems.
//
// The sweeps of [Sweep] are in float32 and start from relative velocities that are formed in float64. Residuals and
// all of [Newton] are in float64; residuals are those of the impulses that are written, from these alone. The impulses
// of a world depend on its own problem alone, not on the other worlds of a group or its lane. AVX-512, AVX2 and NEON
// fuse the same products with the same sums, so that their answers have the same bits; the portable variant fuses none.
// So calls of few worlds take AVX2 in place of AVX-512.
//
// A call belongs to one goroutine, and so does its [Scratch]. There is no error: input is checked by the caller.
// Without cgo [Supported] is empty, and nothing else may be called.
package contact

// Portable is the variant of every processor.
const Portable = "portable"

// Problem is columns of W worlds of B bodies and C contacts, as in contact.Problem. None is empty but for
// Target, Compliance and Warm, which may be absent.
type Problem struct {
	Bodies, Contacts int

	Mass, Inertia, Velocity []float64 // [W,B], [W,B,6], [W,B,6]
	Count, BodyA, BodyB     []int32   // [W], [W,C], [W,C]
	ArmA, ArmB, Frame       []float64 // [W,C,3], [W,C,3], [W,C,3,3]
	Friction, Target        []float64 // [W,C], [W,C]
	Compliance, Warm        []float64 // [W,C,2], [W,C,3]

	Impulse                       []float64 // [W,C,3] the answer; rows from Count on are not written
	Solved                        []float64 // [W,B,6] velocities that follow
	Residual, Scale               []float64 // [W] of the contact with the largest ratio of both
	Primal, Dual, Complementarity []float64 // [W] residuals
	Sweeps                        []int32   // [W] that were made
}

// Options of a call.
type Options struct {
	Convex    bool    // the CCP in place of the NCP
	Tolerance float64 // of the residual relative to the speed scale, see contact.Solution
	// Resolved is the least speed scale of an island relative to its speeds: what float64 resolves, over the tolerance.
	Resolved   float64
	Steps      int     // at most, of Newton's method
	Sweeps     int     // at most; a residual follows each fifth and the last
	Relaxation float64 // ω, in (0, 2)
	// Refine has a block of sweeps made of worlds that are solved by the impulses to start from, unless these are as
	// good as float64 makes them: the first ones of the next problem are its impulses, and its errors would add up.
	Refine bool
}
