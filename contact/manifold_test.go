package contact

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r2"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
	"clearance/internal/testkit"
	"clearance/ref"
	"clearance/tests/need"
)

var manifoldPairs = flag.Int("manifold-pairs", 0, "pairs of TestManifoldOfAllKinds, if not 100000, 20000 with -short")

// mustFeatures returns the features of a shape.
func mustFeatures(t testing.TB, s geom.Shape) *Features {
	t.Helper()
	f, err := NewFeatures(s)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// manifoldShapes returns a shape of every kind and form, then each with a margin.
func manifoldShapes(t testing.TB) []geom.Shape {
	t.Helper()
	rng := rand.New(rand.NewPCG(34, 1))
	convex := func(points []r3.Vec) geom.Shape {
		c, err := geom.NewConvex(points)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	var prism []r3.Vec
	for k := range 7 {
		sin, cos := math.Sincos(2 * math.Pi * float64(k) / 7)
		prism = append(prism, r3.Vec{X: 0.3 * cos, Y: 0.3 * sin, Z: -0.2}, r3.Vec{X: 0.3 * cos, Y: 0.3 * sin, Z: 0.2})
	}
	smoothHull, err := geom.NewSmoothHull(testkit.OnEllipsoid(rng, r3.Vec{X: 0.3, Y: 0.4, Z: 0.3}, 20), 12, r3.Vec{})
	if err != nil {
		t.Fatal(err)
	}
	revolution, err := geom.NewSmoothRevolution([]r2.Vec{{X: 0.3, Y: 0.35}, {X: 0.2, Y: -0.3}}, 20, 1e-2)
	if err != nil {
		t.Fatal(err)
	}
	shapes := []geom.Shape{
		geom.Sphere{R: 0.3},
		geom.Capsule{R: 0.15, HalfLength: 0.4},
		geom.Cylinder{R: 0.25, HalfLength: 0.35},
		geom.Cone{R: 0.4, HalfLength: 0.3},
		geom.Frustum{RBottom: 0.35, RTop: 0.2, HalfLength: 0.25},
		geom.Box{HalfExtents: r3.Vec{X: 0.2, Y: 0.3, Z: 0.45}},
		geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.5, Y: 0.2, Z: 0.3}},
		geom.Superquadric{SemiAxes: r3.Vec{X: 0.3, Y: 0.4, Z: 0.25}, Alpha1: 0.6, Alpha2: 1.4},
		smoothHull, revolution,
		testkit.Hull(rng, r3.Vec{X: 0.3, Y: 0.4, Z: 0.25}, 30),
		convex(prism),
		convex([]r3.Vec{{X: 0.3}, {X: -0.2, Y: 0.3}, {X: -0.2, Y: -0.3}}),
		convex([]r3.Vec{{X: -0.3, Z: 0.1}, {X: 0.4, Y: 0.2}}),
		convex([]r3.Vec{{X: 0.1, Y: -0.2, Z: 0.05}}),
		geom.Halfspace{},
	}
	for _, s := range slices.Clone(shapes) {
		shapes = append(shapes, geom.WithMargin(s, 0.05))
	}
	return shapes
}

// solvePair solves a pair by the reference solvers.
func solvePair(t testing.TB, a, b *Features, poseA, poseB geom.Pose, maxGap float64, ws *ref.Workspace) (Pair, bool) {
	t.Helper()
	q := ref.NewPair(a.shape, b.shape, poseA, poseB)
	r := ref.Solve(&q, ref.Options{Tolerance: 1e-8 * q.Size()}, ws)
	if r.Status == ref.Undecided || r.Status == ref.Invalid {
		return Pair{}, false
	}
	return Pair{A: a, B: b, PoseA: poseA, PoseB: poseB, Normal: q.DirToWorld(r.Normal),
		Distance: r.Distance, Gap: r.Gap(), MaxGap: maxGap,
		WitnessA: q.ToWorld(r.WitnessA), WitnessB: q.ToWorld(r.WitnessB)}, true
}

