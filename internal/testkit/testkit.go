// Package testkit draws what the tests of several packages draw: directions, rotations, poses and
// point clouds. Equal generators give equal draws. It imports package geom alone, so that the tests of
// geom and ref may use it.
package testkit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r2"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
)

// Fuses reports whether the compiler fuses x·y + z, as that of Go does on arm64: numbers then differ from those of C by
// rounding. -gcflags=-d=fmahash=n keeps it from that. The conversion keeps it from fusing the second product.
func Fuses() bool {
	x, y := 1+0x1p-30, 1+0x1p-29
	if runtime.NumCPU() == 0 { // keeps x and y from being constants
		x, y = 0, 0
	}
	product := float64(x * y)
	return x*y-product != 0
}

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

// Gain returns how many times as fast as a worker of speed 1 alone workers of some speeds end a call of n equal pieces,
// of which each takes the next one when it has ended its last. A worker that shares its core with a busy process has
// half of the speed.
func Gain(n int, speeds ...float64) float64 {
	ends := make([]float64, len(speeds))
	last := 0.0
	for range n {
		w := slices.Index(ends, slices.Min(ends))
		ends[w] += 1 / speeds[w]
		last = max(last, ends[w])
	}
	return float64(n) / last
}

// StructuredShapes has forms of every kind: regular ones, needles and plates.
func StructuredShapes() (names []string, shapes []geom.Shape) {
	add := func(name string, s geom.Shape, err error) {
		if err != nil {
			panic(err)
		}
		names, shapes = append(names, name), append(shapes, s)
	}
	corners := func(x, y, z float64) (p []r3.Vec) {
		for k := range 8 {
			sign := func(bit int, v float64) float64 { return v * float64(2*(k>>bit&1)-1) }
			p = append(p, r3.Vec{X: sign(0, x), Y: sign(1, y), Z: sign(2, z)})
		}
		return p
	}
	v := func(x, y, z float64) r3.Vec { return r3.Vec{X: x, Y: y, Z: z} }
	octahedron := []r3.Vec{v(1, 0, 0), v(-1, 0, 0), v(0, 1, 0), v(0, -1, 0), v(0, 0, 1), v(0, 0, -1)}
	add("sphere", geom.Sphere{R: 1}, nil)
	add("small sphere", geom.Sphere{R: 0.1}, nil)
	add("capsule", geom.Capsule{R: 0.4, HalfLength: 0.8}, nil)
	add("thin capsule", geom.Capsule{R: 0.02, HalfLength: 1}, nil)
	add("cylinder", geom.Cylinder{R: 0.5, HalfLength: 0.8}, nil)
	add("disc", geom.Cylinder{R: 1, HalfLength: 0.01}, nil)
	add("cone", geom.Cone{R: 0.6, HalfLength: 0.7}, nil)
	add("frustum", geom.Frustum{RBottom: 0.8, RTop: 0.4, HalfLength: 0.5}, nil)
	add("box", geom.Box{HalfExtents: v(0.6, 0.8, 1)}, nil)
	add("cube", geom.Box{HalfExtents: v(0.7, 0.7, 0.7)}, nil)
	add("box plate", geom.Box{HalfExtents: v(1, 1, 0.01)}, nil)
	add("ellipsoid", geom.Ellipsoid{SemiAxes: v(0.5, 0.75, 1)}, nil)
	add("ellipsoid plate", geom.Ellipsoid{SemiAxes: v(1, 1, 0.01)}, nil)
	add("ellipsoid needle", geom.Ellipsoid{SemiAxes: v(1, 0.01, 0.01)}, nil)
	add("superquadric", geom.Superquadric{SemiAxes: v(1, 0.5, 1), Alpha1: 0.5, Alpha2: 0.7}, nil)
	add("superquadric flat", geom.Superquadric{SemiAxes: v(0.8, 1, 0.6), Alpha1: 1.5, Alpha2: 1.3}, nil)
	add("superquadric plate", geom.Superquadric{SemiAxes: v(1, 1, 0.02), Alpha1: 1, Alpha2: 0.8}, nil)
	add("superquadric needle", geom.Superquadric{SemiAxes: v(0.02, 0.02, 1), Alpha1: 1.1, Alpha2: 1}, nil)
	cube, err := geom.NewSmoothHull(corners(0.7, 0.7, 0.7), 8, r3.Vec{})
	add("smooth cube", cube, err)
	plate, err := geom.NewSmoothHull(corners(1, 1, 0.02), 20, r3.Vec{})
	add("smooth plate", plate, err)
	needle, err := geom.NewSmoothHull(corners(1, 0.02, 0.02), 4, r3.Vec{})
	add("smooth needle", needle, err)
	star, err := geom.NewSmoothHull(octahedron, 6, r3.Vec{})
	add("smooth octahedron", star, err)
	barrel, err := geom.NewSmoothRevolution([]r2.Vec{{X: 0.5, Y: 0.8}, {X: 0.5, Y: -0.8}}, 6, 0.1)
	add("revolution", barrel, err)
	coin, err := geom.NewSmoothRevolution([]r2.Vec{{X: 1, Y: 0.02}, {X: 1, Y: -0.02}}, 12, 0.001)
	add("revolution plate", coin, err)
	for _, c := range []struct {
		name   string
		points []r3.Vec
	}{
		{"octahedron", octahedron},
		{"hull cube", corners(0.5, 0.6, 0.7)},
		{"tetrahedron", []r3.Vec{v(1, 1, 1), v(1, -1, -1), v(-1, 1, -1), v(-1, -1, 1)}},
		{"flat square", []r3.Vec{v(-1, -1, 0), v(1, -1, 0), v(1, 1, 0), v(-1, 1, 0)}},
		{"segment", []r3.Vec{v(-1, 0, 0), v(1, 0, 0)}},
		{"point", []r3.Vec{{}}},
	} {
		s, err := geom.NewConvex(c.points)
		add(c.name, s, err)
	}
	add("halfspace", geom.Halfspace{}, nil)
	add("box margin", geom.WithMargin(geom.Box{HalfExtents: v(0.4, 0.6, 0.8)}, 0.1), nil)
	add("superquadric margin", geom.WithMargin(geom.Superquadric{SemiAxes: v(1, 0.5, 0.8), Alpha1: 0.9, Alpha2: 1.2},
		0.05), nil)
	return names, shapes
}

