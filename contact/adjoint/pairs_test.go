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
	if a.IsPlane() && b.IsPlane() {
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
	if a.IsPlane() {
		m := poseA.Matrix()
		direction = m.MulVec(r3.Vec{Z: 1})
	}
	if b.IsPlane() {
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
	var s pairSolver
	var w PairWorkspace
	byID, byKinds := worstErrors{}, worstErrors{}
	var drawn, changed, unsure, notSmooth, failed int
	for drawn < n {
		a, b := features[rng.IntN(len(features))], features[rng.IntN(len(features))]
		tilt := math.Pow(10, -4+3*rng.Float64())
		p, ok := s.drawPosed(rng, a, b, 0.02*(rng.Float64()-0.5), tilt, rng.IntN(2) == 0)
		if !ok {
			continue
		}
		drawn++
		var m contact.Manifold
		s.contact.Build(&p, &m)
		twist := randomTwist(rng)
		rate, spread, ok := s.differences(&p, &m, &twist, 1e-5)
		if !ok {
			changed++
			continue
		}
		scale := 0.0
		for _, x := range rate {
			scale = max(scale, math.Abs(x))
		}
		if !(spread <= 1e-7*scale) {
			unsure++
			continue
		}
		kinds := fmt.Sprint(a.Shape().Kind(), " × ", b.Shape().Kind())
		check := func(name string, bar *PairCotangent, want float64) {
			ga, gb, smoothness := w.VJP(&p, &m, bar)
			if !smoothness.Full() {
				notSmooth++
				return
			}
			got := along12(&ga, &gb, &twist)
			err := math.Abs(got-want) / scale
			byID.note(name, err)
			byKinds.note(kinds, err)
			if !(err <= 1e-7) {
				failed++
				if failed < 10 {
					t.Errorf("%s, %s: %g, differences %g ± %g of %g; distance %g", kinds, name, got, want, spread, scale,
						p.Distance)
				}
			}
		}
		dot := func(v r3.Vec, k int) float64 { return v.X*rate[k] + v.Y*rate[k+1] + v.Z*rate[k+2] }
		u := testkit.Unit(rng)
		check("normal", &PairCotangent{Normal: u}, dot(u, 0))
		for i := range m.N {
			var bar PairCotangent
			bar.Position[i] = u
			check(kindOfID(m.Points[i].ID)+", position", &bar, dot(u, 3+4*i))
			bar = PairCotangent{}
			bar.Gap[i] = 1
			check(kindOfID(m.Points[i].ID)+", gap", &bar, rate[6+4*i])
		}
	}
	t.Logf("%d pairs: features of %d change, differences of %d not sure, %d products not smooth, %d wrong", drawn,
		changed, unsure, notSmooth, failed)
	t.Log("by kind of point:", byID)
	if testing.Verbose() {
		t.Log("by kinds of shapes:", byKinds)
	}
}
