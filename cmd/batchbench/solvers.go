package main

import (
	"fmt"
	"strings"

	"clearance/batch"
	"clearance/dispatch"
)

// solverRows is the number of rows that each solver ended, by its name. Solvers that ended no
// row are omitted. It is empty if the report has no counts.
type solverRows map[string]int64

// solversOf returns the counts of a call.
func solversOf(rep *dispatch.Report) solverRows {
	s := solverRows{}
	for k, n := range rep.Solvers {
		if n > 0 {
			s[batch.Solver(k).String()] = int64(n)
		}
	}
	return s
}

// plus returns the sum of two counts.
func (s solverRows) plus(o solverRows) solverRows {
	sum := solverRows{}
	for _, c := range []solverRows{s, o} {
		for name, n := range c {
			sum[name] += n
		}
	}
	return sum
}

// String lists the counts in the order of the codes, "gjk 83,333, rtr 41,667".
func (s solverRows) String() string {
	var list []string
	for k := range batch.SolverCount {
		if n := s[k.String()]; n > 0 {
			list = append(list, fmt.Sprintf("%v %s", k, thousands(n)))
		}
	}
	return strings.Join(list, ", ")
}

// printSolvers lists the solvers that ended the rows of each set of a back end.
func (r *side) printSolvers(b *strings.Builder, backend string) {
	if len(r.Total.Solvers) == 0 {
		return
	}
	width := len(r.Total.Set)
	for i := range r.Sets {
		width = max(width, len(r.Sets[i].Set))
	}
	fmt.Fprintf(b, "rows of %s by the solver that ended them:\n", backend)
	for i := range r.Sets {
		fmt.Fprintf(b, "  %-*s  %v\n", width, r.Sets[i].Set, r.Sets[i].Solvers)
	}
	fmt.Fprintf(b, "  %-*s  %v\n\n", width, r.Total.Set, r.Total.Solvers)
}
