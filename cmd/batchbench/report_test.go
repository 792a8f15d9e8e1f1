package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clearance/internal/console"
	"clearance/verify"
)

func TestThousands(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 131072: "131,072", 1000000: "1,000,000",
		-1000: "-1,000", -100: "-100"} {
		if got := thousands(n); got != want {
			t.Errorf("thousands(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestPerSecond(t *testing.T) {
	for v, want := range map[float64]string{12: "12", 1234: "1k", 999400: "999k", 999600: "1.00M", 1.5e6: "1.50M",
		123.456e6: "123.46M", 2e9: "2G"} {
		if got := perSecond(v); got != want {
			t.Errorf("perSecond(%g) = %q, want %q", v, got, want)
		}
	}
}

func TestSeconds(t *testing.T) {
	for s, want := range map[float64]string{0: "0 ns", 3.2e-8: "32 ns", 1.234e-5: "12.3 µs", 0.0012345: "1.23 ms",
		0.5: "500 ms", 2: "2 s"} {
		if got := seconds(verify.Number(s)); got != want {
			t.Errorf("seconds(%g) = %q, want %q", s, got, want)
		}
	}
}

func TestMedianAndSpread(t *testing.T) {
	tests := []struct {
		values         []float64
		median, spread float64
	}{
		{[]float64{3}, 3, 0},
		{[]float64{4, 1, 2}, 2, 0.75},
		{[]float64{4, 1, 2, 3}, 2.5, 0.6},
	}
	for _, tt := range tests {
		if got := median(tt.values); got != tt.median {
			t.Errorf("median(%v) = %g, want %g", tt.values, got, tt.median)
		}
		if got := spread(tt.values); math.Abs(got-tt.spread) > 1e-15 {
			t.Errorf("spread(%v) = %g, want %g", tt.values, got, tt.spread)
		}
	}
	if got := quartileSpread([]float64{9, 2, 3, 1, 1000}); got != 7.0/2/3 {
		t.Errorf("spread of the quartiles = %g, want 7/2 over 3", got)
	}
	if v := []float64{2, 1}; median(v) != 1.5 || v[0] != 2 {
		t.Error("median must not reorder its argument")
	}
	if !math.IsNaN(median(nil)) || !math.IsNaN(spread(nil)) {
		t.Error("no values have no median and no spread")
	}
}

func TestWriteJSONLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "report.json")
	if err := console.WriteJSON(nil, path, map[string]int{"a": 1}); err != nil {
		t.Fatal(err)
	}
	if err := console.WriteJSON(nil, path, func() {}); err == nil {
		t.Error("a function is not JSON")
	}
	if err := console.WriteJSON(nil, filepath.Join(dir, "none", "report.json"), 1); err == nil {
		t.Error("wrote into a folder that does not exist")
	}
	// The path is a folder: the rename must fail and the temporary file must be removed.
	if err := os.MkdirAll(filepath.Join(dir, "dir", "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := console.WriteJSON(nil, filepath.Join(dir, "dir"), 1); err == nil {
		t.Error("wrote over a folder")
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 2 {
		t.Errorf("left behind: %v", entries)
	}
	data, err := os.ReadFile(path)
	if err != nil || strings.TrimSpace(string(data)) != "{\n \"a\": 1\n}" {
		t.Errorf("report = %q, %v", data, err)
	}
}

func TestWriteFileKeepsDevices(t *testing.T) {
	if err := console.WriteJSON(nil, os.DevNull, 1); err == nil {
		t.Error("wrote over a device")
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Fatalf("%s was replaced by a file: %v, %v", os.DevNull, info, err)
	}
}

func TestColumnsRoundTrip(t *testing.T) {
	for _, names := range [][]string{{"distance"}, {"status", "normal"}, fileColumns()} {
		set, err := parseColumns(names, 0)
		if err != nil {
			t.Fatal(err)
		}
		got := columnList(set)
		if len(got) != len(names) {
			t.Errorf("parseColumns(%v) came back as %v", names, got)
		}
		for _, n := range names {
			if !strings.Contains(strings.Join(got, " "), n) {
				t.Errorf("%v lacks %s", got, n)
			}
		}
	}
}

// TestSampleShares: the shares of the chunks add up to the sample.
func TestSampleShares(t *testing.T) {
	for _, c := range []checker{{total: 10, sample: 3}, {total: 1000003, sample: 1000}, {total: 7, sample: 7},
		{total: 5, sample: 0}, {total: 1 << 62, sample: 1 << 61}} {
		var sum, last int64
		step := c.total/1000 + 3
		for row := int64(0); row < c.total; row += step {
			hi := min(row+step, c.total)
			n := c.share(hi, c.sample) - c.share(row, c.sample)
			if n < 0 || n > hi-row {
				t.Fatalf("%d rows of [%d, %d) in the sample", n, row, hi)
			}
			sum, last = sum+n, hi
		}
		if sum != c.sample || last != c.total {
			t.Errorf("a sample of %d of %d rows became %d", c.sample, c.total, sum)
		}
	}
}

// TestProofVerdict: a depth that is refuted is a wrong answer, and one that is neither proved nor refuted is not good.
func TestProofVerdict(t *testing.T) {
	for _, c := range []struct {
		proof *verify.Proof
		code  int
		says  string
	}{
		{nil, exitGood, ""}, {&verify.Proof{Proved: 3}, exitGood, ""},
		{&verify.Proof{Refuted: 2}, exitWrong, "2 wrong answers"},
		{&verify.Proof{Unproved: 1}, exitWrong, "1 depth neither proved nor refuted"},
	} {
		r := verifyReport{Audit: new(verify.Report), Compare: new(verify.Comparison), Proof: c.proof}
		err := r.verdict()
		if c.code == exitGood && err != nil ||
			c.code != exitGood && (err == nil || console.ExitCode(err) != c.code ||
				!strings.Contains(err.Error(), c.says)) {
			t.Errorf("%+v: %v", c.proof, err)
		}
	}
	s := setReport{Disproved: 1}
	if s.good() || s.wrong() != 1 {
		t.Errorf("a refuted depth is good")
	}
}

// Pairs of flat shapes have no growth distance. The adversarial set has some; they are no faults of a run, but a row
// that is invalid without such a reason is.
func TestRunWithoutValue(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run.json")
	text := command("run", "--query", "growth", "--sets", "adversarial", "--pairs", "300", "--rounds", "1", "--sample",
		"20", "--backend", "cpu", "--json", out).want(t, exitGood).stdout
	total := readReport[runReport](t, out).Total
	if total.Undefined == 0 || total.Undefined != total.Counts.Invalid {
		t.Errorf("%d rows without a value, %d invalid", total.Undefined, total.Counts.Invalid)
	}
	if want := plural(total.Undefined, "row") + " without a value of the query"; !strings.Contains(text, want) ||
		!strings.Contains(text, "every answer is good") || strings.Contains(text, "is invalid:") {
		t.Errorf("want %q and no faults:\n%s", want, text)
	}
	total.Undefined--
	if total.good() {
		t.Error("a row is invalid without a reason, and every answer good")
	}
}

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
