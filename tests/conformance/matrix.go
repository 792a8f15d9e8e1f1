package conformance

import (
	"fmt"
	"slices"
	"strings"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/geom"
)

// Matrix is what the suite ran and how it ended: back end × query × method ×
// precision × form of shape. The zero value is empty.
type Matrix struct {
	forms  []Form
	cells  map[cell]outcome
	pairs  map[[2]int]outcome // forms of A and B, over all configurations
	rows   int
	ran    []string // back ends, in the order they ran
	passed int      // runs of a configuration that answered and passed

	serves  map[string]batch.Serves // what back ends declare
	endings map[ending]solverSet

	rollouts map[rolloutCell]outcome
	endedBy  []string // what solvers are noted of, in the order they ran
}

// cell is one entry of the matrix.
type cell struct {
	backend string
	query   batch.Query
	method  batch.Method
	prec    batch.Precision
	form    int
}

// outcome of a cell or a pair of forms; the worst of several counts.
type outcome uint8

const (
	absent  outcome = iota // never ran, or is not available
	refused                // every row was invalid, as it has to be
	passed
	failed
)

// Declare takes down what a back end says that it serves. The page lists nothing else.
func (m *Matrix) Declare(b dispatch.Backend) {
	if m.serves == nil {
		m.serves = map[string]batch.Serves{}
	}
	m.serves[b.Name()] = b.Serves()
}

// methods are those by which a back end serves a query, in the order of their codes.
func (m *Matrix) methods(backend string, q batch.Query) (list []batch.Method) {
	for method := range batch.MethodCount {
		o := batch.Options{Query: q, Method: method}
		for o.Precision = range batch.PrecisionCount {
			if m.serves[backend].Has(&o) {
				list = append(list, method)
				break
			}
		}
	}
	return list
}

// Note takes down a verdict.
func (m *Matrix) Note(backend string, o batch.Options, rows *Rows, v *Verdict) {
	if m.cells == nil {
		m.cells, m.pairs = map[cell]outcome{}, map[[2]int]outcome{}
	}
	m.forms, m.rows = rows.Forms, rows.Len()
	if !slices.Contains(m.ran, backend) {
		m.ran = append(m.ran, backend)
	}
	if v.Unavailable {
		return
	}
	if v.OK() {
		m.passed++
	}
	for i := range rows.Len() {
		a, b := int(rows.Pairs.ShapeA[i])/2, int(rows.Pairs.ShapeB[i])/2
		got := passed
		switch {
		case v.Wrong[i]:
			got = failed
		case rows.Refused(i, o.Query):
			got = refused
		}
		for _, form := range []int{a, b} {
			c := cell{backend, o.Query, o.Method, o.Precision, form}
			m.cells[c] = max(m.cells[c], got)
		}
		m.pairs[[2]int{a, b}] = max(m.pairs[[2]int{a, b}], got)
	}
}

const (
	notYet    = "not yet"
	notServed = "not served"
)

// writeBackend writes one table a query.
func (m *Matrix) writeBackend(b *strings.Builder, backend string) {
	fmt.Fprintf(b, "## Back end %s\n\n", backend)
	if !slices.Contains(m.ran, backend) {
		fmt.Fprintf(b, "%s\n\n", sentence(notYet))
		return
	}
	before := map[string]batch.Query{} // tables, by what they say
	for q := range batch.QueryCount {
		fmt.Fprintf(b, "### Query %v\n\n", q)
		table := m.queryTable(backend, q)
		if same, ok := before[table]; ok {
			fmt.Fprintf(b, "As query %v.\n\n", same)
			continue
		}
		if len(m.methods(backend, q)) > 0 {
			before[table] = q
		}
		b.WriteString(table)
	}
}

// queryTable is the table of a query.
func (m *Matrix) queryTable(backend string, q batch.Query) string {
	methods := m.methods(backend, q)
	if len(methods) == 0 {
		return sentence(notServed) + "\n\n"
	}
	var b strings.Builder
	b.WriteString("| shape |")
	for _, method := range methods {
		fmt.Fprintf(&b, " %v |", method)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(methods)) + "\n")
	for k := range geom.KindCount {
		m.writeKind(&b, backend, q, k)
	}
	b.WriteString("\n")
	return b.String()
}

// writeKind writes one line for each form of a kind, or one for a kind without any.
func (m *Matrix) writeKind(b *strings.Builder, backend string, q batch.Query, k geom.Kind) {
	built, methods := false, m.methods(backend, q)
	for i, f := range m.forms {
		if f.Kind != k {
			continue
		}
		built = true
		fmt.Fprintf(b, "| %s |", f.Name)
		for _, method := range methods {
			fmt.Fprintf(b, " %s |", m.entry(backend, q, method, i))
		}
		b.WriteString("\n")
	}
	if !built {
		fmt.Fprintf(b, "| %s |%s\n", k, strings.Repeat(" "+notYet+" |", len(methods)))
	}
}

// entry lists the precisions of a cell.
func (m *Matrix) entry(backend string, q batch.Query, method batch.Method, form int) string {
	var list []string
	for p := range batch.PrecisionCount {
		switch m.cells[cell{backend, q, method, p, form}] {
		case passed, refused:
			list = append(list, p.String())
		case failed:
			list = append(list, p.String()+" fails")
		}
	}
	if len(list) == 0 {
		return notYet
	}
	return strings.Join(list, ", ")
}

// writePairs writes the table of forms against forms.
func (m *Matrix) writePairs(b *strings.Builder) {
	b.WriteString("## Shape against shape\n\nA stands in the row, B in the column: ✓ passed in all that ran, ✗ " +
		"failed somewhere, – is refused as a question without an answer.\n\n| |")
	for _, f := range m.forms {
		fmt.Fprintf(b, " %s |", f.Name)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(m.forms)) + "\n")
	signs := map[outcome]string{absent: notYet, refused: "–", passed: "✓", failed: "✗"}
	for i, f := range m.forms {
		fmt.Fprintf(b, "| %s |", f.Name)
		for j := range m.forms {
			fmt.Fprintf(b, " %s |", signs[m.pairs[[2]int{i, j}]])
		}
		b.WriteString("\n")
	}
}

// sentence begins with a capital and ends with a full stop.
func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] + "." }
