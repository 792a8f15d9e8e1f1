// Package engine is the back end "vulkan": it answers batches on a GPU, or on any other
// Vulkan device.
//
// # The way of a chunk
//
// The rows of a call are cut into chunks that fit the device. What makes the rows is
// written to memory that the device reads, the shaders of package shaders run one after
// the other, and the columns come back. Two chunks are under way at a time: while one
// is computed the other is read or written. Libraries are uploaded once and kept.
//
// Worlds are expanded on the device: one pose a body, and one list of template pairs, go
// there. A pair list goes as one world whose every pair has two bodies of its own. Rows
// whose shapes differ in kind, or in number of vertices to a power of two, are worked on
// sorted by that, so that neighbours take the same way; answers stand at their rows.
//
// [Backend.Hold] keeps a batch on the device between calls. Its commands are recorded
// once, and a step of a rollout moves poses in and answers out and allocates nothing.
//
// # Opening
//
// [Open] has the device add, multiply, divide and take roots of doubles, and read records
// of each type, and refuses one that is off. Compiled shaders are kept in the user's
// cache folder, a file for each device, driver and version of the shaders; [Backend.Warm]
// compiles all of them at once.
//
// # Answers
//
// An answer was certified on the device in double precision: it holds whatever single
// precision did before, see trust_region.comp and certify.comp. Depths, of boxes by their axes and of all
// others by polytopes in memory of a fixed size, come from depth.comp, which takes the rows
// whose cores overlap from a list. A row that the device cannot end, because its polytope
// fills up or because the bounds stay too wide, is declined: its status stays as it was, and
// the dispatcher has another back end answer it. Answers are bit-identical on one device and
// driver, whatever the chunks and the other rows.
//
// # Methods
//
// auto answers pairs of ellipsoids, and those with a sphere, by the Riemannian trust region
// method, which finds distances and depths alike, and others by GJK. rtr asks for it on all
// pairs of smooth kinds. Where they overlap, depth.comp proves that the minimum is the lowest, or
// finds a lower one, see depth_certificate.glsl. What that leaves goes on as if GJK had been asked for.
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
// their turn, and so do calls on one held batch. No goroutine outlives a call. Close waits
// for the calls under way, and later ones return [ErrClosed]. Errors are those of the Vulkan layer: no
// loader, no driver, no device, out of memory, device lost, timeout, each with what to do
// about it. After a lost device or a timeout the back end reports itself unusable.
//
// # Layers
//
// engine imports batch, shaders and engine/internal/vk. A Backend satisfies the interfaces
// that package dispatch declares.
package engine
