//go:build cgo

package derive

// #include "include/api.h"
import "C"

import (
	"math"
	"runtime"
	"sync"
	"weak"

	"clearance/batch"
	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// Table is a library as the kernel reads it.
type Table struct {
	shapes   []C.derive_shape
	vertices [3][]float64 // x, y, z of the vertices of hulls

	// The neighbors of number i of the vertices, as indices in its hull, are
	// neighbors[neighborStarts[i]:neighborStarts[i+1]].
	neighborStarts, neighbors []int32
}

// tables are those of the libraries in use.
var tables sync.Map // weak.Pointer[batch.Library] to *Table

// TableOf returns the table of a library, which it keeps as long as the library; nil if there is no kernel.
func TableOf(lib *batch.Library) *Table {
	if len(variants()) == 0 {
		return nil
	}
	key := weak.Make(lib)
	if t, ok := tables.Load(key); ok {
		return t.(*Table)
	}
	t, loaded := tables.LoadOrStore(key, newTable(lib))
	if !loaded {
		runtime.AddCleanup(lib, func(key weak.Pointer[batch.Library]) { tables.Delete(key) }, key)
	}
	return t.(*Table)
}

func newTable(lib *batch.Library) *Table {
	t := &Table{shapes: make([]C.derive_shape, lib.Len())}
	for i := range t.shapes {
		c, k := &t.shapes[i], int32(i)
		t.add(c, lib.Shape(k))
		center := lib.GrowthCenter(k)
		c.center = [3]C.double{C.double(center.X), C.double(center.Y), C.double(center.Z)}
		c.grows = flag(lib.GrowthInradius(k) > 0)
	}
	t.neighborStarts = append(t.neighborStarts, int32(len(t.neighbors)))
	return t
}

func (t *Table) add(c *C.derive_shape, s geom.Shape) {
	core, _ := geom.WithoutMargin(s)
	c.radius, c.size = C.double(s.Radius()), C.double(s.BoundingRadius())
	parameters := func(class C.int32_t, p ...float64) {
		c.class = class
		for i, v := range p {
			c.parameter[i] = C.double(v)
		}
	}
	middle := core.Center()
	c.middle = [3]C.double{C.double(middle.X), C.double(middle.Y), C.double(middle.Z)}
	c.inner, c.rolling = C.double(max(core.Inradius()-core.Radius(), 0)), C.double(geom.MinCurvatureRadius(core))
	switch k := core.(type) {
	case geom.Sphere:
		parameters(C.DERIVE_POINT)
	case geom.Capsule:
		parameters(C.DERIVE_SEGMENT, k.HalfLength)
	case geom.Box:
		parameters(C.DERIVE_BOX, k.HalfExtents.X, k.HalfExtents.Y, k.HalfExtents.Z)
	case geom.FrustumShape:
		bottom, top, half := k.Discs()
		parameters(C.CLR_FRUSTUM, bottom, top, half)
	case geom.Ellipsoid:
		parameters(C.CLR_ELLIPSOID, k.SemiAxes.X, k.SemiAxes.Y, k.SemiAxes.Z)
	case geom.Halfspace:
		parameters(C.DERIVE_HALFSPACE)
		c.size = c.radius
	case *geom.Convex:
		parameters(C.CLR_HULL)
		t.addHull(c, k)
	case geom.Superquadric:
		parameters(C.CLR_SUPERQUADRIC, k.SemiAxes.X, k.SemiAxes.Y, k.SemiAxes.Z)
		c.power = [3]C.double{C.double(k.Alpha1), C.double(k.Alpha2)}
	case *geom.SmoothHull:
		center := k.Center()
		parameters(C.CLR_SMOOTH_HULL, center.X, center.Y, center.Z)
		var points []r3.Vec
		for _, v := range k.Vertices() {
			points = append(points, r3.Sub(v, center))
		}
		t.addPowers(c, points, k.Sharpness(), 0)
	case *geom.SmoothRevolution:
		parameters(C.CLR_SMOOTH_REVOLUTION)
		var points []r3.Vec
		for _, v := range k.Profile() {
			points = append(points, r3.Vec{X: v.X, Y: v.Y})
		}
		t.addPowers(c, points, k.Sharpness(), k.Flatness())
	default:
		c.class = C.DERIVE_NONE
	}
}

// addPowers adds the points of a support function with powers.
func (t *Table) addPowers(c *C.derive_shape, points []r3.Vec, sharpness, flatness float64) {
	if len(points) > C.CLR_SMOOTH_VERTICES {
		c.class = C.DERIVE_NONE
		return
	}
	// A power of less than 2⁻¹⁰⁰ beside 1 is lost to rounding.
	negligible := math.Exp2(-100 / (sharpness - 2))
	c.power = [3]C.double{C.double(sharpness), C.double(flatness), C.double(negligible)}
	c.first, c.count = C.int64_t(len(t.vertices[0])), C.int64_t(len(points))
	for i := range padded(len(points)) {
		var x r3.Vec
		if i < len(points) {
			x = points[i]
		}
		t.addVertex(x, nil)
	}
}

func (t *Table) addVertex(x r3.Vec, neighbors []int32) {
	t.neighborStarts = append(t.neighborStarts, int32(len(t.neighbors)))
	t.neighbors = append(t.neighbors, neighbors...)
	t.vertices[0] = append(t.vertices[0], x.X)
	t.vertices[1] = append(t.vertices[1], x.Y)
	t.vertices[2] = append(t.vertices[2], x.Z)
}

func (t *Table) addHull(c *C.derive_shape, k *geom.Convex) {
	h := k.Hull()
	v := h.Vertices
	c.first, c.count = C.int64_t(len(t.vertices[0])), C.int64_t(len(v))
	extent := 0.0
	for i := range padded(len(v)) {
		x := v[min(i, len(v)-1)]
		var neighbors []int32
		if i < len(v) {
			neighbors = h.Adj[h.Start[i]:h.Start[i+1]]
		}
		t.addVertex(x, neighbors)
		extent = max(extent, r3.Norm(x))
	}
	c.extent = C.double(2 * extent)
}
