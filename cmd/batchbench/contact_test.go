package main

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"clearance/contact"
	"clearance/contact/scenes"
	"clearance/ref"
)

// contactRows are the cells of the table of contact, by solver.
func contactRows(text string) map[string][]string {
	rows := map[string][]string{}
	for line := range strings.Lines(text) {
		if cells := strings.Fields(line); len(cells) == 15 {
			rows[cells[0]] = cells
		}
	}
	return rows
}

// TestContact solves scenes by every solver and prints a line each. What is solved is within the tolerance, of package
// ref too.
func TestContact(t *testing.T) {
	text := command("contact", "--scene", "slide", "--worlds", "5", "--reference", "--bounds").want(t, exitGood).stdout
	names := []string{"ncp-batch", "ccp-batch"}
	for _, s := range ref.ContactSolvers() {
		names = append(names, s.Name)
	}
	for _, name := range names {
		if strings.Count(text, name) != 1 {
			t.Errorf("no line of %s:\n%s", name, text)
		}
	}
	rows := contactRows(text)
	for _, name := range names {
		relative, err := strconv.ParseFloat(rows[name][7], 64)
		if solved := rows[name][1] == "5"; err != nil || solved != (relative <= 1e-6) {
			t.Errorf("%s: %s of 5 solved, relative residual %s", name, rows[name][1], rows[name][7])
		}
	}
}

// TestContactReferenceFile: solvers of package ref start from the warm impulses of a file, and a world without
// contacts is solved.
func TestContactReferenceFile(t *testing.T) {
	p, err := scenes.Generate("slide", 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	p.Count[1] = 0
	var s contact.Solution
	if err := contact.Solve(t.Context(), p, contact.Options{Tolerance: 1e-9}, &s); err != nil {
		t.Fatal(err)
	}
	p.Warm = s.Impulse
	path := filepath.Join(t.TempDir(), "warm.npz")
	if err := writeContacts(path, p, &s, contact.NCP, 1e-9); err != nil {
		t.Fatal(err)
	}
	rows := contactRows(command("contact", "--problems", path, "--reference").want(t, exitGood).stdout)
	for _, solver := range ref.ContactSolvers() {
		cells := rows[solver.Name]
		if cells == nil || cells[3] != "0" {
			t.Fatalf("%s: %v", solver.Name, cells)
		}
		// ncp-newton takes internal forces out first.
		if solver.Model == ref.ContactNCP && solver.Name != "ncp-newton" && (cells[1] != "2" || cells[4] != "0.0") {
			t.Errorf("%s: %s of 2 solved after %s iterations", solver.Name, cells[1], cells[4])
		}
	}
}

// TestContactRefuses names what is wrong.
func TestContactRefuses(t *testing.T) {
	for _, args := range [][]string{{"--scene", "pile"}, {"--worlds", "0"}, {"--tolerance", "0"}, {"--relaxation", "2"},
		{"--limit", "0"}} {
		command(append([]string{"contact"}, args...)...).want(t, exitBadInput).says(t, args[0])
	}
}
