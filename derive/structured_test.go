package derive

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"clearance/geom"
	"clearance/internal/testkit"
	"clearance/ref"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r2"
	"gonum.org/v1/gonum/spatial/r3"
)

// structuredShapes has forms of every kind: regular ones, needles and plates.
func structuredShapes(tb testing.TB) (names []string, shapes []geom.Shape) {
	tb.Helper()
	add := func(name string, s geom.Shape, err error) {
		if err != nil {
			tb.Fatal(err)
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

// structured is a pair in a pose with symmetries.
type structured struct {
	name string
	a, b geom.Shape
	pose geom.Pose // of B in the frame of A
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
		return testkit.Rotation(rng)
	case 2:
		return axisRotation(rng.IntN(3), rng.IntN(8))
	}
	return quat.Mul(axisRotation(rng.IntN(3), rng.IntN(8)), axisRotation(rng.IntN(3), rng.IntN(8)))
}

// drawStructured draws a pair whose centers are on an axis, a plane or a diagonal of A, or coincide, at a distance
// from deep to apart, with axes that are mostly aligned.
func drawStructured(rng *rand.Rand, names []string, shapes []geom.Shape) structured {
	for {
		i, j := rng.IntN(len(shapes)), rng.IntN(len(shapes))
		a, b := shapes[i], shapes[j]
		if a.Kind() == geom.KindHalfspace && b.Kind() == geom.KindHalfspace {
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
		return structured{fmt.Sprintf("%s, %s, %+v", names[i], names[j], pose), a, b, pose}
	}
}

// worldRotations are the frames that a pair is looked at in.
func worldRotations(rng *rand.Rand) []geom.Pose {
	poses := []geom.Pose{geom.IdentityPose()}
	for range 2 {
		poses = append(poses, geom.Pose{Rotation: quat.Mul(axisRotation(rng.IntN(3), 1+rng.IntN(7)),
			axisRotation(rng.IntN(3), rng.IntN(8))), Position: testkit.Normal(rng)})
	}
	return append(poses, testkit.Pose(rng, 1))
}

// in is the pair in a frame of the world.
func (s *structured) in(tb testing.TB, frame geom.Pose) (poseA, poseB geom.Pose) {
	poseA, err := frame.Normalized()
	if err != nil {
		tb.Fatal(err)
	}
	poseB, err = poseA.Compose(s.pose).Normalized()
	if err != nil {
		tb.Fatal(err)
	}
	return poseA, poseB
}

// tight answers a pair by the reference, with a gap of 1e-12 of its size.
func tight(a, b geom.Shape, poseA, poseB geom.Pose) Row {
	p := ref.NewPair(a, b, poseA, poseB)
	r := ref.Solve(&p, ref.Options{Tolerance: 1e-12 * p.Size()}, &ref.Workspace{})
	return rowOf(a, b, poseA, poseB, &p, &r)
}

func TestExploreStructured(t *testing.T) {
	names, shapes := structuredShapes(t)
	rng := rand.New(rand.NewPCG(45, 1))
	var w Workspace
	count := map[string]int{}
	shown := 0
	n := 30000
	for range n {
		s := drawStructured(rng, names, shapes)
		var first Smoothness
		differ := ""
		for k, frame := range worldRotations(rng) {
			poseA, poseB := s.in(t, frame)
			r := solve(s.a, s.b, poseA, poseB)
			d := w.Exact(&r)
			if k == 0 {
				first = d.Smoothness()
			} else if first != d.Smoothness() {
				differ = fmt.Sprintf("%v %v", first, d.Smoothness())
			}
			if d.Smoothness().Full() {
				if m := largestEntry(&d); m > 1e6 {
					t.Logf("entry %g", m)
					count["large"]++
				}
				if k == 0 {
					if kink := oneSided(&r, &d); kink > 1e-3 {
						count["kink"]++
						shown++
						if shown < 30 {
							t.Logf("kink %g %v: %s %v", kink, d.Smoothness(), s.name, r.Value)
						}
					}
				}
			}
			if k == 0 {
				count[d.Smoothness().String()]++
			}
		}
		if differ != "" {
			count["differ"]++
			count[differ]++
			if shown++; shown < 60 {
				t.Logf("%s: %s", differ, s.name)
			}
		}
	}
	t.Log(count)
}

func largestEntry(d *Derivative) (m float64) {
	n, a, b := d.Jacobian()
	for i := range 3 {
		for k := range 12 {
			length := 1.0
			if k%6 < 3 {
				length = d.p.size
			}
			m = max(m, math.Abs(n[i][k])*length, math.Abs(a[i][k])*length/d.p.size, math.Abs(b[i][k])*length/d.p.size)
		}
	}
	return m
}

// oneSided returns the largest difference of the one-sided derivatives of the distance.
func oneSided(r *Row, d *Derivative) (worst float64) {
	g := d.Value()
	for k := range 6 {
		found := math.Inf(1)
		for _, h := range []float64{1e-5, 1e-6, 1e-7, 1e-8} {
			h *= d.p.size
			var t Twists
			t[6+k] = 1
			if k >= 3 {
				t[6+k] = 1 / d.p.size
			}
			up := tight(r.A, r.B, r.PoseA, moved(r.PoseB, &t, 6, h))
			down := tight(r.A, r.B, r.PoseA, moved(r.PoseB, &t, 6, -h))
			at := tight(r.A, r.B, r.PoseA, r.PoseB)
			if !up.Answered || !down.Answered || !at.Answered {
				continue
			}
			want := g[6+k] * t[6+k]
			differ := max(math.Abs((up.Value-at.Value)/h-want), math.Abs((at.Value-down.Value)/h-want))
			if otherBeyond(d, &up) || otherBeyond(d, &down) {
				differ = 0
			}
			found = min(found, differ)
		}
		if !math.IsInf(found, 1) {
			worst = max(worst, found)
		}
	}
	return worst
}

// otherBeyond reports whether an answer beside the pose of d has the normal of another minimum, which at the pose of d
// is higher by more than the tolerance.
func otherBeyond(d *Derivative, r *Row) bool {
	if d.s.value > 0 || r3.Dot(d.s.n, r.Normal) > 0.9999 || d.p.a.unbounded || d.p.b.unbounded {
		return false
	}
	f := (&Workspace{}).minimaOf(&d.p, r.Normal)
	h := r3.Dot(f.support(r.Normal), r.Normal) + f.rollA + f.rollB + d.p.a.radius + d.p.b.radius
	return h > -d.s.value+equalTolerance*d.p.size
}
