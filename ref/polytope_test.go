package ref

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/spatial/r3"
)

// satDepth is the smallest overlap of two boxes over the 15 axes of the separating axis
// theorem: the face normals of both, and the cross products of their edges. These are
// the facet normals of A − B, so for intersecting boxes it is the depth.
func satDepth(f *frame) float64 {
	ha, hb := f.q.a.(geom.Box).HalfExtents, f.q.b.(geom.Box).HalfExtents
	origin := f.fromB(r3.Vec{})
	var axesB [3]r3.Vec
	for i, e := range unitAxes {
		axesB[i] = r3.Sub(f.fromB(e), origin)
	}
	sizeA, sizeB := [3]float64{ha.X, ha.Y, ha.Z}, [3]float64{hb.X, hb.Y, hb.Z}
	depth := math.Inf(1)
	try := func(n r3.Vec) {
		l := r3.Norm(n)
		if !(l > 1e-3) {
			return // edges this parallel add nothing to the faces but rounding
		}
		n = r3.Scale(1/l, n)
		h := -math.Abs(r3.Dot(n, origin))
		for i := range 3 {
			h += sizeA[i]*math.Abs(r3.Dot(n, unitAxes[i])) + sizeB[i]*math.Abs(r3.Dot(n, axesB[i]))
		}
		depth = min(depth, h)
	}
	for i := range 3 {
		try(unitAxes[i])
		try(axesB[i])
		for j := range 3 {
			try(r3.Cross(unitAxes[i], axesB[j]))
		}
	}
	return depth
}

var unitAxes = [3]r3.Vec{{X: 1}, {Y: 1}, {Z: 1}}

func TestBoxBoxBySeparatingAxes(t *testing.T) {
	n := 4000
	if testing.Short() {
		n = 500
	}
	g := rand.New(rand.NewPCG(21, 1))
	var ws Workspace
	deep, apart := 0, 0
	for i := range n {
		a, b := geom.Box{HalfExtents: logVec(g)}, geom.Box{HalfExtents: logVec(g)}
		q := scatter(g, a, b, i)
		f := q.frame()
		depth := satDepth(&f)
		if depth < -f.slack { // an axis separates them
			apart++
			x, y := q.bodies()
			if err := closeTo(&q, featureDistance(&x, &y), 0, &ws); err != nil {
				t.Fatalf("row %d, apart: %v", i, err)
			}
			continue
		}
		deep++
		if err := closeTo(&q, -depth, 0, &ws); err != nil {
			t.Fatalf("row %d: %v", i, err)
		}
	}
	if deep < n/4 || apart < n/4 {
		t.Errorf("%d penetrate, %d are separated: the sample misses an outcome", deep, apart)
	}
}

// polytopeKinds draws shapes whose cores are polytopes of every dimension.
var polytopeKinds = map[string]func(*rand.Rand) geom.Shape{
	"point":    func(g *rand.Rand) geom.Shape { return mustConvex(logVec(g)) },
	"segment":  func(g *rand.Rand) geom.Shape { return mustConvex(randomPoint(g), randomPoint(g)) },
	"triangle": func(g *rand.Rand) geom.Shape { return mustConvex(randomPoint(g), randomPoint(g), randomPoint(g)) },
	"sphere":   func(g *rand.Rand) geom.Shape { return geom.Sphere{R: logSize(g)} },
	"capsule":  func(g *rand.Rand) geom.Shape { return geom.Capsule{R: logSize(g), HalfLength: logSize(g)} },
	"box":      func(g *rand.Rand) geom.Shape { return geom.Box{HalfExtents: logVec(g)} },
	"plate": func(g *rand.Rand) geom.Shape {
		return geom.Box{HalfExtents: vec(logSize(g), logSize(g), 1e-4)}
	},
	"square": func(g *rand.Rand) geom.Shape {
		x, y := logSize(g), logSize(g)
		return mustConvex(vec(-x, -y, 0), vec(x, -y, 0), vec(x, y, 0), vec(-x, y, 0))
	},
	"hull8": randomHull(8),
	"rounded hull": func(g *rand.Rand) geom.Shape {
		return geom.WithMargin(randomHull(6)(g), 0.1*logSize(g))
	},
}

func randomPoint(g *rand.Rand) r3.Vec { return r3.Scale(logSize(g), testkit.Unit(g)) }

// TestPolytopesByFeatures compares every pair of polytopes with the brute-force search
// over features, and with the explicit hull of the difference where they intersect.
func TestPolytopesByFeatures(t *testing.T) {
	n := 60
	if testing.Short() {
		n = 12
	}
	var ws Workspace
	deep, apart := 0, 0
	for nameA, drawA := range polytopeKinds {
		for nameB, drawB := range polytopeKinds {
			g := rand.New(rand.NewPCG(22, hash(nameA+nameB)))
			for i := range n {
				q := scatter(g, drawA(g), drawB(g), i)
				truth := polytopeTruth(&q)
				if err := closeTo(&q, truth, 0, &ws); err != nil {
					t.Fatalf("%s against %s, row %d: %v", nameA, nameB, i, err)
				}
				if truth < 0 {
					deep++
				} else {
					apart++
				}
			}
		}
	}
	if deep < 100 || apart < 100 {
		t.Errorf("%d penetrate, %d are separated: the sample misses an outcome", deep, apart)
	}
}

