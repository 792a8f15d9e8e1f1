package verify_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/cpu"
	"clearance/geom"
	"clearance/internal/testkit"
	"clearance/verify"
)

// mutation spoils row i of the results of a job whose rows are true. It reports false
// where the spoiled row would be another true answer.
type mutation struct {
	name  string
	spoil func(job *batch.Job, i int) bool
}

// bound is how far a length in row i may be off before an audit must see it: three
// times the gap and the rounding of the columns (u a coordinate, and float64 in
// between).
func bound(job *batch.Job, i int) float64 {
	r := job.Results
	u := 0x1p-24
	if r.Precision == batch.Double {
		u = 0x1p-53
	}
	var row batch.Row
	job.Input.Row(i, &row)
	scale := r3.Norm(r3.Sub(row.PoseA.Position, row.PoseB.Position)) + 2*job.Library.PairSize(row.ShapeA, row.ShapeB)
	world := r3.Norm(vecAt(r.WitnessA(), i)) + r3.Norm(vecAt(r.WitnessB(), i))
	return 3 * (float64(r.Gap()[i]) + 2*u*(world+scale) + 48*0x1p-53*scale)
}

func vecAt(f *batch.Values, i int) r3.Vec {
	return r3.Vec{X: f.At(3 * i), Y: f.At(3*i + 1), Z: f.At(3*i + 2)}
}

func setVec(f *batch.Values, i int, v r3.Vec) {
	f.Set(3*i, v.X)
	f.Set(3*i+1, v.Y)
	f.Set(3*i+2, v.Z)
}

// across returns a unit vector at right angles to n.
func across(n r3.Vec) r3.Vec {
	e := r3.Vec{X: 1}
	if math.Abs(n.X) > 0.7 {
		e = r3.Vec{Y: 1}
	}
	return r3.Unit(r3.Cross(n, e))
}

// shift moves witnesses along the normal and across it, in units of what must show.
func shift(along, side float64, cols ...func(*batch.Results) *batch.Values) func(*batch.Job, int) bool {
	return func(job *batch.Job, i int) bool {
		n := vecAt(job.Results.Normal(), i)
		by := r3.Scale(bound(job, i), r3.Add(r3.Scale(along, n), r3.Scale(side, across(n))))
		for _, col := range cols {
			f := col(job.Results)
			setVec(f, i, r3.Add(vecAt(f, i), by))
		}
		return true
	}
}

func colA(r *batch.Results) *batch.Values { return r.WitnessA() }
func colB(r *batch.Results) *batch.Values { return r.WitnessB() }

// bothBoxes reports whether both cores are boxes, of which some are flat.
func bothBoxes(a, b geom.Kind) bool {
	box := func(k geom.Kind) bool {
		return k == geom.KindBox || k == geom.KindSphere || k == geom.KindCapsule
	}
	return box(a) && box(b)
}

// solvable says of the solvers that auto takes which shapes they are for.
var solvable = map[batch.Solver]func(a, b geom.Kind) bool{
	batch.SolverGJK:  func(a, b geom.Kind) bool { return max(a, b) != geom.KindHalfspace },
	batch.SolverEPA:  func(a, b geom.Kind) bool { return max(a, b) != geom.KindHalfspace },
	batch.SolverAxes: bothBoxes,
	batch.SolverRTR:  bothSmooth,
	batch.SolverNewton: func(a, b geom.Kind) bool {
		// the kinds before are points and segments
		revolved := max(a, b) <= geom.KindFrustum && max(a, b) >= geom.KindCylinder
		return bothSmooth(a, b) || bothBoxes(a, b) || revolved
	},
	batch.SolverClosedForm: func(a, b geom.Kind) bool {
		round := func(k geom.Kind) bool { return k == geom.KindSphere || k == geom.KindCapsule }
		ball := a == geom.KindSphere && b == geom.KindBox || a == geom.KindBox && b == geom.KindSphere
		return max(a, b) == geom.KindHalfspace || round(a) && round(b) || ball
	},
}

