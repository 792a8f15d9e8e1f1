package main

import (
	"bytes"
	"context"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/dataset"
	"clearance/geom"
	"clearance/internal/score"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/spatial/r3"
)

// outcome is the result of a command line.
type outcome struct {
	code           int
	stdout, stderr string
}

// command runs a command line in this process.
func command(args ...string) outcome { return commandContext(context.Background(), args...) }

func commandContext(ctx context.Context, args ...string) outcome {
	var stdout, stderr bytes.Buffer
	code := run(ctx, args, &stdout, &stderr)
	return outcome{code, stdout.String(), stderr.String()}
}

// want fails the test unless the command ended with the code, see [testkit.WantExit].
func (o outcome) want(t *testing.T, code int) outcome {
	t.Helper()
	testkit.WantExit(t, "batchbench", o.code, code, o.stdout, o.stderr)
	return o
}

// says fails the test unless standard error contains the text.
func (o outcome) says(t *testing.T, text string) outcome {
	t.Helper()
	if !strings.Contains(o.stderr, text) {
		t.Errorf("standard error = %q, want it to hold %q", o.stderr, text)
	}
	return o
}

// files of a test, all in one directory.
type files struct {
	dir, shapes, pairs, results, json string
}

func newFiles(t *testing.T, ext string) files {
	dir := t.TempDir()
	return files{
		dir: dir, shapes: filepath.Join(dir, "shapes.json"), pairs: filepath.Join(dir, "pairs"+ext),
		results: filepath.Join(dir, "results"+ext), json: filepath.Join(dir, "report.json"),
	}
}

func (f files) score(args ...string) outcome {
	return command(append([]string{"score", "--shapes", f.shapes, "--pairs", f.pairs, "--out", f.results}, args...)...)
}

func (f files) verify(args ...string) outcome {
	return command(append([]string{"verify", "--shapes", f.shapes, "--pairs", f.pairs, "--results", f.results},
		args...)...)
}