// hash gives every name a seed of its own, whatever the order of a map.
func hash(s string) (h uint64) {
	for _, c := range []byte(s) {
		h = (h ^ uint64(c)) * 0x100000001b3
	}
	return h
}

// TestHullDepth compares depths of intersecting hulls with the nearest facet of the
// explicit difference of up to 32 × 32 vertices.
func TestHullDepth(t *testing.T) {
	n := 150
	if testing.Short() {
		n = 20
	}
	var ws Workspace
	g := rand.New(rand.NewPCG(23, 1))
	for i := range n {
		size := []int{4, 8, 16, 32}[i%4]
		want := -math.Pow(10, 4*g.Float64()-4)
		q := place(g, randomHull(size)(g), randomHull(size)(g), want)
		a, b := q.bodies()
		depth, inside := differenceDepth(&a, &b)
		if !inside {
			t.Fatalf("row %d: the origin is not inside the difference of intersecting hulls: %s", i, q.describe())
		}
		if err := closeTo(&q, -depth, 0, &ws); err != nil {
			t.Fatalf("row %d, hulls of %d points: %v", i, size, err)
		}
	}
}

// TestHullDistanceByProjectedGradient solves the distance of hulls as the quadratic
// program min |Σλᵢaᵢ − Σμⱼbⱼ|² over two simplices, with a general first-order method
// that knows nothing of support functions. Its iterates are feasible, so what it ends
// with bounds the distance from above; it converges to 1e-6 of the size.
func TestHullDistanceByProjectedGradient(t *testing.T) {
	n := 60
	if testing.Short() {
		n = 10
	}
	g := rand.New(rand.NewPCG(24, 1))
	var ws Workspace
	for i := range n {
		q := place(g, randomHull(8+12*(i%3))(g), randomHull(8)(g), 0.02+g.Float64())
		p := q.pair()
		r := Solve(&p, Options{}, &ws)
		a, b := q.bodies()
		found := projectedGradient(a.v, b.v)
		if !(found >= r.Lower) || !(found <= r.Upper+1e-6*p.Size()) {
			t.Errorf("row %d: the program ends at %.17g, the bounds are [%g, %g]: %s", i, found, r.Lower, r.Upper,
				q.describe())
		}
	}
}

// projectedGradient is FISTA (Beck and Teboulle 2009) with restarts on the weights of
// the vertices of two hulls.
func projectedGradient(a, b []r3.Vec) float64 {
	var trace float64 // bounds the largest eigenvalue of the quadratic form
	for _, v := range a {
		trace += r3.Norm2(v)
	}
	for _, v := range b {
		trace += r3.Norm2(v)
	}
	x := make([]float64, len(a)+len(b))
	x[0], x[len(a)] = 1, 1
	y, next := slices.Clone(x), make([]float64, len(x))
	point := func(w []float64) (p r3.Vec) {
		for i, v := range a {
			p = r3.Add(p, r3.Scale(w[i], v))
		}
		for j, v := range b {
			p = r3.Sub(p, r3.Scale(w[len(a)+j], v))
		}
		return p
	}
	k, last := 1.0, math.Inf(1)
	for range 20000 {
		p := point(y)
		for i := range x {
			if i < len(a) {
				next[i] = y[i] - r3.Dot(p, a[i])/trace
			} else {
				next[i] = y[i] + r3.Dot(p, b[i-len(a)])/trace
			}
		}
		toSimplex(next[:len(a)])
		toSimplex(next[len(a):])
		d := r3.Norm(point(next))
		if d > last { // momentum overshot
			k = 1
			copy(y, x)
			last = math.Inf(1)
			continue
		}
		kNext := (1 + math.Sqrt(1+4*k*k)) / 2
		for i := range y {
			y[i] = next[i] + (k-1)/kNext*(next[i]-x[i])
		}
		copy(x, next)
		k, last = kNext, d
	}
	return r3.Norm(point(x))
}

// toSimplex projects w to the nearest point with Σw = 1, w ≥ 0: all weights fall by the
// same amount, at zero they stop.
func toSimplex(w []float64) {
	falling := slices.Clone(w)
	slices.SortFunc(falling, func(a, b float64) int { return cmp.Compare(b, a) })
	sum, shift := -1.0, 0.0
	for i, x := range falling {
		sum += x
		if s := sum / float64(i+1); s < x {
			shift = s
		}
	}
	for i := range w {
		w[i] = max(w[i]-shift, 0)
	}
}
