package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/internal/console"
	"clearance/lab/matrix"
)

// TestMatrix measures in two parts, prints again, and compares the report with itself.
func TestMatrix(t *testing.T) {
	dir := t.TempDir()
	part := func(args ...string) outcome {
		return command(t, append([]string{"matrix", "--out", dir, "--quick", "--pairs", "128", "--thread-pairs", "128",
			"--sizes", "1,1e2", "--threads", "1,2", "--rounds", "5",
			"--separations", "close", "--time", "1us"}, args...)...)
	}
	part("--sets", "hull8").want(t, console.ExitGood)
	o := part("--sets", "boxes", "--tables", "threads,sizes").want(t, console.ExitGood)
	if !strings.Contains(o.stdout, matrix.ReportFile) {
		t.Errorf("stdout %q", o.stdout)
	}
	path := filepath.Join(dir, matrix.ResultsFile)
	r := readReport[matrix.Report](t, path)
	questions := 2 * len(batch.AnsweredQueries())
	if n := len(r.Points); n != questions+2+2+2+2 || r.Points[0].Set != "hull8" || r.Processor == "" {
		t.Errorf("%d points, the first %+v", n, r.Points[0])
	}
	page := filepath.Join(dir, matrix.ReportFile)
	if err := os.Remove(page); err != nil {
		t.Fatal(err)
	}
	command(t, "matrix", "--print-only", "--out", dir).want(t, console.ExitGood)
	if _, err := os.Stat(page); err != nil {
		t.Error(err)
	}
	c := command(t, "compare", path, path).want(t, console.ExitGood)
	if strings.Count(c.stdout, "  same") != len(r.Points) {
		t.Errorf("compared with itself:\n%s", c.stdout)
	}
	part("--seed", "2").want(t, console.ExitBadInput).says(t, "of other settings")
}

func TestMatrixRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"--sets stars":      `--sets: unknown set "stars"`,
		"--sets mesh":       "have no separations",
		"--backends abacus": `--backends "abacus": want`,
		"--backends auto":   "name the back ends",
		"--sizes 0":         `--sizes: "0" is not a number of pairs`,
		"--sizes NaN":       `--sizes: "NaN" is not a number of pairs`,
		"--rounds 0":        "--rounds 0: want 1 to",
		"--time 0s":         "--time 0s: want a time above 0",
		"--sample -1":       "--sample -1: want 0",
		"--tables x":        `unknown table "x"`,
		"--queries warmth":  `unknown query "warmth"`,
		"--print-only":      "no such file",
		"surplus":           `unexpected argument "surplus"`,
	} {
		command(t, append([]string{"matrix", "--out", t.TempDir()}, strings.Fields(args)...)...).want(t,
			console.ExitBadInput).says(t, want)
	}
}

func TestThreadCounts(t *testing.T) {
	for n, want := range map[int]int{1: 1, 2: 2, 6: 4, 8: 4} { // 1, 2, 4, 6 and 1, 2, 4, 8
		list := threadCounts(n)
		if len(list) != want || list[len(list)-1] != n {
			t.Errorf("thread counts of %d: %v", n, list)
		}
	}
}

// TestPeersPictures draws the committed report, and rejects a file that is not a report.
func TestPeersPictures(t *testing.T) {
	dir := t.TempDir()
	command(t, "peers", "--from", "../../results/peers.json", "--pictures", dir).want(t, console.ExitGood)
	for _, name := range []string{"peers-distance.svg", "peers-boolean.svg", "peers-depth.svg", "peers-accuracy.svg"} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		// What is committed was drawn by this command, not by hand.
		want, err := os.ReadFile(filepath.Join("../../results/pictures", name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%s differs from the committed one: run make pictures", name)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "x.json"), []byte(`{}`), 0o600); err != nil {
		t.Fatal(err)
	}
	command(t, "peers", "--from", filepath.Join(dir, "x.json")).want(t, console.ExitBadInput).says(t,
		"no report of 'lab peers")
}
