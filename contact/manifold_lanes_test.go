package contact

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"clearance/batch"
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

// libraryOf is the library that features are those of.
func libraryOf(t testing.TB, features []*Features) *batch.Library {
	t.Helper()
	shapes := make([]geom.Shape, len(features))
	for i, f := range features {
		shapes[i] = f.shape
	}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	return lib
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

// roundShapes are polytopes of more corners than others, and of more vertices: prisms of 150 and of 90 corners, and a
// hull of 500 vertices.
func roundShapes(t testing.TB) []geom.Shape {
	t.Helper()
	shapes := []geom.Shape{testkit.Hull(rand.New(rand.NewPCG(34, 3)), r3.Vec{X: 0.3, Y: 0.4, Z: 0.25}, 500)}
	for _, n := range []int{150, 90} {
		var prism []r3.Vec
		for k := range 2 * n {
			sin, cos := math.Sincos(2 * math.Pi * float64(k/2) / float64(n))
			prism = append(prism, r3.Vec{X: 0.3 * cos, Y: 0.3 * sin, Z: 0.4*float64(k%2) - 0.2})
		}
		convex, err := geom.NewConvex(prism)
		if err != nil {
			t.Fatal(err)
		}
		shapes = append(shapes, convex)
	}
	return shapes
}

// crossedPairs are shapes with edges that cross the edges of others at a small angle, deep and apart.
func crossedPairs(t testing.TB, features []*Features) (pairs []Pair) {
	rng := rand.New(rand.NewPCG(34, 13))
	var ws ref.Workspace
	edges := [4]geom.Pose{geom.IdentityPose(), geom.Rotate(r3.Vec{X: 1}, math.Pi/2),
		geom.Rotate(r3.Vec{X: 1}, math.Pi/4), geom.Rotate(r3.Vec{Y: 1}, math.Pi/4)}
	for _, a := range features {
		for _, b := range features {
			if a.form == formPoint || b.form == formPoint || a.form == formPlane || b.form == formPlane {
				continue
			}
			for _, turn := range edges {
				crossed := geom.Rotate(r3.Vec{X: 1}, math.Pow(10, -9+6*rng.Float64()))
				poseA := testkit.Pose(rng, 1)
				about := geom.Translate(2, 0.1*rng.Float64(), 0.1*rng.Float64())
				poseB := poseA.Compose(about).Compose(crossed).Compose(turn)
				p, ok := solvePair(t, a, b, poseA.Compose(turn), poseB, 0, &ws)
				if !ok || math.IsInf(p.Distance, 0) {
					continue
				}
				poseB.Position = r3.Sub(poseB.Position, r3.Scale(p.Distance-2e-3*(rng.Float64()-0.5), p.Normal))
				if p, ok = solvePair(t, a, b, poseA.Compose(turn), poseB, 0.01, &ws); ok {
					p.Gap = float64(float32(p.Gap))
					pairs = append(pairs, p)
				}
			}
		}
	}
	return pairs
}

// asks reports whether some end of the edges of a pair is where the bodies are asked, see [Workspace.atEnd].
func asks(w *Workspace, p *Pair) (asked bool) {
	w.place(p)
	if a, b := &w.fa, &w.fb; len(a.corners) == 0 || len(b.corners) == 0 || !a.segment() || !b.segment() {
		return false
	}
	ends, ok := w.commonEnds(p.A.size + p.B.size)
	for i := range ends {
		d := r3.Sub(ends[i].pb, ends[i].pa)
		asked = asked || ok && math.Sqrt(d.X*d.X+d.Y*d.Y) > w.round
	}
	return asked
}

// powered reports whether the kernel finds support points of a shape by powers of its own, which differ from those of
// Go by rounding.
func powered(f *Features) bool { return f.shape.Kind().Traits().Powers }

// TestManifoldKernel: every variant gives the points that Go gives, of every kind with every kind: the same bits, or
// where the compiler of Go fuses, the same features and numbers to rounding but for a row in 400, of which both
// manifolds hold what is promised: edges that cross at the angle φ meet where rounding over φ says, and a clipped
// corner or a face within a rounding of a tie falls to either side. Lower bounds of shapes with powers differ by no
// more than their rounding bound.
func TestManifoldKernel(t *testing.T) {
	var features []*Features
	for _, s := range manifoldShapes(t) {
		features = append(features, mustFeatures(t, s))
	}
	pairs := append(everyPair(t, features), restingPairs(t, features)...)
	pairs = append(pairs, crossedPairs(t, features)...)
	rng, more := rand.New(rand.NewPCG(34, 12)), len(pairs)+max(*manifoldPairs, 10_000)
	var ws ref.Workspace
	for len(pairs) < more {
		if p, ok := drawPair(t, rng, features, &ws); ok {
			p.Gap = float64(float32(p.Gap))
			pairs = append(pairs, p)
		}
	}
	round := features[:0:0]
	for _, s := range roundShapes(t) {
		round = append(round, mustFeatures(t, s), mustFeatures(t, geom.WithMargin(s, 0.05)))
	}
	features = append(features, round...)
	pairs = append(append(append(pairs, everyPair(t, round)...), restingPairs(t, round)...), crossedPairs(t, round)...)
	for _, f := range round { // boxes and half-spaces
		for _, other := range features {
			if p, ok := drawPairOf(t, rng, other, f, 1e-3, true, &ws); ok {
				p.Gap = float64(float32(p.Gap))
				pairs = append(pairs, p)
			}
		}
	}
	rows, out := pairRows(pairs, features)
	same := !testkit.Fuses()
	for _, variant := range native.Supported() {
		b := newPointBuilder(variant, libraryOf(t, features), features)
		list := make([]int32, len(pairs))
		for i := range list {
			list[i] = int32(i)
		}
		var worker stepWorker
		b.build(&worker, &rows, list, &out)
		points, ties, asked, most, lower := 0, 0, 0, 0, 0.0
		var w Workspace
		var m Manifold
		for i := range pairs {
			p := &pairs[i]
			fail := func(format string, args ...any) {
				t.Helper()
				t.Errorf("%s: row %d, %v margin %g, %v margin %g: "+format, append([]any{variant, i, p.A.shape.Kind(),
					p.A.radius, p.B.shape.Kind(), p.B.radius}, args...)...)
			}
			if asks(&w, p) {
				asked++
			}
			w.candidates = w.candidates[:0]
			w.cross(p.A.size + p.B.size)
			most = max(most, len(w.candidates))
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
			if powered(p.A) || powered(p.B) {
				off := math.Abs(got.Lower-m.Lower) / w.round
				if lower = max(lower, off); !(off <= 1) {
					fail("the lower bounds %g and %g differ by %g roundings", got.Lower, m.Lower, off)
				}
				m.Lower = got.Lower
			}
			if same && got != m {
				fail("%+v, want %+v", got, m)
			}
			alike := sameIDs(&m, &got)
			for k := range min(got.N, m.N) {
				d := r3.Norm(r3.Sub(got.Points[k].Position, m.Points[k].Position))
				alike = alike && d <= 1e-12 && math.Abs(got.Points[k].Gap-m.Points[k].Gap) <= 1e-12
			}
			if !alike {
				ties++
				checkManifold(t, p, &m, false)
			}
			checkManifold(t, p, &got, false)
		}
		t.Logf("%s: %d rows, %d points; %d rows ask the bodies; up to %d candidates; lower bounds of powers differ "+
			"by %.2g of their rounding", variant, len(pairs), points, asked, most, lower)
		if 400*ties > len(pairs) {
			t.Errorf("%s: the points of %d of %d rows differ", variant, ties, len(pairs))
		}
		if asked < 100 || most <= 256 {
			t.Errorf("%s: %d rows ask the bodies, up to %d candidates: too few to tell", variant, asked, most)
		}
	}
}

// TestManifoldOfManyPoints: rows with a smooth hull of more points than the table of all kernels has room for are built
// in Go, those beside them in the kernel.
func TestManifoldOfManyPoints(t *testing.T) {
	points := testkit.OnEllipsoid(rand.New(rand.NewPCG(34, 14)), r3.Vec{X: 0.3, Y: 0.4, Z: 0.3}, 300)
	smooth, err := geom.NewSmoothHull(points, 12, r3.Vec{})
	if err != nil {
		t.Fatal(err)
	}
	box := geom.Box{HalfExtents: r3.Vec{X: 0.2, Y: 0.3, Z: 0.4}}
	features := []*Features{mustFeatures(t, smooth), mustFeatures(t, box)}
	var pairs []Pair
	for _, k := range []int{0, 1, 0, 1, 1} {
		p, ok := solvePair(t, features[1], features[k], geom.IdentityPose(), geom.Translate(0, 0, 0.79), 0.1, nil)
		if !ok {
			t.Fatal("the pair has no answer")
		}
		p.Gap = float64(float32(p.Gap))
		pairs = append(pairs, p)
	}
	rows, want := pairRows(pairs, features)
	_, got := pairRows(pairs, features)
	list := []int32{0, 1, 2, 3, 4}
	newPointBuilder(Off, nil, features).build(new(stepWorker), &rows, list, &want)
	for _, variant := range native.Supported() {
		b := newPointBuilder(variant, libraryOf(t, features), features)
		b.build(new(stepWorker), &rows, list, &got)
		if !slices.Equal(b.plain, []bool{true, false}) || want.Count[0] != 1 || want.Count[1] != 4 ||
			!slices.Equal(got.Count, want.Count) || !slices.Equal(got.ID, want.ID) {
			t.Errorf("%s: shapes %v in Go, %v points of %x, want %v of %x", variant, b.plain, got.Count, got.ID,
				want.Count, want.ID)
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
		features := []*Features{mustFeatures(b, c.shapes[0]), mustFeatures(b, c.shapes[1])}
		pose := geom.Translate(0.1, 0.1, 1.5).Compose(geom.Rotate(r3.Vec{Z: 1}, 0.3))
		p, _ := solvePair(b, features[0], features[1], geom.IdentityPose(), pose, 0, nil)
		pose.Position.Z -= p.Distance - 1e-3
		p, _ = solvePair(b, features[0], features[1], geom.IdentityPose(), pose, 0.01, nil)
		rows, out := pairRows(slices.Repeat([]Pair{p}, 64), features)
		list := make([]int32, 64)
		for _, variant := range append([]string{Off}, native.Supported()...) {
			b.Run(c.name+"/"+variant, func(b *testing.B) {
				builder, worker := newPointBuilder(variant, libraryOf(b, features), features), stepWorker{}
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
