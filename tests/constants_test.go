package tests

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// TestApexShare: an apex has the support value of its cap at tan²θ = share·t², where t is the size of the proved cap.
// Beyond 1 it would cover directions for which nothing is proved. The C kernels and the shaders use the same share.
func TestApexShare(t *testing.T) {
	var shares []float64
	for file, declaration := range map[string]string{
		"kernels/pairs/depth_minimum.h": `(?m)^#define APEX_SHARE ([0-9.]+)$`,
		"shaders/hessian_bounds.glsl":   `(?m)^const double APEX_SHARE = ([0-9.]+)lf;$`,
		"ref/depth_certificate.go":      `(?m)^const apexShare = ([0-9.]+)$`,
	} {
		text, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		m := regexp.MustCompile(declaration).FindSubmatch(text)
		if m == nil {
			t.Fatalf("%s declares no share", file)
		}
		share, err := strconv.ParseFloat(string(m[1]), 64)
		if err != nil || !(share < 1) {
			t.Errorf("%s: a share of %s, %v", file, m[1], err)
		}
		if filepath.Ext(file) != ".go" {
			shares = append(shares, share)
		}
	}
	if shares[0] != shares[1] {
		t.Errorf("the C kernels and the shaders have shares of %v", shares)
	}
}

// TestZoneCaps: the C kernels and the shaders halve the same caps as Go, so that a row that one of them proves to be
// smooth is proved by all.
func TestZoneCaps(t *testing.T) {
	forms := []struct{ file, widest, count string }{
		{"derive/minima.go", `(?m)^\twidestHalved = ([0-9.]+)$`, `(?m)^\thalvedCaps +=\s+([0-9]+)$`},
		{"kernels/derive/include/minima.h", `(?m)^#define WIDEST_ZONE_CAP ([0-9.]+)\b`,
			`(?m)^#define MAX_CAPS ([0-9]+)$`},
		{"shaders/derivative_minima.glsl", `(?m)^const double WIDEST_ZONE_CAP = ([0-9.]+)lf;`,
			`(?m)^const uint ZONE_CAPS = ([0-9]+)u;$`},
	}
	var first [2]string
	for i, f := range forms {
		text, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(f.file)))
		if err != nil {
			t.Fatal(err)
		}
		for k, declaration := range []string{f.widest, f.count} {
			m := regexp.MustCompile(declaration).FindSubmatch(text)
			switch {
			case m == nil:
				t.Fatalf("%s declares nothing of the form %s", f.file, declaration)
			case i == 0:
				first[k] = string(m[1])
			case string(m[1]) != first[k]:
				t.Errorf("%s has %s, %s has %s", f.file, m[1], forms[0].file, first[k])
			}
		}
	}
}
