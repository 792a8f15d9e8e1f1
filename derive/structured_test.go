package derive

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"

	"clearance/batch"
	"clearance/derive/lanes"
	"clearance/geom"
	"clearance/internal/testkit"
	"clearance/ref"

	"gonum.org/v1/gonum/spatial/r3"
)

// tight answers a pair by the reference, with a gap of 1e-12 of its size.
func tight(a, b geom.Shape, poseA, poseB geom.Pose) Row {
	p := ref.NewPair(a, b, poseA, poseB)
	r := ref.Solve(&p, ref.Options{Tolerance: 1e-12 * p.Size()}, &ref.Workspace{})
	return rowOf(a, b, poseA, poseB, &p, &r)
}

var (
	structuredPoses = flag.Int("structured.poses", 800, "poses of TestStructured")
	structuredFirst = flag.Int("structured.first", 0, "number of the block of 400 poses that it begins with")
)

// TestStructured draws poses with symmetries of all kinds with all kinds, and looks at each in several frames of the
// world. The flags of signed and growth distances, exact, smoothed and of order zero, are the same in all frames, in Go
// and by the kernel; no row counts as smooth or unique where the one-sided derivatives of the distance differ; no
// derivative is NaN or large.
func TestStructured(t *testing.T) {
	names, shapes := testkit.StructuredShapes()
	answers := answersOf(t, "cpu")
	const block = 400
	tally := map[Smoothness]int{}
	for seed := 0; seed*block < *structuredPoses; seed++ {
		c := structured{t: t, names: names, shapes: shapes, answers: answers, tally: tally}
		c.number = *structuredFirst + seed
		c.check(min(block, *structuredPoses-seed*block))
	}
	t.Logf("%d poses: %v", *structuredPoses, tally)
}

// structured is TestStructured of a block of poses.
type structured struct {
	t       *testing.T
	names   []string
	shapes  []geom.Shape
	answers batch.Answers // of the samples of order zero
	number  int           // of the block
	tally   map[Smoothness]int
}

func (c *structured) check(n int) {
	t := c.t
	names, shapes := c.names, c.shapes
	rng := rand.New(rand.NewPCG(45, uint64(c.number)))
	var w Workspace
	var pairs []testkit.Structured
	var distances, growths [testkit.WorldFrames][]Row // of the pairs
	for i := range n {
		s := testkit.DrawStructured(rng, names, shapes)
		a, b := shapes[s.A], shapes[s.B]
		pairs = append(pairs, s)
		for k, frame := range testkit.WorldPoses(rng) {
			poseA, poseB := s.In(frame)
			r := solve(a, b, poseA, poseB)
			distances[k] = append(distances[k], r)
			growths[k] = append(growths[k], solveGrowth(a, b, poseA, poseB))
			if k > 0 {
				continue
			}
			if d := w.Exact(&r); d.Smoothness().Full() {
				if kink := oneSided(&r, &d); kink > 1e-3 {
					t.Errorf("pose %d of block %d, %s: %v, and one-sided derivatives of the distance differ by %g", i,
						c.number, s.Name, d.Smoothness(), kink)
				}
			}
		}
	}
	for _, frames := range [][testkit.WorldFrames][]Row{distances, growths} {
		for _, o := range []Options{{}, {Mode: Gumbel}, {Mode: Gaussian, Samples: 8}, {Mode: Zeroth, Samples: 3}} {
			c.checkFlags(&frames, o, pairs)
		}
	}
}

// checkFlags compares the flags of rows in the frames, and looks at their derivatives.
func (c *structured) checkFlags(frames *[testkit.WorldFrames][]Row, o Options, pairs []testkit.Structured) {
	t := c.t
	var flags [testkit.WorldFrames][]uint8
	for k, rows := range frames {
		pass := Pass{Options: o}
		if o.Mode == Zeroth {
			pass.Answers = c.answers
		}
		job := jobOf(t, rows, batch.Double)
		got := compareFlags(t, job, pass)
		if o.Mode == Zeroth && k == 0 {
			checkDeterministic(t, job, pass)
		}
		flags[k] = got.Column(batch.ColSmoothness).U8
		for i := range rows {
			flag := Smoothness(flags[k][i])
			c.tally[flag]++
			if flags[k][i] != flags[0][i] {
				t.Errorf("pose %d of block %d, %s, growth %v, %v: %v, in another frame %v", i, c.number, pairs[i].Name,
					rows[i].Growth, o.Mode, flag, Smoothness(flags[0][i]))
			}
			limit := 4 * largestResponse
			if o.Mode == Zeroth { // a point on a plane has no size, by which lengths are displaced
				limit = math.MaxFloat64
			}
			if m := largestOf(got, i, rows[i].problem().size); !(m <= limit) {
				t.Errorf("pose %d of block %d, %s, growth %v, %v: %v with a derivative of %g", i, c.number,
					pairs[i].Name, rows[i].Growth, o.Mode, flag, m)
			}
		}
	}
}

