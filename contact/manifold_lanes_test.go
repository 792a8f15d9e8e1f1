package contact

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"clearance/geom"
	"clearance/internal/testkit"
	native "clearance/kernels/contact"
	"clearance/ref"

	"gonum.org/v1/gonum/spatial/r3"
)

// pairRows are the rows of pairs of a table of features.
func pairRows(pairs []Pair, features []*Features) (r native.Rows, out native.Points) {
	at := func(v r3.Vec) []float64 { return []float64{v.X, v.Y, v.Z} }
	turned := func(p geom.Pose) []float64 {
		return []float64{p.Rotation.Real, p.Rotation.Imag, p.Rotation.Jmag, p.Rotation.Kmag}
	}
	for i := range pairs {
		p := &pairs[i]
		r.ShapeA = append(r.ShapeA, int32(slices.Index(features, p.A)))
		r.ShapeB = append(r.ShapeB, int32(slices.Index(features, p.B)))
		r.PositionA, r.PositionB = append(r.PositionA, at(p.PoseA.Position)...), append(r.PositionB,
			at(p.PoseB.Position)...)
		r.RotationA, r.RotationB = append(r.RotationA, turned(p.PoseA)...), append(r.RotationB, turned(p.PoseB)...)
		r.Normal = append(r.Normal, at(p.Normal)...)
		r.Distance, r.Gap = append(r.Distance, p.Distance), append(r.Gap, float32(p.Gap))
		r.WitnessA, r.WitnessB = append(r.WitnessA, at(p.WitnessA)...), append(r.WitnessB, at(p.WitnessB)...)
		r.MaxGap = append(r.MaxGap, p.MaxGap)
	}
	return r, newPoints(len(pairs))
}

// everyPair draws pairs of every kind with every kind, with and without margins: deep, touching, near and at the
// largest gap, aligned and not.
func everyPair(t testing.TB, features []*Features) (pairs []Pair) {
	rng := rand.New(rand.NewPCG(34, 9))
	var ws ref.Workspace
	for _, a := range features {
		for _, b := range features {
			for k, gap := range []float64{-0.02, -1e-4, 0, 1e-5, 0.004, 0.0099} {
				p, ok := drawPairOf(t, rng, a, b, gap, k%3 != 0, &ws)
				if ok {
					p.Gap = float64(float32(p.Gap)) // as columns have it
					pairs = append(pairs, p)
				}
			}
		}
	}
	return pairs
}

// restingPairs are pairs as they rest on each other: axes exactly parallel, faces that share edges and corners.
func restingPairs(t testing.TB, features []*Features) (pairs []Pair) {
	var ws ref.Workspace
	poseA := geom.Translate(0.5, 0.25, 1)
	for _, a := range features {
		for _, b := range features {
			if a.form == formPlane && b.form == formPlane {
				continue
			}
			for _, turn := range []geom.Pose{geom.IdentityPose(), geom.Rotate(r3.Vec{X: 1}, math.Pi/2),
				geom.Rotate(r3.Vec{Y: 1}, math.Pi)} {
				for _, x := range []float64{0, 0.1} {
					poseB := poseA.Compose(geom.Translate(x, 0, 3)).Compose(turn)
					p, ok := solvePair(t, a, b, poseA, poseB, 0, &ws)
					if !ok || math.IsInf(p.Distance, 0) {
						continue
					}
					poseB.Position = r3.Sub(poseB.Position, r3.Scale(p.Distance-1e-4, p.Normal))
					if p, ok = solvePair(t, a, b, poseA, poseB, 0.01, &ws); ok {
						p.Gap = float64(float32(p.Gap))
						pairs = append(pairs, p)
					}
				}
			}
		}
	}
	return pairs
}

