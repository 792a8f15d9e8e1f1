// Package derive runs the kernels of derivatives, exact ones and those with Gumbel or Gaussian smoothing, in C: one row
// per lane in float64, in the dialect of package kernels/isa, compiled for AVX-512, AVX2, NEON and any processor
// (portable). They support signed distances and growth distances of all kinds of shapes, smooth hulls and smooth solids
// of revolution of at most 256 points. include/kernel.h lists the headers; the formulas are those of clearance/derive.
//
// A kernel declines rows without an answer, invalid ones, those whose derivatives are not all those of the answer, and
// those that it cannot decide; clearance/derive takes these one by one. Other rows agree with it to rounding, and have
// the same smoothness.
//
// The environment variable CLEARANCE_SIMD, which chooses the variant of the kernels of pairs, counts here too: with
// "off" there is no kernel. A [Call] may name another variant.
//
// # Layers and threads
//
// derive imports geom, batch, kernels and the packages that compile the variants. A [Table] may be used by several
// goroutines at once, a [Solver] by one. The results do not depend on how rows are cut into blocks. Without cgo there
// is no kernel: [TableOf] returns nil.
package derive
