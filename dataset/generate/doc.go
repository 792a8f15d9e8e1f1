// Package generate makes seeded sets of pairs: a library of shapes and any number
// of rows that index it, each with a separation that is known beforehand.
//
// # Sets
//
// ellipsoids, boxes, capsule-cylinder-cone, hull8, hull32, hull128 and hull512 are
// the sets that libraries are compared on: semi-axes, half-extents, radii and
// half-lengths are log-uniform in 0.1 to 1 m, hulls are those of 8 to 512 points
// on such ellipsoids. mixed draws every kind against every kind equally often
// (two half-spaces are no question), half of the shapes with a margin.
// adversarial cycles through the cases that break solvers, see [Cases]. mesh
// draws pairs of the hulls of given mesh files.
//
// # Separations
//
// Row i overlaps by up to 0.1 m if i mod 3 is 0, is up to 0.1 m apart if it is 1,
// and 0.1 to 2 m apart if it is 2; adversarial rows choose for themselves.
// Rotations are uniform and positions lie within 5 m of the origin of the world.
//
// A pair is placed with the bodies apart, solved with package ref, and one body is
// moved along the normal. A positive separation is then exact, since the nearest
// points stay nearest along a fixed normal. A negative one is the overlap of the
// support planes along that normal, an upper bound of the true depth, which may
// be smaller along another normal.
//
// # Determinism
//
// A row depends on the set, the options, the seed and its index alone, so that
// chunks that are filled separately, in any order, agree. Different machines agree
// where their floating-point arithmetic does (compilers for arm64 fuse
// multiplications and additions, those for amd64 do not).
//
// # Layers and threads
//
// generate imports geom, geom/mesh, batch and ref. No other part of dataset
// needs a solver, but a separation cannot be placed without one. A Generator is
// safe for use by several goroutines.
package generate
