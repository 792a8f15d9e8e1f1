//go:build cgo

package kernels

// #include "shape/api.h"
import "C"

import (
	"math"
	"slices"
	"sync"
	"unsafe"

	"clearance/batch"
	"clearance/geom"
	"clearance/geom/hull"
	"clearance/kernels/hullcells"

	"gonum.org/v1/gonum/spatial/r3"
)

// Shapes is a library as all kernels read it: a record of each shape, and columns of vertices. It is immutable.
type Shapes struct {
	records []C.clr_shape

	// Vertices of smooth shapes and of hulls, one column per coordinate. Those of hulls with direction cells, whose
	// vertices are not all scanned, come last, from scanned on.
	vx, vy, vz []float64
	scanned    int

	// CLR_CENTER_VALUES values of each shape: its center of growth, in its own frame, and a proved inradius about
	// it; the distance of that center from the origin, the radius of a ball about it that contains the shape, the
	// distance of Center() from the origin, and the bounding radius; what Center() is off the center of growth.
	centers []float64

	neighbors func() (starts, at []int32)
}

// maxTableVertices keeps indices of vertices far within int32. Rows with hulls beyond it, after 12 GiB
// of vertices, are declined.
const maxTableVertices = 1 << 29

// shapesKey is that of the shapes of a library, see [batch.Library.Prepared].
type shapesKey struct{}

// ShapesOf returns the shapes of a library, which keeps them; nil without cgo.
func ShapesOf(l *batch.Library) *Shapes {
	s, _ := l.Prepared(shapesKey{}, func(of any, shapes int) (any, error) {
		before, _ := of.(*Shapes)
		return newShapes(l, before, shapes), nil
	})
	return s.(*Shapes)
}

// Records returns the clr_shape of each shape, null if there is none, and their number.
func (s *Shapes) Records() (records unsafe.Pointer, count int) {
	return unsafe.Pointer(unsafe.SliceData(s.records)), len(s.records)
}

// Vertices returns the columns of vertices, in which a record has its place.
func (s *Shapes) Vertices() (x, y, z []float64) { return s.vx, s.vy, s.vz }

// Centers returns CLR_CENTER_VALUES values of each shape: its center of growth, an inradius about it, and others.
func (s *Shapes) Centers() []float64 { return s.centers }

// Neighbors returns the neighbors of the vertices of hulls: those of vertex i of the columns are numbers starts[i] to
// starts[i+1] − 1 of at, as indices within its hull. They are listed on first use.
func (s *Shapes) Neighbors() (starts, at []int32) { return s.neighbors() }

// newShapes puts the shapes of a library into columns: those of its first n, of which before has the records and
// vertices, are copied.
func newShapes(l *batch.Library, before *Shapes, n int) *Shapes {
	t := &Shapes{records: make([]C.clr_shape, l.Len())}
	if before != nil {
		t.vx, t.vy, t.vz = slices.Grow(t.vx, len(before.vx)), slices.Grow(t.vy, len(before.vx)),
			slices.Grow(t.vz, len(before.vx))
		t.centers = slices.Grow(t.centers, C.CLR_CENTER_VALUES*l.Len())
	}
	var hulls []*hull.Hull
	var first []C.int32_t
	for _, large := range [2]bool{false, true} {
		for i := range t.records {
			s := l.Shape(int32(i))
			if isLarge(s) != large {
				continue
			}
			r := &t.records[i]
			if i >= n || !t.take(r, before, &before.records[i]) {
				t.put(r, s)
			}
			if v, ok := core(s).(*geom.Convex); ok && r.class != C.CLR_NO_CLASS {
				hulls, first = append(hulls, v.Hull()), append(first, r.first)
			}
		}
		if !large {
			t.scanned = len(t.vx)
		}
	}
	if before != nil {
		t.centers = append(t.centers, before.centers...)
	}
	for i := int32(n); i < int32(l.Len()); i++ {
		c, r := l.GrowthCenter(i), &t.records[i]
		off := r3.Sub(r3.Vec{X: float64(r.center[0]), Y: float64(r.center[1]), Z: float64(r.center[2])}, c)
		t.centers = append(t.centers, c.X, c.Y, c.Z, l.GrowthInradius(i), math.Sqrt(r3.Norm2(c)),
			float64(r.size)+math.Sqrt(r3.Norm2(off)), float64(r.off), float64(r.size), off.X, off.Y, off.Z, 0)
	}
	vertices := len(t.vx)
	t.neighbors = sync.OnceValues(func() (starts, at []int32) { // must not keep the library
		starts = make([]int32, vertices+1)
		next := 0
		for k, h := range hulls {
			for ; next < int(first[k]); next++ {
				starts[next] = int32(len(at))
			}
			for i := range h.Vertices {
				starts[next] = int32(len(at))
				at = append(at, h.Adj[h.Start[i]:h.Start[i+1]]...)
				next++
			}
		}
		for ; next <= vertices; next++ {
			starts[next] = int32(len(at))
		}
		return starts, at
	})
	return t
}

