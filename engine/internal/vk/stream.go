//go:build cgo && !(386 || arm || mips || mipsle)

package vk

/*
#include "vkc.h"
*/
import "C"

import (
	"context"
	"fmt"
	"sync"
	"time"
	"unsafe"
)

// A streamState says what may follow. Closed and lost are known elsewhere.
type streamState int

const (
	streamEmpty     streamState = iota // nothing recorded
	streamRecording                    // after Begin
	streamReady                        // recorded; submitted before, and waited for, or not yet
	streamPending                      // submitted, not waited for
)

// waitSlice bounds how long one wait holds off Close and a context.
const waitSlice = 50 * time.Millisecond

// maxAfter is the room for semaphores in vkc_stream_submit.
const maxAfter = 16

// Stream records commands, submits them, and waits for them. The commands of one
// recording see each other's results only across a Barrier; the host sees all of them
// after Wait. What was recorded may be submitted again and again; Begin starts anew.
//
// Recording methods return nothing: the first error is kept and returned by Submit.
type Stream struct {
	d       *Device
	owner   *owner
	options StreamOptions

	mu      sync.Mutex // taken after d.life
	c       *C.vkc_stream
	state   streamState
	err     error           // of the recording
	bound   *Pipeline       // by the latest Bind
	pushed  bool            // since the latest Bind
	uses    map[*owner]bool // what the recording uses
	waits   []*owner        // streams whose semaphores the latest submission waits on
	scratch [3 * maxBindings]C.uint64_t
	written []bool       // timestamp slots the recording writes
	ticks   []C.uint64_t // what they hold and whether they do
}

// NewStream makes a stream. It fails with UnsupportedFeature if it asks for timestamps of
// a queue that has none.
func (d *Device) NewStream(o StreamOptions) (*Stream, error) {
	const op = "new stream"
	if o.Queue != ComputeQueue && o.Queue != TransferQueue || o.Timestamps < 0 {
		return nil, badCall(op, "queue %d, %d timestamps", o.Queue, o.Timestamps)
	}
	if o.Timestamps > 0 && (d.info.Limits.TimestampValidBits == 0 || o.Queue == TransferQueue && d.info.TransferQueue) {
		return nil, &Error{Cause: UnsupportedFeature, Op: op, Detail: "timestamps on this queue of " + d.info.Name}
	}
	if err := d.enter(op); err != nil {
		return nil, err
	}
	defer d.leave()
	s := &Stream{d: d, options: o, uses: map[*owner]bool{}, written: make([]bool, o.Timestamps),
		ticks: make([]C.uint64_t, 2*o.Timestamps)}
	r := C.vkc_stream_create(d.c, C.uint32_t(o.Queue), C.uint32_t(o.Timestamps), &s.c)
	if err := d.check(op, r, ""); err != nil {
		return nil, err
	}
	c := s.c
	s.owner = d.own(func() { C.vkc_stream_destroy(d.c, c) })
	d.childrenMu.Lock()
	d.streams[s] = struct{}{}
	d.streamed.Store(true)
	d.childrenMu.Unlock()
	return s, nil
}

// enter starts a call on the stream; leave ends it.
func (s *Stream) enter(op string) error {
	if err := s.d.enter(op); err != nil {
		return err
	}
	s.mu.Lock()
	if s.c == nil {
		s.leave()
		return &Error{Cause: Closed, Op: op, Detail: "the stream"}
	}
	return nil
}

func (s *Stream) leave() {
	s.mu.Unlock()
	s.d.leave()
}

// Begin starts a new recording. What the last one used is let go. It fails with BadCall
// while a submission has not been waited for.
func (s *Stream) Begin() error {
	const op = "begin"
	if err := s.enter(op); err != nil {
		return err
	}
	defer s.leave()
	if s.state == streamPending {
		return badCall(op, "a submission is in flight: Wait first")
	}
	s.reset()
	if err := s.d.check(op, C.vkc_stream_begin(s.d.c, s.c), ""); err != nil {
		return err
	}
	s.state = streamRecording
	return nil
}

