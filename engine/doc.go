// Package engine is the back end "vulkan": it answers batches on a GPU, or on any other
// Vulkan device.
//
// # The way of a chunk
//
// The rows of a call are cut into chunks that fit the device. Poses and indices of a
// chunk are written to memory that the device reads, the shaders of package shaders
// run one after the other, and the columns come back. Two chunks are under way at a
// time: while one is computed the other is read or written. Libraries are uploaded
// once and kept.
//
// # Answers
//
// An answer was certified on the device in double precision: it holds whatever single
// precision did before, see certify.comp. A row that the device cannot end, because the
// cores overlap so that a depth is asked for, because the bounds stay too wide, or
// because there is no shader for a kind of shape, is declined: its status stays as it
// was, and the dispatcher has another back end answer it. Answers are bit-identical on
// one device and driver, whatever the chunks and the other rows.
//
// # Devices
//
// A device needs Vulkan 1.1 and shaderFloat64. [Open] takes the best there is: discrete,
// integrated, virtual, then software; or the one that the options or the environment
// variable CLEARANCE_DEVICE name. Without cgo, Open fails and says so.
//
// # Threads and errors
//
// A [Backend] may be used by several goroutines at once; calls beyond the second wait for
// their turn. No goroutine outlives a call. Errors are those of the Vulkan layer: no
// loader, no driver, no device, out of memory, device lost, timeout, each with what to do
// about it. After a lost device or a timeout the back end reports itself unusable.
//
// # Layers
//
// engine imports batch, shaders and engine/internal/vk. A Backend satisfies the interfaces
// that package dispatch declares.
package engine
