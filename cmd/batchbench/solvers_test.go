package main

import (
	"path/filepath"
	"strings"
	"testing"

	"clearance/batch"
)

// The reports of run and score count every row by the solver that ended it, with or without
// that column in the file.
func TestSolversInReports(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "run.json")
	text := command("run", "--sets", "boxes,ellipsoids", "--pairs", "400", "--rounds", "1", "--sample", "10",
		"--backend", "ref", "--json", out).want(t, exitGood).stdout
	run := readReport[runReport](t, out)
	check := func(what string, s solverRows, rows int64, want string) {
		t.Helper()
		var sum int64
		for _, n := range s {
			sum += n
		}
		if sum != rows || s[want] == 0 {
			t.Errorf("%s: %v of %d rows, want some by %s", what, s, rows, want)
		}
		if rows > 0 && !strings.Contains(text, s.String()) {
			t.Errorf("%s: %v is not in the text:\n%s", what, s, text)
		}
	}
	check("boxes", run.Sets[0].Solvers, run.Sets[0].Pairs, "gjk")
	check("boxes", run.Sets[0].Solvers, run.Sets[0].Pairs, "epa")
	check("ellipsoids", run.Sets[1].Solvers, run.Sets[1].Pairs, "rtr")
	check("all", run.Total.Solvers, run.Total.Pairs, "rtr")

	// A Boolean query has no columns but the statuses.
	text = command("run", "--sets", "boxes", "--pairs", "100", "--rounds", "1", "--sample", "10", "--query", "collide",
		"--json", out).want(t, exitGood).stdout
	run = readReport[runReport](t, out)
	if len(run.Total.Solvers) != 0 || strings.Contains(text, "by the solver") {
		t.Errorf("statuses alone: %v\n%s", run.Total.Solvers, text)
	}
}

func TestSolverRowsText(t *testing.T) {
	s := solverRows{"epa": 5, "gjk": 1200}.plus(solverRows{"epa": 1, "none": 2})
	if got := s.String(); got != "none 2, gjk 1,200, epa 6" {
		t.Errorf("%q", got)
	}
	if got := (solverRows{}).plus(nil).String(); got != "" {
		t.Errorf("nothing is %q", got)
	}
	for k := range batch.SolverCount {
		if !strings.HasPrefix((solverRows{k.String(): 1}).String(), k.String()) {
			t.Errorf("%v is left out", k)
		}
	}
}
