// Package matrix measures throughput question by question: pairs a second by query,
// set, separation, precision, batch size, number of threads and back end, with the
// accuracy of the very same answers beside it.
//
// A [Plan] expands to [Case]s, a [Lab] measures them, a [Report] keeps what was found:
// as JSON that lab/regress compares, as Markdown, and as figures. Parts of a plan may
// be measured one after the other into the same report; [Report.Add] holds them
// together and refuses what is not of the same machine, program and settings.
//
// # What the clock holds
//
// End to end: from pairs in host memory to answers in host memory, results and library
// reused from call to call. Kernel: the solvers alone, by the clock of the device,
// where a back end has one. The cases of one set and separation run in turn, in a new
// order each round, so that a slow moment of the machine meets all of them.
//
// # Threads and errors
//
// A measurement runs on the calling goroutine; the back ends start what they were told
// to. Wrong and undecided answers are counted, not errors: [Report.Faults] says whether
// there are any.
package matrix