// drawPair draws two shapes at a distance near zero, in half of the draws with a face, a cap or a side of one almost
// parallel to one of the other.
func drawPair(t testing.TB, rng *rand.Rand, features []*Features, ws *ref.Workspace) (Pair, bool) {
	draw := func() *Features {
		for {
			if f := features[rng.IntN(len(features))]; f.form != formPoint || rng.IntN(3) == 0 {
				return f
			}
		}
	}
	return drawPairOf(t, rng, draw(), draw(), 0.02*(rng.Float64()-0.5), rng.IntN(2) == 0, ws)
}

// drawPairOf draws poses of two shapes at a distance, aligned or not.
func drawPairOf(t testing.TB, rng *rand.Rand, a, b *Features, gap float64, aligned bool, ws *ref.Workspace) (Pair,
	bool) {
	if a.form == formPlane && b.form == formPlane {
		return Pair{}, false
	}
	poseA := testkit.Pose(rng, 1)
	poseB := geom.Pose{Rotation: testkit.Rotation(rng)}
	direction := testkit.Unit(rng)
	if aligned {
		tilt := math.Pow(10, -6+5*rng.Float64())
		axes := [6]r3.Vec{{X: 1}, {X: -1}, {Y: 1}, {Y: -1}, {Z: 1}, {Z: -1}}
		turn := geom.Rotate(axes[rng.IntN(6)], math.Pi/2)
		spin := geom.Rotate(r3.Vec{Z: 1}, 2*math.Pi*rng.Float64())
		tilted := spin.Compose(geom.Rotate(testkit.Unit(rng), tilt))
		poseB = geom.Pose{Rotation: poseA.Rotation}.Compose(tilted).Compose(turn)
		m := poseA.Matrix()
		direction = r3.Unit(r3.Add(m.MulVec(axes[rng.IntN(6)]), r3.Scale(0.3, testkit.Unit(rng))))
	}
	if a.form == formPlane {
		m := poseA.Matrix()
		direction = m.MulVec(r3.Vec{Z: 1})
	}
	if b.form == formPlane {
		m := poseB.Matrix()
		direction = m.MulVec(r3.Vec{Z: -1})
	}
	poseB.Position = r3.Add(poseA.Position, r3.Scale(3, direction))
	poseB, err := poseB.Normalized()
	if err != nil {
		t.Fatal(err)
	}
	p, ok := solvePair(t, a, b, poseA, poseB, 0, ws)
	if !ok {
		return p, false
	}
	poseB.Position = r3.Add(poseB.Position, r3.Scale(gap-p.Distance, p.Normal))
	return solvePair(t, a, b, poseA, poseB, 0.01, ws)
}

// signedDistance is that of the shape; of polyhedra the largest distance from the plane of a face, which decides by
// itself whether a point within rounding of the surface is inside.
func signedDistance(s geom.Shape, p r3.Vec) float64 {
	core, margin := geom.WithoutMargin(s)
	c, ok := core.(*geom.Convex)
	if !ok || c.Hull().Dim < 3 || margin > 0 {
		return s.Residual(p)
	}
	most := math.Inf(-1)
	for i, n := range c.Hull().Normals {
		most = max(most, r3.Dot(n, p)-c.Hull().Offsets[i])
	}
	return most
}

// extentAlong returns how far a body reaches along the unit vector n from a point of it.
func extentAlong(s geom.Shape, pose geom.Pose, from, n r3.Vec) float64 {
	local, m := pose.ApplyInverse(from), pose.Matrix()
	d := m.MulVecT(n)
	contains := func(t float64) bool { return signedDistance(s, r3.Add(local, r3.Scale(t, d))) <= 0 }
	in, out := 0.0, 1e-9
	for contains(out) {
		if in, out = out, 4*out; out > 10 {
			return math.Inf(1)
		}
	}
	for range 60 {
		if middle := 0.5 * (in + out); contains(middle) {
			in = middle
		} else {
			out = middle
		}
	}
	return in
}

