package tests

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestModules builds the programs of README.md and docs/go.md in modules of their own, with the commands that stand in
// docs/go.md, and runs them. In place of go mod tidy, which needs a network, the build adds what is missing from the
// modules that are here.
func TestModules(t *testing.T) {
	page := read(t, "../docs/go.md")
	code, output := example(t, "../example_test.go")
	header := regexp.MustCompile("(?s)```go\n(package main\n.*?)```").FindStringSubmatch(page)
	commands := regexp.MustCompile("(?s)```sh\n(go mod init.*?)```").FindStringSubmatch(page)
	if header == nil || commands == nil {
		t.Fatal("docs/go.md lacks the imports of the example, or the commands that make a module")
	}
	program := regexp.MustCompile("(?s)```go\n(package main\n.*?)```\n\nprints `(.*?)`").
		FindStringSubmatch(read(t, "../README.md"))
	if program == nil {
		t.Fatal("README.md lacks a Go program and what it prints")
	}
	t.Run("README.md", func(t *testing.T) { runModule(t, program[1], commands[1], program[2]+"\n") })
	t.Run("docs/go.md", func(t *testing.T) {
		runModule(t, header[1]+"\nfunc main() {\n"+code+"}\n", commands[1], output)
	})
}

// runModule makes a module of a program by commands and compares what it prints.
func runModule(t *testing.T, program, commands, output string) {
	t.Helper()
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
	write("main.go", program)
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
	for line := range strings.Lines(commands) {
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
