package vk

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sort"
	"sync"
)

// alignment is what buffers of a device are aligned to: good for any binding, and no two
// share an atom of memory that is flushed as a whole. Limits are powers of two.
func alignment(l *Limits) uint64 {
	return max(l.MinStorageBufferOffsetAlignment, l.NonCoherentAtomSize, 16)
}

func alignUp(n, align uint64) uint64 { return (n + align - 1) / align * align }

// An Arena cuts a buffer into pieces in order and takes all of them back at once: for what
// lives as long as one chunk of work.
type Arena struct {
	whole Buffer
	align uint64
	used  uint64
}

// NewArena makes an arena of b.
func NewArena(b Buffer) *Arena {
	a := &Arena{whole: b, align: 16}
	if b.block != nil {
		info := b.block.d.Info()
		a.align = alignment(&info.Limits)
	}
	return a
}

// Take returns the next size bytes, aligned for any use. It fails with OutOfDeviceMemory
// if they are not left.
func (a *Arena) Take(size uint64) (Buffer, error) {
	// The alignment counts from the start of the block.
	start := alignUp(a.whole.offset+a.used, a.align) - a.whole.offset
	if start > a.whole.size || size > a.whole.size-start {
		return Buffer{}, &Error{Cause: OutOfDeviceMemory, Op: "take from arena",
			Detail: fmt.Sprintf("%d bytes of %d with %d used", size, a.whole.size, a.used)}
	}
	a.used = start + size
	return a.whole.Slice(start, size), nil
}

// Used returns how many bytes are taken, gaps included.
func (a *Arena) Used() uint64 { return a.used }

// Reset takes all pieces back. They must no longer be in use.
func (a *Arena) Reset() { a.used = 0 }

// A Pool cuts blocks of one kind into buffers that come and go singly, and allocates
// blocks as needed.
type Pool struct {
	d         *Device
	kind      MemoryKind
	blockSize uint64
	align     uint64

	mu     sync.Mutex
	blocks map[*Block]*spans
	order  []*Block // oldest first, so that the same requests get the same places
	closed bool
}

// NewPool makes a pool whose blocks are of blockSize bytes, or larger for a larger buffer.
func (d *Device) NewPool(kind MemoryKind, blockSize uint64) *Pool {
	info := d.Info()
	return &Pool{d: d, kind: kind, blockSize: blockSize, align: alignment(&info.Limits), blocks: map[*Block]*spans{}}
}

// Take returns a buffer of size bytes, aligned for any use.
func (p *Pool) Take(size uint64) (Buffer, error) {
	const op = "take from pool"
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return Buffer{}, &Error{Cause: Closed, Op: op, Detail: "the pool"}
	}
	if size == 0 || size > 1<<62 {
		return Buffer{}, badCall(op, "%d bytes", size)
	}
	room := alignUp(size, p.align)
	for _, b := range p.order {
		if offset, ok := p.blocks[b].take(room); ok {
			return Buffer{b, offset, size}, nil
		}
	}
	b, err := p.d.Alloc(max(room, alignUp(p.blockSize, p.align)), p.kind)
	if errors.Is(err, OutOfDeviceMemory) && room < p.blockSize { // this one buffer may still fit
		b, err = p.d.Alloc(room, p.kind)
	}
	if err != nil {
		return Buffer{}, err
	}
	s := newSpans(b.Size())
	p.blocks[b] = s
	p.order = append(p.order, b)
	offset, _ := s.take(room)
	return Buffer{b, offset, size}, nil
}

// Put takes back a buffer that Take returned. It must no longer be in use.
func (p *Pool) Put(b Buffer) error {
	const op = "put into pool"
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	s := p.blocks[b.block]
	if s == nil {
		return badCall(op, "the buffer is not of this pool")
	}
	if !s.put(b.offset, alignUp(b.size, p.align)) {
		return badCall(op, "%d bytes at %d are free already, or not what was taken", b.size, b.offset)
	}
	return nil
}

// Trim frees the blocks of which nothing is taken.
func (p *Pool) Trim() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var first error
	p.order = slices.DeleteFunc(p.order, func(b *Block) bool {
		if !p.blocks[b].empty() {
			return false
		}
		delete(p.blocks, b)
		if err := b.Close(); err != nil && first == nil {
			first = err
		}
		return true
	})
	return first
}

