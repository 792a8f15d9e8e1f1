package batch

import (
	"fmt"
	"strings"
)

// Solver is the solver that ended a row, as stored in the method column. Its codes are apart
// from those of [Method], see [Method.Solver].
//
// Files store the codes: a code is never given to another solver, and a new solver takes the next
// free one. Files also hold the names, see [SolverNames].
type Solver uint8

// Solvers.
const (
	SolverNone       Solver = 0  // none: the row is Invalid, or Undecided without bounds
	SolverGJK        Solver = 1  // GJK, also if another solver began the row
	SolverNesterov   Solver = 2  // GJK accelerated by Nesterov momentum
	SolverPolyak     Solver = 3  // GJK accelerated by the heavy ball
	SolverRTR        Solver = 4  // Riemannian trust region, certified without a polytope
	SolverClosedForm Solver = 5  // a formula: half-spaces, spheres, capsules, sphere and box
	SolverAxes       Solver = 6  // separating axes, of boxes, capsules and spheres: boxes all, some of them flat
	SolverEPA        Solver = 7  // the expanding polytope algorithm
	SolverNewton     Solver = 8  // Newton's method: on the sphere, on points of boxes, or on alternating projections
	SolverGrowth     Solver = 9  // the simplex method for growth distances [Growth]
	SolverBounds     Solver = 10 // bounds of bodies that prove them beyond the largest distance asked for, see rollout

	SolverCount Solver = 11
)

var solverNames = [SolverCount]string{
	"none", "gjk", "nesterov", "polyak", "rtr", "closed_form", "axes", "epa", "newton", "growth", "bounds",
}

// String returns the name used in files and reports.
func (s Solver) String() string { return name(solverNames[:], uint8(s), "solver") }

// ParseSolver is the inverse of [Solver.String].
func ParseSolver(s string) (Solver, error) {
	i, err := parse(solverNames[:], s, "solver")
	return Solver(i), err
}

// SolverNames is the table of codes and names that files carry: "0=none,1=gjk,…".
func SolverNames() string {
	var b strings.Builder
	for s := range SolverCount {
		if s > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%d=%v", uint8(s), s)
	}
	return b.String()
}
