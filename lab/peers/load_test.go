package peers

import (
	"io"
	"strings"
	"testing"
)

// peersJSON is a report as small as can be.
const peersJSON = `{"contestants": [{"name": "a"}, {"name": "b"}, {"name": "c"}], "tables": [{"set": "boxes",
		"question": "distance", "entries": [
	{"name": "a", "ns_per_pair_rounds": [2], "accuracy": {"rows": 1}}, {"name": "b", "missing": "why"}, {"name": "c",
		"ns_per_pair_rounds": [3], "accuracy": {"rows": 1}}]}]}`

// Reports that cannot be printed are refused, and say where.
func TestLoadRefuses(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"", "", ""},
		{`{"name": "b", "missing": "why"}, `, "", "table 0 (boxes, distance) has 2 entries"},
		{`"ns_per_pair_rounds": [3], `, "", "table 0 (boxes, distance): c is not missing, but has no rounds"},
		{`"ns_per_pair_rounds": [2], "accuracy": {"rows": 1}`, `"ns_per_pair_rounds": [2]`,
			"a is not missing, but has no rounds or no accuracy"},
		{peersJSON, "{}", "no report of 'lab peers --json'"},
	} {
		r, err := parse([]byte(strings.Replace(peersJSON, c.from, c.to, 1)))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q in place of %q: error %v, want %q", c.to, c.from, err, c.want)
		}
		if err == nil {
			if err := r.WriteMarkdown(io.Discard); err != nil {
				t.Error(err)
			}
		}
	}
}