// ballAndBox writes a library of a box and a ball, and n pairs of them at a distance of 3 m
// that change may change.
func (f files) ballAndBox(t *testing.T, n int, change func(p *batch.Pairs)) {
	t.Helper()
	lib, err := batch.NewLibrary([]geom.Shape{geom.Box{HalfExtents: r3.Vec{X: 1, Y: 1, Z: 1}}, geom.Sphere{R: 0.5}},
		nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := dataset.WriteLibrary(f.shapes, lib); err != nil {
		t.Fatal(err)
	}
	pairs := batch.NewPairs(n)
	for i := range n {
		b := geom.IdentityPose()
		b.Position.X = 4.5
		pairs.SetRow(i, &batch.Row{ShapeA: 0, ShapeB: 1, PoseA: geom.IdentityPose(), PoseB: b})
	}
	if change != nil {
		change(pairs)
	}
	if err := dataset.WritePairs(f.pairs, pairs); err != nil {
		t.Fatal(err)
	}
}

// readResults reads a whole results file.
func readResults(t *testing.T, path string) *batch.Results {
	t.Helper()
	r, err := dataset.OpenResults(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	res := batch.NewResults(int(r.Len()), &batch.Options{Columns: r.Columns(), Precision: r.Precision()})
	if err := score.Fill(res.N, func(at int) (int, error) { return r.Next(res.Slice(at, res.N)) }); err != nil {
		t.Fatal(err)
	}
	return res
}

// names lists a directory.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// TestUsage runs invalid command lines: each ends with code 2 and one line that names the
// error.
func TestUsage(t *testing.T) {
	f := newFiles(t, ".npz")
	f.ballAndBox(t, 1, nil)
	in := []string{"--shapes", f.shapes, "--pairs", f.pairs}
	score := append([]string{"score", "--out", f.results}, in...)
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"dance"}, `unknown command "dance"`},
		{[]string{"run", "fast"}, `unexpected argument "fast"`},
		{[]string{"--speed"}, "unknown flag: --speed"},
		{[]string{"run", "--pairs"}, "flag needs an argument: --pairs"},
		{[]string{"run", "--pairs", "many"}, `invalid argument "many"`},
		{[]string{"run", "--pairs", "3"}, "--pairs 3: want at least one for each of 8 sets"},
		{[]string{"run", "--sets", "boxes,teapots"}, `unknown set "teapots", want some of ellipsoids`},
		{[]string{"run", "--sets", "mesh"}, "set mesh needs --mesh"},
		{[]string{"run", "--rounds", "0"}, "--rounds 0"},
		{[]string{"run", "--sample", "-1"}, "--sample -1"},
		{[]string{"run", "--workers", "-1"}, "--workers -1"},
		{[]string{"run", "--query", "warmth"}, `unknown query "warmth", want one of [distance collide penetration`},
		{[]string{"run", "--query", "growth", "--cutoff", "0"}, "cut-off 0 of the query growth, want a factor above 0"},
		{[]string{"run", "--precision", "half"}, `unknown precision "half"`},
		{[]string{"run", "--tolerance", "-1"}, "tolerance -1"},
		{[]string{"run", "--tolerance", "NaN"}, "tolerance NaN"},
		{[]string{"run", "--max-iterations", "-1"}, "iteration limit -1"},
		{[]string{"run", "--cutoff", "NaN"}, "cut-off NaN"},
		{[]string{"run", "--query", "collide", "--cutoff", "1"}, "applies to one of the queries [distance growth]"},
		{[]string{"run", "--backend", "abacus"}, `--backend "abacus": want one of auto, vulkan, cpu, ref`},
		{[]string{"run", "--pairs", "8", "--json", filepath.Join(f.dir, "none", "r.json")}, "cannot write"},
		{[]string{"score"}, "--shapes is missing"},
		{append([]string{"score"}, in...), "--out is missing"},
		{append(score, "--columns", "colour"), `unknown column "colour", want all or some of distance`},
		{[]string{"score", "--shapes", f.shapes, "--pairs", f.pairs, "--out", filepath.Join(f.dir, "results.csv")},
			"results.csv"},
		{[]string{"score", "--shapes", f.shapes, "--pairs", filepath.Join(f.dir, "none.npz"), "--out", f.results},
			"none.npz"},
		{[]string{"score", "--shapes", filepath.Join(f.dir, "none.json"), "--pairs", f.pairs, "--out", f.results},
			"none.json"},
		{append(score, "--reduce", "world"), "--reduce belongs to another command: see 'batchbench rollout'"},
		{append(score, "--no-culling"), "see 'batchbench rollout'"},
		{append(score, "--max-distance", "1"), "see 'batchbench rollout' or 'batchbench sweep'"},
		{append(score, "--query", "sweep"), "--query sweep belongs to another command: see 'batchbench sweep'"},
		{append(score, "--query", "swep"), `unknown query "swep"`},
		{append(score, "--time-tolerance", "1"), "see 'batchbench sweep'"},
		{append(score, "--max-evaluations", "1"), "see 'batchbench sweep'"},
		{append(score, "--speed"), "unknown flag: --speed; see 'batchbench score --help'"},
		{append(score[:5:5], "--worlds", f.pairs, "--pairs", "all"), "see 'batchbench rollout --all-pairs'"},
		{append([]string{"verify"}, append(in, "--query", "sweep")...), "see 'batchbench verify sweep'"},
		{append([]string{"verify"}, append(in, "--reduce", "world")...), "see 'batchbench verify rollout'"},
		{[]string{"verify", "pairs"}, `unexpected argument "pairs"; see 'batchbench verify --help'`},
		{append([]string{"verify"}, in...), "--results is missing"},
		{append([]string{"verify", "--results", filepath.Join(f.dir, "none.npz")}, in...), "none.npz"},
		{append([]string{"verify", "--results", f.pairs}, in...), "pairs.npz"},
		{append([]string{"verify", "--results", f.results, "--sample", "-1"}, in...), "--sample -1"},
		{[]string{"generate", "--set", "teapots", "--shapes", f.shapes, "--out", f.pairs}, "teapots"},
		{[]string{"generate", "--set", "boxes", "--pairs", "0", "--shapes", f.shapes, "--out", f.pairs}, "--pairs 0"},
		{[]string{"generate", "--set", "boxes", "--shapes", f.shapes}, "--out is missing"},
		{[]string{"generate", "--set", "mesh", "--mesh", filepath.Join(f.dir, "none.obj"), "--shapes", f.shapes,
			"--out", f.pairs}, "none.obj"},
		{[]string{"devices", "all"}, `unexpected argument "all"`},
	} {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			o := command(tt.args...).want(t, exitBadInput).says(t, tt.want)
			if n := strings.Count(o.stderr, "\n"); n != 1 {
				t.Errorf("%d lines on standard error, want 1: %q", n, o.stderr)
			}
			if o.stdout != "" {
				t.Errorf("wrote to standard output: %q", o.stdout)
			}
		})
	}
	if got := names(t, f.dir); len(got) != 2 {
		t.Errorf("commands that failed left files: %v", got)
	}
}

