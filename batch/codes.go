package batch

import "fmt"

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
