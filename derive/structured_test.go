package derive

import (
	"flag"
	"fmt"
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

var structuredPoses = flag.Int("structured.poses", 800, "poses of TestStructured")

// TestStructured draws poses with symmetries of all kinds with all kinds, and looks at each in several frames of the
// world. The flags of signed and growth distances, exact and smoothed, are the same in all frames, in Go and by the
// kernel; no row counts as smooth or unique where the one-sided derivatives of the distance differ; no derivative is
// NaN or large.
func TestStructured(t *testing.T) {
	names, shapes := testkit.StructuredShapes()
	const block = 400
	for seed := 0; seed*block < *structuredPoses; seed++ {
		rng := rand.New(rand.NewPCG(45, uint64(seed)))
		checkStructured(t, rng, names, shapes, min(block, *structuredPoses-seed*block))
	}
}

// checkStructured is TestStructured of n poses.
func checkStructured(t *testing.T, rng *rand.Rand, names []string, shapes []geom.Shape, n int) {
	t.Helper()
	var w Workspace
	var pairs []testkit.Structured
	var distances, growths [testkit.WorldFrames][]Row // of the pairs
	for range n {
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
					t.Errorf("%s: %v, and one-sided derivatives of the distance differ by %g", s.Name, d.Smoothness(),
						kink)
				}
			}
		}
	}
	for _, frames := range [][testkit.WorldFrames][]Row{distances, growths} {
		for _, o := range []Options{{}, {Mode: Gumbel}, {Mode: Gaussian, Samples: 8}} {
			var first []uint8
			for k, rows := range frames {
				got := compareFlags(t, jobOf(t, rows, batch.Double), o)
				flags := got.Column(batch.ColSmoothness).U8
				if k == 0 {
					first = flags
				}
				for i := range rows {
					name := fmt.Sprintf("%s, growth %v, %v", pairs[i].Name, rows[i].Growth, o.Mode)
					if flags[i] != first[i] {
						t.Errorf("%s: %v, in another frame %v", name, Smoothness(flags[i]), Smoothness(first[i]))
					}
					if m := largestOf(got, i, rows[i].problem().size); !(m <= 4*largestResponse) {
						t.Errorf("%s: %v with a derivative of %g", name, Smoothness(flags[i]), m)
					}
				}
			}
		}
	}
}

// compareFlags takes the derivatives of a job in Go, and asks that the kernel has the same flags.
func compareFlags(t *testing.T, job *batch.Job, o Options) *batch.Results {
	t.Helper()
	n := job.Results.N
	want, got := newDerivatives(n, batch.DerivedColumns), newDerivatives(n, batch.ColSmoothness|batch.ColCurvature)
	if err := (&Pass{Options: o, variant: "off"}).Run(t.Context(), job, want); err != nil {
		t.Fatal(err)
	}
	for _, variant := range lanes.Variants() {
		if err := (&Pass{Options: o, variant: variant}).Run(t.Context(), job, got); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			a, b := want.Column(batch.ColSmoothness).U8[i], got.Column(batch.ColSmoothness).U8[i]
			if a != b {
				var row batch.Row
				job.Input.Row(i, &row)
				t.Errorf("row %d (%v and %v at %g), %v, %s: %v, in Go %v", i, job.Library.Shape(row.ShapeA).Kind(),
					job.Library.Shape(row.ShapeB).Kind(), job.Results.Distance().At(i), o.Mode, variant, Smoothness(b),
					Smoothness(a))
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
