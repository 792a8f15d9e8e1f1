package papers

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"clearance/geom"
	"clearance/ref"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

// growthTolerance is that of [Growth, sec. IV-A], relative: the square root of 2⁻⁵².
const growthTolerance = 0x1p-26

// GrowthResults are those of the growth distance [Growth].
type GrowthResults struct {
	Times    []GrowthTime     `json:"times"`    // Table III and Fig. 3
	Vertices []GrowthVertices `json:"vertices"` // Fig. 4
	Curves   []GrowthCurve    `json:"curves"`   // Fig. 5
}

// GrowthTime is what one method took on one set of pairs.
type GrowthTime struct {
	Set           string  `json:"set"`
	Start         string  `json:"start"` // cold or warm
	Method        string  `json:"method"`
	Calls         int     `json:"calls"`
	Median        float64 `json:"median_us"` // of a call
	High          float64 `json:"p95_us"`
	Evaluations   float64 `json:"evaluations"` // mean
	Gap           float64 `json:"gap"`         // the largest, relative to max(1, α)
	Infeasibility float64 `json:"infeasibility_m"`
	Undecided     int     `json:"undecided"`
}

// GrowthVertices is what a method took on hulls of N points.
type GrowthVertices struct {
	N      int     `json:"n"`
	Method string  `json:"method"`
	Median float64 `json:"median_us"`
}

// GrowthCurve is the gap of a method against the number of evaluations of the support function.
type GrowthCurve struct {
	Set    string       `json:"set"`
	Method string       `json:"method"`
	Gap    [][3]float64 `json:"gap"` // [k-1]: quartiles after k evaluations, relative to the factor
}

// growthSet is a kind of shapes.
type growthSet struct {
	name   string
	stream uint64
	shape  func(*rand.Rand) geom.Shape
}

const smoothBodies = "smooth bodies"

// growthSets are those of Table III: curved primitives with parameters over two orders of magnitude, needles
// and plates among them; hulls of objects; bodies with twice differentiable support functions.
func (l *Lab) growthSets() []growthSet {
	size := func(g *rand.Rand) float64 { return logUniform(g, 0.01, 1) }
	axes := func(g *rand.Rand) r3.Vec { return r3.Vec{X: size(g), Y: size(g), Z: size(g)} }
	return []growthSet{
		{"curved primitives", 300, func(g *rand.Rand) geom.Shape {
			switch g.IntN(6) {
			case 0:
				return geom.Sphere{R: size(g)}
			case 1:
				return geom.Capsule{R: size(g), HalfLength: size(g)}
			case 2:
				return geom.Cylinder{R: size(g), HalfLength: size(g)}
			case 3:
				return geom.Cone{R: size(g), HalfLength: size(g)}
			case 4:
				return geom.Frustum{RBottom: size(g), RTop: size(g), HalfLength: size(g)}
			}
			return geom.Ellipsoid{SemiAxes: axes(g)}
		}},
		{"meshes", 301, anyOf(l.meshes())},
		{smoothBodies, 302, func(g *rand.Rand) geom.Shape {
			if g.IntN(2) == 0 {
				return geom.Ellipsoid{SemiAxes: axes(g)}
			}
			for {
				s, err := geom.NewSmoothHull(hullOf(16)(g).(*geom.Convex).Points(), 10, r3.Vec{})
				if err == nil { // the points are around the origin
					return s
				}
			}
		}},
	}
}

// growthMethod is a solver under one name.
type growthMethod struct {
	name   string
	method ref.GrowthMethod
	smooth bool // for smooth pairs alone
}

var growthMethods = []growthMethod{
	{"IE", ref.GrowthIE, false}, {"simplex", ref.GrowthSimplex, false}, {"Newton", ref.GrowthNewton, true},
}

// grownPair is a pair at two poses, the second 1 % of the sizes away.
type grownPair struct {
	pair, next ref.Pair
	centers    ref.GrowthCenters
}

// growthPairs draws n pairs of shapes at several poses each, with positions uniform within ±5 m.
func growthPairs(s growthSet, n, poses int) []grownPair {
	g := generator(s.stream)
	out := make([]grownPair, 0, n*poses)
	for range n {
		a, b := s.shape(g), s.shape(g)
		c := growthCenters(a, b)
		for range poses {
			pa, pb := growthPose(g), growthPose(g)
			next := nudge(g, pb, b.BoundingRadius())
			out = append(out, grownPair{ref.NewPair(a, b, pa, pb),
				ref.NewPair(a, b, nudge(g, pa, a.BoundingRadius()), next), c})
		}
	}
	return out
}

func growthPose(g *rand.Rand) geom.Pose {
	at := func() float64 { return uniform(g, -5, 5) }
	return geom.Pose{Position: r3.Vec{X: at(), Y: at(), Z: at()}, Rotation: randomRotation(g)}
}

// nudge moves and rotates a pose by 1 % of a size and of a radian.
func nudge(g *rand.Rand, p geom.Pose, size float64) geom.Pose {
	p.Position = r3.Add(p.Position, r3.Scale(0.01*size, randomUnit(g)))
	d := r3.Scale(math.Sin(0.005), randomUnit(g))
	p.Rotation = quat.Mul(p.Rotation, quat.Number{Real: math.Cos(0.005), Imag: d.X, Jmag: d.Y, Kmag: d.Z})
	return p
}