func bothSmooth(a, b geom.Kind) bool {
	smooth := func(k geom.Kind) bool {
		return k == geom.KindSphere || k == geom.KindEllipsoid || k >= geom.KindSuperquadric &&
			k <= geom.KindSmoothRevolution
	}
	return smooth(a) && smooth(b)
}

// setStatus writes a code that the row must not have. Touching and penetrating are
// both true of a row whose interval holds zero.
func setStatus(s uint8) func(*batch.Job, int) bool {
	return func(job *batch.Job, i int) bool {
		r := job.Results
		old := r.Status()[i]
		close := math.Abs(r.Distance().At(i)) <= float64(r.Gap()[i])
		if s == old || close && s <= uint8(batch.Penetrating) && r.Distance().At(i) != 0 {
			return false
		}
		r.Status()[i] = s
		return true
	}
}

func mutations() []mutation {
	all := []mutation{
		{"distance up", func(job *batch.Job, i int) bool {
			r := job.Results
			r.Distance().Set(i, r.Distance().At(i)+bound(job, i))
			return true
		}},
		{"distance down", func(job *batch.Job, i int) bool {
			r := job.Results
			r.Distance().Set(i, r.Distance().At(i)-bound(job, i))
			return true
		}},
		{"distance of the other sign", func(job *batch.Job, i int) bool {
			r := job.Results
			d := r.Distance().At(i)
			r.Distance().Set(i, -d)
			return 2*math.Abs(d) > bound(job, i)
		}},
		{"distance NaN", func(job *batch.Job, i int) bool { job.Results.Distance().Set(i, math.NaN()); return true }},
		{"distance Inf", func(job *batch.Job, i int) bool { job.Results.Distance().Set(i, math.Inf(1)); return true }},
		{"gap 0 of an inexact distance", func(job *batch.Job, i int) bool {
			r := job.Results
			// The true value stays in the interval until the gap goes.
			r.Distance().Set(i, r.Distance().At(i)+bound(job, i))
			r.Gap()[i] = 0
			return true
		}},
		{"gap NaN", func(job *batch.Job, i int) bool { job.Results.Gap()[i] = float32(math.NaN()); return true }},
		{"gap negative", func(job *batch.Job, i int) bool { job.Results.Gap()[i] = -1e-3; return true }},
		{"gap infinite", func(job *batch.Job, i int) bool { job.Results.Gap()[i] = float32(math.Inf(1)); return true }},
		{"gap beyond the tolerance", func(job *batch.Job, i int) bool { job.Results.Gap()[i] = 1e-3; return true }},
		{"normal too long", func(job *batch.Job, i int) bool {
			r := job.Results
			k := 1 + 0x1p-18
			if r.Precision == batch.Double {
				k = 1 + 0x1p-46
			}
			setVec(r.Normal(), i, r3.Scale(k, vecAt(r.Normal(), i)))
			return true
		}},
		{"normal reversed", func(job *batch.Job, i int) bool {
			r := job.Results
			setVec(r.Normal(), i, r3.Scale(-1, vecAt(r.Normal(), i)))
			return true
		}},
		{"normal NaN", func(job *batch.Job, i int) bool { job.Results.Normal().Set(3*i+1, math.NaN()); return true }},
		{"normal zero", func(job *batch.Job, i int) bool { setVec(job.Results.Normal(), i, r3.Vec{}); return true }},
		{"witness_a along the normal", shift(1, 0, colA)},
		{"witness_a against the normal", shift(-1, 0, colA)},
		{"witness_a sideways", shift(0, 1, colA)},
		{"witness_b along the normal", shift(1, 0, colB)},
		{"witness_b against the normal", shift(-1, 0, colB)},
		{"witness_b sideways", shift(0, -1, colB)},
		{"both witnesses along the normal", shift(1, 0, colA, colB)},
		{"both witnesses against the normal", shift(-1, 0, colA, colB)},
		{"witness_a NaN", func(job *batch.Job, i int) bool {
			job.Results.WitnessA().Set(3*i,
				math.NaN())
			return true
		}},
		{"witness_b NaN", func(job *batch.Job, i int) bool {
			job.Results.WitnessB().Set(3*i+2,
				math.NaN())
			return true
		}},
		{"witnesses swapped", func(job *batch.Job, i int) bool {
			r := job.Results
			a, b := vecAt(r.WitnessA(), i), vecAt(r.WitnessB(), i)
			setVec(r.WitnessA(), i, b)
			setVec(r.WitnessB(), i, a)
			return 2*r3.Norm(r3.Sub(a, b)) > bound(job, i)
		}},
		{"iterations 0", func(job *batch.Job, i int) bool {
			var row batch.Row
			job.Input.Row(i, &row)
			a, b := job.Library.Shape(row.ShapeA).Kind(), job.Library.Shape(row.ShapeB).Kind()
			round := func(k geom.Kind) bool { return k == geom.KindSphere || k == geom.KindCapsule }
			if a == geom.KindHalfspace || b == geom.KindHalfspace || round(a) && round(b) {
				return false // answered in closed form
			}
			job.Results.Iterations()[i] = 0
			return true
		}},
	}
	for _, s := range []uint8{0, 1, 2, 3, 4, 5, 200} {
		all = append(all, mutation{fmt.Sprintf("status %d", s), setStatus(s)})
	}
	for _, s := range []batch.Solver{batch.SolverNone, batch.SolverNesterov, batch.SolverPolyak, batch.SolverCount,
		200} {
		all = append(all, mutation{fmt.Sprintf("method %v", s), func(job *batch.Job, i int) bool {
			job.Results.Method()[i] = uint8(s) // auto takes none of these
			return true
		}})
	}
	for _, s := range slices.Sorted(maps.Keys(solvable)) {
		kinds := solvable[s]
		all = append(all, mutation{fmt.Sprintf("method %v of other shapes", s), func(job *batch.Job, i int) bool {
			var row batch.Row
			job.Input.Row(i, &row)
			if kinds(job.Library.Shape(row.ShapeA).Kind(), job.Library.Shape(row.ShapeB).Kind()) {
				return false
			}
			job.Results.Method()[i] = uint8(s)
			return true
		}})
	}
	for _, angle := range []float64{0.01, 0.3} {
		all = append(all, mutation{fmt.Sprintf("normal rotated by %g", angle), func(job *batch.Job, i int) bool {
			r := job.Results
			n := vecAt(r.Normal(), i)
			m := r3.Add(r3.Scale(math.Cos(angle), n), r3.Scale(math.Sin(angle), across(n)))
			setVec(r.Normal(), i, m)
			// Off by |distance|·angle between the witnesses, or by what the plane
			// loses; where corners touch, all normals of a cone are true.
			return 2*math.Abs(r.Distance().At(i))*math.Sin(angle/2) > bound(job, i) || smoothContact(job, i)
		}})
	}
	return all
}

