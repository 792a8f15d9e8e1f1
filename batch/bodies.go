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
