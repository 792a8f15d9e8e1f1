// Package ref holds the reference solvers: float64, clarity first, one method per
// file, each citing its paper. Everything else in the project is measured
// against them, so ref imports geom only and shares no packing code.
//
// A query is posed on a [Pair], the Minkowski difference D = core(A) − core(B) in
// a frame attached to A: [NewPair] forms the relative pose in float64. Every
// solver takes [Options] and returns a [Result] that carries certified bounds
// lower ≤ true value ≤ upper, rounding included. Lengths are in metres.
//
// [Solve] is the composition that callers want: closed form where one is exact,
// a GJK-family solver for the distance of the cores, EPA when the cores intersect.
//
// [Growth] answers another query, the growth distance: the factor by which both shapes, scaled about
// their centers, touch.
//
// [Contacts] are problems of another sort: contact impulses of rigid bodies, in dense form, with the solvers of
// [ContactSolvers]. These allocate.
//
// No other solver allocates once its [Workspace] has grown. A Pair and its
// Workspace belong to one goroutine; everything else is safe to share.
package ref
