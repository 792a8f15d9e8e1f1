package contact

import "slices"

// Form says which features the core of a shape has; the numbers are those of api.h.
type Form int32

// Forms.
const (
	FormPoint Form = iota // no flat feature
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
	SupportBox
	SupportPolytope
	SupportSuperquadric
	SupportSmoothHull
	SupportSmoothRevolution
)

// Shape is what the contact points of a shape are made from, see contact.Features.
type Shape struct {
	Form    Form
	Support Support

	Radius, Center, Size        float64
	Half, Bottom, Top, Slant    float64    // of segments and frusta
	Ball, Margin, Inradius      float64    // Radius is Ball + Margin
	P                           [3]float64 // semi-axes, half extents, the center of a smooth hull
	Power                       [3]float64 // α2/2 and α1/2 of a superquadric; β − 1, 1/β, and γ of smooth shapes
	Vertices                    [][3]float64
	Faces                       []Face
	FaceStart, FaceAt           []int32 // the faces at vertex v are FaceAt[FaceStart[v]:FaceStart[v+1]]
	NeighbourStart, NeighbourAt []int32
	Body                        Body // of a polytope but a box
}

// Face is a face of a polytope.
type Face struct {
	Normal         [3]float64
	Slack          float64
	Corners, Edges []int32
}

// Body is what the signed distance of a polytope is found from, see geom.Convex.Residual.
type Body struct {
	Dim      int
	Center   [3]float64
	Bounding float64 // radius about the center
	Planes   []Plane
}

// Plane is a plane of a face of a hull, with its offset from the center.
type Plane struct {
	Normal  [3]float64
	Offset  float64
	Corners []int32
}

// shape is contact_shape of api.h.
type shape struct {
	radius, center, size, half, bottom, top, slant float64
	ball, margin, inradius                         float64
	p, power                                       [3]float64
	reals, ints                                    int64
	form, support, vertices, stride                int32
}

// Shapes is a table of shapes. It is immutable.
type Shapes struct {
	shape   []shape
	reals   []float64
	ints    []int32
	rim     []float64
	corners int // at most of a face, and vertices of a polytope
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
		slant: s.Slant, ball: s.Ball, margin: s.Margin, inradius: s.Inradius, p: s.P, power: s.Power,
		reals: int64(len(t.reals)), ints: int64(len(t.ints)), form: int32(s.Form), support: int32(s.Support),
		vertices: int32(len(s.Vertices))}
	if len(s.Vertices) == 0 {
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
	if s.Form != FormPolytope {
		return out
	}
	cornerStart, corners, edges := []int32{0}, []int32{}, []int32{}
	t.corners = max(t.corners, len(s.Vertices))
	for _, f := range s.Faces {
		t.reals = append(t.reals, f.Normal[0], f.Normal[1], f.Normal[2], f.Slack)
		corners, edges = append(corners, f.Corners...), append(edges, f.Edges...)
		cornerStart = append(cornerStart, int32(len(corners)))
	}
	sideStart, sides := []int32{0}, []int32{}
	for _, p := range s.Body.Planes {
		sides = append(sides, p.Corners...)
		sideStart = append(sideStart, int32(len(sides)))
	}
	lists := [][]int32{s.FaceStart, s.FaceAt, cornerStart, corners, edges, s.NeighbourStart, s.NeighbourAt, sideStart,
		sides}
	at := int32(len(lists)) + 5
	for _, list := range lists {
		t.ints = append(t.ints, at)
		at += int32(len(list))
	}
	cornersAt := int32(int64(len(t.reals)) - out.reals)
	t.ints = append(t.ints, cornersAt, int32(len(corners)), cornersAt+3*int32(len(corners)),
		int32(len(s.Body.Planes)), int32(s.Body.Dim))
	t.ints = append(t.ints, slices.Concat(lists...)...)
	for axis := range 3 {
		for _, v := range corners {
			t.reals = append(t.reals, s.Vertices[v][axis])
		}
	}
	t.reals = append(append(t.reals, s.Body.Center[:]...), s.Body.Bounding)
	for _, p := range s.Body.Planes {
		t.reals = append(append(t.reals, p.Normal[:]...), p.Offset)
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