// checkManifold holds a manifold to what is promised of every point. With lines it follows the normal to the
// surfaces.
func checkManifold(t *testing.T, p *Pair, m *Manifold, lines bool) {
	t.Helper()
	size := p.A.size + p.B.size
	fail := func(format string, args ...any) {
		t.Helper()
		t.Fatalf("%v margin %g, %v margin %g, distance %g ± %g: "+format, append([]any{p.A.shape.Kind(), p.A.radius,
			p.B.shape.Kind(), p.B.radius, p.Distance, p.Gap}, args...)...)
	}
	if m.N == 0 {
		if p.Distance <= p.MaxGap {
			fail("no point")
		}
		return
	}
	round := 1e-12 * (size + r3.Norm(p.PoseA.Position) + r3.Norm(p.PoseB.Position))
	deepest := math.Inf(1)
	for i, c := range m.Points[:m.N] {
		if i > 0 && c.ID <= m.Points[i-1].ID {
			fail("IDs %x, %x are not ascending", m.Points[i-1].ID, c.ID)
		}
		deepest = min(deepest, c.Gap)
		slack := round + p.Gap
		if p.A.form == formPoint || p.B.form == formPoint {
			slack += 1e-10 * size // of residuals of smooth kinds
		}
		a := r3.Add(c.Position, r3.Scale(-0.5*c.Gap, p.Normal))
		b := r3.Add(c.Position, r3.Scale(0.5*c.Gap, p.Normal))
		if off := signedDistance(p.A.shape, p.PoseA.ApplyInverse(a)); off > slack {
			fail("point %d (%x) is %g off A", i, c.ID, off)
		}
		if off := signedDistance(p.B.shape, p.PoseB.ApplyInverse(b)); off > slack {
			fail("point %d (%x) is %g off B", i, c.ID, off)
		}
		if !lines {
			continue
		}
		gap := c.Gap - extentAlong(p.A.shape, p.PoseA, a, p.Normal) -
			extentAlong(p.B.shape, p.PoseB, b, r3.Scale(-1, p.Normal))
		if gap < m.Lower-slack || gap > c.Gap || c.Gap < m.Lower {
			fail("point %d (%x) has the true gap %g, bounds %g and %g", i, c.ID, gap, m.Lower, c.Gap)
		}
	}
	if deepest > p.Distance+2*p.Gap+ties*size+round {
		fail("the deepest of %d points is %g above the distance", m.N, deepest-p.Distance)
	}
}

// sameIDs reports whether two manifolds have points of the same features.
func sameIDs(a, b *Manifold) bool {
	same := a.N == b.N
	for i := 0; same && i < a.N; i++ {
		same = a.Points[i].ID == b.Points[i].ID
	}
	return same
}

// distinct reports whether some point of a is not within tolerance of one of b.
func distinct(a, b *Manifold, move func(r3.Vec) r3.Vec, tolerance float64) bool {
	return slices.ContainsFunc(a.Points[:a.N], func(p Point) bool {
		return !slices.ContainsFunc(b.Points[:b.N], func(q Point) bool {
			return r3.Norm(r3.Sub(move(p.Position), q.Position)) <= tolerance && math.Abs(p.Gap-q.Gap) <= tolerance
		})
	})
}

