// Package hull builds the convex hull of 1 to 65,535 points of R³ and answers
// support queries on it.
//
// The hull may be a point, a segment, a flat polygon or a polyhedron;
// duplicate, collinear, coplanar and interior points are tolerated. Every
// combinatorial decision is made by the sign of a determinant that is computed
// exactly (a floating-point filter, then expansion arithmetic: Shewchuk, Adaptive
// Precision Floating-Point Arithmetic and Fast Robust Geometric Predicates, 1997),
// so the result is the hull of the given coordinates, not an approximation of it:
// no point lies above any facet, by however little, and every vertex is extreme.
// The construction is quickhull with conflict lists (Barber, Dobkin and Huhdanpaa,
// The Quickhull Algorithm for Convex Hulls, 1996).
//
// The Go libraries for 3D hulls decide with a floating-point tolerance:
// github.com/markus-wa/quickhull-go is a port of akuukka/quickhull, whose open issue
// 23 shows surfaces that are not convex, and the one in EngoEngine/glm is float32. A
// missing vertex would falsify every certificate built on the support function, so
// this package has its own construction.
//
// # Range
//
// Coordinates are finite, at most 1e9 in magnitude. A coordinate smaller than
// 2⁻³⁰⁰ (5e-91) in magnitude counts as zero: above it, products of three
// coordinate differences and their rounding errors are multiples of 2⁻¹⁰⁵⁶, so
// nothing in the exact arithmetic under- or overflows.
//
// # Layers and threads
//
// hull imports gonum's r3 and the standard library only. A Hull is immutable once
// built and safe for any number of goroutines; its queries do not allocate.
// Errors come from [Build] only.
package hull
