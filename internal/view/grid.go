package view

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// Grid places n cells of a size, in metres, in the plane z = 0 about the origin: row by row, as nearly square as
// possible.
type Grid struct {
	N, Columns int
	Size       float64
}

// NewGrid returns the grid of n cells.
func NewGrid(n int, size float64) Grid {
	return Grid{N: n, Columns: max(int(math.Ceil(math.Sqrt(float64(n)))), 1), Size: size}
}

// Rows is the number of rows of the grid.
func (g Grid) Rows() int { return (g.N + g.Columns - 1) / g.Columns }

// Center is the middle of cell i. The first row is the farthest along y.
func (g Grid) Center(i int) r3.Vec {
	return r3.Vec{
		X: g.Size * (float64(i%g.Columns) - float64(g.Columns-1)/2),
		Y: g.Size * (float64(g.Rows()-1)/2 - float64(i/g.Columns)),
	}
}

// Corners returns the corners of the grid, at a distance above and below its plane.
func (g Grid) Corners(above float64) (points []r3.Vec) {
	x, y := g.Size/2*float64(min(g.Columns, max(g.N, 1))), g.Size/2*float64(g.Rows())
	// Cells of an incomplete first row stand at its left.
	shift := g.Size / 2 * float64(min(g.Columns, max(g.N, 1))-g.Columns)
	for i := range 8 {
		points = append(points, r3.Vec{X: shift + x*float64(i&1*2-1), Y: y * float64(i>>1&1*2-1),
			Z: above * float64(i>>2*2-1)})
	}
	return points
}
