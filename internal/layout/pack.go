package layout

import (
	"fmt"

	"clearance/batch"
	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
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
