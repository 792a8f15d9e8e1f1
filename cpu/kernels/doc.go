// Package kernels answers rows of a batch with the kernels of package simd.
//
//	table.go    a library in the layout of the kernels
//	serves.go   the table of kernels: queries, methods, precisions and columns of each
//	solver.go   calls: the columns of a job and of its results, pinned
//	cull.go     pairs of bodies culled by their bounds
//
// A kernel answers a row or declines it; the caller passes declined rows on to package ref. Go reads the layout of
// structures from the headers api.h and cull_api.h, through cgo. Without cgo there are no kernels, and no call is
// supported.
//
// # Layers and threads
//
// kernels imports batch, geom and simd. A Table and a Call may be used by several goroutines at once, a Solver and a
// Culler by one at a time.
package kernels
