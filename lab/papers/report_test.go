package papers

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// results is where the full run is committed.
const results = "../results"

// committed returns the results of the full run.
func committed(t *testing.T) *Results {
	t.Helper()
	r, err := Load(filepath.Join(results, ResultsFile))
	if err != nil {
		t.Fatalf("%v (write it with lab papers --out lab/results)", err)
	}
	return r
}

var (
	quickMu   sync.Mutex
	quickRuns = map[string]*Results{}
)

// quick runs an experiment on few pairs, once for all tests.
func quick(t *testing.T, name string) *Results {
	t.Helper()
	quickMu.Lock()
	defer quickMu.Unlock()
	if r := quickRuns[name]; r != nil {
		return r
	}
	r := new(Results)
	if err := Run(t.Context(), &Lab{Quick: true, Log: t.Output()}, r, name); err != nil {
		t.Fatal(err)
	}
	quickRuns[name] = r
	return r
}

// TestReportIsCurrent holds the committed report to the committed results.
func TestReportIsCurrent(t *testing.T) {
	want, err := committed(t).Markdown()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(results, ReportFile))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, []byte(want)) {
		t.Errorf("%s was edited by hand, or its template changed: run lab papers --print-only --out "+
			"lab/results", ReportFile)
	}
	if committed(t).Quick {
		t.Error("the committed results are of a quick run")
	}
	for _, f := range committed(t).figures() {
		if _, err := os.Stat(filepath.Join(results, FigureDir, f.name+".svg")); err != nil {
			t.Error(err)
		}
	}
}

// TestPartialReport: a run of one experiment prints a report that says what is missing.
func TestPartialReport(t *testing.T) {
	dir := t.TempDir()
	r := quick(t, "convergence")
	if err := r.Write(dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, ReportFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"not part of this run", "convergence-ellipsoids.svg", "quick run"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the report does not say %q", want)
		}
	}
	back, err := Load(filepath.Join(dir, ResultsFile))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := back.Markdown(); err != nil || again != string(text) {
		t.Errorf("printed from the file the report differs (%v)", err)
	}
	for _, f := range r.figures() {
		data, err := os.ReadFile(filepath.Join(dir, FigureDir, f.name+".svg"))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(data, []byte("<svg")) {
			t.Errorf("%s is no SVG", f.name)
		}
	}
}

// TestUnknownExperiment names those there are.
func TestUnknownExperiment(t *testing.T) {
	err := Run(t.Context(), &Lab{Quick: true}, new(Results), "table3")
	if err == nil || !strings.Contains(err.Error(), "table2") {
		t.Errorf("got %v, want an error that lists the experiments", err)
	}
}
