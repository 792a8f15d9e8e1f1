package derive

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/cpu"
	"clearance/dispatch"
	"clearance/geom"
	kernel "clearance/kernels/derive"

	"gonum.org/v1/gonum/spatial/r3"
)

// answersOf are those of the CPU kernels, and of the reference for what they decline, or of the reference alone.
func answersOf(t testing.TB, name string) batch.Answers {
	t.Helper()
	backend, err := cpu.New(cpu.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	d := dispatch.New(backend, cpu.NewReference())
	t.Cleanup(func() { d.Close() })
	return d.Answers(name)
}

// TestEstimates: estimates of many rows together are those of the rows one by one by the reference, whatever answers:
// to rounding for pairs of polytopes, half-spaces and, of signed distances, balls about points and segments, else up to
// the tolerances of the answers. Values are exact to 1e-8 of the size, normals and witnesses of curved shapes to its
// root at most.
func TestEstimates(t *testing.T) {
	shapes := shapesOfTest(t)
	rng := rand.New(rand.NewPCG(33, 11))
	polytopes := []string{"box", "hull", "plate", "halfspace"}
	exact := append([]string{"sphere", "capsule", "point", "segment", "box margin"}, polytopes...)
	var sets [4][]Row // exact, others; the same of growth
	for _, a := range kindNames {
		for _, b := range kindNames {
			if a == "halfspace" && b == "halfspace" {
				continue
			}
			to, grown := 1, 3
			if slices.Contains(exact, a) && slices.Contains(exact, b) {
				to = 0
			}
			if slices.Contains(polytopes, a) && slices.Contains(polytopes, b) {
				grown = 2
			}
			for _, gap := range []float64{0.4, -0.05} {
				r := placedAtGap(rng, shapes[a], shapes[b], gap)
				sets[to] = append(sets[to], r)
				if g := solveGrowth(r.A, r.B, r.PoseA, r.PoseB); g.Answered {
					sets[grown] = append(sets[grown], g)
				}
			}
		}
	}
	for k, set := range sets {
		values, others := 1e-10, 1e-9
		if k%2 == 1 {
			values, others = 1e-5, 0.1
		}
		job := jobOf(t, set, batch.Double)
		o := Options{Mode: Zeroth, Samples: 7, Seed: 9}
		want := newDerivatives(len(set), batch.DerivedColumns)
		if err := (&Pass{Options: o}).Run(t.Context(), job, want); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"ref", "cpu"} {
			answers := answersOf(t, name)
			for _, variant := range append(kernel.Variants(), "off") {
				pass := Pass{Options: o, Answers: answers, Workers: 3, SIMD: variant}
				got := newDerivatives(len(set), batch.DerivedColumns)
				if err := pass.Run(t.Context(), job, got); err != nil {
					t.Fatal(err)
				}
				t.Logf("%v, %s, variant %s:", job.Options.Query, name, variant)
				compareEstimates(t, want, got, values, others)
			}
		}
	}
}

// compareEstimates asks that two estimates of rows by the same noise deviate by no more than two numbers: of values,
// and of normals and witnesses.
func compareEstimates(t *testing.T, want, got *batch.Results, values, others float64) {
	t.Helper()
	var worst [2]float64
	for i := range want.N {
		a, b := want.Column(batch.ColSmoothness).U8[i], got.Column(batch.ColSmoothness).U8[i]
		if a != b || Smoothness(a) != Smoothed {
			t.Errorf("row %d: %v and %v", i, Smoothness(a), Smoothness(b))
			continue
		}
		for _, c := range []batch.Columns{batch.ColDDistance, batch.ColDNormal, batch.ColDWitnessA,
			batch.ColDWitnessB} {
			of := &worst[1]
			if c == batch.ColDDistance {
				of = &worst[0]
			}
			w := c.Info().Width
			for k := w * i; k < w*i+w; k++ {
				x, y := want.Column(c).F64[k], got.Column(c).F64[k]
				if math.IsNaN(x) || math.IsNaN(y) {
					t.Fatalf("row %d, %v: %g and %g", i, c, x, y)
				}
				*of = max(*of, math.Abs(x-y)/max(1, math.Abs(x)))
			}
		}
	}
	t.Logf("%d rows, largest deviation of values %.1e, of others %.1e", want.N, worst[0], worst[1])
	if !(worst[0] <= values) || !(worst[1] <= others) {
		t.Errorf("deviations %v, want %g of values and %g of others at most", worst, values, others)
	}
}

