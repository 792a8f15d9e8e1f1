package derive

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"clearance/batch"
	"clearance/derive/lanes"
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

const worldFrames = 4

// worldRotations are the frames that a pair is looked at in.
func worldRotations(rng *rand.Rand) (poses [worldFrames]geom.Pose) {
	poses[0] = geom.IdentityPose()
	for k := 1; k < worldFrames-1; k++ {
		poses[k] = geom.Pose{Rotation: quat.Mul(axisRotation(rng.IntN(3), 1+rng.IntN(7)),
			axisRotation(rng.IntN(3), rng.IntN(8))), Position: testkit.Normal(rng)}
	}
	poses[worldFrames-1] = testkit.Pose(rng, 1)
	return poses
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

var structuredPoses = flag.Int("structured.poses", 800, "poses of TestStructured")

// TestStructured draws poses with symmetries of all kinds with all kinds, and looks at each in several frames of the
// world. The flags of signed and growth distances, exact and smoothed, are the same in all frames, in Go and by the
// kernel; no row counts as smooth or unique where the one-sided derivatives of the distance differ; no derivative is
// NaN or large.
func TestStructured(t *testing.T) {
	names, shapes := structuredShapes(t)
	const block = 400
	for seed := 0; seed*block < *structuredPoses; seed++ {
		rng := rand.New(rand.NewPCG(45, uint64(seed)))
		checkStructured(t, rng, names, shapes, min(block, *structuredPoses-seed*block))
	}
}

// checkStructured is TestStructured of n poses.
func checkStructured(t *testing.T, rng *rand.Rand, names []string, shapes []geom.Shape, n int) {
	t.Helper()
	var w Workspace
	var pairs []structured
	var distances, growths [worldFrames][]Row // of the pairs
	for range n {
		s := drawStructured(rng, names, shapes)
		pairs = append(pairs, s)
		for k, frame := range worldRotations(rng) {
			poseA, poseB := s.in(t, frame)
			r := solve(s.a, s.b, poseA, poseB)
			distances[k] = append(distances[k], r)
			growths[k] = append(growths[k], solveGrowth(s.a, s.b, poseA, poseB))
			if k > 0 {
				continue
			}
			if d := w.Exact(&r); d.Smoothness().Full() {
				if kink := oneSided(&r, &d); kink > 1e-3 {
					t.Errorf("%s: %v, and one-sided derivatives of the distance differ by %g", s.name, d.Smoothness(),
						kink)
				}
			}
		}
	}
	for _, frames := range [][worldFrames][]Row{distances, growths} {
		for _, o := range []Options{{}, {Mode: Gumbel}, {Mode: Gaussian, Samples: 8}} {
			var first []uint8
			for k, rows := range frames {
				got := compareFlags(t, jobOf(t, rows, batch.Double), o)
				flags := got.Column(batch.ColSmoothness).U8
				if k == 0 {
					first = flags
				}
				for i := range rows {
					name := fmt.Sprintf("%s, growth %v, %v", pairs[i].name, rows[i].Growth, o.Mode)
					if flags[i] != first[i] {
						t.Errorf("%s: %v, in another frame %v", name, Smoothness(flags[i]), Smoothness(first[i]))
					}
					if m := largestOf(got, i, rows[i].problem().size); !(m <= 4*largestResponse) {
						t.Errorf("%s: %v with a derivative of %g", name, Smoothness(flags[i]), m)
					}
				}
			}
		}
	}
}

// compareFlags takes the derivatives of a job in Go, and asks that the kernel has the same flags.
func compareFlags(t *testing.T, job *batch.Job, o Options) *batch.Results {
	t.Helper()
	n := job.Results.N
	want, got := newDerivatives(n, batch.DerivedColumns), newDerivatives(n, batch.ColSmoothness|batch.ColCurvature)
	if err := (&Pass{Options: o, variant: "off"}).Run(t.Context(), job, want); err != nil {
		t.Fatal(err)
	}
	for _, variant := range lanes.Variants() {
		if err := (&Pass{Options: o, variant: variant}).Run(t.Context(), job, got); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			a, b := want.Column(batch.ColSmoothness).U8[i], got.Column(batch.ColSmoothness).U8[i]
			if a != b {
				var row batch.Row
				job.Input.Row(i, &row)
				t.Errorf("row %d (%v and %v at %g), %v, %s: %v, in Go %v", i, job.Library.Shape(row.ShapeA).Kind(),
					job.Library.Shape(row.ShapeB).Kind(), job.Results.Distance().At(i), o.Mode, variant, Smoothness(b),
					Smoothness(a))
			}
		}
	}
	return want
}

// largestOf returns the largest derivative of the normal or a witness of a row, in units of the size, NaN if one is.
func largestOf(d *batch.Results, i int, size float64) (m float64) {
	for _, c := range [...]batch.Columns{batch.ColDNormal, batch.ColDWitnessA, batch.ColDWitnessB} {
		for k, v := range d.Column(c).F64[36*i : 36*i+36] {
			if k%6 < 3 { // by a length
				v *= size
			}
			if c != batch.ColDNormal {
				v /= size
			}
			if v = math.Abs(v); !(v <= m) && !(size == 0) { // a point that grows into a half-space has no size
				m = v
			}
		}
	}
	for _, v := range d.Column(batch.ColDDistance).F64[12*i : 12*i+12] {
		if math.IsNaN(v) {
			m = v
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
