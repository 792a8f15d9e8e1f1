package adjoint

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r2"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/contact"
	"clearance/derive"
	"clearance/geom"
	"clearance/internal/testkit"
	"clearance/ref"
	"clearance/tests/need"
)

// pairShapes returns a shape of every kind and form, each without and with a margin.
func pairShapes(t testing.TB) (features []*contact.Features) {
	t.Helper()
	rng := rand.New(rand.NewPCG(48, 1))
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
		geom.Halfspace{},
	}
	for _, s := range slices.Clone(shapes) {
		shapes = append(shapes, geom.WithMargin(s, 0.05))
	}
	for _, s := range shapes {
		f, err := contact.NewFeatures(s)
		if err != nil {
			t.Fatal(err)
		}
		features = append(features, f)
	}
	return features
}

// pairSolver solves pairs by the reference, with the answer polished where derivatives are exact.
type pairSolver struct {
	ref     ref.Workspace
	derive  derive.Workspace
	contact contact.Workspace
}

func (s *pairSolver) solve(a, b *contact.Features, poseA, poseB geom.Pose) (p contact.Pair, ok bool) {
	q := ref.NewPair(a.Shape(), b.Shape(), poseA, poseB)
	r := ref.Solve(&q, ref.Options{Tolerance: 1e-10 * q.Size()}, &s.ref)
	if r.Status == ref.Undecided || r.Status == ref.Invalid {
		return p, false
	}
	p = contact.Pair{A: a, B: b, PoseA: poseA, PoseB: poseB, Normal: q.DirToWorld(r.Normal), Distance: r.Distance,
		Gap: r.Gap(), MaxGap: 0.02, WitnessA: q.ToWorld(r.WitnessA), WitnessB: q.ToWorld(r.WitnessB)}
	row := derive.Row{A: a.Shape(), B: b.Shape(), PoseA: poseA, PoseB: poseB, Answered: true, Value: p.Distance,
		Gap: p.Gap, Normal: p.Normal, WitnessA: p.WitnessA, WitnessB: p.WitnessB}
	d := s.derive.Exact(&row)
	if d.Smoothness().Full() {
		p.Distance, p.Normal, p.WitnessA, p.WitnessB = d.Answer()
		p.Gap = 0
	}
	return p, true
}

// drawPosed draws poses of two shapes at a distance, aligned to a tilt or not.
func (s *pairSolver) drawPosed(rng *rand.Rand, a, b *contact.Features, gap, tilt float64, aligned bool) (p contact.Pair,
	ok bool) {
	if isPlane(a) && isPlane(b) {
		return p, false
	}
	poseA := testkit.Pose(rng, 1)
	poseB := geom.Pose{Rotation: testkit.Rotation(rng)}
	direction := testkit.Unit(rng)
	if aligned {
		axes := [6]r3.Vec{{X: 1}, {X: -1}, {Y: 1}, {Y: -1}, {Z: 1}, {Z: -1}}
		turn := geom.Rotate(axes[rng.IntN(6)], math.Pi/2)
		spin := geom.Rotate(r3.Vec{Z: 1}, 2*math.Pi*rng.Float64())
		tilted := spin.Compose(geom.Rotate(testkit.Unit(rng), tilt))
		poseB = geom.Pose{Rotation: poseA.Rotation}.Compose(tilted).Compose(turn)
		m := poseA.Matrix()
		direction = r3.Unit(r3.Add(m.MulVec(axes[rng.IntN(6)]), r3.Scale(0.3, testkit.Unit(rng))))
	}
	if isPlane(a) {
		m := poseA.Matrix()
		direction = m.MulVec(r3.Vec{Z: 1})
	}
	if isPlane(b) {
		m := poseB.Matrix()
		direction = m.MulVec(r3.Vec{Z: -1})
	}
	poseB.Position = r3.Add(poseA.Position, r3.Scale(3, direction))
	poseB, err := poseB.Normalized()
	if err != nil {
		return p, false
	}
	if p, ok = s.solve(a, b, poseA, poseB); !ok {
		return p, false
	}
	poseB.Position = r3.Add(poseB.Position, r3.Scale(gap-p.Distance, p.Normal))
	p, ok = s.solve(a, b, poseA, poseB)
	return p, ok
}

