package table

import (
	"bytes"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
)

func TestParallel(t *testing.T) {
	for _, workers := range []int{0, 1, 2, 7, 64} {
		var calls [100]atomic.Int32
		if err := Parallel(workers, len(calls), func(i int) error { calls[i].Add(1); return nil }); err != nil {
			t.Fatal(err)
		}
		for i := range calls {
			if n := calls[i].Load(); n != 1 {
				t.Errorf("%d workers: part %d taken %d times", workers, i, n)
			}
		}
		err := Parallel(workers, 100, func(i int) error {
			switch {
			case i == 41:
				panic("lost")
			case i > 41:
				return fmt.Errorf("part %d", i)
			}
			return nil
		})
		if err == nil || err.Error() != "lost" {
			t.Errorf("%d workers: %v, want the error of the first part that fails", workers, err)
		}
		if err := Parallel(workers, 0, nil); err != nil {
			t.Error(err)
		}
	}
}

// TestColumns: every column of a file has a type and a meaning, a name of its own, and a place in the documentation.
func TestColumns(t *testing.T) {
	var docs []byte
	for _, page := range []string{"../../docs/files.md", "../../docs/command-line.md", "../../docs/derivatives.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, text...)
	}
	for name, cols := range map[string][]Column{"pairs": Pairs, "results": Results(Float64), "rollouts": Rollouts,
		"sweeps": Sweeps, "worlds": Worlds, "arrays of worlds": WorldArrays} {
		seen := map[string]bool{}
		for _, c := range cols {
			if seen[c.Name] || c.Width < 1 || len(c.Types) == 0 || c.Meaning == "" {
				t.Errorf("%s: column %+v", name, c)
			}
			seen[c.Name] = true
			if !bytes.Contains(docs, []byte("`"+c.Name+"`")) {
				t.Errorf("%s: no page names the column %s", name, c.Name)
			}
		}
	}
}