// reset forgets the recording and lets go what it used.
func (s *Stream) reset() {
	s.state, s.err, s.bound, s.pushed = streamEmpty, nil, nil, false
	clear(s.written)
	for o := range s.uses {
		o.release()
	}
	clear(s.uses)
	s.releaseWaits()
}

func (s *Stream) releaseWaits() {
	for _, o := range s.waits {
		o.release()
	}
	s.waits = s.waits[:0]
}

// Submit ends the recording, if one is going on, and hands it to the device. It starts
// after the latest submissions of the streams after have ended, and sees their results.
// Between streams of one queue that is the only order. A stream that was never submitted
// counts as ended.
func (s *Stream) Submit(after ...*Stream) error {
	const op = "submit"
	semaphores, values, owners, err := s.gather(after)
	defer func() {
		for _, o := range owners {
			o.release()
		}
	}()
	if err != nil {
		return err
	}
	if err := s.enter(op); err != nil {
		return err
	}
	defer s.leave()
	if err := s.endRecording(op); err != nil {
		return err
	}
	s.releaseWaits() // the submission before this one has ended
	queue := s.d.queues[s.options.Queue]
	queue.Lock()
	r := C.vkc_stream_submit(s.d.c, s.c, unsafe.SliceData(semaphores), unsafe.SliceData(values),
		C.uint32_t(len(semaphores)))
	queue.Unlock()
	if err := s.d.check(op, r, ""); err != nil {
		return err
	}
	s.state = streamPending
	s.waits, owners = append(s.waits, owners...), nil
	return nil
}

// endRecording ends the recording, so that it can be submitted.
func (s *Stream) endRecording(op string) error {
	switch s.state {
	case streamEmpty, streamReady:
		if err := s.err; err != nil {
			s.err = nil
			return err
		}
		if s.state == streamEmpty {
			return badCall(op, "nothing is recorded: Begin first")
		}
	case streamPending:
		return badCall(op, "the last submission is in flight: Wait first")
	case streamRecording:
		C.vkc_cmd_barrier(s.d.c, s.c, C.VKC_STAGE_TRANSFER|C.VKC_STAGE_COMPUTE, C.VKC_STAGE_HOST)
		err := s.d.check(op, C.vkc_stream_end(s.d.c, s.c), "")
		if s.err != nil {
			err = s.err
		}
		if err != nil {
			s.reset()
			return err
		}
		s.state = streamReady
	}
	return nil
}

// gather returns the semaphores to wait for, with their owners retained. Without timeline
// semaphores it waits on the host instead.
func (s *Stream) gather(after []*Stream) (semaphores, values []C.uint64_t, owners []*owner, err error) {
	const op = "submit"
	if len(after) > maxAfter {
		return nil, nil, nil, badCall(op, "waits for %d streams, at most %d", len(after), maxAfter)
	}
	for _, other := range after {
		if other == s || other.d != s.d {
			return nil, nil, owners, badCall(op, "a stream waits for other streams of its device")
		}
		if !s.d.features.Has(TimelineSemaphore) {
			if err := other.settle(); err != nil {
				return nil, nil, owners, err
			}
			continue
		}
		if err := other.enter(op); err != nil {
			return nil, nil, owners, err
		}
		if other.c.value > 0 && other.owner.retain() {
			semaphores = append(semaphores, C.uint64_t(uintptr(unsafe.Pointer(other.c.timeline))))
			values = append(values, other.c.value)
			owners = append(owners, other.owner)
		}
		other.leave()
	}
	return semaphores, values, owners, nil
}

// settle waits for the latest submission without ending it: its own Wait still has to come.
func (s *Stream) settle() error {
	for {
		if err := s.enter("submit"); err != nil {
			return err
		}
		r := C.VkResult(C.VK_SUCCESS)
		if s.state == streamPending {
			r = C.vkc_stream_wait(s.d.c, s.c, C.uint64_t(waitSlice))
		}
		err := s.d.check("submit", r, "")
		s.leave()
		if r != C.VK_TIMEOUT {
			return err
		}
	}
}

