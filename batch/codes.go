package batch

import (
	"fmt"
	"slices"
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

var statuses = Names[Status]{"status", statusNames[:]}

// String returns the name used in files and reports.
func (s Status) String() string { return statuses.Name(s) }

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

var methods = Names[Method]{"method", methodNames[:]}

func (m Method) String() string { return methods.Name(m) }

// ParseMethod is the inverse of [Method.String].
func ParseMethod(s string) (Method, error) { return methods.Parse(s) }

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

var precisions = Names[Precision]{"precision", precisionNames[:]}

func (p Precision) String() string { return precisions.Name(p) }

// ParsePrecision is the inverse of [Precision.String].
func ParsePrecision(s string) (Precision, error) { return precisions.Parse(s) }

// Names are the names of an enumeration in files, on the command line and in the C interface: that of code i is the
// i-th of List.
type Names[T ~uint8] struct {
	What string // the word for a value, in errors
	List []string
}

// Name returns the name of a code.
func (n Names[T]) Name(code T) string {
	if int(code) < len(n.List) {
		return n.List[code]
	}
	return fmt.Sprintf("%s(%d)", n.What, uint8(code))
}

// Parse is the inverse of [Names.Name].
func (n Names[T]) Parse(name string) (T, error) {
	if i := slices.Index(n.List, name); i >= 0 {
		return T(i), nil
	}
	return 0, fmt.Errorf("unknown %s %q, want one of %v", n.What, name, n.List)
}

// Table is the table of codes and names that files carry: "0=none,1=gjk,…".
func (n Names[T]) Table() string {
	var b strings.Builder
	for i, name := range n.List {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%d=%s", i, name)
	}
	return b.String()
}

// Check returns an error for a code without a name.
func (n Names[T]) Check(code T) error {
	if int(code) < len(n.List) {
		return nil
	}
	return fmt.Errorf("unknown %s, want one of %v", n.Name(code), n.List)
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

var solvers = Names[Solver]{"solver", solverNames[:]}

// String returns the name used in files and reports.
func (s Solver) String() string { return solvers.Name(s) }

// ParseSolver is the inverse of [Solver.String].
func ParseSolver(s string) (Solver, error) { return solvers.Parse(s) }

// SolverNames is the table of codes and names that files carry: "0=none,1=gjk,…".
func SolverNames() string { return solvers.Table() }
