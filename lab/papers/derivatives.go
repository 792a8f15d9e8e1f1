package papers

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"time"

	"clearance/batch"
	"clearance/derive"
	"clearance/geom"
	"clearance/ref"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
	"gonum.org/v1/gonum/stat"
)

// DerivativeResults are those of derivatives by randomised smoothing [Smoothing].
type DerivativeResults struct {
	Problems int               `json:"problems"` // of each start of Table I
	Targets  []DerivativeCosts `json:"targets"`  // Table I
	Causes   []DerivativeCause `json:"causes"`   // what Table I depends on, not in the paper
	Times    []DerivativeTime  `json:"times"`    // Table II
	Curves   []DerivativeCurve `json:"curves"`   // Fig. 5 and 6
	Errors   []DerivativeError `json:"errors"`   // bias and deviation, not in the paper
}

// DerivativeCosts are quantiles of the cost [eq. 30] after 50 steps of Gauss-Newton, in m²: 10, 25, 50, 75 and
// 90 %, for each angle of targetStarts.
type DerivativeCosts struct {
	Method    string       `json:"method"`
	Quantiles [][5]float64 `json:"quantiles"`
}

// DerivativeTime is what the derivatives of both witnesses of a pair take, in µs.
type DerivativeTime struct {
	Method    string     `json:"method"`
	Collision [2]float64 `json:"collision"` // mean and standard deviation over the pairs
	Apart     [2]float64 `json:"apart"`

	// Batch is the time of a row in a pass over many on one core, with a collision and apart; zero without one.
	Batch [2]float64 `json:"batch"`
}

// DerivativeCurve is the cost against the steps of Gauss-Newton, quartiles over the problems.
type DerivativeCurve struct {
	Figure string       `json:"figure"`
	Method string       `json:"method"`
	Cost   [][3]float64 `json:"cost"` // [k]: after k steps, m²
}

// DerivativeError compares estimates on polyhedral ellipsoids with the derivatives of the ellipsoids themselves. Both
// are relative to these, medians over the pairs.
type DerivativeError struct {
	Method    string  `json:"method"`
	Epsilon   float64 `json:"epsilon"`
	Samples   int     `json:"samples"`
	Bias      float64 `json:"bias"`      // of the mean over the seeds
	Deviation float64 `json:"deviation"` // of one seed from that mean, root mean square
}

// jacobians are the derivatives of both witnesses with respect to the twist of B, world axes.
type jacobians [2][3][6]float64

// estimator is a way to differentiate witnesses.
type estimator struct {
	name    string
	of      func(e *estimate) jacobians
	options *derive.Options // of a pass that takes many rows; nil if there is none
}

// estimate is a row at which derivatives are taken.
type estimate struct {
	row   derive.Row
	index uint64 // of the noise
	ws    derive.Workspace
	ref   ref.Workspace
}

// answer solves the pair with B at another pose.
func (e *estimate) answer(poseB geom.Pose) ref.Result {
	p := ref.NewPair(e.row.A, e.row.B, e.row.PoseA, poseB)
	r := ref.Solve(&p, ref.Options{Tolerance: 1e-12 * p.Size()}, &e.ref)
	r.Normal, r.WitnessA, r.WitnessB = p.DirToWorld(r.Normal), p.ToWorld(r.WitnessA), p.ToWorld(r.WitnessB)
	return r
}

// take makes the answer the one of the row.
func (e *estimate) take(poseB geom.Pose, r *ref.Result) {
	e.row.PoseB, e.row.Answered = poseB, r.Status <= ref.Penetrating
	e.row.Value, e.row.Normal, e.row.WitnessA, e.row.WitnessB = r.Distance, r.Normal, r.WitnessA, r.WitnessB
	e.row.Gap = 0
}

