package audit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"clearance/batch"
	"clearance/cpu"
	"clearance/dispatch"
	"clearance/geom"
	"clearance/internal/testkit"
	"clearance/rollout"
	"clearance/rollout/sweep"
	"clearance/tests/need"

	"gonum.org/v1/gonum/spatial/r3"
)

// sweptJob answers motions of bodies of one and of two parts, one of them absent, one with an invalid pose.
func sweptJob(t *testing.T, o sweep.Options, seed uint64, worlds int) *rollout.SweepJob {
	t.Helper()
	rng := rand.New(rand.NewPCG(45, seed))
	lib, err := batch.NewLibrary([]geom.Shape{geom.Sphere{R: 0.4},
		geom.Box{HalfExtents: r3.Vec{X: 0.2, Y: 0.3, Z: 0.4}},
		geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.3, Y: 0.1, Z: 0.2}}, geom.Halfspace{}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	bodies, err := batch.NewBodies(lib, []batch.Body{{Parts: []batch.Part{{Shape: 0, Pose: geom.IdentityPose()}}},
		{Parts: []batch.Part{{Shape: 1, Pose: geom.IdentityPose()}, {Shape: 2, Pose: testkit.Pose(rng, 0.5)}}},
		{Parts: []batch.Part{{Shape: 3, Pose: geom.IdentityPose()}}}})
	if err != nil {
		t.Fatal(err)
	}
	m := &batch.Motions{T: 3, M: 3, TemplateA: []int32{0, 1}, TemplateB: []int32{1, 2}}
	for world := range worlds {
		m.Bodies = append(m.Bodies, 0, 1, 1)
		switch {
		case world == 7:
			m.Bodies[3*world] = batch.Absent
		case world%4 == 3:
			m.Bodies[3*world] = 2
		}
		for range m.T * m.M {
			p := testkit.Pose(rng, 1.8)
			m.Poses = append(m.Poses, p.Position.X, p.Position.Y, p.Position.Z, p.Rotation.Real, p.Rotation.Imag,
				p.Rotation.Jmag, p.Rotation.Kmag)
		}
	}
	m.Poses[7*3*3*5] = math.NaN()
	c, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := dispatch.New(c)
	defer d.Close()
	job := &rollout.SweepJob{Bodies: bodies, Motions: m, Options: o}
	if _, err := rollout.Sweep(t.Context(), d, job, dispatch.Options{}); err != nil {
		t.Fatal(err)
	}
	return job
}

// sweepWrong is the number of rows of a job that the audit of all rows does not accept.
func sweepWrong(t *testing.T, job *rollout.SweepJob) (int, *Sweep) {
	t.Helper()
	a, s := new(Sweep), &Sample{Pairs: All}
	if err := a.run(t.Context(), job, s, s.rowsOf(job.Results.N)); err != nil {
		t.Fatal(err)
	}
	return a.Refuted + a.Undecided + a.Unproved, a
}

// sweepQuestions are options of sweeps.
func sweepQuestions() []sweep.Options {
	return []sweep.Options{{}, {TimeTolerance: 1e-3}, {MaxDistance: 0.2, HasMaxDistance: true}, {Tolerance: 1e-4}}
}

// TestSweepsHonest: no honest results are refuted, or left unproved but for contacts within the tolerance of the
// least distance.
func TestSweepsHonest(t *testing.T) {
	seeds := uint64(2)
	if need.All() {
		seeds = 100
	}
	rows, unproved, undecided := 0, 0, 0
	for _, o := range sweepQuestions() {
		for seed := range seeds {
			_, a := sweepWrong(t, sweptJob(t, o, seed, 40))
			rows, unproved, undecided = rows+a.Rows, unproved+a.Unproved, undecided+a.Undecided
			if a.Refuted > 0 {
				t.Errorf("%+v, seed %d: %+v", o, seed, a)
			}
		}
	}
	t.Logf("%d rows, %d unproved, %d undecided", rows, unproved, undecided)
	if unproved > rows/1000 || undecided > rows/1000 {
		t.Errorf("%d rows of %d unproved, %d undecided", unproved, rows, undecided)
	}
}

// TestSweepLies: every column of results of sweeps by 1 %, sign, zero, NaN, infinity and swapped rows, of one row and
// of all, is refuted. A smaller lower bound is as true, and evaluations are numbers of which only what is impossible is
// refuted.
func TestSweepLies(t *testing.T) {
	questions, worlds := sweepQuestions()[1:3], 12
	if need.All() {
		questions, worlds = sweepQuestions(), 40
	}
	for k, o := range questions {
		job := sweptJob(t, o, 31, worlds)
		if n, a := sweepWrong(t, job); n != 0 {
			t.Fatalf("%+v: the honest results: %+v", o, a)
		}
		l := &sweepTeller{t: t, job: job, rng: rand.New(rand.NewPCG(45, uint64(k)))}
		r := job.Results
		for _, all := range []bool{false, true} {
			for _, state := range []sweep.State{sweep.Free, sweep.Contact} {
				for name, column := range map[string][]float64{"lower": r.Lower, "upper": r.Upper, "closest": r.Closest,
					"t0": r.T0, "t1": r.T1} {
					l.reals(name, column, state, all)
				}
				for name, column := range map[string][]int32{"part_a": r.PartA, "part_b": r.PartB,
					"evaluations": r.Evaluations} {
					l.ints(name, column, state, all)
				}
				for code := sweep.State(0); code <= sweep.StateCount; code++ {
					if code != state {
						l.tell(fmt.Sprintf("%v claimed of %v", code, state), l.rows(state, all, 1e-3), func(i int) {
							r.State[i] = uint8(code)
						})
					}
				}
			}
		}
		t.Logf("%+v: %d lies", o, l.count)
		if l.count < 60 {
			t.Errorf("%+v: %d lies", o, l.count)
		}
	}
}

