package regress

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// rounds draws n times around median with a relative spread.
func rounds(r *rand.Rand, n int, median, spread float64) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = median * math.Exp(spread*r.NormFloat64())
	}
	return v
}

// TestCompareSynthetic compares samples whose true medians are known.
func TestCompareSynthetic(t *testing.T) {
	const trials = 400
	for _, tt := range []struct {
		name           string
		n              int
		factor, spread float64
		want           Verdict
		least, most    int // trials that must, and may, have the verdict
	}{
		{"20 % slower, spread 1 %", 7, 1.2, 0.01, Slower, trials, trials},
		{"20 % slower, spread 5 %", 7, 1.2, 0.05, Slower, trials * 9 / 10, trials},
		{"20 % faster, spread 1 %", 7, 1 / 1.2, 0.01, Faster, trials, trials},
		{"2 % slower is tolerated", 7, 1.02, 0.005, Slower, 0, 0},
		// Noise alone: the level of the test is 1 %, and half of it is the other side.
		{"noise of 2 %", 7, 1, 0.02, Slower, 0, trials / 50},
		{"noise of 30 %", 7, 1, 0.3, Slower, 0, trials / 50},
		{"five rounds are enough", 5, 2, 0.01, Slower, trials, trials},
		{"four are not", 4, 2, 0.01, TooFew, trials, trials},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			count := 0
			for range trials {
				row := compare(&Sample{Rounds: rounds(r, tt.n, 100, tt.spread)},
					&Sample{Rounds: rounds(r, tt.n, 100*tt.factor, tt.spread)},
					&Options{Threshold: 0.05, Alpha: DefaultAlpha})
				if row.Verdict == tt.want {
					count++
				}
			}
			if count < tt.least || count > tt.most {
				t.Errorf("%d of %d trials end %v, want %d to %d", count, trials, tt.want, tt.least, tt.most)
			}
		})
	}
}

// TestLeastP holds the least p to the test's own: of two samples that do not overlap.
func TestLeastP(t *testing.T) {
	for m := 3; m <= 9; m++ {
		for n := 3; n <= 9; n++ {
			var a, b Sample
			for i := range m {
				a.Rounds = append(a.Rounds, 1+float64(i))
			}
			for i := range n {
				b.Rounds = append(b.Rounds, 100+float64(i))
			}
			got := compare(&a, &b, &Options{Alpha: 0.999}).P
			if want := leastP(m, n); math.Abs(got-want) > 1e-12 {
				t.Errorf("%d and %d rounds: p = %g, want %g", m, n, got, want)
			}
		}
	}
}

func TestCompareMatches(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	before := []Sample{
		{Name: "a", Rounds: rounds(r, 7, 10, 0.01)}, {Name: "gone", Rounds: rounds(r, 7, 10, 0.01)},
		{Name: "peer", Rounds: rounds(r, 7, 10, 0.01), Control: true},
	}
	after := []Sample{
		{Name: "new", Rounds: rounds(r, 7, 10, 0.01)}, {Name: "peer", Rounds: rounds(r, 7, 20, 0.01), Control: true},
		{Name: "a", Rounds: rounds(r, 7, 20, 0.01)},
	}
	c, err := Compare(before, after, Options{Threshold: 0.05})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Rows) != 2 || len(c.OnlyOld) != 1 || c.OnlyOld[0] != "gone" || len(c.OnlyNew) != 1 ||
		c.OnlyNew[0] != "new" {
		t.Errorf("rows %v, only old %v, only new %v", c.Rows, c.OnlyOld, c.OnlyNew)
	}
	if s := c.Slower(); len(s) != 1 || s[0].Name != "a" {
		t.Errorf("slower: %v, want a alone: a control does not count", s)
	}
}

