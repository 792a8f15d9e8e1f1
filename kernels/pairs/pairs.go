// Package pairs holds the headers of the kernel of distances, intersections and depths (kernel.h). It answers rows of
// a batch, one pair per lane; package kernels makes the calls. GJK finds a simplex in float32. Float64 recomputes its
// vertices, continues where float32 was not accurate enough, and certifies the answer. Every answer has a certificate;
// no bound rests on an uncertified float32 result.
//
// # Methods
//
// Closed forms (closed_forms.h) answer spheres and capsules among themselves, a sphere and a box, a half-space and
// any shape, and the query collide of two boxes. Rows whose bounds do not meet the tolerance go on to the
// iterative solvers.
//
// Boxes, including flat ones, are answered in float64 (box_distance.h): separated pairs by Newton's method,
// penetrating pairs and the query collide by separating axes (box_axes.h).
//
// Ellipsoids and spheres are answered in float64, by Newton's method if they are separated (smooth_pairs.h) and by the
// Riemannian trust region method if they penetrate (trust_region.h), except for the query collide. Rows that these
// do not certify go on to GJK and EPA. Distances of superquadrics that are not too sharp, smooth hulls and
// smooth revolutions, among themselves and with ellipsoids, start with the trust region method as well. In
// double precision Newton's method computes the last digits of the other smooth pairs (smooth_pairs.h). A call that
// names GJK gets GJK, and one that names RTR gets RTR on all smooth pairs.
//
// Distances of cylinders, cones and frustums, with one another, with capsules and with spheres, are answered in
// float64 by Newton's method on alternating projections (alternating_projection.h), unless the call limits the
// iterations. For the query collide the first projection is enough where it proves the status (boolean.h).
//
// GJK and Newton's method start from a warm start, or else from the normal that ellipsoids with the extents of both
// cores give (initial_direction.h).
//
// Penetrating rows are compacted into full vectors (kernel.h). Their depths are found by EPA (epa.h), those of
// boxes by separating axes (box_axes.h), and those of cylinders, cones and smooth cores as local minima with a
// depth certificate, which needs only a coarse polytope in float32 (depth_certificate.h).
//
// The powers of superquadrics, smooth hulls and smooth revolutions are computed by elementary.h. Their rounding
// errors are part of the rounding bounds (support.h).
//
// Growth distances have kernels of their own (growth.h). Two spheres and half-spaces have formulas, two boxes
// their separating axes, pairs of smooth cores Newton's method on the convex dual, all others the simplex method.
// Float32 searches, and three support points in float64 prove both bounds; rows for which these do not suffice
// continue in float64. Warm starts are not used, and calls that limit the iterations go to the reference solvers.
//
// # Declined rows
//
// Kernels decline rows, and the reference solvers answer them: invalid rows, shapes without a kernel (such as smooth
// shapes of more than 256 points), pairs on which GJK in float64 stalls above the tolerance, and depths for
// which EPA's polytope fills its memory or is flat. Each row is answered or declined, and which of both depends on
// the row alone.
//
// Rows that reach the iteration limit are undecided, with the bounds that they have. If their cores intersect, they
// are declined, and the reference solvers stop at the same limit. With a limit of one all rows are declined. With
// any limit the kernels do not refine the last digits and do not decide statuses in float32.
//
// # Files
//
// ARCHITECTURE.md lists the headers in the order in which a pair meets them; a header with mathematics opens with its
// formulas. Each includes the headers that it uses. A template over REAL_BITS is included once for float32 and once
// for float64, with a guard for each. real32.h and real64.h select the precision. A header of one precision leaves
// that precision selected.
//
// # Determinism
//
// Within a variant an answer depends, bit for bit, on its row alone: no arithmetic crosses the lanes of
// different rows, and refilling a lane changes none.
//
// # Threads
//
// A kernel may be called by several goroutines at once, each with scratch memory of its own.
package pairs

import "embed"

// Headers are the files that packages of kernels include.
//
//go:embed *.h
var Headers embed.FS
