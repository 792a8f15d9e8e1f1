package layout

import (
	"slices"

	"clearance/batch"
	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

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
