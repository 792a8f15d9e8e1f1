// Package layout holds what shaders, and the host that feeds them, must agree on: records in the
// layout of std430, codes, marks and limits, and a library of shapes packed into such records.
// cmd/genlayout writes the GLSL and C headers from it.
//
// # Layers and threads
//
// layout imports batch, geom and geom/cells. A packed library is not changed after packing.
package layout

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/geom"
	"clearance/geom/cells"
	"clearance/internal/fault"
)

// MaxTotalVertices is the largest number of vertices of a packed library: they
// fill a storage buffer of 128 MiB, the least that devices in use offer.
const MaxTotalVertices = 1 << 23

// Packed is a library as shaders read it.
type Packed struct {
	Shapes   []ShapeRecord
	Vertices []Vec4 // of all shapes that have some, relative to the shape's own frame; w = 0

	// Cells says where to look for the support points of hulls of more than CellLimit
	// vertices, see cellMap: a word a shape, 0 or the place in Cells of its cell map.
	// The parameters of such a shape are its L, by rows.
	Cells []uint32
}

// Pack writes the records of a library. It reports a shape that has no packed form, or more
// vertices than fit. It packs at every call: callers keep what they have uploaded, not this. The cells of hulls, which
// take nearly all of the time, are kept by the library.
func Pack(l *batch.Library) (*Packed, error) {
	p := &Packed{Shapes: make([]ShapeRecord, l.Len())}
	shapes := make([]geom.Shape, l.Len())
	for i := range shapes {
		shapes[i] = l.Shape(int32(i))
		if err := p.put(&p.Shapes[i], shapes[i]); err != nil {
			return nil, &batch.ShapeError{Index: i, Name: l.Name(int32(i)), Err: err}
		}
		c, r := l.GrowthCenter(int32(i)), l.GrowthInradius(int32(i))
		p.Shapes[i].Growth = Vec4{float32(c.X), float32(c.Y), float32(c.Z), float32(r)}
	}
	p.packCells(shapes, cellMaps(l, shapes))
	return p, nil
}

func (p *Packed) put(r *ShapeRecord, s geom.Shape) error {
	c := s.Center()
	r.Kind = uint32(s.Kind())
	r.Radius = float32(s.Radius())
	r.Ball = Vec4{float32(c.X), float32(c.Y), float32(c.Z), float32(s.BoundingRadius())}

	inner, _ := geom.WithoutMargin(s)
	params, ok := paramsOf(inner)
	if !ok {
		return fmt.Errorf("%s (%T) has no packed form", s.Kind(), inner)
	}
	r.set(params...)
	return p.vertices(r, verticesOf(inner))
}

func (r *ShapeRecord) set(params ...float64) {
	for i, v := range params {
		r.Params[i] = float32(v)
	}
}

func (p *Packed) vertices(r *ShapeRecord, points []r3.Vec) error {
	if len(points) == 0 {
		return nil
	}
	if total := len(p.Vertices) + len(points); total > MaxTotalVertices {
		return fmt.Errorf("the library has more than %d vertices in all", MaxTotalVertices)
	}
	r.VertexOffset, r.VertexCount = uint32(len(p.Vertices)), uint32(len(points))
	for _, v := range points {
		p.Vertices = append(p.Vertices, Vec4{float32(v.X), float32(v.Y), float32(v.Z), 0})
	}
	return nil
}

// Packed64 is a library in double precision, for back ends that certify their
// answers. Vertices stand in the order of [Packed.Vertices].
type Packed64 struct {
	Shapes   []ShapeRecord64
	Vertices []VertexRecord64
}

