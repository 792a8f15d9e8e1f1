package derive

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r2"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/testkit"
	"clearance/ref"
)

// shapesOfTest has every kind, and the forms that hulls take.
func shapesOfTest(tb testing.TB) map[string]geom.Shape {
	must := func(s geom.Shape, err error) geom.Shape {
		if err != nil {
			tb.Fatal(err)
		}
		return s
	}
	rng := rand.New(rand.NewPCG(7, 1))
	points := testkit.OnEllipsoid(rng, r3.Vec{X: 0.5, Y: 0.3, Z: 0.4}, 24)
	smooth, err := geom.NewSmoothHull(points[:14], 6, r3.Vec{})
	if err != nil {
		tb.Fatal(err)
	}
	revolution, err := geom.NewSmoothRevolution([]r2.Vec{{X: 0.3, Y: 0.35}, {X: 0.2, Y: -0.3}}, 12, 0.05)
	if err != nil {
		tb.Fatal(err)
	}
	convex := func(p []r3.Vec) geom.Shape {
		c, err := geom.NewConvex(p)
		return must(c, err)
	}
	plate := []r3.Vec{{X: -0.4, Y: -0.3}, {X: 0.4, Y: -0.3}, {X: 0.3, Y: 0.4}, {X: -0.3, Y: 0.3}}
	return map[string]geom.Shape{
		"sphere":           geom.Sphere{R: 0.3},
		"capsule":          geom.Capsule{R: 0.15, HalfLength: 0.4},
		"cylinder":         geom.Cylinder{R: 0.25, HalfLength: 0.35},
		"cone":             geom.Cone{R: 0.4, HalfLength: 0.3},
		"frustum":          geom.Frustum{RBottom: 0.35, RTop: 0.2, HalfLength: 0.25},
		"box":              geom.Box{HalfExtents: r3.Vec{X: 0.2, Y: 0.3, Z: 0.45}},
		"ellipsoid":        geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.5, Y: 0.2, Z: 0.3}},
		"superquadric":     geom.Superquadric{SemiAxes: r3.Vec{X: 0.3, Y: 0.4, Z: 0.25}, Alpha1: 0.8, Alpha2: 1.2},
		"smooth_hull":      smooth,
		"smooth_rev":       revolution,
		"hull":             convex(points),
		"plate":            convex(plate),
		"segment":          convex([]r3.Vec{{X: -0.3, Z: 0.1}, {X: 0.4, Y: 0.2}}),
		"point":            convex([]r3.Vec{{X: 0.1, Y: -0.2, Z: 0.05}}),
		"halfspace":        geom.Halfspace{},
		"box margin":       geom.WithMargin(geom.Box{HalfExtents: r3.Vec{X: 0.2, Y: 0.3, Z: 0.45}}, 0.05),
		"ellipsoid margin": geom.WithMargin(geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.5, Y: 0.2, Z: 0.3}}, 0.05),
	}
}

var kindNames = []string{"sphere", "capsule", "cylinder", "cone", "frustum", "box", "ellipsoid", "superquadric",
	"smooth_hull", "smooth_rev", "hull", "plate", "segment", "point", "halfspace", "box margin", "ellipsoid margin"}

// solve answers a pair by the reference.
func solve(a, b geom.Shape, poseA, poseB geom.Pose) Row {
	p := ref.NewPair(a, b, poseA, poseB)
	r := ref.Solve(&p, ref.Options{}, &ref.Workspace{})
	return rowOf(a, b, poseA, poseB, &p, &r)
}

func rowOf(a, b geom.Shape, poseA, poseB geom.Pose, p *ref.Pair, r *ref.Result) Row {
	return Row{A: a, B: b, PoseA: poseA, PoseB: poseB, Answered: r.Status <= ref.Penetrating, Value: r.Distance,
		Gap: r.Gap(), Normal: p.DirToWorld(r.Normal), WitnessA: p.ToWorld(r.WitnessA), WitnessB: p.ToWorld(r.WitnessB)}
}

