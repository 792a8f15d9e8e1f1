package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clearance/internal/console"
)

// TestPapers runs two experiments, one after the other, into one report.
func TestPapers(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"convergence", "qp"} {
		o := command(t, "papers", "--quick", "--only", name, "--out", dir).want(t, console.ExitGood)
		if !strings.Contains(o.stdout, "papers.md") {
			t.Errorf("%s: the report is not named: %q", name, o.stdout)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "papers.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| 940 | 1876 | qp |", "convergence-cubes.svg", "not part of this run"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the report does not hold %q", want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "papers", "convergence-cubes.svg")); err != nil {
		t.Error(err)
	}
}

// TestPapersErrors: an experiment that cannot be run gives an error with the reason.
func TestPapersErrors(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "papers.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	command(t, "papers", "--print-only", "--out", dir).want(t, console.ExitBadInput).says(t,
		"papers.json: no results of 'lab papers'")
	for _, c := range []struct {
		want string
		args []string
	}{
		{"no experiment", []string{"--only", "table9"}},
		{"papers.json", []string{"--print-only"}},
		{"no OBJ, STL or PLY file", []string{"--meshes", dir}},
	} {
		command(t, append([]string{"papers", "--quick", "--out", filepath.Join(dir, "out")}, c.args...)...).want(t,
			console.ExitBadInput).says(t, c.want)
	}
}
