package batch

import (
	"fmt"
	"math"
	"slices"

	"clearance/geom"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

// MaxParts is the largest number of parts of one body.
const MaxParts = 65535

// A Part is one convex part of a body: a shape of the library and its pose in the frame of the body.
type Part struct {
	Shape int32
	Pose  geom.Pose
}

// A Body is a union of convex parts that move together.
type Body struct {
	Name  string // "" for none
	Parts []Part
}

// Bodies is a table of bodies over a library. It is immutable and may be used for any number of calls by
// any number of goroutines.
type Bodies struct {
	lib   *Library
	names []string
	first []int32 // [B+1]: the parts of body b are parts[first[b]:first[b+1]]
	parts []Part

	identity []bool // of each part: its pose is the identity
	bounds   []PartBounds
	spheres  []BodyBounds
}

// NewBodies returns a table of the given bodies after validating them. The slices are copied, the
// quaternions of the parts normalized.
//
// The error is a *[BodyError] for the first body without parts, with a part whose shape is not in the
// library, with a part whose pose [CheckPose] refuses, or with one farther than [MaxLength] from the origin of the
// body, which no pose of the body is valid for.
func NewBodies(lib *Library, bodies []Body) (*Bodies, error) {
	if lib == nil {
		return nil, fmt.Errorf("batch: bodies without a library")
	}
	t := &Bodies{lib: lib, first: make([]int32, 1, len(bodies)+1)}
	for i, b := range bodies {
		if len(b.Parts) == 0 || len(b.Parts) > MaxParts {
			return nil, &BodyError{i, b.Name, -1, fmt.Sprintf("%d parts, want 1 to %d", len(b.Parts), MaxParts)}
		}
		if len(t.parts)+len(b.Parts) > math.MaxInt32 {
			return nil, &BodyError{i, b.Name, -1, "too many parts in all bodies"}
		}
		for k, p := range b.Parts {
			if p.Shape < 0 || int(p.Shape) >= lib.Len() {
				return nil, &BodyError{i, b.Name, k, fmt.Sprintf("shape %d is not in the library, want one in [0, %d)",
					p.Shape, lib.Len())}
			}
			if err := checkPose(0, &p.Pose, "position", "rotation"); err != nil {
				e := err.(*RowError)
				return nil, &BodyError{i, b.Name, k, e.Column + ": " + e.Reason}
			}
			if far := norm(p.Pose.Position); far > MaxLength {
				return nil, &BodyError{i, b.Name, k, fmt.Sprintf("position: %g m from the origin of the body, want at "+
					"most %g m", far, float64(MaxLength))}
			}
			t.add(p)
		}
		t.first = append(t.first, int32(len(t.parts)))
		t.names = append(t.names, b.Name)
	}
	t.measure()
	return t, nil
}

// BodiesOfShapes returns a table in which body i is shape i alone, under its name.
func BodiesOfShapes(lib *Library) *Bodies {
	t := &Bodies{lib: lib, first: make([]int32, 1, lib.Len()+1)}
	for i := range int32(lib.Len()) {
		t.add(Part{Shape: i, Pose: geom.IdentityPose()})
		t.first = append(t.first, i+1)
		t.names = append(t.names, lib.Name(i))
	}
	t.measure()
	return t
}

func (t *Bodies) add(p Part) {
	t.parts = append(t.parts, p)
	t.identity = append(t.identity, p.Pose == geom.IdentityPose())
}

// BodyError is the error of an invalid body.
type BodyError struct {
	Body   int
	Name   string // "" if none
	Part   int    // -1 if the body as a whole is at fault
	Reason string
}

func (e *BodyError) Error() string {
	s := fmt.Sprintf("batch: body %d", e.Body)
	if e.Name != "" {
		s += fmt.Sprintf(" (%q)", e.Name)
	}
	if e.Part >= 0 {
		s += fmt.Sprintf(", part %d", e.Part)
	}
	return s + ": " + e.Reason
}

// Len returns the number of bodies.
func (t *Bodies) Len() int { return len(t.names) }

// Library returns the library to which the parts refer.
func (t *Bodies) Library() *Library { return t.lib }

// Name returns the name of body i, "" if it has none.
func (t *Bodies) Name(i int32) string { return t.names[i] }

// Index returns the first body of a name.
func (t *Bodies) Index(name string) (i int32, ok bool) {
	k := slices.Index(t.names, name)
	return int32(k), k >= 0
}

// Parts returns the parts of body i, which must not be changed.
func (t *Bodies) Parts(i int32) []Part { return t.parts[t.first[i]:t.first[i+1]] }

// PartBounds returns the bounds of the parts of body i, which must not be changed.
func (t *Bodies) PartBounds(i int32) []PartBounds { return t.bounds[t.first[i]:t.first[i+1]] }

// Bounds returns the bounds of body i, which must not be changed.
func (t *Bodies) Bounds(i int32) *BodyBounds { return &t.spheres[i] }

// PartPose returns the pose in the world of part k of body i, given that of the body: the pose of the
// body itself if that of the part is the identity, else [geom.Pose.Compose] of the normalized pose of the body and
// that of the part. Answers about the body concern the part at this pose, as rounded. The pose of the body
// must be one that [CheckPose] accepts.
func (t *Bodies) PartPose(i int32, k int, body geom.Pose) geom.Pose {
	at := int(t.first[i]) + k
	if t.identity[at] {
		return body
	}
	if n, err := body.Normalized(); err == nil {
		body = n
	}
	return body.Compose(t.parts[at].Pose)
}

// CheckPose reports a pose of body i that is invalid: one that [CheckPose] refuses, or that places a part beyond
// [MaxLength]. The error is a *[RowError] of row 0 with the columns position and rotation.
func (t *Bodies) CheckPose(i int32, pose geom.Pose) error {
	if err := checkPose(0, &pose, "position", "rotation"); err != nil {
		return err
	}
	if far := MaxLength - t.spheres[i].Offset; !within(pose.Position, far) {
		return &RowError{Column: "position", Reason: fmt.Sprintf("(%g, %g, %g), want coordinates of at most %g m for "+
			"a body with a part %g m from its origin", pose.Position.X, pose.Position.Y, pose.Position.Z, far,
			t.spheres[i].Offset)}
	}
	return nil
}

// norm is the Euclidean norm.
func norm(v r3.Vec) float64 { return math.Sqrt(r3.Norm2(v)) }

// rotation is the matrix of a unit quaternion.
func rotation(q quat.Number) geom.Mat3 { return geom.Pose{Rotation: q}.Matrix() }

// Slacks by which bounds of parts are larger than computed.
const (
	// shapeSlack, of the bounding radius, covers the rounding of bounding radii, boxes and inradii, that of
	// powers included, as in [geom.InradiusAt].
	shapeSlack = 0x1p-30

	// frameSlack, of the magnitudes, covers the rounding of points mapped from one frame to another: the
	// entries of a rotation matrix are right to 8 units of rounding, products with it to 12, and 128 are
	// counted.
	frameSlack = 0x1p-46
)

// PartBounds bound one part of a body, in the frame of the body: a ball and an oriented box that contain it, and
// a ball that it contains. All lengths are rounded so that this is proved in exact arithmetic.
type PartBounds struct {
	Unbounded bool    // a half-space: Center is a point of its plane, Axes[2], Axes[5], Axes[8] its normal
	Center    r3.Vec  // of both balls
	Radius    float64 // of the ball that contains the part; of a half-space its margin
	Inradius  float64 // of the ball within it; 0 if Center is all that is known
	Slack     float64 // Center is proved to be this close to a point of the part

	Box  r3.Vec    // center of the box
	Half r3.Vec    // half extents
	Axes geom.Mat3 // the columns are the axes of the box, from the frame of the part to that of the body
}

// BodyBounds bound one body in its own frame.
type BodyBounds struct {
	Center    r3.Vec
	Radius    float64 // of a ball about Center that contains all parts; +Inf with a half-space
	Inner     int     // the part with the greatest Inradius
	Offset    float64 // of the part whose origin is farthest from that of the body, in metres
	Magnitude float64 // of all coordinates that the bounds were computed from
}

// measure computes the bounds of all parts and bodies.
func (t *Bodies) measure() {
	t.bounds = make([]PartBounds, len(t.parts))
	for i := range t.parts {
		t.bounds[i] = t.partBounds(&t.parts[i])
	}
	t.spheres = make([]BodyBounds, t.Len())
	for i := range t.spheres {
		t.spheres[i] = t.bodyBounds(int32(i))
	}
}

// partBounds bounds a part in the frame of its body.
func (t *Bodies) partBounds(p *Part) PartBounds {
	s := t.lib.Shape(p.Shape)
	b := PartBounds{Axes: rotation(p.Pose.Rotation)}
	if s.Kind().Traits().Unbounded {
		b.Unbounded, b.Center, b.Radius = true, p.Pose.Position, s.Radius()
		b.Slack = frameSlack * (norm(p.Pose.Position) + s.Radius())
		return b
	}
	place := func(v r3.Vec) r3.Vec { return r3.Add(b.Axes.MulVec(v), p.Pose.Position) }
	lo, hi := s.AABB()
	middle := r3.Scale(0.5, r3.Add(lo, hi))
	r := s.BoundingRadius()
	b.Center, b.Box = place(s.Center()), place(middle)
	// What the boxes and balls are off: of the shape itself, and of the frames.
	b.Slack = shapeSlack*r + frameSlack*(norm(p.Pose.Position)+norm(s.Center())+norm(middle)+r)
	b.Radius = r + b.Slack
	b.Half = r3.Vec{X: (hi.X-lo.X)/2 + b.Slack, Y: (hi.Y-lo.Y)/2 + b.Slack, Z: (hi.Z-lo.Z)/2 + b.Slack}
	b.Inradius = max(geom.InradiusAt(s, s.Center())-b.Slack, 0)
	return b
}

// bodyBounds bounds a body by a ball about the middle of the box along its axes that contains the boxes of
// its parts.
func (t *Bodies) bodyBounds(i int32) BodyBounds {
	parts, bounds := t.Parts(i), t.PartBounds(i)
	inf := math.Inf(1)
	var b BodyBounds
	lo, hi := r3.Vec{X: inf, Y: inf, Z: inf}, r3.Vec{X: -inf, Y: -inf, Z: -inf}
	for k := range bounds {
		p := &bounds[k]
		if k > 0 && p.Inradius > bounds[b.Inner].Inradius {
			b.Inner = k
		}
		if !t.identity[int(t.first[i])+k] {
			b.Offset = max(b.Offset, norm(parts[k].Pose.Position))
		}
		b.Magnitude = max(b.Magnitude, norm(p.Center)+norm(p.Box)+p.Radius)
		if p.Unbounded {
			b.Radius = inf
			continue
		}
		e := extents(&p.Axes, p.Half)
		lo = r3.Vec{X: min(lo.X, p.Box.X-e.X), Y: min(lo.Y, p.Box.Y-e.Y), Z: min(lo.Z, p.Box.Z-e.Z)}
		hi = r3.Vec{X: max(hi.X, p.Box.X+e.X), Y: max(hi.Y, p.Box.Y+e.Y), Z: max(hi.Z, p.Box.Z+e.Z)}
	}
	switch {
	case math.IsInf(b.Radius, 1):
		return b
	case len(bounds) == 1:
		b.Center, b.Radius = bounds[0].Center, bounds[0].Radius
		return b
	}
	b.Center = r3.Scale(0.5, r3.Add(lo, hi))
	for k := range bounds {
		b.Radius = max(b.Radius, farthest(&bounds[k], b.Center))
	}
	b.Radius += frameSlack * b.Magnitude
	return b
}

// extents returns the half extents, along the axes of the frame, of a box with the given axes.
func extents(axes *geom.Mat3, half r3.Vec) r3.Vec {
	row := func(i int) float64 {
		return math.Abs(axes[3*i])*half.X + math.Abs(axes[3*i+1])*half.Y + math.Abs(axes[3*i+2])*half.Z
	}
	return r3.Vec{X: row(0), Y: row(1), Z: row(2)}
}

// farthest bounds the distance of the points of a part from c: by its ball, and by the corners of its box.
func farthest(p *PartBounds, c r3.Vec) float64 {
	ball := norm(r3.Sub(p.Center, c)) + p.Radius
	d := p.Axes.MulVecT(r3.Sub(p.Box, c))
	corner := norm(r3.Vec{X: math.Abs(d.X) + p.Half.X, Y: math.Abs(d.Y) + p.Half.Y, Z: math.Abs(d.Z) + p.Half.Z})
	return min(ball, corner)
}

// Physics are what a body states of itself for time steps of package contact, by the names that library files have.
// What is nil is not stated. Nothing is judged here: package contact does that.
type Physics struct {
	// Fixed bodies are not moved by impulses and forces.
	Fixed bool `json:"fixed,omitempty"`
	// Mass is in kg; Density, in kg/m³, gives it where it is not stated.
	Mass    *float64 `json:"mass,omitempty"`
	Density *float64 `json:"density,omitempty"`
	// Inertia has 6 numbers, in kg·m², about the center of mass in the axes of the body: xx, yy, zz, xy, xz, yz. Where
	// it is not stated, it is the inertia of a uniform body of this mass.
	Inertia []float64 `json:"inertia,omitempty"`
	// Center has 3 numbers: the center of mass in the frame of the body, in metres.
	Center []float64 `json:"center_of_mass,omitempty"`
	// Friction is a coefficient; Restitution lies in [0, 1].
	Friction    *float64 `json:"friction,omitempty"`
	Restitution *float64 `json:"restitution,omitempty"`
	// Parts has the surface of each part, or is nil. What a part does not state is that of the body.
	Parts []PartPhysics `json:"parts,omitempty"`
}

// PartPhysics are what a part of a body states of its surface.
type PartPhysics struct {
	Friction    *float64 `json:"friction,omitempty"`
	Restitution *float64 `json:"restitution,omitempty"`
}

// PairPhysics are what a library file states of the contacts of two bodies of its table, or of one part of either;
// a part of -1 stands for all of them.
type PairPhysics struct {
	A           int32    `json:"a"`
	PartA       int32    `json:"part_a"`
	B           int32    `json:"b"`
	PartB       int32    `json:"part_b"`
	Friction    *float64 `json:"friction,omitempty"`
	Restitution *float64 `json:"restitution,omitempty"`
}

// Stated reports whether anything is stated.
func (p *Physics) Stated() bool {
	return p.Fixed || p.Mass != nil || p.Density != nil || p.Inertia != nil || p.Center != nil || p.Friction != nil ||
		p.Restitution != nil || p.Parts != nil
}
