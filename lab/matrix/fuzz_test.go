package matrix

import (
	"strings"
	"testing"

	"clearance/tests/reread"
)

// matrixJSON is a report with all of its tables, as small as can be.
const matrixJSON = `{"program": "lab matrix", "rounds": 1, "distinct": 9,
	"devices": [{"backend": "cpu", "device": "d", "workers": 2}, {"backend": "vulkan", "device": "e",
		"software": true}],
	"sets": [{"set": "boxes", "kinds": ["box"]}, {"set": "hull8", "kinds": ["convex"], "vertices": 8}, {"set": "hull16",
		"vertices": 16}],
	"points": [
	{"table": "questions", "set": "hull8", "regime": "close", "query": "distance", "precision": "single", "pairs": 9,
		"backend": "cpu", "workers": 1, "ns_per_pair_rounds": [10], "pairs_per_second": 1e8},
	{"table": "questions", "set": "hull16", "regime": "close", "query": "distance", "precision": "single", "pairs": 9,
		"backend": "cpu", "workers": 1, "pairs_per_second": "NaN"},
	{"table": "questions", "set": "hull8", "regime": "overlapping", "query": "penetration", "precision": "double",
		"pairs": 9, "backend": "vulkan", "workers": 1, "declined": 3,
		"kernel_pairs_per_second": 2e8, "accuracy": {"worst_gap_over_size": 1e-7, "refuted": 1}},
	{"table": "threads", "set": "boxes", "regime": "close", "query": "distance", "precision": "single", "pairs": 9,
		"backend": "cpu", "workers": 1, "pairs_per_second": 0},
	{"table": "threads", "set": "boxes", "regime": "close", "query": "distance", "precision": "single", "pairs": 9,
		"backend": "cpu", "workers": 2, "pairs_per_second": 1e7},
	{"table": "sizes", "set": "boxes", "regime": "close", "query": "distance", "precision": "single", "pairs": 1,
		"backend": "vulkan", "workers": 1, "pairs_per_second": 1e6},
	{"table": "sizes", "set": "boxes", "regime": "close", "query": "distance", "precision": "single", "pairs": 64,
		"backend": "vulkan", "workers": 1, "pairs_per_second": 2e6}]}`

// page prints a report as Markdown.
func page(r *Report) (string, error) {
	var b strings.Builder
	err := r.WriteMarkdown(&b, FigureDir)
	return b.String(), err
}

// A report is refused, and the file is named, or it is printed, comes back from its own
// JSON as it was, and has nothing to add to itself.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(matrixJSON))
	f.Add([]byte(strings.ReplaceAll(matrixJSON, `"distance"`, `"\u00fc"`)))
	f.Add([]byte(strings.Replace(matrixJSON, `1e8`, `"+Inf"`, 1)))
	f.Add([]byte(strings.Replace(matrixJSON, `"boxes"`, `"\ud800|\n"`, 1)))
	f.Add([]byte(strings.Replace(matrixJSON, `"pairs": 64`, `"pairs": 0`, 1)))
	f.Add([]byte(matrixJSON[:len(matrixJSON)/2]))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, back, _ := reread.Report(t, ResultsFile, data, Load, page)
		if r == nil {
			return
		}
		if err := back.Add(r); err != nil || len(back.Points) != len(r.Points) {
			t.Errorf("%d points; with those of itself %d, %v", len(r.Points), len(back.Points), err)
		}
	})
}
