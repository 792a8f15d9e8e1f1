//go:build !cgo || 386 || arm || mips || mipsle

package vk

import (
	"context"
	"runtime"
	"time"
)

// Without cgo nothing can be opened, so the methods below are never reached; they exist
// so that the engine builds. A test holds this file to the same API as the others.

func noCgo(op string) error {
	return &Error{Cause: NoCgo, Op: op, Detail: runtime.GOOS + "/" + runtime.GOARCH}
}

// Instance is a connection to Vulkan; here there is none.
type Instance struct{}

// Open fails with NoCgo.
func Open(Options) (*Instance, error) { return nil, noCgo("open") }

// Devices returns nothing.
func (in *Instance) Devices() []DeviceInfo { return nil }

// Messages returns nothing.
func (in *Instance) Messages() []string { return nil }

// OpenDevice fails with NoCgo.
func (in *Instance) OpenDevice(int, DeviceOptions) (*Device, error) {
	return nil, noCgo("open device")
}

// Close does nothing.
func (in *Instance) Close() error { return nil }

// Device is an open device; here there is none.
type Device struct{}

// Info returns nothing.
func (d *Device) Info() DeviceInfo { return DeviceInfo{} }

// Features returns none.
func (d *Device) Features() Feature { return 0 }

// Lost returns true: nothing can be done.
func (d *Device) Lost() bool { return true }

// SaveCache fails with NoCgo.
func (d *Device) SaveCache() error { return noCgo("save pipeline cache") }

// Alloc fails with NoCgo.
func (d *Device) Alloc(uint64, MemoryKind) (*Block, error) { return nil, noCgo("allocate") }

// Import fails with NoCgo.
func (d *Device) Import([]byte) (*Block, error) { return nil, noCgo("import host memory") }

// AlignedBytes returns size zero bytes.
func (d *Device) AlignedBytes(size int) []byte { return make([]byte, size) }

// NewPipeline fails with NoCgo.
func (d *Device) NewPipeline([]byte, PipelineOptions) (*Pipeline, error) {
	return nil, noCgo("compile pipeline")
}

// NewStream fails with NoCgo.
func (d *Device) NewStream(StreamOptions) (*Stream, error) { return nil, noCgo("new stream") }

// Close does nothing.
func (d *Device) Close() error { return nil }

// Block is an allocation of memory; here there is none.
type Block struct {
	d       *Device
	mapping []byte
}

// Size returns 0.
func (b *Block) Size() uint64 { return 0 }

// Kind returns the first kind.
func (b *Block) Kind() MemoryKind { return 0 }

// Flags returns none.
func (b *Block) Flags() MemoryFlag { return 0 }

// Whole returns an empty buffer.
func (b *Block) Whole() Buffer { return Buffer{} }

// Bytes returns nil.
func (b *Block) Bytes() []byte { return nil }

// Close does nothing.
func (b *Block) Close() error { return nil }

func (b *Block) address() uint64                 { return 0 }
func (b *Block) flush(offset, size uint64) error { return noCgo("flush") }

func (b *Block) invalidate(offset, size uint64) error { return noCgo("invalidate") }

// Pipeline is a compiled shader; here there is none.
type Pipeline struct{}

// Options returns nothing.
func (p *Pipeline) Options() PipelineOptions { return PipelineOptions{} }

// Statistics fails with NoCgo.
func (p *Pipeline) Statistics() (map[string]uint64, error) { return nil, noCgo("read statistics") }

// Close does nothing.
func (p *Pipeline) Close() error { return nil }

// Stream records commands; here there is none.
type Stream struct{}

// Begin fails with NoCgo.
func (s *Stream) Begin() error { return noCgo("begin") }

// Submit fails with NoCgo.
func (s *Stream) Submit(...*Stream) error { return noCgo("submit") }

// Wait fails with NoCgo.
func (s *Stream) Wait(context.Context, time.Duration) error { return noCgo("wait") }

// Times fails with NoCgo.
func (s *Stream) Times() ([]time.Duration, error) { return nil, noCgo("read timestamps") }

// Close does nothing.
func (s *Stream) Close() error { return nil }

// Bind does nothing; Submit says why.
func (s *Stream) Bind(*Pipeline, ...Buffer) {}

// Push does nothing; Submit says why.
func (s *Stream) Push([]byte) {}

// Dispatch does nothing; Submit says why.
func (s *Stream) Dispatch(x, y, z uint32) {}

// DispatchIndirect does nothing; Submit says why.
func (s *Stream) DispatchIndirect(Buffer) {}

// Copy does nothing; Submit says why.
func (s *Stream) Copy(dst, src Buffer) {}

// Fill does nothing; Submit says why.
func (s *Stream) Fill(Buffer, uint32) {}

// Barrier does nothing; Submit says why.
func (s *Stream) Barrier(from, to Stage) {}

// AppendTimes fails with NoCgo.
func (s *Stream) AppendTimes(out []time.Duration) ([]time.Duration, error) {
	return out, noCgo("read timestamps")
}

// Timestamp does nothing; Submit says why.
func (s *Stream) Timestamp(int) {}

// LiveHandles returns an empty map.
func LiveHandles() map[string]int { return map[string]int{} }

// FaultPoints returns nothing.
func FaultPoints() []string { return nil }

// Inject does nothing.
func Inject(Fault) (disarm func()) { return func() {} }
