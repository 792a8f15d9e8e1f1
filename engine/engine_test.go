package engine

import (
	"errors"
	"os"
	"testing"

	"clearance/engine/internal/vk"
	"clearance/tests/need"
)

// TestMain keeps the cache of the tests out of the user's.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "clearance-cache")
	if err != nil {
		panic(err)
	}
	testCache = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

var testCache string

// open opens the back end with the validation layer. At the end of the test it is
// closed, and any message and any handle left fails the test. In make test it has shaders for all kinds of shapes
// alone: a software device takes some seconds to compile those of another set of kinds, and TestVariants compares
// the sets.
func open(t testing.TB, o Options) *Backend {
	t.Helper()
	o.generic = !need.All()
	return openSpecialised(t, o)
}

// openSpecialised is open with shaders for the kinds of each library, as users have them.
func openSpecialised(t testing.TB, o Options) *Backend {
	t.Helper()
	o.Validation = true
	if o.CacheDir == "" {
		o.CacheDir = testCache
	}
	b, err := Open(o)
	for _, cause := range []error{vk.NoCgo, vk.NoLoader, vk.NoDriver, vk.NoDevice, vk.UnsupportedFeature} {
		if errors.Is(err, cause) {
			need.Vulkan(t, err.Error())
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		for _, m := range b.Messages() {
			t.Errorf("validation: %s", m)
		}
		if live := vk.LiveHandles(); len(live) > 0 {
			t.Errorf("handles left: %v", live)
		}
	})
	return b
}

// size returns how many rows or worlds a test has: with -short, in make test, and in make test-all.
func size(short, usual, all int) int {
	switch {
	case testing.Short():
		return short
	case need.All():
		return all
	}
	return usual
}

// eachPath runs a test with memory that the host and the device share, and with copies
// between the two, as on most GPUs.
func eachPath(t *testing.T, test func(t *testing.T, o Options)) {
	t.Run("direct", func(t *testing.T) { test(t, Options{}) })
	t.Run("staged", func(t *testing.T) { test(t, Options{staged: true}) })
}
