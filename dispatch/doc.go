// Package dispatch runs batches on back ends: it chooses who answers, cuts the batch into
// chunks so that memory stays bounded at any length, shares them among several devices,
// reports progress, obeys cancellation, moves on to the next back end when one fails, and
// counts the answers.
//
// # Layers
//
// dispatch imports batch only. Back ends (packages cpu and engine) satisfy
// [Backend] without importing dispatch.
//
// # Choice
//
// Unless a back end is asked for by name, each call goes to the one with the shortest
// estimate: a fixed cost of the call and a cost of the row, for the kind of device, the
// query, the number of rows and the number of processors; so small batches go to the
// CPU. Estimates are declared, never measured while running: the same call on the same
// machine goes to the same back end, and its bits can be relied on. A batch of another
// size may go to another one, whose answers agree within the gaps but not in every bit;
// who needs more names a back end. A Vulkan driver that emulates a GPU on the CPU is
// asked last. The report says who was chosen and why.
//
// # The way of a chunk
//
// A batch of more than one chunk runs through stages at the same time: chunks are read
// or cut, computed by the devices, finished (rows that a device declines are answered by
// another back end while the device has the next chunk), and settled in order: counted,
// reported, written. Queues between stages are bounded. Devices that share a call take
// the next chunk whenever they are free; auto shares among devices only that describe
// themselves alike, so that the bits do not depend on who was free. Unlike devices share
// where they are named so, as "vulkan:0+cpu", and then the last digits of a row do
// depend on it.
//
// # Answers
//
// Answers of one back end do not depend on chunks, on workers or on the order of other
// rows. Rows that were not reached, through cancellation or failure, read as Undecided
// with distance NaN and gap +Inf; they never look separated. A chunk whose device fails
// is answered anew by another one as a whole: what the failed one wrote is thrown away.
//
// # Threads and errors
//
// A [Dispatcher] may be used by several goroutines at once. No goroutine outlives
// the call that started it. Progress is called from one goroutine at a time, with
// numbers that never fall. An error of a whole call is returned; an error of one
// row is in the [Report] and costs no other row.
package dispatch
