package regress

import (
	"math"
	"slices"
	"testing"

	"clearance/tests/reread"
)

// seeds are reports of the three programs, and broken ones.
var seeds = []string{
	`{"program": "batchbench run", "sets": [{"set": "a", "pairs": 100, "seconds": [1, 2, 3, 4, 5]}, {"set": "b",
		"pairs": 0, "seconds": [1]}]}`,
	`{"program": "batchbench run", "sets": [{"set": "a", "pairs": 100, "seconds": [1, 2, 3, 4, 5]}]}`,
	`{"program": "lab peers", "tables": [{"set": "a", "question": "q", "entries": [{"name": "Clearance",
		"ns_per_pair_rounds": [1, 2]}, {"name": "x"}]}]}`,
	`{"program": "lab matrix", "points": [{"table": "sizes", "set": "a", "pairs": 3, "ns_per_pair_rounds": [1]},
		{"set": "b"}]}`,
	`{"program": "lab matrix", "points": [{"set": "b", "ns_per_pair_rounds": [1]}, {"set": "b",
		"ns_per_pair_rounds": [2]}]}`,
	`{"program": "batchbench`,
}

// A report is refused, or can be compared with itself, whatever it holds.
func FuzzParse(f *testing.F) {
	for _, text := range seeds {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := parse(data)
		if err != nil {
			return
		}
		c, err := Compare(r.Samples, r.Samples, Options{})
		if err == nil && len(c.OnlyOld)+len(c.OnlyNew) > 0 {
			t.Errorf("%q, %q are not in the report itself", c.OnlyOld, c.OnlyNew)
		}
	})
}

// A report is refused, and the file is named, or taken as one with itself it has its rounds
// twice.
func FuzzPool(f *testing.F) {
	for _, text := range seeds {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		path := reread.File(t, "report.json", data)
		r, err := Read(path)
		if reread.Refused(t, path, err) {
			return
		}
		twice, err := Pool(path, path)
		if err != nil || len(twice.Samples) != len(r.Samples) {
			t.Fatalf("%+v with itself is %+v, %v", r, twice, err)
		}
		for i, s := range r.Samples {
			if !slices.Equal(twice.Samples[i].Rounds, slices.Repeat(s.Rounds, 2)) {
				t.Errorf("%s: rounds %v, with themselves %v", s.Name, s.Rounds, twice.Samples[i].Rounds)
			}
			if least := slices.Min(s.Rounds); !(least > 0) || math.IsInf(slices.Max(s.Rounds), 1) {
				t.Errorf("%s passes with the rounds %v", s.Name, s.Rounds)
			}
		}
	})
}
