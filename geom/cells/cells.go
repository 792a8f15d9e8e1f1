// Package cells cuts the directions of a set of points into cells, each with a list of
// the points that may be support points in one of its directions. A support query then
// finds its cell and scans one short list, whatever the size of the set: no climb from
// vertex to vertex, and no local maximum that might not be the global one.
//
// The cells are those of a cube map, 6 faces of n × n.
//
// In exact arithmetic the lists lose nothing. The directions of a cell are the sums,
// with weights ≥ 0, of its four corners. So a point is left out only if another is
// higher at all four corners, and thus along all directions of the cell, and what that one is
// left out for is higher still. A map may be kept small, then the lists are longer.
package cells

import (
	"cmp"
	"slices"

	"gonum.org/v1/gonum/spatial/r3"
)

// Options say what rounding a map has to allow for, and how large it may be.
type Options struct {
	// Margin widens the cells, whose coordinates range over [-1, 1], for queries that
	// find their cell by rounded arithmetic.
	Margin float64
	// Slack is the margin by which a support value must exceed another to be greater for certain,
	// in the unit of the points.
	Slack float64
	// Room is the most entries that all lists together may have; 0 is no limit.
	Room int
}

// rivals is the number of candidates of a cell up to which all are compared with each
// other; more, and those of several cells, are compared with the greatest support values at the corners
// and in the middle.
const rivals = 1024

// Cut returns the lists of 6·n·n cells, each ascending, or nil if they have no room. Cell (row, col)
// of a face stands at (face·n + row)·n + col, its directions are those of [Direction] for u
// and v in the row-th and col-th of n equal parts of [-1, 1].
func Cut(points []r3.Vec, n int, o Options) [][]int32 {
	c := cutter{points: points, n: n, o: o, room: o.Room, lists: make([][]int32, 6*n*n)}
	for k := range c.values {
		c.values[k] = make([]float64, len(points))
	}
	all := make([]int32, len(points))
	for i := range all {
		all[i] = int32(i)
	}
	for face := range 6 {
		c.split(square{face, 0, n, 0, n}, all)
	}
	if o.Room > 0 && c.room < 0 {
		return nil
	}
	return c.lists
}

// Fit returns the lists of the finest map of n, n/2, …, 1 cells along an edge that has room, and its number of
// cells along an edge; 0 and nil if none has.
func Fit(points []r3.Vec, n int, o Options) (edge int, lists [][]int32) {
	for edge = n; edge > 0; edge /= 2 {
		if lists = Cut(points, edge, o); lists != nil {
			break
		}
	}
	return edge, lists
}

// Transpose exchanges rows and columns on the faces ±y of a map of n cells along an edge: for queries that have the
// lower of the two other axes first on every face.
func Transpose(lists [][]int32, n int) {
	for _, face := range [2]int{2, 3} {
		square := lists[face*n*n : (face+1)*n*n]
		for i := range n {
			for j := range i {
				square[i*n+j], square[j*n+i] = square[j*n+i], square[i*n+j]
			}
		}
	}
}

// Direction is the direction at (u, v) of a face: +x, -x, +y, -y, +z, -z.
func Direction(face int, u, v float64) r3.Vec {
	s := 1 - 2*float64(face&1)
	switch face / 2 {
	case 0:
		return r3.Vec{X: s, Y: u, Z: v}
	case 1:
		return r3.Vec{X: v, Y: s, Z: u}
	}
	return r3.Vec{X: u, Y: v, Z: s}
}

// square is the cells of some rows and columns of a face.
type square struct{ face, row, rowEnd, col, colEnd int }

// parts are the halves of an interval, or the interval if it has one cell.
func parts(lo, hi int) [][2]int {
	if hi-lo == 1 {
		return [][2]int{{lo, hi}}
	}
	mid := (lo + hi) / 2
	return [][2]int{{lo, mid}, {mid, hi}}
}

// cutter cuts the cells of one set of points.
type cutter struct {
	points []r3.Vec
	n      int
	o      Options
	room   int // entries left
	lists  [][]int32
	values [5][]float64 // of the candidates at the corners and in the middle
	order  []int        // places of candidates
	kept   []int
}

// split descends to the single cells of a square, given the candidates of the enclosing square.
func (c *cutter) split(s square, candidates []int32) {
	if c.o.Room > 0 && c.room < 0 {
		return
	}
	single := s.rowEnd-s.row == 1 && s.colEnd-s.col == 1
	list := c.filter(s, candidates, single)
	if single {
		c.lists[(s.face*c.n+s.row)*c.n+s.col] = list
		c.room -= len(list)
		return
	}
	for _, r := range parts(s.row, s.rowEnd) {
		for _, l := range parts(s.col, s.colEnd) {
			c.split(square{s.face, r[0], r[1], l[0], l[1]}, list)
		}
	}
}

// filter returns the candidates that may be support points in a direction of a square, or a superset
// unless thorough is set.
func (c *cutter) filter(s square, candidates []int32, thorough bool) []int32 {
	at := func(k int) float64 { return 2*float64(k)/float64(c.n) - 1 }
	u0, u1 := at(s.row)-c.o.Margin, at(s.rowEnd)+c.o.Margin
	v0, v1 := at(s.col)-c.o.Margin, at(s.colEnd)+c.o.Margin
	directions := [5]r3.Vec{
		Direction(s.face, u0, v0), Direction(s.face, u0, v1), Direction(s.face, u1, v0), Direction(s.face, u1, v1),
		Direction(s.face, (u0+u1)/2, (v0+v1)/2),
	}
	var top [5]int // places in candidates
	for k, e := range directions {
		h := c.values[k][:len(candidates)]
		for i, p := range candidates {
			h[i] = r3.Dot(e, c.points[p])
			if h[i] > h[top[k]] {
				top[k] = i
			}
		}
	}
	c.order = c.order[:0]
	for i := range candidates {
		if !slices.ContainsFunc(top[:], func(j int) bool { return c.above(j, i) }) {
			c.order = append(c.order, i)
		}
	}
	if thorough && len(c.order) <= rivals {
		c.compare()
	}
	list := make([]int32, len(c.order))
	for k, i := range c.order {
		list[k] = candidates[i]
	}
	return list
}

// above reports whether candidate j is higher than i for certain at all four corners.
func (c *cutter) above(j, i int) bool {
	for _, h := range c.values[:4] {
		if !(h[j]-h[i] > c.o.Slack) {
			return false
		}
	}
	return true
}

// compare leaves out of order what any of the others is above.
func (c *cutter) compare() {
	sum := func(i int) float64 {
		return c.values[0][i] + c.values[1][i] + c.values[2][i] + c.values[3][i]
	}
	// What is above at every corner has a larger sum.
	slices.SortFunc(c.order, func(i, j int) int { return cmp.Or(cmp.Compare(sum(j), sum(i)), cmp.Compare(i, j)) })
	c.kept = c.kept[:0]
	for _, i := range c.order {
		if !slices.ContainsFunc(c.kept, func(j int) bool { return c.above(j, i) }) {
			c.kept = append(c.kept, i)
		}
	}
	slices.Sort(c.kept)
	c.order = append(c.order[:0], c.kept...)
}
