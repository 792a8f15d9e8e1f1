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