// sweepTeller tells lies of results.
type sweepTeller struct {
	t     *testing.T
	job   *rollout.SweepJob
	rng   *rand.Rand
	count int
}

// rows are all rows of a state, or one, with distances and times above a size.
func (l *sweepTeller) rows(state sweep.State, all bool, above float64) (list []int) {
	r := l.job.Results
	for i := range r.N {
		if sweep.State(r.State[i]) == state && (state == sweep.Contact && r.T0[i] > above || state == sweep.Free &&
			r.Lower[i] > above && r.Closest[i] > above) {
			list = append(list, i)
		}
	}
	if len(list) == 0 {
		l.t.Fatalf("no row is %v", state)
	}
	if all {
		return list
	}
	k := l.rng.IntN(len(list))
	return list[k : k+1]
}

// tell changes rows and reports whether the audit believes them.
func (l *sweepTeller) tell(lie string, rows []int, change func(i int)) {
	l.t.Helper()
	r := l.job.Results
	kept := *r
	kept.State, kept.Lower, kept.Upper = slices.Clone(r.State), slices.Clone(r.Lower), slices.Clone(r.Upper)
	kept.Closest, kept.T0, kept.T1 = slices.Clone(r.Closest), slices.Clone(r.T0), slices.Clone(r.T1)
	kept.PartA, kept.PartB = slices.Clone(r.PartA), slices.Clone(r.PartB)
	kept.Evaluations = slices.Clone(r.Evaluations)
	for _, i := range rows {
		change(i)
	}
	l.count++
	if n, _ := sweepWrong(l.t, l.job); n == 0 {
		i := rows[0]
		l.t.Errorf("%+v: %s, %d rows: believed; row %d was %v, lower %g, upper %g at %g, in [%g, %g], parts %d, %d",
			l.job.Options, lie, len(rows), i, sweep.State(kept.State[i]), kept.Lower[i], kept.Upper[i], kept.Closest[i],
			kept.T0[i], kept.T1[i], kept.PartA[i], kept.PartB[i])
	}
	copy(r.State, kept.State)
	copy(r.Lower, kept.Lower)
	copy(r.Upper, kept.Upper)
	copy(r.Closest, kept.Closest)
	copy(r.T0, kept.T0)
	copy(r.T1, kept.T1)
	copy(r.PartA, kept.PartA)
	copy(r.PartB, kept.PartB)
	copy(r.Evaluations, kept.Evaluations)
}

func (l *sweepTeller) reals(name string, column []float64, state sweep.State, all bool) {
	l.t.Helper()
	for _, lie := range []struct {
		name   string
		change func(x float64) float64
	}{{"1 % more", func(x float64) float64 { return 1.01 * x }}, {"twice", func(x float64) float64 { return 2 * x }},
		{"the other sign", func(x float64) float64 { return -x }}, {"zero", func(float64) float64 { return 0 }},
		{"NaN", func(float64) float64 { return math.NaN() }},
		{"infinity", func(float64) float64 { return math.Inf(1) }}} {
		rows := l.rows(state, all, 0.05)
		i := rows[0]
		x, y := column[i], lie.change(column[i])
		switch {
		case x == y, math.IsNaN(x) && math.IsNaN(y):
			continue // no change
		case name == "lower" && y > x && y < l.job.Results.Upper[i]:
			continue // a lower bound may be as good
		case name == "closest" && state == sweep.Contact && y > x && y <= 2:
			continue // a later contact
		}
		l.tell(fmt.Sprintf("%s of %v: %s", name, state, lie.name), rows, func(i int) {
			column[i] = lie.change(column[i])
		})
	}
	rows := l.rows(state, true, 0.05)
	if i, j := rows[0], rows[len(rows)-1]; math.Abs(column[i]-column[j]) > 1e-3 && name != "lower" &&
		!(name == "closest" && state == sweep.Contact) {
		l.tell(fmt.Sprintf("%s of %v: swapped", name, state), []int{i}, func(int) {
			column[i], column[j] = column[j], column[i]
		})
	}
}

func (l *sweepTeller) ints(name string, column []int32, state sweep.State, all bool) {
	l.t.Helper()
	for lie, change := range map[string]func(x int32) int32{"one more": func(x int32) int32 { return x + 1 },
		"-1": func(int32) int32 { return -1 }, "the other": func(x int32) int32 { return 1 - x },
		"zero": func(int32) int32 { return 0 }, "the largest": func(int32) int32 { return math.MaxInt32 },
		"negative": func(x int32) int32 { return -x }} {
		rows := l.rows(state, all, 0.05)
		x := column[rows[0]]
		if y := change(x); x == y || name == "evaluations" && y > 0 || name == "evaluations" && y == 0 &&
			l.job.Options.HasMaxDistance && state == sweep.Free {
			continue
		}
		l.tell(fmt.Sprintf("%s of %v: %s", name, state, lie), rows, func(i int) { column[i] = change(column[i]) })
	}
}
