package cpu

import (
	"math"
	"math/rand/v2"

	"clearance/batch"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

// oddPoses are the poses that every grid of oddPairs begins with.
const oddPoses = 6

// oddPairs returns all pairs of n shapes, in poses that random draws do not contain. A has random axes
// and its center at the origin. B has the same center and axes, parallel axes, axes rotated by rounding errors,
// by a little more, by a right angle, or only the same center. Another center is up to 0.2·scale
// away. The caller may add poses: place is called for every row with the number of its pose; if that is oddPoses
// or more, B still has the pose of A.
func oddPairs(rng *rand.Rand, n, poses int, scale float64, place func(row *batch.Row, pose int,
	away r3.Vec)) *batch.Pairs {
	pairs := batch.NewPairs(n * n * poses)
	for i := range pairs.Len() {
		row := batch.Row{ShapeA: int32(i / poses / n), ShapeB: int32(i / poses % n), PoseA: randomPose(rng)}
		row.PoseA.Position = r3.Vec{}
		row.PoseB = row.PoseA // 0: the same center and axes
		away := r3.Scale(scale*0.2*rng.Float64(), direction(rng))
		turn := &row.PoseB.Rotation
		pose := i % poses
		switch pose {
		case 1: // parallel axes
			row.PoseB.Position = away
		case 2: // rotated by rounding errors
			*turn = quat.Add(*turn, quat.Scale(1e-15, randomPose(rng).Rotation))
			row.PoseB.Position = away
		case 3: // and by a little more
			*turn = quat.Add(*turn, quat.Scale(1e-7, randomPose(rng).Rotation))
			row.PoseB.Position = away
		case 4: // at right angles
			*turn = quat.Mul(*turn, quat.Number{Real: math.Sqrt2 / 2, Imag: math.Sqrt2 / 2})
			row.PoseB.Position = away
		case 5: // the same center only
			*turn = randomPose(rng).Rotation
		}
		place(&row, pose, away)
		pairs.SetRow(i, &row)
	}
	return pairs
}

// takeFar moves a pair a kilometer away.
func takeFar(rng *rand.Rand, row *batch.Row) {
	far := r3.Scale(1000, direction(rng))
	row.PoseA.Position = r3.Add(row.PoseA.Position, far)
	row.PoseB.Position = r3.Add(row.PoseB.Position, far)
}
