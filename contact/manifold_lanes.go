package contact

import (
	"clearance/geom"
	"clearance/geom/hull"
	native "clearance/kernels/contact"

	"gonum.org/v1/gonum/spatial/r3"
)

// lanesForms are the forms of package kernels/contact.
var lanesForms = [...]native.Form{formPoint: native.FormPoint, formSegment: native.FormSegment,
	formFrustum: native.FormFrustum, formPolytope: native.FormPolytope, formPlane: native.FormPlane}

// lanesShape is what package kernels/contact reads of a shape. Its form is none for the shapes whose rows are left to
// Go: powers, smooth hulls and revolutions, and polytopes of more vertices than [hull.Hull.Support] scans.
func (f *Features) lanesShape() (s native.Shape) {
	core, _ := geom.WithoutMargin(f.shape)
	switch c := core.(type) {
	case geom.Sphere, geom.Halfspace:
		s.Support = native.SupportOrigin
	case geom.Capsule:
		s.Support, s.Half = native.SupportSegment, c.HalfLength
	case geom.Cylinder:
		s.Support = native.SupportCylinder
	case geom.Cone:
		s.Support = native.SupportCone
	case geom.FrustumShape: // the two before differ from it in the signs of zeros
		s.Support = native.SupportFrustum
	case geom.Ellipsoid:
		s.Support, s.SemiAxes = native.SupportEllipsoid, array(c.SemiAxes)
	case geom.Box, *geom.Convex:
		if len(f.hull.Vertices) > min(hull.LinearLimit, native.MostVertices) {
			return native.Shape{}
		}
		s.Support = native.SupportPolytope
	default:
		return native.Shape{}
	}
	s.Form, s.Radius, s.Center, s.Size = lanesForms[f.form], f.radius, f.center, f.size
	if f.form == formFrustum {
		s.Half, s.Bottom, s.Top, s.Slant = f.half, f.bottom, f.top, f.slant
	}
	if s.Support == native.SupportPolytope {
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

func array(v r3.Vec) [3]float64 { return [3]float64{v.X, v.Y, v.Z} }

// pointBuilder builds the contact points of rows by the kernel of a variant, and those that it declines in Go.
type pointBuilder struct {
	variant  string
	kernel   bool           // whether the kernel builds what it can
	features []*Features    // by shape
	table    *native.Shapes // of features
}

// newPointBuilder takes the features of a library, which are nil for shapes that no row has.
func newPointBuilder(variant string, features []*Features) *pointBuilder {
	kernel := variant != Off && len(features) > 0
	b := &pointBuilder{variant: variant, kernel: kernel, features: features}
	if kernel {
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

// build sets the points of the rows in list, which it changes.
func (b *pointBuilder) build(s *stepWorker, rows *native.Rows, list []int32, out *native.Points) {
	if b.kernel {
		list = native.Manifold(b.variant, b.table, rows, list, out)
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
