package main

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// nullDriver describes Mesa's driver without hardware, which fails the self-test and then crashes its process.
const nullDriver = "/usr/share/vulkan/icd.d/radeon_icd.x86_64.json"

// TestDriverThatCrashes: the CPU answers, and the list of devices says why; a device named explicitly is an error.
func TestDriverThatCrashes(t *testing.T) {
	if _, err := os.Stat(nullDriver); err != nil || runtime.GOARCH != "amd64" {
		t.Skip("SKIPPED: no driver here is known to crash; package engine tests the probe with scripts")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cache := t.TempDir()
	program := func(args ...string) (code int, stdout, stderr string) {
		c := exec.Command(self, args...)
		c.Env = append(os.Environ(), actAsMain+"=1", "RADV_FORCE_FAMILY=navi21", "VK_ICD_FILENAMES="+nullDriver,
			"VK_DRIVER_FILES="+nullDriver, "XDG_CACHE_HOME="+cache, "CLEARANCE_DEVICE=")
		var out, text bytes.Buffer
		c.Stdout, c.Stderr = &out, &text
		if err := c.Run(); c.ProcessState == nil {
			t.Fatal(err)
		}
		return c.ProcessState.ExitCode(), out.String(), text.String()
	}
	_, devices, _ := program("devices")
	if !strings.Contains(devices, "NAVI21") || !strings.Contains(devices, "crashed") {
		t.Skipf("SKIPPED: this driver does not crash:\n%s", devices)
	}
	if !strings.Contains(devices, "delete "+cache) {
		t.Errorf("the file of the verdict is not named:\n%s", devices)
	}
	for range 2 {
		code, out, text := program("run", "--pairs", "200", "--sets", "boxes", "--rounds", "1", "--sample", "1")
		if code != exitGood || !strings.Contains(out, "every answer is good") {
			t.Errorf("exit code %d\n%s\n%.2000s", code, out, text)
		}
	}
	if code, _, text := program("--backend", "vulkan", "--pairs", "8"); code != exitNoBackend ||
		!strings.Contains(text, "crashed") {
		t.Errorf("exit code %d\n%.2000s", code, text)
	}
}
