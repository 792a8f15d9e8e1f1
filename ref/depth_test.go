package ref

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/optimize"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
	"clearance/internal/testkit"
)

// leastSupport searches for the depth of an penetrating pair as the least value of the
// support function of A − B over the unit sphere, with the Nelder-Mead method of gonum
// from the best of many directions, from the answer, and from the axes. Every value
// that it meets is an upper bound of the depth, however badly it converges.
func leastSupport(g *rand.Rand, f *frame, n0 r3.Vec, samples int) float64 {
	type start struct {
		n r3.Vec
		h float64
	}
	starts := []start{{n0, f.value(n0)}}
	best := starts[0].h
	for range samples {
		n := testkit.Unit(g)
		h := f.value(n)
		best = min(best, h)
		starts = append(starts, start{n, h})
	}
	for range 4 {
		k := 0
		for i := range starts {
			if starts[i].h < starts[k].h {
				k = i
			}
		}
		n := starts[k].n
		u := r3.Cross(n, unitAxes[leastAxis(n)])
		u = r3.Scale(1/r3.Norm(u), u)
		v := r3.Cross(n, u)
		at := func(x []float64) float64 {
			d := r3.Add(n, r3.Add(r3.Scale(x[0], u), r3.Scale(x[1], v)))
			h := f.value(r3.Scale(1/r3.Norm(d), d))
			best = min(best, h)
			return h
		}
		settings := &optimize.Settings{
			FuncEvaluations: 400,
			Converger:       &optimize.FunctionConverge{Absolute: 1e-13, Iterations: 30},
		}
		if _, err := optimize.Minimize(optimize.Problem{Func: at}, []float64{0, 0}, settings,
			&optimize.NelderMead{SimplexSize: 0.1}); err != nil {
			panic(err)
		}
		// The next start is the best direction that looks elsewhere.
		kept := starts[:0]
		for _, s := range starts {
			if r3.Dot(s.n, n) < 0.9 {
				kept = append(kept, s)
			}
		}
		if starts = kept; len(starts) == 0 {
			break
		}
	}
	return best
}

// leastAxis is the axis that makes the largest angle with n.
func leastAxis(n r3.Vec) int {
	x, y, z := math.Abs(n.X), math.Abs(n.Y), math.Abs(n.Z)
	switch {
	case x <= y && x <= z:
		return 0
	case y <= z:
		return 1
	}
	return 2
}

// TestDepthByOptimization compares depths of curved pairs, shallow to coincident, with the
// global minimum of the support function: the depth is never less than Upper says, and the
// search, which converges to some 1e-6 of the size, comes that near to it.
func TestDepthByOptimization(t *testing.T) {
	n := 6
	if testing.Short() {
		n = 1
	}
	var ws Workspace
	pairs, reached := 0, 0
	for nameA, drawA := range everyKind {
		for nameB, drawB := range everyKind {
			g := rand.New(rand.NewPCG(31, hash(nameA+" "+nameB)))
			for i := range n {
				q := place(g, drawA(g), drawB(g), -math.Pow(10, 4*g.Float64()-4))
				if i%3 == 0 {
					q.pb.Position = r3.Add(q.pa.Position, r3.Scale(0.1*g.Float64(), testkit.Unit(g)))
				}
				p := q.pair()
				r := Solve(&p, Options{Tolerance: 1e-7 * p.Size()}, &ws)
				if err := certify(&q, &Options{Tolerance: 1e-7 * p.Size()}, &r); err != nil {
					t.Fatalf("%s against %s, row %d: %v\n%+v\n%s", nameA, nameB, i, err, r, q.describe())
				}
				if r.Status != Penetrating {
					continue
				}
				f := q.frame()
				h := leastSupport(g, &f, testkit.Unit(g), 60)
				pairs++
				if h < -r.Upper-f.slack {
					t.Errorf("%s against %s, row %d: a direction proves a depth of at most %.12g, bounds [%.12g, "+
						"%.12g]\n%s",
						nameA, nameB, i, h, -r.Upper, -r.Lower, q.describe())
				}
				if h <= -r.Lower+1e-6*p.Size() {
					reached++
				}
			}
		}
	}
	// A few searches end in a local minimum; most must not, else nothing is tested.
	if pairs < n*50 || reached*100 < pairs*97 {
		t.Errorf("of %d penetrating pairs the search reached the depth of %d, want 97 in 100", pairs, reached)
	}
	t.Logf("%d pairs, %d reached", pairs, reached)
}