// differences are central differences of the answers, 12 of them: lengths as they are, angles in radians.
func differences(epsilon float64) estimator {
	return estimator{name: fmt.Sprintf("finite differences, ε = %g", epsilon), of: func(e *estimate) (j jacobians) {
		for c := range 6 {
			var twist [6]float64
			twist[c] = epsilon
			ahead := e.answer(displaced(e.row.PoseB, &twist))
			twist[c] = -epsilon
			behind := e.answer(displaced(e.row.PoseB, &twist))
			a, b := r3.Sub(ahead.WitnessA, behind.WitnessA), r3.Sub(ahead.WitnessB, behind.WitnessB)
			for i, d := range []r3.Vec{a, b} {
				j[i][0][c], j[i][1][c], j[i][2][c] = d.X/(2*epsilon), d.Y/(2*epsilon), d.Z/(2*epsilon)
			}
		}
		return j
	}}
}

// displaced moves a pose by a vector and a rotation vector, world axes.
func displaced(p geom.Pose, t *[6]float64) geom.Pose {
	p.Position = r3.Add(p.Position, r3.Vec{X: t[0], Y: t[1], Z: t[2]})
	p.Rotation = quat.Mul(quat.Exp(quat.Number{Imag: t[3] / 2, Jmag: t[4] / 2, Kmag: t[5] / 2}), p.Rotation)
	return p
}

// derived is an estimator of package derive. asPaper says that ε belongs to the vector between the witnesses, which
// the paper does not normalise, and not to its direction: it is divided by the distance.
func derived(name string, o derive.Options, asPaper bool) estimator {
	const nearest = 1e-9 // metres: below it the distance is one of rounding
	m := estimator{name: name}
	if !asPaper {
		m.options = &derive.Options{Mode: o.Mode, Epsilon: o.Epsilon, Samples: o.Samples, Rings: o.Rings, Seed: seed}
	}
	m.of = func(e *estimate) (j jacobians) {
		o := o
		if asPaper {
			o.Epsilon /= max(math.Abs(e.row.Value), nearest)
		}
		o.Seed = seed
		var d derive.Derivative
		if o.Mode == batch.ZerothDerivative {
			d = e.ws.ZerothOrder(&e.row, &o, e.index, derive.Reference(&e.row))
		} else {
			d = e.ws.Of(&e.row, &o, e.index)
		}
		_, a, b := d.Jacobian()
		for k := range 3 {
			copy(j[0][k][:], a[k][6:])
			copy(j[1][k][:], b[k][6:])
		}
		return j
	}
	return m
}

func zeroth(samples int, epsilon float64) estimator {
	return derived(fmt.Sprintf("0th order, M = %d, ε = %g", samples, epsilon),
		derive.Options{Mode: batch.ZerothDerivative, Samples: samples, Epsilon: epsilon}, false)
}

// withOneNoise is an estimator with the same noise at each step.
func withOneNoise(m estimator) estimator {
	return estimator{name: m.name + ", the same noise at each step", of: func(e *estimate) jacobians {
		defer func(index uint64) { e.index = index }(e.index)
		e.index = 0
		return m.of(e)
	}}
}

func gaussian(samples int, epsilon float64, asPaper bool) estimator {
	return derived(fmt.Sprintf("Gaussian, M = %d, ε = %g%s", samples, epsilon, unnormalised(asPaper)),
		derive.Options{Mode: batch.GaussianDerivative, Samples: samples, Epsilon: epsilon}, asPaper)
}

func gumbel(rings int, epsilon float64, asPaper bool) estimator {
	return derived(fmt.Sprintf("Gumbel, %s, ε = %g%s", ringsText(rings), epsilon, unnormalised(asPaper)),
		derive.Options{Mode: batch.GumbelDerivative, Rings: rings, Epsilon: epsilon}, asPaper)
}

func ringsText(rings int) string {
	if rings == 0 {
		return "all vertices"
	}
	return fmt.Sprintf("n_l = %d", rings)
}

func unnormalised(asPaper bool) string {
	if asPaper {
		return " over the distance"
	}
	return ""
}

// targetProblem asks for a pose of B at which the witnesses are given points of the surfaces, in contact.
type targetProblem struct {
	a, b       geom.Shape
	wantA      r3.Vec // frame of A, which is the world
	wantB      r3.Vec // frame of B
	start      geom.Pose
	index      uint64
	characters float64 // size of the pair: a rotation by one radian counts as a motion of that
}

