// Package lanes is the SIMD kernel of derivatives, exact ones and those with Gumbel or Gaussian smoothing, in C: one
// row per lane in float64, four lanes to a vector. It supports signed distances and growth distances of all kinds of
// shapes, smooth hulls and smooth solids of revolution of at most 256 points. kernel.h lists its headers; the formulas
// are those of package derive.
//
// The kernel declines rows without an answer, invalid ones, those whose derivatives are not all those of the answer,
// and those that it cannot decide; package derive takes these one by one. Other rows agree with package derive to
// rounding, and have the same smoothness.
//
// The environment variable CLEARANCE_SIMD, which chooses the variant of the CPU kernels, counts here too: with "off"
// there is no kernel, with "portable" the portable variant.
//
// # Layers and threads
//
// lanes imports geom and batch. A [Table] may be used by several goroutines at once, a [Solver] by one. The results do
// not depend on how rows are cut into blocks. Without cgo there is no kernel: [TableOf] returns nil.
package lanes
