package tests

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestGoPage compares the example of docs/go.md, and what it is said to print, with the Example of the root package,
// which runs as a test there.
func TestGoPage(t *testing.T) {
	code, output := example(t, "../example_test.go")
	page := read(t, "../docs/go.md")
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```\n\n[^`]*```text\n(.*?)```").FindAllStringSubmatch(page, -1)
	if len(blocks) != 1 {
		t.Fatalf("docs/go.md holds %d examples followed by their output, want 1", len(blocks))
	}
	if got := blocks[0][1]; got != code {
		t.Errorf("the example of docs/go.md is not the one in example_test.go; want\n%s", code)
	}
	if got := blocks[0][2]; got != output {
		t.Errorf("the output in docs/go.md is\n%s, the one in example_test.go is\n%s", got, output)
	}
}

// maxReadme is the number of lines in which the README serves a newcomer; what is longer has a page of its own.
const maxReadme = 150

// TestReadmeLength keeps the README short.
func TestReadmeLength(t *testing.T) {
	if n := strings.Count(read(t, "../README.md"), "\n"); n > maxReadme {
		t.Errorf("README.md has %d lines, the limit is %d: move what is longer to a page below docs", n, maxReadme)
	}
}

// example returns the body of func Example, one tab less indented, and the lines
// below its Output comment.
func example(t *testing.T, path string) (code, output string) {
	t.Helper()
	m := regexp.MustCompile(`(?s)\nfunc Example\(\) \{\n(.*?)\t// Output:\n(.*?)\n\}`).FindStringSubmatch(read(t, path))
	if m == nil {
		t.Fatalf("%s has no func Example with an Output comment", path)
	}
	for line := range strings.Lines(m[1]) {
		code += strings.TrimPrefix(line, "\t")
	}
	for line := range strings.Lines(m[2] + "\n") {
		output += strings.TrimPrefix(line, "\t// ")
	}
	return code, output
}

// TestReadmeTargets: every `make target` that the documents name exists.
func TestReadmeTargets(t *testing.T) {
	targets := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^([a-z-]+):.* ## `).FindAllStringSubmatch(read(t, "../Makefile"), -1) {
		targets[m[1]] = true
	}
	if len(targets) < 5 {
		t.Fatalf("found the targets %v only", targets)
	}
	for _, page := range []string{"../README.md", "../CONTRIBUTING.md"} {
		named := regexp.MustCompile("(?m)(?:^ +|`)make ([a-z-]+)").FindAllStringSubmatch(read(t, page), -1)
		if len(named) == 0 {
			t.Errorf("%s names no make target", page)
		}
		for _, m := range named {
			if !targets[m[1]] {
				t.Errorf("%s names make %s, which the Makefile lacks", page, m[1])
			}
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