// Size returns the bytes of all blocks and how many of them are taken.
func (p *Pool) Size() (total, taken uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for b, s := range p.blocks {
		total += b.Size()
		taken += s.taken()
	}
	return total, taken
}

// Close frees all blocks, whatever is taken.
func (p *Pool) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	var first error
	for _, b := range p.order {
		if err := b.Close(); err != nil && first == nil {
			first = err
		}
	}
	p.order = nil
	clear(p.blocks)
	return first
}

// spans keeps the free ranges of a block, sorted, never touching each other.
type spans struct {
	size uint64
	free []span
}

type span struct{ offset, size uint64 }

func newSpans(size uint64) *spans { return &spans{size, []span{{0, size}}} }

// take returns the offset of the first free range of size bytes.
func (s *spans) take(size uint64) (uint64, bool) {
	for i := range s.free {
		f := &s.free[i]
		if f.size < size {
			continue
		}
		offset := f.offset
		f.offset += size
		f.size -= size
		if f.size == 0 {
			s.free = slices.Delete(s.free, i, i+1)
		}
		return offset, true
	}
	return 0, false
}

// put frees a range and joins it with free neighbours. It reports false if part of the
// range is free already or lies outside.
func (s *spans) put(offset, size uint64) bool {
	if size == 0 || offset > s.size || size > s.size-offset {
		return false
	}
	i := sort.Search(len(s.free), func(i int) bool { return s.free[i].offset >= offset })
	if i < len(s.free) && s.free[i].offset < offset+size {
		return false
	}
	if i > 0 && s.free[i-1].offset+s.free[i-1].size > offset {
		return false
	}
	s.free = slices.Insert(s.free, i, span{offset, size})
	if i+1 < len(s.free) && s.free[i+1].offset == offset+size {
		s.free[i].size += s.free[i+1].size
		s.free = slices.Delete(s.free, i+1, i+2)
	}
	if i > 0 && s.free[i-1].offset+s.free[i-1].size == offset {
		s.free[i-1].size += s.free[i].size
		s.free = slices.Delete(s.free, i, i+1)
	}
	return true
}

func (s *spans) taken() uint64 {
	n := s.size
	for _, f := range s.free {
		n -= f.size
	}
	return n
}

func (s *spans) empty() bool { return s.taken() == 0 }

// A Buffer is a range of a Block. It is a value: copying it copies no memory. The zero
// Buffer is empty.
type Buffer struct {
	block  *Block
	offset uint64
	size   uint64
}

// Block returns the block the buffer lies in.
func (b Buffer) Block() *Block { return b.block }

// Offset returns where in its block the buffer begins.
func (b Buffer) Offset() uint64 { return b.offset }

// Size returns the size in bytes.
func (b Buffer) Size() uint64 { return b.size }

// Slice returns size bytes of the buffer from offset on. It panics if they lie outside,
// as slicing does.
func (b Buffer) Slice(offset, size uint64) Buffer {
	if offset > b.size || size > b.size-offset {
		panic(badCall("slice buffer", "%d bytes at %d of %d", size, offset, b.size))
	}
	return Buffer{b.block, b.offset + offset, size}
}

// Bytes returns the mapped memory, nil if the host cannot reach it. Call Flush after
// writing and before Submit, Invalidate after Wait and before reading. It must not be
// used after the block is closed.
func (b Buffer) Bytes() []byte {
	if b.block == nil {
		return nil
	}
	all := b.block.Bytes()
	if all == nil {
		return nil
	}
	return all[b.offset : b.offset+b.size : b.offset+b.size]
}

// Flush makes what the host wrote visible to work submitted afterwards. It is free where
// the memory is coherent.
func (b Buffer) Flush() error {
	if b.block == nil || b.block.mapping == nil {
		return badCall("flush", "the buffer is not mapped")
	}
	return b.block.flush(b.offset, b.size)
}

// Invalidate makes what the device wrote visible to the host. It is free where the memory
// is coherent.
func (b Buffer) Invalidate() error {
	if b.block == nil || b.block.mapping == nil {
		return badCall("invalidate", "the buffer is not mapped")
	}
	return b.block.invalidate(b.offset, b.size)
}

// Address returns the buffer's address on the device, 0 without feature BufferAddress.
func (b Buffer) Address() uint64 {
	if b.block == nil || b.block.address() == 0 {
		return 0
	}
	return b.block.address() + b.offset
}

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