func TestCompareErrors(t *testing.T) {
	few := []Sample{{Name: "a", Rounds: []float64{1, 2, 3}}}
	enough := []Sample{{Name: "a", Rounds: []float64{1, 2, 3, 4, 5}}}
	for _, tt := range []struct {
		name          string
		before, after []Sample
		o             Options
		want          error // nil: any
	}{
		{"nothing in common", few, []Sample{{Name: "b"}}, Options{}, ErrNothing},
		{"too few rounds", few, few, Options{}, ErrTooFew},
		{"no rounds", []Sample{{Name: "a"}}, []Sample{{Name: "a"}}, Options{}, ErrTooFew},
		{"threshold below 0", enough, enough, Options{Threshold: -0.1}, nil},
		{"threshold NaN", enough, enough, Options{Threshold: math.NaN()}, nil},
		{"level of 1", enough, enough, Options{Alpha: 1}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Compare(tt.before, tt.after, tt.o)
			if err == nil || (tt.want != nil && !errors.Is(err, tt.want)) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
		})
	}
}

func TestRead(t *testing.T) {
	for _, tt := range []struct {
		name, json, want string // name of the first sample, or part of the error after "!"
	}{
		{"run", `{"program":"batchbench run","backend":"cpu","query":"distance","precision":"single",
		"sets":[{"set":"boxes","pairs":1000,"seconds":[1e-3,2e-3]}]}`, "boxes/distance/single/cpu"},
		{"peers", `{"program":"lab peers","tables":[{"set":"boxes","question":"depth","entries":[{"name":"x",
		"missing":"no"},{"name":"Clearance, single","ns_per_pair_rounds":[3],
		"ns_per_pair":"NaN"}]}]}`, "boxes/depth/Clearance, single"},
		{"matrix", `{"program":"lab matrix","points":[{"table":"questions","set":"boxes","regime":"close",
		"query":"distance","precision":"single","pairs":100,"backend":"cpu","workers":1,
		"ns_per_pair_rounds":[3,4]}]}`, "questions/boxes/close/distance/single/100/cpu×1"},
		{"another program", `{"program":"x"}`, `!program "x"`},
		{"no JSON", `x`, "!invalid character"},
		{"a round of 0", `{"program":"batchbench run","sets":[{"set":"boxes","pairs":1000,"seconds":[0]}]}`,
			"!round of 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "report.json")
			if err := os.WriteFile(path, []byte(tt.json), 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := Read(path)
			if want, bad := strings.CutPrefix(tt.want, "!"); bad {
				if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
					t.Errorf("error %v, want it to name the file and %q", err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Samples) != 1 || r.Samples[0].Name != tt.want || r.Samples[0].Control {
				t.Errorf("samples %+v, want one of ours named %s", r.Samples, tt.want)
			}
			if tt.name == "run" && r.Samples[0].Rounds[1] != 2000 {
				t.Errorf("rounds %v, want the second at 2000 ns a pair", r.Samples[0].Rounds)
			}
		})
	}
}

// TestPool: reports of the same measurements are one with the rounds of all, and others
// are refused.
func TestPool(t *testing.T) {
	dir := t.TempDir()
	write := func(name, set, seed, seconds string) string {
		path := filepath.Join(dir, name)
		text := `{"program":"batchbench run","seed":` + seed + `,"sets":[` + set + `"pairs":1000,"seconds":[` +
			seconds + `]}]}`
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	a, b := write("a", `{"set":"boxes",`, "1", "1e-6,2e-6"), write("b", `{"set":"boxes",`, "1", "3e-6")
	r, err := Pool(a, b)
	if err != nil {
		t.Fatal(err)
	}
	want := []float64{1, 2, 3}
	for i, v := range r.Samples[0].Rounds {
		if len(r.Samples) != 1 || len(r.Samples[0].Rounds) != 3 || math.Abs(v-want[i]) > 1e-12 {
			t.Fatalf("samples %+v, want the rounds %v", r.Samples, want)
		}
	}
	for name, paths := range map[string][]string{
		"differ in":            {a, write("c", `{"set":"boxes",`, "2", "1e-6")},
		"no measurement boxes": {a, write("d", `{"set":"hull8",`, "1", "1e-6")},
		"has 1 measurements": {a, write("e", `{"set":"boxes","pairs":1000,"seconds":[1]},{"set":"hull8",`, "1",
			"1e-6")},
		"no report to read": nil,
		"no such file":      {a, filepath.Join(dir, "none")},
	} {
		if _, err := Pool(paths...); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v, want it to say %q", err, name)
		}
	}
}