// smoothContact reports whether a rotation of the normal must be noticed at a contact: the
// bodies of the closed forms touch in spheres and faces, whose planes prove less.
func smoothContact(job *batch.Job, i int) bool {
	return job.Library.Len() == 2*len(closedForms()) && job.Results.Distance().At(i) == 0
}

// TestMutations spoils every column of every row, one mutation at a time, and
// wants that very row, and no other, to be found.
func TestMutations(t *testing.T) {
	for _, precision := range []batch.Precision{batch.Single, batch.Double} {
		for _, offset := range []r3.Vec{{}, offsetKm()} {
			for _, m := range mutations() {
				_, cases := closedJob(t, precision, offset)
				applied := 0
				for i, c := range cases {
					job, _ := closedJob(t, precision, offset)
					if !m.spoil(job, i) {
						continue
					}
					applied++
					checkCaught(t, job, i, fmt.Sprintf("%v, offset %g, %s, %s", precision, r3.Norm(offset), c.name,
						m.name))
				}
				if applied == 0 {
					t.Errorf("%s was applied to no row", m.name)
				}
			}
		}
	}
}

// TestMutationsOfSolvedRows does the same to answers of the solvers, for all kinds
// of shapes, with mutations drawn at random. A row that says undecided is never OK,
// so that one is left out.
func TestMutationsOfSolvedRows(t *testing.T) {
	lib := newLibrary(t, mixedShapes()...)
	all := mutations()
	for _, precision := range []batch.Precision{batch.Single, batch.Double} {
		n := 3000
		if precision == batch.Double {
			n = 300
		}
		rng := rand.New(rand.NewPCG(9, 9))
		in := randomPairs(lib, n, 21, r3.Vec{X: 10})
		truth := solved(t, lib, in, batch.Options{Precision: precision, Columns: batch.FileColumns})
		wantOK(t, audit(t, truth, verify.Options{}))
		spoiled := solved(t, lib, in, batch.Options{Precision: precision, Columns: batch.FileColumns})
		which := make([]string, n)
		want := 0
		for i := range n {
			m := all[rng.IntN(len(all))]
			if m.spoil(spoiled, i) && spoiled.Results.Status()[i] != uint8(batch.Undecided) {
				which[i] = m.name
				want++
			} else {
				copyRow(spoiled.Results, truth.Results, i)
			}
		}
		r := audit(t, spoiled, verify.Options{Worst: n})
		if r.Wrong() == want {
			continue
		}
		found := make([]bool, n)
		for _, c := range r.Checks {
			for _, w := range c.Worst {
				found[w.Row] = found[w.Row] || w.Failed
			}
		}
		for i, name := range which {
			if name != "" && !found[i] {
				var row batch.Row
				in.Row(i, &row)
				t.Errorf("%v, row %d (%v and %v, distance %g ± %g): %s escaped", precision, i,
					lib.Shape(row.ShapeA).Kind(), lib.Shape(row.ShapeB).Kind(),
					truth.Results.Distance().At(i), truth.Results.Gap()[i], name)
			}
		}
	}
}

