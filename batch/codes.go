package batch

import (
	"fmt"
	"strings"
)

// Status is the code of an answer's status, as stored in the status column.
type Status uint8

// Statuses of an answer. A failure is Undecided or Invalid, never "no contact".
const (
	Separated   Status = iota // proved by a separating plane
	Touching                  // zero lies within distance ± gap
	Penetrating               // the interiors intersect
	Undecided                 // the gap stayed above the tolerance
	Invalid                   // the input of the row is invalid
	StatusCount
)

var statusNames = [StatusCount]string{"separated", "touching", "penetrating", "undecided", "invalid"}

// String returns the name used in files and reports.
func (s Status) String() string { return name(statusNames[:], uint8(s), "status") }

// Method is the solver that the caller requests.
type Method uint8

// Methods. Their codes are not stored in files, which have names.
const (
	Auto Method = iota
	GJK
	Nesterov
	Polyak
	RTR // for pairs of smooth shapes; others are solved by GJK
	MethodCount
)

var methodNames = [MethodCount]string{"auto", "gjk", "nesterov", "polyak", "rtr"}

func (m Method) String() string { return name(methodNames[:], uint8(m), "method") }

// ParseMethod is the inverse of [Method.String].
func ParseMethod(s string) (Method, error) {
	i, err := parse(methodNames[:], s, "method")
	return Method(i), err
}

// Solver returns the solver of a method that names one, SolverNone for Auto.
func (m Method) Solver() Solver {
	switch m {
	case GJK:
		return SolverGJK
	case Nesterov:
		return SolverNesterov
	case Polyak:
		return SolverPolyak
	case RTR:
		return SolverRTR
	}
	return SolverNone
}

// Precision is the type of the result columns, with a default tolerance.
type Precision uint8

// Precisions, with their default tolerance relative to the size of the pair.
const (
	Single Precision = iota // 1e-6; float32 columns
	Double                  // 1e-12 (1e-8 for depths of curved shapes); float64 columns
	PrecisionCount
)

var precisionNames = [PrecisionCount]string{"single", "double"}

func (p Precision) String() string { return name(precisionNames[:], uint8(p), "precision") }

// ParsePrecision is the inverse of [Precision.String].
func ParsePrecision(s string) (Precision, error) {
	i, err := parse(precisionNames[:], s, "precision")
	return Precision(i), err
}

func name(names []string, i uint8, what string) string {
	if int(i) < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%s(%d)", what, i)
}

func parse(names []string, s, what string) (int, error) {
	for i, n := range names {
		if n == s {
			return i, nil
		}
	}
	return 0, fmt.Errorf("batch: unknown %s %q, want one of %v", what, s, names)
}

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
