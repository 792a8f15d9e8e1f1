package conformance

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

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

// Page says what a page of the support matrix is about.
type Page struct {
	Path     string   // of the committed page, from the folder of the test
	Title    string   // its heading
	Command  string   // what writes it anew
	Backends []string // in the order in which they are listed; others that ran follow
	Runs     string   // ends the sentence that counts the runs
	Note     string   // a paragraph after it, or nothing
	Solvers  string   // what the reader has to know of the back ends whose solvers are named
}

// Markdown writes the matrix as a page. It depends on outcomes alone, not on the
// machine or the time.
func (m *Matrix) Markdown(p *Page) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\nWritten by the conformance suite from what it ran; do not edit. To write it anew:\n\n   "+
		" %s\n\n", p.Title, p.Command)
	fmt.Fprintf(&b, "In each configuration (query, precision, method) of each back end, each kind of shape meets "+
		"each other kind, with and without margins, in %d placements:\n\n", len(placements))
	for _, p := range placements {
		fmt.Fprintf(&b, "- %s\n", p.name)
	}
	fmt.Fprintf(&b, "\nAn entry names the precisions in which all of its rows passed: every answer audited, compared "+
		"with "+
		"what is known of the row and with a reference solve, none undecided. That was so in %d runs of %d rows "+
		"each%s."+
		"\n\n", m.passed, m.rows, p.Runs)
	if p.Note != "" {
		fmt.Fprintf(&b, "%s\n\n", p.Note)
	}
	backends := slices.Clone(p.Backends)
	for _, name := range m.ran {
		if !slices.Contains(backends, name) {
			backends = append(backends, name)
		}
	}
	for _, name := range backends {
		m.writeBackend(&b, name)
	}
	m.writeRollouts(&b, backends)
	m.writePairs(&b)
	m.writeSolvers(&b, p.Solvers)
	return b.String()
}

// Extent is how much of a page a test run can vouch for.
type Extent int

const (
	Whole   Extent = iota // all of it: all rows ran, on all that the page names
	Tables                // what passed, but neither how many rows ran nor who ended them
	Nothing               // too few rows ran
)

// Compare fails the test if the committed page is not what ran, as far as the run tells. It
// is a sub-test of its own, which is skipped where there is nothing to compare: the run was too
// short for a page, or the test was built to run elsewhere and has no pages beside it.
func (m *Matrix) Compare(t *testing.T, p *Page, e Extent) {
	t.Run("page", func(t *testing.T) {
		if e == Nothing {
			t.Skipf("%s is written from more rows than ran: it is compared without -short", p.Path)
		}
		want, err := os.ReadFile(p.Path)
		if errors.Is(err, fs.ErrNotExist) && outside() {
			t.Skipf("%s is not here: this is not the source tree", p.Path)
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Markdown(p); e.of(got) != e.of(string(want)) {
			t.Errorf("%s is not what ran; write it anew with\n\t%s", p.Path, p.Command)
		}
	})
}

// outside reports whether the test runs away from the source of its package.
func outside() bool {
	_, err := os.Stat("doc.go")
	return errors.Is(err, fs.ErrNotExist)
}

// of returns the part of a page that an extent speaks of.
func (e Extent) of(page string) string {
	if e == Whole {
		return page
	}
	_, tables, _ := strings.Cut(page, "\n## ")
	tables, _, _ = strings.Cut(tables, solversTitle)
	return tables
}

// Update writes the page, unless the test has failed: a support matrix with failures is no
// promise.
func (m *Matrix) Update(t *testing.T, p *Page) {
	t.Helper()
	if t.Failed() {
		t.Fatalf("%s is not written: a support matrix with failures is no promise", p.Path)
	}
	if err := os.WriteFile(p.Path, []byte(m.Markdown(p)), 0o666); err != nil {
		t.Fatal(err)
	}
}