func copyRow(to, from *batch.Results, i int) {
	to.Distance().Set(i, from.Distance().At(i))
	setVec(to.Normal(), i, vecAt(from.Normal(), i))
	setVec(to.WitnessA(), i, vecAt(from.WitnessA(), i))
	setVec(to.WitnessB(), i, vecAt(from.WitnessB(), i))
	to.Gap()[i], to.Status()[i], to.Iterations()[i], to.Method()[i] = from.Gap()[i], from.Status()[i],
		from.Iterations()[i],
		from.Method()[i]
}

func checkCaught(t *testing.T, job *batch.Job, i int, what string) {
	t.Helper()
	r := audit(t, job, verify.Options{})
	if r.OK() || r.Wrong() != 1 {
		t.Errorf("%s: %d wrong rows, want 1", what, r.Wrong())
		return
	}
	for _, c := range r.Checks {
		for _, w := range c.Worst {
			if w.Failed && w.Row != i {
				t.Errorf("%s: check %s blames row %d, want %d", what, c.Name, w.Row, i)
			}
		}
	}
}

// TestSlidOutOfShape moves both witnesses sideways together: right on the faces of
// two boxes, wrong once they leave them, and wrong at once on spheres.
func TestSlidOutOfShape(t *testing.T) {
	slide := func(i int, by float64) *verify.Report {
		job, _ := closedJob(t, batch.Double, r3.Vec{})
		r := job.Results
		var row batch.Row
		job.Input.Row(i, &row)
		m := row.PoseA.Matrix()
		v := m.MulVec(r3.Vec{Y: by})
		setVec(r.WitnessA(), i, r3.Add(vecAt(r.WitnessA(), i), v))
		setVec(r.WitnessB(), i, r3.Add(vecAt(r.WitnessB(), i), v))
		return audit(t, job, verify.Options{})
	}
	const spheres, boxes = 0, 3
	if r := slide(boxes, 0.25); r.Wrong() != 0 {
		t.Error("witnesses elsewhere on the same faces are true answers")
	}
	if r := slide(boxes, 0.75); r.Check("member_a").Failed != 1 {
		t.Error("witnesses that left the face passed")
	}
	if r := slide(spheres, 0.01); r.Check("member_a").Failed != 1 || r.Check("member_b").Failed != 1 {
		t.Error("witnesses that left the spheres passed")
	}
}

