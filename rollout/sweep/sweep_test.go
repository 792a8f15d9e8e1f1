package sweep

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"clearance/batch"
	"clearance/cpu"
	"clearance/geom"
	"clearance/internal/testkit"
	"clearance/tests/need"

	"gonum.org/v1/gonum/spatial/r3"
)

// rows is a list of rows.
type rows []Row

func (r rows) Len() int            { return len(r) }
func (r rows) Row(i int, row *Row) { *row = r[i] }

// solver returns the solvers of the CPU.
func solver(t testing.TB) Solve {
	t.Helper()
	b, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return func(ctx context.Context, job *batch.Job) error {
		return b.Run(ctx, job, 0, job.Input.Len(), job.Results)
	}
}

func library(t testing.TB, shapes ...geom.Shape) *batch.Library {
	t.Helper()
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	return lib
}

func run(t testing.TB, lib *batch.Library, in rows, o Options) []Answer {
	t.Helper()
	out, err := Run(context.Background(), lib, in, o, solver(t))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// still returns a row of shapes 0 and 1 at given poses.
func still(a, b geom.Pose) Row {
	id := geom.IdentityPose()
	return Row{ShapeA: 0, ShapeB: 1, LocalA: id, LocalB: id, FromA: a, ToA: a, FromB: b, ToB: b}
}

// TestSpheres compares first contacts and least distances of spheres with the roots and the minimum of a quadratic.
func TestSpheres(t *testing.T) {
	const ra, rb = 0.3, 0.5
	lib := library(t, geom.Sphere{R: ra}, geom.Sphere{R: rb})
	rng := rand.New(rand.NewPCG(1, 2))
	var in rows
	for range 3000 {
		r := still(testkit.Pose(rng, 1.5), testkit.Pose(rng, 1.5))
		r.ToA, r.ToB = testkit.Pose(rng, 1.5), testkit.Pose(rng, 1.5)
		in = append(in, r)
	}
	const tolerance = 1e-6
	contacts, free := 0, 0
	for i, a := range run(t, lib, in, Options{TimeTolerance: tolerance, Ratio: 0.9}) {
		r := &in[i]
		d := r3.Sub(r.FromB.Position, r.FromA.Position)
		v := r3.Sub(r3.Sub(r.ToB.Position, r.ToA.Position), d)
		// |d + t·v| = ra + rb
		qa, qb, qc := r3.Norm2(v), r3.Dot(d, v), r3.Norm2(d)-(ra+rb)*(ra+rb)
		closest := min(1, max(0, -qb/qa))
		distance := r3.Norm(r3.Add(d, r3.Scale(closest, v))) - ra - rb
		switch {
		case math.Abs(distance) < 1e-6: // a grazing contact is one within the gap
		case qc <= 0:
			if a.State != Contact || a.T0 != 0 || a.T1 != 0 {
				t.Errorf("row %d begins in contact: %+v", i, a)
			}
		case distance < 0:
			contacts++
			first := (-qb - math.Sqrt(qb*qb-qa*qc)) / qa
			if a.State != Contact || !(a.T0 <= first+1e-9 && first <= a.T1+1e-9) || a.T1-a.T0 > tolerance {
				t.Errorf("row %d: first contact at %.9g: %+v", i, first, a)
			}
		default:
			free++
			if a.State != Free || !(a.Lower > 0 && a.Lower <= distance && distance <= a.Upper+1e-9) ||
				a.Lower < 0.9*a.Upper*(1-1e-3) || a.T0 != 1 {
				t.Errorf("row %d: least distance %.9g: %+v", i, distance, a)
			}
		}
	}
	if contacts < 100 || free < 100 {
		t.Errorf("%d contacts, %d free rows: the set is one-sided", contacts, free)
	}
}

// TestBullets shoots small spheres through thin plates, and past them, at up to a million times their thickness.
func TestBullets(t *testing.T) {
	const thick, radius = 1e-4, 1e-3
	lib := library(t, geom.Sphere{R: radius}, geom.Box{HalfExtents: r3.Vec{X: 0.5, Y: 0.5, Z: thick / 2}})
	rng := rand.New(rand.NewPCG(3, 4))
	var in rows
	var first []float64 // time of the contact, 2 if there is none
	for i := range 1000 {
		plate := testkit.Pose(rng, 3)
		travel := math.Pow(10, 2*rng.Float64())
		start := 0.01 + travel*rng.Float64()*0.8
		x, y := rng.Float64()*0.9-0.45, rng.Float64()*0.9-0.45
		if i%3 == 0 {
			x += 1
		}
		r := still(plate, plate)
		r.FromA = geom.Pose{Position: plate.Apply(r3.Vec{X: x, Y: y, Z: start}), Rotation: plate.Rotation}
		r.ToA.Position = plate.Apply(r3.Vec{X: x, Y: y, Z: start - travel})
		r.ToA.Rotation = testkit.Quaternion(rng)
		in = append(in, r)
		at := (start - radius - thick/2) / travel
		if i%3 == 0 || at > 1 {
			at = 2
		}
		first = append(first, at)
	}
	for i, a := range run(t, lib, in, Options{}) {
		switch at := first[i]; {
		case at == 2 && a.State != Free:
			t.Errorf("row %d misses the plate: %+v", i, a)
		case at < 1 && (a.State != Contact || !(a.T0 <= at+1e-9 && at <= a.T1+1e-7) ||
			a.T1-a.T0 > DefaultTimeTolerance):
			t.Errorf("row %d hits the plate at %.9g: %+v", i, at, a)
		}
	}
}

// TestHalfspaces rotates a half-space into a sphere, and moves a box along one, a millimeter above.
func TestHalfspaces(t *testing.T) {
	lib := library(t, geom.Halfspace{}, geom.Sphere{R: 0.1}, geom.Box{HalfExtents: r3.Vec{X: 0.2, Y: 0.3, Z: 0.1}})
	x := r3.Vec{X: 1}
	in := rows{still(geom.IdentityPose(), geom.Translate(0, 2, 1)),
		still(geom.IdentityPose(), geom.Translate(-50, 0, 0.101))}
	in[0].ToA = geom.Rotate(x, 1) // the plane through x, sin 1 / cos 1 · y: reaches the sphere before
	in[1].ShapeB = 2
	in[1].ToB = geom.Pose{Position: r3.Vec{X: 50, Z: 0.101}, Rotation: geom.Rotate(r3.Vec{Z: 1}, 3).Rotation}
	// The distance of the center from the plane at angle φ is cos φ − 2 sin φ = √5·cos(φ + atan 2).
	at := math.Acos(0.1/math.Sqrt(5)) - math.Atan(2)
	for swapped := range 2 {
		out := run(t, lib, in, Options{})
		if a := out[0]; a.State != Contact || a.T0 > at+1e-9 || a.T1 < at-1e-9 || a.T1-a.T0 > DefaultTimeTolerance {
			t.Errorf("rotating half-space, contact at %.9g: %+v", at, a)
		}
		if a := out[1]; a.State != Free || math.Abs(a.Upper-0.001) > 1e-6 || a.Lower < 0.0004 {
			t.Errorf("box 1 mm above a half-space: %+v", a)
		}
		if swapped == 0 {
			for i, r := range in {
				in[i] = Row{ShapeA: r.ShapeB, ShapeB: r.ShapeA, LocalA: r.LocalB, LocalB: r.LocalA,
					FromA: r.FromB, ToA: r.ToB, FromB: r.FromA, ToB: r.ToA}
			}
		}
	}
}

// TestPlanes: a box that slides along another at a small distance takes few evaluations, since no plane is neared.
func TestPlanes(t *testing.T) {
	box := geom.Box{HalfExtents: r3.Vec{X: 1, Y: 1, Z: 1}}
	lib := library(t, box, box)
	r := still(geom.IdentityPose(), geom.Translate(-1, 0.3, 2.0001))
	r.ToB = geom.Translate(0.5, -0.2, 2.0001)
	a := run(t, lib, rows{r}, Options{})[0]
	if a.State != Free || a.Lower < 0.9e-4 || a.Evaluations > 4 {
		t.Errorf("%+v", a)
	}
}

// shapes of random sweeps.
func mixed(t testing.TB, rng *rand.Rand) *batch.Library {
	return library(t,
		geom.Sphere{R: 0.2}, geom.Capsule{R: 0.1, HalfLength: 0.4},
		geom.Box{HalfExtents: r3.Vec{X: 0.3, Y: 0.02, Z: 0.4}},
		geom.Cylinder{R: 0.2, HalfLength: 0.3}, geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.4, Y: 0.1, Z: 0.2}},
		testkit.Hull(rng, r3.Vec{X: 0.3, Y: 0.2, Z: 0.1}, 32), geom.Cone{R: 0.2, HalfLength: 0.3},
		geom.WithMargin(testkit.Hull(rng, r3.Vec{X: 0.1, Y: 0.3, Z: 0.2}, 20), 0.02), geom.Halfspace{})
}