// take copies a record and its vertices from other columns, and reports whether it did: whether there is room for a
// shape depends on those before it.
func (t *Shapes) take(r *C.clr_shape, from *Shapes, record *C.clr_shape) bool {
	switch {
	case record.class == C.CLR_NO_CLASS:
		return false
	case C.CLR_HAVE_VERTICES>>record.class&1 == 0:
		*r = *record
		return true
	}
	if len(t.vx) > maxTableVertices {
		return false
	}
	*r = *record
	r.first = C.int32_t(len(t.vx))
	lo, hi := int(record.first), int(record.first)+padded(int(record.count))
	t.vx, t.vy, t.vz = append(t.vx, from.vx[lo:hi]...), append(t.vy, from.vy[lo:hi]...),
		append(t.vz, from.vz[lo:hi]...)
	return true
}

// padded returns the place that n vertices take in the columns.
func padded(n int) int { return (n + C.CLR_VERTEX_ALIGN - 1) / C.CLR_VERTEX_ALIGN * C.CLR_VERTEX_ALIGN }

// core returns a shape without its margins.
func core(s geom.Shape) geom.Shape {
	inner, _ := geom.WithoutMargin(s)
	return inner
}

// isLarge reports whether a shape is a hull of more than CLR_SMALL_VERTICES vertices.
func isLarge(s geom.Shape) bool {
	v, ok := core(s).(*geom.Convex)
	return ok && len(v.Hull().Vertices) > C.CLR_SMALL_VERTICES
}

// put writes the record of a shape and appends its vertices.
func (t *Shapes) put(r *C.clr_shape, s geom.Shape) {
	inner := core(s)
	r.class, r.margin = C.CLR_BOX, C.double(s.Radius())
	set := func(x, y, z float64) { r.p = [3]C.double{C.double(x), C.double(y), C.double(z)} }
	switch v := inner.(type) {
	case geom.Sphere:
		r.form = C.CLR_POINT
	case geom.Capsule:
		r.form = C.CLR_SEGMENT
		set(0, 0, v.HalfLength)
	case geom.Halfspace:
		r.class, r.form = C.CLR_NO_CLASS, C.CLR_HALF
		r.radius, r.size = r.margin, r.margin // as batch.Library.PairSize
		return
	case geom.Box:
		r.form = C.CLR_CUBOID
		set(v.HalfExtents.X, v.HalfExtents.Y, v.HalfExtents.Z)
	case geom.Ellipsoid:
		r.class = C.CLR_ELLIPSOID
		set(v.SemiAxes.X, v.SemiAxes.Y, v.SemiAxes.Z)
	case geom.Superquadric:
		r.class = C.CLR_SUPERQUADRIC
		set(v.SemiAxes.X, v.SemiAxes.Y, v.SemiAxes.Z)
		r.extent[0], r.extent[1] = C.double(v.Alpha2/2), C.double(v.Alpha1/2)
	case *geom.SmoothHull:
		c := v.Center()
		points := make([]r3.Vec, len(v.Vertices()))
		for i, p := range v.Vertices() {
			points[i] = r3.Sub(p, c)
		}
		set(c.X, c.Y, c.Z)
		t.powered(r, C.CLR_SMOOTH_HULL, points, v.Sharpness())
	case *geom.SmoothRevolution:
		points := make([]r3.Vec, len(v.Profile()))
		for i, p := range v.Profile() {
			points[i] = r3.Vec{X: p.X, Y: p.Y}
		}
		t.powered(r, C.CLR_SMOOTH_REVOLUTION, points, v.Sharpness())
		r.extent[2] = C.double(v.Flatness())
	case geom.FrustumShape:
		r.class = C.CLR_FRUSTUM
		set(v.Discs())
	case *geom.Convex:
		if len(t.vx) > maxTableVertices {
			r.class = C.CLR_NO_CLASS
			return
		}
		t.hull(r, v)
	default:
		r.class = C.CLR_NO_CLASS
		return
	}
	erode := geom.MinCurvatureRadius(s)
	c := s.Center()
	if C.CLR_ARE_HULLS>>r.class&1 == 0 { // of a hull, outer has written it
		r.erode = C.double(erode)
	}
	r.radius = C.double(s.Radius() + erode)
	r.size = C.double(s.BoundingRadius())
	r.center = [3]C.double{C.double(c.X), C.double(c.Y), C.double(c.Z)}
	r.off = C.double(math.Sqrt(r3.Norm2(c)))
	r.inner = C.double(max(inner.Inradius()-inner.Radius(), 0))
}

