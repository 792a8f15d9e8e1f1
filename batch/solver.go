package batch

// Solver is the solver that ended a row, as stored in the method column. A solver that can be
// requested by name has the code of its [Method].
type Solver uint8

// Solvers.
const (
	SolverNone       Solver = 0                // none: the row is Invalid, or Undecided without bounds
	SolverGJK               = Solver(GJK)      // GJK, also if another solver began the row
	SolverNesterov          = Solver(Nesterov) // GJK accelerated by Nesterov momentum
	SolverPolyak            = Solver(Polyak)   // GJK accelerated by the heavy ball
	SolverRTR               = Solver(RTR)      // Riemannian trust region, certified without a polytope
	SolverClosedForm        = SolverRTR + 1    // a formula: half-spaces, spheres, capsules, sphere and box
	SolverAxes              = SolverRTR + 2    // separating axes, of boxes, capsules and spheres: boxes all, some of them flat
	SolverEPA               = SolverRTR + 3    // the expanding polytope algorithm
	SolverNewton            = SolverRTR + 4    // Newton's method: on the sphere for smooth pairs, on the points of boxes, on alternating projections for solids of revolution
	SolverCount             = SolverRTR + 5
)

var solverNames = [SolverCount]string{"none", "gjk", "nesterov", "polyak", "rtr", "closed_form", "axes", "epa", "newton"}

// String returns the name used in files and reports.
func (s Solver) String() string { return name(solverNames[:], uint8(s), "solver") }
