package verify_test

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/dataset/generate"
	"clearance/derive"
	"clearance/verify"
)

// derivedJob has the answers and all derivatives of pairs of a set by the reference.
func derivedJob(t *testing.T, set string, rows int, o batch.Options, c batch.Columns) *batch.Job {
	t.Helper()
	g, err := generate.New(set, 24, generate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	in := batch.NewPairs(rows)
	g.Fill(in, 0)
	in.RotationA[4*5] = math.NaN()
	job := solved(t, g.Library(), in, o)
	job.Options.Columns = job.Results.Columns | c
	all := batch.NewResults(rows, &job.Options)
	all.CopyRows(0, job.Results, 0, rows, job.Results.Columns)
	job.Results = all
	pass := derive.Pass{Options: o.Derivative}
	if err := pass.Run(context.Background(), job, all); err != nil {
		t.Fatal(err)
	}
	return job
}

func auditDerivatives(t *testing.T, job *batch.Job, workers int) *verify.DerivativeReport {
	t.Helper()
	r, err := verify.AuditDerivatives(context.Background(), job, verify.DerivativeOptions{Workers: workers, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestAuditDerivatives: derivatives of every set pass, in both precisions and every mode but order zero, which has
// properties alone; most of them are compared with differences.
func TestAuditDerivatives(t *testing.T) {
	const rows = 120
	for _, set := range []string{"mixed", "boxes", "hull32", "ellipsoids", "capsule-cylinder-cone", "adversarial"} {
		for _, c := range []struct {
			o       batch.Options
			columns batch.Columns
		}{
			{batch.Options{Precision: batch.Double}, batch.DerivedColumns},
			{batch.Options{}, batch.DerivedColumns},
			{batch.Options{}, batch.ColDDistance},
			{batch.Options{Query: batch.Growth, Precision: batch.Double}, batch.DerivedColumns},
			{batch.Options{Derivative: batch.Derivative{Mode: batch.GumbelDerivative}}, batch.DerivedColumns},
			{batch.Options{Derivative: batch.Derivative{Mode: batch.ZerothDerivative, Samples: 2}},
				batch.DerivedColumns},
		} {
			name := set + " " + c.o.Query.String() + " " + c.o.Precision.String() + " " + c.o.Derivative.Mode.String()
			job := derivedJob(t, set, rows, c.o, c.columns)
			r := auditDerivatives(t, job, 2)
			for i := range r.Faults {
				t.Errorf("%s: %v", name, &r.Faults[i])
			}
			t.Logf("%s: %+v", name, *r)
			if r.Rows != rows || r.None < 1 || r.None > rows/2 || r.Properties < rows/2 {
				t.Errorf("%s: %+v", name, *r)
			}
		}
	}
}

// TestAuditDerivativesFindsLies: every kind of false derivative is refuted, with its row and its column.
func TestAuditDerivativesFindsLies(t *testing.T) {
	for _, set := range []string{"mixed", "ellipsoids"} {
		for _, precision := range []batch.Precision{batch.Single, batch.Double} {
			job := derivedJob(t, set, 60, batch.Options{Precision: precision}, batch.DerivedColumns)
			out := job.Results
			if r := auditDerivatives(t, job, 1); r.Wrong != 0 {
				t.Fatalf("%+v", *r)
			}
			rng := rand.New(rand.NewPCG(1, 1))
			smooth := func(i int) bool {
				s := out.Column(batch.ColSmoothness).U8[i]
				return batch.Smoothness(s) == batch.SmoothPair || batch.Smoothness(s) == batch.UniqueFeatures
			}
			found, told := 0, 0
			for i := range out.N {
				if !smooth(i) {
					continue
				}
				for _, lie := range []struct {
					column batch.Columns
					change func(v float64, k int) float64
				}{
					{batch.ColDDistance, func(v float64, _ int) float64 { return -v }},
					{batch.ColDDistance, func(v float64, _ int) float64 { return 1.1 * v }},
					{batch.ColDDistance, func(v float64, _ int) float64 { return 0 }},
					{batch.ColDDistance, func(v float64, k int) float64 { return v + 0.02*float64(k%2) }},
					{batch.ColDNormal, func(v float64, _ int) float64 { return 1.3 * v }},
					{batch.ColDWitnessA, func(v float64, k int) float64 { return v + 0.1*float64(k%3) }},
					{batch.ColDWitnessB, func(float64, int) float64 { return 0 }},
					{batch.ColDWitnessB, func(float64, int) float64 { return math.NaN() }},
				} {
					column := out.Column(lie.column)
					w := lie.column.Info().Width
					kept := make([]float64, w)
					for k := range w {
						kept[k] = column.At(w*i + k)
						column.Set(w*i+k, lie.change(kept[k], k))
					}
					told++
					if r := auditRow(t, job, i); r.Wrong == 1 && r.Faults[0].Column == lie.column.Info().Name &&
						r.Faults[0].Row == i {
						found++
					}
					column.SetReals(i, kept)
				}
			}
			// A component along which the pair does not move may be false without any effect: few are.
			if !(float64(found) >= 0.97*float64(told)) || told < 100 {
				t.Errorf("%s, %v: %d of %d lies found", set, precision, found, told)
			}
			t.Logf("%s, %v: %d of %d lies found", set, precision, found, told)
			i := rng.IntN(out.N)
			for !smooth(i) {
				i = (i + 1) % out.N
			}
			out.Column(batch.ColSmoothness).U8[i] = uint8(batch.NoDerivative)
			if r := auditRow(t, job, i); r.Wrong != 1 || !strings.Contains(r.Faults[0].Reason, "without derivatives") {
				t.Errorf("a row without derivatives has some: %+v", *r)
			}
			out.Column(batch.ColSmoothness).U8[i] = uint8(batch.SmoothPair)
			out.Status()[i] = uint8(batch.Undecided)
			if r := auditRow(t, job, i); r.Wrong != 1 || r.Faults[0].Column != "smoothness" {
				t.Errorf("an undecided row has derivatives: %+v", *r)
			}
		}
	}
}

// auditRow audits one row.
func auditRow(t *testing.T, job *batch.Job, i int) *verify.DerivativeReport {
	t.Helper()
	one := &batch.Job{Library: job.Library, Input: job.Input.(*batch.Pairs).Slice(i, i+1), Options: job.Options,
		Results: job.Results.Slice(i, i+1)}
	o := verify.DerivativeOptions{Workers: 1, Seed: 1, FirstRow: i}
	r, err := verify.AuditDerivatives(context.Background(), one, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
