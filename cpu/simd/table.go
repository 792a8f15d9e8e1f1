//go:build cgo

package simd

// #include "api.h"
import "C"

import (
	"math"

	"clearance/batch"
	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// Table is a library as the kernels read it. It is immutable.
type Table struct {
	most       int // vertices of a hull
	shapes     []C.clr_shape
	vx, vy, vz []float64
	fx, fy, fz []float32
}

// maxTableVertices keeps indices of vertices far within int32; hulls beyond it, 24 GiB
// of them, are left to the caller.
const maxTableVertices = 1 << 29

// Hulls of more vertices are left to the caller: kernels look at all of them, the
// reference solvers climb from one to the next, which is faster from here on.
const (
	maxScanned         = 1024
	maxScannedPortable = 256
)

// NewTable builds the table of a library for a variant.
func NewTable(l *batch.Library, variant string) *Table {
	t := &Table{shapes: make([]C.clr_shape, l.Len()), most: maxScanned}
	if variant == "portable" {
		t.most = maxScannedPortable
	}
	for i := range t.shapes {
		t.put(&t.shapes[i], l.Shape(int32(i)))
	}
	return t
}

func (t *Table) put(r *C.clr_shape, s geom.Shape) {
	inner := s
	for {
		m, ok := inner.(geom.Rounded)
		if !ok {
			break
		}
		inner = m.Shape
	}
	r.class = C.CLR_BOX
	set := func(x, y, z float64) { r.p = [3]C.double{C.double(x), C.double(y), C.double(z)} }
	switch v := inner.(type) {
	case geom.Sphere:
		r.form = C.CLR_POINT
	case geom.Capsule:
		r.form = C.CLR_SEGMENT
		set(0, 0, v.HalfLength)
	case geom.Halfspace:
		r.class, r.form = C.CLR_NO_CLASS, C.CLR_HALF
		r.radius, r.size = C.double(s.Radius()), C.double(s.Radius()) // as batch.Library.PairSize
		return
	case geom.Box:
		r.form = C.CLR_CUBOID
		set(v.HalfExtents.X, v.HalfExtents.Y, v.HalfExtents.Z)
	case geom.Ellipsoid:
		r.class = C.CLR_ELLIPSOID
		set(v.SemiAxes.X, v.SemiAxes.Y, v.SemiAxes.Z)
	case geom.Cylinder:
		r.class = C.CLR_ROUND
		set(v.R, v.R, v.HalfLength)
	case geom.Cone:
		r.class = C.CLR_ROUND
		set(v.R, 0, v.HalfLength)
	case geom.Frustum:
		r.class = C.CLR_ROUND
		set(v.RBottom, v.RTop, v.HalfLength)
	case *geom.Convex:
		if len(v.Hull().Vertices) > t.most || len(t.vx) > maxTableVertices {
			r.class = C.CLR_NO_CLASS
			return
		}
		r.class = C.CLR_HULL
		if len(v.Hull().Vertices) <= C.CLR_SMALL_VERTICES {
			r.class = C.CLR_SMALL
		}
		t.hull(r, v)
	default:
		r.class = C.CLR_NO_CLASS
		return
	}
	erode := geom.MinCurvatureRadius(s)
	c := s.Center()
	r.erode = C.double(erode)
	r.radius = C.double(s.Radius() + erode)
	r.size = C.double(s.BoundingRadius())
	r.center = [3]C.double{C.double(c.X), C.double(c.Y), C.double(c.Z)}
	r.off = C.double(math.Sqrt(r3.Norm2(c)))
}

// hull appends the vertices of a hull, filled up with copies of the last.
func (t *Table) hull(r *C.clr_shape, v *geom.Convex) {
	vertices, c := v.Hull().Vertices, v.Center()
	r.first, r.count = C.int32_t(len(t.vx)), C.int32_t(len(vertices))
	for i := 0; i < len(vertices) || i%C.CLR_VERTEX_ALIGN != 0; i++ {
		p := vertices[min(i, len(vertices)-1)]
		t.vx, t.vy, t.vz = append(t.vx, p.X), append(t.vy, p.Y), append(t.vz, p.Z)
		t.fx, t.fy, t.fz = append(t.fx, float32(p.X-c.X)), append(t.fy, float32(p.Y-c.Y)), append(t.fz, float32(p.Z-c.Z))
	}
}