// cost returns the cost [eq. 30] and the residuals: world axes.
func (p *targetProblem) cost(poseB geom.Pose, r *ref.Result) (cost float64, e [9]float64) {
	put := func(at int, v r3.Vec) {
		e[at], e[at+1], e[at+2] = v.X, v.Y, v.Z
		cost += r3.Norm2(v) / 2
	}
	rot := poseB.Matrix()
	put(0, r3.Sub(r.WitnessA, p.wantA))
	put(3, r3.Sub(r3.Sub(r.WitnessB, poseB.Position), rot.MulVec(p.wantB)))
	put(6, r3.Sub(r.WitnessA, r.WitnessB))
	return cost, e
}

// gaussNewton runs Gauss-Newton with backtracking and returns the cost before it and after each step.
func (p *targetProblem) gaussNewton(m *estimator, steps int) []float64 {
	e := &estimate{row: derive.Row{A: p.a, B: p.b, PoseA: geom.IdentityPose()}}
	pose := p.start
	r := e.answer(pose)
	cost, residual := p.cost(pose, &r)
	out := []float64{cost}
	for k := range steps {
		e.take(pose, &r)
		e.index = p.index*uint64(steps) + uint64(k)
		step, slope := p.step(m.of(e), &residual, pose, &r)
		for t := 1.0; t > 1e-4; t /= 2 {
			scaled := step
			for i := range scaled {
				scaled[i] *= t
			}
			next := displaced(pose, &scaled)
			there := e.answer(next)
			if c, f := p.cost(next, &there); c <= cost-1e-4*t*slope && there.Status <= ref.Penetrating {
				pose, r, cost, residual = next, there, c, f
				break
			}
		}
		out = append(out, cost)
	}
	return out
}

// step is the shortest Gauss-Newton step, and the decrease of the cost that it promises to first order.
func (p *targetProblem) step(j jacobians, residual *[9]float64, pose geom.Pose, r *ref.Result) (s [6]float64,
	slope float64) {
	jac := mat.NewDense(9, 6, nil)
	arm := r3.Sub(r.WitnessB, pose.Position)
	for c := range 6 {
		var v r3.Vec // of the witness of B as a point of B
		if c < 3 {
			v = axis(c)
		} else {
			v = r3.Cross(axis(c-3), arm)
		}
		rigid := [3]float64{v.X, v.Y, v.Z}
		length := 1.0
		if c >= 3 {
			length = p.characters
		}
		for k := range 3 {
			jac.Set(k, c, j[0][k][c]/length)
			jac.Set(3+k, c, (j[1][k][c]-rigid[k])/length)
			jac.Set(6+k, c, (j[0][k][c]-j[1][k][c])/length)
		}
	}
	var svd mat.SVD
	if !svd.Factorize(jac, mat.SVDThin) {
		return s, 0
	}
	rank := svd.Rank(1e-6)
	if rank == 0 {
		return s, 0
	}
	var x mat.VecDense
	svd.SolveVecTo(&x, mat.NewVecDense(9, residual[:]), rank)
	var change mat.VecDense
	change.MulVec(jac, &x)
	slope = mat.Dot(&change, mat.NewVecDense(9, residual[:]))
	for c := range 6 {
		s[c] = -x.AtVec(c)
		if c >= 3 {
			s[c] /= p.characters
		}
	}
	return s, slope
}

func axis(i int) (v r3.Vec) {
	switch i {
	case 0:
		v.X = 1
	case 1:
		v.Y = 1
	default:
		v.Z = 1
	}
	return v
}

// roughEllipsoid is the hull of n points of an ellipsoid with semi-axes of up to the largest, three tenths of it or
// more, and that ellipsoid.
func roughEllipsoid(g *rand.Rand, n int, largest float64) (*geom.Convex, geom.Ellipsoid) {
	semiAxis := func() float64 { return logUniform(g, 0.3*largest, largest) }
	a := geom.Ellipsoid{SemiAxes: r3.Vec{X: semiAxis(), Y: semiAxis(), Z: semiAxis()}}
	points := sphere(n, 1)
	for i, p := range points {
		points[i] = r3.Vec{X: p.X * a.SemiAxes.X, Y: p.Y * a.SemiAxes.Y, Z: p.Z * a.SemiAxes.Z}
	}
	c, err := geom.NewConvex(points)
	if err != nil {
		panic(err) // 12 points and more of an ellipsoid have a hull
	}
	return c, a
}

