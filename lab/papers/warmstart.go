package papers

import (
	"context"
	"math"
	"math/rand/v2"

	"clearance/geom"
	"clearance/ref"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

// Strategies of GJK++, sec. IV-D: x₀ is (1, 0, 0) of the world, the difference of the
// centers, the separation vector of the step before, or that vector between the
// witnesses as the bodies have carried them along since.
var strategies = []string{"none", "centres", "previous", "transported"}

const stepsPerPass = 120 // one second at 120 Hz, as in the paper

// pass is a fly-by: B crosses the neighbourhood of A in one second while it rotates.
// It stands for the paper's pairs that fall through a funnel.
type pass struct {
	a, b     geom.Shape
	pa       geom.Pose
	from, to r3.Vec
	spin     r3.Vec // rotation vector over the pass, radians
	start    quat.Number
}

func (p *pass) poseB(step int) geom.Pose {
	s := float64(step) / (stepsPerPass - 1)
	angle := s * r3.Norm(p.spin)
	turn := quat.Number(r3.NewRotation(angle, p.spin))
	return geom.Pose{
		Position: r3.Add(r3.Scale(1-s, p.from), r3.Scale(s, p.to)),
		Rotation: quat.Mul(turn, p.start),
	}
}

// hullOf draws a hull of n points on an ellipsoid of wideEllipsoid.
func hullOf(n int) func(*rand.Rand) geom.Shape {
	return func(g *rand.Rand) geom.Shape {
		e := wideEllipsoid(g).(geom.Ellipsoid).SemiAxes
		points := make([]r3.Vec, n)
		for i := range points {
			u := randomUnit(g)
			points[i] = r3.Vec{X: e.X * u.X, Y: e.Y * u.Y, Z: e.Z * u.Z}
		}
		c, err := geom.NewConvex(points)
		if err != nil {
			panic(err)
		}
		return c
	}
}

// newPass draws shapes and a line that misses the center of A by up to half the sum
// of the bounding radii, walked at 1 m/s at most from touch of the bounding
// balls to touch, with a rotation of up to 180°.
func newPass(g *rand.Rand, shape func(*rand.Rand) geom.Shape) *pass {
	p := &pass{a: shape(g), b: shape(g)}
	p.pa = geom.Pose{Rotation: randomRotation(g)}
	p.start = randomRotation(g)
	reach := p.a.BoundingRadius() + p.b.BoundingRadius()
	dir := randomUnit(g)
	side := r3.Unit(r3.Cross(dir, randomUnit(g)))
	miss := uniform(g, 0, 0.5) * reach
	half := math.Min(0.5, math.Sqrt(reach*reach-miss*miss))
	p.from = r3.Add(r3.Scale(miss, side), r3.Scale(-half, dir))
	p.to = r3.Add(r3.Scale(miss, side), r3.Scale(half, dir))
	p.spin = r3.Scale(uniform(g, 0, math.Pi), randomUnit(g))
	return p
}

// warmCounts runs a pass with every strategy. Like the paper, it counts the steps in
// which the pair survives a broad phase, here a distance of at most 0.1 m, and
// falls back on the centers where there is no solution of the step before.
func warmCounts(p *pass, m ref.Method, boolean bool, counts map[string][]int, ws *ref.Workspace) {
	var previous r3.Vec // separation vector from A to B, world frame
	var onA, onB r3.Vec // its ends, each in the frame of its body
	sense := 1.0        // -1 if the bodies overlapped: the ends lie the other way round then
	for step := range stepsPerPass {
		pb := p.poseB(step)
		pair := ref.NewPair(p.a, p.b, p.pa, pb)
		truth := ref.Solve(&pair, ref.Options{Tolerance: 1e-6 * pair.Size()}, ws)
		if !(truth.Distance <= 0.1) {
			previous = r3.Vec{}
			continue
		}
		for _, s := range strategies {
			o := options(boolean)
			switch {
			case s == "none":
				o.WarmStart = pair.FromWorld(r3.Vec{X: -1}) // from A to B, so that x₀ = (1, 0, 0)
			case s == "previous" && previous != r3.Vec{}:
				o.WarmStart = pair.FromWorld(previous)
			case s == "transported" && previous != r3.Vec{}:
				o.WarmStart = pair.FromWorld(r3.Scale(sense, r3.Sub(pb.Apply(onB), p.pa.Apply(onA))))
			}
			counts[s] = append(counts[s], solve(&pair, m, o, ws).Iterations)
		}
		// In penetration it is the vector that parts the shapes, as EPA finds it.
		previous = pair.DirToWorld(r3.Scale(math.Abs(truth.Distance), truth.Normal))
		sense = math.Copysign(1, truth.Distance)
		onA, onB = p.pa.ApplyInverse(pair.ToWorld(truth.WitnessA)), pb.ApplyInverse(pair.ToWorld(truth.WitnessB))
	}
}

// warmStart measures how a good first direction shortens the search along a trajectory.
func warmStart(ctx context.Context, lab *Lab, r *Results) error {
	n := lab.pick(30, 300)
	got := Table{}
	var ws ref.Workspace
	for _, kind := range warmKinds {
		for _, m := range kind.methods {
			for q, boolean := range []bool{false, true} {
				if err := ctx.Err(); err != nil {
					return err
				}
				g := generator(500) // the same passes for every method and question
				counts := map[string][]int{}
				for range n {
					warmCounts(newPass(g, kind.shape), m, boolean, counts, &ws)
				}
				row := map[string]Summary{}
				for _, s := range strategies {
					row[s] = summarize(counts[s], math.MaxInt)
				}
				got[kind.name+"/"+m.String()+"/"+questions[q]] = row
			}
		}
	}
	r.WarmStart = got
	return nil
}

var (
	questions = []string{"distance", "boolean"}
	warmKinds = []struct {
		name    string
		shape   func(*rand.Rand) geom.Shape
		methods []ref.Method
	}{
		{"ellipsoids", wideEllipsoid, []ref.Method{ref.MethodGJK, ref.MethodNesterov, ref.MethodPolyak}},
		{"hulls of 64 points", hullOf(64), []ref.Method{ref.MethodGJK, ref.MethodNesterovNormalized, ref.MethodPolyak}},
	}
)

func (r *Results) printWarmStart() string {
	var rows [][]string
	for _, kind := range warmKinds {
		for _, q := range questions {
			for _, m := range kind.methods {
				row := []string{kind.name, q, m.String()}
				for _, s := range strategies {
					row = append(row, r.WarmStart[kind.name+"/"+m.String()+"/"+q][s].String())
				}
				rows = append(rows, row)
			}
		}
	}
	return printTable(append([]string{"shapes", "question", "method"}, strategies...), rows)
}
