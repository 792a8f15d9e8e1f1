package tests

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReadmeModule builds the Go example of the README in a module of its own, with the imports and the commands that
// stand there, and runs it. In place of go mod tidy, which needs a network, the build adds what is missing from the
// modules that are here.
func TestReadmeModule(t *testing.T) {
	readme := read(t, "../README.md")
	code, output := example(t, "../example_test.go")
	header := regexp.MustCompile("(?s)```go\n(package main\n.*?)```").FindStringSubmatch(readme)
	commands := regexp.MustCompile("(?s)```sh\n(go mod init.*?)```").FindStringSubmatch(readme)
	if header == nil || commands == nil {
		t.Fatal("README.md lacks the imports of the example, or the commands that make a module")
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("main.go", header[1]+"\nfunc main() {\n"+code+"}\n")
	write("go.sum", read(t, "../go.sum")) // of the modules that are here
	run := func(words ...string) string {
		c := exec.Command(words[0], words[1:]...)
		c.Dir = dir
		c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=mod -trimpath -buildvcs=false", "GOWORK=off")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(words, " "), err, out)
		}
		return string(out)
	}
	seen := 0
	for line := range strings.Lines(commands[1]) {
		line = strings.ReplaceAll(strings.TrimSpace(line), "=../clearance", "="+root)
		if seen++; line != "go mod tidy" && line != "go run ." {
			run(strings.Fields(line)...)
		}
	}
	if seen != 4 {
		t.Errorf("%d commands, want 4", seen)
	}
	if got := run("go", "run", "."); !strings.HasSuffix(got, output) {
		t.Errorf("the program prints\n%s, want\n%s", got, output)
	}
}
