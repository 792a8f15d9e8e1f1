package rollout

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"clearance/batch"
	"clearance/cpu"
	"clearance/dispatch"
	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/spatial/r3"
)

// dispatcher returns the back ends cpu and ref.
func dispatcher(t testing.TB) *dispatch.Dispatcher {
	t.Helper()
	c, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := dispatch.New(c, cpu.NewReference())
	t.Cleanup(func() { d.Close() })
	return d
}

// table returns bodies of 1 to 4 parts, of every family that the kernels know.
func table(t testing.TB, rng *rand.Rand) *batch.Bodies {
	t.Helper()
	shapes := []geom.Shape{
		geom.Sphere{R: 0.1}, geom.Capsule{R: 0.05, HalfLength: 0.3},
		geom.Box{HalfExtents: r3.Vec{X: 0.2, Y: 0.05, Z: 0.3}},
		geom.Cylinder{R: 0.1, HalfLength: 0.2}, geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.1, Y: 0.2, Z: 0.15}},
		geom.WithMargin(testkit.Hull(rng, r3.Vec{X: 0.2, Y: 0.1, Z: 0.15}, 32), 0.02),
		geom.Cone{R: 0.1, HalfLength: 0.15}, geom.Halfspace{},
	}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	half := int32(len(shapes) - 1)
	var bodies []batch.Body
	for i := range half {
		bodies = append(bodies, batch.Body{Parts: []batch.Part{{Shape: i, Pose: geom.IdentityPose()}}})
	}
	for n := 2; n <= 4; n++ {
		var b batch.Body
		for range n {
			b.Parts = append(b.Parts, batch.Part{Shape: rng.Int32N(half), Pose: testkit.Pose(rng, 0.2)})
		}
		bodies = append(bodies, b)
	}
	ground := batch.Part{Shape: half, Pose: geom.Translate(0, 0, -1)}
	bodies = append(bodies, batch.Body{Name: "ground", Parts: []batch.Part{ground}})
	table, err := batch.NewBodies(lib, bodies)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// scene returns random worlds of the bodies: one list for all worlds, or one for each with absent bodies.
func scene(rng *rand.Rand, bodies *batch.Bodies, worlds, m, pairs int, perWorld bool) *batch.Worlds {
	w := &batch.Worlds{}
	lists := 1
	if perWorld {
		w.M, lists = m, worlds
	}
	ground := int32(bodies.Len() - 1)
	for range lists {
		for k := range m {
			b := rng.Int32N(ground)
			switch {
			case k == 0:
				b = ground
			case perWorld && rng.IntN(8) == 0:
				b = batch.Absent
			}
			w.Bodies = append(w.Bodies, b)
		}
	}
	for range worlds {
		for k := range m {
			p := testkit.Pose(rng, 0.6)
			if k == 0 {
				p = geom.Rotate(testkit.Unit(rng), 0.1)
			}
			w.Poses = appendPose(w.Poses, &p)
		}
	}
	for range pairs {
		a := rng.Int32N(int32(m))
		b := rng.Int32N(int32(m - 1))
		if b >= a {
			b++
		}
		w.TemplateA, w.TemplateB = append(w.TemplateA, a), append(w.TemplateB, b)
	}
	return w
}

// answered is a row of an expected result, from its own pair list.
type answered struct {
	status       batch.Status
	distance     float64
	lower, upper float64
	partA, partB int32
	row          int // of the pair list
	absent       bool
}

