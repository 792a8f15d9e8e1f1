// Package geom is the mathematics of the shapes: convex sets in float64, with
// support points, Hessians of the support function, signed distances, bounds
// and poses.
//
// # Conventions
//
// Lengths are metres, angles radians. Every shape lives in its own local frame;
// a [Pose] places it in the world: x_world = R(q)·x_local + p with q = (w,x,y,z).
//
// Every shape is the Minkowski sum of a core and a ball: S = core ⊕ B(Radius).
// A sphere is a point with a radius, a capsule a segment with a radius, and a
// margin adds to the radius of whatever it wraps. Solvers work on the cores and
// account for the radii exactly, see [Shape].
//
// # Layers and threads
//
// geom imports nothing of this module but its own sub-packages (hull, mesh).
// A Shape is immutable once built and safe for use by any number of goroutines.
// No method allocates unless it says so.
package geom
