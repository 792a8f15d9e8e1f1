package batch

import (
	"fmt"
	"math"

	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

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
