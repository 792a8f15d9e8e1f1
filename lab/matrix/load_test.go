package matrix

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Reports of something else are refused, and the file is named.
func TestLoadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`{"program": "batchbench run"}`:                           `a report of "batchbench run"`,
		`{"program": "lab matrix", "points": [{"set": "boxes"}]}`: "point 0 has no query",
		strings.Replace(matrixJSON, `"pairs": 64`, `"pairs": 0`,
			1): "has 0 pairs and 1 workers",
		strings.Replace(matrixJSON, `"workers": 1, "pairs_per_second": 0`, `"workers": -1`,
			1): "has 9 pairs and -1 workers",
		`{"program": "batchbench`: "unexpected end",
	} {
		path := filepath.Join(t.TempDir(), "throughput.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(path); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(),
			path) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}
