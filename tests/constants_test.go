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
		"cpu/simd/depth_minimum.h":    `(?m)^#define APEX_SHARE ([0-9.]+)$`,
		"shaders/hessian_bounds.glsl": `(?m)^const double APEX_SHARE = ([0-9.]+)lf;$`,
		"ref/cap_certificate.go":      `(?m)^const apexShare = ([0-9.]+)$`,
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
