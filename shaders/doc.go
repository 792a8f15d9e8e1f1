// Package shaders holds the compute shaders: GLSL sources, and the SPIR-V that `make shaders` compiles from them and
// that is part of the program.
//
// # Passes
//
// One invocation works on one row. A row meets these shaders in turn; only what works in double precision is trusted.
// engine/passes.go is the table of the passes, with their conditions and buffers.
//
//   - input.comp makes the indices of the row from its template, forms the relative pose in double precision, and sets
//     the initial direction.
//   - gjk.comp finds the simplex nearest to the origin in single precision, or for some pairs of smooth shapes a
//     direction along which the support function is stationary. On GPUs it runs twice: rows that a few steps do not
//     end are compacted into a list, by which the second run continues.
//   - prove_two_floats.comp, on devices with slow double precision or none, proves what it can of these results in sums
//     of two floats, for answers in single precision, and lists the other rows; input_two_floats.comp takes the place
//     of input.comp then.
//   - prove.comp forms the simplex anew in double precision, from its directions or the numbers of its corners, moves
//     the point nearest to the origin by one step, and writes the answer where the bounds suffice; of a stationary
//     direction it evaluates one support plane. It lists the rows that are left (list.glsl).
//   - box_axes.comp takes the list of the pairs of boxes, and finds the depths of intersecting ones by their separating
//     axes.
//   - trust_region.comp takes the list of the stationary directions, refines them and proves the answers in double
//     precision.
//   - certify.comp takes the list of all other rows, and of those that the two before do not prove. It continues
//     the search from the same simplex in double precision, and writes the answer with its bounds. Rows whose cores
//     intersect, or cannot be distinguished from touching, go to another list.
//   - epa_float32.comp takes the pairs of polytopes in the latter and finds their depth in single precision.
//   - depth_certificate.comp, where the method is rtr or auto, takes the local minima of the support function that
//     trust_region.comp put on the list, and proves that they are global.
//   - depth.comp answers the others: it proves the depths of epa_float32.comp, and finds the rest by EPA in double
//     precision.
//
// Growth distances take three passes after input.comp: growth.comp finds, in single precision, a triangle that the ray
// between the centers of growth crosses where it leaves the Minkowski difference; growth_prove.comp forms it anew in
// double precision, writes the answer where one support plane suffices, and lists the other rows; growth_certify.comp
// takes that list and continues the search.
//
// Where the caller wants derivatives, derivatives.comp takes the answers of all rows, as they are stored, and writes
// columns of derivatives, or products of their Jacobians. It leaves rows to the host, see its first lines.
// body_gradients.comp adds up products by body of a world; one invocation of it works on one body. Where bodies have
// parts, least.comp selects the pairs of parts that count before that (batch.Sums); one invocation of it works on one
// group, and derivatives.comp takes the products of these alone.
//
// Where the caller only wants some of the answers (batch.Reduction), reduce.comp copies them from the columns; one
// invocation of it works on a portion of up to 512 rows.
//
// selftest.comp checks the arithmetic and the record layout of a device, selftest_two_floats.comp sums of two floats.
//
// # Buffers and constants
//
// Every shader reads and writes storage buffers of set 0 and a QueryRecord of push constants, reduce.comp a
// ReductionRecord, derivatives.comp a DerivativeRecord, least.comp a LeastRecord, body_gradients.comp a BodyRecord. The
// records are those of layout.glsl, which is generated; tests compare the compiled code with them.
// A buffer has one name in all shaders, that of its block, and its number is that of the declaration: package engine
// reads both from the code ([Shader]). So it does with the specialisation constants:
//
//   - 0 is the size of a work group.
//   - METHOD is the method, KINDS are the kinds of shapes in the library (support.glsl).
//   - INVOCATIONS have scratch memory for a polytope of VERTICES (polytope.glsl). A list of depths that is longer takes
//     several dispatches.
//   - BOOLEAN says that the query is for a status alone, FINE that the tolerance is fine, GROWTH that the query is for
//     growth distances.
//   - FUSED says that fma() of floats rounds once, FINAL that no later pass answers rows.
//   - GUMBEL says that derivatives are those of smoothed shapes, PRODUCT which product of theirs is taken, if any.
//   - PHASE is that of gjk.comp. LISTED says that the pass takes a list.
//
// # Layers
//
// shaders imports nothing of this module. Its variables are constant; it has no state and returns no errors.
package shaders