// along moves a pose by a multiple of a twist.
func along(pose geom.Pose, twist []float64, h float64) geom.Pose {
	v, omega := r3.Vec{X: twist[0], Y: twist[1], Z: twist[2]}, r3.Vec{X: twist[3], Y: twist[4], Z: twist[5]}
	pose.Position = r3.Add(pose.Position, r3.Scale(h, v))
	angle := r3.Norm(omega)
	sin, cos := math.Sincos(0.5 * h * angle)
	k := r3.Scale(sin/angle, omega)
	pose.Rotation = quat.Mul(quat.Number{Real: cos, Imag: k.X, Jmag: k.Y, Kmag: k.Z}, pose.Rotation)
	return pose
}

// numbers lists those of a manifold: normal, then position and gap of each point.
func numbers(m *contact.Manifold) (v [3 + 4*contact.MaxPoints]float64) {
	v[0], v[1], v[2] = m.Normal.X, m.Normal.Y, m.Normal.Z
	for i, c := range m.Points[:m.N] {
		v[3+4*i], v[4+4*i], v[5+4*i], v[6+4*i] = c.Position.X, c.Position.Y, c.Position.Z, c.Gap
	}
	return v
}

// differences returns the derivative of the manifold of a pair along a twist of both bodies, by central differences of
// the fourth order at a step and at half of it, and the largest difference of both. ok is false if features change.
func (s *pairSolver) differences(p *contact.Pair, m *contact.Manifold, twist *[12]float64, h float64) (
	rate [3 + 4*contact.MaxPoints]float64, err float64, ok bool) {
	at := func(h float64) (v [3 + 4*contact.MaxPoints]float64, ok bool) {
		q, ok := s.solve(p.A, p.B, along(p.PoseA, twist[:6], h), along(p.PoseB, twist[6:], h))
		if !ok {
			return v, false
		}
		q.MaxGap = p.MaxGap
		var n contact.Manifold
		s.contact.Build(&q, &n)
		if n.N != m.N {
			return v, false
		}
		for i := range n.N {
			if n.Points[i].ID != m.Points[i].ID {
				return v, false
			}
		}
		return numbers(&n), true
	}
	var f [6][3 + 4*contact.MaxPoints]float64 // at ±2h, ±h, ±h/2
	for i, x := range [6]float64{2 * h, -2 * h, h, -h, h / 2, -h / 2} {
		if f[i], ok = at(x); !ok {
			return rate, 0, false
		}
	}
	for k := range rate {
		wide, mid, near := (f[0][k]-f[1][k])/(4*h), (f[2][k]-f[3][k])/(2*h), (f[4][k]-f[5][k])/h
		coarse := (4*mid - wide) / 3
		rate[k] = (4*near - mid) / 3
		err = max(err, math.Abs(rate[k]-coarse))
	}
	return rate, err, true
}

// kindOfID names the kind of a point.
func kindOfID(id uint64) string {
	if contact.Witness(id) {
		return "witness"
	}
	return [...]string{"vertex of A", "vertex of B", "crossing", "other"}[id>>62]
}

// randomTwist draws a twist of both bodies.
func randomTwist(rng *rand.Rand) (twist [12]float64) {
	for i := range twist {
		twist[i] = rng.NormFloat64()
	}
	return twist
}

func along12(a, b *[6]float64, twist *[12]float64) (sum float64) {
	for i := range a {
		sum += a[i]*twist[i] + b[i]*twist[6+i]
	}
	return sum
}

// worstErrors keeps the worst error, and how many there were, by name.
type worstErrors map[string]struct {
	n     int
	worst float64
}

func (w worstErrors) note(name string, err float64) {
	x := w[name]
	x.n++
	x.worst = max(x.worst, err)
	w[name] = x
}

func (w worstErrors) String() string {
	var names []string
	for k := range w {
		names = append(names, k)
	}
	slices.Sort(names)
	var out strings.Builder
	for _, k := range names {
		fmt.Fprintf(&out, "\n  %-40s %7d %.1e", k, w[k].n, w[k].worst)
	}
	return out.String()
}

// pairChecker compares products with differences, and counts.
type pairChecker struct {
	pairSolver
	w             PairWorkspace
	step          float64
	byID, byKinds worstErrors

	changed, unsure, notSmooth, failed int
}