func growthCenters(a, b geom.Shape) ref.GrowthCenters {
	c := ref.GrowthCenters{A: geom.GrowthCenter(a), B: geom.GrowthCenter(b)}
	c.InradiusA, c.InradiusB = geom.InradiusAt(a, c.A), geom.InradiusAt(b, c.B)
	return c
}

// growth runs the experiments on the growth distance.
func growth(ctx context.Context, lab *Lab, r *Results) error {
	out := new(GrowthResults)
	for _, s := range lab.growthSets() {
		pairs := growthPairs(s, lab.pick(60, 1000), lab.pick(10, 100))
		for _, start := range []string{"cold", "warm"} {
			for _, m := range growthMethods {
				if err := ctx.Err(); err != nil {
					return err
				}
				if m.smooth && s.name != smoothBodies || start == "warm" && m.method == ref.GrowthIE {
					continue
				}
				out.Times = append(out.Times, timeGrowth(s.name, start, m, pairs))
			}
		}
		curves := pairs[:lab.pick(200, 2000)]
		for _, m := range growthMethods {
			if !m.smooth || s.name == smoothBodies {
				out.Curves = append(out.Curves, growthCurve(s.name, m, curves))
			}
		}
	}
	out.Vertices = growthVertices(lab)
	r.Growth = out
	return nil
}

// timeGrowth times every call by itself, the shortest of several.
func timeGrowth(set, start string, m growthMethod, pairs []grownPair) GrowthTime {
	const repeats = 3
	out := GrowthTime{Set: set, Start: start, Method: m.name, Calls: len(pairs)}
	o := ref.GrowthOptions{Method: m.method, Tolerance: growthTolerance}
	var ws ref.Workspace
	times := make([]float64, len(pairs))
	for i := range pairs {
		q := &pairs[i]
		p := &q.pair
		var state ref.GrowthState
		if start == "warm" {
			cold := o
			cold.Warm = nil
			first := ref.Growth(p, q.centers, cold, &ws)
			state = p.GrowthState(&first)
			o.Warm, p = &state, &q.next
		}
		var got ref.Result
		times[i] = math.Inf(1)
		for range repeats {
			begin := time.Now()
			got = ref.Growth(p, q.centers, o, &ws)
			times[i] = min(times[i], float64(time.Since(begin))/1e3)
		}
		out.Evaluations += float64(got.Iterations) / float64(len(pairs))
		if got.Status == ref.Undecided {
			out.Undecided++
		}
		out.Gap = max(out.Gap, (got.Upper-got.Lower)/max(1, got.Distance))
		out.Infeasibility = max(out.Infeasibility, p.GrowthInfeasibility(q.centers, &got))
	}
	slices.Sort(times)
	out.Median, out.High = times[len(times)/2], times[len(times)*95/100]
	return out
}

// maxGrowthSteps is the number of evaluations that the curves cover.
const maxGrowthSteps = 60

// growthCurve limits the evaluations to 1, 2, … and takes the quartiles of the relative gaps.
func growthCurve(set string, m growthMethod, pairs []grownPair) GrowthCurve {
	out := GrowthCurve{Set: set, Method: m.name}
	var ws ref.Workspace
	gaps := make([]float64, len(pairs))
	for k := 1; k <= maxGrowthSteps; k++ {
		for i := range pairs {
			o := ref.GrowthOptions{Method: m.method, Tolerance: 1e-15, MaxIterations: k}
			r := ref.Growth(&pairs[i].pair, pairs[i].centers, o, &ws)
			gaps[i] = (r.Upper - r.Lower) / r.Upper
		}
		out.Gap = append(out.Gap, quartiles(gaps))
	}
	return out
}

// scanned is a hull whose support function compares all vertices.
type scanned struct{ *geom.Convex }

func (s scanned) CoreSupport(d r3.Vec) r3.Vec {
	best, at := math.Inf(-1), r3.Vec{}
	for _, v := range s.Hull().Vertices {
		if h := r3.Dot(d, v); h > best {
			best, at = h, v
		}
	}
	return at
}

// growthVertices repeats Fig. 4: random hulls of 10 to 10,000 points, with the support function of package geom
// and with one that compares all vertices.
func growthVertices(lab *Lab) []GrowthVertices {
	var out []GrowthVertices
	counts := []int{10, 32, 100, 316, 1000, 3162, 10000}
	if lab.Quick {
		counts = counts[:5]
	}
	for i, n := range counts {
		set := growthSet{fmt.Sprint(n), 310 + uint64(i), hullOf(n)}
		pairs := growthPairs(set, lab.pick(5, 20), lab.pick(10, 100))
		all := make([]grownPair, len(pairs))
		for k, q := range pairs {
			all[k] = q
			all[k].pair.A, all[k].pair.B = scanned{q.pair.A.(*geom.Convex)}, scanned{q.pair.B.(*geom.Convex)}
		}
		for _, m := range []growthMethod{{"IE", ref.GrowthIE, false}, {"simplex", ref.GrowthSimplex, false}} {
			out = append(out, GrowthVertices{n, m.name, timeGrowth(set.name, "cold", m, pairs).Median},
				GrowthVertices{n, m.name + ", all vertices compared", timeGrowth(set.name, "cold", m, all).Median})
		}
	}
	return out
}
