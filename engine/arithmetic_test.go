package engine

import (
	"strings"
	"testing"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/engine/internal/vk"
	"clearance/internal/testkit/rowcheck"
	"clearance/shaders"
)

// TestProofFor: the table knows which devices have slow double precision, an option overrides it, and a device without
// double precision has one proof only.
func TestProofFor(t *testing.T) {
	for _, c := range []struct {
		name     string
		vendor   uint32
		kind     vk.DeviceType
		features vk.Feature
		asked    Proof
		want     Proof
	}{
		{"NVIDIA GeForce RTX 4090", vendorNVIDIA, vk.Discrete, vk.Float64, ProofAuto, ProofTwoFloats},
		{"NVIDIA GeForce RTX 4090", vendorNVIDIA, vk.Discrete, vk.Float64, ProofFloat64, ProofFloat64},
		{"NVIDIA H200", vendorNVIDIA, vk.Discrete, vk.Float64, ProofAuto, ProofFloat64},
		{"NVIDIA A100-SXM4-80GB", vendorNVIDIA, vk.Discrete, vk.Float64, ProofAuto, ProofFloat64},
		{"NVIDIA H200", vendorNVIDIA, vk.Discrete, vk.Float64, ProofTwoFloats, ProofTwoFloats},
		{"AMD Radeon RX 7900 XTX (RADV NAVI31)", vendorAMD, vk.Discrete, vk.Float64, ProofAuto, ProofTwoFloats},
		{"AMD Radeon VII (RADV VEGA20)", vendorAMD, vk.Discrete, vk.Float64, ProofAuto, ProofFloat64},
		{"AMD Instinct MI210", vendorAMD, vk.Discrete, vk.Float64, ProofAuto, ProofFloat64},
		{"Intel(R) UHD Graphics 770", vendorIntel, vk.Integrated, vk.Float64, ProofAuto, ProofTwoFloats},
		{"Intel(R) Arc(tm) A770 Graphics", vendorIntel, vk.Discrete, 0, ProofAuto, ProofTwoFloats},
		{"Apple M2", 0x106b, vk.Integrated, 0, ProofFloat64, ProofTwoFloats},
		{"llvmpipe", 0x10005, vk.CPU, vk.Float64, ProofAuto, ProofFloat64},
	} {
		o := Options{Proof: c.asked}
		d := vk.DeviceInfo{Name: c.name, VendorID: c.vendor, Type: c.kind, Features: c.features}
		if got := o.proofFor(&d); got != c.want {
			t.Errorf("%s, %v: %v, want %v", c.name, c.asked, got, c.want)
		}
		text := describeProof(c.want, d.Features.Has(vk.Float64))
		without := strings.Contains(text, "no double precision")
		if without != (c.features == 0) || !strings.HasPrefix(text, c.want.String()) {
			t.Errorf("%s: described as %q", c.name, text)
		}
		if err := o.checkProof(&d); (err != nil) != (c.asked == ProofFloat64 && c.features == 0) {
			t.Errorf("%s, %v: error %v", c.name, c.asked, err)
		}
	}
}

// TestSelfTestTwoFloats: a device whose sums, products or roots of floats are off, or whose records are, is refused if
// it has no double precision; else it proves in double precision, unless an option asks for two floats.
func TestSelfTestTwoFloats(t *testing.T) {
	open(t, Options{})
	record := uint64(4*len(newTestData().echo())) - 1
	for what, f := range map[string]struct {
		fault vk.Fault
		want  string
	}{
		"a sum":                  {vk.Fault{Call: "readback", Offset: 2, Mask: 1}, " + "},
		"the error of a sum":     {vk.Fault{Call: "readback", Offset: 28*7 + 4 + 2, Mask: 0x40}, " + "},
		"a product":              {vk.Fault{Call: "readback", Offset: 28*9 + 8 + 2, Mask: 1}, " * "},
		"the error of a product": {vk.Fault{Call: "readback", Offset: 28*9 + 12, Mask: 1}, " * "},
		"a root":                 {vk.Fault{Call: "readback", Offset: 28*(testRows-1) + 20, Mask: 1}, "inverse root"},
		"a record":               {vk.Fault{Call: "readback", After: 1, Offset: record, Mask: 0x40}, "word"},
	} {
		refused(t, what, Options{Validation: true, CacheDir: testCache, disable: vk.Float64}, f.fault, f.want)
	}
	for _, proof := range []Proof{ProofAuto, ProofTwoFloats} {
		o := Options{Proof: proof, CacheDir: testCache, slow: true}
		disarm := vk.Inject(vk.Fault{Call: "readback", After: 2, Offset: 2, Mask: 1}) // the second test
		b, err := Open(o)
		disarm()
		if (err == nil) != (proof == ProofAuto) {
			t.Errorf("%v: error %v", proof, err)
		}
		if err == nil {
			if b.Proof() != ProofFloat64 {
				t.Errorf("proof %v", b.Proof())
			}
			b.Close()
		}
	}
}

