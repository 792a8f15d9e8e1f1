package batch

import (
	"fmt"
	"strings"
)

// Status is the code of an answer's status, as stored in the status column.
type Status uint8

// Statuses of an answer. A failure is never "no contact": it is Undecided or Invalid.
const (
	Separated   Status = iota // apart, proved by a separating plane
	Touching                  // zero lies within distance ± gap
	Penetrating               // the interiors intersect
	Undecided                 // the gap stayed above the tolerance
	Invalid                   // bad input in this row
	StatusCount
)

var statusNames = [StatusCount]string{"separated", "touching", "penetrating", "undecided", "invalid"}

// String returns the name used in files and reports.
func (s Status) String() string { return name(statusNames[:], uint8(s), "status") }

// Query is what is asked of every pair of a batch.
type Query uint8

// Queries.
const (
	Distance    Query = iota // signed distance: minus the depth for overlapping pairs
	Collide                  // status only; one bit a pair
	Penetration              // depth of overlapping pairs; separated ones are only proved so
	Growth                   // growth factor (not yet implemented)
	QueryCount
)

var queryNames = [QueryCount]string{"distance", "collide", "penetration", "growth"}

func (q Query) String() string { return name(queryNames[:], uint8(q), "query") }

// ParseQuery is the inverse of [Query.String].
func ParseQuery(s string) (Query, error) {
	i, err := parse(queryNames[:], s, "query")
	return Query(i), err
}

// Method is the solver asked for.
type Method uint8

// Methods.
const (
	Auto Method = iota
	GJK
	Nesterov
	Polyak
	RTR // for pairs of smooth shapes; other pairs are answered as by GJK
	MethodCount
)

var methodNames = [MethodCount]string{"auto", "gjk", "nesterov", "polyak", "rtr"}

func (m Method) String() string { return name(methodNames[:], uint8(m), "method") }

// ParseMethod is the inverse of [Method.String].
func ParseMethod(s string) (Method, error) {
	i, err := parse(methodNames[:], s, "method")
	return Method(i), err
}

// Precision is the accuracy asked for.
type Precision uint8

// Precisions: the tolerance on the gap, relative to the size of the pair.
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

// Columns is the set of result columns that a caller wants. What is not in the
// set is neither computed, where that saves work, nor moved.
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
	ColBits                           // one bit a row [⌈N/64⌉], see Results.Bits
	ColMethod                         // uint8 [N], the Solver that ended the row

	// AllColumns is every column of an answer: not the bits, which say nothing that the
	// status does not say, and not the method, which says nothing of the pair.
	AllColumns = ColDistance | ColGap | ColNormal | ColWitnessA | ColWitnessB | ColStatus | ColIterations

	// FileColumns is every column that files hold.
	FileColumns = AllColumns | ColMethod

	anyColumns = FileColumns | ColBits
)

var columnNames = [...]string{"distance", "gap", "normal", "witness_a", "witness_b", "status", "iterations", "bits", "method"}

// String lists the names used in files.
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
