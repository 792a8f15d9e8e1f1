// Package testkit draws what the tests of several packages draw: directions, rotations, poses and
// point clouds. Equal generators give equal draws. It imports package geom alone, so that the tests of
// geom and ref may use it.
package testkit

import (
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
