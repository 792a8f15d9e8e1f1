//go:build cgo && !(386 || arm || mips || mipsle)

package vk

/*
#include "vkc.h"
*/
import "C"

import "unsafe"

// wordSize: Vulkan fills and copies indirect counts in words of 4 bytes.
const wordSize = 4

// record starts a recording method; it reports false, with nothing held, if the method
// has nothing to do because of an earlier error.
func (s *Stream) record(op string) bool {
	if err := s.enter(op); err != nil {
		return false // Submit will find the same
	}
	if s.state != streamRecording {
		if s.err == nil {
			s.err = badCall(op, "nothing is being recorded: Begin first")
		}
		s.leave()
		return false
	}
	if s.err != nil {
		s.leave()
		return false
	}
	return true
}

func (s *Stream) fail(op, format string, args ...any) { s.err = badCall(op, format, args...) }

// use keeps what the recording uses alive until the next Begin.
func (s *Stream) use(op, what string, o *owner, closed bool) bool {
	if s.uses[o] {
		return true
	}
	if closed || !o.retain() {
		s.err = &Error{Cause: Closed, Op: op, Detail: what}
		return false
	}
	s.uses[o] = true
	return true
}

func (s *Stream) useBuffer(op string, b Buffer) bool {
	if b.block == nil || b.block.d != s.d {
		s.fail(op, "the buffer is empty or belongs to another device")
		return false
	}
	return s.use(op, "the buffer's block", b.block.owner, b.block.closed.Load())
}

// Bind chooses the pipeline for the dispatches that follow and its buffers, one for each
// binding in order.
func (s *Stream) Bind(p *Pipeline, buffers ...Buffer) {
	const op = "bind"
	if !s.record(op) {
		return
	}
	defer s.leave()
	if p.d != s.d {
		s.fail(op, "the pipeline belongs to another device")
		return
	}
	if len(buffers) != p.options.Bindings {
		s.fail(op, "%d buffers for the %d bindings of pipeline %q", len(buffers), p.options.Bindings, p.options.Name)
		return
	}
	if !s.use(op, "the pipeline", p.owner, p.closed.Load()) {
		return
	}
	l := &s.d.info.Limits
	for i, b := range buffers {
		if !s.useBuffer(op, b) {
			return
		}
		if b.size == 0 || b.size > l.MaxStorageBufferRange || b.offset%max(l.MinStorageBufferOffsetAlignment, 1) != 0 {
			s.fail(op, "binding %d of pipeline %q: %d bytes at offset %d; want 1 to %d bytes at a multiple of %d",
				i, p.options.Name, b.size, b.offset, l.MaxStorageBufferRange, l.MinStorageBufferOffsetAlignment)
			return
		}
		s.scratch[3*i] = C.uint64_t(b.block.handle())
		s.scratch[3*i+1] = C.uint64_t(b.offset)
		s.scratch[3*i+2] = C.uint64_t(b.size)
	}
	s.err = s.d.check(op, C.vkc_cmd_bind(s.d.c, s.c, p.c, &s.scratch[0], C.uint32_t(len(buffers))), "")
	s.bound, s.pushed = p, false
}

// Push sets all push constants of the bound pipeline.
func (s *Stream) Push(data []byte) {
	const op = "push constants"
	if !s.record(op) {
		return
	}
	defer s.leave()
	if s.bound == nil || len(data) != s.bound.options.PushConstantSize || len(data) == 0 {
		s.fail(op, "%d bytes; Bind a pipeline first and give exactly its PushConstantSize", len(data))
		return
	}
	C.vkc_cmd_push(s.d.c, s.c, s.bound.c, unsafe.Pointer(&data[0]), C.uint32_t(len(data)))
	s.pushed = true
}

// ready checks that a dispatch has all it needs.
func (s *Stream) ready(op string) bool {
	switch {
	case s.options.Queue == TransferQueue && s.d.info.TransferQueue:
		s.fail(op, "the transfer queue runs no shaders")
	case s.bound == nil:
		s.fail(op, "Bind a pipeline first")
	case s.bound.options.PushConstantSize > 0 && !s.pushed:
		s.fail(op, "pipeline %q wants %d bytes of push constants: Push them after Bind", s.bound.options.Name,
			s.bound.options.PushConstantSize)
	default:
		return true
	}
	return false
}

