package contact

import (
	"fmt"
	"math"

	"clearance/geom"
	"clearance/geom/hull"

	"gonum.org/v1/gonum/spatial/r3"
)

// form says which features a core has.
type form uint8

const (
	formUnknown  form = iota
	formPoint         // no flat feature: contact is at the witnesses
	formSegment       // along local z
	formFrustum       // two caps, one of which may be a point, and a side
	formPolytope      // vertices, edges and faces
	formPlane         // of a half-space
)

// forms has a line for every family of cores.
var forms = [geom.FamilyCount]form{
	geom.FamilyPoint:            formPoint,
	geom.FamilySegment:          formSegment,
	geom.FamilyFrustum:          formFrustum,
	geom.FamilyBox:              formPolytope,
	geom.FamilyEllipsoid:        formPoint,
	geom.FamilySuperquadric:     formPoint,
	geom.FamilySmoothHull:       formPoint,
	geom.FamilySmoothRevolution: formPoint,
	geom.FamilyHull:             formPolytope,
	geom.FamilyHalfspace:        formPlane,
}

// Features are the faces and edges of a shape, and the adjacency by which they are found. They are built once per
// shape, immutable, and safe for any number of goroutines. Curved shapes have none.
type Features struct {
	shape  geom.Shape
	radius float64 // of the ball around the core, with the margin
	center float64 // distance of the center from the local origin
	size   float64 // bounding radius; of half-spaces the margin
	form   form

	half, bottom, top float64 // half length, radii of segments and frusta
	slant             float64 // length of the side of a frustum

	hull      *hull.Hull
	face      []face
	faceStart []int32 // [V+1] the faces at vertex v are faces[faceStart[v]:faceStart[v+1]]
	faces     []int32
}

// NewFeatures returns the features of a valid shape.
func NewFeatures(s geom.Shape) *Features {
	core, _ := geom.WithoutMargin(s)
	f := &Features{shape: s, radius: s.Radius(), center: r3.Norm(s.Center()), size: s.BoundingRadius()}
	if math.IsInf(f.size, 1) {
		f.size = f.radius
	}
	f.form = forms[core.Kind().Family()]
	switch c := core.(type) {
	case geom.Capsule:
		f.half = c.HalfLength
		if f.half == 0 {
			f.form = formPoint
		}
	case geom.FrustumShape:
		f.bottom, f.top, f.half = c.Discs()
	case geom.Box:
		f.setHull(boxHull(c.HalfExtents))
	case *geom.Convex:
		f.setHull(c.Hull())
	default:
		if f.form != formPoint && f.form != formPlane {
			panic(fmt.Sprintf("contact: no features of the kind %v", core.Kind()))
		}
	}
	f.slant = math.Hypot(f.bottom-f.top, 2*f.half)
	return f
}

// Shape returns the shape.
func (f *Features) Shape() geom.Shape { return f.shape }

// boxHull is the hull of the corners of a box.
func boxHull(half r3.Vec) *hull.Hull {
	var corners []r3.Vec
	for i := range 8 {
		sign := func(bit int) float64 { return float64(2*(i>>bit&1) - 1) }
		corners = append(corners, r3.Vec{X: sign(0) * half.X, Y: sign(1) * half.Y, Z: sign(2) * half.Z})
	}
	h, err := hull.Build(corners)
	if err != nil {
		panic("contact: a valid box: " + err.Error()) // not reached: its corners are finite
	}
	return h
}

// edge is the number of the edge between two neighbouring vertices; a segment has the edge 0, and so have edges within
// a merged face.
func (f *Features) edge(v, w int32) int32 {
	for _, k := range f.faces[f.faceStart[v]:f.faceStart[v+1]] {
		at := &f.face[k]
		for i, a := range at.corners {
			b := at.corners[(i+1)%len(at.corners)]
			if a == v && b == w || a == w && b == v {
				return at.edges[i]
			}
		}
	}
	return 0
}

// Numbers of the features of segments and frusta; those of polytopes are indices. The sector of a rim is added to its
// first number.
const (
	lowerEnd  = 0
	upperEnd  = 1
	lowerRim  = 16
	upperRim  = 32
	rimPoints = 16 // corners of the polygon inscribed into a rim; a multiple of 4
)

// rim has the cosine and sine of each corner of a rim.
var rim = func() (at [rimPoints][2]float64) {
	for i := range at {
		at[i][1], at[i][0] = math.Sincos(2 * math.Pi * float64(i) / rimPoints)
	}
	return at
}()

// Limits of the choice of a feature.
const (
	mostTilt = math.Sqrt2 / 2 // cosine, and sine, of the largest angle between a normal and that of a face: 45°
	level    = 1e-4           // sine of the tilt below which the corners of a rim are fixed in the body
)

// flat is the feature of one shape in the frame of the manifold: x and y in the tangent plane, z along the normal.
type flat struct {
	corners []r3.Vec // of the core, in metres; none: no feature
	vertex  []uint32 // number of each corner
	edges   []uint32 // number of the edge that begins at each corner
	plane   bool     // a half-space: the plane through the only corner, which is not a vertex
	disc    bool     // inscribed into a rim
	normal  r3.Vec   // outward normal of a face; zero for a segment
	slack   float64  // distance of its points from the plane, where they are not exactly in one
}

