package batch

import (
	"fmt"
	"math"

	"clearance/geom"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

// Row is one pair of an input, not yet validated: two library indices and two poses.
type Row struct {
	ShapeA, ShapeB int32
	PoseA, PoseB   geom.Pose
}

// Input is a batch of pairs in any form, such as [Pairs] or [Worlds]. Row must not allocate
// and must be safe for several goroutines at once. If an Input also has a method
// CheckShape() error, it is called before any row is read.
type Input interface {
	Len() int
	Row(i int, r *Row)
}

// Pairs is a list of pairs, one per row.
type Pairs struct {
	ShapeA, ShapeB       []int32   // [N] indices into the library
	PositionA, PositionB []float64 // [N,3] metres, world frame
	RotationA, RotationB []float64 // [N,4] quaternions (w, x, y, z), normalized on input
}

// NewPairs returns a list of n pairs, each of them shape 0 twice at the identity pose.
func NewPairs(n int) *Pairs {
	return &Pairs{
		ShapeA: make([]int32, n), ShapeB: make([]int32, n),
		PositionA: make([]float64, 3*n), PositionB: make([]float64, 3*n),
		RotationA: identityRotations(n), RotationB: identityRotations(n),
	}
}

// identityRotations returns n quaternions (1, 0, 0, 0).
func identityRotations(n int) []float64 {
	q := make([]float64, 4*n)
	for i := range n {
		q[4*i] = 1
	}
	return q
}

// Len returns the number of pairs.
func (p *Pairs) Len() int { return len(p.ShapeA) }

// Row copies pair i to r.
func (p *Pairs) Row(i int, r *Row) {
	r.ShapeA, r.ShapeB = p.ShapeA[i], p.ShapeB[i]
	r.PoseA = poseAt(p.PositionA[3*i:3*i+3], p.RotationA[4*i:4*i+4])
	r.PoseB = poseAt(p.PositionB[3*i:3*i+3], p.RotationB[4*i:4*i+4])
}

// SetRow sets pair i.
func (p *Pairs) SetRow(i int, r *Row) {
	p.ShapeA[i], p.ShapeB[i] = r.ShapeA, r.ShapeB
	putPose(p.PositionA[3*i:3*i+3], p.RotationA[4*i:4*i+4], &r.PoseA)
	putPose(p.PositionB[3*i:3*i+3], p.RotationB[4*i:4*i+4], &r.PoseB)
}

// Slice returns rows lo to hi of the list, sharing its memory.
func (p *Pairs) Slice(lo, hi int) *Pairs {
	return &Pairs{
		ShapeA: p.ShapeA[lo:hi], ShapeB: p.ShapeB[lo:hi],
		PositionA: p.PositionA[3*lo : 3*hi], PositionB: p.PositionB[3*lo : 3*hi],
		RotationA: p.RotationA[4*lo : 4*hi], RotationB: p.RotationB[4*lo : 4*hi],
	}
}

// Rows returns rows [lo, hi) of the list, fewer where it ends, sharing its memory. With it a list is a source of a
// stream, see package dispatch.
func (p *Pairs) Rows(lo, hi int, _ Input) (Input, error) {
	hi = min(hi, p.Len())
	return p.Slice(min(lo, hi), hi), nil
}

// PairsIn returns a list of n pairs, whose values are not set, in the memory of used where that is a list of as many.
func PairsIn(used Input, n int) *Pairs {
	if p, ok := used.(*Pairs); ok && p.Len() >= n {
		return p.Slice(0, n)
	}
	return &Pairs{
		ShapeA: make([]int32, n), ShapeB: make([]int32, n),
		PositionA: make([]float64, 3*n), PositionB: make([]float64, 3*n),
		RotationA: make([]float64, 4*n), RotationB: make([]float64, 4*n),
	}
}

// CheckShape returns an error if the length of a column does not match the others.
func (p *Pairs) CheckShape() error {
	n := len(p.ShapeA)
	for _, c := range []struct {
		name      string
		got, want int
	}{
		{"shape_b", len(p.ShapeB), n},
		{"position_a", len(p.PositionA), 3 * n}, {"position_b", len(p.PositionB), 3 * n},
		{"rotation_a", len(p.RotationA), 4 * n}, {"rotation_b", len(p.RotationB), 4 * n},
	} {
		if c.got != c.want {
			return fmt.Errorf("batch: column %s has %d numbers, want %d for %d pairs", c.name, c.got, c.want, n)
		}
	}
	return nil
}

func poseAt(p, q []float64) geom.Pose {
	return geom.Pose{
		Position: r3.Vec{X: p[0], Y: p[1], Z: p[2]},
		Rotation: quat.Number{Real: q[0], Imag: q[1], Jmag: q[2], Kmag: q[3]},
	}
}

func putPose(p, q []float64, s *geom.Pose) {
	p[0], p[1], p[2] = s.Position.X, s.Position.Y, s.Position.Z
	q[0], q[1], q[2], q[3] = s.Rotation.Real, s.Rotation.Imag, s.Rotation.Jmag, s.Rotation.Kmag
}

// RowError is the error of one invalid row of an input. The status of that row is Invalid,
// and all other rows are answered.
type RowError struct {
	Row    int    // index in the input
	Column string // name of the column, as in files
	Reason string

	// Undefined says that the row is in order, but that the query has no value for its shapes, as growth
	// has none for two flat ones. Other queries answer such a row.
	Undefined bool
}

func (e *RowError) Error() string {
	return fmt.Sprintf("row %d, column %s: %s", e.Row, e.Column, e.Reason)
}

// CheckRow validates row i, which the caller has read into r, and normalizes the
// quaternions of r in place. It is the only validation of rows in the module.
//
// It refuses an index that is not in the library, a position that is not finite or beyond
// [MaxLength], a quaternion that is zero or not finite, and a pair of half-spaces, which
// has no finite depth. The error is a *[RowError]. CheckRow does not allocate for a valid
// row.
func (l *Library) CheckRow(i int, r *Row) error {
	if uint(r.ShapeA) >= uint(len(l.shapes)) {
		return l.badIndex(i, "shape_a", r.ShapeA)
	}
	if uint(r.ShapeB) >= uint(len(l.shapes)) {
		return l.badIndex(i, "shape_b", r.ShapeB)
	}
	if err := checkPose(i, &r.PoseA, "position_a", "rotation_a"); err != nil {
		return err
	}
	if err := checkPose(i, &r.PoseB, "position_b", "rotation_b"); err != nil {
		return err
	}
	if l.hasHalf[r.ShapeA] && l.hasHalf[r.ShapeB] {
		return &RowError{Row: i, Column: "shape_b", Reason: "a half-space against a half-space has no finite depth"}
	}
	return nil
}

// CheckPair reports whether [Library.CheckRow] accepts the shapes of a row. Together with
// [CheckPose] for both poses it accepts the same rows as CheckRow.
func (l *Library) CheckPair(a, b int32) bool {
	n := uint(len(l.shapes))
	return uint(a) < n && uint(b) < n && !(l.hasHalf[a] && l.hasHalf[b])
}

// CheckPose reports whether [Library.CheckRow] accepts a pose, and normalizes its quaternion
// in place.
func CheckPose(p *geom.Pose) bool { return checkPose(0, p, "", "") == nil }

// CheckGrowth returns the error of a row whose shapes have no growth distance: both inradii about the
// centers are 0 (see [Library.GrowthInradius]), as those of flat shapes, so that growth need not bring the
// shapes into contact. CheckRow must have accepted the row. A half-space counts, since it does not grow.
func (l *Library) CheckGrowth(i int, a, b int32) error {
	if l.inradius[a] > 0 || l.inradius[b] > 0 {
		return nil
	}
	return &RowError{Row: i, Column: "shape_b", Undefined: true, Reason: fmt.Sprintf("no growth distance of %s and "+
		"%s: neither has an interior point as its center", l.flatName(a), l.flatName(b))}
}

// flatName describes a shape of inradius 0.
func (l *Library) flatName(i int32) string {
	if l.hasHalf[i] {
		return fmt.Sprintf("the half-space %d", i)
	}
	return fmt.Sprintf("the flat shape %d", i)
}

func (l *Library) badIndex(i int, column string, index int32) error {
	beyond := ""
	if index == math.MaxInt32 || index == math.MinInt32 { // readers clamp larger int64 indices to these
		beyond = " or beyond"
	}
	return &RowError{Row: i, Column: column, Reason: fmt.Sprintf("index %d%s is not in the library, want one in "+
		"[0, %d)", index, beyond, len(l.shapes))}
}

func checkPose(i int, p *geom.Pose, position, rotation string) error {
	if !within(p.Position, MaxLength) {
		return &RowError{Row: i, Column: position, Reason: fmt.Sprintf("(%g, %g, %g), want finite coordinates of at "+
			"most %g m", p.Position.X, p.Position.Y, p.Position.Z, float64(MaxLength))}
	}
	n, err := p.Normalized()
	if err != nil {
		return &RowError{Row: i, Column: rotation, Reason: err.Error()}
	}
	*p = n
	return nil
}

// Read copies row i of the job to r, validated and with unit quaternions, and returns its
// warm start: a direction from A to B in the world frame, or zero. The error is a
// *[RowError]. Read does not allocate for a valid row, and may be called by several
// goroutines, each with its own r.
func (j *Job) Read(i int, r *Row) (warm r3.Vec, err error) {
	j.Input.Row(i, r)
	l := j.Library
	if err := l.CheckRow(i, r); err != nil {
		return r3.Vec{}, err
	}
	if err := j.Options.Query.Info().CheckShapes(l, i, r.ShapeA, r.ShapeB); err != nil {
		return r3.Vec{}, err
	}
	if w := j.Options.WarmStart; w != nil {
		warm = r3.Vec{X: w[3*i], Y: w[3*i+1], Z: w[3*i+2]}
		if !geom.Finite(warm) {
			return r3.Vec{}, &RowError{Row: i, Column: "warm_start",
				Reason: fmt.Sprintf("(%g, %g, %g) is not finite", warm.X, warm.Y, warm.Z)}
		}
	}
	return warm, nil
}
