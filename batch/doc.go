// Package batch holds the columns: the shape library, poses, pairs and results, and the
// only validation of input.
//
// # Conventions
//
// Metres and radians; quaternions are (w, x, y, z). Columns of vectors are
// row-major: position [N,3] is a slice of 3·N numbers. Results stand at the
// index of their input row.
//
// # Threads
//
// A [Library] is immutable after building. Inputs are read only. [Results] may be
// written by several goroutines as long as their rows are disjoint.
package batch