// TestTwoFloatsFused: fma() counts as rounded once only if all its results are.
func TestTwoFloatsFused(t *testing.T) {
	numbers := newTwoFloatsOperands()
	results := make([][7]float32, testRows)
	if _, err := checkTwoFloats(&numbers, results); err == nil {
		t.Error("zeros pass")
	}
	b := open(t, proofs[0].options)
	got, _, err := answersOf[float32](b, newTestData(), shaders.Get("selftest_two_floats"), bytesOf(numbers[:]), 7)
	if err != nil {
		t.Fatal(err)
	}
	copy(bytesOf(results), bytesOf(got))
	for i := range results {
		results[i][4] = results[i][3]
	}
	if fused, err := checkTwoFloats(&numbers, results); !fused || err != nil {
		t.Errorf("fused %v, %v", fused, err)
	}
	results[9][4] *= 1.5
	if fused, err := checkTwoFloats(&numbers, results); fused || err != nil {
		t.Errorf("fused %v, %v", fused, err)
	}
}

// TestWithoutFloat64: a device without double precision leaves calls in double precision, and growth distances, to the
// CPU and counts them. In single precision it answers, declines half-spaces and powers, and answers held batches.
func TestWithoutFloat64(t *testing.T) {
	b, c := open(t, Options{disable: vk.Float64}), processor(t)
	const rows = 300
	for _, o := range []batch.Options{
		{Precision: batch.Double}, {Query: batch.Growth}, {Query: batch.Collide, Precision: batch.Double}, {},
		{Method: batch.RTR}, {Query: batch.Collide, Columns: batch.ColStatus}, {Query: batch.Penetration},
		{HasCutOff: true, CutOff: 0.01}, {MaxIterations: 3}, {Tolerance: 1e-9},
	} {
		for _, name := range []string{"boxes", "mixed", "adversarial", "smooth"} {
			lib, pairs := set(t, name, 0, rows)
			job := &batch.Job{Library: lib, Input: pairs, Options: o}
			before := b.Stats().Declined
			rep := run(t, job, dispatch.Options{}, b, c)
			after := b.Stats().Declined
			rowcheck.Audit(t, job)
			declined := after.Sum() - before.Sum()
			if after.Precision-before.Precision != declined || declined != int64(rep.Declined()) {
				t.Errorf("%s, %+v: declined %+v, before %+v, report %d", name, o, after, before, rep.Declined())
			}
			whole := o.Precision == batch.Double || o.Query == batch.Growth
			if whole && declined != rows || !whole && name == "boxes" && o.MaxIterations == 0 && o.Tolerance == 0 &&
				declined > rows*9/20 {
				t.Errorf("%s, %+v: %d of %d rows declined", name, o, declined, rows)
			}
		}
	}
	lib, pairs := set(t, "boxes", 0, rows)
	held, err := b.Hold(t.Context(), lib, pairs)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	for _, p := range []batch.Precision{batch.Single, batch.Double} {
		o := batch.Options{Precision: p}
		out := batch.NewResults(rows, &o)
		before := b.Stats().Declined.Precision
		if err := held.Run(t.Context(), &o, out); err != nil {
			t.Fatal(err)
		}
		if n := b.Stats().Declined.Precision - before; (p == batch.Double) != (n == rows) {
			t.Errorf("%v: %d rows of a held batch declined", p, n)
		}
	}
}