// TestDepthOfKnownShapes has depths in closed form, deep inside and for curved pairs in
// general position: both bounds hold them.
func TestDepthOfKnownShapes(t *testing.T) {
	g := rand.New(rand.NewPCG(32, 1))
	var ws Workspace
	for i := range 200 {
		// Homothetic ellipsoids with parallel axes: A − B is the ellipsoid of the summed axes.
		axes, k := logVec(g), logSize(g)
		q := placed{pa: poseAt(g, 10), pb: poseAt(g, 0)}
		q.pb.Rotation = q.pa.Rotation
		q.a, q.b = ellipsoid(axes), ellipsoid(r3.Scale(k, axes))
		q.pb.Position = r3.Add(q.pa.Position, r3.Scale((1+k)*math.Min(axes.X, math.Min(axes.Y, axes.Z))*g.Float64(),
			testkit.Unit(g)))
		f := q.frame()
		want := ellipsoid(r3.Scale(1+k, axes)).Residual(f.fromB(r3.Vec{}))
		if err := closeTo(&q, want, f.slack, &ws); err != nil {
			t.Fatalf("row %d: %v", i, err)
		}
	}
}

// TestEllipsoidalSuperquadrics: superquadrics of exponents (1, 1), equal or nearly equal axes,
// concentric with round bodies, are answered as the ellipsoids that they are.
func TestEllipsoidalSuperquadrics(t *testing.T) {
	for _, axes := range []r3.Vec{{X: 1, Y: 1, Z: 1}, {X: 1, Y: 1, Z: 1 + 1e-9}, {X: 1, Y: 1 + 1e-12, Z: 1 + 1e-6}} {
		for _, margin := range []float64{0, 0.25} {
			a := geom.WithMargin(geom.Superquadric{SemiAxes: axes, Alpha1: 1, Alpha2: 1}, margin)
			same := geom.WithMargin(geom.Ellipsoid{SemiAxes: axes}, margin)
			for _, b := range []geom.Shape{geom.Sphere{R: 0.5}, a,
				geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.5, Y: 0.5, Z: 0.5}},
				geom.Capsule{R: 0.3, HalfLength: 0.2}, geom.Cylinder{R: 0.3, HalfLength: 0.2}} {
				t.Run(fmt.Sprintf("%v %v %T", axes, margin, b), func(t *testing.T) {
					var ws Workspace
					p := NewPair(a, b, geom.IdentityPose(), geom.IdentityPose())
					q := NewPair(same, b, geom.IdentityPose(), geom.IdentityPose())
					o := Options{Method: MethodAuto, Tolerance: 1e-9 * p.Size(), MaxIterations: 20_000}
					r, want := Solve(&p, o, &ws), Solve(&q, o, &ws)
					if r.Status != Penetrating || r != want {
						t.Errorf("%v, %v to %v after %d iterations, the ellipsoid %v, %v to %v",
							r.Status, r.Lower, r.Upper, r.Iterations, want.Status, want.Lower, want.Upper)
					}
				})
			}
		}
	}
}

// TestExtend: the basis that the seed of a polytope extends is orthonormal, and its first vectors span those that it
// was given, axes of the frame and nearly dependent ones among them.
func TestExtend(t *testing.T) {
	rng := rand.New(rand.NewPCG(92, 1))
	given := []r3.Vec{{X: 1}, {X: -3}, {Y: 2}, {Z: -1}, {X: 1, Y: 1e-9}, {X: 0.59, Y: 1}, {X: 0.61, Z: 1}, {X: 1e-5}}
	for range 200 {
		given = append(given, testkit.Normal(rng))
	}
	var e expansion
	for _, first := range given {
		for _, second := range given {
			if norm(cross(first, second)) < 1e-10*norm(first)*norm(second) {
				continue
			}
			var basis [3]r3.Vec
			list := [3]r3.Vec{first, second, r3.Add(cross(first, second), r3.Scale(0.3, first))}
			for n := 1; n <= 3; n++ {
				e.extend(&basis, n, list[n-1])
				for i := range 3 {
					for j := range 3 {
						want := 0.0
						if i == j {
							want = 1
						}
						if got := r3.Dot(basis[i], basis[j]); !(math.Abs(got-want) < 1e-14) {
							t.Fatalf("%v, step %d: vectors %d and %d have the product %g", list, n, i, j, got)
						}
					}
				}
				for i := range n {
					rest := list[i]
					for k := range n {
						rest = r3.Sub(rest, r3.Scale(r3.Dot(rest, basis[k]), basis[k]))
					}
					if !(norm(rest) < 1e-14*norm(list[i])) {
						t.Fatalf("%v, step %d: vector %d is %g beside the span", list, n, i, norm(rest))
					}
				}
			}
		}
	}
}