// solveGrowth answers with the growth distance about the default centers.
func solveGrowth(a, b geom.Shape, poseA, poseB geom.Pose) Row {
	p := ref.NewPair(a, b, poseA, poseB)
	c := ref.GrowthCenters{A: geom.GrowthCenter(a), B: geom.GrowthCenter(b)}
	c.InradiusA, c.InradiusB = geom.InradiusAt(a, c.A), geom.InradiusAt(b, c.B)
	r := ref.Growth(&p, c, ref.GrowthOptions{}, &ref.Workspace{})
	row := rowOf(a, b, poseA, poseB, &p, &r)
	row.Growth, row.CenterA, row.CenterB = true, c.A, c.B
	return row
}

// moved is a pose moved along a twist for a unit of time: R' = exp(ω)·R.
func moved(p geom.Pose, t *Twists, i int, h float64) geom.Pose {
	v, omega := r3.Scale(h, vec(t, i)), r3.Scale(h, vec(t, i+3))
	p.Position = r3.Add(p.Position, v)
	q := quat.Exp(quat.Number{Imag: omega.X / 2, Jmag: omega.Y / 2, Kmag: omega.Z / 2})
	p.Rotation = quat.Mul(q, p.Rotation)
	return p
}

// answerAt solves the row moved along twists, and polishes the answer: the optimality conditions then hold to
// rounding, whatever the derivatives are.
func answerAt(w *Workspace, r *Row, t *Twists, h float64) (c Cotangent, state Smoothness) {
	ask := solve
	if r.Growth {
		ask = solveGrowth
	}
	moved := ask(r.A, r.B, moved(r.PoseA, t, 0, h), moved(r.PoseB, t, 6, h))
	d := w.Exact(&moved)
	c.Value, c.Normal, c.WitnessA, c.WitnessB = d.Answer()
	return c, d.Smoothness()
}

// difference is the derivative along twists by a central difference of the fourth order.
func difference(w *Workspace, r *Row, t *Twists, h float64) (d Cotangent, ok bool) {
	var sum [10]float64
	for _, k := range []struct{ at, weight float64 }{{-2, 1.0 / 12}, {-1, -2.0 / 3}, {1, 2.0 / 3}, {2, -1.0 / 12}} {
		c, state := answerAt(w, r, t, k.at*h)
		if !state.Full() || r3.Dot(c.Normal, r.Normal) < 0.999 { // another minimum of the depth
			return d, false
		}
		for i, v := range c.components() {
			sum[i] += k.weight / h * v
		}
	}
	return cotangentOf(&sum), true
}

// deviation returns the largest difference of two tangents, relative to the largest number of them, at least 1.
func deviation(a, b Cotangent) (d float64) {
	scale := 1.0
	x, y := a.components(), b.components()
	for i := range x {
		scale = max(scale, math.Abs(x[i]))
		d = max(d, math.Abs(x[i]-y[i]))
	}
	return d / scale
}

func randomTwists(rng *rand.Rand) (t Twists) {
	for i := range t {
		t[i] = rng.NormFloat64()
	}
	return t
}

// placedAtGap draws poses at about a signed distance.
func placedAtGap(rng *rand.Rand, a, b geom.Shape, gap float64) Row {
	poseA, poseB := testkit.Pose(rng, 1), testkit.Pose(rng, 0)
	out := testkit.Unit(rng)
	if a.Kind() == geom.KindHalfspace {
		m := poseA.Matrix()
		out = m.MulVec(r3.Vec{Z: 1})
	}
	if b.Kind() == geom.KindHalfspace {
		m := poseB.Matrix()
		out = m.MulVec(r3.Vec{Z: -1})
	}
	poseB.Position = r3.Add(poseA.Position, r3.Scale(2, out))
	for range 8 { // move along the normal: exact for a convex function of one variable, near the end
		r := solve(a, b, poseA, poseB)
		if math.Abs(r.Value-gap) < 1e-3 {
			break
		}
		poseB.Position = r3.Add(poseB.Position, r3.Scale(gap-r.Value, r.Normal))
	}
	return solve(a, b, poseA, poseB)
}