// Pack64 returns the shapes in double precision, with the indices of what [Pack] made of
// the same library.
func Pack64(l *batch.Library, packed *Packed) *Packed64 {
	p := &Packed64{Shapes: make([]ShapeRecord64, l.Len()), Vertices: make([]VertexRecord64, len(packed.Vertices))}
	for i := range p.Shapes {
		s := l.Shape(int32(i))
		r, from := &p.Shapes[i], &packed.Shapes[i]
		r.Kind, r.VertexOffset, r.VertexCount = from.Kind, from.VertexOffset, from.VertexCount
		inner, _ := geom.WithoutMargin(s)
		params, _ := paramsOf(inner)
		copy(r.Params[:], params)
		c := s.Center()
		r.Center = [3]float64{c.X, c.Y, c.Z}
		r.Bounding = s.BoundingRadius()
		r.Radius = s.Radius()
		r.Erode = geom.MinCurvatureRadius(s)
		g := l.GrowthCenter(int32(i))
		r.GrowthCenter, r.GrowthOffset = [3]float64{g.X, g.Y, g.Z}, r3.Norm(g)
		r.GrowthInradius = l.GrowthInradius(int32(i))
		if r.Reach = r.Bounding + r3.Norm(c); s.Kind().Traits().Unbounded {
			r.Reach = r.Radius
		}
		if _, ok := inner.(*geom.Convex); ok {
			for k, x := range from.Params { // of its cells
				r.Params[k] = float64(x)
			}
		}
		for k, x := range verticesOf(inner) {
			p.Vertices[int(r.VertexOffset)+k].Position = [3]float64{x.X, x.Y, x.Z}
		}
	}
	return p
}

// paramsOf returns the parameters of a shape without margins, in the order of [Params].
// ok is false for shapes that have no packed form.
func paramsOf(s geom.Shape) (p []float64, ok bool) {
	values, ok := geom.Values(s)
	for i, param := range s.Kind().Params() {
		if ok && inRecord(&param) {
			p = append(p, values[i]...)
		}
	}
	return p, ok
}

// inRecord reports whether a shape record holds a parameter: vertices and the center of a shape have places
// of their own.
func inRecord(p *geom.Param) bool { return !p.List && !p.Center }

// verticesOf returns the vertices that a shape without margins has in a packed library: those of a hull, else all
// points of a parameter that is a list, of two coordinates as (r, z, 0).
func verticesOf(s geom.Shape) (points []r3.Vec) {
	if c, ok := s.(*geom.Convex); ok {
		return c.Hull().Vertices
	}
	if !s.Kind().HasVertices() {
		return nil
	}
	values, _ := geom.Values(s)
	for i, p := range s.Kind().Params() {
		if !p.List {
			continue
		}
		for v := range slices.Chunk(values[i], p.Width) {
			var x [3]float64
			copy(x[:], v)
			points = append(points, r3.Vec{X: x[0], Y: x[1], Z: x[2]})
		}
	}
	return points
}

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

	// seenRounding bounds the difference of the support values of two vertices seen through L⁻¹ and their exact
	// difference, relative to the largest |L⁻¹v|, at any size, since coordinates are relative to the largest one. With
	// u = 2⁻⁵³ the vertices have errors of 2u|v| ≤ 2u|L⁻¹v|, as |L| ≤ 1, and substitution is exact for an L with
	// relative errors of 3u. Both count |L⁻¹| ≤ √3/minWidth times: 5√3·u/minWidth < 1e-11 for a vertex, 2e-11 for two.
	// The rest is room.
	seenRounding = 1e-9

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

// cellsKey is that of the cell maps of a library, see [batch.Library.Prepared].
type cellsKey struct{}

// cellMaps returns the cells of each shape of a library, nil for none. Those of the shapes of a library that it extends
// are the same.
func cellMaps(l *batch.Library, shapes []geom.Shape) []*cellMap {
	maps, _ := l.Prepared(cellsKey{}, func(of any, n int) (any, error) {
		maps := make([]*cellMap, len(shapes))
		before, _ := of.([]*cellMap)
		copy(maps, before)
		err := fault.Each(context.Background(), runtime.GOMAXPROCS(0), len(shapes)-n, func(i int) error {
			inner, _ := geom.WithoutMargin(shapes[n+i])
			if v, ok := inner.(*geom.Convex); ok && len(v.Hull().Vertices) > CellLimit {
				maps[n+i] = newCellMap(v.Hull().Vertices)
			}
			return nil
		})
		if err != nil { // a panic of a worker
			panic(err)
		}
		return maps, nil
	})
	return maps.([]*cellMap)
}

// packCells appends the cells of all hulls to what the shaders read: a directory with one
// word a shape, where its cells begin or 0, and for each such hull n, the length of the
// longest list, 6·n·n+1 places where the lists begin, and the lists.
func (p *Packed) packCells(shapes []geom.Shape, maps []*cellMap) {
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
		o.Slack = max(o.Slack, seenRounding*math.Sqrt(r3.Norm2(v)))
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
