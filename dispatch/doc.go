// Package dispatch runs batches on back ends. It selects the back end, cuts the batch into
// chunks, so that memory is bounded for batches of any length, shares the chunks among
// several devices, reports progress, handles cancellation, replaces a back end that fails,
// and counts the answers.
//
// # Layers
//
// dispatch imports batch, and internal/fault for its workers. Back ends (packages cpu and engine) implement [Backend]
// without importing dispatch.
//
// # Selection of the back end
//
// Unless a back end is selected by name, each call runs on the one with the shortest
// estimated time. An estimate is a fixed cost per call and a cost per row, which depend on
// the kind of device, the query and the number of processors; so small batches run on the
// CPU. Estimates are declared and never measured at run time: the same call on the same
// machine runs on the same back end and gives the same bits. A batch of another size may
// run on another back end, whose answers agree within the gaps but not in every bit.
// Callers that need the same bits for all sizes select a back end by name. Vulkan drivers
// that emulate a GPU on the CPU come last. The report names the back end and the reason.
//
// # One plan a call
//
// [Dispatcher.Run] and its like check the options of the caller once, and Dispatcher.choose resolves them into the plan
// of a [Choice]: the back ends, each with its own plan of the call ([Backend].Plan: that it serves the options, and by
// which of its kernels), the columns that back ends and reports need, and who takes derivatives. A pool of members runs
// the plan; the job that a member is given carries the plan of this back end. Nothing below asks again.
//
// # Pipeline
//
// A batch of more than one chunk runs through a pipeline whose stages overlap. Chunks are
// read or cut; computed by the devices; completed, that is, rows that a device declined are
// answered by another back end while the device computes the next chunk; and settled in
// their order: counted, reported and written. The queues between stages are bounded.
// Devices that share a call take the next chunk whenever they are free. By default only
// devices with the same description share a call, so that the bits do not depend on
// timing. Unlike devices share a call only if both are named, as in "vulkan:0+cpu"; then
// the last digits of a row depend on which of them answered it.
//
// # The way of a declined row
//
// Every row of a chunk begins [batch.Unanswered] (newChunk, chunk.reset).
//
//  1. runner.compute calls the back end for the whole chunk (guard). A row that the back end
//     declines keeps that mark. If the back end declares that it declines no row, such a row is
//     an error, and runner.answer repeats the whole chunk on another back end (pool.replace).
//  2. stages.complete calls runner.completeChunk. chunk.declinedRows lists the unanswered rows,
//     chunk.subset copies them into a list of pairs, and the next back end of the pool answers
//     this list. scatter copies the answers to their rows, and the report counts a [Handover].
//     This repeats with the rows that are still unanswered, until none is left or no back end is.
//  3. runner.settle turns rows that all back ends have declined into Undecided with distance NaN
//     and gap +Inf, and counts them as not done.
//
// Within back end "cpu" the same happens once more, unseen by dispatch: rows that the SIMD
// kernels decline are answered by the reference solvers (worker.kernels in package cpu).
//
// # Answers
//
// The answers of one back end do not depend on chunks, workers or other rows. Rows that
// were not reached because of cancellation or a failure read as Undecided with distance NaN
// and gap +Inf, never as separated. A chunk whose device fails is answered again as a whole
// by another back end.
//
// # Concurrency and errors
//
// A [Dispatcher] may be used by several goroutines at once. No goroutine outlives the call
// that started it. Calls of Progress do not overlap, and its numbers never decrease. A call
// returns an error if it failed as a whole; an error in one row is in the [Report] and
// affects no other row.
package dispatch
