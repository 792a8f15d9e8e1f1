package tests

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestReadmeExample compares the Go example of the README, and what it is said to
// print, with the root package's Example, which runs as a test there.
func TestReadmeExample(t *testing.T) {
	code, output := example(t, "../example_test.go")
	readme := read(t, "../README.md")
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```\n\n[^`]*```text\n(.*?)```").FindAllStringSubmatch(readme, -1)
	if len(blocks) != 1 {
		t.Fatalf("README.md holds %d Go examples followed by their output, want 1", len(blocks))
	}
	if got := blocks[0][1]; got != code {
		t.Errorf("the example of README.md is not that of example_test.go; want\n%s", code)
	}
	if got := blocks[0][2]; got != output {
		t.Errorf("the output in README.md is\n%s, that of example_test.go is\n%s", got, output)
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
