package papers

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "run the full experiments and rewrite docs/results/papers.md and papers.json")

const (
	markdownFile = "../../docs/results/papers.md"
	jsonFile     = "../../docs/results/papers.json"
)

// results is what the full experiments found: the content of papers.json, from
// which the tables of papers.md are printed.
type results struct {
	Date      string                        `json:"date"`
	Go        string                        `json:"go"`
	Seed      uint64                        `json:"seed"`
	Pairs     int                           `json:"pairs"`
	TableII   map[string]map[string]summary `json:"table_ii"`   // sample/regime → method
	Chain     []step                        `json:"chain"`      // from our sampling to theirs
	Rules     []step                        `json:"rules"`      // one rule changed at a time
	CubeGap   []step                        `json:"cube_gap"`   // Frank-Wolfe on cubes by edge and tolerance
	WarmStart map[string]map[string]summary `json:"warm_start"` // shapes/method/question → strategy
}

// step is one row of a table: what was changed, and counts by column.
type step struct {
	Change string             `json:"change"`
	Counts map[string]summary `json:"counts"`
}

func load(t *testing.T) *results {
	t.Helper()
	data, err := os.ReadFile(jsonFile)
	if err != nil {
		t.Fatalf("%v (write it with go test ./tests/papers -update)", err)
	}
	var r results
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatalf("%s: %v", jsonFile, err)
	}
	return &r
}

// edit changes the committed results and prints them anew.
func edit(t *testing.T, change func(*results)) {
	t.Helper()
	r := new(results)
	if _, err := os.Stat(jsonFile); err == nil {
		r = load(t)
	}
	change(r)
	r.Date, r.Go, r.Seed, r.Pairs = time.Now().Format(time.DateOnly), runtime.Version()+" "+runtime.GOARCH, seed, fullPairs
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(jsonFile), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(jsonFile, append(data, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(markdownFile)
	if err != nil {
		t.Fatal(err)
	}
	out := string(text)
	for name, block := range r.blocks() {
		if out, err = replaceBlock(out, name, block); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(markdownFile, []byte(out), 0o644); err != nil {
		t.Fatal(err)
	}
}

// replaceBlock replaces what stands between the two comment lines that name it.
func replaceBlock(text, name, block string) (string, error) {
	begin, end := "<!-- begin "+name+" -->\n", "<!-- end "+name+" -->"
	i := strings.Index(text, begin)
	j := strings.Index(text, end)
	if i < 0 || j < i {
		return "", fmt.Errorf("%s: no block %q", markdownFile, name)
	}
	return text[:i+len(begin)] + block + text[j:], nil
}

// blocks prints every table of the report.
func (r *results) blocks() map[string]string {
	return map[string]string{
		"sampling":   r.sampling(),
		"table-ii":   r.tableII(),
		"chain":      r.chain(),
		"rules":      r.rules(),
		"cube-gap":   r.cubeGap(),
		"warm-start": r.warmStart(),
	}
}

func (r *results) sampling() string {
	return fmt.Sprintf("Measured on %s with %s; seed %d; %d pairs a cell.\n", r.Date, r.Go, r.Seed, r.Pairs)
}

// table prints a Markdown table.
func table(header []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(header)
	rule := make([]string, len(header))
	for i := range rule {
		rule[i] = "---"
	}
	line(rule)
	for _, row := range rows {
		line(row)
	}
	return b.String()
}

// TestReportIsCurrent holds the tables of the report to the committed results.
func TestReportIsCurrent(t *testing.T) {
	if *update {
		return // the other tests are about to write it
	}
	text, err := os.ReadFile(markdownFile)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range load(t).blocks() {
		out, err := replaceBlock(string(text), name, block)
		if err != nil {
			t.Fatal(err)
		}
		if out != string(text) {
			t.Errorf("table %q of %s was edited by hand, or printing it changed: run go test ./tests/papers -update", name, markdownFile)
		}
	}
}
