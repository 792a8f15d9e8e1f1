package contact

import "slices"

// Form says which features the core of a shape has; the numbers are those of api.h.
type Form int32

// Forms.
const (
	FormNone  Form = iota // the kernel declines rows of the shape
	FormPoint             // no flat feature
	FormSegment
	FormFrustum
	FormPolytope
	FormPlane
)

// Support says how a support point of the core is found.
type Support int32

// Supports.
const (
	SupportOrigin Support = iota
	SupportSegment
	SupportCylinder
	SupportCone
	SupportFrustum
	SupportEllipsoid
	SupportPolytope
)

// MostVertices is the largest number of vertices of a polytope.
const MostVertices = 80

// Shape is what the contact points of a shape are made from, see contact.Features.
type Shape struct {
	Form    Form
	Support Support

	Radius, Center, Size        float64
	Half, Bottom, Top, Slant    float64 // of segments and frusta
	SemiAxes                    [3]float64
	Vertices                    [][3]float64
	Faces                       []Face
	FaceStart, FaceAt           []int32 // the faces at vertex v are FaceAt[FaceStart[v]:FaceStart[v+1]]
	NeighbourStart, NeighbourAt []int32
}

// Face is a face of a polytope.
type Face struct {
	Normal         [3]float64
	Slack          float64
	Corners, Edges []int32
}

// shape is contact_shape of api.h.
type shape struct {
	radius, center, size, half, bottom, top, slant float64
	reals, ints                                    int64
	form, support, vertices, stride                int32
}

// Shapes is a table of shapes. It is immutable.
type Shapes struct {
	shape []shape
	reals []float64
	ints  []int32
	rim   []float64
}

// NewShapes returns a table. rim are cosines and sines of the corners of the polygon inscribed into a rim.
func NewShapes(shapes []Shape, rim [16][2]float64) *Shapes {
	t := &Shapes{shape: make([]shape, len(shapes))}
	for lower := range 2 { // counter-clockwise as seen from outside
		for i := range 2 {
			for k := range rim {
				if lower == 1 {
					k = (len(rim) - k) % len(rim)
				}
				t.rim = append(t.rim, rim[k][i])
			}
		}
	}
	for i := range shapes {
		t.shape[i] = t.add(&shapes[i])
	}
	t.reals = append(t.reals, make([]float64, pad)...) // what vectors of the last corners read
	t.ints = append(t.ints, 0)                         // not empty
	return t
}

const pad = 8 // CONTACT_PAD of api.h

func (t *Shapes) add(s *Shape) shape {
	out := shape{radius: s.Radius, center: s.Center, size: s.Size, half: s.Half, bottom: s.Bottom, top: s.Top,
		slant: s.Slant, reals: int64(len(t.reals)), ints: int64(len(t.ints)), form: int32(s.Form),
		support: int32(s.Support), vertices: int32(len(s.Vertices))}
	switch {
	case s.Form == FormNone:
		return out
	case len(s.Vertices) > MostVertices:
		panic("contact: a polytope of too many vertices")
	case s.Support == SupportEllipsoid:
		t.reals = append(t.reals, s.SemiAxes[:]...)
		return out
	case s.Support != SupportPolytope:
		return out
	}
	out.stride = int32((len(s.Vertices) + pad - 1) / pad * pad)
	for axis := range 3 {
		for i := range int(out.stride) {
			if i >= len(s.Vertices) {
				i = 0
			}
			t.reals = append(t.reals, s.Vertices[i][axis])
		}
	}
	cornerStart, corners, edges := []int32{0}, []int32{}, []int32{}
	for _, f := range s.Faces {
		t.reals = append(t.reals, f.Normal[0], f.Normal[1], f.Normal[2], f.Slack)
		corners, edges = append(corners, f.Corners...), append(edges, f.Edges...)
		cornerStart = append(cornerStart, int32(len(corners)))
	}
	lists := [][]int32{s.FaceStart, s.FaceAt, cornerStart, corners, edges, s.NeighbourStart, s.NeighbourAt}
	at := int32(len(lists)) + 2
	for _, list := range lists {
		t.ints = append(t.ints, at)
		at += int32(len(list))
	}
	t.ints = append(t.ints, int32(int64(len(t.reals))-out.reals), int32(len(corners)))
	t.ints = append(t.ints, slices.Concat(lists...)...)
	for axis := range 3 {
		for _, v := range corners {
			t.reals = append(t.reals, s.Vertices[v][axis])
		}
	}
	return out
}

// Rows are columns of answered pairs of shapes of a table, in package batch's layout.
type Rows struct {
	ShapeA, ShapeB       []int32   // [N]
	PositionA, PositionB []float64 // [N,3]
	RotationA, RotationB []float64 // [N,4] unit quaternions
	Normal, Distance     []float64 // [N,3], [N]
	Gap                  []float32 // [N]
	WitnessA, WitnessB   []float64 // [N,3]
	MaxGap               []float64 // [N]
}

// Points are the contact points of rows, in columns.
type Points struct {
	Count    []int32   // [N]
	Lower    []float64 // [N]
	Position []float64 // [N,4,3]
	Gap      []float64 // [N,4]
	ID       []uint64  // [N,4]
}
