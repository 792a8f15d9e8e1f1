package gpucost

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clearance/batch"
)

// TestSpecialise: the sources hold every line that is rewritten for Slang, and lose their specialisation constants.
func TestSpecialise(t *testing.T) {
	sources, dir := filepath.Join("..", "..", "shaders"), t.TempDir()
	if err := specialise(sources, dir, map[uint32]uint32{0: 64, 7: 1, 9: 2}); err != nil {
		t.Fatal(err)
	}
	for _, r := range rewrites {
		text, err := os.ReadFile(filepath.Join(dir, r.file))
		if err != nil || !strings.Contains(string(text), r.to) {
			t.Errorf("%s lacks %q: %v", r.file, r.to, err)
		}
	}
	for name, want := range map[string][]string{
		"gjk.comp":              {"layout(local_size_x = 64) in;", "const uint PHASE = 2u;"},
		"prove_two_floats.comp": {"const uint FUSED = 1u;", "const uint FINAL = 0u;"},
	} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		for _, line := range want {
			if !strings.Contains(text, "\n"+line) {
				t.Errorf("%s lacks %q", name, line)
			}
		}
		if strings.Contains(text, "constant_id") {
			t.Errorf("%s has specialisation constants", name)
		}
	}
	missing := t.TempDir()
	if err := os.WriteFile(filepath.Join(missing, rewrites[0].file), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := specialise(missing, dir, nil); err == nil || !strings.Contains(err.Error(), rewrites[0].file) {
		t.Errorf("a line to rewrite is missing: error %v", err)
	}
}

// TestEstimated: a GPU has a line of its own proof, and one in double precision for comparison.
func TestEstimated(t *testing.T) {
	for i, want := range [][4]bool{{true, true, false, false}, {true, false, true, true}, {true, false, true, true}} {
		var got [4]bool
		for k, precision := range []string{batch.Single.String(), twoFloats} {
			ok, own, err := gpus[i].estimated(precision)
			if err != nil {
				t.Fatal(err)
			}
			got[2*k], got[2*k+1] = ok, ok && own
		}
		if got != want {
			t.Errorf("%s: %v, want %v", gpus[i].name, got, want)
		}
	}
	if _, _, err := (&gpu{vendor: "nobody"}).estimated(twoFloats); err == nil {
		t.Error("a vendor that is not in the table passes")
	}
}
