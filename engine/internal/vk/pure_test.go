package vk

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestSpans compares the free list with a map of bytes, over random requests.
func TestSpans(t *testing.T) {
	const size = 300
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		s := newSpans(size)
		var used [size]bool
		var taken []span
		refused, rejected := 0, 0
		for range 400 {
			if r.IntN(5) < 3 {
				n := 1 + r.Uint64N(40)
				offset, ok := s.take(n)
				if !ok {
					refused++
					run := uint64(0)
					for _, u := range used {
						if run++; u {
							run = 0
						}
						if run >= n {
							t.Fatalf("refused %d bytes that are free: %v", n, s.free)
						}
					}
					continue
				}
				for i := offset; i < offset+n; i++ {
					if used[i] {
						t.Fatalf("byte %d was given twice", i)
					}
					used[i] = true
				}
				taken = append(taken, span{offset, n})
			} else if len(taken) > 0 {
				k := r.IntN(len(taken))
				x := taken[k]
				taken = slices.Delete(taken, k, k+1)
				if !s.put(x.offset, x.size) {
					t.Fatalf("%v was not taken back", x)
				}
				if s.put(x.offset, x.size) {
					t.Fatalf("%v was taken back twice", x)
				}
				rejected++
				for i := x.offset; i < x.offset+x.size; i++ {
					used[i] = false
				}
			}
			total := uint64(0)
			for i, f := range s.free {
				total += f.size
				if f.size == 0 || i > 0 && s.free[i-1].offset+s.free[i-1].size >= f.offset {
					t.Fatalf("free list %v", s.free)
				}
			}
			if s.taken() != size-total {
				t.Fatalf("taken %d of %v", s.taken(), s.free)
			}
		}
		if refused == 0 || rejected == 0 {
			t.Fatal("the test did not reach both outcomes")
		}
		for _, x := range taken {
			s.put(x.offset, x.size)
		}
		if !s.empty() || len(s.free) != 1 {
			t.Fatalf("all given back, but free is %v", s.free)
		}
	}
	for _, x := range []span{{size, 1}, {0, size + 1}, {1, ^uint64(0)}, {5, 0}} {
		s := newSpans(size)
		s.take(size)
		if s.put(x.offset, x.size) {
			t.Errorf("took back %v of %d bytes", x, size)
		}
	}
}

// TestArena checks alignment, exhaustion and reset on a buffer that begins anywhere.
func TestArena(t *testing.T) {
	a := NewArena(Buffer{offset: 40, size: 100})
	first, err := a.Take(5)
	if err != nil || first.offset != 48 || first.size != 5 {
		t.Errorf("first: %+v, %v", first, err)
	}
	second, err := a.Take(16)
	if err != nil || second.offset != 64 {
		t.Errorf("second: %+v, %v", second, err)
	}
	if _, err := a.Take(61); !errors.Is(err, OutOfDeviceMemory) {
		t.Errorf("too much: %v", err)
	}
	if _, err := a.Take(^uint64(0)); !errors.Is(err, OutOfDeviceMemory) {
		t.Errorf("far too much: %v", err)
	}
	if b, err := a.Take(60); err != nil || b.offset != 80 || a.Used() != 100 {
		t.Errorf("the rest: %+v, %v, used %d", b, err, a.Used())
	}
	if _, err := a.Take(1); !errors.Is(err, OutOfDeviceMemory) {
		t.Errorf("full: %v", err)
	}
	a.Reset()
	if again, err := a.Take(5); err != nil || again != first {
		t.Errorf("after Reset: %+v, %v", again, err)
	}
}

// TestSlice checks ranges of ranges and their limits.
func TestSlice(t *testing.T) {
	b := Buffer{offset: 100, size: 50}
	if s := b.Slice(10, 20).Slice(5, 15); s.Offset() != 115 || s.Size() != 15 {
		t.Errorf("%+v", s)
	}
	if s := b.Slice(50, 0); s.Size() != 0 {
		t.Errorf("%+v", s)
	}
	for _, x := range []span{{51, 0}, {0, 51}, {1, ^uint64(0)}, {^uint64(0), 1}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("no panic for %v", x)
				}
			}()
			b.Slice(x.offset, x.size)
		}()
	}
	if (Buffer{}).Bytes() != nil || (Buffer{}).Address() != 0 || (Buffer{}).Flush() == nil ||
		(Buffer{}).Invalidate() == nil {
		t.Error("the zero Buffer")
	}
}

