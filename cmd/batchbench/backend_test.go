package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/kernels"
	native "clearance/kernels/contact"
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

// TestUnknownKernels: every command that has kernels solve refuses a name that there are none of, of the environment
// and of its option, before it reads a file.
func TestUnknownKernels(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	pairs := []string{"--shapes", none, "--pairs", none}
	worlds := []string{"--shapes", none, "--worlds", none}
	with := func(command []string, flags ...[]string) []string {
		for _, f := range flags {
			command = append(command[:len(command):len(command)], f...)
		}
		return command
	}
	out, results := []string{"--out", none + ".npz"}, []string{"--results", none}
	for _, c := range []struct {
		args   []string
		option bool // has --simd
	}{
		{[]string{"run"}, true}, {[]string{"throughput"}, true},
		{with([]string{"score"}, pairs, out), true}, {with([]string{"rollout"}, worlds, out), true},
		{with([]string{"sweep"}, worlds, out), true}, {with([]string{"derive"}, pairs, results, out), false},
		{[]string{"contact"}, false}, {with([]string{"contact", "--problems", none}), false},
		{with([]string{"step", "--scene", "stack4"}, out), true}, {with([]string{"step"}, worlds, out), true},
		{with([]string{"verify"}, pairs, results), false},
		{with([]string{"verify", "rollout"}, worlds, results), false},
		{with([]string{"verify", "sweep"}, worlds, results), false},
		{with([]string{"verify", "derivatives"}, pairs, results), false},
		{with([]string{"verify", "contact"}, results), false},
	} {
		const says = `unknown SIMD variant "bogus", want one of avx512, avx2, neon, portable, or off`
		t.Setenv(kernels.EnvSIMD, "bogus")
		command(c.args...).want(t, exitBadInput).says(t, "environment variable CLEARANCE_SIMD: "+says)
		t.Setenv(kernels.EnvSIMD, "")
		if c.option {
			command(with(c.args, []string{"--simd", "bogus"})...).want(t, exitBadInput).says(t, says)
		}
	}
}

// TestKernelsOfContacts: problems and steps are solved by every name of kernels that this machine has, in a variant
// that is not above it, and with "off" in Go.
func TestKernelsOfContacts(t *testing.T) {
	out := filepath.Join(t.TempDir(), "problems.npz")
	for _, name := range append(kernels.Supported(), kernels.Off) {
		t.Setenv(kernels.EnvSIMD, name)
		command("contact", "--scene", "slide", "--worlds", "3", "--out", out).want(t, exitGood)
		command("verify", "contact", "--results", out).want(t, exitGood)
		f := stepFlags{}
		if err := f.chooseKernels(); err != nil {
			t.Fatal(err)
		}
		if want := kernels.Best(name, native.Supported()); f.options.Solve.SIMD != want {
			t.Errorf("%s: contacts have the kernels %s, want %s", name, f.options.Solve.SIMD, want)
		}
	}
}

// The reports of run and score count every row by the solver that ended it, with or without
// that column in the file.
func TestSolversInReports(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "run.json")
	text := command("run", "--sets", "boxes,ellipsoids", "--pairs", "400", "--rounds", "1", "--sample", "10",
		"--backend", "ref", "--json", out).want(t, exitGood).stdout
	run := readReport[runReport](t, out)
	check := func(what string, s solverRows, rows int64, want string) {
		t.Helper()
		var sum int64
		for _, n := range s {
			sum += n
		}
		if sum != rows || s[want] == 0 {
			t.Errorf("%s: %v of %d rows, want some by %s", what, s, rows, want)
		}
		if rows > 0 && !strings.Contains(text, s.String()) {
			t.Errorf("%s: %v is not in the text:\n%s", what, s, text)
		}
	}
	check("boxes", run.Sets[0].Solvers, run.Sets[0].Pairs, "gjk")
	check("boxes", run.Sets[0].Solvers, run.Sets[0].Pairs, "epa")
	check("ellipsoids", run.Sets[1].Solvers, run.Sets[1].Pairs, "rtr")
	check("all", run.Total.Solvers, run.Total.Pairs, "rtr")

	// A Boolean query has no columns but the statuses.
	text = command("run", "--sets", "boxes", "--pairs", "100", "--rounds", "1", "--sample", "10", "--query", "collide",
		"--json", out).want(t, exitGood).stdout
	run = readReport[runReport](t, out)
	if len(run.Total.Solvers) != 0 || strings.Contains(text, "by the solver") {
		t.Errorf("statuses alone: %v\n%s", run.Total.Solvers, text)
	}
}

func TestSolverRowsText(t *testing.T) {
	s := solverRows{"epa": 5, "gjk": 1200}.plus(solverRows{"epa": 1, "none": 2})
	if got := s.String(); got != "none 2, gjk 1,200, epa 6" {
		t.Errorf("%q", got)
	}
	if got := (solverRows{}).plus(nil).String(); got != "" {
		t.Errorf("nothing is %q", got)
	}
	for k := range batch.SolverCount {
		if !strings.HasPrefix((solverRows{k.String(): 1}).String(), k.String()) {
			t.Errorf("%v is left out", k)
		}
	}
}
