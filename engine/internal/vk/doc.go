// Package vk is the thin layer between the engine and Vulkan: compute only, Vulkan 1.1
// and newer, opened at run time.
//
// Layers. C code in this folder builds every Vulkan structure and owns every handle; the
// Go code holds opaque pointers to C objects and does the checking. The loader is opened
// with dlopen, so the binary starts without Vulkan; the part of the ABI in use is
// declared in abi.h, so it builds without Vulkan headers, and a test compares abi.h with
// the official ones. The bindings of github.com/vulkan-go/vulkan are not used, not even
// for constants: their calls that take slices of structures or strings free memory while
// Vulkan reads it, they stop at Vulkan 1.1.88, and the constants that remain are few.
// Nothing here depends on when the garbage collector runs: there is no finalizer, no Go
// pointer stays in C after a call (host memory to import is pinned), and what is not
// closed lives until its Device or Instance is.
//
// Objects. An [Instance] lists devices and opens them. A [Device] allocates blocks of
// memory ([Block], cut into ranges called [Buffer] by an [Arena] or a [Pool]), compiles
// a [Pipeline] from SPIR-V, and makes streams. A [Stream] records commands, submits them
// and waits for them; several streams are several submissions in flight.
//
// Threads. Every method may be called from any goroutine. Methods of one Stream, and of
// one Arena, must not run at the same time, except that closing is always allowed.
// Bytes of mapped memory are plain memory: a program that shares them synchronises accesses, with the
// device by Wait.
//
// Lifetimes. Close of anything may be called twice. Closing a Block, Pipeline or Stream
// that a recording still uses takes effect when that Stream records anew or is closed.
// Closing a Device waits for the work on it and closes all that belongs to it; closing an
// Instance closes its devices. If work on a device does not end, Close returns a Timeout
// error and frees nothing, since the device still writes to the memory.
//
// Errors. Every error is an [*Error] with a [Cause], which errors.Is finds:
//
//	if errors.Is(err, vk.DeviceLost) { … }
//
// Two are left to the context package: what the context of a Wait ended with. After
// DeviceLost every call on that device returns DeviceLost; close it and open it again.
//
// Without cgo, and on 32-bit systems, the package builds and Open returns NoCgo.
package vk
