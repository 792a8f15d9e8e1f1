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
		`{"program": "batchbench run"}`:                                  `a report of "batchbench run"`,
		`{"program": "batchbench matrix", "points": [{"set": "boxes"}]}`: "point 0 has no query",
		`{"program": "batchbench`:                                        "unexpected end",
	} {
		path := filepath.Join(t.TempDir(), "throughput.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(path); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), path) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}
