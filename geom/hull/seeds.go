package hull

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// The seeds are the support vertices of a table of directions, so that a climb
// starts next to its goal. A direction finds its cell without a branch: scaled to
// |d|₁ = 1 it lies on the octahedron, and (sign of z, x, y) tell where. The table
// is a square grid over x, y ∈ [-1, 1] for either sign of z; the half of it
// outside |x| + |y| ≤ 1 is met only by cells that straddle the boundary.

// buildSeeds fills the table with about one useful cell a vertex.
func (h *Hull) buildSeeds() {
	h.seedCells = min(max(int(math.Sqrt(float64(len(h.Vertices)))), 4), 128)
	h.seeds = make([]int32, 2*h.seedCells*h.seedCells)
	at := 0
	for k := range h.seeds {
		at = h.SupportClimb(cellCenter(k, h.seedCells), at)
		h.seeds[k] = int32(at)
	}
}

// cellCenter returns the direction of the middle of cell k.
func cellCenter(k, cells int) r3.Vec {
	side, row, col := k/(cells*cells), k/cells%cells, k%cells
	x := (2*float64(row)+1)/float64(cells) - 1
	y := (2*float64(col)+1)/float64(cells) - 1
	z := max(0, 1-math.Abs(x)-math.Abs(y))
	if side == 1 {
		z = -z
	}
	return r3.Vec{X: x, Y: y, Z: z}
}

// seed returns the seed of the cell that d falls in, or vertex 0 if d has no direction.
func (h *Hull) seed(d r3.Vec) int {
	m := math.Abs(d.X) + math.Abs(d.Y) + math.Abs(d.Z)
	if !(m > 0 && m <= math.MaxFloat64) {
		return 0
	}
	n := h.seedCells
	half := 0.5 * float64(n)
	row := min(int((d.X/m+1)*half), n-1)
	col := min(int((d.Y/m+1)*half), n-1)
	side := int(math.Float64bits(d.Z) >> 63)
	return int(h.seeds[(side*n+row)*n+col])
}