// powered appends the points of a smooth shape, padded with its center.
func (t *Shapes) powered(r *C.clr_shape, class C.int32_t, points []r3.Vec, sharpness float64) {
	r.class = class
	if len(points) > C.CLR_SMOOTH_VERTICES || len(t.vx) > maxTableVertices {
		r.class = C.CLR_NO_CLASS
		return
	}
	r.extent[0], r.extent[1] = C.double(sharpness), C.double(1/sharpness)
	r.negligible = C.double(math.Exp2(-100 / (sharpness - 2))) // its power of β − 2 is 2⁻¹⁰⁰
	t.vertices(r, points, r3.Vec{})
}

// hull appends the vertices of a hull, padded with copies of the last.
func (t *Shapes) hull(r *C.clr_shape, v *geom.Convex) {
	vertices := v.Hull().Vertices
	r.class = C.CLR_SMALL
	if isLarge(v) {
		r.class = C.CLR_HULL
	}
	t.vertices(r, vertices, vertices[len(vertices)-1])
	lo, hi := v.AABB()
	outer(r, vertices, v.Center(), lo, hi)
	for _, p := range vertices {
		r.spread = max(r.spread, C.double(2*r3.Norm(p)))
	}
}

// vertices appends the vertices of a shape, and copies of last up to whole vectors.
func (t *Shapes) vertices(r *C.clr_shape, vertices []r3.Vec, last r3.Vec) {
	r.first, r.count = C.int32_t(len(t.vx)), C.int32_t(len(vertices))
	for i := 0; i < len(vertices) || i%C.CLR_VERTEX_ALIGN != 0; i++ {
		p := last
		if i < len(vertices) {
			p = vertices[i]
		}
		t.vx, t.vy, t.vz = append(t.vx, p.X), append(t.vy, p.Y), append(t.vz, p.Z)
	}
}

// outer writes an ellipsoid about the center that contains the vertices: the half extents to p, and the factor
// between its semi-axes and these to erode, which hulls do not use otherwise.
func outer(r *C.clr_shape, vertices []r3.Vec, center, lo, hi r3.Vec) {
	half := [3]float64{hi.X/2 - lo.X/2, hi.Y/2 - lo.Y/2, hi.Z/2 - lo.Z/2}
	most := 0.
	for _, v := range vertices {
		d, sum := r3.Sub(v, center), 0.
		for j, x := range [3]float64{d.X, d.Y, d.Z} {
			if x != 0 {
				sum += (x / half[j]) * (x / half[j])
			}
		}
		most = max(most, sum)
	}
	for j := range half {
		r.p[j] = C.double(half[j])
	}
	r.erode = C.double(min(math.Sqrt(most)*(1+64*0x1p-53), 1e30)) // rounded up; 1e30 for flat hulls beside their center
}

// Table is a library as the kernels of pairs of a variant read it: its shapes, with direction cells, and columns in
// float32. It is immutable.
type Table struct {
	Shapes                   // records are of its own, with the cells
	alike    bool            // all shapes are of one class and form, and so all rows of one group
	width    int             // lanes of a float32 vector: lists are padded to a multiple of it
	shapes32 []C.clr_shape32 // the records in float32, for Boolean queries

	// The scanned vertices in float32, those of hulls relative to the center.
	fx, fy, fz []float32

	// All vertices, for loads of single ones: x, y, z and 0 of each.
	corners []float64

	// Vertices of the larger hulls alone, in float32, relative to the center: x, y, z and the number within the
	// hull.
	points []float32

	// CLR_CELL_VALUES values of each shape: extent and cells of clr_shape, the extents times the grid of the cells
	// with a candidate vertex, and the first of these cells.
	cellValues []float32

	candidates []int32 // the candidate vertex of each cell, its place in points

	places []cellPlace // of the direction cells of each shape

	// Lists of the direction cells, in blocks of width vertices: their x, y and z as in points
	// and their numbers within the hull. Cell i has the blocks starts[i] to starts[i+1] − 1.
	lists  []float32
	starts []int32
}

