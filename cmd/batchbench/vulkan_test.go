package main

import (
	"os"
	"strings"
	"testing"

	"clearance/tests/need"
)

// TestNoBackend selects a device that does not exist, with or without Vulkan.
func TestNoBackend(t *testing.T) {
	f := newFiles(t, ".npz")
	f.ballAndBox(t, 1, nil)
	command("--backend", "vulkan", "--device", "no such device").want(t, exitNoBackend).says(t, "vulkan: ")
	f.score("--backend", "vulkan", "--device", "no such device").want(t, exitNoBackend).says(t, "vulkan: ")
	if _, err := os.Stat(f.results); err == nil {
		t.Error("a results file was written without a back end")
	}
}

// orNoVulkan ends the test if the command found no back end, on a machine without Vulkan.
func (o outcome) orNoVulkan(t *testing.T) outcome {
	t.Helper()
	if o.code == exitNoBackend {
		need.Vulkan(t, o.stderr)
	}
	return o
}

func TestDevices(t *testing.T) {
	o := command("devices").want(t, exitGood)
	lines := strings.Split(strings.TrimSpace(o.stdout), "\n")
	n := len(lines)
	if n < 4 {
		t.Fatalf("devices lists %d lines, want 4 or more:\n%s", n, o.stdout)
	}
	for _, line := range lines[1 : n-2] {
		if !strings.HasPrefix(line, "vulkan ") {
			t.Errorf("line %q is no Vulkan device", line)
		}
	}
	for i, name := range []string{"cpu", "ref"} {
		line := lines[n-2+i]
		if !strings.HasPrefix(line, name+" ") || !strings.Contains(line, "yes") ||
			!strings.Contains(line, "processors") {
			t.Errorf("line %q does not describe %s", line, name)
		}
	}
}

// TestVulkan runs and scores on a Vulkan device, if there is one: kernel times, declined rows,
// every answer good.
func TestVulkan(t *testing.T) {
	command("--backend", "vulkan", "--pairs", "8", "--sample", "0", "--rounds", "1").orNoVulkan(t)
	f := newFiles(t, ".npz")
	o := command("run", "--backend", "vulkan", "--pairs", "1600", "--rounds", "2", "--sample", "20", "--json",
		f.json).want(t, exitGood)
	r := readReport[runReport](t, f.json)
	if !r.Good || r.Backend != "vulkan" || r.Total.Unrepeatable != 0 || r.Total.Repeated != 1600 {
		t.Errorf("total %+v", r.Total)
	}
	if d := r.Total.Declined; d > 16 || strings.Contains(o.stdout, "rows of 1,600 declined by vulkan") != (d > 1) {
		t.Errorf("%d rows declined:\n%s", d, o.stdout)
	}
	if r.Total.Solvers["epa"] == 0 || r.Total.Solvers["rtr"] == 0 || r.Total.Solvers["axes"] == 0 {
		t.Errorf("no depths by these of the device: %v", r.Total.Solvers)
	}
	// The CPU answers the same pairs.
	if r.Beside == nil || r.Beside.Backend != "cpu" || r.Beside.Total.Pairs != 1600 ||
		r.Beside.Total.Counts != r.Total.Counts || r.Beside.Total.Audited != 1600 {
		t.Errorf("beside: %+v", r.Beside)
	}
	if w := r.Total.DeviceRows; w == nil || w.Depth+w.Kind+w.Gap+w.Budget+w.Unknown != 2*r.Total.Declined ||
		w.Refined < 1 || w.Refined > 3200 {
		t.Errorf("declined for these reasons in two rounds: %+v, %d in one", w, r.Total.Declined)
	}
	if !strings.Contains(o.stdout, "by ") || strings.Count(o.stdout, " cpu ") < len(r.Sets) {
		t.Errorf("table:\n%s", o.stdout)
	}
	for _, s := range append(r.Sets, r.Total) {
		if k := s.KernelPerSec; k != nil && !(*k > 0) {
			t.Errorf("set %s: %v pairs/s in the kernels", s.Set, *k)
		}
	}
	f.ballAndBox(t, 100, nil)
	f.score("--backend", "vulkan").want(t, exitGood)
	f.verify().want(t, exitGood)
}