// Structured is a pair in a pose with symmetries.
type Structured struct {
	Name string
	A, B int       // numbers of the shapes
	Pose geom.Pose // of B in the frame of A
}

// axisRotation is a rotation by k·45° about an axis of the frame.
func axisRotation(axis, k int) quat.Number {
	return geom.Rotate([3]r3.Vec{{X: 1}, {Y: 1}, {Z: 1}}[axis], float64(k)*math.Pi/4).Rotation
}

// symmetricRotation is the identity, a product of two multiples of 45° about axes, or any rotation.
func symmetricRotation(rng *rand.Rand) quat.Number {
	switch rng.IntN(5) {
	case 0:
		return quat.Number{Real: 1}
	case 1:
		return Rotation(rng)
	case 2:
		return axisRotation(rng.IntN(3), rng.IntN(8))
	}
	return quat.Mul(axisRotation(rng.IntN(3), rng.IntN(8)), axisRotation(rng.IntN(3), rng.IntN(8)))
}

// DrawStructured draws a pair whose centers are on an axis, a plane or a diagonal of A, or coincide, at a distance
// from deep to apart, with axes that are mostly aligned.
func DrawStructured(rng *rand.Rand, names []string, shapes []geom.Shape) Structured {
	for {
		i, j := rng.IntN(len(shapes)), rng.IntN(len(shapes))
		if shapes[i].Kind() == geom.KindHalfspace && shapes[j].Kind() == geom.KindHalfspace {
			continue
		}
		var at r3.Vec
		axes := [3]*float64{&at.X, &at.Y, &at.Z}
		lengths := []float64{0, 0.01, 0.1, 0.25, 0.5, 1, 1.5, 2, 3}
		switch rng.IntN(5) {
		case 0: // one center
		case 1, 2: // on an axis
			*axes[rng.IntN(3)] = lengths[rng.IntN(len(lengths))] * float64(1-2*rng.IntN(2))
		case 3: // on a plane
			k := rng.IntN(3)
			*axes[k], *axes[(k+1)%3] = lengths[rng.IntN(len(lengths))], lengths[rng.IntN(len(lengths))]
		case 4: // on a diagonal
			l := lengths[rng.IntN(len(lengths))]
			at = r3.Vec{X: l, Y: l, Z: l * float64(1-rng.IntN(3))}
		}
		pose := geom.Pose{Position: at, Rotation: symmetricRotation(rng)}
		return Structured{fmt.Sprintf("%s, %s, %+v", names[i], names[j], pose), i, j, pose}
	}
}

// WorldFrames is the number of frames that a structured pair is looked at in.
const WorldFrames = 4

// WorldPoses draws the frames: the identity, rotations by multiples of 45° about axes, and any one.
func WorldPoses(rng *rand.Rand) (poses [WorldFrames]geom.Pose) {
	poses[0] = geom.IdentityPose()
	for k := 1; k < WorldFrames-1; k++ {
		poses[k] = geom.Pose{Rotation: quat.Mul(axisRotation(rng.IntN(3), 1+rng.IntN(7)),
			axisRotation(rng.IntN(3), rng.IntN(8))), Position: Normal(rng)}
	}
	poses[WorldFrames-1] = Pose(rng, 1)
	return poses
}

// In returns the poses of the pair in a frame of the world.
func (s *Structured) In(frame geom.Pose) (poseA, poseB geom.Pose) {
	poseA, err := frame.Normalized()
	if err != nil {
		panic(err)
	}
	poseB, err = poseA.Compose(s.Pose).Normalized()
	if err != nil {
		panic(err)
	}
	return poseA, poseB
}

// TempFile writes a file of a test.
func TempFile(t testing.TB, name string, data []byte) string {
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// WantError fails unless err holds all of the words.
func WantError(t testing.TB, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one with %q", words)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q, want one with %q", err, w)
		}
	}
}

// Allocated returns the bytes that f allocates.
func Allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// ZstdBomb is a frame of zstd that unpacks to n blocks of 128 KiB, four bytes each.
func ZstdBomb(n int) []byte {
	const block = 128 << 10
	b := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x88} // no sizes, a window of 128 MiB
	for i := range n {
		head := uint32(block<<3 | 1<<1)
		if i == n-1 {
			head |= 1
		}
		b = append(b, byte(head), byte(head>>8), byte(head>>16), 'x')
	}
	return b
}
