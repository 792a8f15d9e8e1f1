package tests

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// The hard limits on a source file written by hand. A tab counts as four columns.
const (
	maxLines   = 800 // of one idea; most files stay below 500
	maxColumns = 120
	tab        = "    "
)

// handWritten are the endings of the languages that the limits apply to.
var handWritten = []string{".go", ".c", ".h", ".glsl", ".comp", ".py", ".sh", ".cpp", ".hpp", ".rs"}

// sourceFiles calls f with every hand-written source file of the module and its path from the root.
func sourceFiles(t *testing.T, f func(name string, data []byte)) {
	t.Helper()
	checked := 0
	err := filepath.WalkDir("..", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel("..", file)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if d.IsDir() {
			if base := d.Name(); name != "." &&
				(strings.HasPrefix(base, ".") || base == "bin" || base == "build") {
				return filepath.SkipDir
			}
			return nil
		}
		if !slices.Contains(handWritten, path.Ext(name)) {
			return nil
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if bytes.Contains(data[:min(len(data), 400)], []byte("Code generated")) {
			return nil
		}
		checked++
		f(name, data)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if checked < 100 {
		t.Fatalf("checked %d files; the walk did not see the module", checked)
	}
}

// TestFileLength keeps Go files short enough to be read at one sitting.
func TestFileLength(t *testing.T) {
	sourceFiles(t, func(name string, data []byte) {
		if n := bytes.Count(data, []byte("\n")); n > maxLines && path.Ext(name) == ".go" {
			t.Errorf("%s has %d lines, the limit is %d: give it one idea a file", name, n, maxLines)
		}
	})
}

// TestLineLength keeps lines within maxColumns.
func TestLineLength(t *testing.T) {
	sourceFiles(t, func(name string, data []byte) {
		if at := wideLine(data); at > 0 {
			t.Errorf("%s:%d has more than %d columns", name, at, maxColumns)
		}
	})
}

// wideLine returns the number of the first line of more than maxColumns, or 0.
func wideLine(data []byte) int {
	at := 0
	for line := range strings.Lines(string(data)) {
		at++
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "//go:") { // a directive cannot be wrapped
			continue
		}
		if utf8.RuneCountInString(strings.ReplaceAll(line, "\t", tab)) > maxColumns {
			return at
		}
	}
	return 0
}

// TestWideLine: tabs count as four columns, letters of several bytes as one.
func TestWideLine(t *testing.T) {
	for _, c := range []struct {
		text string
		want int
	}{
		{"", 0},
		{strings.Repeat("x", maxColumns), 0},
		{"\n" + strings.Repeat("x", maxColumns+1), 2},
		{strings.Repeat("é", maxColumns), 0},
		{"\t" + strings.Repeat("x", maxColumns-4), 0},
		{"\t" + strings.Repeat("x", maxColumns-3), 1},
	} {
		if got := wideLine([]byte(c.text)); got != c.want {
			t.Errorf("%q: line %d, want %d", c.text, got, c.want)
		}
	}
}