// TestManifoldKernel: every variant gives the points that Go gives, of every kind with every kind: the same bits where
// the compiler of Go contracts no products and sums, else the same features and numbers to rounding. It declines the
// kinds that it has no support points of, and segments that cross at a small angle.
func TestManifoldKernel(t *testing.T) {
	var features []*Features
	for _, s := range manifoldShapes(t) {
		features = append(features, NewFeatures(s))
	}
	pairs := append(everyPair(t, features), restingPairs(t, features)...)
	rng, more := rand.New(rand.NewPCG(34, 12)), len(pairs)+max(*manifoldPairs, 10_000)
	for ws := (ref.Workspace{}); len(pairs) < more; {
		if p, ok := drawPair(t, rng, features, &ws); ok {
			p.Gap = float64(float32(p.Gap))
			pairs = append(pairs, p)
		}
	}
	rows, out := pairRows(pairs, features)
	served := func(f *Features) bool { return f.lanesShape().Form != native.FormNone }
	same := runtime.GOARCH == "amd64"
	for _, variant := range native.Supported() {
		b := newPointBuilder(variant, features)
		list := make([]int32, len(pairs))
		for i := range list {
			list[i] = int32(i)
		}
		declined := map[int32]bool{}
		for _, i := range native.Manifold(variant, b.table, &rows, list, &out) {
			declined[i] = true
		}
		skew, points := 0, 0
		var w Workspace
		var m Manifold
		for i := range pairs {
			p := &pairs[i]
			fail := func(format string, args ...any) {
				t.Helper()
				t.Errorf("%s: row %d, %v margin %g, %v margin %g: "+format, append([]any{variant, i, p.A.shape.Kind(),
					p.A.radius, p.B.shape.Kind(), p.B.radius}, args...)...)
			}
			if declined[int32(i)] {
				if served(p.A) && served(p.B) {
					skew++
				}
				continue
			}
			if !served(p.A) || !served(p.B) {
				fail("a kind without a kernel")
			}
			w.Build(p, &m)
			points += m.N
			got := Manifold{Normal: m.Normal, Lower: out.Lower[i], N: int(out.Count[i])}
			for k := range min(got.N, MaxPoints) {
				q := MaxPoints*i + k
				got.Points[k] = Point{Position: vecOf(out.Position[3*q:]), Gap: out.Gap[q], ID: out.ID[q]}
			}
			for k := got.N; k < MaxPoints; k++ {
				got.Points[k], m.Points[k] = Point{}, Point{}
			}
			if same && got != m {
				fail("%+v, want %+v", got, m)
			}
			if !same && !sameIDs(&m, &got) {
				fail("other features")
			}
			for k := range min(got.N, m.N) {
				if d := r3.Norm(r3.Sub(got.Points[k].Position, m.Points[k].Position)); !(d <= 1e-12) ||
					!(math.Abs(got.Points[k].Gap-m.Points[k].Gap) <= 1e-12) {
					fail("point %d differs", k)
				}
			}
			checkManifold(t, p, &got, false)
		}
		t.Logf("%s: %d rows, %d points, %d declined, of these %d of supported kinds", variant, len(pairs), points,
			len(declined), skew)
		if 100*skew > len(pairs) {
			t.Errorf("%s: %d of %d rows of supported kinds are declined", variant, skew, len(pairs))
		}
	}
}

