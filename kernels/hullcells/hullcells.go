// Package hullcells makes the direction cells of hulls as the CPU kernels read them: package geom/cells on the hull
// scaled to a cube, and a candidate vertex for each cell of a finer grid. It is a package of its own so that its
// tests need no kernels.
package hullcells

import (
	"math"

	"clearance/geom/cells"

	"gonum.org/v1/gonum/spatial/r3"
)

// Direction cells make the cost of a support vertex independent of the size of the hull, see package
// cells. The hull is scaled to a cube, so that the vertices of flat and long hulls are distributed evenly over
// the cells: <d, v> = Σ (m·d)·(v − middle)/m + constant, with the half extents m.
const (
	// The kernels find the cell of a direction in float32, with an error of some units of 6e-8 of the
	// cube's half edge. Cells overlap by this margin.
	cellOverlap = 1e-5

	// Rounding bound of a difference of two support values. In Σ c·u, |c| ≤ 1 + cellOverlap and |u| ≤ 1. u is
	// rounded three times, products and sums three times: less than 24 units of roundoff for each value.
	cellRounding = 64 * 0x1p-53

	// Vertices per direction cell of one face of the cube, see gridOf.
	cellVertices = 20.

	// Limit of the entries of all lists, per vertex of the hull, see New.
	cellEntries = 64

	// Cells with a candidate vertex, per vertex of the hull. GJK takes 2 % more iterations with
	// candidate vertices than with support vertices.
	candidateCells = 4.
)

// gridOf is the number of cells along an edge of the cube for a hull of n vertices.
// Lists then have about ten vertices. Hulls of up to scanned vertices have no cells.
func gridOf(n, scanned int) int {
	if n <= scanned {
		return 0
	}
	return min(max(int(math.Round(math.Sqrt(float64(n)/cellVertices))), 1), 64)
}

// Cells are the direction cells of a hull.
type Cells struct {
	Extent [3]float64 // half extents of the hull relative to the largest
	Grid   int        // cells along an edge of the cube; 0: no cells, all vertices are scanned
	Lists  [][]int32  // of each of the 6·Grid² cells, or of all directions together
	scaled []r3.Vec   // the vertices scaled to a cube; none where the hull is too small for that
}

// New returns the direction cells of a hull with the bounding box lo, hi. Hulls of up to scanned vertices have none:
// their vertices are scanned as a whole.
func New(vertices []r3.Vec, lo, hi r3.Vec, scanned int) *Cells {
	c := &Cells{Lists: [][]int32{upTo(len(vertices))}}
	c.Extent, c.scaled = cube(vertices, lo, hi)
	if c.scaled == nil {
		return c
	}
	o := cells.Options{Margin: cellOverlap, Slack: cellRounding, Room: cellEntries * (len(vertices) + 64)}
	if k, lists := cells.Fit(c.scaled, gridOf(len(vertices), scanned), o); k > 0 {
		cells.Transpose(lists, k)
		c.Grid, c.Lists = k, lists
	}
	return c
}

// Candidates returns the candidate vertex of each cell of a grid k: the support vertex in the direction of the
// center of the cell. Kernels take it for all directions of the cell where any point of D will do.
func (c *Cells) Candidates() (k int, vertices []int32) {
	if c.scaled == nil {
		return 1, make([]int32, 6)
	}
	k = candidateGrid(len(c.scaled))
	list := func(face, row, col int) []int32 { // of the direction cell that contains the center
		if c.Grid == 0 {
			return c.Lists[0]
		}
		around := func(i int) int { return (2*i + 1) * c.Grid / (2 * k) }
		return c.Lists[(face*c.Grid+around(row))*c.Grid+around(col)]
	}
	middle := func(i int) float64 { return (2*float64(i)+1)/float64(k) - 1 }
	for face := range 6 {
		for row := range k {
			for col := range k {
				d := cells.Direction(face, middle(row), middle(col))
				if face/2 == 1 { // see cells.Transpose
					d = cells.Direction(face, middle(col), middle(row))
				}
				candidates := list(face, row, col)
				best := candidates[0]
				for _, i := range candidates {
					if r3.Dot(d, c.scaled[i]) > r3.Dot(d, c.scaled[best]) {
						best = i
					}
				}
				vertices = append(vertices, best)
			}
		}
	}
	return k, vertices
}

// candidateGrid is the grid for a hull of n vertices: about candidateCells cells for each.
func candidateGrid(n int) int {
	return min(int(math.Ceil(math.Sqrt(candidateCells*float64(n)/6))), 64)
}

// cube returns the half extents of the hull relative to the largest, and its vertices scaled to a
// cube, or none where the hull is too small for that.
func cube(vertices []r3.Vec, lo, hi r3.Vec) (m [3]float64, u []r3.Vec) {
	half := [3]float64{hi.X/2 - lo.X/2, hi.Y/2 - lo.Y/2, hi.Z/2 - lo.Z/2}
	mid := [3]float64{lo.X + half[0], lo.Y + half[1], lo.Z + half[2]}
	largest := max(half[0], half[1], half[2])
	if !(largest > 1e-30) {
		return m, nil
	}
	u = make([]r3.Vec, len(vertices))
	for j := range 3 {
		// Thinner than rounding errors: all vertices have the same coordinate.
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
	return m, u
}

// upTo returns 0, 1, …, n−1.
func upTo(n int) []int32 {
	s := make([]int32, n)
	for i := range s {
		s[i] = int32(i)
	}
	return s
}