// expanded answers every pair of parts as a pair list on a back end and reduces the answers by pair of bodies.
func expanded(t testing.TB, d *dispatch.Dispatcher, bodies *batch.Bodies, w *batch.Worlds, o *Options, backend string) (
	[]answered, *batch.Results) {
	t.Helper()
	var rows []batch.Row
	var of [][3]int // row of the scene, parts
	n := w.Len()
	expect := make([]answered, n)
	for i := range expect {
		world, p := i/len(w.TemplateA), i%len(w.TemplateA)
		a, b := w.Body(world, w.TemplateA[p]), w.Body(world, w.TemplateB[p])
		inf := math.Inf(1)
		expect[i] = answered{distance: inf, lower: inf, upper: inf, partA: -1, partB: -1, row: -1}
		if a == batch.Absent || b == batch.Absent {
			expect[i].absent = true
			continue
		}
		for x, pa := range bodies.Parts(a) {
			for y, pb := range bodies.Parts(b) {
				rows = append(rows, batch.Row{
					ShapeA: pa.Shape, PoseA: bodies.PartPose(a, x, w.Pose(world, w.TemplateA[p])),
					ShapeB: pb.Shape, PoseB: bodies.PartPose(b, y, w.Pose(world, w.TemplateB[p])),
				})
				of = append(of, [3]int{i, x, y})
			}
		}
	}
	list := batch.NewPairs(len(rows))
	for i := range rows {
		list.SetRow(i, &rows[i])
	}
	q := ofParts(o)
	job := &batch.Job{Library: bodies.Library(), Input: list, Options: q}
	if _, err := d.Run(t.Context(), job, dispatch.Options{Backend: backend}); err != nil {
		t.Fatal(err)
	}
	res := job.Results
	for k, at := range of {
		e, s := &expect[at[0]], batch.Status(res.Status()[k])
		if s == batch.Undecided || s == batch.Invalid || e.status == batch.Undecided || e.status == batch.Invalid {
			e.status = max(e.status, s)
			continue
		}
		e.status = max(e.status, s)
		if res.Distance().Len() == 0 {
			continue
		}
		v, g := res.Distance().At(k), float64(res.Gap()[k])
		if v < e.distance {
			e.distance, e.partA, e.partB, e.row = v, int32(at[1]), int32(at[2]), k
		}
		e.lower, e.upper = min(e.lower, v-g), min(e.upper, v+g)
	}
	return expect, res
}

// roundOff bounds what an interval stored in single precision may be off.
func roundOff(o *Options, x float64) float64 {
	if o.Precision == batch.Single {
		return 0x1p-22 * math.Abs(x)
	}
	return 0x1p-50 * math.Abs(x)
}

// checkRows compares a rollout of rows with the expected ones: in every bit where the same pairs of parts decide,
// by bounds elsewhere.
func checkRows(t *testing.T, got *Results, want []answered, list *batch.Results, o *Options) {
	t.Helper()
	culled := 0
	for i := range want {
		e, s := &want[i], batch.Status(got.Status()[i])
		if s != e.status {
			t.Fatalf("row %d is %v, want %v", i, s, e.status)
		}
		if e.absent {
			if got.Distance().Len() > 0 && (!math.IsInf(got.Distance().At(i), 1) || got.Gap()[i] != 0) ||
				got.PartA[i] != -1 {
				t.Fatalf("row %d of an absent body: %v ± %v", i, got.Distance().At(i), got.Gap()[i])
			}
			continue
		}
		if got.Distance().Len() == 0 {
			continue
		}
		d, gap := got.Distance().At(i), float64(got.Gap()[i])
		slack := roundOff(o, max(math.Abs(d), math.Abs(e.lower), math.Abs(e.upper)))
		if !(d-gap <= e.upper+slack) || !(d+gap >= e.lower-slack) || math.IsInf(d, 0) {
			t.Fatalf("row %d: %v ± %v, want [%v, %v]", i, d, gap, e.lower, e.upper)
		}
		if batch.Solver(got.Method()[i]) == batch.SolverBounds {
			culled++
			if s != batch.Separated || !(d-gap > -slack) || got.PartA[i] != -1 {
				t.Fatalf("row %d: %v, %v ± %v, part %d by bounds", i, s, d, gap, got.PartA[i])
			}
			continue
		}
		if s != batch.Separated || e.distance <= threshold(o) || o.NoCulling {
			if d != e.distance || got.PartA[i] != e.partA || got.PartB[i] != e.partB {
				t.Fatalf("row %d: %v of parts %d, %d, want %v of %d, %d", i, d, got.PartA[i], got.PartB[i], e.distance,
					e.partA, e.partB)
			}
			for j := range 3 {
				if got.WitnessA().At(3*i+j) != list.WitnessA().At(3*e.row+j) ||
					got.Normal().At(3*i+j) != list.Normal().At(3*e.row+j) {
					t.Fatalf("row %d: other witness or normal", i)
				}
			}
			if o.Query != batch.Distance && !o.NoCulling {
				continue // the bounds of solvers are wide where a status is enough, and culling may have better ones
			}
			if !(d-gap <= e.lower+slack*1e-3) || !(d+gap >= e.upper-slack*1e-3) ||
				gap > max(d-e.lower, e.upper-d)+slack {
				t.Fatalf("row %d: %v ± %v is not [%v, %v]", i, d, gap, e.lower, e.upper)
			}
		}
	}
	if o.HasMaxDistance && !o.NoCulling && culled == 0 {
		t.Error("nothing was culled")
	}
}

