// Package generate generates seeded sets of pairs: a library of shapes and any number of rows
// with shapes of it, each with a known separation.
//
// # Sets
//
// ellipsoids, boxes, capsule-cylinder-cone, hull8, hull32, hull128 and hull512 are the sets
// for comparisons with other libraries: semi-axes, half-extents, radii and half-lengths are
// log-uniform in 0.1 to 1 m, and hulls are those of 8 to 512 points on such ellipsoids. mixed
// draws every pair of kinds equally often (except two half-spaces), half of the shapes with a
// margin. adversarial cycles through cases that are difficult for solvers, see [Cases]. mesh
// draws pairs of the hulls of given mesh files.
//
// # Separations
//
// Row i penetrates by up to 0.1 m if i mod 3 is 0, has a distance of up to 0.1 m if it is 1,
// and of 0.1 to 2 m if it is 2; the separations of adversarial rows depend on the case.
// Rotations are uniform and positions lie within 5 m of the origin of the world.
//
// A pair is placed with separated bodies and solved with package ref, and one body is moved
// along the normal. A positive separation is then exact, since the closest points remain
// closest along a fixed normal. A negative one is the overlap of the support planes along that
// normal, an upper bound of the depth, which may be smaller along another normal.
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
// generate imports geom, geom/mesh, batch and ref. No other part of dataset needs a solver.
// A Generator is safe for use by several goroutines.
package generate
