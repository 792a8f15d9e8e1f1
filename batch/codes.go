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

// Columns is a set of result columns. Columns not in the set are not transferred, and not
// computed if that saves work.
type Columns uint16

// Result columns.
const (
	ColDistance   Columns = 1 << iota // float32 or float64 [N]
	ColGap                            // float32 [N]
	ColNormal                         // [N,3]
	ColWitnessA                       // [N,3]
	ColWitnessB                       // [N,3]
	ColStatus                         // uint8 [N]
	ColIterations                     // uint16 [N]
	ColBits                           // one bit per row [⌈N/64⌉], see Results.Bits
	ColMethod                         // uint8 [N], the Solver that ended the row
	ColPoint                          // [N,3], of growth only: the common point of the shapes scaled by the factor

	// AllColumns is every column of an answer, without the bits, which follow from the
	// status, and the method, which does not describe the pair.
	AllColumns = ColDistance | ColGap | ColNormal | ColWitnessA | ColWitnessB | ColStatus | ColIterations

	// FileColumns is every column that a results file of any query can contain.
	// [QueryInfo.FileColumns] adds those that only some queries have, ExtraColumns.
	FileColumns  = AllColumns | ColMethod
	ExtraColumns = ColPoint

	anyColumns = FileColumns | ColBits | ExtraColumns
)

var columnNames = [...]string{
	"distance", "gap", "normal", "witness_a", "witness_b", "status", "iterations", "bits", "method", "point",
}

// String returns the names used in files, separated by commas.
func (c Columns) String() string {
	var b strings.Builder
	for i := range 16 {
		if c&(1<<i) == 0 {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		b.WriteString(name(columnNames[:], uint8(i), "column"))
	}
	return b.String()
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