// TestEstimatesMean: the means over many seeds are the exact derivatives of pairs of smooth kinds, within four standard
// deviations and a bias of the second order of the noise.
func TestEstimatesMean(t *testing.T) {
	ball, egg := geom.Sphere{R: 0.5}, geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.5, Y: 0.4, Z: 0.6}}
	answers := answersOf(t, "cpu")
	const seeds = 40
	for _, growth := range []bool{false, true} {
		var rows []Row
		rng := rand.New(rand.NewPCG(33, 12))
		for _, gap := range []float64{0.5, 0.2} {
			r := placedAtGap(rng, egg, ball, gap)
			if growth {
				r = solveGrowth(r.A, r.B, r.PoseA, r.PoseB)
			}
			rows = append(rows, r)
		}
		for i := range rows {
			var w Workspace
			d := w.Exact(&rows[i])
			rows[i].Value, rows[i].Normal, rows[i].WitnessA, rows[i].WitnessB = d.Answer()
		}
		job := jobOf(t, rows, batch.Double)
		want := newDerivatives(len(rows), batch.DerivedColumns)
		if err := new(Pass).Run(t.Context(), job, want); err != nil {
			t.Fatal(err)
		}
		columns := []batch.Columns{batch.ColDDistance, batch.ColDNormal, batch.ColDWitnessA, batch.ColDWitnessB}
		mean, square := map[batch.Columns][]float64{}, map[batch.Columns][]float64{}
		for seed := range uint64(seeds) {
			got := newDerivatives(len(rows), batch.DerivedColumns)
			pass := Pass{Options: Options{Mode: Zeroth, Epsilon: 1e-3, Samples: 100, Seed: seed}, Answers: answers}
			if err := pass.Run(t.Context(), job, got); err != nil {
				t.Fatal(err)
			}
			for _, c := range columns {
				if mean[c] == nil {
					mean[c] = make([]float64, len(got.Column(c).F64))
					square[c] = make([]float64, len(got.Column(c).F64))
				}
				for k, v := range got.Column(c).F64 {
					mean[c][k] += v / seeds
					square[c][k] += v * v / seeds
				}
			}
		}
		for _, c := range columns {
			for k, v := range want.Column(c).F64 {
				sigma := math.Sqrt(max(square[c][k]-mean[c][k]*mean[c][k], 0) / (seeds - 1))
				if !(math.Abs(mean[c][k]-v) <= 4*sigma+1e-4) {
					t.Errorf("growth %v, %v, number %d: %g ± %g, want %g", growth, c, k, mean[c][k], sigma, v)
				}
			}
		}
	}
}

// TestEstimatesParts: more rows than a block has, and more samples than a block of one row, give the bits of one
// goroutine and the numbers of the reference.
func TestEstimatesParts(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 13))
	answers := answersOf(t, "cpu")
	var rows []Row
	for range estimateRows + 10 {
		rows = append(rows, placedAtGap(rng, geom.Sphere{R: 0.2}, geom.Sphere{R: 0.3}, 0.1))
	}
	for _, c := range []struct{ rows, samples int }{{len(rows), 1}, {3, estimatePairs + 5}} {
		job := jobOf(t, rows[:c.rows], batch.Double)
		var all []*batch.Results
		for _, pass := range []Pass{{Workers: 1, Answers: answers}, {Workers: 3, Answers: answers}, {}} {
			pass.Options = Options{Mode: Zeroth, Samples: c.samples, Seed: 2}
			got := newDerivatives(c.rows, batch.DerivedColumns)
			if err := pass.Run(t.Context(), job, got); err != nil {
				t.Fatal(err)
			}
			all = append(all, got)
		}
		for i := range c.rows {
			if diff := all[0].Differs(i, all[1], i); diff != 0 {
				t.Fatalf("row %d: %v depends on the number of goroutines", i, diff)
			}
		}
		compareEstimates(t, all[2], all[0], 1e-9, 1e-9)
	}
}

// TestEstimatesFail: a row with a sample that is not answered is near singular, and has the derivative of the reported
// value alone; an error of the answers is that of the pass.
func TestEstimatesFail(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 14))
	var rows []Row
	for range 5 {
		rows = append(rows, placedAtGap(rng, geom.Sphere{R: 0.2}, geom.Box{HalfExtents: r3.Vec{X: 1, Y: 1, Z: 1}}, 0.1))
	}
	job := jobOf(t, rows, batch.Double)
	answers := answersOf(t, "cpu")
	pass := Pass{Options: Options{Mode: Zeroth, Samples: 10}, Answers: func(ctx context.Context, job *batch.Job) error {
		if job.Input.Len() != 50 || job.Options.Precision != batch.Double {
			t.Errorf("%d pairs in %v precision", job.Input.Len(), job.Options.Precision)
		}
		err := answers(ctx, job)
		job.Results.Status()[29] = uint8(batch.Undecided) // the last one of row 2
		return err
	}}
	got, reported := newDerivatives(5, batch.DerivedColumns), newDerivatives(5, batch.ColDDistance)
	if err := errors.Join(pass.Run(t.Context(), job, got), new(Pass).Run(t.Context(), job, reported)); err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		want := Smoothed
		if i == 2 {
			want = NearSingular
			for k := 12 * i; k < 12*i+12; k++ {
				x, y := got.Column(batch.ColDDistance).F64[k], reported.Column(batch.ColDDistance).F64[k]
				if !(math.Abs(x-y) <= 1e-14) {
					t.Errorf("number %d: %g, reported %g", k, x, y)
				}
			}
			if slices.Max(got.Column(batch.ColDNormal).F64[36*i:36*i+36]) != 0 {
				t.Error("the normal has a derivative")
			}
		}
		if s := Smoothness(got.Column(batch.ColSmoothness).U8[i]); s != want {
			t.Errorf("row %d: %v, want %v", i, s, want)
		}
	}
	pass.Answers = func(context.Context, *batch.Job) error { return errors.New("no device") }
	if err := pass.Run(t.Context(), job, got); err == nil || !strings.Contains(err.Error(), "no device") {
		t.Errorf("error %v", err)
	}
}
