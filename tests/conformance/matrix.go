package conformance

import (
	"fmt"
	"slices"
	"strings"

	"clearance/batch"
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

	endings map[ending]solverSet
	endedBy []string // what solvers are noted of, in the order they ran
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
		case rows.Expect[i].Relation == Nonsense:
			got = refused
		}
		for _, form := range []int{a, b} {
			c := cell{backend, o.Query, o.Method, o.Precision, form}
			m.cells[c] = max(m.cells[c], got)
		}
		m.pairs[[2]int{a, b}] = max(m.pairs[[2]int{a, b}], got)
	}
}

// planned are the back ends that the project has or is to have, in the order in
// which they are listed.
var planned = []string{"cpu", "ref", "vulkan"}

const notYet = "not yet"

// elsewhere says of a back end that needs a device where the suite runs on it: this
// page has to read the same on a machine without one.
var elsewhere = map[string]string{
	"vulkan": "The same suite runs on the device in the tests of package engine, which need a Vulkan driver. All kinds are solved on the device, depths included. The CPU answers the rows that the device declines: those whose polytope fills its memory, and pairs whose bounds stay too wide. The tests fail where these are more than a few of a hundred.",
}

// Markdown writes the matrix as a page. It depends on outcomes alone, not on the
// machine or the time.
func (m *Matrix) Markdown() string {
	var b strings.Builder
	b.WriteString(`# What is supported

Written by the conformance suite from what it ran; do not edit. To write it anew:

    go test ./tests/conformance -run TestSupportMatrix -update

`)
	fmt.Fprintf(&b, "In each configuration (query, precision, method) of each back end, each kind of shape meets each other kind, with and without margins, in %d placements:\n\n", len(placements))
	for _, p := range placements {
		fmt.Fprintf(&b, "- %s\n", p.name)
	}
	fmt.Fprintf(&b, `
An entry names the precisions in which all of its rows passed: every answer audited, compared with what is known of the row and with a reference solve, none undecided. That was so in %d runs of %d rows each; the back end cpu ran with one worker and with three.

`, m.passed, m.rows)
	backends := slices.Clone(planned)
	for _, name := range m.ran {
		if !slices.Contains(backends, name) {
			backends = append(backends, name)
		}
	}
	for _, name := range backends {
		m.writeBackend(&b, name)
	}
	m.writePairs(&b)
	m.writeSolvers(&b)
	return b.String()
}

// writeBackend writes one table a query.
func (m *Matrix) writeBackend(b *strings.Builder, backend string) {
	fmt.Fprintf(b, "## Back end %s\n\n", backend)
	if !slices.Contains(m.ran, backend) {
		text := elsewhere[backend]
		if text == "" {
			text = sentence(notYet)
		}
		fmt.Fprintf(b, "%s\n\n", text)
		return
	}
	for q := range batch.QueryCount {
		fmt.Fprintf(b, "### Query %v\n\n", q)
		if !m.any(backend, q) {
			fmt.Fprintf(b, "%s\n\n", sentence(notYet))
			continue
		}
		b.WriteString("| shape |")
		for method := range batch.MethodCount {
			fmt.Fprintf(b, " %v |", method)
		}
		b.WriteString("\n|---|" + strings.Repeat("---|", int(batch.MethodCount)) + "\n")
		for k := range geom.KindCount {
			m.writeKind(b, backend, q, k)
		}
		b.WriteString("\n")
	}
}

// any reports whether anything ran for a query.
func (m *Matrix) any(backend string, q batch.Query) bool {
	for c := range m.cells {
		if c.backend == backend && c.query == q {
			return true
		}
	}
	return false
}

// writeKind writes one line for each form of a kind, or one for a kind without any.
func (m *Matrix) writeKind(b *strings.Builder, backend string, q batch.Query, k geom.Kind) {
	built := false
	for i, f := range m.forms {
		if f.Kind != k {
			continue
		}
		built = true
		fmt.Fprintf(b, "| %s |", f.Name)
		for method := range batch.MethodCount {
			fmt.Fprintf(b, " %s |", m.entry(backend, q, method, i))
		}
		b.WriteString("\n")
	}
	if !built {
		fmt.Fprintf(b, "| %s |%s\n", k, strings.Repeat(" "+notYet+" |", int(batch.MethodCount)))
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
	b.WriteString("## Shape against shape\n\nA stands in the row, B in the column: ✓ passed in all that ran, ✗ failed somewhere, – is refused as a question without an answer.\n\n| |")
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
