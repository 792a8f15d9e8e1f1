package conformance

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"clearance/batch"
)

// solverSet is a set of solvers, a bit each.
type solverSet uint64

func (s solverSet) String() string {
	var names []string
	for ; s != 0; s &= s - 1 {
		names = append(names, batch.Solver(bits.TrailingZeros64(uint64(s))).String())
	}
	return strings.Join(names, ", ")
}

// ending is what a set of solvers ended rows of: forms in ascending order.
type ending struct {
	backend string
	query   batch.Query
	method  batch.Method
	prec    batch.Precision
	forms   [2]int
}

// solversTitle begins the part of the page that names solvers.
const solversTitle = "## Who ended the rows"

// NoteSolvers takes down which solvers ended the rows of a verdict, as answers of what is
// called name, but for rows that `elsewhere`, if there is one, says another back end ended.
// A page that is to be the same on every machine takes back ends that run on all.
func (m *Matrix) NoteSolvers(name string, o batch.Options, rows *Rows, v *Verdict,
	elsewhere func(batch.Options, int) bool) {
	if m.endings == nil {
		m.endings = map[ending]solverSet{}
	}
	if !slices.Contains(m.endedBy, name) {
		m.endedBy = append(m.endedBy, name)
	}
	m.forms = rows.Forms
	for i, s := range v.Solver {
		a, b := int(rows.Pairs.ShapeA[i])/2, int(rows.Pairs.ShapeB[i])/2
		e := ending{name, o.Query, o.Method, o.Precision, [2]int{min(a, b), max(a, b)}}
		if s := batch.Solver(s); s != batch.SolverNone && (elsewhere == nil || !elsewhere(o, i)) {
			m.endings[e] |= 1 << s
		}
	}
}

// writeSolvers writes a table a back end and query: a line for all pairs of forms that
// the same solvers ended in every method and precision.
func (m *Matrix) writeSolvers(b *strings.Builder, note string) {
	if len(m.endedBy) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n\nThe solvers that the method column names, by pair of shapes (either may be A), query and "+
		"method asked for; where the precisions differ, each is named. Pairs that the same solvers ended share a "+
		"line. %s\n", solversTitle, note)
	for _, backend := range m.endedBy {
		before := map[string]batch.Query{} // tables of the back end, by what they say
		for q := range batch.QueryCount {
			table := m.endingTable(backend, q)
			if table == "" {
				continue
			}
			fmt.Fprintf(b, "\n### Back end %s, query %v\n\n", backend, q)
			if same, ok := before[table]; ok {
				fmt.Fprintf(b, "As query %v.\n", same)
				continue
			}
			before[table] = q
			b.WriteString(table)
		}
	}
}

// endingTable is the table of a back end and a query, or nothing where none ran.
func (m *Matrix) endingTable(backend string, q batch.Query) string {
	lines, pairs := m.endingLines(backend, q)
	if len(lines) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("| shapes |")
	for method := range batch.MethodCount {
		fmt.Fprintf(&b, " %v |", method)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", int(batch.MethodCount)) + "\n")
	for _, line := range lines[1:] {
		fmt.Fprintf(&b, "| %s |%s\n", m.pairNames(pairs[line]), line)
	}
	fmt.Fprintf(&b, "| all other pairs |%s\n", lines[0])
	return b.String()
}

// endingLines returns the entries of a table, the line that most pairs have first, and the
// pairs that have each.
func (m *Matrix) endingLines(backend string, q batch.Query) (lines []string, pairs map[string][][2]int) {
	pairs = map[string][][2]int{}
	for a := range m.forms {
		for c := a; c < len(m.forms); c++ {
			line, any := "", false
			for method := range batch.MethodCount {
				single := m.endings[ending{backend, q, method, batch.Single, [2]int{a, c}}]
				double := m.endings[ending{backend, q, method, batch.Double, [2]int{a, c}}]
				any = any || single|double != 0
				if single == double {
					line += fmt.Sprintf(" %v |", single)
				} else {
					line += fmt.Sprintf(" single: %v; double: %v |", single, double)
				}
			}
			if !any {
				continue
			}
			if pairs[line] == nil {
				lines = append(lines, line)
			}
			pairs[line] = append(pairs[line], [2]int{a, c})
		}
	}
	slices.SortStableFunc(lines, func(x, y string) int { return len(pairs[y]) - len(pairs[x]) })
	return lines, pairs
}

// pairNames names pairs, each with its lower form first: forms that have the same partners together.
func (m *Matrix) pairNames(pairs [][2]int) string {
	partners := make([][]int, len(m.forms))
	for _, p := range pairs {
		partners[p[0]] = append(partners[p[0]], p[1])
	}
	var parts []string
	for a, with := range partners {
		if len(with) == 0 {
			continue
		}
		first := []int{a}
		for other := a + 1; other < len(partners); other++ {
			if slices.Equal(partners[other], with) {
				first = append(first, other)
				partners[other] = nil
			}
		}
		parts = append(parts, m.formNames(first)+" × "+m.formNames(with))
	}
	return strings.Join(parts, "; ")
}

func (m *Matrix) formNames(forms []int) string {
	names := make([]string, len(forms))
	for i, f := range forms {
		names[i] = m.forms[f].Name
	}
	return strings.Join(names, ", ")
}
