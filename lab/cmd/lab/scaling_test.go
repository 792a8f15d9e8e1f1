package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"clearance/internal/console"
	"clearance/lab/scaling"
)

// The report has every path of every set; its rates follow from its times and bytes.
func TestScaling(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the CPU time of a thread is measured on Linux only")
	}
	dir := t.TempDir()
	o := command(t, "scaling", "--pairs", "4096", "--rounds", "1", "--samples", "100ms", "--cores", "1,8",
		"--bandwidth", "10", "--out", dir)
	if text := o.want(t, console.ExitGood).stdout; !strings.Contains(text, "score, npz") {
		t.Errorf("standard output = %q", text)
	}
	data, err := os.ReadFile(filepath.Join(dir, "scaling.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r scaling.Report
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	if want := 2 * len(scaling.PathNames()); len(r.Points) != want {
		t.Fatalf("%d points, want %d", len(r.Points), want)
	}
	for i, p := range r.Points {
		if name := scaling.PathNames()[i%len(scaling.PathNames())]; p.Path != name || p.Rows < 1 {
			t.Errorf("point %d is %q of %d rows, want %q", i, p.Path, p.Rows, name)
		}
		inside, outside, bytes := float64(p.Inside), float64(p.Outside), float64(p.Bytes)
		if !(inside > 0 && outside >= 0 && bytes > 0) {
			t.Errorf("%s: %g ns in workers, %g outside, %g bytes", p.Path, inside, outside, bytes)
		}
		if sum := float64(p.Own + p.Kernel + p.Runtime); p.Samples > 0 && math.Abs(sum-outside) > 1e-9*outside {
			t.Errorf("%s: %g ns outside, of which %g are divided", p.Path, outside, sum)
		}
		for k, cores := range []float64{1, 8} {
			serial := outside
			if p.Samples >= 20 { // fewer do not divide it
				serial = float64(p.Own + p.Kernel)
			}
			want := math.Min(1e9/((inside+outside-serial)/cores+serial), 10e9/bytes)
			if got := float64(p.Rates[k]); math.Abs(got-want) > 1e-9*want {
				t.Errorf("%s, %g cores: %g rows/s, want %g", p.Path, cores, got, want)
			}
		}
	}
	for _, name := range []string{"scaling.md", "pictures/scaling.svg"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestScalingRefused(t *testing.T) {
	for _, c := range [][]string{{"--pairs", "0"}, {"--rounds", "0"}, {"--samples", "-1s"}, {"--set", "mesh"},
		{"--set", "nothing"}, {"--path", "nothing"}, {"--cores", "0"}, {"--bandwidth", "-1"}} {
		command(t, append([]string{"scaling"}, c...)...).want(t, console.ExitBadInput)
	}
}
