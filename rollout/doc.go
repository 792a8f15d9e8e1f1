// Package rollout answers queries between bodies of several convex parts in many worlds at once.
//
// A row is a pair of bodies in a world. Its answer is that of the nearest, or deepest, pair of parts of
// both bodies. A call forms the pairs of parts, rules out those whose bounds prove that they cannot matter,
// has the others answered by a back end (see package dispatch), and combines the answers by row or by world.
// Memory is bounded by a block of worlds, whatever the number of worlds.
//
// # The distance of a union
//
// The distance of two separated bodies is the least distance of their parts. Where bodies penetrate, the value
// is minus the depth of the deepest pair of parts. That is not the depth of the unions, which no pair of parts
// determines: a translation that separates the deepest pair may leave, or bring, another one in contact. It
// is a lower bound of the depth of the unions, since every translation that separates the bodies separates each pair
// of parts. The growth distance of a row is the least of its pairs of parts, each part growing about its own center
// ([batch.Library.GrowthCenter]); it is not that of the bodies as wholes.
//
// # Bounds
//
// A value is proved to lie in distance ± gap. The bounds of a row are the least lower and the least upper bound
// of all its pairs of parts, not those of the pair that attains the least. The bounds of a world are the same over
// its rows: a world is never better known than its rows.
//
// # Culling
//
// A pair of parts is culled, that is, not given to a solver, if bounding balls and oriented boxes prove that its
// distance exceeds [Options.MaxDistance], or that it cannot be the least. What is proved of it remains part of the
// answer.
// A row of which all pairs of parts are culled is [batch.Separated] by the solver [batch.SolverBounds], and
// distance − gap is a proved lower bound of its distance.
//
// # All pairs
//
// [batch.Worlds.AllPairs] asks for all pairs of bodies of a world in place of a template. A broad phase (package
// broadphase) finds the pairs whose boxes are within the largest distance; no other pair is nearer. The results are
// sparse: a pair without a row is proved to be separated, and beyond [Options.MaxDistance] if there is one. For
// the least of a world no largest distance is needed. Two half-spaces are an invalid pair here as well, so skip pairs
// of them.
//
// # Sweeps
//
// [Sweep] moves bodies along way points and finds the interval of their first contact, or a lower bound of their
// distance over the whole motion, proved in either case: see package sweep.
package rollout