func (f *flat) reset() {
	f.corners, f.vertex, f.edges = f.corners[:0], f.vertex[:0], f.edges[:0]
	f.plane, f.disc, f.normal, f.slack = false, false, r3.Vec{}, 0
}

func (f *flat) add(p r3.Vec, vertex, edge uint32) {
	f.corners = append(f.corners, p)
	f.vertex = append(f.vertex, vertex)
	f.edges = append(f.edges, edge)
}

// segment reports whether the feature is an edge.
func (f *flat) segment() bool { return len(f.corners) == 2 && f.normal == r3.Vec{} }

// heightAt returns z of the plane of a face or half-space over (x, y).
func (f *flat) heightAt(x, y float64) float64 {
	q, n := f.corners[0], f.normal
	return q.Z - ((x-q.X)*n.X+(y-q.Y)*n.Y)/n.Z
}

// placed is a shape in the frame of the manifold.
type placed struct {
	*Features
	rot    geom.Mat3 // of the local frame
	origin r3.Vec
}

func (p *placed) at(v r3.Vec) r3.Vec { return r3.Add(p.rot.MulVec(v), p.origin) }

// find sets out to the feature of the core whose outward normal is most aligned with d, a unit vector of the local
// frame. The face at the support vertex is taken if its normal is within 45° of d, else an edge there that is within
// 45° of being perpendicular to d, else none.
func (p *placed) find(d r3.Vec, out *flat) {
	out.reset()
	switch p.form {
	case formPlane:
		out.plane = true
		out.normal = p.rot.MulVec(r3.Vec{Z: 1})
		out.add(p.origin, 0, 0)
	case formSegment:
		if math.Abs(d.Z) <= mostTilt {
			out.add(p.at(r3.Vec{Z: -p.half}), lowerEnd, 0)
			out.add(p.at(r3.Vec{Z: p.half}), upperEnd, 0)
		}
	case formFrustum:
		p.findFrustum(d, out)
	case formPolytope:
		p.findPolytope(d, out)
	}
}

// findFrustum takes a cap or the generator of the side that faces d.
func (p *placed) findFrustum(d r3.Vec, out *flat) {
	lateral := math.Sqrt(d.X*d.X + d.Y*d.Y)
	x, y := 1.0, 0.0
	if lateral >= level {
		x, y = d.X/lateral, d.Y/lateral
	}
	side := (2*p.half*lateral + (p.bottom-p.top)*d.Z) / p.slant
	radius, z, first := p.top, p.half, uint32(upperRim)
	if d.Z < 0 {
		radius, z, first = p.bottom, -p.half, lowerRim
	}
	switch {
	case radius > 0 && math.Abs(d.Z) >= max(side, mostTilt):
		out.disc = true
		out.normal = p.rot.MulVec(r3.Vec{Z: math.Copysign(1, z)})
		for k := range uint32(rimPoints) {
			i := k
			if z < 0 { // counter-clockwise as seen from outside
				i = (rimPoints - k) % rimPoints
			}
			cos, sin := rim[i][0], rim[i][1]
			v := r3.Vec{X: radius * (x*cos - y*sin), Y: radius * (y*cos + x*sin), Z: z}
			out.add(p.at(v), first+i, first+k)
		}
	case side >= mostTilt:
		out.add(p.at(r3.Vec{X: p.bottom * x, Y: p.bottom * y, Z: -p.half}), lowerEnd, 0)
		out.add(p.at(r3.Vec{X: p.top * x, Y: p.top * y, Z: p.half}), upperEnd, 0)
	}
}

// findPolytope takes a face or an edge at the support vertex.
func (p *placed) findPolytope(d r3.Vec, out *flat) {
	h := p.hull
	v := int32(h.Support(d))
	best, aligned := int32(-1), mostTilt
	for _, k := range p.faces[p.faceStart[v]:p.faceStart[v+1]] {
		if c := r3.Dot(d, p.face[k].normal); c >= aligned {
			best, aligned = k, c
		}
	}
	if best >= 0 {
		at := &p.face[best]
		out.normal, out.slack = p.rot.MulVec(at.normal), at.slack
		for i, c := range at.corners {
			out.add(p.at(h.Vertices[c]), uint32(c), uint32(at.edges[i]))
		}
		return
	}
	end, least := int32(-1), mostTilt
	for _, w := range h.Adj[h.Start[v]:h.Start[v+1]] {
		along := r3.Sub(h.Vertices[w], h.Vertices[v])
		if s := math.Abs(r3.Dot(d, along)) / length(along); s <= least {
			end, least = w, s
		}
	}
	if end >= 0 {
		a, b := min(v, end), max(v, end)
		e := uint32(p.edge(a, b))
		out.add(p.at(h.Vertices[a]), uint32(a), e)
		out.add(p.at(h.Vertices[b]), uint32(b), e)
	}
}