// TestManifoldKernelDeclines: a polytope of more vertices than the kernel scans, and segments that cross at a small
// angle, are left to Go, in the order of their rows.
func TestManifoldKernelDeclines(t *testing.T) {
	var ring []r3.Vec
	for k := range 90 {
		sin, cos := math.Sincos(2 * math.Pi * float64(k) / 90)
		ring = append(ring, r3.Vec{X: 0.3 * cos, Y: 0.3 * sin, Z: float64(k%2) * 0.2})
	}
	many, err := geom.NewConvex(ring)
	if err != nil {
		t.Fatal(err)
	}
	capsule, box := geom.Capsule{R: 0.1, HalfLength: 0.3}, geom.Box{HalfExtents: r3.Vec{X: 0.2, Y: 0.3, Z: 0.4}}
	features := []*Features{NewFeatures(many), NewFeatures(capsule), NewFeatures(box), NewFeatures(geom.Halfspace{})}
	lying := geom.Rotate(r3.Vec{X: 1}, math.Pi/2)
	crossed := geom.Translate(0, 0, 0.201).Compose(geom.Rotate(r3.Vec{Z: 1}, 5e-4)).Compose(lying)
	var pairs []Pair
	for _, c := range []struct {
		a, b         int
		poseA, poseB geom.Pose
	}{{2, 2, geom.IdentityPose(), geom.Translate(0.1, 0.1, 0.8)}, {3, 0, geom.IdentityPose(), geom.IdentityPose()},
		{3, 2, geom.IdentityPose(), geom.Translate(0, 0, 0.4)}, {1, 1, lying, crossed}} {
		p, ok := solvePair(t, features[c.a], features[c.b], c.poseA, c.poseB, 0.01, nil)
		if !ok {
			t.Fatal("the pair has no answer")
		}
		pairs = append(pairs, p)
	}
	rows, out := pairRows(pairs, features)
	for _, variant := range native.Supported() {
		b := newPointBuilder(variant, features)
		got := native.Manifold(variant, b.table, &rows, []int32{0, 1, 2, 3}, &out)
		if !slices.Equal(got, []int32{1, 3}) {
			t.Errorf("%s: rows %v are declined, want 1 and 3", variant, got)
		}
		var worker stepWorker
		clear(out.Count)
		b.build(&worker, &rows, []int32{0, 1, 2, 3}, &out)
		if out.Count[0] != 4 || out.Count[1] != 4 || out.Count[2] != 4 || out.Count[3] != 3 {
			t.Errorf("%s: %v points, want 4, 4, 4 and 3", variant, out.Count)
		}
	}
}

// BenchmarkManifoldKernel is the contact points of 64 rows, in Go and by each variant.
func BenchmarkManifoldKernel(b *testing.B) {
	rng := rand.New(rand.NewPCG(34, 10))
	box, plane := geom.Box{HalfExtents: r3.Vec{X: 0.2, Y: 0.3, Z: 0.4}}, geom.Halfspace{}
	hull := testkit.Hull(rng, r3.Vec{X: 0.3, Y: 0.4, Z: 0.25}, 30)
	cylinder := geom.Cylinder{R: 0.2, HalfLength: 0.3}
	for _, c := range []struct {
		name   string
		shapes [2]geom.Shape
	}{{"box on plane", [2]geom.Shape{plane, box}}, {"box on box", [2]geom.Shape{box, box}},
		{"hull on hull", [2]geom.Shape{hull, hull}}, {"cylinder on box", [2]geom.Shape{box, cylinder}}} {
		features := []*Features{NewFeatures(c.shapes[0]), NewFeatures(c.shapes[1])}
		pose := geom.Translate(0.1, 0.1, 1.5).Compose(geom.Rotate(r3.Vec{Z: 1}, 0.3))
		p, _ := solvePair(b, features[0], features[1], geom.IdentityPose(), pose, 0, nil)
		pose.Position.Z -= p.Distance - 1e-3
		p, _ = solvePair(b, features[0], features[1], geom.IdentityPose(), pose, 0.01, nil)
		rows, out := pairRows(slices.Repeat([]Pair{p}, 64), features)
		list := make([]int32, 64)
		for _, variant := range append([]string{Off}, native.Supported()...) {
			b.Run(c.name+"/"+variant, func(b *testing.B) {
				builder, worker := newPointBuilder(variant, features), stepWorker{}
				before := testkit.CPUTime(b)
				for b.Loop() {
					for i := range list {
						list[i] = int32(i)
					}
					builder.build(&worker, &rows, list, &out)
				}
				used := testkit.CPUTime(b) - before
				b.ReportMetric(float64(used.Nanoseconds())/float64(64*b.N), "ns-CPU/row")
			})
		}
	}
}