// roughShapes draws the shapes of Table I.
func roughShapes(largest float64) func(*rand.Rand) *geom.Convex {
	return func(g *rand.Rand) *geom.Convex {
		c, _ := roughEllipsoid(g, 12, largest)
		return c
	}
}

// targetDraw says how problems are drawn: several of each pair of shapes. Starts are poses of a solution, rotated by an
// angle about a random axis and moved by a fifth of the size.
type targetDraw struct {
	pairs, each int
	angle       float64
	shape       func(*rand.Rand) *geom.Convex
	surface     bool // targets lie anywhere on the surfaces
}

// problems draws them. Targets are support points of random directions, which are vertices, unless they lie anywhere:
// the paper says "random target points on the surfaces", and that a quarter of its problems end at 1e-32 by finite
// differences, which see no curvature, shows that its targets are vertices, too.
func (d targetDraw) problems(g *rand.Rand) []targetProblem {
	var out []targetProblem
	for range d.pairs {
		a, b := d.shape(g), d.shape(g)
		size := a.BoundingRadius() + b.BoundingRadius()
		for range d.each {
			p := targetProblem{a: a, b: b, index: uint64(len(out)), characters: size / 2}
			var outA, outB r3.Vec
			p.wantA, outA = d.target(g, a)
			p.wantB, outB = d.target(g, b)
			p.start.Rotation = quat.Mul(rotationTo(outB, r3.Scale(-1, outA)), about(outB, 2*math.Pi*g.Float64()))
			rot := p.start.Matrix()
			p.start.Position = r3.Add(r3.Sub(p.wantA, rot.MulVec(p.wantB)), r3.Scale(size/5, randomUnit(g)))
			p.start.Rotation = quat.Mul(about(randomUnit(g), d.angle), p.start.Rotation)
			out = append(out, p)
		}
	}
	return out
}

// target draws a point of the surface, and a direction that it supports the shape in.
func (d targetDraw) target(g *rand.Rand, c *geom.Convex) (point, out r3.Vec) {
	if !d.surface {
		out = randomUnit(g)
		return c.CoreSupport(out), out
	}
	h := c.Hull()
	areas := make([]float64, len(h.Facets))
	total := 0.0
	for i, f := range h.Facets {
		a, b, c := h.Vertices[f[0]], h.Vertices[f[1]], h.Vertices[f[2]]
		total += r3.Norm(r3.Cross(r3.Sub(b, a), r3.Sub(c, a)))
		areas[i] = total
	}
	drawn := total * g.Float64()
	i := sort.SearchFloat64s(areas, drawn)
	u, v := g.Float64(), g.Float64()
	if u+v > 1 {
		u, v = 1-u, 1-v
	}
	f := h.Facets[i]
	p := h.Vertices[f[0]]
	p = r3.Add(p, r3.Scale(u, r3.Sub(h.Vertices[f[1]], h.Vertices[f[0]])))
	return r3.Add(p, r3.Scale(v, r3.Sub(h.Vertices[f[2]], h.Vertices[f[0]]))), h.Normals[i]
}

// about is a rotation by an angle about an axis.
func about(axis r3.Vec, angle float64) quat.Number {
	v := r3.Scale(math.Sin(angle/2), axis)
	return quat.Number{Real: math.Cos(angle / 2), Imag: v.X, Jmag: v.Y, Kmag: v.Z}
}

// rotationTo is the least rotation of one unit vector to another that is not its opposite.
func rotationTo(from, to r3.Vec) quat.Number {
	v := r3.Cross(from, to)
	q := quat.Number{Real: 1 + r3.Dot(from, to), Imag: v.X, Jmag: v.Y, Kmag: v.Z}
	return quat.Scale(1/quat.Abs(q), q)
}

// gaussNewtonSteps is the number of steps of Table I.
const gaussNewtonSteps = 50

