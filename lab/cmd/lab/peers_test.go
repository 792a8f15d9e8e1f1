package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"clearance/internal/console"
)

// TestPeersNone runs the command without any peer installed: it names each of them and the
// command that installs them, and ends with the code for no usable back end.
func TestPeersNone(t *testing.T) {
	out := command(t, "peers", "--build", t.TempDir()).want(t, console.ExitNoBackend).says(t, "make peers")
	for _, name := range []string{"coal", "MuJoCo", "FCL-libccd", "FCL-own", "parry3d", "Jolt", "openGJK"} {
		out.says(t, name+" is not measured: not installed")
	}
	if out.stdout != "" {
		t.Errorf("a report without peers: %q", out.stdout)
	}
}

// TestPeerDerivativesNone asks for finite differences without their peer.
func TestPeerDerivativesNone(t *testing.T) {
	command(t, "peers", "--derivatives", "--build", t.TempDir()).want(t, console.ExitNoBackend).says(t,
		"no peer is installed")
}

func TestPeersUsage(t *testing.T) {
	for args, want := range map[string]string{
		"--rows 2":                 "--rows 2: want 3 or more",
		"--rounds 0":               "--rounds 0: want 1 to",
		"--sets mixed":             `unknown set "mixed"`,
		"--questions why":          `unknown question "why"`,
		"--sets= ":                 "need at least one name each",
		"--json /no/such/folder/x": "cannot write",
		"--derivatives --from x":   "--derivatives has no --from",
		"surplus":                  `unexpected argument "surplus"`,
	} {
		command(t, append([]string{"peers"}, strings.Fields(args)...)...).want(t, console.ExitBadInput).says(t, want)
	}
}

// TestCompare writes reports with known rounds and compares them.
func TestCompare(t *testing.T) {
	dir := t.TempDir()
	report := func(name string, seed int, factor float64, rounds ...float64) string {
		path := filepath.Join(dir, name)
		seconds := make([]float64, len(rounds))
		for i := range rounds {
			seconds[i] = factor * rounds[i]
		}
		data, err := json.Marshal(map[string]any{
			"program": "batchbench run", "backend": "cpu", "query": "distance", "precision": "single", "seed": seed,
			"sets": []any{map[string]any{"set": "boxes", "pairs": 1000, "seconds": seconds}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	old := report("old.json", 1, 1, 1.00, 1.01, 1.02, 0.99, 0.98)
	noise := report("noise.json", 1, 1, 1.02, 0.99, 1.00, 1.03, 0.97)
	slow := report("slow.json", 1, 1.2, 1.00, 1.01, 1.02, 0.99, 0.98)
	few := report("few.json", 1, 1.2, 1.00, 1.01)

	same := command(t, "compare", old, noise).want(t, console.ExitGood)
	if !strings.Contains(same.stdout, "boxes/distance/single/cpu") || !strings.Contains(same.stdout, "same") {
		t.Errorf("stdout: %s", same.stdout)
	}
	found := command(t, "compare", old, slow).want(t, console.ExitWrong).says(t,
		"1 measurement slower by more than 5 %")
	if !strings.Contains(found.stdout, "+20.0 %") || !strings.Contains(found.stdout, "slower") {
		t.Errorf("stdout: %s", found.stdout)
	}
	command(t, "compare", slow, old).want(t, console.ExitGood)
	command(t, "compare", old, slow, "--threshold", "25%").want(t, console.ExitGood)
	command(t, "compare", old, slow, "--threshold", "0.15").want(t, console.ExitWrong)
	command(t, "compare", old, few).want(t, console.ExitBadInput).says(t, "enough rounds")
	command(t, "compare", old).want(t, console.ExitBadInput).says(t, "want two reports")
	command(t, "compare", old, filepath.Join(dir, "none.json")).want(t, console.ExitBadInput).says(t, "none.json")
	command(t, "compare", old, slow, "--threshold", "much").want(t, console.ExitBadInput).says(t,
		"want a number like 5% or 0.05")
	command(t, "compare", old, slow, "--alpha", "2").want(t, console.ExitBadInput).says(t, "--alpha 2: want")
	other := command(t, "compare", old, report("seed.json", 2, 1, 1.02, 0.99, 1.00, 1.03, 0.97))
	if other.code != console.ExitGood {
		t.Errorf("exit code %d for another seed, want 0", other.code)
	}
	other.says(t, "differ in their seed: 1 and 2")
}

// TestCompareRuns compares reports of the main job of batchbench: the job without SIMD kernels is a regression of the
// one with them, and not the other way round.
func TestCompareRuns(t *testing.T) {
	dir := t.TempDir()
	batchbench := filepath.Join(dir, "batchbench")
	out, err := exec.Command("go", "build", "-o", batchbench, "clearance/cmd/batchbench").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	job := func(name, simd string) string {
		path := filepath.Join(dir, name)
		c := exec.Command(batchbench, "run", "--backend", "cpu", "--workers", "1", "--query", "collide", "--sets",
			"boxes", "--pairs", "20000", "--rounds", "5", "--sample", "0", "--json", path)
		c.Env = append(os.Environ(), "CLEARANCE_SIMD="+simd)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return path
	}
	with, without := job("with.json", ""), job("without.json", "off")
	found := command(t, "compare", with, without)
	if strings.Contains(found.stdout, "same") {
		// Only a build without kernels has nothing to lose.
		list, err := exec.Command(batchbench, "devices").Output()
		if err != nil || strings.Contains(string(list), "kernels") {
			t.Fatalf("without kernels the job is no slower: %v\n%s", err, found.stdout)
		}
		t.Skip("SKIPPED: this build has no kernels to compare with")
	}
	found.want(t, console.ExitWrong).says(t, "slower by more than 5 %")
	if back := command(t, "compare", without, with); back.code != console.ExitGood {
		t.Errorf("the other way round: exit code %d\n%s", back.code, back.stdout)
	}
}
