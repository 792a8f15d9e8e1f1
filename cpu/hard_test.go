package cpu

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/testkit/rowcheck"
	"clearance/kernels"
	"clearance/verify"
)

// remote moves both poses of row i away from the origin, by up to 1,000 km, and gives the
// quaternions another length, of up to 1e±30.
func remote(r *batch.Row, i int) {
	away := r3.Vec{X: -1, Y: 0.3, Z: 0.7}
	away = r3.Scale([]float64{0, 1e3, 1e6}[i%3], away)
	r.PoseA.Position, r.PoseB.Position = r3.Add(r.PoseA.Position, away), r3.Add(r.PoseB.Position, away)
	longer := func(q quat.Number, k int) quat.Number {
		return quat.Scale([]float64{1, 1e-3, 1e3, -1e-8, 1e30, 1e-30}[k%6], q)
	}
	r.PoseA.Rotation, r.PoseB.Rotation = longer(r.PoseA.Rotation, i/3), longer(r.PoseB.Rotation, i/18)
}

// Rows at the limit of the float32 proof of a status (boolean.h): distances and depths
// around 128 units of 6e-8 of the frame, and far below, where float32 must not decide. The status of
// each is that of the reference solvers in double
// precision. Shapes with powers are placed around their own rounding bounds.
func TestStatusesAtTheMarginOfTheProof(t *testing.T) {
	const unit = 0x1p-23 // the rounding bound is 128 units of 2⁻²⁴, 64 of these
	n := size(12000)
	double := batch.Options{Precision: batch.Double}
	reference := newVariant(t, "off", 2)
	type input struct {
		set   string
		lib   *batch.Library
		pairs *batch.Pairs
		wide  float64 // the rounding bound of the shapes, in 128 units
	}
	var inputs []input
	for _, set := range []string{"ellipsoids", "boxes", "capsule-cylinder-cone", "hull8", "hull32", "mixed"} {
		lib, pairs := draw(t, set, n)
		inputs = append(inputs, input{set, lib, pairs, 1})
	}
	lib, pairs, _ := boxesApart(t, n, 1)
	inputs = append(inputs, input{"boxes of all proportions", lib, pairs, 1})
	for _, in := range slices.Clone(inputs) {
		pairs := batch.NewPairs(n)
		var r batch.Row
		for i := range n {
			in.pairs.Row(i, &r)
			remote(&r, i)
			pairs.SetRow(i, &r)
		}
		inputs = append(inputs, input{in.set + ", remote", in.lib, pairs, in.wide})
	}
	for k, set := range powerSets {
		lib, pairs := drawPowers(t, set.shape, n/2)
		inputs = append(inputs, input{set.name, lib, pairs, []float64{1.75, 1.75, 16, 16}[k]})
	}
	for _, in := range inputs {
		set, lib, pairs, n := in.set, in.lib, in.pairs, in.pairs.Len()
		start := solve(t, reference, lib, pairs, double, 0)
		var r batch.Row
		for i := range n {
			pairs.Row(i, &r)
			size := lib.Shape(r.ShapeA).BoundingRadius() + lib.Shape(r.ShapeB).BoundingRadius()
			frame := r3.Norm(r3.Sub(r.PoseB.Position, r.PoseA.Position)) + size
			if !(start.Distance().F64[i] < 1e6) || math.IsInf(frame, 0) {
				continue // a half-space
			}
			// Distances or depths of 0.02 to 256 units. B moves along the normal, which changes the
			// distance by the same length, and the depth nearly so.
			gap := in.wide * unit * frame * math.Exp2(-5.5+13.5*float64(i%997)/996)
			if i%2 == 0 {
				gap = -gap
			}
			normal := r3.Vec{X: start.Normal().F64[3*i], Y: start.Normal().F64[3*i+1], Z: start.Normal().F64[3*i+2]}
			r.PoseB.Position = r3.Add(r.PoseB.Position, r3.Scale(gap-start.Distance().F64[i], normal))
			pairs.SetRow(i, &r)
		}
		want := solve(t, reference, lib, pairs, double, 0)
		for _, variant := range variants(t) {
			// Without the dispatcher, which wants more columns than the status.
			o := batch.Options{Query: batch.Collide, Columns: batch.ColStatus}
			got := batch.NewResults(n, &o)
			if err := newVariant(t, variant, 2).Run(context.Background(), &batch.Job{Library: lib, Input: pairs,
				Options: o}, 0, n, got); err != nil {
				t.Fatal(err)
			}
			var count [batch.StatusCount]int
			wrong := 0
			for i, code := range want.Status() {
				status := batch.Status(code)
				if status != batch.Separated && status != batch.Penetrating {
					continue
				}
				count[status]++
				// Single precision may answer touching within its gap.
				near := batch.Status(got.Status()[i]) == batch.Touching &&
					math.Abs(want.Distance().F64[i]) <= batch.SingleTolerance*lib.PairSize(int32(pairs.ShapeA[i]),
						int32(pairs.ShapeB[i]))
				if got.Status()[i] != code && !near {
					if wrong++; wrong <= 5 {
						t.Errorf("%s, %s: row %d is %v, want %v at distance %g", set, variant, i,
							batch.Status(got.Status()[i]), status, want.Distance().F64[i])
					}
				}
			}
			if wrong > 0 {
				t.Errorf("%s, %s: %d wrong statuses", set, variant, wrong)
			}
			if count[batch.Separated] < n/4 || count[batch.Penetrating] < n/4 {
				t.Errorf("%s: the rows are one-sided: %v", set, count)
			}
		}
	}
}