// check compares the derivative of the manifold of a pair along a twist with differences: of the normal, and of the
// position and gap of each point. It returns the number of products that are smooth.
func (c *pairChecker) check(t *testing.T, rng *rand.Rand, p *contact.Pair) (smooth int) {
	var m contact.Manifold
	c.contact.Build(p, &m)
	twist := randomTwist(rng)
	rate, spread, ok := c.differences(p, &m, &twist, c.step)
	if !ok {
		c.changed++
		return 0
	}
	scale := 0.0
	for _, x := range rate {
		scale = max(scale, math.Abs(x))
	}
	if !(spread <= 1e-7*scale) {
		c.unsure++
		return 0
	}
	kinds := fmt.Sprint(p.A.Shape().Kind(), " × ", p.B.Shape().Kind())
	one := func(name string, bar *PairCotangent, want float64) {
		a, b, smoothness := c.w.VJP(p, &m, bar)
		if !smoothness.Full() {
			c.notSmooth++
			return
		}
		smooth++
		got := along12(&a, &b, &twist)
		err := math.Abs(got-want) / scale
		c.byID.note(name, err)
		c.byKinds.note(kinds, err)
		if err <= 1e-7 {
			return
		}
		if c.failed++; c.failed < 10 {
			t.Errorf("%s, %s: %g, differences %g ± %g of %g; distance %g", kinds, name, got, want, spread, scale,
				p.Distance)
		}
	}
	dot := func(v r3.Vec, k int) float64 { return v.X*rate[k] + v.Y*rate[k+1] + v.Z*rate[k+2] }
	u := testkit.Unit(rng)
	one("normal", &PairCotangent{Normal: u}, dot(u, 0))
	for i := range m.N {
		var bar PairCotangent
		bar.Position[i] = u
		one(kindOfID(m.Points[i].ID)+", position", &bar, dot(u, 3+4*i))
		bar = PairCotangent{}
		bar.Gap[i] = 1
		one(kindOfID(m.Points[i].ID)+", gap", &bar, rate[6+4*i])
	}
	return smooth
}

// log reports what the differences of drawn pairs show.
func (c *pairChecker) log(t *testing.T, drawn int) {
	t.Logf("%d pairs: features of %d change, differences of %d not sure, %d products not smooth, %d wrong", drawn,
		c.changed, c.unsure, c.notSmooth, c.failed)
	t.Log("by kind of point:", c.byID)
	if need.All() {
		t.Log("by kinds of shapes:", c.byKinds)
	}
}

// TestPairsAgainstDifferences holds the derivatives of the manifolds of pairs of all kinds to differences of solved
// pairs, where no feature changes.
func TestPairsAgainstDifferences(t *testing.T) {
	n := 3000
	if testing.Short() {
		n = 1000
	}
	if need.All() {
		n = 200_000
	}
	rng := rand.New(rand.NewPCG(48, 2))
	features := pairShapes(t)
	c := pairChecker{step: 1e-5, byID: worstErrors{}, byKinds: worstErrors{}}
	drawn := 0
	for drawn < n {
		a, b := features[rng.IntN(len(features))], features[rng.IntN(len(features))]
		tilt := math.Pow(10, -4+3*rng.Float64())
		p, ok := c.drawPosed(rng, a, b, 0.02*(rng.Float64()-0.5), tilt, rng.IntN(2) == 0)
		if !ok {
			continue
		}
		drawn++
		c.check(t, rng, &p)
	}
	c.log(t, drawn)
	if c.changed+c.unsure > n/20 {
		t.Errorf("%d of %d pairs are not compared", c.changed+c.unsure, n)
	}
}