// TestAgainstDifferences compares the derivatives of every pair of kinds with central differences of answers of the
// reference: separated, near contact and in shallow penetration.
func TestAgainstDifferences(t *testing.T) {
	shapes := shapesOfTest(t)
	var w Workspace
	compared, worst := 0, 0.0
	for i, nameA := range kindNames {
		for j, nameB := range kindNames {
			if nameA == "halfspace" && nameB == "halfspace" {
				continue
			}
			rng := rand.New(rand.NewPCG(uint64(i), uint64(j)))
			for _, gap := range []float64{0.5, 0.05, -0.02} {
				r := placedAtGap(rng, shapes[nameA], shapes[nameB], gap)
				n, dev := compareWithDifference(t, &w, rng, &r, fmt.Sprintf("%s × %s at %g", nameA, nameB, gap))
				compared += n
				worst = max(worst, dev)
			}
		}
	}
	t.Logf("%d rows compared, largest deviation %.1e", compared, worst)
	if compared < 600 {
		t.Errorf("only %d rows compared", compared)
	}
}

// compareWithDifference checks a row along one random twist. It returns 1 if the row could be compared: its
// features must be the same at all points of the difference.
func compareWithDifference(t *testing.T, w *Workspace, rng *rand.Rand, r *Row, name string) (int, float64) {
	t.Helper()
	d := w.Exact(r)
	if !d.Smoothness().Full() {
		return 0, 0
	}
	twists := randomTwists(rng)
	got := d.JVP(&twists)
	tolerance, worst := 1e-7, math.Inf(1)
	speed := max(1, r3.Norm(got.Normal))                  // steps are angles of the normal
	for _, h := range []float64{1e-3, 3e-4, 1e-4, 1e-5} { // curvature of the answers sets the best step
		want, ok := difference(w, r, &twists, h/speed)
		if ok {
			worst = min(worst, deviation(got, want))
		}
	}
	if math.IsInf(worst, 1) {
		return 0, 0
	}
	if !(worst <= tolerance) {
		want, _ := difference(w, r, &twists, 1e-5)
		t.Errorf("%s (%v): deviation %.1e\n got %v\nwant %v", name, d.Smoothness(), worst, got, want)
	}
	return 1, worst
}

// TestEveryKind takes a shape of every kind of package geom through every switch over kinds, which panic for one that
// they lack.
func TestEveryKind(t *testing.T) {
	tested := map[geom.Kind]bool{}
	rng := rand.New(rand.NewPCG(2, 5))
	var w Workspace
	for name, shape := range shapesOfTest(t) {
		tested[shape.Kind()] = true
		s := place(shape, testkit.Pose(rng, 1), r3.Vec{}, r3.Vec{})
		d := testkit.Unit(rng)
		if shape.Kind() == geom.KindHalfspace {
			d = column(&s.rot, 2)
		}
		e := tangentBasis(d)
		if f := w.at(&s, d, r3.Vec{}, 1e-9, &e); !f.ok {
			t.Errorf("%s: no feature", name)
		}
		for _, mode := range []Mode{Gumbel, Gaussian} {
			f := feature{}
			if !w.smoothed(&f, &s, d, &Options{Mode: mode}, 0, 0, 1, &e) || !(f.h[0]+f.h[2] < math.Inf(1)) {
				t.Errorf("%s: no Hessian of mode %v", name, mode)
			}
		}
		if shape.Kind() == geom.KindHalfspace {
			continue
		}
	}
	for k := range geom.KindCount {
		if !tested[k] {
			t.Errorf("shapesOfTest has no shape of the kind %v, and no derivatives of it are tested", k)
		}
	}
}

