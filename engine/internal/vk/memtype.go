package vk

import (
	"cmp"
	"math/bits"
	"slices"
)

// A MemoryKind says what a block of memory is for.
type MemoryKind int

const (
	// DeviceLocal is fastest for the device; the host may not reach it.
	DeviceLocal MemoryKind = iota
	// Upload is mapped memory that the host writes and the device reads.
	Upload
	// Readback is mapped memory that the device writes and the host reads, cached by the host if there is such.
	Readback
	// Unified is the device's own memory, mapped: integrated and software devices, or a resizable BAR.
	Unified
	kindCount
)

// String returns the kind in a word.
func (k MemoryKind) String() string {
	switch k {
	case DeviceLocal:
		return "device-local"
	case Upload:
		return "upload"
	case Readback:
		return "readback"
	case Unified:
		return "unified"
	}
	return "unknown"
}

// memoryCandidates returns the indices of the types that support kind, best first; types of
// other heaps follow, for when the best is full.
func memoryCandidates(types []MemoryType, kind MemoryKind) []uint32 {
	var must, want, avoid MemoryFlag
	switch kind {
	case DeviceLocal:
		must, avoid = MemoryDeviceLocal, MemoryHostVisible // leave what the host can reach to those who need it
	case Upload:
		// Not the device's own memory: where it is host-visible it is either small or Unified.
		must, want, avoid = MemoryHostVisible|MemoryHostCoherent, 0, MemoryDeviceLocal|MemoryHostCached
	case Readback:
		must, want, avoid = MemoryHostVisible, MemoryHostCached|MemoryHostCoherent, MemoryDeviceLocal
	case Unified:
		must, avoid = MemoryDeviceLocal|MemoryHostVisible|MemoryHostCoherent, 0
		want = MemoryHostCached
	}
	type candidate struct {
		index uint32
		score int
	}
	var list []candidate
	for i, t := range types {
		if t.Flags&must != must || t.Flags&(memoryLazy|memoryProtected|memoryVendor) != 0 {
			continue
		}
		score := bits.OnesCount32(uint32(t.Flags&want))*4 - bits.OnesCount32(uint32(t.Flags&avoid))
		if kind == Readback && t.Flags&MemoryHostCached != 0 {
			score += 8 // reading uncached memory is slower by an order of magnitude
		}
		list = append(list, candidate{uint32(i), score})
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(b.score, a.score) })
	out := make([]uint32, len(list))
	for i, c := range list {
		out[i] = c.index
	}
	return out
}