// feature returns those of a valid shape.
func feature(t testing.TB, s geom.Shape) *contact.Features {
	t.Helper()
	f, err := contact.NewFeatures(s)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestEndsAgainstDifferences: segments that are parallel to 1e-3 have the ends of their common part for points.
func TestEndsAgainstDifferences(t *testing.T) {
	rng := rand.New(rand.NewPCG(48, 3))
	wedge, err := geom.NewConvex([]r3.Vec{{X: 0.2, Z: -0.4}, {X: 0.2, Z: 0.4}, {X: -0.2, Y: 0.3, Z: -0.4},
		{X: -0.2, Y: 0.3, Z: 0.4}, {X: -0.2, Y: -0.3, Z: -0.4}, {X: -0.2, Y: -0.3, Z: 0.4}})
	if err != nil {
		t.Fatal(err)
	}
	shapes := []*contact.Features{feature(t, geom.Capsule{R: 0.15, HalfLength: 0.4}),
		feature(t, geom.Cylinder{R: 0.25, HalfLength: 0.35}), feature(t, geom.Frustum{RBottom: 0.3, RTop: 0.2,
			HalfLength: 0.3}), feature(t, geom.WithMargin(geom.Cylinder{R: 0.2, HalfLength: 0.35}, 0.05)),
		feature(t, wedge), feature(t, geom.WithMargin(wedge, 0.03))}
	n := 400
	if need.All() {
		n = 20_000
	}
	c := pairChecker{step: 2e-6, byID: worstErrors{}, byKinds: worstErrors{}}
	for drawn := 0; drawn < n; {
		a, b := shapes[rng.IntN(len(shapes))], shapes[rng.IntN(len(shapes))]
		turn := geom.Rotate(r3.Vec{X: 1}, 1e-4+8e-4*rng.Float64())
		turn = turn.Compose(geom.Rotate(r3.Vec{Y: 1}, math.Pow(10, -9+6*rng.Float64())))
		poseB := geom.Translate(1, 0, 0.3*rng.NormFloat64()).Compose(turn).Compose(geom.Rotate(r3.Vec{Z: 1}, math.Pi))
		motion := testkit.Pose(rng, 1)
		poseB = motion.Compose(poseB)
		p, ok := c.solve(a, b, motion, poseB)
		if !ok {
			continue
		}
		poseB.Position = r3.Add(poseB.Position, r3.Scale(0.01*(rng.Float64()-0.5)-p.Distance, p.Normal))
		if p, ok = c.solve(a, b, motion, poseB); !ok {
			continue
		}
		drawn++
		c.check(t, rng, &p)
	}
	c.log(t, n)
	if c.notSmooth > n/50 {
		t.Errorf("%d products are not smooth", c.notSmooth)
	}
}

// TestParallelFaces: of parallel faces, or a face and an edge, one of which lies inside the other, the normal has a
// derivative. Otherwise it has none, and rotates with the mean of both.
func TestParallelFaces(t *testing.T) {
	rng := rand.New(rand.NewPCG(48, 4))
	table := feature(t, geom.Box{HalfExtents: r3.Vec{X: 0.8, Y: 0.7, Z: 0.3}})
	disc := feature(t, geom.Cylinder{R: 0.9, HalfLength: 0.3})
	upright, lying := geom.IdentityPose(), geom.Rotate(r3.Vec{X: 1}, math.Pi/2)
	tops := []struct {
		shape *contact.Features
		turn  geom.Pose
	}{{feature(t, geom.Box{HalfExtents: r3.Vec{X: 0.2, Y: 0.3, Z: 0.25}}), upright},
		{feature(t, geom.WithMargin(geom.Box{HalfExtents: r3.Vec{X: 0.2, Y: 0.3, Z: 0.25}}, 0.02)), lying},
		{feature(t, geom.Cylinder{R: 0.2, HalfLength: 0.3}), upright},
		{feature(t, geom.Cylinder{R: 0.2, HalfLength: 0.3}), lying},
		{feature(t, geom.Capsule{R: 0.1, HalfLength: 0.2}), lying},
		{feature(t, geom.Cone{R: 0.2, HalfLength: 0.3}), upright}}
	c := pairChecker{step: 1e-6, byID: worstErrors{}, byKinds: worstErrors{}}
	n := 0
	for _, base := range []*contact.Features{table, disc} {
		for _, top := range tops {
			for range 8 {
				at := geom.Translate(0.15*rng.NormFloat64(), 0.1*rng.NormFloat64(), 1)
				poseB := at.Compose(geom.Rotate(r3.Vec{Z: 1}, rng.Float64())).Compose(top.turn)
				p, ok := c.solve(base, top.shape, geom.IdentityPose(), poseB)
				if !ok {
					t.Fatal("a pair without an answer")
				}
				poseB.Position.Z -= p.Distance - 0.005*(rng.Float64()-0.5)
				if p, ok = c.solve(base, top.shape, geom.IdentityPose(), poseB); !ok {
					t.Fatal("a pair without an answer")
				}
				if rng.IntN(2) == 0 {
					p = swapped(&p)
				}
				n++
				if c.check(t, rng, &p) == 0 && c.notSmooth > 0 {
					t.Errorf("%v in %v: not smooth", top.shape.Shape().Kind(), base.Shape().Kind())
				}
			}
		}
	}
	c.log(t, n)

	// A box that stands over the side of the table.
	p, ok := c.solve(table, tops[0].shape, geom.IdentityPose(), geom.Translate(0.75, 0, 0.55))
	var m contact.Manifold
	c.contact.Build(&p, &m)
	bar := PairCotangent{Normal: r3.Vec{X: 1}}
	a, b, smoothness := c.w.VJP(&p, &m, &bar)
	if want := r3.Cross(p.Normal, bar.Normal); !ok || smoothness != derive.NotUnique || a != b || a[4] != want.Y/2 {
		t.Errorf("over the side: %v, %v, %v", smoothness, a, b)
	}
}

func sameIDs(a, b *contact.Manifold) bool {
	same := a.N == b.N
	for i := range a.N {
		same = same && a.Points[i].ID == b.Points[i].ID
	}
	return same
}

func swapped(p *contact.Pair) contact.Pair {
	q := *p
	q.A, q.B, q.PoseA, q.PoseB, q.WitnessA, q.WitnessB = p.B, p.A, p.PoseB, p.PoseA, p.WitnessB, p.WitnessA
	q.Normal = r3.Scale(-1, p.Normal)
	return q
}

// TestPairInvariance: the derivative along a rigid motion of both bodies is the motion of the manifold; a swap of the
// shapes swaps the gradients; a power of two of the length scales them bit for bit.
func TestPairInvariance(t *testing.T) {
	n := 4000
	if testing.Short() {
		n = 1000
	}
	rng := rand.New(rand.NewPCG(48, 5))
	features := pairShapes(t)
	var s pairSolver
	var w PairWorkspace
	var worstMotion, worstSwap, worstFar float64
	compared, changed := 0, 0
	for drawn := 0; drawn < n; {
		f, g := features[rng.IntN(len(features))], features[rng.IntN(len(features))]
		tilt := math.Pow(10, -12+11*rng.Float64())
		p, ok := s.drawPosed(rng, f, g, 0.02*(rng.Float64()-0.5), tilt, rng.IntN(4) > 0)
		if !ok {
			continue
		}
		var m, other contact.Manifold
		s.contact.Build(&p, &m)
		drawn++
		var bar PairCotangent
		bar.Normal = testkit.Normal(rng)
		for i := range m.N {
			bar.Position[i], bar.Gap[i] = testkit.Normal(rng), rng.NormFloat64()
		}
		a, b, smoothness := w.VJP(&p, &m, &bar)
		size := 0.0
		for i := range a {
			if a[i] != a[i] || b[i] != b[i] {
				t.Fatalf("%v × %v: gradients %v, %v", f.Shape().Kind(), g.Shape().Kind(), a, b)
			}
			size = max(size, math.Abs(a[i]), math.Abs(b[i]))
		}

		v, omega := testkit.Normal(rng), testkit.Normal(rng)
		at := func(x r3.Vec) r3.Vec { return r3.Add(v, r3.Cross(omega, x)) }
		var twist [12]float64
		for i, pose := range [2]*geom.Pose{&p.PoseA, &p.PoseB} {
			u := at(pose.Position)
			copy(twist[6*i:], []float64{u.X, u.Y, u.Z, omega.X, omega.Y, omega.Z})
		}
		want := r3.Dot(bar.Normal, r3.Cross(omega, p.Normal))
		for i := range m.N {
			want += r3.Dot(bar.Position[i], at(m.Points[i].Position))
		}
		err := math.Abs(along12(&a, &b, &twist)-want) / size
		if worstMotion = max(worstMotion, err); err > 1e-11 {
			t.Errorf("%v × %v, %v: a rigid motion has an error of %g", f.Shape().Kind(), g.Shape().Kind(), smoothness,
				err)
		}

		// A kilometre away rounding is 1e-13 of it; as much of a length of 1e-3, over which normals vary, is 1e-10.
		q, far := p, r3.Vec{X: 1000, Y: -700, Z: 300}
		for _, at := range []*r3.Vec{&q.PoseA.Position, &q.PoseB.Position, &q.WitnessA, &q.WitnessB} {
			*at = r3.Add(*at, far)
		}
		s.contact.Build(&q, &other)
		if farA, farB, same := w.VJP(&q, &other, &bar); sameIDs(&m, &other) {
			compared++
			if same != smoothness {
				changed++
			}
			for i := range a {
				if same == smoothness && same.Full() {
					worstFar = max(worstFar, math.Abs(a[i]-farA[i])/size, math.Abs(b[i]-farB[i])/size)
				}
			}
		}

		q = swapped(&p)
		s.contact.Build(&q, &other)
		if other.N != m.N {
			continue
		}
		flipped := PairCotangent{Normal: r3.Scale(-1, bar.Normal)}
		matched := 0
		for i := range other.N {
			for k := range m.N {
				x, y := &other.Points[i], &m.Points[k]
				if r3.Norm(r3.Sub(x.Position, y.Position)) < 1e-12 && matched == i {
					flipped.Position[i], flipped.Gap[i] = bar.Position[k], bar.Gap[k]
					matched++
				}
			}
		}
		if matched != m.N || !smoothness.Full() {
			continue
		}
		swapB, swapA, _ := w.VJP(&q, &other, &flipped)
		for i := range a {
			err := max(math.Abs(a[i]-swapA[i]), math.Abs(b[i]-swapB[i])) / size
			if worstSwap = max(worstSwap, err); err > 1e-8 {
				t.Errorf("%v × %v: a swap changes gradients by %g", f.Shape().Kind(), g.Shape().Kind(), err)
				break
			}
		}
	}
	t.Logf("worst errors: rigid motion %.1e, swap %.1e, far away %.1e; smoothness of %d of %d changes there",
		worstMotion, worstSwap, worstFar, changed, compared)
	if worstFar > 1e-6 || changed > compared/50 {
		t.Errorf("far away: %g, smoothness of %d of %d changes", worstFar, changed, compared)
	}
}

// TestPairScale scales boxes and their poses by a power of two.
func TestPairScale(t *testing.T) {
	rng := rand.New(rand.NewPCG(48, 6))
	var s pairSolver
	var w PairWorkspace
	boxes := func(scale float64) (a, b *contact.Features) {
		return feature(t, geom.Box{HalfExtents: r3.Scale(scale, r3.Vec{X: 0.2, Y: 0.3, Z: 0.45})}),
			feature(t, geom.Cylinder{R: 0.25 * scale, HalfLength: 0.35 * scale})
	}
	a, b := boxes(1)
	for range 200 {
		p, ok := s.drawPosed(rng, a, b, 0.01*rng.NormFloat64(), math.Pow(10, -6*rng.Float64()), true)
		if !ok {
			continue
		}
		var m contact.Manifold
		s.contact.Build(&p, &m)
		var bar PairCotangent
		bar.Normal = testkit.Normal(rng)
		for i := range m.N {
			bar.Position[i], bar.Gap[i] = testkit.Normal(rng), rng.NormFloat64()
		}
		ga, gb, smoothness := w.VJP(&p, &m, &bar)
		for _, scale := range []float64{0x1p-7, 0x1p9} {
			q, n, scaled := p, m, bar
			q.A, q.B = boxes(scale)
			for _, v := range []*r3.Vec{&q.PoseA.Position, &q.PoseB.Position, &q.WitnessA, &q.WitnessB} {
				*v = r3.Scale(scale, *v)
			}
			q.Distance, q.Gap, q.MaxGap = scale*q.Distance, scale*q.Gap, scale*q.MaxGap
			scaled.Normal = r3.Scale(scale, bar.Normal)
			for i := range n.N {
				n.Points[i].Position = r3.Scale(scale, m.Points[i].Position)
			}
			sa, sb, same := w.VJP(&q, &n, &scaled)
			for i := range sa {
				by := 1.0
				if i >= 3 {
					by = scale
				}
				if sa[i] != by*ga[i] || sb[i] != by*gb[i] || same != smoothness {
					t.Fatalf("scale %g: gradients %v, %v of %v, %v", scale, sa, sb, ga, gb)
				}
			}
		}
	}
}

// BenchmarkPairs takes the product of a manifold with all its points.
func BenchmarkPairs(b *testing.B) {
	rng := rand.New(rand.NewPCG(48, 7))
	plane, sphere := feature(b, geom.Halfspace{}), feature(b, geom.Sphere{R: 0.3})
	box := feature(b, geom.Box{HalfExtents: r3.Vec{X: 0.2, Y: 0.3, Z: 0.45}})
	table := feature(b, geom.Box{HalfExtents: r3.Vec{X: 0.8, Y: 0.9, Z: 0.3}})
	cylinder := feature(b, geom.Cylinder{R: 0.25, HalfLength: 0.35})
	hull := feature(b, testkit.Hull(rng, r3.Vec{X: 0.3, Y: 0.4, Z: 0.25}, 30))
	upright := geom.Translate(0.02, 0.03, 1)
	tilted := upright.Compose(geom.Rotate(r3.Vec{X: 1, Y: 0.3}, 1e-5))
	for _, c := range []struct {
		name string
		a, b *contact.Features
		pose geom.Pose
	}{
		{"box on plane", plane, box, tilted}, {"hull on plane", plane, hull, tilted},
		{"sphere on plane", plane, sphere, upright}, {"cylinder on plane", plane, cylinder, tilted},
		{"box on box", table, box, tilted}, {"level box on box", table, box, upright},
		{"equal boxes", box, box, tilted}, {"overhanging box", table, box, geom.Translate(0.7, 0, 0).Compose(tilted)},
		{"cylinder on box", table, cylinder, tilted}, {"sphere on box", table, sphere, upright},
		{"spheres", sphere, sphere, upright},
	} {
		b.Run(strings.ReplaceAll(c.name, " ", "-"), func(b *testing.B) {
			var s pairSolver
			p, _ := s.solve(c.a, c.b, geom.IdentityPose(), c.pose)
			c.pose.Position.Z -= p.Distance + 1e-5
			p, ok := s.solve(c.a, c.b, geom.IdentityPose(), c.pose)
			var m contact.Manifold
			s.contact.Build(&p, &m)
			if !ok || m.N == 0 {
				b.Fatal("no contact")
			}
			var bar PairCotangent
			for i := range m.N {
				bar.Position[i], bar.Gap[i] = testkit.Normal(rng), rng.NormFloat64()
			}
			bar.Normal = testkit.Normal(rng)
			var w PairWorkspace
			b.ReportAllocs()
			start := testkit.CPUTime(b)
			for b.Loop() {
				w.VJP(&p, &m, &bar)
			}
			b.ReportMetric(float64(testkit.CPUTime(b)-start)/float64(b.N), "ns-CPU")
			_, _, smoothness := w.VJP(&p, &m, &bar)
			b.ReportMetric(float64(smoothness), "smoothness")
			b.ReportMetric(float64(m.N), "points")
		})
	}
}

func isPlane(f *contact.Features) bool { return f.Shape().Kind().Traits().Unbounded }

// TestRulesAgainstDerive: a normal that features determine is differentiated as package derive does, which looks at all
// normals; where that has another normal, the rule is not certain.
func TestRulesAgainstDerive(t *testing.T) {
	rng := rand.New(rand.NewPCG(48, 8))
	shapes := []*contact.Features{feature(t, geom.Box{HalfExtents: r3.Vec{X: 0.2, Y: 0.3, Z: 0.45}}),
		feature(t, geom.Box{HalfExtents: r3.Vec{X: 0.3, Y: 0.3, Z: 0.3}}),
		feature(t, geom.WithMargin(geom.Box{HalfExtents: r3.Vec{X: 0.5, Y: 0.4, Z: 0.1}}, 0.03)),
		feature(t, testkit.Hull(rng, r3.Vec{X: 0.3, Y: 0.4, Z: 0.25}, 30)),
		feature(t, geom.Cylinder{R: 0.25, HalfLength: 0.35}), feature(t, geom.Capsule{R: 0.15, HalfLength: 0.4})}
	n := 20_000
	if need.All() {
		n = 1_000_000
	}
	var s pairSolver
	var w contact.Workspace
	counts := map[contact.NormalRule]int{}
	worst := 0.0
	for drawn := 0; drawn < n; {
		f, g := shapes[rng.IntN(len(shapes))], shapes[rng.IntN(len(shapes))]
		p, ok := s.drawPosed(rng, f, g, 0.05*(rng.Float64()-0.8), math.Pow(10, -5*rng.Float64()), rng.IntN(4) > 0)
		if !ok {
			continue
		}
		drawn++
		var m contact.Manifold
		w.Build(&p, &m)
		var got contact.PointsGradient
		w.PointsVJP(&p, &m, &PairCotangent{}, &got)
		if !got.Certain {
			continue
		}
		counts[got.Rule]++
		row := derive.Row{A: f.Shape(), B: g.Shape(), PoseA: p.PoseA, PoseB: p.PoseB, Answered: true,
			Value: p.Distance, Gap: p.Gap, Normal: p.Normal, WitnessA: p.WitnessA, WitnessB: p.WitnessB}
		d := s.derive.Exact(&row)
		if !d.Smoothness().Full() {
			t.Errorf("rule %d of %v × %v at %g: derive says %v", got.Rule, f.Shape().Kind(), g.Shape().Kind(),
				p.Distance, d.Smoothness())
			continue
		}
		u := testkit.Unit(rng)
		var a, b [6]float64
		got.NormalVJP(p.Normal, u, &a, &b)
		want := d.VJP(&derive.Cotangent{Normal: u})
		for i := range a {
			worst = max(worst, math.Abs(a[i]-want[i]), math.Abs(b[i]-want[6+i]))
		}
	}
	t.Logf("certain by rule: %v; largest difference %.1e", counts, worst)
	if worst > 1e-9 {
		t.Errorf("rules differ from derive by %g", worst)
	}
	for _, rule := range []contact.NormalRule{contact.FaceOfA, contact.FaceOfB, contact.Edges} {
		if counts[rule] < n/200 {
			t.Errorf("%d pairs of the rule %d", counts[rule], rule)
		}
	}

	// Cubes of a grid whose edges meet, overlapping by the same along x and z.
	for _, by := range []float64{0, 1e-3} {
		p, ok := s.solve(shapes[1], shapes[1], geom.IdentityPose(), geom.Translate(0.6-by, 0, 0.6-by))
		p.Normal = r3.Vec{Z: 1}
		var m contact.Manifold
		w.Build(&p, &m)
		var got contact.PointsGradient
		w.PointsVJP(&p, &m, &PairCotangent{}, &got)
		if !ok || got.Certain {
			t.Errorf("cubes at an edge, overlap %g: rule %d is certain", by, got.Rule)
		}
	}
}

// TestParallelSides: cylinders and capsules that lie side by side have no derivative along them. Across, the normal
// follows the axes: it is their difference over its length. Motions that keep them parallel have that derivative.
func TestParallelSides(t *testing.T) {
	rng := rand.New(rand.NewPCG(48, 9))
	capsule := feature(t, geom.Capsule{R: 0.15, HalfLength: 0.4})
	can := feature(t, geom.Cylinder{R: 0.25, HalfLength: 0.35})
	padded := feature(t, geom.WithMargin(geom.Cylinder{R: 0.2, HalfLength: 0.35}, 0.05))
	var s pairSolver
	var w PairWorkspace
	for _, c := range []struct {
		a, b     *contact.Features
		distance float64 // of the axes
	}{{capsule, capsule, 0.301}, {capsule, can, 0.399}, {can, capsule, 0.4}, {padded, can, 0.501}, {can, can, 0.499}} {
		for range 20 {
			motion := testkit.Pose(rng, 1)
			poseB := motion.Compose(geom.Translate(c.distance, 0, 0.1*rng.NormFloat64()))
			p, ok := s.solve(c.a, c.b, motion, poseB)
			if !ok {
				t.Fatal("no answer")
			}
			r := motion.Matrix()
			p.Normal = r.MulVec(r3.Vec{X: 1}) // which the reference knows to its tolerance
			side, across := r.MulVec(r3.Vec{Z: 1}), r.MulVec(r3.Vec{Y: 1})
			var m contact.Manifold
			s.contact.Build(&p, &m)
			// A common rotation, any velocities, and a rotation of each about its axis.
			omega, va, vb := testkit.Normal(rng), testkit.Normal(rng), testkit.Normal(rng)
			wa, wb := r3.Add(omega, r3.Scale(rng.NormFloat64(), side)), r3.Add(omega, r3.Scale(rng.NormFloat64(), side))
			twist := [12]float64{va.X, va.Y, va.Z, wa.X, wa.Y, wa.Z, vb.X, vb.Y, vb.Z, wb.X, wb.Y, wb.Z}
			u := testkit.Unit(rng)
			a, b, smoothness := w.VJP(&p, &m, &PairCotangent{Normal: u})
			// The rate of the difference of the axes across them, where A meets B.
			between := r3.Sub(p.PoseB.Position, p.PoseA.Position)
			rate := r3.Dot(across, r3.Sub(vb, va)) - r3.Dot(side, between)*r3.Dot(across, r3.Cross(omega, side))
			want := r3.Dot(u, across)*rate/c.distance + r3.Dot(u, side)*r3.Dot(side, r3.Cross(omega, p.Normal))
			got := along12(&a, &b, &twist)
			if math.Abs(got-want) > 1e-9*(1+math.Abs(want)) || smoothness != derive.NotUnique {
				t.Errorf("%v × %v: %g, want %g; %v", c.a.Shape().Kind(), c.b.Shape().Kind(), got, want, smoothness)
			}
		}
	}
}