// random returns random rows, with parts off the origins of their bodies.
func random(rng *rand.Rand, lib *batch.Library, n int, spread float64) rows {
	var in rows
	last := int32(lib.Len() - 1)
	for i := range n {
		r := Row{ShapeA: rng.Int32N(last), ShapeB: rng.Int32N(last), LocalA: testkit.Pose(rng, 0.1),
			LocalB: testkit.Pose(rng, 0.1), FromA: testkit.Pose(rng, spread), ToA: testkit.Pose(rng, spread),
			FromB: testkit.Pose(rng, spread), ToB: testkit.Pose(rng, spread)}
		if i%10 == 0 {
			r.ShapeB = last
			r.FromB.Position.Z -= 2
		}
		in = append(in, r)
	}
	return in
}

// TestAgainstSampling asks the solvers for distances at times drawn over each motion. None may be in contact before
// T0 or in a free row, or nearer than the lower bound.
func TestAgainstSampling(t *testing.T) {
	n, samples := 1500, 60
	if testing.Short() {
		n = 300
	}
	sampling(t, n, samples, n)
}

// TestAgainstDenseSampling is the same with 100,000 rows, of which 50 are sampled at 10,000 times.
func TestAgainstDenseSampling(t *testing.T) {
	need.Full(t, "TestAgainstSampling has fewer rows")
	sampling(t, 100_000, 100, 100_000)
	sampling(t, 50, 10_000, 50)
}

