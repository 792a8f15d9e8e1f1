// Package simd answers rows of a batch with SIMD kernels in C, one pair a lane: GJK in
// float32 to find a simplex, then float64 to recompute its vertices, to go on
// where float32 was not enough, and to certify the answer. Every answer has the
// bounds that package ref would give it; nothing that float32 computed is trusted.
//
// Pairs that a formula answers do not iterate: spheres and capsules among themselves,
// a sphere and a box, a half-space and anything, and whether two boxes intersect
// (closed.h). Their bounds are proved like all others; what a formula does not
// prove to the tolerance is iterated.
//
// Boxes, flat ones too, are answered in float64 from pose to columns without scratch in between:
// by Newton's method on the points of B where they are apart, by their axes where they overlap
// or only the status is asked (boxes.h).
//
// Pairs of ellipsoids and spheres are answered in float64 by Newton's method where they are
// apart (newton.h), and by the Riemannian trust region method where they are not (rtr.h), unless
// only the Boolean question is asked; what their own proofs do not settle goes on to GJK and
// EPA. Distances of superquadrics that are not too sharp, smooth hulls and revolutions, among themselves
// and with these, begin with the trust region method as well; where that is not so, they have the last digits
// of double precision from Newton's method. Who names GJK gets it, and who names RTR gets that on all of
// these pairs.
//
// Distances of cylinders, cones and frustums, with one another, with capsules and with spheres,
// are answered in float64 by Newton's method on alternating projections (feet.h), unless steps
// are capped. The Boolean question is answered by the first of these projections where it
// tells (feet_decide.h).
//
// GJK and Newton's method begin with the direction that ellipsoids of the extents of both cores
// give (first.h), unless there is a warm start.
//
// # What is left to the caller
//
// Rows that reach a cap on the iterations are undecided with the bounds that they have, but for
// those whose cores intersect: EPA's are left to the reference solvers, who end them at the same
// cap. So are all rows under a cap of one. With a cap there is no polishing of the last
// digits, and no deciding in float32.
//
// Kernels return the rows that they did not answer: invalid ones, shapes without a
// kernel, pairs on which float64 GJK stalls above the tolerance, and depths that EPA
// cannot end: a polytope that fills its memory, or a flat one. A row is answered or
// returned, never lost, and which of both depends on the row alone.
//
// Superquadrics, smooth hulls and smooth revolutions need powers, which the kernels compute
// with logarithms and exponentials of their own (elementary.h); what these round is part
// of the bounds (superquadric.h, smooth.h). Smooth shapes of more than 256 points have
// no kernel.
//
// Rows that overlap wait in a scratch of their own until there are enough of them (gather.h).
// Depths are found by EPA (epa.h), as many pairs at a time as there are float64
// lanes, those of boxes by separating axes, one pair a lane (epa_boxes.h), and those of
// cylinders and cones, and of smooth cores, by a local minimum, which needs only a coarse
// polytope (epa_surround.h), in float32 (epa_around.h).
//
// # Variants
//
// One source, a template over the instruction set (isa_*.h) and over float32 and
// float64, is compiled once for each variant into the same binary:
//
//	avx512    16 lanes of float32, 8 of float64   (AVX-512 F, DQ, VL, BW, FMA)
//	avx2       8 and 4                            (AVX2, FMA)
//	neon       4 and 2                            (64-bit ARM)
//	portable   4 and 2                            (vector extensions of the compiler)
//
// The choice is made at run time, so that every variant that a machine supports can
// be tested on it. Without cgo there are none.
//
// # Determinism
//
// Within a variant an answer depends, bit for bit, on its row alone: lanes do not
// see each other, and refilling a lane changes no arithmetic.
//
// # Layers and threads
//
// simd imports batch and geom. A Table and a Call may be used by several goroutines
// at once, a Solver by one at a time.
package simd
