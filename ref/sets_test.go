package ref

import (
	"math"
	"math/rand/v2"
	"testing"

	"clearance/geom"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

// testSets are the sets of the benchmark: sizes log-uniform in 0.1..1 m, uniform
// rotations, a third overlapping by 0..0.1, a third 0..0.1 and a third 0.1..2 apart.
var testSets = map[string]func(*rand.Rand) geom.Shape{
	"ellipsoids": func(g *rand.Rand) geom.Shape { return geom.Ellipsoid{SemiAxes: logVec(g)} },
	"boxes":      func(g *rand.Rand) geom.Shape { return geom.Box{HalfExtents: logVec(g)} },
	"capsule-cylinder-cone": func(g *rand.Rand) geom.Shape {
		r, h := logSize(g), logSize(g)
		switch g.IntN(3) {
		case 0:
			return geom.Capsule{R: r, HalfLength: h}
		case 1:
			return geom.Cylinder{R: r, HalfLength: h}
		}
		return geom.Cone{R: r, HalfLength: h}
	},
	"hull8":   randomHull(8),
	"hull32":  randomHull(32),
	"hull128": randomHull(128),
	"hull512": randomHull(512),
}

func logSize(g *rand.Rand) float64 { return math.Pow(10, g.Float64()-1) }

func logVec(g *rand.Rand) r3.Vec { return r3.Vec{X: logSize(g), Y: logSize(g), Z: logSize(g)} }

func randomUnit(g *rand.Rand) r3.Vec {
	return r3.Unit(r3.Vec{X: g.NormFloat64(), Y: g.NormFloat64(), Z: g.NormFloat64()})
}

func randomHull(n int) func(*rand.Rand) geom.Shape {
	return func(g *rand.Rand) geom.Shape {
		a := logVec(g)
		pts := make([]r3.Vec, n)
		for i := range pts {
			u := randomUnit(g)
			pts[i] = r3.Vec{X: a.X * u.X, Y: a.Y * u.Y, Z: a.Z * u.Z}
		}
		c, err := geom.NewConvex(pts)
		if err != nil {
			panic(err)
		}
		return c
	}
}

func randomRotation(g *rand.Rand) quat.Number {
	q := quat.Number{Real: g.NormFloat64(), Imag: g.NormFloat64(), Jmag: g.NormFloat64(), Kmag: g.NormFloat64()}
	return quat.Scale(1/quat.Abs(q), q)
}

// placed is a pair whose separation along the normal of its first placement is known.
type placed struct {
	a, b   geom.Shape
	pa, pb geom.Pose
	want   float64
}

func (q *placed) pair() Pair { return NewPair(q.a, q.b, q.pa, q.pb) }

// place draws a pair: exact separation where want > 0, an upper bound of the depth
// where want < 0.
func place(g *rand.Rand, a, b geom.Shape, want float64) placed {
	q := placed{a: a, b: b, pa: geom.IdentityPose(), pb: geom.IdentityPose(), want: want}
	q.pa.Rotation, q.pb.Rotation = randomRotation(g), randomRotation(g)
	q.pa.Position = r3.Vec{X: g.Float64(), Y: g.Float64(), Z: g.Float64()}
	far := 1.5 * (a.BoundingRadius() + b.BoundingRadius())
	q.pb.Position = r3.Add(q.pa.Position, r3.Scale(far, randomUnit(g)))
	p := q.pair()
	res := GJK(&p, Options{}, nil)
	q.pb.Position = r3.Add(q.pb.Position, r3.Scale(want-res.Distance, p.DirToWorld(res.Normal)))
	return q
}

func drawSet(name string, seed uint64, n int) []placed {
	g := rand.New(rand.NewPCG(seed, 1))
	makeShape := testSets[name]
	lib := make([]geom.Shape, min(n, 256))
	for i := range lib {
		lib[i] = makeShape(g)
	}
	out := make([]placed, n)
	for i := range out {
		var want float64
		switch i % 3 {
		case 0:
			want = -0.1 * g.Float64()
		case 1:
			want = 0.1 * g.Float64()
		default:
			want = 0.1 + 1.9*g.Float64()
		}
		out[i] = place(g, lib[g.IntN(len(lib))], lib[g.IntN(len(lib))], want)
	}
	return out
}

func TestExplore(t *testing.T) {
	for _, name := range []string{"hull8", "hull32", "hull128", "hull512"} {
		for regime := range 3 {
			var ws Workspace
			var worst, maxErr float64
			over12, over10, und, n, iters, wrong := 0, 0, 0, 0, 0, 0
			hist := map[int]int{}
			for i, q := range drawSet(name, 1, 30000) {
				if i%3 != regime {
					continue
				}
				p := q.pair()
				r := Solve(&p, Options{}, &ws)
				n++
				iters += r.Iterations
				gap := r.Gap() / p.Size()
				if !(gap <= 1e-12) {
					over12++
				}
				if !(gap <= 1e-10) {
					over10++
				}
				worst = math.Max(worst, gap)
				if r.Status == Undecided {
					und++
				}
				hist[int(math.Floor(math.Log10(gap)))]++
				e := math.Abs(r.Distance - q.want)
				if regime > 0 {
					maxErr = math.Max(maxErr, e)
				}
				if regime > 0 && r.Status != Separated || regime == 0 && r.Status != Penetrating {
					wrong++
				}
			}
			t.Logf("%s regime %d: n %d mean iter %.1f worst gap %.2g over12 %d over10 %d undecided %d wrong %d maxerr %.2g hist %v", name, regime, n, float64(iters)/float64(n), worst, over12, over10, und, wrong, maxErr, hist)
		}
	}
}
