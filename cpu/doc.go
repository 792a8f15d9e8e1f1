// Package cpu is the back end that runs on the processor: the SIMD kernels of package
// kernels on a pool of goroutines, and the solvers of package ref for the rows that the
// kernels decline, or for all rows if there are no kernels.
//
// # Layers
//
// A [Backend] satisfies the interface that package dispatch declares; cpu does not import it. ARCHITECTURE.md lists
// what cpu imports.
//
// # Kernels
//
// [Options.SIMD], or else the environment variable CLEARANCE_SIMD, names the variant:
// avx512, avx2, neon, portable or off. A name that is unknown, or that the processor or the
// build does not have, is an error of [New]. [Backend.RowsBy] counts the rows of kernels and of ref.
// With the method Auto, the kernels take the fastest of their methods (see package kernels/pairs); with GJK or
// RTR, that method. A call that names Nesterov or Polyak is answered by ref alone.
//
// # Answers
//
// A row's answer depends on that row alone: it is bit-identical for any number of
// workers, any chunk, and any order of the rows, within one variant of the kernels.
// Variants differ in the last digits, within the gap.
//
// # Threads and errors
//
// A Backend may be used by several goroutines at once. Run starts its workers and
// waits for them; none outlives it. A row with bad input becomes Invalid. A panic in a
// solver becomes the error of Run, and names the row. Nothing is allocated per row.
package cpu
