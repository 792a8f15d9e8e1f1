// Package testkit draws what the tests of several packages draw: directions, rotations, poses and
// point clouds. Equal generators give equal draws. It imports package geom alone, so that the tests of
// geom and ref may use it.
package testkit

import (
	"math"
	"math/rand/v2"

	"clearance/geom"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

// Normal returns a vector of three standard normal coordinates.
func Normal(rng *rand.Rand) r3.Vec {
	return r3.Vec{X: rng.NormFloat64(), Y: rng.NormFloat64(), Z: rng.NormFloat64()}
}

// Unit returns a direction, uniform on the sphere.
func Unit(rng *rand.Rand) r3.Vec { return r3.Unit(Normal(rng)) }

// Quaternion returns a rotation, uniform, as a quaternion that is not normalised.
func Quaternion(rng *rand.Rand) quat.Number {
	return quat.Number{Real: rng.NormFloat64(), Imag: rng.NormFloat64(), Jmag: rng.NormFloat64(),
		Kmag: rng.NormFloat64()}
}

// Rotation returns a uniform rotation as a unit quaternion.
func Rotation(rng *rand.Rand) quat.Number {
	q := Quaternion(rng)
	return quat.Scale(1/quat.Abs(q), q)
}

// Pose returns a normalised pose with a uniform rotation, at a position whose coordinates have the
// standard deviation spread.
func Pose(rng *rand.Rand, spread float64) geom.Pose {
	p, err := geom.Pose{Position: r3.Scale(spread, Normal(rng)), Rotation: Quaternion(rng)}.Normalized()
	if err != nil {
		panic(err)
	}
	return p
}

// OnEllipsoid returns n points on the ellipsoid of the given semi-axes: images of uniform directions.
func OnEllipsoid(rng *rand.Rand, semiAxes r3.Vec, n int) []r3.Vec {
	points := make([]r3.Vec, n)
	for i := range points {
		u := Unit(rng)
		points[i] = r3.Vec{X: semiAxes.X * u.X, Y: semiAxes.Y * u.Y, Z: semiAxes.Z * u.Z}
	}
	return points
}

// Hull returns the convex hull of n points on an ellipsoid.
func Hull(rng *rand.Rand, semiAxes r3.Vec, n int) *geom.Convex {
	c, err := geom.NewConvex(OnEllipsoid(rng, semiAxes, n))
	if err != nil {
		panic(err)
	}
	return c
}

// TinyOffsets returns vectors so short, from 1e-100 down to the least number, that most of their squares underflow, and
// their lengths.
func TinyOffsets() (offsets []r3.Vec, lengths []float64) {
	for _, scale := range []float64{5e-324, 1e-310, 1e-300, 1e-200, 1e-170, 1e-162, 1e-161, 3e-161, 1e-160, 1e-158,
		1e-155, 1e-153, 1e-150, 1e-149, 1e-140, 1e-120, 1e-100} {
		for _, d := range []r3.Vec{{X: 1}, {Y: -1, Z: 2}, {X: 3, Y: 4, Z: 12}} {
			v := r3.Vec{X: scale * d.X, Y: scale * d.Y, Z: scale * d.Z}
			offsets = append(offsets, v)
			lengths = append(lengths, math.Hypot(math.Hypot(v.X, v.Y), v.Z))
		}
	}
	return offsets, lengths
}
