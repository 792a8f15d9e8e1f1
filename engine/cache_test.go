package engine

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/engine/internal/vk"
)

// cached returns the only file of a cache folder.
func cached(t *testing.T, dir string) (path string, data []byte) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("cache folder: %v, %v", entries, err)
	}
	path = filepath.Join(dir, entries[0].Name())
	if data, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	return path, data
}

// TestCache: Warm and Close leave one file for the device and the shaders; a file that is
// damaged, cut off, foreign or of another driver is replaced by a whole one and changes no
// answer.
func TestCache(t *testing.T) {
	dir := t.TempDir()
	lib, pairs := set(t, "boxes", 0, 100)
	session := func() *batch.Results {
		b := openAlone(t, Options{CacheDir: dir})
		out := direct(t, b, lib, pairs, batch.Options{Method: batch.Polyak})
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		return out
	}
	want := session()
	path, whole := cached(t, dir)
	if !strings.HasPrefix(filepath.Base(path), "pipelines-") || len(whole) < 100 {
		t.Errorf("%s holds %d bytes", path, len(whole))
	}
	flipped := bytes.Clone(whole)
	flipped[len(flipped)-1] ^= 1
	foreign := bytes.Clone(whole)
	foreign[len("clearance pipeline cache 1\n")] ^= 1 // the vendor
	for what, data := range map[string][]byte{
		"whole": whole, "damaged": flipped, "cut off": whole[:len(whole)-7], "foreign": foreign, "empty": {},
		"text": []byte("what is this?"),
	} {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		sameAll(t, what, session(), want)
		if again, data := cached(t, dir); again != path || len(data) < 100 || bytes.Equal(data, flipped) ||
			bytes.Equal(data, foreign) {
			t.Errorf("%s: %s holds %d bytes afterwards", what, again, len(data))
		}
	}
}

// TestCacheFolder: where the cache goes, and what happens when it cannot.
func TestCacheFolder(t *testing.T) {
	info := &vk.DeviceInfo{DriverVersion: 7}
	user, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	if f := cacheFile(&Options{}, info); filepath.Dir(f) != filepath.Join(user, "clearance") {
		t.Errorf("default: %s", f)
	}
	if f := cacheFile(&Options{NoCache: true, CacheDir: user}, info); f != "" {
		t.Errorf("none: %s", f)
	}
	base := cacheFile(&Options{CacheDir: "d"}, info)
	if other := cacheFile(&Options{CacheDir: "d"}, &vk.DeviceInfo{DriverVersion: 8}); other == base ||
		filepath.Dir(base) != "d" {
		t.Errorf("two drivers: %s and %s", base, other)
	}
	if other := cacheFile(&Options{CacheDir: "d"}, &vk.DeviceInfo{DriverVersion: 7, UUID: [16]byte{1}}); other == base {
		t.Errorf("two devices: %s", other)
	}

	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	b := openAlone(t, Options{CacheDir: filepath.Join(file, "below a file")})
	lib, pairs := set(t, "boxes", 0, 10)
	direct(t, b, lib, pairs, batch.Options{})
	if err := b.Warm(t.Context(), lib); err == nil || !strings.Contains(err.Error(), "CacheDir") {
		t.Errorf("Warm into nowhere: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	none := openAlone(t, Options{NoCache: true})
	direct(t, none, lib, pairs, batch.Options{})
	if err := none.save(); err != nil { // with which Warm ends
		t.Error(err)
	}
}

// TestWarmDerivatives: after WarmDerivatives calls with derivatives compile no more than the query does.
func TestWarmDerivatives(t *testing.T) {
	b := openAlone(t, Options{})
	lib, pairs := set(t, "boxes", 0, 10)
	direct(t, b, lib, pairs, batch.Options{})
	modes := []batch.DerivativeMode{batch.ExactDerivative, batch.GumbelDerivative, batch.GaussianDerivative}
	if err := b.WarmDerivatives(t.Context(), modes, lib); err != nil {
		t.Fatal(err)
	}
	defer vk.Inject(vk.Fault{Call: "vkCreateComputePipelines", Times: -1, Result: vk.ErrorOutOfHostMemory})()
	w := &batch.Worlds{Shapes: pairs.ShapeA[:2], Poses: make([]float64, 7*2), TemplateA: []int32{0},
		TemplateB: []int32{1}}
	w.Poses[3], w.Poses[7], w.Poses[10] = 1, 9, 1
	for _, mode := range modes[:2] {
		o := batch.Options{Derivative: batch.Derivative{Mode: mode}}
		derivedOf(t, b, lib, pairs, o)
		for _, p := range []batch.Product{{Kind: batch.VJP}, {Kind: batch.ValueVJP}, {Kind: batch.JVP},
			{Kind: batch.VJP, Sums: &batch.Sums{}}} {
			operand, result := p.Kind.Widths()
			p.Operands, p.Results = make([]float64, operand), make([]float64, result)
			if _, err := b.Multiply(t.Context(), &batch.Job{Library: lib, Input: w, Options: o}, &p); err != nil {
				t.Errorf("%v, kind %d: %v", mode, p.Kind, err)
			}
		}
	}
}

// TestWarm: after Warm no call compiles anything.
func TestWarm(t *testing.T) {
	b := openAlone(t, Options{})
	lib, pairs := set(t, "boxes", 0, 10)
	if err := b.Warm(t.Context(), lib); err != nil {
		t.Fatal(err)
	}
	defer vk.Inject(vk.Fault{Call: "vkCreateComputePipelines", Times: -1, Result: vk.ErrorOutOfHostMemory})()
	for _, m := range []batch.Method{batch.Auto, batch.GJK, batch.Nesterov, batch.Polyak} {
		direct(t, b, lib, pairs, batch.Options{Method: m})
		direct(t, b, lib, pairs, batch.Options{Method: m, Query: batch.Collide, Precision: batch.Double})
	}
}
