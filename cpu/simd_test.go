package cpu

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/dataset/generate"
	"clearance/geom"
	"clearance/internal/testkit/rowcheck"
	"clearance/kernels"
	"clearance/verify"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

// variants are the kernels that this machine can run: all of them are tested, not
// only the best.
func variants(t testing.TB) []string {
	t.Helper()
	v := kernels.Supported()
	if len(v) == 0 {
		t.Skip("built without cgo: there are no kernels to test")
	}
	return v
}

func newVariant(t testing.TB, variant string, workers int) *Backend {
	t.Helper()
	b, err := New(Options{Workers: workers, SIMD: variant})
	if err != nil {
		t.Fatal(err)
	}
	if b.SIMD() != variant {
		t.Fatalf("asked for %s, got %s", variant, b.SIMD())
	}
	return b
}

// draw returns n rows of a set.
func draw(t testing.TB, set string, n int) (*batch.Library, *batch.Pairs) {
	t.Helper()
	g, err := generate.New(set, 3, generate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := batch.NewPairs(n)
	g.Fill(p, 0)
	return g.Library(), p
}

var conformanceSets = []string{"ellipsoids", "boxes", "capsule-cylinder-cone", "hull8", "hull32", "hull128", "mixed",
	"adversarial"}

// Every answer of every variant passes the audit, none is undecided, and none
// disagrees with the reference solvers.
func TestConformance(t *testing.T) {
	n := size(2000)
	for _, set := range conformanceSets {
		lib, pairs := draw(t, set, n)
		for _, variant := range variants(t) {
			for _, o := range []batch.Options{
				{}, {Precision: batch.Double}, {HasCutOff: true, CutOff: 0.05},
				{Query: batch.Penetration}, {Query: batch.Collide}, {Query: batch.Collide, Precision: batch.Double},
				{Query: batch.Collide, Columns: everything},
			} {
				name := fmt.Sprintf("%s/%s/%v/%v", set, variant, o.Query, o.Precision)
				if o.HasCutOff {
					name += "/cut"
				}
				if o.Columns != 0 {
					name += "/everything"
				}
				t.Run(name, func(t *testing.T) {
					b := newVariant(t, variant, 2)
					r := solve(t, b, lib, pairs, o, 0)
					job := &batch.Job{Library: lib, Input: pairs, Options: o, Results: r}
					audit(t, job)
					by, ref := b.RowsBy()
					if by+ref != int64(n) {
						t.Errorf("%d rows by the kernels and %d by the reference solvers, want %d in all", by, ref, n)
					}
					t.Logf("%.1f %% of the rows left to the reference solvers", 100*float64(ref)/float64(n))
				})
			}
		}
	}
}

func audit(t *testing.T, job *batch.Job) {
	t.Helper()
	if rep := rowcheck.Audit(t, job); rep.Status.Undecided != 0 || rep.Rows != job.Input.Len() {
		rep.WriteText(os.Stderr)
		t.Errorf("%d undecided of %d", rep.Status.Undecided, rep.Rows)
	}
	cmp, err := verify.Compare(context.Background(), job, verify.CompareOptions{Sample: job.Input.Len() / 4, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if cmp.WrongRows != 0 || cmp.Compared == 0 {
		cmp.WriteText(os.Stderr)
		t.Errorf("%d of %d rows disagree with the reference", cmp.WrongRows, cmp.Compared)
	}
}

// Batches of any length, for any width of the vectors.
func TestAnyLength(t *testing.T) {
	lib, pairs := draw(t, "boxes", 67)
	for _, variant := range variants(t) {
		b := newVariant(t, variant, 2)
		o := batch.Options{Columns: everything}
		want := solve(t, b, lib, pairs, o, 0)
		for n := 1; n <= 67; n++ {
			got := solve(t, b, lib, pairs.Slice(0, n), o, 0)
			for i := range n {
				if !rowcheck.Same(want, i, got, i) {
					t.Fatalf("%s: row %d of %d differs from that of 67", variant, i, n)
				}
			}
		}
	}
}

func TestChooseSIMD(t *testing.T) {
	have := kernels.Supported()
	t.Setenv(EnvSIMD, "")
	for _, c := range []struct{ option, env, want, err string }{
		{"", "", append(slices.Clone(have), kernels.Off)[0], ""},
		{kernels.Off, "", kernels.Off, ""},
		{"", kernels.Off, kernels.Off, ""},
		{"", "mmx", "", `environment variable CLEARANCE_SIMD: unknown SIMD variant "mmx", ` +
			"want one of avx512, avx2, neon, portable, or off"},
		{"AVX2", kernels.Off, "", `options: unknown SIMD variant "AVX2"`},
	} {
		t.Setenv(EnvSIMD, c.env)
		b, err := New(Options{SIMD: c.option})
		switch {
		case c.err == "" && (err != nil || b.SIMD() != c.want):
			t.Errorf("%+v: %v, %v", c, b, err)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%+v: %v", c, err)
		}
	}
	for _, name := range kernels.Names() {
		b, err := New(Options{SIMD: name})
		if has := slices.Contains(have, name); has != (err == nil) || has && b.SIMD() != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	if b := NewReference(); b.SIMD() != kernels.Off {
		t.Errorf("the reference uses %s", b.SIMD())
	}
}

// Within a variant, every answer is the same, bit for bit, for any number of workers, any
// chunks and any order of the rows: refilled lanes, groups and blocks change nothing.
func TestVariantsSameBits(t *testing.T) {
	n := size(3000)
	for _, set := range []string{"mixed", "hull8"} {
		lib, pairs := draw(t, set, n)
		pairs.RotationA[4*17] = math.NaN()
		order := rand.New(rand.NewPCG(3, 4)).Perm(n)
		shuffled := batch.NewPairs(n)
		var row batch.Row
		for to, from := range order {
			pairs.Row(from, &row)
			shuffled.SetRow(to, &row)
		}
		for _, variant := range variants(t) {
			for _, o := range []batch.Options{
				{}, {Precision: batch.Double}, {Query: batch.Penetration},
				{Query: batch.Collide, Columns: batch.ColStatus | batch.ColIterations},
				{Query: batch.Growth}, {Query: batch.Growth, Precision: batch.Double},
				{Query: batch.Growth, Columns: batch.ColStatus | batch.ColIterations},
			} {
				o.Columns = o.EffectiveColumns()
				want := solve(t, newVariant(t, variant, 1), lib, pairs, o, 0)
				b := newVariant(t, variant, 3)
				for _, chunk := range []int{64, 640, 0} {
					got := solve(t, b, lib, pairs, o, chunk)
					for i := range n {
						if !rowcheck.Same(want, i, got, i) {
							t.Fatalf("%s, %s, %v: row %d differs in chunks of %d", set, variant, o.Query, i, chunk)
						}
					}
				}
				got := solve(t, b, lib, shuffled, o, 0)
				for to, from := range order {
					if !rowcheck.Same(want, from, got, to) {
						t.Fatalf("%s, %s, %v: row %d differs when it stands at %d", set, variant, o.Query, from, to)
					}
				}
			}
		}
	}
}

// Worlds of bodies give, in every variant, bit for bit what the pair list written out
// gives, from any first row on.
func TestVariantsWorlds(t *testing.T) {
	lib, _ := draw(t, "mixed", 1)
	rng := rand.New(rand.NewPCG(5, 6))
	w := &batch.Worlds{}
	for len(w.Shapes) < 12 {
		if i := rng.IntN(lib.Len()); lib.Shape(int32(i)).Kind() != geom.KindHalfspace {
			w.Shapes = append(w.Shapes, int32(i))
		}
	}
	for a := range int32(12) {
		for b := range a {
			w.TemplateA, w.TemplateB = append(w.TemplateA, a), append(w.TemplateB, b)
		}
	}
	for range 30 * len(w.Shapes) {
		p := randomPose(rng)
		w.Poses = append(w.Poses, 2*p.Position.X, 2*p.Position.Y, 2*p.Position.Z, p.Rotation.Real, p.Rotation.Imag,
			p.Rotation.Jmag, p.Rotation.Kmag)
	}
	pairs := rowcheck.Listed(w)
	for _, variant := range variants(t) {
		b := newVariant(t, variant, 2)
		o := batch.Options{Columns: everything}
		got, want := solve(t, b, lib, w, o, 448), solve(t, b, lib, pairs, o, 0)
		for i := range got.N {
			if !rowcheck.Same(got, i, want, i) {
				t.Fatalf("%s: row %d differs", variant, i)
			}
		}
		if kernels, _ := b.RowsBy(); kernels < int64(got.N)/4 {
			t.Errorf("%s answered %d rows of %d only", variant, kernels, 2*got.N)
		}
	}
}

// The kernels answer all separated rows, except for kinds without a kernel.
func TestKernelsAnswer(t *testing.T) {
	n := size(3000)
	for _, set := range conformanceSets[:6] {
		lib, pairs := draw(t, set, n)
		for _, variant := range variants(t) {
			for _, c := range []struct {
				o    batch.Options
				most float64 // share of the rows that may be left
			}{
				// A third penetrates, and some of these are separated after rounding.
				{batch.Options{}, 0.34}, {batch.Options{Query: batch.Collide}, 0.01},
			} {
				b := newVariant(t, variant, 2)
				solve(t, b, lib, pairs, c.o, 0)
				if _, left := b.RowsBy(); float64(left) > c.most*float64(n) {
					t.Errorf("%s, %s, %v: %d of %d rows left to the reference solvers", set, variant, c.o.Query, left,
						n)
				}
			}
		}
	}
}

// Rows with poses out of range are invalid for every solver, although a kernel could
// compute with them.
func TestPosesOutOfRange(t *testing.T) {
	lib, err := batch.NewLibrary([]geom.Shape{
		geom.Box{HalfExtents: r3.Vec{X: 1, Y: 2, Z: 3}}, geom.Ellipsoid{SemiAxes: r3.Vec{X: 1, Y: 2, Z: 3}},
		geom.Sphere{R: 1},
		geom.Cylinder{R: 1, HalfLength: 1},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	pairs := batch.NewPairs(lib.Len() * lib.Len())
	for i := range pairs.Len() {
		pairs.SetRow(i, &batch.Row{ShapeA: int32(i / lib.Len()), ShapeB: int32(i % lib.Len()),
			PoseA: geom.IdentityPose(), PoseB: geom.Pose{Position: r3.Vec{X: 2 * batch.MaxLength},
				Rotation: quat.Number{Real: 1}}})
	}
	for _, variant := range variants(t) {
		for _, o := range []batch.Options{{}, {Precision: batch.Double}, {Method: batch.GJK}, {Method: batch.RTR},
			{Query: batch.Collide}, {Query: batch.Collide, Columns: batch.ColStatus}} {
			for i, s := range solve(t, newVariant(t, variant, 1), lib, pairs, o, 0).Status() {
				if batch.Status(s) != batch.Invalid {
					t.Errorf("%s, %v by %v: row %d is %v", variant, o.Query, o.Method, i, batch.Status(s))
				}
			}
		}
	}
}
