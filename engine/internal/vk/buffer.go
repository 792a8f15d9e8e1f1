package vk

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
