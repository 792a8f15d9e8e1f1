// Package dispatch runs batches on back ends: it chooses the device, cuts the
// batch into chunks so that memory stays bounded at any length, reports progress,
// obeys cancellation, moves on to the next back end when one fails, and counts the
// answers.
//
// # Layers
//
// dispatch imports batch only. Back ends (packages cpu and engine) satisfy
// [Backend] without importing dispatch.
//
// # Answers
//
// Answers do not depend on chunks, on workers or on the order of other rows.
// Rows that were not reached, through cancellation or failure, read as Undecided
// with distance NaN and gap +Inf; they never look separated.
//
// # Threads and errors
//
// A [Dispatcher] may be used by several goroutines at once. No goroutine outlives
// the call that started it. Progress is called from one goroutine at a time, with
// numbers that never fall. An error of a whole call is returned; an error of one
// row is in the [Report] and costs no other row.
package dispatch
