package main

import (
	"math"
	"strings"
	"testing"

	"clearance/verify"
)

// Every size of every set is measured, including the empty batch, on the CPU alone or on a
// Vulkan device and the CPU.
func TestThroughput(t *testing.T) {
	f := newFiles(t, ".npz")
	o := command("throughput", "--backend", "cpu", "--sizes", "0, 1,1e3,2e5", "--set", "boxes,ellipsoids", "--query",
		"collide", "--time", "1ms", "--json", f.json).want(t, exitGood)
	r := readReport[throughputReport](t, f.json)
	if len(r.Backends) != 1 || len(r.Points) != 8 || r.Query != "collide" || r.Separated {
		t.Fatalf("report %+v", r)
	}
	for i, rows := range []int{0, 1, 1000, 200_000} {
		p := r.Points[i]
		if p.Rows != rows || p.Set != "boxes" || p.Calls < minCalls || !(p.Seconds > 0) || p.KernelSeconds != nil ||
			p.Declined != 0 {
			t.Errorf("point %+v", p)
		}
		if want := verify.Number(float64(rows) / float64(p.Seconds)); p.PairsPerSecond != want {
			t.Errorf("%d pairs in %v s are %v/s", rows, p.Seconds, p.PairsPerSecond)
		}
	}
	if n := strings.Count(o.stdout, "ellipsoids"); n != 4 {
		t.Errorf("%d lines for the ellipsoids:\n%s", n, o.stdout)
	}
}

func TestThroughputVulkan(t *testing.T) {
	f := newFiles(t, ".npz")
	command("throughput", "--backend", "vulkan", "--sizes", "0,1000", "--set", "boxes", "--separated", "--time", "1ms",
		"--link", "1e-6,1e-6", "--json", f.json).
		orNoVulkan(t).want(t, exitGood)
	r := readReport[throughputReport](t, f.json)
	if len(r.Backends) != 2 || len(r.Points) != 4 || !r.Separated {
		t.Fatalf("report %+v", r)
	}
	for i, p := range r.Points {
		if want := []string{"vulkan", "cpu"}[i%2]; p.Backend != want || p.Declined > 100 {
			t.Errorf("point %+v, want one of %s, without depths", p, want)
		}
		if onDevice := i%2 == 0; (p.BytesUp != nil) != onDevice || (p.LinkShare != nil) != (onDevice && p.Rows > 0) {
			t.Errorf("point %+v: bytes of a device: %v", p, onDevice)
		} else if onDevice && p.Rows > 0 {
			// Two poses and the indices of a pair; distance, gap, normal, witnesses, status.
			want := verify.Number(float64(1000*(2*56+16)+1000*48) / float64(p.Seconds))
			if *p.BytesUp != 1000*(2*56+16) || *p.BytesDown != 1000*48 ||
				math.Abs(float64(*p.LinkShare/want)-1) > 1e-9 {
				t.Errorf("%d bytes up, %d down, %v of the link, want %v", *p.BytesUp, *p.BytesDown, *p.LinkShare, want)
			}
		}
	}
}

// TestThroughputPenetrating: depths are measured, and those on a device are answered by it.
func TestThroughputPenetrating(t *testing.T) {
	for _, backend := range []string{"cpu", "vulkan"} {
		t.Run(backend, func(t *testing.T) {
			f := newFiles(t, ".npz")
			o := command("throughput", "--backend", backend, "--beside", "none", "--sizes", "300", "--set", "boxes",
				"--penetrating", "--query", "penetration", "--time", "1ms", "--json", f.json)
			if backend == "vulkan" {
				o.orNoVulkan(t)
			}
			o.want(t, exitGood)
			r := readReport[throughputReport](t, f.json)
			if len(r.Points) != 1 || !r.Penetrating || r.Separated || r.Points[0].Declined != 0 ||
				r.Points[0].Rows != 300 {
				t.Errorf("report %+v", r)
			}
			if !strings.Contains(o.stdout, "penetrating pairs") {
				t.Errorf("the report does not say which pairs:\n%s", o.stdout)
			}
		})
	}
}

func TestThroughputRefuses(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--sizes", "1e3,many"}, `--sizes: "many" is not a number of pairs`},
		{[]string{"--sizes", "1.5"}, `"1.5" is not a number of pairs`},
		{[]string{"--sizes", "-1"}, `"-1" is not a number`},
		{[]string{"--sizes", "NaN"}, `"NaN" is not a number`},
		{[]string{"--separated", "--penetrating"}, "separated"},
		{[]string{"--set", "stars"}, `--set: unknown set "stars"`},
		{[]string{"--link", "5"}, "want two bandwidths above 0"},
		{[]string{"--link", "5,0"}, "want two bandwidths above 0"},
		{[]string{"--time", "0s"}, "want a time above 0"},
		{[]string{"--beside", "abacus"}, `--beside "abacus": want cpu, ref or none`},
		{[]string{"--backend", "vulkan:"}, `--backend "vulkan:": want`},
		{[]string{"--backend", "auto+cpu"}, `--backend "auto+cpu": want`},
		{[]string{"--simd", "mmx"}, "mmx"},
	} {
		command(append([]string{"throughput"}, c.args...)...).want(t, exitBadInput).says(t, c.want)
	}
}
