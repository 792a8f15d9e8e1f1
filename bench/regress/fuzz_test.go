package regress

import "testing"

// A report is refused, or can be compared with itself, whatever it holds.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		`{"program": "batchbench run", "sets": [{"set": "a", "pairs": 100, "seconds": [1, 2, 3, 4, 5]}, {"set": "b", "pairs": 0, "seconds": [1]}]}`,
		`{"program": "batchbench peers", "tables": [{"set": "a", "question": "q", "entries": [{"name": "Clearance", "ns_per_pair_rounds": [1, 2]}, {"name": "x"}]}]}`,
		`{"program": "batchbench matrix", "points": [{"table": "sizes", "set": "a", "pairs": 3, "ns_per_pair_rounds": [1]}, {"set": "b"}]}`,
	} {
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