// poweredShapes draws shapes whose support functions have powers, over the range of their parameters; the last one has
// more points than the kernel takes.
func poweredShapes(t *testing.T, rng *rand.Rand) (shapes []geom.Shape) {
	t.Helper()
	within := func(lo, hi float64) float64 { return lo + (hi-lo)*rng.Float64() }
	size := func() r3.Vec { return r3.Vec{X: within(0.2, 0.5), Y: within(0.2, 0.5), Z: within(0.2, 0.5)} }
	for range 12 {
		shapes = append(shapes, geom.Superquadric{SemiAxes: size(), Alpha1: within(0.2, 1.8), Alpha2: within(0.2, 1.8)})
	}
	shapes = append(shapes, geom.Superquadric{SemiAxes: size(), Alpha1: 1, Alpha2: 1})
	for _, n := range []int{8, 33, 256, 257} {
		points := testkit.Hull(rng, size(), n).Hull().Vertices
		s, err := geom.NewSmoothHull(points, math.Exp(within(1, 4)), r3.Vec{X: 0.02, Y: -0.03, Z: 0.01})
		if err != nil {
			t.Fatal(err)
		}
		shapes = append(shapes, s)
		profile := []r2.Vec{{X: 0.3, Y: 0.1}, {X: 0.1, Y: 0.4}, {X: 0.2, Y: within(-0.4, -0.2)}, {X: 0, Y: 0.45},
			{X: 0.35, Y: within(-0.1, 0)}}
		rev, err := geom.NewSmoothRevolution(profile, math.Exp(within(1, 4)), within(0.001, 0.5))
		if err != nil {
			t.Fatal(err)
		}
		shapes = append(shapes, rev)
	}
	return shapes
}

// TestLanesPowers holds the kernel to Go on shapes with powers over the range of their parameters, some in poses in
// which their Hessian takes a limit.
func TestLanesPowers(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 4))
	shapes := poweredShapes(t, rng)
	others := []geom.Shape{geom.Box{HalfExtents: r3.Vec{X: 0.3, Y: 0.2, Z: 0.4}}, geom.Sphere{R: 0.2},
		testkit.Hull(rng, r3.Vec{X: 0.3, Y: 0.3, Z: 0.2}, 20), geom.Halfspace{}}
	var rows, growth []Row
	for i, a := range shapes {
		for _, b := range append(others, shapes[rng.IntN(len(shapes))], shapes[i]) {
			for _, gap := range []float64{0.3, 1e-3, -0.02} {
				rows = append(rows, placedAtGap(rng, a, b, gap))
			}
			aligned := geom.Pose{Position: r3.Vec{Z: -2}, Rotation: quat.Number{Real: 1}}
			if b.Kind() != geom.KindHalfspace {
				aligned.Position = r3.Vec{X: 1.5}
			}
			rows = append(rows, solve(a, b, geom.IdentityPose(), aligned))
		}
	}
	for i := range rows {
		r := &rows[i]
		if g := solveGrowth(r.A, r.B, r.PoseA, r.PoseB); g.Answered {
			growth = append(growth, g)
		}
	}
	for _, set := range [][]Row{rows, growth} {
		job := jobOf(t, set, batch.Double)
		want := compareKernel(t, job, Options{})
		compareKernel(t, job, Options{Mode: Gumbel})
		compareKernel(t, job, Options{Mode: Gaussian})
		full := 0
		for _, s := range want.Column(batch.ColSmoothness).U8 {
			if Smoothness(s).Full() {
				full++
			}
		}
		if full < len(set)*3/4 {
			t.Errorf("%d of %d rows have all derivatives", full, len(set))
		}
	}
}

var (
	smoothNames = []string{"sphere", "ellipsoid", "superquadric", "smooth_hull", "smooth_rev", "ellipsoid margin"}
	flatNames   = []string{"sphere", "capsule", "box", "hull", "plate", "segment", "point", "box margin"}
)

