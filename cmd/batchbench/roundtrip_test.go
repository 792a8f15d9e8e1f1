package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/cpu"
	"clearance/dataset"
)

// decode reads a JSON report.
func decode[T any](t *testing.T, data []byte) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("report is not JSON: %v\n%s", err, data)
	}
	return v
}

func readReport[T any](t *testing.T, path string) T {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return decode[T](t, data)
}

// TestRoundTrip generates, scores and verifies, for both formats and all queries.
func TestRoundTrip(t *testing.T) {
	for _, ext := range []string{".parquet", ".npz"} {
		for _, ask := range [][]string{
			{"--query", "distance"},
			{"--query", "distance", "--precision", "double"},
			{"--query", "distance", "--method", "nesterov", "--tolerance", "1e-4", "--cutoff", "0.5"},
			{"--query", "penetration", "--workers", "2"},
			{"--query", "collide", "--backend", "ref"},
			{"--query", "growth", "--columns", "all"},
			{"--query", "growth", "--precision", "double", "--cutoff", "1.5"},
			{"--query", "growth", "--columns", "status,method", "--tolerance", "1e-4"},
			{"--columns", "status,distance"},
		} {
			t.Run(strings.Join(ask, " ")+ext, func(t *testing.T) {
				f := newFiles(t, ext)
				command("generate", "--set", "boxes", "--pairs", "500", "--seed", "7", "--shapes", f.shapes, "--out",
					f.pairs).want(t, exitGood)
				f.score(append(ask, "--audit", "--json", f.json)...).want(t, exitGood)

				report := readReport[scoreReport](t, f.json)
				c := report.Counts
				if report.Pairs != 500 || c.Separated+c.Touching+c.Penetrating != 500 {
					t.Errorf("500 pairs became %+v of %d", c, report.Pairs)
				}
				// The rows are a third each overlapping, near and far.
				if c.Separated < 330 || c.Penetrating < 160 {
					t.Errorf("%+v, want two thirds separated and one third penetrating", c)
				}
				if report.Verify == nil || !report.Verify.Good || report.Verify.Audit.Rows != 500 {
					t.Errorf("the audit that was asked for did not see 500 rows: %+v", report.Verify)
				}

				// The file is not asked what it answers.
				var repeat []string
				for i := 0; i < len(ask); i += 2 {
					if slices.Contains([]string{"--query", "--tolerance", "--cutoff"}, ask[i]) {
						repeat = append(repeat, ask[i], ask[i+1])
					}
				}
				o := f.verify(append(repeat, "--all", "--json", "-")...).want(t, exitGood)
				v := decode[verifyReport](t, []byte(o.stdout))
				if !v.Good || v.Audit.Rows != 500 || v.Audit.Wrong() != 0 || v.Compare.Compared != 500 ||
					v.Query != report.Query || v.Precision != report.Precision {
					t.Errorf("verify --all: %s", o.stdout)
				}
				if v.Tolerance != report.Tolerance || !slices.Equal(v.Columns, report.Columns) {
					t.Errorf("verify asked for %v and %v, score for %v and %v", v.Tolerance, v.Columns,
						report.Tolerance, report.Columns)
				}
			})
		}
	}
}

