//go:build unix

package mesh

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestReadSpecial: a FIFO and a link to a device are refused before they are opened.
func TestReadSpecial(t *testing.T) {
	dir := t.TempDir()
	fifo, zero := filepath.Join(dir, "fifo.obj"), filepath.Join(dir, "zero.stl")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Skipf("no FIFO here: %v", err)
	}
	if err := os.Symlink("/dev/zero", zero); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{fifo, zero, dir + ".ply"} {
		if path == dir+".ply" {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
			defer os.Remove(path)
		}
		done := make(chan error, 1)
		go func() {
			_, err := Read(path)
			done <- err
		}()
		select {
		case err := <-done:
			if err == nil || !strings.Contains(err.Error(), path+": not a regular file") {
				t.Errorf("%s: %v", path, err)
			}
		case <-time.After(10 * time.Minute):
			t.Errorf("%s: still waiting", path)
		}
	}
}