func sampling(t *testing.T, n, samples, sampled int) {
	rng := rand.New(rand.NewPCG(uint64(n), 6))
	lib := mixed(t, rng)
	in := random(rng, lib, n, 0.7)
	out := run(t, lib, in, Options{})
	var states [StateCount]int
	evaluations := 0
	for _, a := range out {
		states[a.State]++
		evaluations += a.Evaluations
	}
	t.Logf("%d rows: %d free, %d in contact, %d undecided; %.1f evaluations per row", n, states[Free], states[Contact],
		states[Undecided], float64(evaluations)/float64(n))
	if states[Invalid] > 0 || states[Undecided] > n/200 || states[Free] < n/20 || states[Contact] < n/20 {
		t.Errorf("rows by state: %v", states)
	}
	solve := solver(t)
	o := batch.Options{Precision: batch.Double, Tolerance: DefaultTolerance,
		Columns: batch.ColDistance | batch.ColGap | batch.ColStatus}
	pairs := batch.NewPairs(samples)
	res := batch.NewResults(samples, &o)
	times := make([]float64, samples)
	for i := range sampled {
		r, a := &in[i], &out[i]
		for k := range samples {
			s := rng.Float64()
			if a.State == Contact && k%2 == 0 {
				s *= a.T0 // where contacts would be missed
			}
			times[k] = s
			poseA := Between(r.FromA, r.ToA, s).Compose(r.LocalA)
			poseB := Between(r.FromB, r.ToB, s).Compose(r.LocalB)
			pairs.SetRow(k, &batch.Row{ShapeA: r.ShapeA, ShapeB: r.ShapeB, PoseA: poseA, PoseB: poseB})
		}
		job := &batch.Job{Library: lib, Input: pairs, Options: o, Results: res}
		if err := solve(context.Background(), job); err != nil {
			t.Fatal(err)
		}
		for k, s := range times {
			d, gap, status := res.Distance().F64[k], float64(res.Gap()[k]), batch.Status(res.Status()[k])
			if s < a.T0 && status == batch.Penetrating {
				t.Fatalf("row %d: contact at %.9g missed: %+v", i, s, a)
			}
			if s < a.T0 && a.State == Free && !(d+gap >= a.Lower) {
				t.Fatalf("row %d: distance %.9g at %.9g below the bound: %+v", i, d, s, a)
			}
			if a.State == Free && d-gap > 0 && a.Upper < d-gap && s == a.Closest {
				t.Fatalf("row %d: upper bound %.9g: %+v", i, a.Upper, a)
			}
		}
	}
}

