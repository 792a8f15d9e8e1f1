//go:build cgo

package simd

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/spatial/r3"
)

// Direction cells make a support query of a hull independent of its size. The
// directions are cut into 6·K² cells, a grid on each face of a cube; every cell has the
// list of the vertices that may be highest along one of its directions, so a
// query finds its cell and scans one short list.
//
// The lists lose nothing. A cell is the cone of its four corners c, and a vertex v is
// left out only if another, w, has <c, w> > <c, v> at all four, by more than the
// rounding of both: then it is higher along every direction of the cone. What w was
// left out for is higher still.
//
// Directions are those of the hull scaled to a cube, so that flat and long hulls fill
// the cells evenly: <d, v> = Σ (m·d)·(v − middle)/m + constant, m the half extents.
const (
	// Kernels find the cell of a direction in float32, to some units of 6e-8 of the
	// cube's half edge. Cells overlap by so much.
	cellOverlap = 1e-5

	// A height Σ c·u has |c| ≤ 1 + cellOverlap and |u| ≤ 1; u is rounded three times, the
	// products and sums three times: below 24 units of roundoff. Two heights differ
	// for certain beyond twice that.
	cellDoubt = 64 * 0x1p-53

	// Vertices that a candidate is compared with at most; more would prune better but
	// take the square of the time on hulls with all vertices around one face.
	cellRivals = 512

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

// cellBuilder holds the hull being cut, scaled to the cube, and scratch.
type cellBuilder struct {
	u    [][3]float64
	kept []candidate
	all  []candidate
}

type candidate struct {
	h   [4]float64 // heights along the corners
	sum float64
	v   int32
}

// box is an interval of both coordinates on a face of the cube.
type box struct{ a0, a1, b0, b1 float64 }

// cells returns the half extents of the hull relative to the largest, the grid K, and
// the list of each of the 6·K² cells; K = 0 and no lists say that scanning is better.
func cells(vertices []r3.Vec, lo, hi r3.Vec) (m [3]float64, k int, lists [][]int32) {
	half := [3]float64{hi.X/2 - lo.X/2, hi.Y/2 - lo.Y/2, hi.Z/2 - lo.Z/2}
	mid := [3]float64{lo.X + half[0], lo.Y + half[1], lo.Z + half[2]}
	largest := max(half[0], half[1], half[2])
	if !(largest > 1e-30) {
		return m, 0, nil
	}
	b := &cellBuilder{u: make([][3]float64, len(vertices))}
	for j := range 3 {
		// Thinner than rounding: along this axis all vertices are the same.
		if m[j] = half[j] / largest; m[j] < 1e-25 {
			m[j] = 0
		}
	}
	for i, v := range vertices {
		for j, x := range [3]float64{v.X, v.Y, v.Z} {
			if m[j] > 0 {
				b.u[i][j] = (x - mid[j]) / half[j]
			}
		}
	}
	for k = cellGrid(len(vertices)); k > 0; k /= 2 {
		if lists = b.cut(k); lists != nil {
			return m, k, lists
		}
	}
	return m, 0, nil
}

// cut returns the lists of all cells, or nil if they take too much memory.
func (b *cellBuilder) cut(k int) [][]int32 {
	lists := make([][]int32, 0, 6*k*k)
	everything := upTo(len(b.u))
	at := func(i int) float64 { return -1 + 2*float64(i)/float64(k) }
	total := 0
	for axis := range 3 {
		for _, sign := range [2]float64{1, -1} {
			face := b.prune(everything, axis, sign, box{-1, 1, -1, 1})
			for i := range k {
				strip := b.prune(face, axis, sign, box{at(i), at(i + 1), -1, 1})
				for j := range k {
					list := b.prune(strip, axis, sign, box{at(i), at(i + 1), at(j), at(j + 1)})
					lists = append(lists, list)
					total += len(list)
				}
			}
			if total > cellBudget*(len(b.u)+64) {
				return nil
			}
		}
	}
	return lists
}

// prune returns those of list that may be highest along a direction of a cell.
func (b *cellBuilder) prune(list []int32, axis int, sign float64, c box) []int32 {
	var corners [4][3]float64
	for i := range corners {
		p, q := c.a0-cellOverlap, c.b0-cellOverlap
		if i&1 != 0 {
			p = c.a1 + cellOverlap
		}
		if i&2 != 0 {
			q = c.b1 + cellOverlap
		}
		corners[i][axis] = sign
		corners[i][(3-axis)/3] = p // the lower of the other axes: y, x, x
		corners[i][2-axis/2] = q   // and the higher: z, z, y
	}
	b.all = b.all[:0]
	for _, v := range list {
		x := candidate{v: v}
		u := &b.u[v]
		for i := range corners {
			x.h[i] = corners[i][0]*u[0] + corners[i][1]*u[1] + corners[i][2]*u[2]
			x.sum += x.h[i]
		}
		b.all = append(b.all, x)
	}
	// Only a vertex with a larger sum can be above at every corner.
	slices.SortFunc(b.all, func(p, q candidate) int {
		if s := cmp.Compare(q.sum, p.sum); s != 0 {
			return s
		}
		return cmp.Compare(p.v, q.v)
	})
	b.kept = b.kept[:0]
next:
	for _, x := range b.all {
		for i := range min(len(b.kept), cellRivals) {
			r := &b.kept[i]
			if r.h[0] > x.h[0]+cellDoubt && r.h[1] > x.h[1]+cellDoubt && r.h[2] > x.h[2]+cellDoubt && r.h[3] > x.h[3]+cellDoubt {
				continue next
			}
		}
		b.kept = append(b.kept, x)
	}
	out := make([]int32, len(b.kept))
	for i := range b.kept {
		out[i] = b.kept[i].v
	}
	return out
}
