package papers

import (
	"cmp"
	"math"
	"slices"
	"testing"
)

// checkDerivatives holds what the report says of derivatives but times.
func checkDerivatives(t *testing.T, d *DerivativeResults) {
	t.Helper()
	find := func(method string, epsilon float64, samples int) DerivativeError {
		for _, e := range d.Errors {
			if e.Method == method && e.Epsilon == epsilon && e.Samples == samples {
				return e
			}
		}
		t.Fatalf("no row %s, %g, %d", method, epsilon, samples)
		return DerivativeError{}
	}
	if e := find("exact", 0, 0); !(e.Bias > 0.5) {
		t.Errorf("exact derivatives of a hull have a bias of %g beside the ellipsoid's", e.Bias)
	}
	if e := find("Gumbel", 1e-2, 0); !(e.Bias < 0.3) {
		t.Errorf("Gumbel, 1 cm: bias %g", e.Bias)
	}
	few, many := find("Gaussian", 0.1, 10), find("Gaussian", 0.1, 200)
	if !(many.Bias < 0.3 && many.Deviation < 0.6*few.Deviation) {
		t.Errorf("Gaussian, 0.1: bias %g, deviation %g with 10 samples, %g with 200", many.Bias, few.Deviation,
			many.Deviation)
	}
	if z := find("0th order", 1e-2, 50); !(z.Deviation > 2*find("Gaussian", 0.1, 50).Deviation) {
		t.Errorf("order zero, 50 samples: deviation %g", z.Deviation)
	}
	last := len(targetStarts) - 1
	if f := costsOf(t, d, differences(1e-6), last); !(f[2] > 1e-3) {
		t.Errorf("finite differences from 180°: median %g", f[2])
	}
	for _, m := range []estimator{zeroth(50, 1e-2), gaussianOfVector(20, 1e-3, false, true)} {
		if q := costsOf(t, d, m, last); !(q[2] < 1e-8) {
			t.Errorf("%s from 180°: median %g", m.name, q[2])
		}
	}
	for _, row := range d.Targets {
		for i, q := range row.Quantiles {
			if math.IsNaN(q[4]) || (i == 0 && !(q[2] < 1e-4)) {
				t.Errorf("%s, start %d: quantiles %g", row.Method, i, q)
			}
		}
	}
}

func costsOf(t *testing.T, d *DerivativeResults, m estimator, start int) [5]float64 {
	t.Helper()
	for _, row := range d.Targets {
		if row.Method == m.name {
			return row.Quantiles[start]
		}
	}
	t.Fatalf("no row %s", m.name)
	return [5]float64{}
}

// TestTableI holds the committed Table I to the paper's where the report says that they agree, and to the causes that
// it gives where they do not.
func TestTableI(t *testing.T) {
	d := committed(t).Derivatives
	start := slices.Index(targetStarts, paperStart)
	within := func(name string, got, want, factor float64) {
		if !(got <= factor*want && want <= factor*got) {
			t.Errorf("%s: %.1e, the paper has %.1e", name, got, want)
		}
	}
	for _, m := range []estimator{differences(1e-6), differences(1e-3)} {
		got, want := costsOf(t, d, m, start), paperTargets[m.name]
		within(m.name+", Q3", got[3], want[1], 3)
		within(m.name+", D9", got[4], want[2], 3)
	}
	m := gaussianOfVector(20, 1e-3, false, false)
	got, want := costsOf(t, d, m, start), paperTargets[m.name]
	within(m.name+", median", got[2], want[0], 8)
	within(m.name+", Q3", got[3], want[1], 3)
	within(m.name+", D9", got[4], want[2], 5)
	m = gumbelOfVector(1e-3, false)
	got, want = costsOf(t, d, m, start), paperTargets[gumbelOfVector(1e-4, false).name]
	within(m.name+", median", got[2], want[0], 3)
	within(m.name+", Q3", got[3], want[1], 3)
	within(m.name+", D9", got[4], want[2], 10)
	// The plateau of the paper is that of Hessians that are not projected.
	for _, m := range []estimator{gaussianOfVector(20, 1e-3, false, true), gumbelOfVector(1e-3, true)} {
		if q := costsOf(t, d, m, start); !(q[2] < 1e-28) {
			t.Errorf("%s: median %g", m.name, q[2])
		}
	}
	// Noise that stays the same does not leave local minima.
	one, fresh := costsOf(t, d, withOneNoise(zeroth(50, 1e-2)), start), costsOf(t, d, zeroth(50, 1e-2), start)
	if !(one[3] > 1e-3 && fresh[3] < 1e-20) {
		t.Errorf("order zero: Q3 %g with one noise, %g", one[3], fresh[3])
	}
}

// TestDerivativesCommitted holds the committed results to what the report says.
func TestDerivativesCommitted(t *testing.T) {
	d := committed(t).Derivatives
	if d == nil {
		t.Fatal("no derivatives (run lab papers --only derivatives --out lab/results)")
	}
	checkDerivatives(t, d)
}

// TestGaussNewton: from near a solution a target is reached to rounding, by smoothed derivatives.
func TestGaussNewton(t *testing.T) {
	problems := targetDraw{pairs: 3, each: 1, angle: 0.3, shape: roughShapes(1)}.problems(generator(499))
	for _, m := range []estimator{differences(1e-3), gaussian(20, 0, false), gumbel(0, 0, false)} {
		for i := range problems {
			path := problems[i].gaussNewton(&m, 20)
			falls := slices.IsSortedFunc(path, func(a, b float64) int { return cmp.Compare(b, a) })
			if !(path[len(path)-1] < 1e-20) || !falls {
				t.Errorf("%s, problem %d: costs %g", m.name, i, path)
			}
		}
	}
}