// cellPlace is where the direction cells of a hull are: its starts and candidates, from the first to before the end.
type cellPlace struct{ start, endStart, candidate, endCandidate int }

// tableKey is that of the table of a library for a variant, see [batch.Library.Prepared].
type tableKey struct{ variant string }

// TableOf returns the table of a library for a variant, which the library keeps. Of a library that extends another one
// the direction cells of the first shapes, which take nearly all of the time, are copied. prepare, which may be nil, is
// called before a table is made, and may refuse it.
func TableOf(l *batch.Library, variant string, prepare func() error) (*Table, error) {
	t, err := l.Prepared(tableKey{variant}, func(of any, shapes int) (any, error) {
		if prepare != nil {
			if err := prepare(); err != nil {
				return nil, err
			}
		}
		before, _ := of.(*Table)
		return newTable(l, variant, before, shapes), nil
	})
	if err != nil {
		return nil, err
	}
	return t.(*Table), nil
}

// NewTable builds the table of a library for a variant.
func NewTable(l *batch.Library, variant string) *Table { return newTable(l, variant, nil, 0) }

// newTable builds a table; before is that of the first n shapes.
func newTable(l *batch.Library, variant string, before *Table, n int) *Table {
	t := &Table{Shapes: *ShapesOf(l), width: Width(variant)}
	t.records = slices.Clone(t.records)
	t.shapes32 = make([]C.clr_shape32, l.Len())
	t.cellValues = make([]float32, C.CLR_CELL_VALUES*l.Len())
	t.places = make([]cellPlace, l.Len())
	t.corners = make([]float64, 0, 4*len(t.vx))
	for i, x := range t.vx {
		t.corners = append(t.corners, x, t.vy[i], t.vz[i], 0)
	}
	if before != nil {
		t.lists, t.starts = slices.Grow(t.lists, len(before.lists)), slices.Grow(t.starts, len(before.starts))
	}
	t.fx, t.fy, t.fz = make([]float32, 0, t.scanned), make([]float32, 0, t.scanned), make([]float32, 0, t.scanned)
	t.points = make([]float32, 0, 4*(len(t.vx)-t.scanned))
	for _, large := range [2]bool{false, true} { // the order of the vertices
		for i := range t.records {
			s := l.Shape(int32(i))
			if isLarge(s) != large {
				continue
			}
			r := &t.records[i]
			t.round(r)
			if v, ok := core(s).(*geom.Convex); ok && r.class != C.CLR_NO_CLASS {
				if i >= n || !t.takeCells(i, before) {
					t.cells(i, v)
				}
			}
			t.shapes32[i] = rounded(r)
		}
	}
	t.alike = !slices.ContainsFunc(t.records, func(s C.clr_shape) bool {
		return s.class != t.records[0].class || s.form != t.records[0].form
	})
	return t
}

// rounded returns a shape in float32.
func rounded(s *C.clr_shape) C.clr_shape32 {
	r := C.clr_shape32{radius: C.float(s.radius), size: C.float(s.size), erode: C.float(s.erode), first: s.first,
		count: s.count}
	for j := range s.p {
		r.p[j], r.center[j] = C.float(s.p[j]), C.float(s.center[j])
	}
	return r
}

// round appends the vertices of a shape in float32. Those of smooth shapes are about the center already.
func (t *Table) round(r *C.clr_shape) {
	if C.CLR_HAVE_VERTICES>>r.class&1 == 0 {
		return
	}
	var c r3.Vec
	if C.CLR_ARE_HULLS>>r.class&1 != 0 {
		c = r3.Vec{X: float64(r.center[0]), Y: float64(r.center[1]), Z: float64(r.center[2])}
	}
	for i := range C.int32_t(padded(int(r.count))) {
		at := r.first + i
		x, y, z := float32(t.vx[at]-c.X), float32(t.vy[at]-c.Y), float32(t.vz[at]-c.Z)
		if r.class == C.CLR_HULL {
			t.points = append(t.points, x, y, z, float32(min(i, r.count-1)))
			continue
		}
		t.fx, t.fy, t.fz = append(t.fx, x), append(t.fy, y), append(t.fz, z)
	}
}