// TestLocalMinimumOfDepth audits an answer that is right in all but one thing: the
// depth along another axis of two boxes is less.
func TestLocalMinimumOfDepth(t *testing.T) {
	cube := geom.Box{HalfExtents: r3.Vec{X: 1, Y: 1, Z: 1}}
	lib := newLibrary(t, cube)
	in := batch.NewPairs(1)
	pose := geom.Pose{Rotation: quat.Number{Real: 1}}
	other := pose
	other.Position = r3.Vec{X: 1.75, Y: 1.5}
	in.SetRow(0, &batch.Row{PoseA: pose, PoseB: other})
	o := batch.Options{Precision: batch.Double}
	job := &batch.Job{Library: lib, Input: in, Options: o, Results: batch.NewResults(1, &o)}
	a := batch.Answer{Status: batch.Penetrating, Distance: -0.5, Lower: -0.5, Upper: -0.5, Normal: r3.Vec{Y: 1},
		Iterations: 1}
	a.WitnessA, a.WitnessB = r3.Vec{X: 1, Y: 1}, r3.Vec{X: 1, Y: 0.5}
	job.Results.Put(0, &a)
	r := audit(t, job, verify.Options{DescentEvery: 1})
	for _, c := range r.Checks {
		if (c.Failed > 0) != (c.Name == "directions" || c.Name == "descent") {
			t.Errorf("check %s failed on %d rows", c.Name, c.Failed)
		}
	}
	w := r.Check("directions").Worst[0]
	if math.Abs(float64(w.Found)+0.25) > 1e-15 || w.Expected != -0.5 {
		t.Errorf("found %g against %g, want -0.25 against -0.5", w.Found, w.Expected)
	}
}

// TestStatusOnly flips the statuses of a collide query, which come without any
// certificate, and wants none of them to pass unseen.
func TestStatusOnly(t *testing.T) {
	lib := newLibrary(t, mixedShapes()...)
	in := randomPairs(lib, 1000, 5, r3.Vec{})
	job := solved(t, lib, in, batch.Options{Query: batch.Collide})
	good := audit(t, job, verify.Options{})
	wantOK(t, good)
	for i, s := range job.Results.Status() {
		job.Results.Status()[i] = uint8(batch.Penetrating) - s // 0 and 2 change places
	}
	job.Results.PackBits(job.Results.Status())
	r := audit(t, job, verify.Options{})
	// Apart and called penetrating: refuted by a plane. Overlapping and called
	// separated: refuted where an inscribed ball shows it, else not proved.
	if got := r.Check("directions"); got.Failed < good.Status.Separated*99/100 {
		t.Errorf("%d of %d separated pairs were refuted as penetrating", got.Failed, good.Status.Separated)
	}
	got := r.Check("separation")
	if got.Failed+r.Unproved != good.Status.Penetrating || got.Failed < good.Status.Penetrating/2 {
		t.Errorf("of %d penetrating pairs called separated %d were refuted and %d unproved", good.Status.Penetrating,
			got.Failed, r.Unproved)
	}

	job = solved(t, lib, in, batch.Options{Query: batch.Collide})
	job.Results.Bits()[3] ^= 1 << 5
	if r := audit(t, job, verify.Options{}); r.Check("bits").Failed != 1 || r.Wrong() != 1 {
		t.Error("a bit that contradicts the status passed")
	}
	// Bits alone: a clear bit must be a separation, a set bit must not be one.
	drop(job, batch.ColStatus)
	job.Results.Bits()[3] ^= 1 << 5
	r = audit(t, job, verify.Options{})
	wantOK(t, r)
	if r.Check("bits").Skipped != in.Len() || r.Check("directions").Ran == 0 || r.Check("separation").Ran == 0 {
		t.Error("bits alone were not audited")
	}
	for k := range job.Results.Bits() {
		job.Results.Bits()[k] = ^uint64(0)
	}
	if r := audit(t, job, verify.Options{}); r.Wrong() < good.Status.Separated*99/100 {
		t.Errorf("all bits set: %d wrong, want about %d", r.Wrong(), good.Status.Separated)
	}
}