// checkWorlds compares a reduction with the rows of the same query.
func checkWorlds(t *testing.T, got *Results, want []answered, pairs int, o *Options) {
	t.Helper()
	for w := range got.N {
		rows := want[w*pairs : (w+1)*pairs]
		least, contacts, failed := -1, int32(0), int32(0)
		var status batch.Status
		lower, upper := math.Inf(1), math.Inf(1)
		for p := range rows {
			e := &rows[p]
			switch {
			case e.absent:
				continue
			case e.status >= batch.Undecided:
				failed++
			case e.status != batch.Separated:
				contacts++
			}
			status = max(status, e.status)
			lower, upper = min(lower, e.lower), min(upper, e.upper)
			if least < 0 || e.distance < rows[least].distance {
				least = p
			}
		}
		any := AnyNone
		if failed > 0 {
			any = AnyUnknown
		}
		if contacts > 0 {
			any = AnyContact
		}
		if s := batch.Status(got.Status()[w]); s != status || got.Any[w] != any || got.Failed[w] != failed {
			t.Fatalf("world %d: %v, any %d, %d failed, want %v, %d, %d", w, s, got.Any[w], got.Failed[w], status, any,
				failed)
		}
		if got.ContactsComplete && got.Contacts[w] != contacts || got.Contacts[w] > contacts {
			t.Fatalf("world %d: %d contacts, want %d", w, got.Contacts[w], contacts)
		}
		if got.Distance().Len() == 0 || least < 0 {
			continue
		}
		d, gap := got.Distance().At(w), float64(got.Gap()[w])
		slack := roundOff(o, d)
		if !(d-gap <= upper+slack) || !(d+gap >= lower-slack) {
			t.Fatalf("world %d: %v ± %v, want [%v, %v]", w, d, gap, lower, upper)
		}
		if e := &rows[least]; e.distance <= threshold(o) || o.NoCulling {
			if d != e.distance || int(got.Pair[w]) != least || got.PartA[w] != e.partA || got.PartB[w] != e.partB {
				t.Fatalf("world %d: %v of pair %d, parts %d, %d, want %v of %d, %d, %d", w, d, got.Pair[w],
					got.PartA[w], got.PartB[w], e.distance, least, e.partA, e.partB)
			}
		}
	}
}

// variants are the options under which answers are compared.
func variants() (list []Options) {
	all := batch.AllColumns | batch.ColMethod
	for _, precision := range []batch.Precision{batch.Single, batch.Double} {
		for _, reduce := range []Reduce{ReduceNone, ReduceWorld} {
			for _, o := range []Options{
				{Options: batch.Options{Columns: all}, NoCulling: true},
				{Options: batch.Options{Columns: all}},
				{Options: batch.Options{Columns: all}, MaxDistance: 0.1, HasMaxDistance: true},
				{Options: batch.Options{Query: batch.Penetration, Columns: all}},
				{Options: batch.Options{Query: batch.Collide}},
				{Options: batch.Options{Query: batch.Collide, Columns: all}},
			} {
				o.Precision, o.Reduce = precision, reduce
				list = append(list, o)
			}
		}
	}
	return list
}

// TestPairList: a rollout is the pair list of its parts, reduced.
func TestPairList(t *testing.T) {
	d := dispatcher(t)
	for _, perWorld := range []bool{false, true} {
		rng := rand.New(rand.NewPCG(1, 2))
		bodies := table(t, rng)
		w := scene(rng, bodies, 60, 9, 24, perWorld)
		for _, o := range variants() {
			backends := []string{"cpu"}
			if o.Precision == batch.Single {
				backends = append(backends, "ref")
			}
			for _, backend := range backends {
				want, list := expanded(t, d, bodies, w, &o, backend)
				for _, block := range []int{0, 1, 300} {
					for _, workers := range []int{1, 3} {
						o.BlockPairs, o.Workers = block, workers
						name := fmt.Sprintf("%v %v reduce=%v max=%v columns=%v culled=%v %s list=%v %d workers=%d",
							o.Query, o.Precision, o.Reduce, o.HasMaxDistance, o.Columns, !o.NoCulling, backend,
							perWorld, block, workers)
						t.Run(name, func(t *testing.T) {
							job := &Job{Bodies: bodies, Worlds: w, Options: o}
							rep, err := Run(t.Context(), d, job, dispatch.Options{Backend: backend})
							if err != nil {
								t.Fatal(err)
							}
							if o.Reduce == ReduceWorld {
								checkWorlds(t, job.Results, want, len(w.TemplateA), &o)
							} else {
								checkRows(t, job.Results, want, list, &o)
							}
							if rep.Done != job.Results.N || rep.Worlds != w.Count() {
								t.Errorf("report %+v", rep)
							}
						})
					}
				}
			}
		}
	}
}

