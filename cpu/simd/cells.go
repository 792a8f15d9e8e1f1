//go:build cgo

package simd

import (
	"math"

	"clearance/geom/cells"

	"gonum.org/v1/gonum/spatial/r3"
)

// Direction cells make a support query of a hull independent of its size, see package
// cells. Directions are those of the hull scaled to a cube, so that flat and long hulls fill
// the cells evenly: <d, v> = Σ (m·d)·(v − middle)/m + constant, m the half extents.
const (
	// Kernels find the cell of a direction in float32, to some units of 6e-8 of the
	// cube's half edge. Cells overlap by so much.
	cellOverlap = 1e-5

	// A height Σ c·u has |c| ≤ 1 + cellOverlap and |u| ≤ 1; u is rounded three times, the
	// products and sums three times: below 24 units of roundoff. Two heights differ
	// for certain beyond twice that.
	cellDoubt = 64 * 0x1p-53

	// Below so many entries a vertex (and some for small hulls) a table is kept.
	cellBudget = 64
)

// cellGrid is the number of cells along an edge of the cube for a hull of n vertices.
// Lists then have about ten vertices.
func cellGrid(n int) int {
	if n <= maxScanned {
		return 0
	}
	return min(max(int(math.Round(math.Sqrt(float64(n)/cellVertices))), 1), 64)
}

// cut returns the half extents of the hull relative to the largest, the grid K, and
// the list of each of the 6·K² cells; K = 0 and no lists say that scanning is better.
func cut(vertices []r3.Vec, lo, hi r3.Vec) (m [3]float64, k int, lists [][]int32) {
	half := [3]float64{hi.X/2 - lo.X/2, hi.Y/2 - lo.Y/2, hi.Z/2 - lo.Z/2}
	mid := [3]float64{lo.X + half[0], lo.Y + half[1], lo.Z + half[2]}
	largest := max(half[0], half[1], half[2])
	if !(largest > 1e-30) {
		return m, 0, nil
	}
	u := make([]r3.Vec, len(vertices))
	for j := range 3 {
		// Thinner than rounding: along this axis all vertices are the same.
		if m[j] = half[j] / largest; m[j] < 1e-25 {
			m[j] = 0
		}
	}
	scaled := func(x float64, axis int) float64 {
		if m[axis] == 0 {
			return 0
		}
		return (x - mid[axis]) / half[axis]
	}
	for i, v := range vertices {
		u[i] = r3.Vec{X: scaled(v.X, 0), Y: scaled(v.Y, 1), Z: scaled(v.Z, 2)}
	}
	o := cells.Options{Margin: cellOverlap, Slack: cellDoubt, Room: cellBudget * (len(vertices) + 64)}
	for k = cellGrid(len(vertices)); k > 0; k /= 2 {
		if lists = cells.Cut(u, k, o); lists != nil {
			turn(lists, k)
			return m, k, lists
		}
	}
	return m, 0, nil
}

// turn exchanges rows and columns on the faces ±y: the kernels have the lower of the other
// axes first on every face.
func turn(lists [][]int32, k int) {
	for _, face := range [2]int{2, 3} {
		square := lists[face*k*k : (face+1)*k*k]
		for i := range k {
			for j := range i {
				square[i*k+j], square[j*k+i] = square[j*k+i], square[i*k+j]
			}
		}
	}
}