// targetEstimators are those of Table I: the paper's, these with one thing changed, and ours.
func targetEstimators() []estimator {
	return []estimator{
		differences(1e-6), differences(1e-3), zeroth(50, 1e-2), withOneNoise(zeroth(50, 1e-2)),
		gaussianOfVector(20, 1e-3, false, false), gaussianOfVector(20, 1e-3, true, false),
		gaussianOfVector(20, 1e-3, false, true),
		gumbelOfVector(1e-4, false), gumbelOfVector(1e-3, false), gumbelOfVector(1e-3, true),
		gaussian(20, 0, false), gumbel(0, 0, false), derived("exact", derive.Options{}, false),
	}
}

// targetStarts are the angles by which starts are rotated away from a solution. The second is that at which finite
// differences solve about half of the problems, as in the paper.
var targetStarts = []float64{math.Pi / 4, paperStart, math.Pi}

const paperStart = 2.0

// paperAxes is the largest semi-axis of the ellipsoids of Table I, metres: costs that are stuck grow with its
// square, and are those of the paper at this size.
const paperAxes = 0.35

// finalCosts are the costs after all steps.
func finalCosts(ctx context.Context, problems []targetProblem, m *estimator) ([]float64, error) {
	costs := make([]float64, len(problems))
	for i := range problems {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		path := problems[i].gaussNewton(m, gaussNewtonSteps)
		costs[i] = path[len(path)-1]
	}
	return costs, nil
}

// quantiles sorts v.
func quantiles(v []float64) (q [5]float64) {
	slices.Sort(v)
	for k, p := range []float64{0.1, 0.25, 0.5, 0.75, 0.9} {
		q[k] = stat.Quantile(p, stat.Empirical, v, nil)
	}
	return q
}

// derivatives runs the experiments on derivatives.
func derivatives(ctx context.Context, lab *Lab, r *Results) error {
	out := new(DerivativeResults)
	for i, angle := range targetStarts {
		problems := targetDraw{pairs: lab.pick(5, 100), each: lab.pick(2, 10), angle: angle,
			shape: roughShapes(paperAxes)}.problems(generator(400 + uint64(i)))
		out.Problems = len(problems)
		for k, m := range targetEstimators() {
			costs, err := finalCosts(ctx, problems, &m)
			if err != nil {
				return err
			}
			if i == 0 {
				out.Targets = append(out.Targets, DerivativeCosts{Method: m.name})
			}
			out.Targets[k].Quantiles = append(out.Targets[k].Quantiles, quantiles(costs))
		}
	}
	var err error
	if out.Causes, err = derivativeCauses(ctx, lab); err != nil {
		return err
	}
	objects := func(g *rand.Rand) *geom.Convex { m := lab.meshes(); return m[g.IntN(len(m))].Hull }
	fine := targetDraw{pairs: lab.pick(2, 5), each: lab.pick(2, 4), angle: math.Pi / 2,
		shape: objects}.problems(generator(410))
	for _, f := range []struct {
		name string
		list []estimator
	}{
		{"fig5", []estimator{differences(1e-6), differences(1e-3), zeroth(50, 1e-2),
			gaussianOfVector(20, 1e-3, false, false), gumbelOfVector(1e-4, false), gumbel(0, 0, false)}},
		{"fig6", []estimator{gumbelOfVector(1e-5, false), gumbelOfVector(1e-4, false), gumbelOfVector(1e-3, false),
			gumbelOfVector(1e-2, false), gumbel(1, 0, false), gumbel(3, 0, false)}},
	} {
		for _, m := range f.list {
			curve, err := targetCurve(ctx, fine, f.name, &m)
			if err != nil {
				return err
			}
			out.Curves = append(out.Curves, curve)
		}
	}
	if out.Times, err = derivativeTimes(ctx, lab); err != nil {
		return err
	}
	out.Errors = derivativeErrors(lab)
	r.Derivatives = out
	return ctx.Err()
}

func targetCurve(ctx context.Context, problems []targetProblem, name string, m *estimator) (DerivativeCurve, error) {
	paths := make([][]float64, len(problems))
	for i := range problems {
		if err := ctx.Err(); err != nil {
			return DerivativeCurve{}, err
		}
		paths[i] = problems[i].gaussNewton(m, gaussNewtonSteps)
	}
	out := DerivativeCurve{Figure: name, Method: m.name}
	at := make([]float64, len(problems))
	for k := range gaussNewtonSteps + 1 {
		for i := range paths {
			at[i] = paths[i][k]
		}
		out.Cost = append(out.Cost, quartiles(at))
	}
	return out, nil
}

