package batch

import (
	"fmt"

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
