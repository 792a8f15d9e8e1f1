package contact

import (
	"slices"

	"clearance/kernels"
)

// Features is what contact points read of a shape beside its record in [kernels.Shapes], see contact.Features.
type Features struct {
	Center, Slant          float64 // distance of the center from the origin; length of the side of a frustum
	Ball, Margin, Inradius float64 // the radius of the ball around the core is Ball + Margin
	Cylinder               bool    // the signed distance is that of a cylinder
	Polytope               *Polytope
}

// Polytope is the faces and edges of a box or hull.
type Polytope struct {
	Box                         bool
	Vertices                    [][3]float64 // in the order of the record, if it has any
	Faces                       []Face
	FaceStart, FaceAt           []int32 // the faces at vertex v are FaceAt[FaceStart[v]:FaceStart[v+1]]
	NeighbourStart, NeighbourAt []int32

	// What the signed distance is found from, but of a box: see geom.Convex.Residual.
	Dim      int
	Center   [3]float64
	Bounding float64 // radius about the center
	Planes   []Plane
}

// Face is a face of a polytope.
type Face struct {
	Normal         [3]float64
	Slack          float64
	Corners, Edges []int32
}

// Plane is a plane of a face of a hull, with its offset from the center.
type Plane struct {
	Normal  [3]float64
	Offset  float64
	Corners []int32
}

// features is contact_features of api.h.
type features struct {
	center, slant, ball, margin, inradius float64
	reals, ints                           int64
	cylinder, _                           int32
}

// Shapes is a library as the kernel of contact points reads it: its records, and columns beside them. It is immutable.
type Shapes struct {
	records  *kernels.Shapes
	features []features
	reals    []float64
	ints     []int32
	rim      []float64
	corners  int // at most of a face, and vertices of a polytope
}

// NewShapes returns the table of a library with the features of its shapes, which have zeros where no row has the
// shape. rim are cosines and sines of the corners of the polygon inscribed into a rim.
func NewShapes(records *kernels.Shapes, of []Features, rim [16][2]float64) *Shapes {
	t := &Shapes{records: records, features: make([]features, len(of))}
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
	for i := range of {
		f := &of[i]
		t.features[i] = features{center: f.Center, slant: f.Slant, ball: f.Ball, margin: f.Margin, inradius: f.Inradius,
			reals: int64(len(t.reals)), ints: -1}
		if f.Cylinder {
			t.features[i].cylinder = 1
		}
		if f.Polytope != nil {
			t.features[i].ints = int64(len(t.ints))
			t.add(f.Polytope)
		}
	}
	t.reals = append(t.reals, make([]float64, mostLanes)...) // what vectors of the last corners read
	t.ints = append(t.ints, 0)                               // not empty
	return t
}

// mostLanes is the largest number of float64 in a vector.
const mostLanes = 8

// add appends the numbers of a polytope.
func (t *Shapes) add(p *Polytope) {
	t.corners = max(t.corners, len(p.Vertices))
	start := len(t.reals)
	offset := func() int32 { return int32(len(t.reals) - start) }
	coordinates := func(v int32, axis int) { t.reals = append(t.reals, p.Vertices[v][axis]) }
	if p.Box {
		for axis := range 3 {
			for v := range p.Vertices {
				coordinates(int32(v), axis)
			}
		}
	}
	facesAt := offset()
	cornerStart, corners, edges := []int32{0}, []int32{}, []int32{}
	for _, f := range p.Faces {
		t.reals = append(t.reals, f.Normal[0], f.Normal[1], f.Normal[2], f.Slack)
		corners, edges = append(corners, f.Corners...), append(edges, f.Edges...)
		cornerStart = append(cornerStart, int32(len(corners)))
	}
	cornersAt := offset()
	for axis := range 3 {
		for _, v := range corners {
			coordinates(v, axis)
		}
	}
	bodyAt := offset()
	t.reals = append(append(t.reals, p.Center[:]...), p.Bounding)
	sideStart, sides := []int32{0}, []int32{}
	for _, plane := range p.Planes {
		t.reals = append(append(t.reals, plane.Normal[:]...), plane.Offset)
		sides = append(sides, plane.Corners...)
		sideStart = append(sideStart, int32(len(sides)))
	}
	lists := [][]int32{p.FaceStart, p.FaceAt, cornerStart, corners, edges, p.NeighbourStart, p.NeighbourAt, sideStart,
		sides}
	others := []int32{facesAt, cornersAt, int32(len(corners)), bodyAt, int32(len(p.Planes)), int32(p.Dim)}
	at := int32(len(lists) + len(others))
	for _, list := range lists {
		t.ints = append(t.ints, at)
		at += int32(len(list))
	}
	t.ints = append(append(t.ints, others...), slices.Concat(lists...)...)
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
