package derive

import (
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/testkit"
	kernel "clearance/kernels/derive"
	"clearance/ref"
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
	pass.SIMD = "off"
	if err := pass.Run(t.Context(), job, want); err != nil {
		t.Fatal(err)
	}
	for _, variant := range kernel.Variants() {
		pass.SIMD = variant
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

// TestStructuredFound: poses whose flags once depended on the frame of the world, in more frames. What rounding chose
// is said for each.
func TestStructuredFound(t *testing.T) {
	names, shapes := testkit.StructuredShapes()
	identity := quat.Number{Real: 1}
	half := quat.Number{Real: 0.38268343236508984, Kmag: 0.9238795325112867} // by 135° about z
	rng := rand.New(rand.NewPCG(45, 1<<32))
	for _, c := range []struct {
		chosen string
		a, b   string
		at     r3.Vec
		turned quat.Number
		growth bool
	}{
		{"a normal of a flat minimum", "superquadric needle", "superquadric needle", r3.Vec{Y: 1},
			quat.Number{Real: -0.2705980500730985, Imag: 0.27059805007309856, Jmag: -0.6532814824381883,
				Kmag: -0.6532814824381882}, false},
		{"a normal where no curvature is left", "smooth octahedron", "flat square", r3.Vec{Y: 0.25, Z: 0.25}, identity,
			true},
		{"a triangle without an area", "cone", "box plate", r3.Vec{X: 3, Y: 3}, identity, true},
		{"a triangle without an area", "cone", "box plate", r3.Vec{X: 0.25, Y: 0.25}, identity, true},
		{"a normal of a cone, exact to its tolerance", "cone", "hull cube", r3.Vec{Y: -0.01}, half, true},
		{"a normal of cores that touch", "thin capsule", "octahedron", r3.Vec{Y: 1, Z: 1},
			quat.Number{Real: -0.5, Imag: 0.5, Jmag: -0.5, Kmag: -0.5}, false},
		{"a normal of cores that touch", "tetrahedron", "thin capsule", r3.Vec{X: 1, Y: 1}, identity, false},
		{"a normal of cores that touch", "box plate", "small sphere", r3.Vec{X: 1, Z: 0.01}, identity, false},
		{"one of two minima that are close", "cone", "superquadric margin", r3.Vec{X: 0.25, Y: 0.25}, half, false},
		{"a first step beside an infinite curvature", "capsule", "superquadric", r3.Vec{X: 0.5, Y: 0.5},
			quat.Number{Real: -0.7909450459473104, Imag: 0.364663328971854, Jmag: -0.05998024390542977,
				Kmag: -0.4876771074549406}, false},
		{"a first step beside an infinite curvature", "superquadric", "ellipsoid", r3.Vec{X: -0.01},
			quat.Number{Real: 0.6473681916027519, Imag: -0.3443382984138018, Jmag: 0.6672929516447764,
				Kmag: 0.13063566676705354}, true},
		{"whether a component of the first normal counts as zero", "superquadric", "superquadric needle",
			r3.Vec{X: 0.01, Y: 0.01}, quat.Number{Real: -0.5405448224325756, Imag: -0.36708167181380885,
				Jmag: 0.41552847819697625, Kmag: 0.6327704362302488}, true},
		{"whether a component of the first normal counts as zero", "superquadric needle", "superquadric",
			r3.Vec{X: 0.1, Y: 0.1, Z: 0.1}, quat.Number{Real: -0.35355339059327384, Imag: 0.1464466094067263,
				Jmag: -0.8535533905932737, Kmag: 0.35355339059327384}, true},
		{"whether a component of the first normal counts as zero", "superquadric plate", "cone", r3.Vec{X: -1},
			quat.Number{Real: -0.24407327857698036, Imag: -0.333429592843493, Jmag: -0.8709945144318467,
				Kmag: -0.26574705479184124}, false},
		{"whether a component of the first normal counts as zero", "superquadric", "frustum", r3.Vec{Z: 0.01},
			quat.Number{Real: 0.6941206606717862, Imag: -0.6425532945804089, Jmag: 0.10880950307427542,
				Kmag: -0.3057486943441534}, false},
		{"whether a component of the first normal counts as zero", "superquadric", "smooth octahedron", r3.Vec{Z: -1},
			quat.Number{Real: -0.5055915539146489, Imag: 0.4940801420931824, Jmag: 0.5136645218565535,
				Kmag: 0.4862208888820282}, true},
		{"whether a component of the first normal counts as zero", "superquadric", "superquadric", r3.Vec{Y: -0.25},
			quat.Number{Real: -0.16677419833938373, Imag: 0.41231629174449996, Jmag: -0.6531127602381263,
				Kmag: 0.6128828311712247}, true},
		{"a normal exact to its tolerance, of a pair that touches", "octahedron", "disc", r3.Vec{X: 0.01, Z: 2},
			quat.Number{Real: 0.7071067811865476, Jmag: 0.7071067811865475}, false},
		{"a normal that is not optimal", "superquadric plate", "tetrahedron", r3.Vec{X: 1.5},
			quat.Number{Real: -0.7071067811865475, Imag: 0.7071067811865476}, false},
	} {
		a, b := shapes[slices.Index(names, c.a)], shapes[slices.Index(names, c.b)]
		pair := testkit.Structured{Pose: geom.Pose{Position: c.at, Rotation: c.turned}}
		for _, o := range []Options{{}, {Mode: Gumbel}, {Mode: Gaussian, Samples: 8}} {
			seen := map[Smoothness]int{}
			for range 40 {
				for _, frame := range testkit.WorldPoses(rng) {
					poseA, poseB := pair.In(frame)
					ask := solve
					if c.growth {
						ask = solveGrowth
					}
					var w Workspace
					r := ask(a, b, poseA, poseB)
					d := w.Of(&r, &o, 1)
					seen[d.Smoothness()]++
				}
			}
			if len(seen) != 1 || seen[batch.NoDerivative] > 0 {
				t.Errorf("%s and %s at %v, growth %v, %v, where rounding chose %s: %v", c.a, c.b, c.at, c.growth,
					o.Mode, c.chosen, seen)
			}
		}
	}
}
