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
