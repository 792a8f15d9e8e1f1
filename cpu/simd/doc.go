// Package simd answers rows of a batch with SIMD kernels in C, one pair a lane: GJK in
// float32 to find a simplex, then float64 to recompute its vertices, to go on
// where float32 was not enough, and to certify the answer. Every answer has the
// bounds that package ref would give it; nothing that float32 computed is trusted.
//
// Pairs that a formula answers do not iterate: spheres and capsules among themselves,
// a sphere and a box, a half-space and anything, and whether two boxes intersect
// (closed_forms.h). Their bounds are proved like all others; what a formula does not
// prove to the tolerance is iterated.
//
// Boxes, flat ones too, are answered in float64 from pose to columns without scratch in between:
// by Newton's method on the points of B where they are apart, by their axes where they overlap
// or only the status is asked (box_distance.h).
//
// Pairs of ellipsoids and spheres are answered in float64 by Newton's method where they are
// apart (newton.h), and by the Riemannian trust region method where they are not (trust_region.h), unless
// only the Boolean question is asked; what their own proofs do not settle goes on to GJK and
// EPA. Distances of superquadrics that are not too sharp, smooth hulls and revolutions, among themselves
// and with these, begin with the trust region method as well; where that is not so, they have the last digits
// of double precision from Newton's method. Who names GJK gets it, and who names RTR gets that on all of
// these pairs.
//
// Distances of cylinders, cones and frustums, with one another, with capsules and with spheres,
// are answered in float64 by Newton's method on alternating projections (alternating_projection.h), unless steps
// are capped. The Boolean question is answered by the first of these projections where it
// tells (boolean.h).
//
// GJK and Newton's method begin with the direction that ellipsoids of the extents of both cores
// give (initial_direction.h), unless there is a warm start.
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
// of the bounds (support_smooth.h). Smooth shapes of more than 256 points have
// no kernel.
//
// Rows that overlap wait in a scratch of their own until there are enough of them (compaction.h).
// Depths are found by EPA (epa.h), as many pairs at a time as there are float64
// lanes, those of boxes by separating axes, one pair a lane (box_depth.h), and those of
// cylinders and cones, and of smooth cores, by a local minimum, which needs only a coarse
// polytope in float32 (depth_certificate.h).
//
// # Files
//
// Each header includes what it needs. Those that are templates over REAL_BITS are read once for float32 and
// once for float64, under a guard for each; real32.h and real64.h select the precision, and a header of one
// precision ends in that.
//
//	kernel.h                  the stages of a call, in order
//	api.h, classes.h          what Go and C share: table, call, scratch; classes of cores
//	isa.h                     vectors of the instruction set: isa_avx512.h, isa_avx2.h (isa_x86.h), isa_neon.h, isa_vec.h
//	real32.h, real64.h        select float32 or float64
//	vec3.h, tangent.h         vectors, rotations; 2-vectors and 2×2 forms of tangent planes
//	elementary.h              logarithm and exponential
//	input.h, pose_float32.h   rows, validation, relative poses; the pose in float32 for Boolean queries
//	groups.h                  groups of rows that are answered alike
//	cores.h                   what the lanes keep of the cores of their pairs
//	support.h                 support functions: support_smooth.h, support_hull.h (direction_cells.h)
//	hessian.h                 Hessians of support functions
//	hessian_bounds.h          their lower bounds over spherical caps
//	initial_direction.h       first directions
//	closed_forms.h            formulas for spheres, capsules, half-spaces, and the Boolean query of boxes
//	box_axes.h, box_depth.h   separating axes of boxes: the Boolean query in float32; depths
//	box_distance.h            distances of boxes
//	projection.h              closest points of cylinders, cones, frustums and segments
//	alternating_projection.h  their distances
//	simplex.h                 the distance sub-algorithm of GJK
//	lanes.h, gjk.h            lanes and their refilling; the loop of GJK
//	boolean.h                 statuses decided in float32
//	newton.h, refine.h        Newton's method on smooth pairs; the last digits of the others
//	trust_region.h            the Riemannian trust region method
//	smooth_pairs.h            answers of smooth pairs by both
//	epa.h, epa_surface.h      EPA in float64 and its polytope
//	epa_float32.h             EPA in float32: epa_float32_surface.h, epa_retriangulate.h
//	epa_float32_proof.h       its proof in float64
//	depth_rims.h              local minima of the support function of two cylinders or cones, and their caps
//	depth_minimum.h           local minima of these and of smooth pairs
//	depth_certificate.h       that such a minimum is global
//	compaction.h              penetrating rows compacted into full vectors
//	certify.h, store.h        bounds in float64; the answer columns
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
