package papers

import (
	"fmt"
	"math"
	"math/rand/v2"

	"clearance/geom"
	"clearance/ref"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

// seed makes every sample of this package reproducible; each table mixes in a
// stream number of its own.
const seed = 20221

func generator(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }

// logUniform draws between lo and hi with a uniform logarithm.
func logUniform(g *rand.Rand, lo, hi float64) float64 {
	return lo * math.Exp(g.Float64()*math.Log(hi/lo))
}

func uniform(g *rand.Rand, lo, hi float64) float64 { return lo + g.Float64()*(hi-lo) }

func randomUnit(g *rand.Rand) r3.Vec {
	return r3.Unit(r3.Vec{X: g.NormFloat64(), Y: g.NormFloat64(), Z: g.NormFloat64()})
}

func randomRotation(g *rand.Rand) quat.Number {
	q := quat.Number{Real: g.NormFloat64(), Imag: g.NormFloat64(), Jmag: g.NormFloat64(), Kmag: g.NormFloat64()}
	return quat.Scale(1/quat.Abs(q), q)
}

// The half-sizes of "a few centimetres up to a meter", taken as diameters of 5 cm
// to 1 m (RSS 2022, sec. IV, shape datasets).
const minHalf, maxHalf = 0.025, 0.5

// wideEllipsoid is a random positive-definite matrix R·diag(a²)·Rᵀ: log-uniform
// semi-axes a, drawn one by one, and a uniform rotation R, which the pose holds.
func wideEllipsoid(g *rand.Rand) geom.Shape {
	return geom.Ellipsoid{SemiAxes: r3.Vec{
		X: logUniform(g, minHalf, maxHalf), Y: logUniform(g, minHalf, maxHalf), Z: logUniform(g, minHalf, maxHalf),
	}}
}

// roundEllipsoid draws as the benchmark code does that the authors published:
// semi-axes from a normal distribution of mean 0.1 m and deviation 0.025 m, times
// one of the scales. Their first benchmark takes 1, 5 and 10, the later one 1 only.
// Draws below 0.02 m, seven in 10⁴, are repeated.
func roundEllipsoid(scales ...float64) func(*rand.Rand) geom.Shape {
	return func(g *rand.Rand) geom.Shape {
		scale := scales[g.IntN(len(scales))]
		axis := func() float64 {
			for {
				if a := 0.1 + 0.025*g.NormFloat64(); a >= 0.02 {
					return scale * a
				}
			}
		}
		return geom.Ellipsoid{SemiAxes: r3.Vec{X: axis(), Y: axis(), Z: axis()}}
	}
}

// cube has a log-uniform edge of 5 cm to 1 m.
func cube(g *rand.Rand) geom.Shape {
	h := logUniform(g, minHalf, maxHalf)
	return geom.Box{HalfExtents: r3.Vec{X: h, Y: h, Z: h}}
}

// cubeOf has a given edge, in metres.
func cubeOf(edge float64) func(*rand.Rand) geom.Shape {
	return func(*rand.Rand) geom.Shape {
		return geom.Box{HalfExtents: r3.Vec{X: edge / 2, Y: edge / 2, Z: edge / 2}}
	}
}

// regime is a range of signed distances.
type regime struct {
	name string
	draw func(*rand.Rand) float64
}

func span(name string, lo, hi float64) regime {
	return regime{name, func(g *rand.Rand) float64 { return uniform(g, lo, hi) }}
}

func oneOf(name string, d ...float64) regime {
	return regime{name, func(g *rand.Rand) float64 { return d[g.IntN(len(d))] }}
}

// The regimes of the text. It bounds close proximity (0..0.1 m) and the whole range
// (−0.1..1 m); the distant regime is what remains.
var textRegimes = []regime{
	span("overlapping", -0.1, 0), span("close", 0, 0.1), span("distant", 0.1, 1),
}

// The distances of the published benchmark code.
var publishedRegimes = []regime{
	oneOf("overlapping", -1e-1, -1e-2, -1e-3, -1e-4),
	oneOf("close", 1e-1, 1e-2, 1e-3, 1e-4),
	oneOf("distant", 5, 2.5, 1, 0.5),
}

// sample is a set of pairs drawn alike.
type sample struct {
	shape  func(*rand.Rand) geom.Shape
	regime regime
	stream uint64
}

// placed is one pair, the distance it was placed at, and c¹ − c² in its frame.
type placed struct {
	pair    ref.Pair
	want    float64
	centers r3.Vec
}

// pairs draws n pairs: two shapes, uniform rotations, B in a uniform direction out
// of reach of A, then moved along the line of the closest points until the
// wanted distance is left (sec. IV). That is exact apart. Moved into each other by
// t, the shapes have a depth of at most t, and if they are small or sharp they may
// not overlap at all: such draws are repeated, on the word of [ref.Solve].
func (s sample) pairs(n int) ([]placed, error) {
	g := generator(s.stream)
	out := make([]placed, 0, n)
	for tries := 0; len(out) < n; tries++ {
		if tries > 10*n {
			return nil, fmt.Errorf("%s: only %d pairs in %d draws", s.regime.name, len(out), tries)
		}
		a, b := s.shape(g), s.shape(g)
		want := s.regime.draw(g)
		pa := geom.Pose{Rotation: randomRotation(g)}
		pb := geom.Pose{Rotation: randomRotation(g)}
		pb.Position = r3.Scale(1.5*(a.BoundingRadius()+b.BoundingRadius()), randomUnit(g))
		p := ref.NewPair(a, b, pa, pb)
		r := ref.GJK(&p, ref.Options{}, nil)
		if r.Status != ref.Separated {
			return nil, fmt.Errorf("bounding balls apart, but %v", r.Status)
		}
		pb.Position = r3.Add(pb.Position, r3.Scale(want-r.Distance, p.DirToWorld(r.Normal)))
		p = ref.NewPair(a, b, pa, pb)
		r = ref.Solve(&p, ref.Options{Tolerance: 1e-9 * p.Size()}, nil)
		if want < 0 && r.Status != ref.Penetrating {
			continue
		}
		if want > 0 && !(math.Abs(r.Distance-want) <= 2e-9*p.Size()) {
			return nil, fmt.Errorf("placed at %g, found at %g", want, r.Distance)
		}
		out = append(out, placed{p, want, p.FromWorld(r3.Sub(pa.Position, pb.Position))})
	}
	return out, nil
}