// cells writes the direction cells of hull i. Rows with hulls whose lists would be too long are declined.
func (t *Table) cells(number int, v *geom.Convex) {
	r, vertices, c := &t.records[number], v.Hull().Vertices, v.Center()
	if t.full() {
		r.class = C.CLR_NO_CLASS
		return
	}
	r.cells = C.int32_t(len(t.starts))
	place := cellPlace{start: len(t.starts), candidate: len(t.candidates)}
	lo, hi := v.AABB()
	cells := hullcells.New(vertices, lo, hi, C.CLR_SMALL_VERTICES)
	for j := range cells.Extent {
		r.extent[j] = C.double(cells.Extent[j] * float64(cells.Grid))
	}
	t.cube(number, cells)
	block := 4 * t.width
	for _, list := range cells.Lists {
		t.starts = append(t.starts, int32(len(t.lists)/block))
		for len(list) > 0 {
			b := make([]float32, block)
			n := min(len(list), t.width)
			for i := range t.width {
				at := list[min(i, n-1)]
				b[3*t.width+i] = float32(at)
				if i >= n {
					continue // the padding lies at the center, whose support value is never the greatest
				}
				p := vertices[at]
				b[i], b[t.width+i], b[2*t.width+i] = float32(p.X-c.X), float32(p.Y-c.Y), float32(p.Z-c.Z)
			}
			t.lists = append(t.lists, b...)
			list = list[n:]
		}
	}
	t.starts = append(t.starts, int32(len(t.lists)/block))
	place.endStart, place.endCandidate = len(t.starts), len(t.candidates)
	t.places[number] = place
}

// full reports whether the table has no room for further lists.
func (t *Table) full() bool { return len(t.corners)/4+len(t.lists)/4 > maxTableVertices }

// takeCells copies the direction cells of hull i from the table of the first shapes, where they stand at other places,
// and reports whether it did.
func (t *Table) takeCells(i int, from *Table) bool {
	r, old := &t.records[i], &from.records[i]
	if t.full() || old.class != r.class {
		return false
	}
	at := from.places[i]
	place := cellPlace{start: len(t.starts), candidate: len(t.candidates)}
	row := t.cellValues[C.CLR_CELL_VALUES*i:][:C.CLR_CELL_VALUES]
	copy(row, from.cellValues[C.CLR_CELL_VALUES*i:])
	r.extent, r.cells = old.extent, C.int32_t(place.start)
	row[3], row[7] = math.Float32frombits(uint32(place.start)), math.Float32frombits(uint32(place.candidate))
	block := int32(4 * t.width)
	starts := from.starts[at.start:at.endStart]
	first, last := starts[0], starts[len(starts)-1]
	shift := int32(len(t.lists))/block - first
	for _, s := range starts {
		t.starts = append(t.starts, s+shift)
	}
	t.lists = append(t.lists, from.lists[int(first)*int(block):int(last)*int(block)]...)
	moved := int32(r.first) - int32(t.scanned) - int32(old.first) + int32(from.scanned)
	for _, c := range from.candidates[at.candidate:at.endCandidate] {
		t.candidates = append(t.candidates, c+moved)
	}
	place.endStart, place.endCandidate = len(t.starts), len(t.candidates)
	t.places[i] = place
	return true
}

// cube writes the cell values of hull i, and its candidate vertices.
func (t *Table) cube(i int, cells *hullcells.Cells) {
	r, row := &t.records[i], t.cellValues[C.CLR_CELL_VALUES*i:][:C.CLR_CELL_VALUES]
	for j := range r.extent {
		row[j] = float32(r.extent[j])
	}
	row[3], row[7] = math.Float32frombits(uint32(r.cells)), math.Float32frombits(uint32(len(t.candidates)))
	if r.class != C.CLR_HULL {
		return
	}
	k, candidates := cells.Candidates()
	for j := range cells.Extent {
		row[4+j] = float32(cells.Extent[j] * float64(k))
	}
	for _, at := range candidates {
		t.candidates = append(t.candidates, int32(r.first)-int32(t.scanned)+at)
	}
}
