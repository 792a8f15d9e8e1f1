package dataset

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"clearance/batch"
	"clearance/dataset/output"
	"clearance/geom"
	"clearance/internal/testkit"
)

// fullDisk is a file system with room for so many bytes, and faults to choose.
type fullDisk struct {
	output.Disk
	room              *atomic.Int64
	failSync, failRen bool
}

type fullFile struct {
	output.Raw
	fs fullDisk
}

func (d fullDisk) Create(path string) (output.Raw, error) {
	f, err := d.Disk.Create(path)
	return fullFile{f, d}, err
}

func (d fullDisk) Rename(from, to string) error {
	if d.failRen {
		return syscall.EIO
	}
	return d.Disk.Rename(from, to)
}

func (f fullFile) take(n int) error {
	if f.fs.room.Add(-int64(n)) < 0 {
		return syscall.ENOSPC
	}
	return nil
}

func (f fullFile) Write(b []byte) (int, error) {
	if err := f.take(len(b)); err != nil {
		return 0, err
	}
	return f.Raw.Write(b)
}

func (f fullFile) WriteAt(b []byte, at int64) (int, error) {
	if err := f.take(len(b)); err != nil {
		return 0, err
	}
	return f.Raw.WriteAt(b, at)
}

func (f fullFile) Sync() error {
	if f.fs.failSync {
		return syscall.EIO
	}
	return f.Raw.Sync()
}

// roomFor is the room for so many bytes.
func roomFor(n int) *atomic.Int64 {
	room := new(atomic.Int64)
	room.Store(int64(n))
	return room
}

// emptyDir fails if anything is left in the directory.
func emptyDir(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Errorf("%s is left behind", e.Name())
	}
}

// writers write 500 rows of each kind of file, in chunks of 100.
var writers = map[string]func(fs output.FS, path string) error{
	"pairs": func(fs output.FS, path string) error {
		w, err := createPairs(fs, path, 500)
		if err != nil {
			return err
		}
		p := testPairs(500)
		for lo := 0; lo < 500; lo += 100 {
			if err := w.Write(p.Slice(lo, lo+100)); err != nil {
				w.Abort()
				return err
			}
		}
		return w.Close()
	},
	"results": func(fs output.FS, path string) error {
		w, err := createResults(fs, path, 0, batch.Double, 500, nil)
		if err != nil {
			return err
		}
		r := testResults(500, 0, batch.Double)
		for lo := 0; lo < 500; lo += 100 {
			_ = w.Write(r.Slice(lo, lo+100)) // Close tells
		}
		return w.Close()
	},
}

// TestFullDisk runs out of space at every tenth of the file, and fails at the
// sync and at the rename: the error says why and nothing is left.
func TestFullDisk(t *testing.T) {
	for name, write := range writers {
		for _, ext := range formats {
			dir := t.TempDir()
			path := filepath.Join(dir, name+ext)
			room := roomFor(1 << 30)
			if err := write(fullDisk{room: room}, path); err != nil {
				t.Fatal(err)
			}
			size := 1<<30 - int(room.Load())
			os.Remove(path)
			for i := range 10 {
				room.Store(int64(size * i / 10))
				err := write(fullDisk{room: room}, path)
				testkit.WantError(t, err, path)
				if !errors.Is(err, syscall.ENOSPC) {
					t.Errorf("%s%s: %v is not ENOSPC", name, ext, err)
				}
				emptyDir(t, dir)
			}
			for _, d := range []fullDisk{{failSync: true}, {failRen: true}} {
				room.Store(int64(size))
				d.room = room
				if err := write(d, path); !errors.Is(err, syscall.EIO) {
					t.Errorf("%s%s: %v is not EIO", name, ext, err)
				}
				emptyDir(t, dir)
			}
		}
	}
}

// devFull writes to the device that is always full.
type devFull struct{ output.Disk }

func (devFull) Create(path string) (output.Raw, error) {
	return os.OpenFile("/dev/full", os.O_WRONLY, 0)
}
func (devFull) Remove(string) error { return nil }

func TestDevFull(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skipf("no /dev/full on %s", runtime.GOOS)
	}
	for name, write := range writers {
		for _, ext := range formats {
			dir := t.TempDir()
			if err := write(devFull{}, filepath.Join(dir, name+ext)); !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("%s%s: %v is not ENOSPC", name, ext, err)
			}
			emptyDir(t, dir)
		}
	}
}