// wideDifference is the derivative of the answer along twists by a central difference in 106 bits. The step leaves an
// error of the third derivative times 1e-18, and rounding errors of 1e-21.
func wideDifference(r *Row, t *Twists) (d Cotangent, ok bool) {
	const h = 1e-9
	var x [2]ddAnswer
	for side := range x {
		step := h * float64(1-2*side)
		a := ddPlace(r.A, doubledPose(r.PoseA, t, 0, step), r.CenterA)
		b := ddPlace(r.B, doubledPose(r.PoseB, t, 6, step), r.CenterB)
		if a.corners != nil && b.corners != nil {
			if x[side], ok = flatAnswer(&a, &b, r.Growth, r.Normal); !ok {
				return d, false
			}
		} else {
			x[side] = smoothAnswer(&a, &b, r.Growth, r.Value, r.Normal)
		}
	}
	var sum [10]float64
	ahead, behind := x[0].components(), x[1].components()
	for i := range sum {
		sum[i] = ahead[i].minus(behind[i]).float() / (2 * h)
	}
	return cotangentOf(&sum), true
}

// placedExactly moves B along the normal until the signed distance is gap, to rounding.
func placedExactly(rng *rand.Rand, a, b geom.Shape, gap float64) Row {
	r := placedAtGap(rng, a, b, gap)
	for range 12 {
		if math.Abs(r.Value-gap) < 1e-14 {
			break
		}
		r.PoseB.Position = r3.Add(r.PoseB.Position, r3.Scale(gap-r.Value, r.Normal))
		r = solve(a, b, r.PoseA, r.PoseB)
	}
	return r
}

// TestExtendedPrecision compares derivatives with differences of answers in 106 bits: smooth shapes and polytopes
// apart, near, touching and in shallow and less shallow penetration, signed distances and growth distances.
func TestExtendedPrecision(t *testing.T) {
	shapes := shapesOfTest(t)
	var w Workspace
	for _, c := range []struct {
		name      string
		kinds     []string
		state     Smoothness
		tolerance float64
		least     [2]int // rows compared: signed distances, growth distances
	}{
		{"smooth", smoothNames, Smooth, 1e-10, [2]int{340, 340}},
		{"polytopes", flatNames, UniqueFeatures, 1e-9, [2]int{550, 180}},
	} {
		compared, worst := [2]int{}, [2]float64{}
		for i, nameA := range c.kinds {
			for j, nameB := range c.kinds {
				rng := rand.New(rand.NewPCG(uint64(i), uint64(j)+300))
				for _, gap := range []float64{0.5, 0.5, 1e-3, 1e-3, 0, 0, -1e-3, -1e-3, -0.02, -0.02} {
					r := placedExactly(rng, shapes[nameA], shapes[nameB], gap)
					for k, row := range []Row{r, solveGrowth(r.A, r.B, r.PoseA, r.PoseB)} {
						d := w.Exact(&row)
						if d.Smoothness() != c.state {
							continue
						}
						twists := randomTwists(rng)
						want, ok := wideDifference(&row, &twists)
						if !ok {
							continue
						}
						compared[k]++
						got := d.JVP(&twists)
						dev := deviation(got, want)
						worst[k] = max(worst[k], dev)
						if !(dev <= c.tolerance) {
							t.Errorf("%s × %s at %g, growth %v: deviation %.1e\n got %v\nwant %v", nameA, nameB, gap,
								row.Growth, dev, got, want)
						}
					}
				}
			}
		}
		t.Logf("%s: %d distances, deviation at most %.1e; %d growth distances, %.1e", c.name, compared[0], worst[0],
			compared[1], worst[1])
		if compared[0] < c.least[0] || compared[1] < c.least[1] {
			t.Errorf("%s: only %v rows compared", c.name, compared)
		}
	}
}
