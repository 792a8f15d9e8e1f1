//go:build unix

package dataset

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"clearance/batch"
	"clearance/dataset/output"
	"clearance/geom"
	"clearance/internal/testkit"
)

// TestOutputMode: a file that is replaced keeps its mode, a new one has that of the umask.
func TestOutputMode(t *testing.T) {
	old := syscall.Umask(0o027)
	defer syscall.Umask(old)
	path := filepath.Join(t.TempDir(), "report.json")
	for i, want := range []os.FileMode{0o640, 0o604} {
		if err := output.WriteFile(path, []byte("x")); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("write %d: mode %o, want %o", i, got, want)
		}
		if err := os.Chmod(path, 0o604); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOutputPlace: a directory, a FIFO and a device are refused at once.
func TestOutputPlace(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo.npz")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Skipf("no FIFO here: %v", err)
	}
	null := filepath.Join(dir, "null.npz")
	if err := os.Symlink(os.DevNull, null); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "folder.npz")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{fifo, null, folder} {
		testkit.WantError(t, output.Check(path), path)
		_, err := CreatePairs(path, 1)
		testkit.WantError(t, err, path)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 {
		t.Errorf("%d entries, want 3; %v", len(entries), err)
	}
}

// TestSweep: the next writer of a name removes what a crash left, not what another writes.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "pairs.npz")
	stale := filepath.Join(dir, ".pairs.npz.ABCDEFGHIJKL.tmp")
	kept := []string{".pairs.npz.short.tmp", ".other.npz.ABCDEFGHIJKL.tmp", "pairs.npz.ABCDEFGHIJKL.tmp"}
	for _, name := range append(kept, filepath.Base(stale)) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	first, err := CreatePairs(path, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Abort()
	if _, err := os.Stat(stale); err == nil {
		t.Error("what a crash left is still there")
	}
	second, err := CreatePairs(path, 1)
	if err != nil {
		t.Fatal(err)
	}
	second.Abort()
	if err := first.Write(testPairs(1)); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Errorf("the second writer took the file of the first: %v", err)
	}
	for _, name := range kept {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

// TestPairsAndShapes: both files appear or neither.
func TestPairsAndShapes(t *testing.T) {
	lib, err := batch.NewLibrary([]geom.Shape{geom.Sphere{R: 1}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		room    int
		failRen bool
		write   bool
		good    bool
	}{{"good", 1 << 20, false, true, true}, {"full disk", 40, false, true, false}, {"no rename", 1 << 20, true, true,
		false},
		{"rows missing", 1 << 20, false, false, false}} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			disk := fullDisk{room: roomFor(c.room), failRen: c.failRen}
			w, err := createPairs(disk, filepath.Join(dir, "pairs.npz"), 1)
			if err != nil {
				t.Fatal(err)
			}
			if c.write {
				_ = w.Write(testPairs(1)) // an error comes again from Close
			}
			err = w.CloseWithLibrary(filepath.Join(dir, "shapes.json"), lib)
			if (err == nil) != c.good {
				t.Errorf("error %v", err)
			}
			if !c.good {
				emptyDir(t, dir)
			} else if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
				t.Errorf("%d files, want 2; %v", len(entries), err)
			}
		})
	}
}
