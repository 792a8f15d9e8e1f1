package console

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"clearance/dataset"
	"clearance/dataset/output"
)

// TestProgress: the bar is drawn on a terminal only.
func TestProgress(t *testing.T) {
	if newProgress(&bytes.Buffer{}, "work", 10) != nil {
		t.Error("a bar in a buffer")
	}
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	p := newProgress(file, "work", 10)
	p.Add(10)
	p.Done()
	if size, err := file.Seek(0, io.SeekEnd); p != nil || size != 0 || err != nil {
		t.Errorf("a bar in a file, of %d bytes, %v", size, err)
	}

	tty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no pseudo-terminal here: %v", err)
	}
	defer tty.Close()
	p = newProgress(tty, "work", 10)
	if p == nil {
		t.Fatal("no bar on a terminal")
	}
	p.Add(5)
	p.Done()
	if !p.bar.IsFinished() {
		t.Error("the bar is still there")
	}
}

// TestAbandon: a run that does not end is abandoned without a temporary file. It is run in a
// process of its own, since no file can be written afterwards.
func TestAbandon(t *testing.T) {
	const folder = "CLEARANCE_TEST_ABANDON"
	if dir := os.Getenv(folder); dir != "" {
		if err := output.WriteFile(filepath.Join(dir, "done.json"), nil); err != nil {
			t.Fatal(err)
		}
		if _, err := dataset.CreatePairs(filepath.Join(dir, "half.npz"), 10); err != nil {
			t.Fatal(err)
		}
		(&Env{Program: "program", Stderr: os.Stderr}).abandon(os.Exit)
	}
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^TestAbandon$")
	cmd.Env = append(os.Environ(), folder+"="+dir)
	out, _ := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != ExitInterrupted {
		t.Errorf("exit code %d, want %d: %s", code, ExitInterrupted, out)
	}
	if !strings.Contains(string(out), "interrupted; complete: ") || !strings.Contains(string(out), "done.json") {
		t.Errorf("output %q", out)
	}
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != 1 || list[0].Name() != "done.json" {
		t.Errorf("left %v, %v", list, err)
	}
}
