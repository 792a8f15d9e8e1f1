package memory

import (
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheckDisk: what would take more than is free is refused with both amounts, also in a folder that is not there.
func TestCheckDisk(t *testing.T) {
	folder := t.TempDir()
	if have := free(folder); !(have > 0) || math.IsInf(have, 0) {
		t.Fatalf("%g bytes are free", have)
	}
	for _, path := range []string{filepath.Join(folder, "a.npz"), filepath.Join(folder, "none", "too", "a.npz")} {
		if err := CheckDisk("a file", path, 1); err != nil {
			t.Error(err)
		}
		for _, bytes := range []float64{0x1p70, math.Inf(1), math.NaN()} {
			var e *DiskError
			err := CheckDisk("7 rows", path, bytes)
			if err == nil {
				t.Errorf("%g bytes at %s: %v", bytes, path, err)
			}
			if err != nil && (!errors.As(err, &e) || e.Folder != folder ||
				!strings.Contains(err.Error(), "7 rows would take "+Text(bytes))) {
				t.Errorf("%g bytes at %s: %v", bytes, path, err)
			}
		}
	}
}

// TestCheckDisks: what files take of one disk is added up, and what is missing on one is said of that one.
func TestCheckDisks(t *testing.T) {
	folder := t.TempDir()
	most := free(folder)
	at := func(name string) string { return filepath.Join(folder, "none", name) }
	for _, c := range []struct {
		share float64 // of what is free, of each of two files
		good  bool
	}{{0.3, true}, {0.9, false}} {
		err := CheckDisks(Output{"7 states", at("a"), c.share * most}, Output{"5 problems", at("b"), c.share * most},
			Output{"nothing", at("c"), 0})
		if (err == nil) != c.good {
			t.Errorf("%g of the disk twice: %v", c.share, err)
		}
		if err != nil && !strings.Contains(err.Error(), "7 states and 5 problems would take ") {
			t.Errorf("%g of the disk twice: %v", c.share, err)
		}
	}
	const other = "/dev/shm"
	if room := free(other); deviceOf(other) != deviceOf(folder) && room > 0 && !math.IsInf(room, 0) {
		err := CheckDisks(Output{"7 states", at("a"), 0.6 * most}, Output{"5 problems", other + "/b", 0.6 * room})
		if err != nil {
			t.Errorf("of two disks: %v", err)
		}
		err = CheckDisks(Output{"7 states", at("a"), 0.6 * most}, Output{"5 problems", other + "/b", 2 * room})
		if err == nil || !strings.HasPrefix(err.Error(), "5 problems would take ") {
			t.Errorf("of two disks: %v", err)
		}
	}
}
