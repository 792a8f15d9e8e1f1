package vk

import (
	"errors"
	"fmt"
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
