package layout

import (
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
		inner := core(s)
		params, _ := paramsOf(inner)
		copy(r.Params[:], params)
		c := s.Center()
		r.Center = [3]float64{c.X, c.Y, c.Z}
		r.Bounding = s.BoundingRadius()
		r.Radius = s.Radius()
		r.Erode = geom.MinCurvatureRadius(s)
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

// core takes the margins off a shape.
func core(s geom.Shape) geom.Shape {
	for {
		m, ok := s.(geom.Rounded)
		if !ok {
			return s
		}
		s = m.Shape
	}
}

// paramsOf returns the parameters of a shape without margins, in the order of [Params].
// ok is false for shapes that have no packed form.
func paramsOf(s geom.Shape) (p []float64, ok bool) {
	switch v := s.(type) {
	case geom.Sphere:
		return []float64{v.R}, true
	case geom.Capsule:
		return []float64{v.R, v.HalfLength}, true
	case geom.Cylinder:
		return []float64{v.R, v.HalfLength}, true
	case geom.Cone:
		return []float64{v.R, v.HalfLength}, true
	case geom.Frustum:
		return []float64{v.RBottom, v.RTop, v.HalfLength}, true
	case geom.Box:
		return []float64{v.HalfExtents.X, v.HalfExtents.Y, v.HalfExtents.Z}, true
	case geom.Ellipsoid:
		return []float64{v.SemiAxes.X, v.SemiAxes.Y, v.SemiAxes.Z}, true
	case geom.Superquadric:
		return []float64{v.SemiAxes.X, v.SemiAxes.Y, v.SemiAxes.Z, v.Alpha1, v.Alpha2}, true
	case *geom.SmoothHull:
		return []float64{v.Sharpness()}, true
	case *geom.SmoothRevolution:
		return []float64{v.Sharpness(), v.Flatness()}, true
	case geom.Halfspace, *geom.Convex:
		return nil, true
	}
	return nil, false
}

// verticesOf returns the vertices that a shape without margins has in a packed library:
// those of a hull, all points of a smooth hull, and the profile (r, z, 0) of a smooth
// revolution.
func verticesOf(s geom.Shape) []r3.Vec {
	switch v := s.(type) {
	case *geom.Convex:
		return v.Hull().Vertices
	case *geom.SmoothHull:
		return v.Vertices()
	case *geom.SmoothRevolution:
		points := make([]r3.Vec, len(v.Profile()))
		for i, p := range v.Profile() {
			points[i] = r3.Vec{X: p.X, Y: p.Y}
		}
		return points
	}
	return nil
}
