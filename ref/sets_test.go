package ref

import (
	"math"
	"math/rand/v2"

	"clearance/geom"
	"clearance/internal/testkit"

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

func randomHull(n int) func(*rand.Rand) geom.Shape {
	return func(g *rand.Rand) geom.Shape { return testkit.Hull(g, logVec(g), n) }
}

// placed is a pair whose signed distance is known to lie in [atLeast, atMost]
// without the help of the solver under test: want apart exactly, or overlapping
// by construction.
type placed struct {
	a, b            geom.Shape
	pa, pb          geom.Pose
	want            float64
	atLeast, atMost float64
}

func (q *placed) pair() Pair { return NewPair(q.a, q.b, q.pa, q.pb) }

// place draws a pair at a separation of want.
//
// From a pair apart with nearest points a and b along n, a move along n keeps both
// nearest, so a positive want is exact. For an overlap, a move along n may come
// out on the other side of a sharp corner. There the points that
// lie a fraction t of the way from a and b to the centers are made to coincide:
// each has a ball of t·Inradius around it in its shape, so D holds a ball of the
// sum of both around the origin; and along n the overlap is -want.
func place(g *rand.Rand, a, b geom.Shape, want float64) placed {
	q := placed{a: a, b: b, pa: geom.IdentityPose(), pb: geom.IdentityPose(), want: want}
	q.pa.Rotation, q.pb.Rotation = testkit.Rotation(g), testkit.Rotation(g)
	q.pa.Position = r3.Vec{X: g.Float64(), Y: g.Float64(), Z: g.Float64()}
	far := 1.5 * (a.BoundingRadius() + b.BoundingRadius())
	q.pb.Position = r3.Add(q.pa.Position, r3.Scale(far, testkit.Unit(g)))
	p := q.pair()
	res := GJK(&p, Options{}, nil)
	n := p.DirToWorld(res.Normal)
	gap := res.Gap() + p.Roundoff() // of the placement itself
	if want >= 0 {
		q.pb.Position = r3.Add(q.pb.Position, r3.Scale(want-res.Distance, n))
		q.atLeast, q.atMost = want-gap, want+gap
		return q
	}
	wa, wb := p.ToWorld(res.WitnessA), p.ToWorld(res.WitnessB)
	inA, inB := r3.Sub(q.pa.Apply(a.Center()), wa), r3.Sub(q.pb.Apply(b.Center()), wb)
	overlap := r3.Dot(n, r3.Sub(inB, inA)) // for t = 1, at least the sum of both inradii
	t := min(-want/overlap, 0.9)
	move := r3.Sub(r3.Add(wa, r3.Scale(t, inA)), r3.Add(wb, r3.Scale(t, inB)))
	q.pb.Position = r3.Add(q.pb.Position, move)
	q.want = -t * overlap
	q.atLeast, q.atMost = q.want-gap, -t*(a.Inradius()+b.Inradius())
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
