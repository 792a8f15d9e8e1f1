// Package cpu is the back end that runs on the processor: the solvers of package
// ref on a pool of goroutines.
//
// # Layers
//
// cpu imports batch, geom and ref. A [Backend] satisfies the interface that
// package dispatch declares.
//
// # Answers
//
// A row's answer depends on that row alone: it is bit-identical for any number of
// workers, any chunk, and any order of the rows.
//
// # Threads and errors
//
// A Backend may be used by several goroutines at once. Run starts its workers and
// waits for them; none outlives it. A refused row becomes Invalid. A panic in a
// solver becomes the error of Run, and names the row. Nothing is allocated per row.
package cpu