// oddPoses are the poses that every grid of oddPairs begins with.
const oddPoses = 6

// oddPairs returns all pairs of n shapes, in poses that random draws do not contain. A has random axes
// and its center at the origin. B has the same center and axes, parallel axes, axes rotated by rounding errors,
// by a little more, by a right angle, or only the same center. Another center is up to 0.2·scale
// away. The caller may add poses: place is called for every row with the number of its pose; if that is oddPoses
// or more, B still has the pose of A.
func oddPairs(rng *rand.Rand, n, poses int, scale float64, place func(row *batch.Row, pose int,
	away r3.Vec)) *batch.Pairs {
	pairs := batch.NewPairs(n * n * poses)
	for i := range pairs.Len() {
		row := batch.Row{ShapeA: int32(i / poses / n), ShapeB: int32(i / poses % n), PoseA: randomPose(rng)}
		row.PoseA.Position = r3.Vec{}
		row.PoseB = row.PoseA // 0: the same center and axes
		away := r3.Scale(scale*0.2*rng.Float64(), direction(rng))
		turn := &row.PoseB.Rotation
		pose := i % poses
		switch pose {
		case 1: // parallel axes
			row.PoseB.Position = away
		case 2: // rotated by rounding errors
			*turn = quat.Add(*turn, quat.Scale(1e-15, randomPose(rng).Rotation))
			row.PoseB.Position = away
		case 3: // and by a little more
			*turn = quat.Add(*turn, quat.Scale(1e-7, randomPose(rng).Rotation))
			row.PoseB.Position = away
		case 4: // at right angles
			*turn = quat.Mul(*turn, quat.Number{Real: math.Sqrt2 / 2, Imag: math.Sqrt2 / 2})
			row.PoseB.Position = away
		case 5: // the same center only
			*turn = randomPose(rng).Rotation
		}
		place(&row, pose, away)
		pairs.SetRow(i, &row)
	}
	return pairs
}

// takeFar moves a pair a kilometer away.
func takeFar(rng *rand.Rand, row *batch.Row) {
	far := r3.Scale(1000, direction(rng))
	row.PoseA.Position = r3.Add(row.PoseA.Position, far)
	row.PoseB.Position = r3.Add(row.PoseB.Position, far)
}

// TestPointHulls: hulls of one point on themselves pass the audit with every method, normal
// included.
func TestPointHulls(t *testing.T) {
	var shapes []geom.Shape
	for _, at := range []r3.Vec{{}, {X: 1, Y: 2, Z: 3}} {
		c, err := geom.NewConvex([]r3.Vec{at})
		if err != nil {
			t.Fatal(err)
		}
		shapes = append(shapes, c)
	}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := batch.NewPairs(len(shapes))
	for i := range shapes {
		p.SetRow(i, &batch.Row{ShapeA: int32(i), ShapeB: int32(i), PoseA: geom.IdentityPose(),
			PoseB: geom.IdentityPose()})
	}
	for _, method := range []batch.Method{batch.Auto, batch.GJK, batch.Nesterov, batch.Polyak, batch.RTR} {
		for _, precision := range []batch.Precision{batch.Single, batch.Double} {
			for _, variant := range []string{"", "off"} {
				b, err := New(Options{SIMD: variant})
				if err != nil {
					t.Fatal(err)
				}
				job := &batch.Job{Library: lib, Input: p, Options: batch.Options{Precision: precision, Method: method}}
				job.Results = batch.NewResults(p.Len(), &job.Options)
				if err := b.Run(t.Context(), job, 0, p.Len(), job.Results); err != nil {
					t.Fatal(err)
				}
				b.Close()
				report, err := verify.Audit(t.Context(), job, verify.Options{})
				if err != nil || report.Wrong() > 0 {
					t.Errorf("%v, %v, kernels %q: %d wrong, %v, status %v", method, precision, variant, report.Wrong(),
						err, job.Results.Status())
				}
			}
		}
	}
}