// Wait waits until the latest submission has ended, at most timeout (0: without limit).
// It returns nil at once if there is none. After a Timeout error, or when ctx ends, which
// returns its cause, the work is still in flight and Wait may be called again.
func (s *Stream) Wait(ctx context.Context, timeout time.Duration) error {
	const op = "wait"
	start := time.Now()
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := s.enter(op); err != nil {
			return err
		}
		slice := waitSlice
		if timeout > 0 {
			slice = max(min(slice, timeout-time.Since(start)), 0)
		}
		err, done := s.step(op, slice), false
		if e, ok := err.(*Error); !ok || e.Cause != Timeout {
			done = true
		}
		s.leave()
		if done {
			return err
		}
		if timeout > 0 && time.Since(start) >= timeout {
			return &Error{Cause: Timeout, Op: op, Detail: fmt.Sprintf("work on %s has not ended in %v", s.d.info.Name,
				timeout)}
		}
	}
}

// step waits for the submission in flight, if there is one.
func (s *Stream) step(op string, limit time.Duration) error {
	if s.state != streamPending {
		return nil
	}
	err := s.d.check(op, C.vkc_stream_wait(s.d.c, s.c, C.uint64_t(max(limit, 0))), "")
	if err == nil {
		s.state = streamReady
		s.releaseWaits()
	}
	return err
}

// await is step for a caller that has the device to itself or holds the lock of the stream.
func (s *Stream) await(op string, limit time.Duration) error {
	if s.c == nil || s.d.lost.Load() {
		return nil
	}
	err := s.step(op, limit)
	if e, ok := err.(*Error); ok && e.Cause == Timeout {
		e.Detail = fmt.Sprintf("work on %s does not end; nothing was freed, Close may be called again", s.d.info.Name)
	}
	return err
}

// Times returns, for each timestamp slot, the time since the first slot that the latest
// submission wrote, and -1 for slots that the recording does not write. Call it after Wait.
func (s *Stream) Times() ([]time.Duration, error) { return s.AppendTimes(nil) }

// AppendTimes appends what Times returns to a slice, without allocating if it has room.
func (s *Stream) AppendTimes(out []time.Duration) ([]time.Duration, error) {
	const op = "read timestamps"
	if err := s.enter(op); err != nil {
		return out, err
	}
	defer s.leave()
	if s.state != streamReady || s.c.value == 0 || len(s.written) == 0 {
		return out, badCall(op, "no submission with timestamps has been waited for")
	}
	raw := s.ticks
	if err := s.d.check(op, C.vkc_stream_timestamps(s.d.c, s.c, &raw[0]), ""); err != nil {
		return out, err
	}
	first := -1
	for i, written := range s.written {
		if !written || raw[2*i+1] == 0 {
			out = append(out, -1)
			continue
		}
		if first < 0 {
			first = i
		}
		out = append(out, ticks(uint64(raw[2*first]), uint64(raw[2*i]), &s.d.info.Limits))
	}
	return out, nil
}

// ticks is the time from one timestamp to a later one, which may have wrapped around.
func ticks(from, to uint64, l *Limits) time.Duration {
	n := to - from
	if l.TimestampValidBits < 64 {
		n &= 1<<l.TimestampValidBits - 1
	}
	return time.Duration(float64(n) * l.TimestampPeriod)
}

// Close waits for the submission in flight and frees the stream. If the work does not end
// within DeviceOptions.CloseTimeout it returns a Timeout error and frees nothing.
func (s *Stream) Close() error {
	s.d.life.RLock()
	defer s.d.life.RUnlock()
	if s.d.c == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c == nil {
		return nil
	}
	if err := s.await("close", s.d.options.CloseTimeout); err != nil && !s.d.lost.Load() {
		return err
	}
	if s.d.lost.Load() {
		s.d.waitIdle() // returns at once on a lost device, and waits on one that a test calls lost
	}
	s.destroy()
	return nil
}

// destroy frees the stream, on which nothing is in flight.
func (s *Stream) destroy() {
	if s.c == nil {
		return
	}
	s.reset()
	s.c = nil
	s.d.childrenMu.Lock()
	delete(s.d.streams, s)
	s.d.childrenMu.Unlock()
	s.owner.release()
}

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
