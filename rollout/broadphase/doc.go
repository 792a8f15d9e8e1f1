// Package broadphase finds all pairs of intersecting axis-aligned boxes.
//
// The answer is exact: a pair is reported if and only if the closed boxes have a common point, compared in float64
// without rounding. Boxes may be infinite in any direction. The same boxes give the same pairs in the same order,
// whatever the number of workers.
//
// A [Finder] builds a bounding volume hierarchy over the boxes and joins it with itself. The hierarchy was chosen by
// measurement against sort and sweep and against a grid: lab/notebook/broadphase.md.
package broadphase