// TestManifoldOfAllKinds draws pairs of all kinds and holds every point to its bounds; IDs to small motions; and
// manifolds to a swap of the shapes and to rigid motions.
func TestManifoldOfAllKinds(t *testing.T) {
	n := 100_000
	if testing.Short() {
		n = 20_000
	}
	if need.All() {
		n = 1_000_000
	}
	if *manifoldPairs > 0 {
		n = *manifoldPairs
	}
	rng := rand.New(rand.NewPCG(34, 2))
	var features []*Features
	for _, s := range manifoldShapes(t) {
		features = append(features, mustFeatures(t, s))
	}
	var ws ref.Workspace
	var w Workspace
	var m, other Manifold
	var drawn, points, renamed, renamedRims, swapped, moved, near int
	for drawn < n {
		p, ok := drawPair(t, rng, features, &ws)
		if !ok {
			continue
		}
		drawn++
		w.Build(&p, &m)
		// The residuals of kinds with powers take a thousand times as long as all others.
		powers := p.A.shape.Kind().Traits().Powers || p.B.shape.Kind().Traits().Powers
		checkManifold(t, &p, &m, !powers || drawn%20 == 0)
		points += m.N
		if p.Distance > 0.9*p.MaxGap || p.Distance < -0.1 {
			continue
		}
		near++

		q := p
		q.A, q.B, q.PoseA, q.PoseB, q.WitnessA, q.WitnessB = p.B, p.A, p.PoseB, p.PoseA, p.WitnessB, p.WitnessA
		q.Normal = r3.Scale(-1, p.Normal)
		w.Build(&q, &other)
		checkManifold(t, &q, &other, false)
		if other.N != m.N || distinct(&m, &other, func(v r3.Vec) r3.Vec { return v }, 1e-9) {
			swapped++
		}

		motion := testkit.Pose(rng, 1)
		q = p
		q.PoseA, q.PoseB = motion.Compose(p.PoseA), motion.Compose(p.PoseB)
		q.WitnessA, q.WitnessB = motion.Apply(p.WitnessA), motion.Apply(p.WitnessB)
		r := motion.Matrix()
		q.Normal = r3.Unit(r.MulVec(p.Normal))
		w.Build(&q, &other)
		if other.N != m.N || distinct(&m, &other, motion.Apply, 1e-9) {
			moved++
		}

		poseB := p.PoseB
		poseB.Position = r3.Add(poseB.Position, r3.Scale(1e-6, testkit.Unit(rng)))
		poseB.Rotation = quat.Mul(geom.Rotate(testkit.Unit(rng), 1e-6).Rotation, poseB.Rotation)
		if q, ok = solvePair(t, p.A, p.B, p.PoseA, poseB, p.MaxGap, &ws); !ok {
			continue
		}
		w.Build(&q, &other)
		if rim := p.A.form == formFrustum || p.B.form == formFrustum; sameIDs(&m, &other) {
			continue
		} else if rim {
			renamedRims++
		} else {
			renamed++
		}
	}
	share := func(k int) float64 { return float64(k) / float64(near) }
	text := fmt.Sprintf("%d pairs, %.2f points each; of %d near ones changed: IDs %.2g, of rims %.2g, by a swap "+
		"%.2g, by a motion %.2g", drawn, float64(points)/float64(drawn), near, share(renamed), share(renamedRims),
		share(swapped), share(moved))
	t.Log(text)
	// Every limit of the choice of features is a surface in the space of poses, which draws come near to now and then.
	if share(renamed) > 2e-3 || share(renamedRims) > 0.02 || share(swapped) > 2e-3 || share(moved) > 2e-3 {
		t.Error(text)
	}
}

// solved returns the manifold of two shapes.
func solved(t *testing.T, a, b geom.Shape, poseA, poseB geom.Pose, maxGap float64) (p Pair, m Manifold) {
	t.Helper()
	var w Workspace
	p, ok := solvePair(t, mustFeatures(t, a), mustFeatures(t, b), poseA, poseB, maxGap, nil)
	if !ok {
		t.Fatal("the pair has no answer")
	}
	w.Build(&p, &m)
	checkManifold(t, &p, &m, true)
	return p, m
}

