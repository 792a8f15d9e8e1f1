package contact

import (
	"math"

	"clearance/geom"
	native "clearance/kernels/contact"

	"gonum.org/v1/gonum/spatial/r3"
)

// lanesForms are the forms of package kernels/contact.
var lanesForms = [...]native.Form{formPoint: native.FormPoint, formSegment: native.FormSegment,
	formFrustum: native.FormFrustum, formPolytope: native.FormPolytope, formPlane: native.FormPlane}

// lanesShape is what package kernels/contact reads of a shape.
func (f *Features) lanesShape() native.Shape {
	core, margin := geom.WithoutMargin(f.shape)
	s := native.Shape{Form: lanesForms[f.form], Support: f.support, Radius: f.radius, Center: f.center, Size: f.size,
		Half: f.half, Bottom: f.bottom, Top: f.top, Slant: f.slant, Ball: core.Radius(), Margin: margin,
		Inradius: f.shape.Inradius()}
	switch c := core.(type) {
	case geom.Box:
		s.P = array(c.HalfExtents)
	case geom.Ellipsoid:
		s.P = array(c.SemiAxes)
	case geom.Superquadric:
		s.P, s.Power = array(c.SemiAxes), [3]float64{c.Alpha2 / 2, c.Alpha1 / 2}
	case *geom.SmoothHull:
		s.P, s.Power = array(c.Center()), [3]float64{c.Sharpness() - 1, 1 / c.Sharpness()}
		for _, v := range c.Vertices() {
			s.Vertices = append(s.Vertices, array(r3.Sub(v, c.Center())))
		}
	case *geom.SmoothRevolution:
		s.Power = [3]float64{c.Sharpness() - 1, 1 / c.Sharpness(), c.Flatness()}
		for _, v := range c.Profile() {
			s.Vertices = append(s.Vertices, [3]float64{v.X, v.Y})
		}
	case *geom.Convex:
		s.Body = bodyOf(c)
	}
	if f.hull != nil {
		for _, v := range f.hull.Vertices {
			s.Vertices = append(s.Vertices, array(v))
		}
		for i := range f.face {
			at := &f.face[i]
			s.Faces = append(s.Faces, native.Face{Normal: array(at.normal), Slack: at.slack, Corners: at.corners,
				Edges: at.edges})
		}
		s.FaceStart, s.FaceAt = f.faceStart, f.faces
		s.NeighbourStart, s.NeighbourAt = f.hull.Start, f.hull.Adj
	}
	return s
}

// bodyOf is what [geom.Convex.Residual] reads of a convex, as that has it.
func bodyOf(c *geom.Convex) native.Body {
	h, center := c.Hull(), c.Center()
	b := native.Body{Dim: h.Dim, Center: array(center), Bounding: c.BoundingRadius()}
	for f := range max(len(h.FaceStart)-1, 0) {
		n := h.Normals[h.FaceStart[f]]
		p := native.Plane{Normal: array(n), Offset: math.Inf(-1)}
		for i := range h.FaceCorners(f) {
			v := h.FaceCorner(f, i)
			p.Corners = append(p.Corners, int32(v))
			p.Offset = max(p.Offset, r3.Dot(n, r3.Sub(h.Vertices[v], center)))
		}
		b.Planes = append(b.Planes, p)
	}
	return b
}

func array(v r3.Vec) [3]float64 { return [3]float64{v.X, v.Y, v.Z} }

// pointBuilder builds the contact points of rows by the kernel of a variant, or without one in Go.
type pointBuilder struct {
	variant  string
	features []*Features    // by shape
	table    *native.Shapes // of features, of the kernel
}

// newPointBuilder takes the features of a library, which are nil for shapes that no row has.
func newPointBuilder(variant string, features []*Features) *pointBuilder {
	b := &pointBuilder{variant: variant, features: features}
	if variant != Off && len(features) > 0 {
		shapes := make([]native.Shape, len(features))
		for i, f := range features {
			if f != nil {
				shapes[i] = f.lanesShape()
			}
		}
		b.table = native.NewShapes(shapes, rim)
	}
	return b
}

// build sets the points of the rows in list, whose order it changes.
func (b *pointBuilder) build(s *stepWorker, rows *native.Rows, list []int32, out *native.Points) {
	if b.table != nil {
		native.Manifold(b.variant, b.table, rows, list, out, &s.scratch)
		return
	}
	for _, i := range list {
		b.buildRow(s, rows, int(i), out)
	}
}

// buildRow sets the points of a row in Go.
func (b *pointBuilder) buildRow(s *stepWorker, rows *native.Rows, i int, out *native.Points) {
	pose := func(position, rotation []float64) geom.Pose {
		return geom.Pose{Position: vecOf(position[3*i:]), Rotation: quaternion(rotation[4*i:])}
	}
	p := Pair{A: b.features[rows.ShapeA[i]], B: b.features[rows.ShapeB[i]],
		PoseA: pose(rows.PositionA, rows.RotationA), PoseB: pose(rows.PositionB, rows.RotationB),
		Normal: vecOf(rows.Normal[3*i:]), Distance: rows.Distance[i], Gap: float64(rows.Gap[i]),
		WitnessA: vecOf(rows.WitnessA[3*i:]), WitnessB: vecOf(rows.WitnessB[3*i:]), MaxGap: rows.MaxGap[i]}
	m := &s.manifold
	s.workspace.Build(&p, m)
	out.Count[i], out.Lower[i] = int32(m.N), m.Lower
	for k := range m.N {
		q := MaxPoints*i + k
		putVec(out.Position[3*q:], m.Points[k].Position)
		out.Gap[q], out.ID[q] = m.Points[k].Gap, m.Points[k].ID
	}
}

// newPoints returns columns of contact points of n rows.
func newPoints(n int) native.Points {
	return native.Points{Count: make([]int32, n), Lower: make([]float64, n), Position: make([]float64, 3*MaxPoints*n),
		Gap: make([]float64, MaxPoints*n), ID: make([]uint64, MaxPoints*n)}
}