// derivativeTimes repeats Table II: the mean over pairs of the shortest of nine calls, and the shortest of many
// passes over all of them.
func derivativeTimes(ctx context.Context, lab *Lab) ([]DerivativeTime, error) {
	list := []estimator{differences(1e-6), zeroth(10, 1e-2), zeroth(20, 1e-2), zeroth(50, 1e-2), zeroth(100, 1e-2),
		gaussian(10, 0.1, false), gaussian(20, 0.1, false), gaussian(50, 0.1, false), gaussian(100, 0.1, false),
		gumbel(1, 1e-2, false), gumbel(3, 1e-2, false), gumbel(5, 1e-2, false), gumbel(0, 1e-2, false),
		derived("exact", derive.Options{}, false)}
	out := make([]DerivativeTime, len(list))
	for i := range list {
		out[i].Method = list[i].name
	}
	for side, depth := range []float64{0.01, -0.05} {
		rows := placedRows(generator(402+uint64(side)), lab.pick(5, 40), depth, anyOf(lab.meshes()))
		job, err := batchOf(rows)
		if err != nil {
			return nil, err
		}
		times := make([]float64, len(rows))
		for i := range list {
			for k := range rows {
				times[k] = math.Inf(1)
				for range 9 {
					begin := time.Now()
					list[i].of(&rows[k])
					times[k] = min(times[k], float64(time.Since(begin))/1e3)
				}
			}
			mean, sd := meanSD(times)
			if side == 0 {
				out[i].Collision = [2]float64{mean, sd}
			} else {
				out[i].Apart = [2]float64{mean, sd}
			}
			if list[i].options == nil {
				continue
			}
			if out[i].Batch[side], err = passTime(ctx, lab, job, list[i].options); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// batchOf is a job of rows with their answers.
func batchOf(list []estimate) (*batch.Job, error) {
	var shapes []geom.Shape
	for i := range list {
		shapes = append(shapes, list[i].row.A, list[i].row.B)
	}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		return nil, err
	}
	n, o := len(list), batch.Options{Precision: batch.Double, Columns: derive.Needs}
	job := &batch.Job{Library: lib, Options: o, Results: batch.NewResults(n, &o)}
	pairs := batch.NewPairs(n)
	for i := range n {
		r := &list[i].row
		pairs.SetRow(i, &batch.Row{ShapeA: int32(2 * i), ShapeB: int32(2*i + 1), PoseA: r.PoseA, PoseB: r.PoseB})
		a := batch.Answer{Status: batch.Separated, Distance: r.Value, Lower: r.Value, Upper: r.Value, Normal: r.Normal,
			WitnessA: r.WitnessA, WitnessB: r.WitnessB}
		if r.Value < 0 {
			a.Status = batch.Penetrating
		}
		job.Results.Put(i, &a)
	}
	job.Input = pairs
	return job, nil
}

// passTime is the time per row of the shortest of many passes that store the derivatives of both witnesses, in µs.
// Passes are as short as a time slice, so that other work leaves some of them alone.
func passTime(ctx context.Context, lab *Lab, job *batch.Job, o *derive.Options) (float64, error) {
	n := job.Results.N
	out := batch.NewResults(n, &batch.Options{Precision: batch.Double,
		Columns: batch.ColDWitnessA | batch.ColDWitnessB})
	pass := derive.Pass{Options: *o, Workers: 1, Answers: lab.Answers}
	least := math.Inf(1)
	for range lab.pick(2, 60) {
		begin := time.Now()
		if err := pass.Run(ctx, job, out); err != nil {
			return 0, err
		}
		least = min(least, float64(time.Since(begin))/1e3/float64(n))
	}
	return least, nil
}

// placedRows are answered pairs that were moved by depth into each other along the normal, from touching.
func placedRows(g *rand.Rand, n int, depth float64, shape func(*rand.Rand) geom.Shape) []estimate {
	out := make([]estimate, n)
	for i := range out {
		e := &out[i]
		e.index = uint64(i)
		a, b := shape(g), shape(g)
		e.row = derive.Row{A: a, B: b, PoseA: geom.Pose{Rotation: randomRotation(g)}}
		pose := geom.Pose{Rotation: randomRotation(g),
			Position: r3.Scale(1.5*(a.BoundingRadius()+b.BoundingRadius()), randomUnit(g))}
		r := e.answer(pose)
		pose.Position = r3.Sub(pose.Position, r3.Scale(r.Distance+depth, r.Normal))
		r = e.answer(pose)
		e.take(pose, &r)
	}
	return out
}

// derivativeErrors compares estimates on hulls of 200 points of ellipsoids with the derivatives of the ellipsoids.
func derivativeErrors(lab *Lab) (out []DerivativeError) {
	const vertices, gap = 200, -0.1
	pairs, seeds := lab.pick(4, 20), lab.pick(4, 12)
	var truth []jacobians
	var rows []estimate
	g := generator(404)
	exact := derived("exact", derive.Options{}, false)
	for range pairs {
		var smooth []geom.Shape
		e := placedRows(g, 1, gap, func(g *rand.Rand) geom.Shape {
			c, of := roughEllipsoid(g, vertices, 1)
			smooth = append(smooth, of)
			return c
		})[0]
		of := estimate{row: e.row}
		of.row.A, of.row.B = smooth[0], smooth[1]
		r := of.answer(e.row.PoseB)
		of.take(e.row.PoseB, &r)
		truth, rows = append(truth, exact.of(&of)), append(rows, e)
	}
	add := func(name string, epsilon float64, samples int, m estimator, seeds int) {
		row := DerivativeError{Method: name, Epsilon: epsilon, Samples: samples}
		bias, deviation := make([]float64, pairs), make([]float64, pairs)
		for i := range rows {
			bias[i], deviation[i] = errorsOf(&rows[i], &truth[i], &m, seeds)
		}
		row.Bias, row.Deviation = quartiles(bias)[1], quartiles(deviation)[1]
		out = append(out, row)
	}
	add("exact", 0, 0, exact, 1)
	for _, epsilon := range []float64{1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1} {
		add("Gumbel", epsilon, 0, gumbel(0, epsilon, false), 1)
	}
	for _, epsilon := range []float64{1e-2, 3e-2, 1e-1, 3e-1} {
		for _, m := range []int{10, 50, 200} {
			add("Gaussian", epsilon, m, gaussian(m, epsilon, false), seeds)
		}
	}
	for _, epsilon := range []float64{1e-3, 1e-2, 3e-2, 1e-1} {
		for _, m := range []int{10, 50, 200} {
			add("0th order", epsilon, m, zeroth(m, epsilon), seeds)
		}
	}
	return out
}

// errorsOf is the error of the mean of estimates with different noise, and their deviation from it.
func errorsOf(e *estimate, truth *jacobians, m *estimator, seeds int) (bias, deviation float64) {
	first := e.index
	defer func() { e.index = first }()
	size := 0.5 * (e.row.A.BoundingRadius() + e.row.B.BoundingRadius())
	square := func(a, b *jacobians) (s float64) {
		for i := range a {
			for k := range a[i] {
				for c := range a[i][k] {
					d := a[i][k][c] - b[i][k][c]
					if c >= 3 {
						d /= size
					}
					s += d * d
				}
			}
		}
		return s
	}
	list := make([]jacobians, seeds)
	var mean jacobians
	for s := range list {
		e.index = first + uint64(1000*(s+1))
		list[s] = m.of(e)
		for i := range mean {
			for k := range mean[i] {
				for c := range mean[i][k] {
					mean[i][k][c] += list[s][i][k][c] / float64(seeds)
				}
			}
		}
	}
	scale := square(truth, &jacobians{})
	for s := range list {
		deviation += square(&list[s], &mean)
	}
	return math.Sqrt(square(&mean, truth) / scale), math.Sqrt(deviation / float64(max(seeds-1, 1)) / scale)
}