// TestManifoldClosedForms has manifolds that are known.
func TestManifoldClosedForms(t *testing.T) {
	box := geom.Box{HalfExtents: r3.Vec{X: 0.2, Y: 0.3, Z: 0.4}}
	capsule := geom.Capsule{R: 0.1, HalfLength: 0.3}
	cylinder := geom.Cylinder{R: 0.2, HalfLength: 0.3}
	up := func(z float64) geom.Pose { return geom.Translate(0, 0, z) }
	lying := func(z, tilt float64) geom.Pose { return up(z).Compose(geom.Rotate(r3.Vec{X: 1}, math.Pi/2+tilt)) }
	tilted := func(z, tilt float64) geom.Pose { return up(z).Compose(geom.Rotate(r3.Vec{X: 1}, tilt)) }
	const tilt = 0.1
	sin, cos := math.Sincos(tilt)
	edge := r3.Vec{Y: 0.3*cos - 0.4*sin, Z: 0.3*sin + 0.4*cos} // opposite to the lowest edge of the box
	cases := []struct {
		name         string
		a, b         geom.Shape
		poseA, poseB geom.Pose
		want         []r3.Vec // position and gap along z in place of z
	}{
		{"box on a plane", geom.Halfspace{}, box, up(0), up(0.401), []r3.Vec{{X: -0.2, Y: -0.3, Z: 0.001},
			{X: -0.2, Y: 0.3, Z: 0.001}, {X: 0.2, Y: -0.3, Z: 0.001}, {X: 0.2, Y: 0.3, Z: 0.001}}},
		{"box with a margin in a plane", geom.Halfspace{}, geom.WithMargin(box, 0.01), up(0), up(0.408),
			[]r3.Vec{{X: -0.2, Y: -0.3, Z: -0.002}, {X: -0.2, Y: 0.3, Z: -0.002}, {X: 0.2, Y: -0.3, Z: -0.002},
				{X: 0.2, Y: 0.3, Z: -0.002}}},
		{"box on its edge", geom.Halfspace{}, box, up(0), tilted(edge.Z+0.002, tilt), []r3.Vec{
			{X: -0.2, Y: -edge.Y, Z: 0.002}, {X: 0.2, Y: -edge.Y, Z: 0.002}}},
		{"box across a box", geom.Box{HalfExtents: r3.Vec{X: 1, Y: 0.1, Z: 0.5}}, box, up(0), up(0.9), []r3.Vec{
			{X: -0.2, Y: -0.1}, {X: -0.2, Y: 0.1}, {X: 0.2, Y: -0.1}, {X: 0.2, Y: 0.1}}},
		{"capsule on a plane", geom.Halfspace{}, capsule, up(0), lying(0.1, 0), []r3.Vec{{Y: -0.3}, {Y: 0.3}}},
		{"parallel capsules", capsule, capsule, lying(0, 0), lying(0.201, 0), []r3.Vec{{Y: -0.3, Z: 0.001},
			{Y: 0.3, Z: 0.001}}},
		{"shifted parallel capsules", capsule, capsule, lying(0, 0), geom.Translate(0, 0.2, 0).Compose(lying(0.199, 0)),
			[]r3.Vec{{Y: -0.1, Z: -0.001}, {Y: 0.3, Z: -0.001}}},
		{"lying cylinder", geom.Halfspace{}, cylinder, up(0), lying(0.2, 0), []r3.Vec{{Y: -0.3}, {Y: 0.3}}},
		{"parallel cylinder and capsule", cylinder, capsule, lying(0, 0), lying(0.3, 0), []r3.Vec{{Y: -0.3}, {Y: 0.3}}},
		{"standing cylinder", geom.Halfspace{}, cylinder, up(0), up(0.3), []r3.Vec{{X: 0.2}, {X: -0.2}, {Y: 0.2},
			{Y: -0.2}}},
		{"sphere on a box", box, geom.Sphere{R: 0.1}, up(0), geom.Translate(0.1, 0.2, 0.5), []r3.Vec{{X: 0.1, Y: 0.2}}},
		{"far box", geom.Halfspace{}, box, up(0), up(0.42), nil},
	}
	for _, c := range cases {
		_, m := solved(t, c.a, c.b, c.poseA, c.poseB, 0.01)
		if m.N != len(c.want) {
			t.Errorf("%s: %d points, want %d: %+v", c.name, m.N, len(c.want), m.Points[:m.N])
			continue
		}
		for _, w := range c.want {
			if !slices.ContainsFunc(m.Points[:m.N], func(p Point) bool {
				return math.Hypot(p.Position.X-w.X, p.Position.Y-w.Y) < 1e-9 && math.Abs(p.Gap-w.Z) < 1e-9
			}) {
				t.Errorf("%s: no point at x %g, y %g with gap %g: %+v", c.name, w.X, w.Y, w.Z, m.Points[:m.N])
			}
		}
	}
}

// TestManifoldOfSkewCapsules: capsules that cross at less than the angle of parallel segments have two points beside
// their witnesses, whose gaps are those of the bodies over them; at a larger angle they have the witnesses alone.
func TestManifoldOfSkewCapsules(t *testing.T) {
	capsule := geom.Capsule{R: 0.1, HalfLength: 0.3}
	lying := geom.Rotate(r3.Vec{X: 1}, math.Pi/2)
	for _, c := range []struct {
		angle float64
		want  int
	}{{5e-4, 3}, {2e-3, 1}} {
		crossed := geom.Translate(0, 0, 0.201).Compose(geom.Rotate(r3.Vec{Z: 1}, c.angle)).Compose(lying)
		_, m := solved(t, capsule, capsule, lying, crossed, 0.01)
		if m.N != c.want {
			t.Errorf("angle %g: %d points, want %d", c.angle, m.N, c.want)
		}
		if c.want == 3 {
			half := 0.3 * math.Sin(c.angle/2) // lateral distance of an end from the line between both
			want := 0.201 - 2*math.Sqrt(0.01-half*half)
			for _, p := range m.Points[:2] {
				if math.Abs(p.Gap-want) > 1e-12 {
					t.Errorf("angle %g: gap %.15g, want %.15g", c.angle, p.Gap, want)
				}
			}
		}
	}
}

