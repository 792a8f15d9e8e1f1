package engine

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"clearance/batch"
	"clearance/engine/internal/vk"
	"clearance/tests/need"
)

// TestMain keeps the cache of the tests out of the user's, and closes the back ends that tests have shared.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "clearance-cache")
	if err != nil {
		panic(err)
	}
	testCache = dir
	code := m.Run()
	if err := idle.close(); err != nil {
		fmt.Fprintln(os.Stderr, "engine: after the tests:", err)
		code = max(code, 1)
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

var testCache string

// idle are open back ends that no test uses. A software device takes seconds to make the pipelines of a back end, from
// a cache as well.
var idle = idleBackends{by: map[string]*Backend{}}

type idleBackends struct {
	mu sync.Mutex
	by map[string]*Backend // by the options that opening depends on
}

// opening is a name of the options that renew cannot change.
func opening(o Options) string {
	return fmt.Sprintf("%+v", [...]any{o.Proof, o.disable, o.slow, o.CacheDir, o.NoCache})
}

// take returns an idle back end, with these options, new memory and statistics; nil if there is none.
func (p *idleBackends) take(o Options) *Backend {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := opening(o)
	b := p.by[key]
	if b == nil || scratchInvocations(&b.info, chunkRows(&b.info, o.ChunkRows)) != b.scratch.invocations {
		return nil
	}
	delete(p.by, key)
	b.renew(o)
	return b
}

// renew gives a back end that nothing uses other options, which its device and its pipelines do not depend on.
func (b *Backend) renew(o Options) {
	o.Validation, o.CacheDir = b.options.Validation, b.options.CacheDir
	o.ensureDefaults()
	b.options, b.stats.stats = o, Stats{}
	b.configure()
	for _, l := range b.libraries.kept {
		l.free()
	}
	b.libraries.kept, b.libraries.used = map[*batch.Library]*library{}, nil
	for range workspacesPerDevice {
		w := <-b.workspaces
		for i := range w.slots {
			s := &w.slots[i]
			if s.flight.stream != nil {
				s.flight.stream.Close()
			}
			free(s.blocks)
			free(s.derive.blocks)
			free(s.reduce.blocks)
		}
		b.workspaces <- new(workspace)
	}
}

// put keeps a back end for the next test, unless a test closed it or its device failed, or another one is kept.
func (p *idleBackends) put(b *Backend) (kept bool) {
	if b.enter() != nil {
		return false
	}
	b.leave()
	p.mu.Lock()
	defer p.mu.Unlock()
	key := opening(b.options)
	if p.by[key] != nil || len(b.workspaces) < workspacesPerDevice {
		return false
	}
	p.by[key] = b
	return true
}

// close closes all of them and says what is left in the process.
func (p *idleBackends) close() (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, b := range p.by {
		err = errors.Join(err, b.Close())
		delete(p.by, key)
	}
	if live := vk.LiveHandles(); len(live) > 0 {
		err = errors.Join(err, fmt.Errorf("handles left: %v", live))
	}
	return err
}

// open returns a back end with the validation layer, whose device and pipelines other tests may have used before. Any
// message fails the test, and any handle left fails the run. In make test it has shaders for all kinds of shapes alone:
// a software device takes some seconds to compile those of another set of kinds, and TestVariants compares the sets.
func open(t testing.TB, o Options) *Backend {
	t.Helper()
	o.generic = !need.All()
	if o.CacheDir == "" {
		o.CacheDir = testCache
	}
	b := idle.take(o)
	if b == nil {
		b = opened(t, o)
	}
	said := len(b.Messages())
	t.Cleanup(func() {
		if t.Failed() || !idle.put(b) {
			if err := b.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		}
		for _, m := range b.Messages()[said:] {
			t.Errorf("validation: %s", m)
		}
	})
	return b
}

// openAlone is open for tests that need a new back end, since they count what it holds or make its device fail. It is
// closed at the end of the test, and any handle left fails the test.
func openAlone(t testing.TB, o Options) *Backend {
	t.Helper()
	o.generic = !need.All()
	return openSpecialised(t, o)
}

// openSpecialised is openAlone with shaders for the kinds of each library, as users have them.
func openSpecialised(t testing.TB, o Options) *Backend {
	t.Helper()
	before := fmt.Sprint(vk.LiveHandles())
	b := opened(t, o)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		for _, m := range b.Messages() {
			t.Errorf("validation: %s", m)
		}
		if live := fmt.Sprint(vk.LiveHandles()); live != before {
			t.Errorf("handles left: %s, before %s", live, before)
		}
	})
	return b
}

// opened opens a back end with the validation layer, or skips the test.
func opened(t testing.TB, o Options) *Backend {
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
