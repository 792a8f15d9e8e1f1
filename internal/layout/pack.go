// Package layout holds what shaders, and the host that feeds them, must agree on: records in the
// layout of std430, codes, marks and limits, and a library of shapes packed into such records.
// cmd/genlayout writes the GLSL and C headers from it.
//
// # Layers and threads
//
// layout imports batch, geom and geom/cells. A packed library is not changed after packing.
package layout

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/geom"
)

// MaxTotalVertices is the largest number of vertices of a packed library: they
// fill a storage buffer of 128 MiB, the least that devices in use offer.
const MaxTotalVertices = 1 << 23

// Packed is a library as shaders read it.
type Packed struct {
	Shapes   []ShapeRecord
	Vertices []Vec4 // of all shapes that have some, relative to the shape's own frame; w = 0

	// Cells says where to look for the support points of hulls of more than CellLimit
	// vertices, see cells.go: a word a shape, 0 or the place in Cells of its cell map.
	// The parameters of such a shape are its L, by rows.
	Cells []uint32
}

// Pack writes the records of a library. It reports a shape that has no packed form, or more
// vertices than fit. It packs at every call: callers keep what they have uploaded, not this.
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
	p.packCells(shapes)
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
