package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"clearance/internal/console"

	"github.com/spf13/pflag"
)

// noSize are the flags whose texts are names, and the numbers that take no memory.
var noSize = []string{"simd", "set", "sets", "path", "tables", "separations", "queries", "precisions", "backends",
	"questions", "build", "json", "out", "markdown", "pictures", "only", "meshes", "nvidia", "cores"}

// TestSizes: every flag that takes a size, a number or a file, refuses what there is no memory for, with the size, in
// an address space of 4 GiB. A flag without a case fails.
func TestSizes(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	huge, out := filepath.Join(t.TempDir(), "huge.json"), t.TempDir()
	if err := os.WriteFile(huge, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(huge, 9<<30); err != nil { // without a block on the disk
		t.Fatal(err)
	}
	cases := [][2]string{ // the command line, and what it says
		{"matrix --rounds 9000000000000000000", "--rounds 9000000000000000000"},
		{"peers --rounds 9000000000000000000", "--rounds 9000000000000000000"},
		{"scaling --rounds 9000000000000000000", "--rounds 9000000000000000000"},
		{"matrix --sample 9000000000000000000", "--sample 9000000000000000000"},
		{"scaling --pairs 268435456", "268435456 pairs"},
		{"matrix --out " + out + " --pairs 268435456", "268435456 pairs"},
		{"matrix --out " + out + " --thread-pairs 268435456", "268435456 pairs"},
		{"matrix --out " + out + " --sizes 1e8", "100000000 pairs"},
		{"matrix --threads 2000000000", "--threads 2000000000"},
		{"peers --rows 2000000000", "--rows 2000000000"},
		{"peers --from " + huge, "9663676416 bytes"},
		{"compare " + huge + " " + huge, "9663676416 bytes"},
	}
	for _, c := range newRoot(&env{}).Commands() {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			kinds := []string{"int", "int64", "intSlice", "string", "stringSlice"}
			if !slices.Contains(kinds, f.Value.Type()) || slices.Contains(noSize, f.Name) {
				return
			}
			if !slices.ContainsFunc(cases, func(k [2]string) bool {
				words := strings.Fields(k[0])
				return words[0] == c.Name() && slices.Contains(words, "--"+f.Name)
			}) {
				t.Errorf("%s --%s takes a size that no case is too large for", c.Name(), f.Name)
			}
		})
	}
	for _, c := range cases {
		run := exec.Command("bash", append([]string{"-c", `ulimit -v 4194304; exec "$0" "$@"`, self},
			strings.Fields(c[0])...)...)
		run.Env = append(os.Environ(), actAsMain+"=1", "GOMAXPROCS=2", "MALLOC_ARENA_MAX=1")
		said, _ := run.CombinedOutput()
		if code := run.ProcessState.ExitCode(); code != console.ExitBadInput || !strings.Contains(string(said), c[1]) {
			t.Errorf("%s: exit code %d, want %d and %q in\n%.1500s", c[0], code, console.ExitBadInput, c[1], said)
		}
	}
}