// mixedShapes are two or more of every kind, sizes 0.1 to 1, the last a half-space.
func mixedShapes() []geom.Shape {
	return []geom.Shape{
		geom.Sphere{R: 0.4}, geom.Sphere{R: 0.9},
		geom.Capsule{R: 0.2, HalfLength: 0.5},
		geom.Cylinder{R: 0.3, HalfLength: 0.6},
		geom.Cone{R: 0.5, HalfLength: 0.4},
		geom.Frustum{RBottom: 0.5, RTop: 0.2, HalfLength: 0.3},
		geom.Box{HalfExtents: r3.Vec{X: 0.2, Y: 0.5, Z: 0.9}},
		geom.Box{HalfExtents: r3.Vec{X: 0.7, Y: 0.6, Z: 0.1}},
		geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.2, Y: 0.5, Z: 0.8}},
		geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.9, Y: 0.3, Z: 0.4}},
		geom.Superquadric{SemiAxes: r3.Vec{X: 0.5, Y: 0.4, Z: 0.7}, Alpha1: 0.8, Alpha2: 1.3},
		geom.WithMargin(geom.Box{HalfExtents: r3.Vec{X: 0.3, Y: 0.3, Z: 0.3}}, 0.05),
		geom.WithMargin(geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.6, Y: 0.3, Z: 0.2}}, 0.1),
		hull(8, 1), hull(64, 2),
		hull(2, 3), hull(3, 4), // a segment and a triangle
		geom.Halfspace{},
	}
}

// hull is the hull of n random points on an ellipsoid.
func hull(n int, seed uint64) geom.Shape {
	return testkit.Hull(rand.New(rand.NewPCG(seed, 3)), r3.Vec{X: 0.3, Y: 0.6, Z: 0.9}, n)
}

// randomPairs places n pairs of the library around the offset, from deep overlap to
// some sizes apart. No pair has two half-spaces.
func randomPairs(lib *batch.Library, n int, seed uint64, offset r3.Vec) *batch.Pairs {
	rng := rand.New(rand.NewPCG(seed, 1))
	in := batch.NewPairs(n)
	for i := range n {
		var r batch.Row
		r.ShapeA, r.ShapeB = int32(rng.IntN(lib.Len())), int32(rng.IntN(lib.Len()-1))
		if rng.IntN(2) == 0 {
			r.ShapeA, r.ShapeB = r.ShapeB, r.ShapeA
		}
		r.PoseA = geom.Pose{Position: r3.Add(offset, r3.Scale(3, testkit.Unit(rng))), Rotation: testkit.Rotation(rng)}
		away := lib.PairSize(r.ShapeA, r.ShapeB) * 1.3 * rng.Float64()
		r.PoseB = geom.Pose{Position: r3.Add(r.PoseA.Position, r3.Scale(away, testkit.Unit(rng))),
			Rotation: testkit.Rotation(rng)}
		in.SetRow(i, &r)
	}
	return in
}

func newLibrary(t testing.TB, shapes ...geom.Shape) *batch.Library {
	t.Helper()
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	return lib
}

// solved returns the job with the answers of the CPU back end.
func solved(t testing.TB, lib *batch.Library, in batch.Input, o batch.Options) *batch.Job {
	t.Helper()
	job := &batch.Job{Library: lib, Input: in, Options: o, Results: batch.NewResults(in.Len(), &o)}
	backend, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer backend.Close()
	if err := backend.Run(context.Background(), job, 0, in.Len(), job.Results); err != nil {
		t.Fatal(err)
	}
	if job.Results.Bits() != nil && job.Results.Status() != nil {
		job.Results.PackBits(job.Results.Status())
	}
	return job
}

// closed is a pair whose answer is known, in the frame of A at the origin.
type closed struct {
	name     string
	a, b     geom.Shape
	at       r3.Vec // position of B
	distance float64
	normal   r3.Vec
	wa       r3.Vec // a witness on A
}