// TestGrowthCenters: growth is about the centers that the shapes state, and the results say which these are.
func TestGrowthCenters(t *testing.T) {
	for _, ext := range []string{".parquet", ".npz"} {
		f := newFiles(t, ext)
		f.ballAndBox(t, 2, nil) // 4.5 m along x, where they reach 1 m and 0.5 m
		for center, want := range map[string]float64{"": 3, `, "center": [0.5, 0, 0]`: 4} {
			text := `{"version": 1, "shapes": [{"kind": "box", "half_extents": [1, 1, 1]` + center +
				`}, {"kind": "sphere", "radius": 0.5}]}`
			if err := os.WriteFile(f.shapes, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			f.score("--query", "growth", "--columns", "all").want(t, exitGood)
			f.verify("--query", "growth").want(t, exitGood)
			r := readResults(t, f.results)
			if d := r.Distance().At(1); math.Abs(d-want) > 1e-6 {
				t.Errorf("%s: factor %g about the center %q, want %g", ext, d, center, want)
			}
			// Both meet where the box reaches when it is scaled.
			if x := r.Point().At(3); math.Abs(x-(4.5-0.5*want)) > 1e-5 {
				t.Errorf("%s: the scaled shapes meet at x = %g, about the center %q", ext, x, center)
			}
			file, err := dataset.OpenResults(f.results)
			if err != nil {
				t.Fatal(err)
			}
			meta := file.Metadata()
			file.Close()
			stated := "{}"
			if center != "" {
				stated = `{"0":[0.5,0,0]}`
			}
			if meta["centers"] != stated || meta["value"] != batch.Growth.Info().Value {
				t.Errorf("%s: metadata %v", ext, meta)
			}
			if center != "" { // other centers, other answers
				other := strings.Replace(text, center, "", 1)
				if err := os.WriteFile(f.shapes, []byte(other), 0o600); err != nil {
					t.Fatal(err)
				}
				f.verify("--query", "growth").want(t, exitWrong)
			}
		}
	}
}

// TestFormatsAgree: the answers do not depend on the format of the files, on the
// number of workers or on the back end.
func TestFormatsAgree(t *testing.T) {
	var first [2]files
	for i, ext := range []string{".parquet", ".npz"} {
		f := newFiles(t, ext)
		command("generate", "--set", "ellipsoids", "--pairs", "400", "--shapes", f.shapes, "--out", f.pairs).want(t,
			exitGood)
		f.score("--workers", fmt.Sprint(i+1)).want(t, exitGood)
		first[i] = f
	}
	a, b := readResults(t, first[0].results), readResults(t, first[1].results)
	if n := differingRows(a, b); n != 0 {
		t.Errorf("%d of %d rows differ between Parquet and NPZ", n, a.N)
	}
	// The last digits of the kernels differ; without kernels cpu is ref on several cores.
	t.Setenv(cpu.EnvSIMD, "off")
	first[0].score().want(t, exitGood)
	first[1].score("--backend", "ref").want(t, exitGood)
	if n := differingRows(readResults(t, first[0].results), readResults(t, first[1].results)); n != 0 {
		t.Errorf("%d of %d rows differ between cpu without kernels and ref", n, a.N)
	}
}

// TestRun runs the main job small, and compares the table with the JSON report.
func TestRun(t *testing.T) {
	f := newFiles(t, "")
	o := command("run", "--backend", "cpu", "--pairs", "1600", "--rounds", "2", "--sample", "20", "--json",
		f.json).want(t, exitGood)
	r := readReport[runReport](t, f.json)
	if !r.Good || r.Total.Pairs != 1600 || r.Total.Audited != 1600 || r.Total.Compared != 160 ||
		r.Total.Repeated != 1600 {
		t.Errorf("good %v, total %+v", r.Good, r.Total)
	}
	if len(r.Sets) != len(benchmarkSets()) {
		t.Fatalf("%d sets, want %d", len(r.Sets), len(benchmarkSets()))
	}
	for _, header := range []string{r.Version, r.Date, r.Device, "query distance", "precision single", "seed 1",
		r.Clock, "median of 2 rounds"} {
		if !strings.Contains(o.stdout, header) {
			t.Errorf("the header does not say %q:\n%s", header, o.stdout)
		}
	}
	for _, s := range append(r.Sets, r.Total) {
		row := tableRow(t, o.stdout, s.Set)
		c := s.Counts
		for i, want := range map[int]string{
			1: thousands(s.Pairs), 2: perSecond(float64(s.PairsPerSecond)),
			3: fmt.Sprintf("±%.0f%%", 100*float64(s.Spread)),
			4: "-", 5: fmt.Sprintf("%.0f", float64(s.NsPerPair)), 6: fmt.Sprintf("%.1f", float64(s.MeanIterations)),
			7: fmt.Sprintf("%.1e", float64(s.WorstGap)), 8: thousands(c.Separated), 9: thousands(c.Touching),
			10: thousands(c.Penetrating),
			11: "0", 12: "0", 13: "0",
		} {
			if row[i] != want {
				t.Errorf("set %s, column %d of the table is %q, JSON says %q", s.Set, i, row[i], want)
			}
		}
		if s.KernelPerSec != nil {
			t.Errorf("set %s: a CPU has no device clock, got %v", s.Set, *s.KernelPerSec)
		}
		if sum := c.Separated + c.Touching + c.Penetrating; sum != s.Pairs {
			t.Errorf("set %s: %d decided rows of %d", s.Set, sum, s.Pairs)
		}
		if !(s.WorstGap > 0 && s.WorstGap <= 1e-6) || !(s.PairsPerSecond > 0) || len(s.Seconds) != 2 {
			t.Errorf("set %s: worst gap %v, %v pairs/s, seconds %v", s.Set, s.WorstGap, s.PairsPerSecond, s.Seconds)
		}
		if rate := float64(s.PairsPerSecond) * float64(s.NsPerPair); math.Abs(rate-1e9) > 1 {
			t.Errorf("set %s: pairs/s and ns/pair do not fit: %g", s.Set, rate)
		}
	}
}

// tableRow returns the fields of the row of a set.
func tableRow(t *testing.T, table, set string) []string {
	t.Helper()
	for line := range strings.Lines(table) {
		if fields := strings.Fields(line); len(fields) == 14 && fields[0] == set {
			return fields
		}
	}
	t.Fatalf("no row of set %s in\n%s", set, table)
	return nil
}

// TestRunJSONOnly: with --json - standard output is the report alone. Pairs that do
// not divide evenly are all run.
func TestRunJSONOnly(t *testing.T) {
	o := command("--sets", "boxes,hull8,ellipsoids", "--pairs", "200", "--rounds", "1", "--sample", "0", "--query",
		"collide", "--json", "-").want(t, exitGood)
	r := decode[runReport](t, []byte(o.stdout))
	if r.Total.Pairs != 200 || r.Sets[0].Pairs != 67 || r.Sets[2].Pairs != 66 || r.Query != "collide" ||
		r.Total.Compared != 0 || r.Total.Repeated != 0 {
		t.Errorf("report: %+v", r.Total)
	}
}

// TestRunSeeds: the pairs depend on the seed and on nothing else.
func TestRunSeeds(t *testing.T) {
	iterations := func(args ...string) float64 {
		o := command(append([]string{"run", "--sets", "hull32", "--pairs", "300", "--rounds", "1", "--json", "-"},
			args...)...).want(t, exitGood)
		return float64(decode[runReport](t, []byte(o.stdout)).Total.MeanIterations)
	}
	a := iterations("--seed", "5")
	if b := iterations("--seed", "5", "--workers", "3"); a != b {
		t.Errorf("same seed, other iterations: %g and %g", a, b)
	}
	if b := iterations("--seed", "6"); a == b {
		t.Errorf("seeds 5 and 6 give the same %g iterations", a)
	}
}

// TestGenerateIsSeeded: the same set and seed give the same bytes.
func TestGenerateIsSeeded(t *testing.T) {
	read := func(seed string) string {
		f := newFiles(t, ".npz")
		command("generate", "--set", "mixed", "--pairs", "1500", "--seed", seed, "--shapes", f.shapes, "--out",
			f.pairs).want(t, exitGood)
		shapes, err := os.ReadFile(f.shapes)
		if err != nil {
			t.Fatal(err)
		}
		pairs, err := os.ReadFile(f.pairs)
		if err != nil {
			t.Fatal(err)
		}
		return string(shapes) + string(pairs)
	}
	first, again, other := read("3"), read("3"), read("4")
	if first != again {
		t.Error("seed 3 gave two different files")
	}
	if first == other {
		t.Error("seeds 3 and 4 gave the same files")
	}
}

// TestProve: `verify --prove` proves the depths of a file, and refutes one that is too large.
func TestProve(t *testing.T) {
	f := newFiles(t, ".npz")
	command("generate", "--set", "mixed", "--pairs", "300", "--shapes", f.shapes, "--out", f.pairs).want(t, exitGood)
	for _, precision := range []string{"single", "double"} {
		f.score("--precision", precision).want(t, exitGood)
		o := f.verify("--prove", "300", "--json", f.json).want(t, exitGood)
		r := readReport[verifyReport](t, f.json)
		if p := r.Proof; p == nil || p.Sampled != 300 || p.Depths < 80 || p.Proved != p.Depths || !r.Good {
			t.Errorf("%s: proof %+v", precision, r.Proof)
		}
		if !strings.Contains(o.stdout, "300 rows sampled") {
			t.Errorf("%s: %s", precision, o.stdout)
		}
	}
	f.verify("--prove", "-1").want(t, exitBadInput).says(t, "--prove -1")
	f.verify("--json", f.json).want(t, exitGood)
	if r := readReport[verifyReport](t, f.json); r.Proof != nil {
		t.Errorf("a proof that was not asked for: %+v", r.Proof)
	}
}

// TestDifferingRows changes one bit of each column in turn.
func TestDifferingRows(t *testing.T) {
	for _, precision := range []batch.Precision{batch.Single, batch.Double} {
		o := batch.Options{Precision: precision, Columns: batch.FileColumns}
		bump := func(f *batch.Values, i int) {
			if f.F64 != nil {
				f.F64[i] = math.Float64frombits(math.Float64bits(f.F64[i]) ^ 1)
			} else {
				f.F32[i] = math.Float32frombits(math.Float32bits(f.F32[i]) ^ 1)
			}
		}
		for name, change := range map[string]func(r *batch.Results){
			"distance":   func(r *batch.Results) { bump(r.Distance(), 2) },
			"normal":     func(r *batch.Results) { bump(r.Normal(), 8) },
			"witness_a":  func(r *batch.Results) { bump(r.WitnessA(), 6) },
			"witness_b":  func(r *batch.Results) { bump(r.WitnessB(), 7) },
			"gap":        func(r *batch.Results) { r.Gap()[2] = 0 },
			"status":     func(r *batch.Results) { r.Status()[2]++ },
			"iterations": func(r *batch.Results) { r.Iterations()[2]++ },
			"method":     func(r *batch.Results) { r.Method()[2]++ },
		} {
			a, b := batch.NewResults(4, &o), batch.NewResults(4, &o)
			if n := differingRows(a, b); n != 0 { // rows without an answer hold NaN
				t.Fatalf("%v: %d of the rows differ from themselves", precision, n)
			}
			change(b)
			if n := differingRows(a, b); n != 1 {
				t.Errorf("%v: a change of %s makes %d rows differ, want 1", precision, name, n)
			}
		}
	}
	o := batch.Options{Columns: batch.ColStatus}
	if n := differingRows(batch.NewResults(3, &o), batch.NewResults(3, &o)); n != 0 {
		t.Errorf("results of one column: %d rows differ", n)
	}
}
