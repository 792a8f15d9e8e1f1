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