// TestStep: steps into results of the caller have the answers of Update and Run, and leave the batch's own alone.
func TestStep(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 7))
	bodies, d := table(t, rng), dispatcher(t)
	for _, o := range []Options{{}, {Reduce: ReduceWorld}} {
		o.MaxDistance, o.HasMaxDistance = 0.5, true
		w := scene(rng, bodies, 20, 6, 9, false)
		b, err := Hold(d, bodies, w, o, dispatch.Options{})
		if err != nil {
			t.Fatal(err)
		}
		moved := *w
		moved.Poses = slices.Clone(w.Poses)
		for i := 0; i < len(moved.Poses); i += 7 {
			moved.Poses[i] += 0.1
		}
		first, _, err := b.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		before := slices.Clone(first.Distance().F32)
		out := NewResults(first.N, &o)
		rep, err := b.Step(t.Context(), &moved, out)
		if err != nil || rep.Done != first.N {
			t.Fatal(rep.Done, err)
		}
		if !sameBits(first.Distance().F32, before) {
			t.Error("the results of the batch changed")
		}
		if again, _, _ := b.Run(t.Context()); !sameBits(again.Distance().F32, before) {
			t.Error("the batch kept the worlds of the step")
		}
		if err := b.Update(&moved); err != nil {
			t.Fatal(err)
		}
		want, _, err := b.Run(t.Context())
		if err != nil || !sameBits(out.Distance().F32, want.Distance().F32) || !slices.Equal(out.Status(),
			want.Status()) ||
			!slices.Equal(out.PartA, want.PartA) || !slices.Equal(out.Pair, want.Pair) {
			t.Error("the answers of a step are not those of Update and Run", err)
		}
		bad := NewResults(first.N+1, &o)
		if _, err := b.Step(t.Context(), &moved, bad); err == nil {
			t.Error("results of another size were accepted")
		}
		if _, err := b.Step(t.Context(), &moved, &Results{Results: &batch.Results{}}); err == nil {
			t.Error("results without columns were accepted")
		}
	}
}

// sameBits compares floats; NaN is equal to NaN.
func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return x == y || x != x && y != y })
}

// TestStepsHoldNoResults: a batch that answers steps into results of its caller takes no memory for a row of its own.
func TestStepsHoldNoResults(t *testing.T) {
	d := dispatcher(t)
	bodies, w := arm(t, 4000)
	o := Options{Options: batch.Options{Columns: batch.ColDistance}, MaxDistance: 0.1, HasMaxDistance: true,
		BlockPairs: 1000, Workers: 1}
	heap := func() float64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	warm := &Job{Bodies: bodies, Worlds: w, Options: o}
	if _, err := Run(t.Context(), d, warm, dispatch.Options{Backend: "cpu"}); err != nil {
		t.Fatal(err) // tables and workers of the back end, which stay
	}
	for name, columns := range map[string]batch.Columns{"with statuses": batch.ColStatus, "without": 0} {
		o.Columns = batch.ColDistance | batch.ColGap | columns
		out := NewResults(w.Len(), &o)
		warm.Results = nil
		before := heap()
		h, err := Hold(d, bodies, w, o, dispatch.Options{Backend: "cpu"})
		if err != nil {
			t.Fatal(err)
		}
		opened := heap()
		if _, err := h.Step(t.Context(), w, out); err != nil {
			t.Fatal(err)
		}
		stepped := heap()
		rows := float64(w.Len())
		perRow := [2]float64{(opened - before) / rows, (stepped - before) / rows}
		t.Logf("%s: %.2f bytes per row", name, perRow)
		if perRow[0] > 1 || perRow[1] > 3 { // blocks, and at most a status of each row
			t.Errorf("%s: %.2f bytes per row after Hold and after a step, beside the results", name, perRow)
		}
		if h.Len() != w.Len() {
			t.Errorf("%d rows, want %d", h.Len(), w.Len())
		}
		runtime.KeepAlive(h)
		runtime.KeepAlive(out)
	}
}
