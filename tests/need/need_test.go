package need

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// ended is a test that notes how it was ended.
type ended struct {
	testing.TB
	how string
}

func (e *ended) Helper()                        {}
func (e *ended) Skipf(format string, a ...any)  { e.how = "skipped: " + fmt.Sprintf(format, a...) }
func (e *ended) Fatalf(format string, a ...any) { e.how = "failed: " + fmt.Sprintf(format, a...) }

// What is missing skips a test, or fails it where it has to be there; either way the reason
// is said.
func TestMissing(t *testing.T) {
	for _, c := range []struct {
		variable string
		other    string
		need     func(testing.TB, string)
	}{
		{RequireVulkan, RequireCompiler, Vulkan},
		{RequireCompiler, RequireVulkan, Compiler},
	} {
		for value, want := range map[string]string{
			"": "skipped: ", "0": "skipped: ", "1": "failed: " + c.variable + "=1, but ",
		} {
			t.Setenv(c.variable, value)
			t.Setenv(c.other, "1")
			e := new(ended)
			c.need(e, "there is no such thing")
			if !strings.HasPrefix(e.how, want) || !strings.HasSuffix(e.how, "there is no such thing") {
				t.Errorf("%s=%q: %q, want %q", c.variable, value, e.how, want)
			}
		}
	}
}

// A test that is left to `make test-all` says so, and runs there.
func TestFull(t *testing.T) {
	for value, want := range map[string]string{
		"":    Deferred + ": it repeats another",
		"1":   Deferred + ": it repeats another",
		"all": "",
	} {
		t.Setenv(Tests, value)
		e := new(ended)
		Full(e, "it repeats another")
		if got := strings.TrimPrefix(e.how, "skipped: "); got != want || All() != (want == "") {
			t.Errorf("%s=%q: %q, want %q", Tests, value, got, want)
		}
	}
}

// The compiler that CC names goes before the others; one that is not there is passed over.
func TestCC(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a program is no shell script there")
	}
	dir := t.TempDir()
	for _, name := range []string{"cc", "gcc", "mycc"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	for cc, want := range map[string]string{"": "cc", "mycc": "mycc", "nobody": "cc"} {
		t.Setenv("CC", cc)
		if got := CC(t); got != filepath.Join(dir, want) {
			t.Errorf("CC=%q: %s, want %s", cc, got, want)
		}
	}
	if err := os.Remove(filepath.Join(dir, "cc")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CC", "")
	if got := CC(t); got != filepath.Join(dir, "gcc") {
		t.Errorf("without cc: %s", got)
	}
	t.Setenv("PATH", t.TempDir())
	t.Setenv(RequireCompiler, "1")
	e := new(ended)
	if got := CC(e); got != "" || !strings.HasPrefix(e.how, "failed: ") {
		t.Errorf("without any: %q, %q", got, e.how)
	}
}
