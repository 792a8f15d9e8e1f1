package contact

import (
	"math"

	"clearance/batch"
	"clearance/geom"
	"clearance/kernels"
	native "clearance/kernels/contact"

	"gonum.org/v1/gonum/spatial/r3"
)

// kernelFeatures is what the kernel reads of a shape beside its record in the table of all kernels.
func (f *Features) kernelFeatures() native.Features {
	core, margin := geom.WithoutMargin(f.shape)
	out := native.Features{Center: f.center, Slant: f.slant, Ball: core.Radius(), Margin: margin,
		Inradius: f.shape.Inradius()}
	_, out.Cylinder = core.(geom.Cylinder)
	if f.form != formPolytope {
		return out
	}
	p := &native.Polytope{FaceStart: f.faceStart, FaceAt: f.faces, NeighbourStart: f.hull.Start,
		NeighbourAt: f.hull.Adj}
	for _, v := range f.hull.Vertices {
		p.Vertices = append(p.Vertices, array(v))
	}
	for i := range f.face {
		at := &f.face[i]
		p.Faces = append(p.Faces, native.Face{Normal: array(at.normal), Slack: at.slack, Corners: at.corners,
			Edges: at.edges})
	}
	if c, ok := core.(*geom.Convex); ok {
		setBody(p, c)
	} else {
		p.Box = true
	}
	out.Polytope = p
	return out
}

// setBody sets what [geom.Convex.Residual] reads of a convex, as that has it.
func setBody(p *native.Polytope, c *geom.Convex) {
	h, center := c.Hull(), c.Center()
	p.Dim, p.Center, p.Bounding = h.Dim, array(center), c.BoundingRadius()
	for f := range max(len(h.FaceStart)-1, 0) {
		n := h.Normals[h.FaceStart[f]]
		plane := native.Plane{Normal: array(n), Offset: math.Inf(-1)}
		for i := range h.FaceCorners(f) {
			v := h.FaceCorner(f, i)
			plane.Corners = append(plane.Corners, int32(v))
			plane.Offset = max(plane.Offset, r3.Dot(n, r3.Sub(h.Vertices[v], center)))
		}
		p.Planes = append(p.Planes, plane)
	}
}

func array(v r3.Vec) [3]float64 { return [3]float64{v.X, v.Y, v.Z} }

// pointBuilder builds the contact points of rows by the kernel of a variant, or without one in Go.
type pointBuilder struct {
	variant  string
	features []*Features    // by shape
	table    *native.Shapes // of features, of the kernel
	plain    []bool         // the shapes whose rows are built in Go, if there are any, see [native.Shapes.Serves]
}

// newPointBuilder takes the features of a library, which are nil for shapes that no row has.
func newPointBuilder(variant string, lib *batch.Library, features []*Features) *pointBuilder {
	b := &pointBuilder{variant: variant, features: features}
	if variant == Off || len(features) == 0 {
		return b
	}
	of := make([]native.Features, len(features))
	for i, f := range features {
		if f != nil {
			of[i] = f.kernelFeatures()
		}
	}
	b.table = native.NewShapes(kernels.ShapesOf(lib), of, rim)
	for i, f := range features {
		if f != nil && !b.table.Serves(i) {
			if b.plain == nil {
				b.plain = make([]bool, len(features))
			}
			b.plain[i] = true
		}
	}
	return b
}

// build sets the points of the rows in list, whose order it changes.
func (b *pointBuilder) build(s *stepWorker, rows *native.Rows, list []int32, out *native.Points) {
	served := 0
	switch {
	case b.table == nil:
	case b.plain == nil:
		served = len(list)
	default:
		for k, i := range list {
			if !b.plain[rows.ShapeA[i]] && !b.plain[rows.ShapeB[i]] {
				list[k], list[served] = list[served], i
				served++
			}
		}
	}
	if served > 0 {
		native.Manifold(b.variant, b.table, rows, list[:served], out, &s.scratch)
	}
	for _, i := range list[served:] {
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
