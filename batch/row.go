package batch

import (
	"fmt"
	"math"

	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// RowError says which row of an input was refused, and why. It is the error of
// one row only: the row's answer is Invalid, and all other rows are answered.
type RowError struct {
	Row    int    // index in the input
	Column string // name of the column, as in files
	Reason string
}

func (e *RowError) Error() string {
	return fmt.Sprintf("row %d, column %s: %s", e.Row, e.Column, e.Reason)
}

// CheckRow validates row i, which the caller has read into r, and normalises the
// quaternions of r in place. It is the only validation of rows in the module.
//
// Refused are: an index that names no shape; a position that is not finite or
// beyond [MaxLength]; a quaternion that is zero or not finite; a half-space
// against a half-space, which has no finite depth. The error is a *[RowError].
// Nothing is allocated for a good row.
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
		return &RowError{i, "shape_b", "a half-space against a half-space has no finite depth"}
	}
	return nil
}

// CheckPair reports whether a row of two shapes can be valid, as [Library.CheckRow] has it.
// A caller that checks this and [CheckPose] for both poses accepts the same rows.
func (l *Library) CheckPair(a, b int32) bool {
	n := uint(len(l.shapes))
	return uint(a) < n && uint(b) < n && !(l.hasHalf[a] && l.hasHalf[b])
}

// CheckPose reports whether a pose is valid, and normalises its quaternion in place, as
// [Library.CheckRow] does.
func CheckPose(p *geom.Pose) bool { return checkPose(0, p, "", "") == nil }

func (l *Library) badIndex(i int, column string, index int32) error {
	beyond := ""
	if index == math.MaxInt32 || index == math.MinInt32 { // what readers make of indices of int64 that are farther out
		beyond = " or beyond"
	}
	return &RowError{i, column, fmt.Sprintf("index %d%s names no shape, want one in [0, %d)", index, beyond, len(l.shapes))}
}

func checkPose(i int, p *geom.Pose, position, rotation string) error {
	if !within(p.Position, MaxLength) {
		return &RowError{i, position, fmt.Sprintf("(%g, %g, %g), want finite coordinates of at most %g m",
			p.Position.X, p.Position.Y, p.Position.Z, float64(MaxLength))}
	}
	n, err := p.Normalized()
	if err != nil {
		return &RowError{i, rotation, err.Error()}
	}
	*p = n
	return nil
}

// Read reads row i of the job into r, validated and with unit quaternions, and
// returns its warm start: a direction from A to B in the world frame, or zero.
// The error is a *[RowError]. It does not allocate for a good row, and may be
// called from several goroutines, each with its own r.
func (j *Job) Read(i int, r *Row) (warm r3.Vec, err error) {
	j.Input.Row(i, r)
	if err := j.Library.CheckRow(i, r); err != nil {
		return r3.Vec{}, err
	}
	if w := j.Options.WarmStart; w != nil {
		warm = r3.Vec{X: w[3*i], Y: w[3*i+1], Z: w[3*i+2]}
		if !geom.Finite(warm) {
			return r3.Vec{}, &RowError{i, "warm_start", fmt.Sprintf("(%g, %g, %g) is not finite", warm.X, warm.Y, warm.Z)}
		}
	}
	return warm, nil
}
