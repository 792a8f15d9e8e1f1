package conformance

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
)

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
