package layout

import (
	"context"
	"math"
	"runtime"

	"clearance/geom"
	"clearance/geom/cells"
	"clearance/internal/fault"

	"gonum.org/v1/gonum/spatial/r3"
)

// Directions of a hull fall into cells, and each cell lists every vertex that is the
// support point of some direction in it, see package cells: a climb from vertex to vertex
// would cost a GPU a chain of dependent loads.
//
// The cells are those of the direction e = Lᵀd, where L·Lᵀ is the covariance of the
// vertices: seen through L⁻¹ the hull is about as wide in all directions, so that the
// lists of needles and plates are short as well. Cells are widened by [CellMargin],
// which covers the rounding of the look-up.

const (
	// CellLimit is the number of vertices up to which shaders scan all of them and a
	// hull gets no cells. Measured on the scans of a driver that runs on the CPU, see
	// lab/notebook/kernels-hulls.md.
	CellLimit = 16

	// CellMargin widens a cell, whose coordinates range over [-1, 1]. The look-up rounds
	// the components of e to float32 (2⁻²⁴ each), divides them (5·2⁻²⁴ at worst, see the
	// precision of division in Vulkan) and scales them: less than 2⁻²⁰ in all.
	CellMargin = 0x1p-19

	// MaxCellWords bounds the cells of a library: 128 MiB, the smallest range of a
	// storage buffer in use. Hulls beyond it get no cells.
	MaxCellWords = 1 << 25

	// minWidth is the least width that L gives a hull in a direction, relative to the
	// largest. Components of e that cancel lose 3·2⁻⁵³/minWidth in double precision,
	// far less than CellMargin.
	minWidth = 1e-4

	maxCellEdge  = 128 // cells along an edge of a face
	cellsPerHull = 2   // cells a vertex, about
	listPerHull  = 24  // entries of all lists a vertex, at most
)

// cellMap is the cells of one hull.
type cellMap struct {
	frame   [6]float32 // L by rows, lower triangle, scaled to a largest entry of about 1
	edge    int        // n
	longest int        // list
	lists   [][]int32  // [6·n·n] vertices, ascending
}

// packCells appends the cells of all hulls to what the shaders read: a directory with one
// word a shape, where its cells begin or 0, and for each such hull n, the length of the
// longest list, 6·n·n+1 places where the lists begin, and the lists.
func (p *Packed) packCells(shapes []geom.Shape) {
	maps := make([]*cellMap, len(shapes))
	err := fault.Each(context.Background(), runtime.GOMAXPROCS(0), len(shapes), func(i int) error {
		inner, _ := geom.WithoutMargin(shapes[i])
		if v, ok := inner.(*geom.Convex); ok && len(v.Hull().Vertices) > CellLimit {
			maps[i] = newCellMap(v.Hull().Vertices)
		}
		return nil
	})
	if err != nil { // a panic of a worker
		panic(err)
	}
	p.Cells = make([]uint32, len(shapes))
	for i, m := range maps {
		if m == nil || len(p.Cells)+m.words() > MaxCellWords {
			continue
		}
		p.Cells[i] = uint32(len(p.Cells))
		copy(p.Shapes[i].Params[:], m.frame[:])
		p.Cells = append(p.Cells, uint32(m.edge), uint32(m.longest))
		at := len(p.Cells) + len(m.lists) + 1
		for _, l := range m.lists {
			p.Cells = append(p.Cells, uint32(at))
			at += len(l)
		}
		p.Cells = append(p.Cells, uint32(at))
		for _, l := range m.lists {
			for _, v := range l {
				p.Cells = append(p.Cells, p.Shapes[i].VertexOffset+uint32(v))
			}
		}
	}
}

func (m *cellMap) words() int {
	n := 2 + len(m.lists) + 1
	for _, l := range m.lists {
		n += len(l)
	}
	return n
}

// newCellMap returns the cells of the hull of vertices, or nil if it has no extent.
func newCellMap(vertices []r3.Vec) *cellMap {
	frame, seen, ok := whiten(vertices)
	if !ok {
		return nil
	}
	edge := 2
	for edge < maxCellEdge && 6*edge*edge < cellsPerHull*len(seen) {
		edge *= 2
	}
	o := cells.Options{Margin: CellMargin, Room: listPerHull*len(seen) + 64}
	for _, v := range seen {
		o.Slack = max(o.Slack, 1e-9*math.Sqrt(r3.Norm2(v)))
	}
	edge, lists := cells.Fit(seen, edge, o)
	if edge == 0 { // one cell a face, whatever room it takes
		o.Room = 0
		edge, lists = cells.Fit(seen, 1, o)
	}
	m := &cellMap{frame: frame, edge: edge, lists: lists}
	for _, l := range lists {
		m.longest = max(m.longest, len(l))
	}
	return m
}

// whiten returns L, see above, and the vertices seen through L⁻¹ from their mean. It
// reports whether they have an extent.
func whiten(vertices []r3.Vec) (frame [6]float32, seen []r3.Vec, ok bool) {
	var mean r3.Vec
	for _, v := range vertices {
		mean = r3.Add(mean, r3.Scale(1/float64(len(vertices)), v))
	}
	seen = make([]r3.Vec, len(vertices))
	unit := 0.0
	for i, v := range vertices {
		seen[i] = r3.Sub(v, mean)
		unit = max(unit, math.Abs(seen[i].X), math.Abs(seen[i].Y), math.Abs(seen[i].Z))
	}
	if !(unit > 0 && unit <= math.MaxFloat64) {
		return frame, nil, false
	}
	var xx, yx, yy, zx, zy, zz float64
	for i, v := range seen {
		v = r3.Vec{X: v.X / unit, Y: v.Y / unit, Z: v.Z / unit}
		seen[i] = v
		xx, yx, yy = xx+v.X*v.X, yx+v.Y*v.X, yy+v.Y*v.Y
		zx, zy, zz = zx+v.Z*v.X, zy+v.Z*v.Y, zz+v.Z*v.Z
	}
	// Cholesky of the covariance plus minWidth² of its trace.
	trace := xx + yy + zz
	floor := minWidth * minWidth
	lxx := math.Sqrt(xx/trace + floor)
	lyx, lzx := yx/trace/lxx, zx/trace/lxx
	lyy := math.Sqrt(max(yy/trace+floor-lyx*lyx, floor))
	lzy := (zy/trace - lzx*lyx) / lyy
	lzz := math.Sqrt(max(zz/trace+floor-lzx*lzx-lzy*lzy, floor))
	frame = [6]float32{float32(lxx), float32(lyx), float32(lyy), float32(lzx), float32(lzy), float32(lzz)}
	for i, v := range seen { // through what the shaders get
		x := v.X / float64(frame[0])
		y := (v.Y - float64(frame[1])*x) / float64(frame[2])
		z := (v.Z - float64(frame[3])*x - float64(frame[4])*y) / float64(frame[5])
		seen[i] = r3.Vec{X: x, Y: y, Z: z}
	}
	return frame, seen, true
}
