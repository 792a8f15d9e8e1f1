package ref

import (
	"fmt"

	"gonum.org/v1/gonum/spatial/r3"
)

// Status says what a solver proved. The codes equal those of package batch (a
// test holds them together).
type Status uint8

// Statuses of an answer.
const (
	Separated   Status = iota // a separating plane was found
	Touching                  // zero lies within the bounds, which met the tolerance
	Penetrating               // the interiors intersect
	Undecided                 // the bounds stayed further apart than the tolerance
	Invalid                   // the question itself is ill-posed
)

var statusNames = [...]string{"separated", "touching", "penetrating", "undecided", "invalid"}

func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return fmt.Sprintf("status(%d)", uint8(s))
}

// Options configure a solver. The zero value asks for the signed distance at the
// tightest tolerance that float64 gives, with no cap that matters.
type Options struct {
	// Tolerance is the gap upper − lower, in metres, at which the solver stops.
	// 0 means 1e-12 × [Pair.Size] for distances and for depths of polytopes, and
	// 1e-8 × Size for depths of curved shapes.
	Tolerance float64

	// MaxIterations caps the support evaluations of one solver, EPA's and what follows it less
	// those before them; 0 is 1,000 for GJK, 100 for RTR, 100,000 for Frank-Wolfe, and 60,000
	// for EPA. With 0, [Solve] takes at most 65,535 with any method but Frank-Wolfe.
	MaxIterations int

	// CutOff is the signed distance, in metres, beyond which the caller does not
	// care: a solver may stop as soon as it has proved distance > CutOff.
	// HasCutOff enables it. CutOff = 0 asks "how deep" only of penetrating pairs.
	CutOff    float64
	HasCutOff bool

	// Boolean asks only whether the shapes intersect [Montaut2022, Alg. 2].
	Boolean bool

	// WarmStart, if not zero, is the initial direction from A to B in the frame of
	// the pair (see Pair.FromWorld); otherwise the line between the centers is used.
	WarmStart r3.Vec

	// Starts is the number of runs of [RTR] on shapes that intersect too deeply for its first minimum
	// to be known to be global; 0 means 1. Further runs start at axes of the shapes.
	Starts int

	// StopRule selects the stopping rule; the default is the certified gap.
	StopRule StopRule

	// Method picks the solver of [Solve].
	Method Method

	// Trace, if not nil, gets a step for every evaluation of the support function.
	Trace *Trace
}

// StopRule selects when a distance solver stops.
type StopRule uint8

const (
	// StopGap stops when the certified bounds are closer than the tolerance.
	StopGap StopRule = iota
	// StopDuality stops when the Frank-Wolfe duality gap of ½‖x‖²·2, that is
	// 2⟨x, x − s⟩, is at most the tolerance (in m²); [Montaut2022, eq. 15-17, 29].
	// It is there to repeat the papers' tables.
	StopDuality
)

// Method names a distance solver.
type Method uint8

// Distance solvers.
const (
	MethodGJK                Method = iota // GJK with the Signed Volumes sub-algorithm
	MethodGJKJohnson                       // GJK with Johnson's sub-algorithm and the Backup procedure
	MethodNesterov                         // Nesterov-accelerated GJK
	MethodNesterovNormalized               // the same with normalised directions
	MethodPolyak                           // Polyak-accelerated GJK
	MethodPolyakNormalized                 // the same with normalised directions
	MethodFrankWolfe                       // Frank-Wolfe with line search
	MethodRTR                              // Riemannian trust region, for smooth pairs; GJK for others
	MethodAuto                             // RTR for the smooth pairs on which it was measured to be faster, else GJK
	MethodCount
)

var methodNames = [MethodCount]string{
	"gjk", "gjk-johnson", "nesterov", "nesterov-normalized", "polyak", "polyak-normalized", "frank-wolfe", "rtr",
	"auto",
}

func (m Method) String() string {
	if m < MethodCount {
		return methodNames[m]
	}
	return fmt.Sprintf("method(%d)", uint8(m))
}

// Result is the answer to one query, in the frame of the pair (that of A).
//
// The true signed distance lies in [Lower, Upper]: positive apart, minus the
// depth in penetration. Distance is the bound that the witnesses realise.
// Normal is unit and points from A to B. WitnessA lies on A and WitnessB on B,
// and WitnessB = WitnessA + Distance·Normal within Upper − Lower.
type Result struct {
	Status             Status
	Distance           float64
	Lower, Upper       float64
	Normal             r3.Vec
	WitnessA, WitnessB r3.Vec
	Iterations         int    // support evaluations
	Method             Method // that [Solve] used, never MethodAuto
	Ended              Ending // the solver that ended the row, if not the method itself
	Simplex            Simplex
}

// Ending names the solver that ended a query which [Solve] began with its method.
type Ending uint8

// Endings.
const (
	EndedByMethod Ending = iota
	EndedByFormula
	EndedByGJK // after another method, or in its place
	EndedByEPA
	EndedByAxes   // of two boxes
	EndedByNewton // on the convex dual of the growth distance
)

// Gap is the half-width that holds the true value around Distance.
func (r *Result) Gap() float64 { return max(r.Upper-r.Distance, r.Distance-r.Lower) }

// Vertex is a point W = A − B of the Minkowski difference with the points of the
// two cores that made it, in the frame of the pair.
type Vertex struct{ W, A, B r3.Vec }

// Simplex is the set of vertices that a solver ended with and the barycentric
// coordinates of the point nearest to the origin.
type Simplex struct {
	V      [4]Vertex
	Lambda [4]float64
	N      int // vertices in use, 0 to 4
}
