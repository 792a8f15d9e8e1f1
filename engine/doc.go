// Package engine is the back end "vulkan": it answers batches on a GPU, or on any other Vulkan device.
//
// # Chunks
//
// The rows of a call are divided into chunks that fit the device. For each chunk the input is written to memory that
// the device reads, the passes of a query run one after the other, and the columns are read back. Two chunks are in
// progress at a time: while one is computed, the other is read or written. Libraries are uploaded once and kept.
//
// passes.go is the table of the passes: the shader of each, the rows that it takes, the buffers that it reads and
// writes, and when it is in the chain.
//
// Worlds are expanded on the device: it receives one pose per body and one list of template pairs. A pair list is one
// world in which every pair has two bodies of its own. Rows whose shapes differ in kind, or in the number of vertices
// to a power of two, are sorted by these, so that neighbouring invocations execute the same code; answers are stored by
// row.
//
// [Backend.Hold] keeps a batch on the device between calls. Its commands are recorded once, and a step of a rollout
// transfers poses and answers and allocates nothing.
//
// Where the caller combines answers ([batch.Reduction]), [Backend.RunReduced] reads back those that matter and counts
// of the others, which reduce.comp copies to a buffer. Where that would save little, or many rows are returned beside
// declined ones, the columns are read as in any call.
//
// Where the results have columns of derivatives that [Backend.Derives] accepts, derivatives.comp takes the answers
// where they are, and its columns are read with them. Chunks are smaller then. Rows that it leaves keep the smoothness
// batch.NotDerived, and package derive takes them from their answers. [Backend.Multiply] multiplies derivatives with
// vectors, and adds up the gradients of worlds by body, also of bodies of parts: these are read back, and the answers
// are not.
//
// # Opening
//
// [Open] checks that the device adds, multiplies, divides and takes square roots as certificates require, of doubles
// and of sums of two floats, and reads every type of record correctly; otherwise it returns an error. Compiled shaders
// are kept in the user's cache folder, one file for each device, driver and version of the shaders; [Backend.Warm]
// compiles all of them at once, [Backend.WarmDerivatives] those of derivatives. A program may have new devices tried in
// a process of its own first ([Options.Probe]), because no process survives a driver that crashes.
//
// # Answers
//
// Single precision searches, and nothing rests on its results: every answer is proved on the device, in double
// precision or in sums of two floats ([Proof]). A row that the device cannot prove is declined: its polytope fills its
// memory, its bounds stay too wide, its loops exceed the limit, or it takes double precision, which the device lacks.
// Its mark stays [batch.Unanswered], and the dispatcher has another back end answer it. A query for a column that the
// shaders do not compute is refused. Answers are bit-identical on one device and driver, whatever the chunks and the
// other rows.
//
// # Methods
//
// auto answers pairs of ellipsoids, and those with a sphere, by the Riemannian trust region method, which finds
// distances and depths alike, and others by GJK. rtr uses that method for all pairs of smooth kinds. For penetrating
// pairs depth_certificate.comp proves that the local minimum is global, or finds a smaller one. Rows that this does not
// answer continue as with the method gjk.
//
// Growth distances have one method, auto: the simplex method of [Growth]. growth.comp searches in single precision,
// growth_prove.comp proves the bounds, growth_certify.comp continues where they are too wide. Half-spaces are answered
// by a formula.
//
// # Devices
//
// A device needs Vulkan 1.1. Where double precision is slow, answers in single precision are proved in sums of two
// floats first. A device without it declines the rows that these do not prove, and all rows in double precision and of
// growth distances. [Open] chooses the best device: hardware before software, then those with double precision, then
// discrete, integrated and virtual GPUs; or the one that the options or the environment variable CLEARANCE_DEVICE name.
// Without cgo, Open returns an error.
//
// # Threads and errors
//
// A [Backend] may be used by several goroutines at once; calls beyond the second wait, and so do calls on one held
// batch. No goroutine outlives a call. Close waits for the calls in progress, and later ones return [ErrClosed]. Errors
// are those of the Vulkan layer: no loader, no driver, no device, out of memory, device lost, timeout, each with what
// to do about it. After a lost device or a timeout the back end reports itself unusable.
//
// # Layers
//
// engine imports batch, geom, internal/layout, shaders and engine/internal/vk. A Backend satisfies the interfaces that
// package dispatch declares.
package engine