// closedForms are pairs along axes, of each sign, with their exact answers.
func closedForms() []closed {
	x, z := r3.Vec{X: 1}, r3.Vec{Z: 1}
	ball, small := geom.Sphere{R: 1}, geom.Sphere{R: 0.5}
	cube := geom.Box{HalfExtents: r3.Vec{X: 1, Y: 1, Z: 1}}
	slab := geom.Box{HalfExtents: r3.Vec{X: 0.5, Y: 2, Z: 1}}
	return []closed{
		{"spheres separated", ball, small, r3.Vec{X: 2}, 0.5, x, x},
		{"spheres touching", ball, small, r3.Vec{X: 1.5}, 0, x, x},
		{"spheres penetrating", ball, small, r3.Vec{X: 1.25}, -0.25, x, x},
		{"boxes separated", cube, slab, r3.Vec{X: 2, Y: 0.25}, 0.5, x, r3.Vec{X: 1, Y: 0.5}},
		{"boxes touching", cube, slab, r3.Vec{X: 1.5, Y: 0.25}, 0, x, r3.Vec{X: 1, Y: 0.5}},
		{"boxes penetrating", cube, slab, r3.Vec{X: 1.25, Y: 0.25}, -0.25, x, r3.Vec{X: 1, Y: 0.5}},
		{"box above plane", geom.Halfspace{}, slab, r3.Vec{X: 3, Z: 1.25}, 0.25, z, r3.Vec{X: 3}},
		{"sphere above plane", geom.Halfspace{}, small, r3.Vec{X: 3, Z: 0.75}, 0.25, z, r3.Vec{X: 3}},
		{"sphere on plane", geom.Halfspace{}, small, r3.Vec{X: 3, Z: 0.5}, 0, z, r3.Vec{X: 3}},
		{"sphere in plane", geom.Halfspace{}, small, r3.Vec{X: 3, Z: 0.25}, -0.25, z, r3.Vec{X: 3}},
	}
}

// closedJob writes the closed forms into a job by hand, gap included.
func closedJob(t testing.TB, precision batch.Precision, offset r3.Vec) (*batch.Job, []closed) {
	t.Helper()
	cases := closedForms()
	var shapes []geom.Shape
	in := batch.NewPairs(len(cases))
	rng := rand.New(rand.NewPCG(5, 5))
	o := batch.Options{Precision: precision, Columns: batch.FileColumns}
	res := batch.NewResults(len(cases), &o)
	for i, c := range cases {
		q := testkit.Rotation(rng)
		pose := geom.Pose{Position: offset, Rotation: q}
		pose, err := pose.Normalized()
		if err != nil {
			t.Fatal(err)
		}
		row := batch.Row{ShapeA: int32(2 * i), ShapeB: int32(2*i + 1), PoseA: pose, PoseB: pose}
		row.PoseB.Position = pose.Apply(c.at)
		in.SetRow(i, &row)
		shapes = append(shapes, c.a, c.b)

		m := pose.Matrix()
		a := batch.Answer{Distance: c.distance, Normal: m.MulVec(c.normal), Iterations: 1, Solver: batch.SolverGJK}
		if max(c.a.Kind(), c.b.Kind()) == geom.KindHalfspace {
			a.Solver = batch.SolverClosedForm
		}
		a.WitnessA = pose.Apply(c.wa)
		a.WitnessB = r3.Add(a.WitnessA, r3.Scale(c.distance, a.Normal))
		// Half of the tolerance at most: a part of its own, and eps·|offset| for
		// each of the two positions that the offset rounds.
		size := c.b.BoundingRadius()
		if c.a.Kind() != geom.KindHalfspace {
			size += c.a.BoundingRadius()
		}
		half := 0.25e-6 * size
		if precision == batch.Double {
			half = 0.25e-12 * size
		}
		half += 0x1p-52 * r3.Norm(offset)
		a.Lower, a.Upper = c.distance-half, c.distance+half
		switch {
		case c.distance > 0:
			a.Status = batch.Separated
		case c.distance < 0:
			a.Status = batch.Penetrating
		default:
			a.Status = batch.Touching
		}
		res.Put(i, &a)
	}
	job := &batch.Job{Library: newLibrary(t, shapes...), Input: in, Options: o, Results: res}
	return job, cases
}

func offsetKm() r3.Vec { return r3.Vec{X: 600, Y: -700, Z: 400 * math.Sqrt2} }
