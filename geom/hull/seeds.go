package hull

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// The seeds are the support vertices of the centres of the cells of a cube map of
// directions, so that a climb starts next to its goal.

// buildSeeds fills the table with about as many cells as the hull has vertices.
func (h *Hull) buildSeeds() {
	n := int(math.Sqrt(float64(len(h.Vertices)) / 6))
	h.seedCells = min(max(n, 4), 64)
	h.seeds = make([]int32, 6*h.seedCells*h.seedCells)
	at := 0
	for k := range h.seeds {
		at = h.SupportClimb(cellCentre(k, h.seedCells), at)
		h.seeds[k] = int32(at)
	}
}

// cellCentre returns the direction of the middle of a cell.
func cellCentre(k, cells int) r3.Vec {
	face, row, col := k/(cells*cells), k/cells%cells, k%cells
	major := 1.0
	if face&1 == 1 {
		major = -1
	}
	u := (2*float64(row)+1)/float64(cells) - 1
	v := (2*float64(col)+1)/float64(cells) - 1
	switch face >> 1 {
	case 0:
		return r3.Vec{X: major, Y: u, Z: v}
	case 1:
		return r3.Vec{X: u, Y: major, Z: v}
	default:
		return r3.Vec{X: u, Y: v, Z: major}
	}
}

// seed returns the support vertex of the centre of the cell that d falls in.
func (h *Hull) seed(d r3.Vec) int {
	if !usable(d) {
		return 0
	}
	ax, ay, az := math.Abs(d.X), math.Abs(d.Y), math.Abs(d.Z)
	var face int
	var m, u, v, sign float64
	switch {
	case ax >= ay && ax >= az:
		face, m, u, v, sign = 0, ax, d.Y, d.Z, d.X
	case ay >= az:
		face, m, u, v, sign = 2, ay, d.X, d.Z, d.Y
	default:
		face, m, u, v, sign = 4, az, d.X, d.Y, d.Z
	}
	if sign < 0 {
		face++
	}
	n := h.seedCells
	half := 0.5 * float64(n)
	row := min(int((u/m+1)*half), n-1)
	col := min(int((v/m+1)*half), n-1)
	return int(h.seeds[(face*n+row)*n+col])
}