// TestMemoryCandidates checks the choice among the memory types that drivers really list.
func TestMemoryCandidates(t *testing.T) {
	const d, v, h, c = MemoryDeviceLocal, MemoryHostVisible, MemoryHostCoherent, MemoryHostCached
	for _, tt := range []struct {
		name  string
		types []MemoryFlag
		want  [4][]uint32 // by kind
	}{
		{"discrete with a BAR", []MemoryFlag{0, d, v | h, v | h | c, d | v | h},
			[4][]uint32{{1, 4}, {2, 3, 4}, {3, 2, 4}, {4}}},
		{"discrete without", []MemoryFlag{0, d, v | h, v | h | c},
			[4][]uint32{{1}, {2, 3}, {3, 2}, nil}},
		{"software", []MemoryFlag{d | v | h | c},
			[4][]uint32{{0}, {0}, {0}, {0}}},
		{"mobile, cached memory is not coherent", []MemoryFlag{d | v | h, d | v | c},
			[4][]uint32{{0, 1}, {0}, {1, 0}, {0}}},
		{"special types are never chosen", []MemoryFlag{d | memoryLazy, d | memoryProtected, d | 64, d, v | h | 128,
			v | h},
			[4][]uint32{{3}, {5}, {5}, nil}},
	} {
		var types []MemoryType
		for _, f := range tt.types {
			types = append(types, MemoryType{Flags: f})
		}
		for kind, want := range tt.want {
			if got := memoryCandidates(types, MemoryKind(kind)); !slices.Equal(got, want) {
				t.Errorf("%s: %v: got %v, want %v", tt.name, MemoryKind(kind), got, want)
			}
		}
	}
}

// TestErrors checks the texts and that errors.Is finds exactly the cause.
func TestErrors(t *testing.T) {
	for c := VulkanError; c <= BadCall; c++ {
		err := fmt.Errorf("wrapped: %w", &Error{Cause: c, Op: "test", Result: -4, Detail: "detail"})
		for other := VulkanError; other <= BadCall; other++ {
			if errors.Is(err, other) != (c == other) {
				t.Errorf("errors.Is(%v, %v)", c, other)
			}
		}
		for _, want := range []string{"vulkan: test: " + c.String() + ": detail (VK_ERROR_DEVICE_LOST)", adviceFor(c)} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q does not contain %q", err, want)
			}
		}
	}
	if s := Cause(99).String(); s != "cause 99" {
		t.Error(s)
	}
	if s := Result(-1000000999).String(); s != "VkResult -1000000999" {
		t.Error(s)
	}
	if check("x", Success, "") != nil {
		t.Error("success is an error")
	}
	for r, want := range map[Result]Cause{
		-1: OutOfHostMemory, -2: OutOfDeviceMemory, -4: DeviceLost, 2: Timeout, -6: UnsupportedFeature,
		-7: UnsupportedFeature, -8: UnsupportedFeature, -9: NoDriver, -10: VulkanError, -13: VulkanError,
	} {
		if err := check("x", r, ""); !errors.Is(err, want) {
			t.Errorf("%v: %v", r, err)
		}
	}
}

// adviceFor is the advice for a cause, "" if there is none.
func adviceFor(c Cause) string {
	if int(c) < len(causeAdvice) {
		return causeAdvice[c]
	}
	return ""
}

// TestNames checks the texts of what users see.
func TestNames(t *testing.T) {
	for want, got := range map[string]fmt.Stringer{
		"discrete": Discrete, "integrated": Integrated, "virtual": Virtual, "cpu": CPU, "other": Other,
		"1.3.230": Version(1<<22 | 3<<12 | 230), "1.1.0": MakeVersion(1, 1),
		"shaderFloat64, timelineSemaphore": Float64 | TimelineSemaphore, "unknown 0x80000000": Feature(1 << 31),
		"":             Feature(0),
		"device-local": DeviceLocal, "upload": Upload, "readback": Readback, "unified": Unified, "unknown": kindCount,
	} {
		if got.String() != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if n := len(strings.Split((featureEnd - 1).String(), ", ")); n != len(featureNames) ||
		strings.Contains((featureEnd-1).String(), "unknown") {
		t.Errorf("%d names for %v", n, featureEnd-1)
	}
}