// TestMaxDistance: rows beyond the largest distance are free with a bound above it, and the states of others do not
// change.
func TestMaxDistance(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	lib := mixed(t, rng)
	in := random(rng, lib, 400, 2)
	const limit = 0.1
	all, near := run(t, lib, in, Options{}), run(t, lib, in, Options{HasMaxDistance: true, MaxDistance: limit})
	culled := 0
	for i := range in {
		a, b := &all[i], &near[i]
		if a.State != b.State {
			t.Errorf("row %d: %+v, with a largest distance %+v", i, a, b)
		}
		if b.State == Free && !(b.Lower >= limit || b.Lower >= 0.49*b.Upper) {
			t.Errorf("row %d: %+v", i, b)
		}
		if b.State == Free && (a.Lower > b.Upper || b.Lower > a.Upper) {
			t.Errorf("row %d: bounds exclude one another: %+v, %+v", i, a, b)
		}
		if b.Evaluations == 0 {
			culled++
		}
	}
	if culled < 50 {
		t.Errorf("%d rows of %d are ruled out by balls", culled, len(in))
	}
}

// TestUndecided: a row at the limit says what is proved.
func TestUndecided(t *testing.T) {
	lib := library(t, geom.Sphere{R: 0.1}, geom.Sphere{R: 0.1})
	r := still(geom.Translate(-1, 0, 0), geom.Translate(0, 0.2, 0)) // grazes at 0.5
	r.ToA = geom.Translate(1, 1e-7, 0)
	for _, limit := range []int{1, 2, 3, 5, 9} {
		a := run(t, lib, rows{r}, Options{MaxEvaluations: limit, Tolerance: 1e-12})[0]
		if a.State != Undecided || !(a.T0 > 0 && a.T0 < 0.5) || a.Lower != 0 || a.Evaluations != limit {
			t.Errorf("%d evaluations: %+v", limit, a)
		}
	}
	// One evaluation is enough of spheres at rest, or of those that move less than they are separated.
	r = still(geom.Translate(-1, 0, 0), geom.Translate(0, 0, 0))
	for _, to := range []float64{-1, -0.8} {
		r.ToA = geom.Translate(to, 0, 0)
		a := run(t, lib, rows{r}, Options{MaxEvaluations: 1})[0]
		if least := -to - 0.2; a.State != Free || a.Evaluations != 1 || a.T0 != 1 || !(a.Lower <= least) ||
			a.Lower < least-1e-6 || math.Abs(a.Upper-0.8) > 1e-6 {
			t.Errorf("one evaluation of spheres at least %g from one another: %+v", least, a)
		}
	}
	r.ToA = geom.Translate(0, 0, 0)
	if a := run(t, lib, rows{r}, Options{MaxEvaluations: 1})[0]; a.State != Undecided || math.Abs(a.T0-0.8) > 1e-6 {
		t.Errorf("one evaluation of spheres that meet at 0.8: %+v", a)
	}
}