// TestAbort drops files at every stage; what stood under the name stays.
func TestAbort(t *testing.T) {
	for _, ext := range formats {
		dir := t.TempDir()
		path := filepath.Join(dir, "pairs"+ext)
		p := testPairs(10)
		for rows := range 11 {
			w, err := CreatePairs(path, 10)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Write(p.Slice(0, rows)); err != nil {
				t.Fatal(err)
			}
			w.Abort()
			w.Abort()
			if err := w.Close(); err == nil {
				t.Error("Close after Abort succeeds")
			}
			if err := w.Write(p); err == nil {
				t.Error("Write after Abort succeeds")
			}
			emptyDir(t, dir)
		}
		if err := os.WriteFile(path, []byte("before"), 0o600); err != nil {
			t.Fatal(err)
		}
		w, err := CreatePairs(path, 10)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(p.Slice(0, 5)); err != nil {
			t.Fatal(err)
		}
		testkit.WantError(t, w.Close(), path, "5 rows written, 10 announced")
		if b, _ := os.ReadFile(path); string(b) != "before" {
			t.Errorf("%s was overwritten", path)
		}
		if err := WritePairs(path, p); err != nil {
			t.Errorf("an older file is not replaced: %v", err)
		}
		if _, err := ReadPairs(path); err != nil {
			t.Error(err)
		}
	}
}

func TestTooManyRows(t *testing.T) {
	for _, ext := range formats {
		dir := t.TempDir()
		w, err := CreatePairs(filepath.Join(dir, "p"+ext), 10)
		if err != nil {
			t.Fatal(err)
		}
		testkit.WantError(t, w.Write(testPairs(11)), "more rows written than the 10 announced")
		testkit.WantError(t, w.Close(), "announced")
		emptyDir(t, dir)
	}
}

func TestWriteAfterClose(t *testing.T) {
	w, err := CreatePairs(filepath.Join(t.TempDir(), "p.npz"), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	testkit.WantError(t, w.Write(batch.NewPairs(0)), "already closed")
	w.Abort() // as a deferred call does
	if _, err := ReadPairs(w.path); err != nil {
		t.Error(err)
	}
}

func TestShapesFullDisk(t *testing.T) {
	dir := t.TempDir()
	err := writeShapes(fullDisk{room: roomFor(10)}, filepath.Join(dir, "shapes.json"),
		parts{shapes: []geom.Shape{geom.Sphere{R: 1}}})
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "shapes.json") {
		t.Errorf("%v is not ENOSPC", err)
	}
	emptyDir(t, dir)
}

var _ io.WriterAt = (*output.File)(nil)

// TestComplete: a complete file is read under its temporary path; it gets its name with Close, and Abort removes it.
func TestComplete(t *testing.T) {
	for _, ext := range []string{".npz", ".parquet"} {
		for _, closed := range []bool{false, true} {
			dir := t.TempDir()
			final := filepath.Join(dir, "results"+ext)
			w, err := CreateResults(final, 0, batch.Double, 10)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Write(testResults(10, 0, batch.Double)); err != nil {
				t.Fatal(err)
			}
			path, err := w.Complete()
			if err != nil || path == final {
				t.Fatalf("%s, %v", path, err)
			}
			output.RemoveStale(final) // as another writer of the name does
			if _, err := os.Stat(final); err == nil {
				t.Errorf("%s has its name before Close", ext)
			}
			r, err := OpenResults(path)
			if err != nil {
				t.Fatal(err)
			}
			if r.Len() != 10 {
				t.Errorf("%s: %d rows", ext, r.Len())
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
			if !closed {
				w.Abort()
				emptyDir(t, dir)
				continue
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err == nil {
				t.Errorf("%s was closed twice", ext)
			}
			if r, err = OpenResults(final); err != nil {
				t.Fatal(err)
			}
			_ = r.Close()
		}
	}
}

// TestFinalName: temporary paths have the names that their files get.
func TestFinalName(t *testing.T) {
	for path, want := range map[string]string{"d/a.npz": "a.npz", "d/.a.npz.ABCDEFGHIJKL.tmp": "a.npz",
		".a.npz.ABC.tmp": ".a.npz.ABC.tmp", "a.npz.ABCDEFGHIJKL.tmp": "a.npz.ABCDEFGHIJKL.tmp",
		"..ABCDEFGHIJKL.tmp": "..ABCDEFGHIJKL.tmp", ".tmp": ".tmp"} {
		if got := output.FinalName(path); got != want {
			t.Errorf("%s gets the name %s, want %s", path, got, want)
		}
	}
}