// Dispatch runs the bound pipeline with x·y·z work groups. None of them may exceed
// Limits.MaxWorkGroupCount; 0 runs nothing.
func (s *Stream) Dispatch(x, y, z uint32) {
	const op = "dispatch"
	if !s.record(op) {
		return
	}
	defer s.leave()
	if !s.ready(op) {
		return
	}
	m := s.d.info.Limits.MaxWorkGroupCount
	if x > m[0] || y > m[1] || z > m[2] {
		s.fail(op, "%d × %d × %d work groups, %s allows %v", x, y, z, s.d.info.Name, m)
		return
	}
	C.vkc_cmd_dispatch(s.d.c, s.c, C.uint32_t(x), C.uint32_t(y), C.uint32_t(z))
}

// DispatchIndirect runs the bound pipeline with as many work groups as three uint32 at
// the start of counts say when the device gets there. What writes them must be followed
// by a Barrier to StageIndirect, and must keep to Limits.MaxWorkGroupCount.
func (s *Stream) DispatchIndirect(counts Buffer) {
	const op = "dispatch indirect"
	if !s.record(op) {
		return
	}
	defer s.leave()
	if !s.ready(op) || !s.useBuffer(op, counts) {
		return
	}
	if counts.size < 3*wordSize || counts.offset%wordSize != 0 {
		s.fail(op, "counts of %d bytes at offset %d: want 12 at a multiple of 4", counts.size, counts.offset)
		return
	}
	C.vkc_cmd_dispatch_indirect(s.d.c, s.c, counts.block.c, C.uint64_t(counts.offset))
}

// Copy copies src to the buffer dst of the same size, which must not overlap it.
func (s *Stream) Copy(dst, src Buffer) {
	const op = "copy"
	if !s.record(op) {
		return
	}
	defer s.leave()
	if !s.useBuffer(op, dst) || !s.useBuffer(op, src) {
		return
	}
	if dst.size != src.size {
		s.fail(op, "%d bytes to %d bytes", src.size, dst.size)
		return
	}
	if dst.block == src.block && dst.offset < src.offset+src.size && src.offset < dst.offset+dst.size {
		s.fail(op, "the buffers overlap")
		return
	}
	if src.size > 0 {
		C.vkc_cmd_copy(s.d.c, s.c, dst.block.c, C.uint64_t(dst.offset), src.block.c, C.uint64_t(src.offset),
			C.uint64_t(src.size))
	}
}

// Fill repeats word over dst, whose offset and size are multiples of 4.
func (s *Stream) Fill(dst Buffer, word uint32) {
	const op = "fill"
	if !s.record(op) {
		return
	}
	defer s.leave()
	if !s.useBuffer(op, dst) {
		return
	}
	if dst.size%wordSize != 0 || dst.offset%wordSize != 0 {
		s.fail(op, "%d bytes at offset %d: want multiples of 4", dst.size, dst.offset)
		return
	}
	if dst.size > 0 {
		C.vkc_cmd_fill(s.d.c, s.c, dst.block.c, C.uint64_t(dst.offset), C.uint64_t(dst.size), C.uint32_t(word))
	}
}

// Barrier makes commands of the stages to, recorded afterwards, wait for those of the
// stages from, recorded before (also in earlier submissions to the same queue), and see
// what they wrote. The host needs none: Submit ends every recording with a barrier to it.
func (s *Stream) Barrier(from, to Stage) {
	const op = "barrier"
	if !s.record(op) {
		return
	}
	defer s.leave()
	if from == 0 || to == 0 || (from|to) >= stageEnd {
		s.fail(op, "stages %#x to %#x", uint32(from), uint32(to))
		return
	}
	C.vkc_cmd_barrier(s.d.c, s.c, C.uint32_t(from), C.uint32_t(to))
}

// Timestamp notes the time in a slot when all commands recorded before have ended, with
// those of earlier submissions to the same queue. A recording writes a slot once.
func (s *Stream) Timestamp(slot int) {
	const op = "timestamp"
	if !s.record(op) {
		return
	}
	defer s.leave()
	if slot < 0 || slot >= len(s.written) || s.written[slot] {
		s.fail(op, "slot %d of %d, each to be written once", slot, len(s.written))
		return
	}
	s.written[slot] = true
	C.vkc_cmd_timestamp(s.d.c, s.c, C.uint32_t(slot))
}