// TestInvalid: a row with a NaN is invalid, and no other is.
func TestInvalid(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	lib := mixed(t, rng)
	in := random(rng, lib, 64, 0.7)
	good := run(t, lib, in, Options{})
	bad := append(rows(nil), in...)
	bad[3].ToA.Position.Y = math.NaN()
	bad[5].FromB.Rotation.Real = math.Inf(1)
	bad[9].ShapeA = 99
	bad[20].ShapeA, bad[20].ShapeB = 8, 8 // half-spaces
	for i, a := range run(t, lib, bad, Options{}) {
		if i == 3 || i == 5 || i == 9 || i == 20 {
			if a.State != Invalid || !math.IsNaN(a.Lower) {
				t.Errorf("row %d: %+v, want it invalid", i, a)
			}
		} else if fmt.Sprint(a) != fmt.Sprint(good[i]) {
			t.Errorf("row %d: %+v besides invalid rows, %+v without", i, a, good[i])
		}
	}
}

// TestSameForAnyWorkers runs more rows than are active at a time.
func TestSameForAnyWorkers(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	lib := mixed(t, rng)
	in := random(rng, lib, ActiveRows+700, 3)
	o := Options{HasMaxDistance: true, MaxDistance: 0.01, TimeTolerance: 1e-3, Workers: 1}
	one := run(t, lib, in, o)
	for _, workers := range []int{2, 7, 64} {
		o.Workers = workers
		for i, a := range run(t, lib, in, o) {
			if fmt.Sprint(a) != fmt.Sprint(one[i]) {
				t.Fatalf("row %d: %+v with %d workers, %+v with 1", i, a, workers, one[i])
			}
		}
	}
	for i, a := range run(t, lib, in[ActiveRows:], o) {
		if fmt.Sprint(a) != fmt.Sprint(one[ActiveRows+i]) {
			t.Fatalf("row %d: %+v alone, %+v among others", ActiveRows+i, a, one[ActiveRows+i])
		}
	}
}

// TestOptions gives options that are refused.
func TestOptions(t *testing.T) {
	nan := math.NaN()
	for _, o := range []Options{{TimeTolerance: nan}, {TimeTolerance: -1}, {TimeTolerance: 1}, {Tolerance: nan},
		{Ratio: 1}, {Ratio: nan}, {HasMaxDistance: true, MaxDistance: nan}, {HasMaxDistance: true, MaxDistance: -1},
		{MaxEvaluations: -1}, {Workers: -1}} {
		if err := o.Check(); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}

// TestPath compares poses along a motion with its ends and with a rotation about a fixed axis.
func TestPath(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	for range 200 {
		from, to := testkit.Pose(rng, 2), testkit.Pose(rng, 2)
		p := r3.Vec{X: 0.3, Y: -0.2, Z: 0.7}
		for _, c := range []struct {
			t    float64
			want geom.Pose
		}{{0, from}, {1, to}} {
			at := Between(from, to, c.t)
			if d := r3.Norm(r3.Sub(at.Apply(p), c.want.Apply(p))); d > 1e-14 {
				t.Fatalf("at %g: off by %g", c.t, d)
			}
		}
		// Equal steps of time are equal rotations.
		half, quarter := Between(from, to, 0.5), Between(from, to, 0.25)
		if d := r3.Norm(r3.Sub(Between(from, half, 0.5).Apply(p), quarter.Apply(p))); d > 1e-14 {
			t.Fatalf("a quarter is not half of a half: %g", d)
		}
	}
}