// TestPointsAlmostTogether: the distances of points that are so close to one another that its square underflows lie
// within their gaps, and a status is none that the distance refutes.
func TestPointsAlmostTogether(t *testing.T) {
	lib, p, apart := rowcheck.TinyPairs(t)
	for _, query := range []batch.Query{batch.Distance, batch.Collide, batch.Penetration} {
		for _, method := range []batch.Method{batch.Auto, batch.GJK, batch.Nesterov, batch.Polyak, batch.RTR} {
			for _, variant := range append(variants(t), "off") {
				b := newVariant(t, variant, 1)
				o := batch.Options{Query: query, Precision: batch.Double, Method: method,
					Columns: query.Available() &^ (batch.ColBits | batch.DerivedColumns)}
				got := solve(t, b, lib, p, o, 0)
				rowcheck.Points(t, fmt.Sprintf("%v, %v, kernels %q", query, method, variant), got, apart)
			}
		}
	}
}

// A small cylinder whose rim overlaps a large cylinder by 1e-13 m. The simplex of float32 ends 1e-16 from the
// origin, in units of the pair. Support points of a direction as short lie inside of the cores: their plane does not
// separate the cores.
func TestRimsTouch(t *testing.T) {
	lib, err := batch.NewLibrary([]geom.Shape{
		geom.Cylinder{R: 1e-4, HalfLength: 5e-5}, geom.Cylinder{R: 1e4, HalfLength: 5e3}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := batch.Row{ShapeB: 1, PoseA: geom.IdentityPose(), PoseB: geom.IdentityPose()}
	r.PoseA.Position = r3.Vec{X: 0.4702556958629529, Y: -0.7160275323129692, Z: 3.507231745674135}
	r.PoseB.Position = r3.Vec{X: 9579.591657558052, Y: -2871.331844458321, Z: -4996.492818254325}
	const n = 20 // more than a vector has lanes
	pairs := batch.NewPairs(n)
	for i := range n {
		pairs.SetRow(i, &r)
	}
	for _, name := range append(kernels.Supported(), kernels.Off) {
		for _, method := range []batch.Method{batch.Auto, batch.GJK, batch.Nesterov, batch.Polyak} {
			b := newVariant(t, name, 1)
			for _, columns := range []batch.Columns{batch.ColStatus, batch.ColStatus | batch.ColDistance} {
				o := batch.Options{Query: batch.Collide, Method: method, Columns: columns}
				job := &batch.Job{Library: lib, Input: pairs, Options: o, Results: batch.NewResults(n, &o)}
				if err := b.Run(t.Context(), job, 0, n, job.Results); err != nil {
					t.Fatal(err)
				}
				for i, status := range job.Results.Status() {
					if batch.Status(status) != batch.Touching {
						t.Errorf("%s, %v, columns %v, row %d: %v, want %v", name, method, columns, i,
							batch.Status(status), batch.Touching)
					}
				}
			}
		}
	}
}

// Statuses of pairs that touch up to 1e-13 m and more, of sizes from 1e-4 to 1e4 m, are none that is wrong. The growth
// query proves a separation along unit vectors alone (growth_lower, growth_certify.h), so it has no direction that is
// lost in rounding. The reference has support points of the direction as it is, and its length to the last digits.
func TestStatusesOfTouchingPairs(t *testing.T) {
	lib, pairs := rowcheck.TouchingPairs(t, size(20000), 4)
	few, fewer := rowcheck.TouchingPairs(t, size(2000), 5)
	for _, name := range append(kernels.Supported(), kernels.Off) {
		b := newVariant(t, name, 1)
		for _, query := range []batch.Query{batch.Collide, batch.Growth} {
			for _, method := range []batch.Method{batch.Auto, batch.GJK, batch.Nesterov, batch.Polyak} {
				if query == batch.Growth && method != batch.Auto {
					continue
				}
				for _, columns := range []batch.Columns{batch.ColStatus, batch.ColStatus | batch.ColDistance} {
					o := batch.Options{Query: query, Method: method, Columns: columns}
					where := fmt.Sprintf("%s, %v, %v, columns %v", name, query, method, columns)
					if name == kernels.Off {
						rowcheck.Touching(t, where, solve(t, b, few, fewer, o, 0))
					} else {
						rowcheck.Touching(t, where, solve(t, b, lib, pairs, o, 0))
					}
				}
			}
		}
	}
}
