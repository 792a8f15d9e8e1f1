package batch

import (
	"fmt"

	"clearance/geom"
)

// Packed is a library as shaders and SIMD kernels read it.
type Packed struct {
	Shapes   []ShapeRecord
	Vertices []Vec4 // of all shapes that have some, relative to the shape's own frame; w = 0
}

// packLibrary writes the records of a library. It reports a shape that has no
// packed form, or more vertices than fit.
func packLibrary(l *Library) (*Packed, error) {
	p := &Packed{Shapes: make([]ShapeRecord, len(l.shapes))}
	for i, s := range l.shapes {
		if err := p.put(&p.Shapes[i], s); err != nil {
			return nil, &ShapeError{Index: i, Name: l.Name(int32(i)), Err: err}
		}
	}
	return p, nil
}

func (p *Packed) put(r *ShapeRecord, s geom.Shape) error {
	c := s.Center()
	r.Kind = uint32(s.Kind())
	r.Radius = float32(s.Radius())
	r.Ball = Vec4{float32(c.X), float32(c.Y), float32(c.Z), float32(s.BoundingRadius())}

	inner := s
	for {
		m, ok := inner.(geom.Rounded)
		if !ok {
			break
		}
		inner = m.Shape
	}
	switch v := inner.(type) {
	case geom.Sphere:
		r.set(v.R)
	case geom.Capsule:
		r.set(v.R, v.HalfLength)
	case geom.Cylinder:
		r.set(v.R, v.HalfLength)
	case geom.Cone:
		r.set(v.R, v.HalfLength)
	case geom.Frustum:
		r.set(v.RBottom, v.RTop, v.HalfLength)
	case geom.Box:
		r.set(v.HalfExtents.X, v.HalfExtents.Y, v.HalfExtents.Z)
	case geom.Ellipsoid:
		r.set(v.SemiAxes.X, v.SemiAxes.Y, v.SemiAxes.Z)
	case geom.Superquadric:
		r.set(v.SemiAxes.X, v.SemiAxes.Y, v.SemiAxes.Z, v.Alpha1, v.Alpha2)
	case geom.Halfspace:
	case *geom.Convex:
		return p.vertices(r, v)
	default:
		return fmt.Errorf("%s (%T) has no packed form", s.Kind(), inner)
	}
	return nil
}

func (r *ShapeRecord) set(params ...float64) {
	for i, v := range params {
		r.Params[i] = float32(v)
	}
}

func (p *Packed) vertices(r *ShapeRecord, c *geom.Convex) error {
	hull := c.Hull().Vertices
	if total := len(p.Vertices) + len(hull); total > MaxTotalVertices {
		return fmt.Errorf("the library has more than %d vertices in all", MaxTotalVertices)
	}
	r.VertexOffset, r.VertexCount = uint32(len(p.Vertices)), uint32(len(hull))
	for _, v := range hull {
		p.Vertices = append(p.Vertices, Vec4{float32(v.X), float32(v.Y), float32(v.Z), 0})
	}
	return nil
}