// TestHelp: help goes to standard output, with code 0.
func TestHelp(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"help"}, {"run", "--help"}, {"score", "--help"}, {"verify", "-h"},
		{"rollout", "-h"}, {"sweep", "-h"}, {"verify", "rollout", "-h"}, {"verify", "sweep", "-h"},
		{"generate", "-h"}, {"devices", "-h"}} {
		if o := command(args...).want(t, exitGood); !strings.Contains(o.stdout, "Usage:") {
			t.Errorf("%v: no usage in %q", args, o.stdout)
		}
	}
	if o := command("version").want(t, exitGood); !strings.HasPrefix(o.stdout, "batchbench ") {
		t.Errorf("version = %q", o.stdout)
	}
}

// TestDamagedFiles truncates each input: the error names the file, and there are no
// results.
func TestDamagedFiles(t *testing.T) {
	for _, ext := range []string{".npz", ".parquet"} {
		t.Run(ext, func(t *testing.T) {
			f := newFiles(t, ext)
			f.ballAndBox(t, 100, nil)
			f.score().want(t, exitGood)
			cut := func(path string) (restore func()) {
				data, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, data[:len(data)/2], 0o600); err != nil {
					t.Fatal(err)
				}
				return func() {
					if err := os.WriteFile(path, data, 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			restore := cut(f.results)
			f.verify().want(t, exitBadInput).says(t, f.results)
			restore()
			if err := os.Remove(f.results); err != nil {
				t.Fatal(err)
			}
			for _, path := range []string{f.pairs, f.shapes} {
				restore := cut(path)
				f.score().want(t, exitBadInput).says(t, path)
				restore()
			}
			if got := names(t, f.dir); len(got) != 2 {
				t.Errorf("left behind: %v", got)
			}
		})
	}
}

// TestBadRows: invalid rows are listed, and the others are answered.
func TestBadRows(t *testing.T) {
	for _, ext := range []string{".npz", ".parquet"} {
		t.Run(ext, func(t *testing.T) {
			f := newFiles(t, ext)
			f.ballAndBox(t, 8, func(p *batch.Pairs) {
				p.PositionB[3*2+1] = math.NaN()
				p.ShapeA[5] = 7
				clear(p.RotationA[4*6 : 4*7])
			})
			f.score().want(t, exitBadInput).
				says(t, "row 2, column position_b").says(t, "row 5, column shape_a").says(t,
				"row 6, column rotation_a").
				says(t, "3 rows of 8: bad input").says(t, f.pairs)
			res := readResults(t, f.results)
			for i, s := range res.Status() {
				want := batch.Separated
				if i == 2 || i == 5 || i == 6 {
					want = batch.Invalid
				}
				if batch.Status(s) != want {
					t.Errorf("row %d is %v, want %v", i, batch.Status(s), want)
				}
				if want == batch.Separated && math.Abs(res.Distance().At(i)-3) > 1e-6 {
					t.Errorf("row %d: distance %g, want 3", i, res.Distance().At(i))
				}
			}
			// The answers are right: invalid where the input is.
			f.verify("--all").want(t, exitGood)
		})
	}
}

// TestManyBadRows lists only the first invalid rows.
func TestManyBadRows(t *testing.T) {
	f := newFiles(t, ".npz")
	f.ballAndBox(t, 50, func(p *batch.Pairs) {
		for i := range p.ShapeB {
			p.ShapeB[i] = -1
		}
	})
	o := f.score().want(t, exitBadInput).says(t, "50 rows of 50")
	if n := strings.Count(o.stderr, "column shape_b"); n != listedRowErrors {
		t.Errorf("%d rows listed, want %d", n, listedRowErrors)
	}
}

// TestUndecided ends every row before it is decided.
func TestUndecided(t *testing.T) {
	f := newFiles(t, ".parquet")
	command("generate", "--set", "ellipsoids", "--pairs", "64", "--shapes", f.shapes, "--out", f.pairs).want(t,
		exitGood)
	f.score("--max-iterations", "1").want(t, exitWrong).says(t, "undecided")
	if o := f.verify().want(t, exitWrong); !strings.Contains(o.stdout, "64 undecided") {
		t.Errorf("verify does not count the undecided rows:\n%s", o.stdout)
	}
	command("run", "--sets", "ellipsoids", "--pairs", "64", "--max-iterations", "1").
		want(t, exitWrong).says(t, "undecided")
}

// TestTampered changes one answer of a results file, which verify must find.
func TestTampered(t *testing.T) {
	for _, ext := range []string{".npz", ".parquet"} {
		for _, precision := range []string{"single", "double"} {
			t.Run(precision+ext, func(t *testing.T) {
				f := newFiles(t, ext)
				command("generate", "--set", "hull8", "--pairs", "300", "--shapes", f.shapes, "--out", f.pairs).want(t,
					exitGood)
				f.score("--precision", precision).want(t, exitGood)
				f.verify("--sample", "0").want(t, exitGood)

				res := readResults(t, f.results)
				res.Distance().Set(123, res.Distance().At(123)+1e-3)
				w, err := dataset.CreateResults(f.results, res.Columns, res.Precision, int64(res.N))
				if err != nil {
					t.Fatal(err)
				}
				defer w.Abort()
				if err := w.Write(res); err != nil {
					t.Fatal(err)
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				o := f.verify("--sample", "0").want(t, exitWrong).says(t, "1 wrong answer")
				if !strings.Contains(o.stdout, "row 123:") {
					t.Errorf("the report does not name row 123:\n%s", o.stdout)
				}
				f.verify("--all").want(t, exitWrong)
			})
		}
	}
}

// TestVerifyOtherPairs: results of other pairs, or of another number of pairs, do not pass.
func TestVerifyOtherPairs(t *testing.T) {
	f := newFiles(t, ".npz")
	f.ballAndBox(t, 10, nil)
	f.score().want(t, exitGood)
	f.ballAndBox(t, 10, func(p *batch.Pairs) { p.PositionB[3*4] = 4.25 })
	f.verify().want(t, exitWrong)
	f.ballAndBox(t, 11, nil)
	f.verify().want(t, exitBadInput).says(t, "holds 11 pairs").says(t, "holds 10 rows")
}

// TestNoPairs: the results of an empty file are empty.
func TestNoPairs(t *testing.T) {
	for _, ext := range []string{".npz", ".parquet"} {
		f := newFiles(t, ext)
		f.ballAndBox(t, 0, nil)
		f.score("--audit").want(t, exitGood)
		f.verify().want(t, exitGood)
	}
}

// TestFill reads in pieces and detects an early end.
func TestFill(t *testing.T) {
	var at []int
	err := score.Fill(5, func(i int) (int, error) { at = append(at, i); return 2, nil })
	if err != nil || len(at) != 3 || at[2] != 4 {
		t.Errorf("fill read at %v, %v", at, err)
	}
	for _, next := range []func(int) (int, error){
		func(int) (int, error) { return 0, io.EOF },
		func(int) (int, error) { return 0, nil },
		func(int) (int, error) { return 0, io.ErrClosedPipe },
	} {
		if score.Fill(5, next) == nil {
			t.Error("fill did not notice the end")
		}
	}
}