// checkDeterministic asks that estimates have the same bits for any number of goroutines, and of a part of the rows.
func checkDeterministic(t *testing.T, job *batch.Job, pass Pass) {
	t.Helper()
	n := job.Results.N
	half := n / 2
	part := *job
	part.Input, part.Results = job.Input.(*batch.Pairs).Slice(half, n), job.Results.Slice(half, n)
	want, got := newDerivatives(n, batch.DerivedColumns), newDerivatives(n-half, batch.DerivedColumns)
	pass.Workers = 1
	if err := pass.Run(t.Context(), job, want); err != nil {
		t.Fatal(err)
	}
	pass.Workers, pass.FirstRow = 3, uint64(half)
	if err := pass.Run(t.Context(), &part, got); err != nil {
		t.Fatal(err)
	}
	for i := range got.N {
		if diff := want.Differs(half+i, got, i); diff != 0 {
			t.Errorf("row %d of order zero: %v depends on the number of goroutines, or of rows", half+i, diff)
		}
	}
}

// compareFlags takes the derivatives of a job in Go, and asks that the kernel has the same flags.
func compareFlags(t *testing.T, job *batch.Job, pass Pass) *batch.Results {
	t.Helper()
	n := job.Results.N
	want, got := newDerivatives(n, batch.DerivedColumns), newDerivatives(n, batch.ColSmoothness|batch.ColCurvature)
	pass.variant = "off"
	if err := pass.Run(t.Context(), job, want); err != nil {
		t.Fatal(err)
	}
	for _, variant := range lanes.Variants() {
		pass.variant = variant
		if err := pass.Run(t.Context(), job, got); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			a, b := want.Column(batch.ColSmoothness).U8[i], got.Column(batch.ColSmoothness).U8[i]
			if a != b {
				var row batch.Row
				job.Input.Row(i, &row)
				t.Errorf("row %d (%v and %v at %g), %v, %s: %v, in Go %v", i,
					job.Library.Shape(row.ShapeA).Kind(), job.Library.Shape(row.ShapeB).Kind(),
					job.Results.Distance().At(i), pass.Mode, variant, Smoothness(b), Smoothness(a))
			}
		}
	}
	return want
}

// largestOf returns the largest derivative of the normal or a witness of a row, in units of the size, NaN if one is.
func largestOf(d *batch.Results, i int, size float64) (m float64) {
	for _, c := range [...]batch.Columns{batch.ColDNormal, batch.ColDWitnessA, batch.ColDWitnessB} {
		for k, v := range d.Column(c).F64[36*i : 36*i+36] {
			if k%6 < 3 { // by a length
				v *= size
			}
			if c != batch.ColDNormal {
				v /= size
			}
			if v = math.Abs(v); !(v <= m) && !(size == 0) { // a point that grows into a half-space has no size
				m = v
			}
		}
	}
	for _, v := range d.Column(batch.ColDDistance).F64[12*i : 12*i+12] {
		if math.IsNaN(v) {
			m = v
		}
	}
	return m
}

// oneSided returns the largest difference of the one-sided derivatives of the distance.
func oneSided(r *Row, d *Derivative) (worst float64) {
	g := d.Value()
	size := max(d.p.size, 1e-3) // that of a point in a plane is rounding
	for k := range 6 {
		found := math.Inf(1)
		for _, h := range []float64{1e-5, 1e-6, 1e-7, 1e-8} {
			h *= size
			var t Twists
			t[6+k] = 1
			if k >= 3 {
				t[6+k] = 1 / size
			}
			up := tight(r.A, r.B, r.PoseA, moved(r.PoseB, &t, 6, h))
			down := tight(r.A, r.B, r.PoseA, moved(r.PoseB, &t, 6, -h))
			at := tight(r.A, r.B, r.PoseA, r.PoseB)
			if !up.Answered || !down.Answered || !at.Answered {
				continue
			}
			want := g[6+k] * t[6+k]
			differ := max(math.Abs((up.Value-at.Value)/h-want), math.Abs((at.Value-down.Value)/h-want))
			if otherBeyond(d, &up) || otherBeyond(d, &down) {
				differ = 0
			}
			found = min(found, differ)
		}
		if !math.IsInf(found, 1) {
			worst = max(worst, found)
		}
	}
	return worst
}

// otherBeyond reports whether an answer beside the pose of d has the normal of another minimum, which at the pose of d
// is higher by more than the tolerance.
func otherBeyond(d *Derivative, r *Row) bool {
	if d.s.value > 0 || r3.Dot(d.s.n, r.Normal) > 0.9999 || d.p.a.unbounded || d.p.b.unbounded {
		return false
	}
	f := (&Workspace{}).minimaOf(&d.p, r.Normal)
	h := r3.Dot(f.support(r.Normal), r.Normal) + f.rollA + f.rollB + d.p.a.radius + d.p.b.radius
	return h > -d.s.value+equalTolerance*d.p.size
}
