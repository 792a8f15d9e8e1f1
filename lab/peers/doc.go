// Package peers measures other collision libraries beside this one: the same pairs,
// the same question, rounds in turn, every answer checked.
//
// # Contestants
//
// A [Contestant] answers rounds and says how much CPU time its thread took. [NewOurs]
// is this module's CPU back end. [Start] runs a driver: a small program around one
// library, under drivers/, that reads the same files and times the library's own
// loop. `make peers` installs the libraries by package name into one folder of their
// own and builds the drivers there; [Open] starts those that are there and says why
// the others are not.
//
// # What the clock holds
//
// CPU time of the one thread that solves (CLOCK_THREAD_CPUTIME_ID), from poses to
// answers in the world frame. A driver's poses are already in the library's own
// type, and its clock starts behind that conversion; ours starts from the columns of
// package batch, conversion and validation included. Shapes, solvers and memory are
// ready for both. All contestants are pinned to the same core and run one at a time.
//
// # What is checked
//
// The reference solves every pair in double precision with a certified bound, see
// [Truth]. An answer counts as wrong only where it contradicts what is certified.
//
// # Derivatives
//
// [MeasureDerivatives] sets the derivatives of package derive beside finite differences
// over the calls of one peer: their time, and their error.
//
// # Layers, threads, errors
//
// peers imports geom, batch, cpu, dataset, dataset/generate, derive, verify (for the
// form of numbers in JSON) and lab/stats. A Contestant belongs to one goroutine. A driver
// that dies or does not answer fails with an error that quotes what it said; the
// others go on.
package peers