// TestManifoldAllocates holds a workspace in use to no allocation.
func TestManifoldAllocates(t *testing.T) {
	box := mustFeatures(t, geom.Box{HalfExtents: r3.Vec{X: 0.2, Y: 0.3, Z: 0.4}})
	p, _ := solvePair(t, box, box, geom.IdentityPose(), geom.Translate(0.1, 0.1, 0.8), 0.01, nil)
	var w Workspace
	var m Manifold
	w.Build(&p, &m)
	if n := testing.AllocsPerRun(100, func() { w.Build(&p, &m) }); n != 0 {
		t.Errorf("%g allocations", n)
	}
	if m.N != 4 {
		t.Errorf("%d points, want 4", m.N)
	}
}

// TestNamed: of pairs of all kinds every point is where its ID says, with its gap, and is not where the IDs of the
// other points of its manifold say.
func TestNamed(t *testing.T) {
	n := 20_000
	if need.All() {
		n = 1_000_000
	}
	rng := rand.New(rand.NewPCG(45, 2))
	var features []*Features
	for _, s := range manifoldShapes(t) {
		features = append(features, mustFeatures(t, s))
	}
	var ws ref.Workspace
	var w Workspace
	var m Manifold
	points, witnesses, others, passing := 0, 0, 0, 0
	for range n {
		a, b := features[rng.IntN(len(features))], features[rng.IntN(len(features))]
		poseA, poseB := testkit.Pose(rng, 0.3), testkit.Pose(rng, 0.3)
		if rng.IntN(2) == 0 { // faces that are parallel, but for little, and edges too
			poseB.Rotation = quat.Mul(geom.Rotate(testkit.Unit(rng), 1e-9*rng.Float64()).Rotation, poseA.Rotation)
		}
		p, ok := solvePair(t, a, b, poseA, poseB, 0.02, &ws)
		if !ok || p.Distance > 0.02 || p.Distance < -0.1 {
			continue
		}
		size := p.A.size + p.B.size
		w.Build(&p, &m)
		for i, c := range m.Points[:m.N] {
			points++
			got := w.Named(&p, &c)
			if Witness(c.ID) {
				if witnesses++; got.Known {
					t.Errorf("%v, %v: the witnesses are the features of %x", a.shape.Kind(), b.shape.Kind(), c.ID)
				}
				continue
			}
			// A point that was made one with the witnesses has their gap.
			off := min(math.Abs(got.Gap-c.Gap), math.Abs(p.Distance+p.Gap-c.Gap))
			if !got.Known || got.Across > 4*ties*size || !(off <= 2*got.Round) {
				t.Errorf("%v, %v: point %x with the gap %g: %+v", a.shape.Kind(), b.shape.Kind(), c.ID, c.Gap, got)
			}
			for j, d := range m.Points[:m.N] {
				if j == i || Witness(d.ID) {
					continue
				}
				if got := w.Named(&p, &Point{c.Position, c.Gap, d.ID}); got.Known && got.Across < 4*ties*size &&
					r3.Norm(r3.Sub(c.Position, d.Position)) > 10*ties*size {
					passing++
				}
				others++
			}
		}
	}
	// Edges that lie over one another along their length cross anywhere.
	t.Logf("%d points, %d of them witnesses; %d other IDs, %d of them pass", points, witnesses, others, passing)
	if points < n/10 || witnesses < n/100 || others < n/10 || passing > others/200 {
		t.Error("too few points, or too many that pass for another")
	}
	for k, id := range []uint64{pointID(idVertexA, 3, 0), pointID(idWitness, 1, 0), pointID(idWitness, 2, 0)} {
		if got := Entered(id); got != k {
			t.Errorf("ID %x is that of the point %d that entered, want %d", id, got, k)
		}
	}
}
