package papers

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"clearance/geom"
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
	cost := func(m estimator) [5]float64 {
		for _, row := range d.Targets {
			if row.Method == m.name {
				return row.Quantiles[last]
			}
		}
		t.Fatalf("no row %s", m.name)
		return [5]float64{}
	}
	if f := cost(differences(1e-6)); !(f[2] > 1e-3) {
		t.Errorf("finite differences from 180°: median %g", f[2])
	}
	for _, m := range []estimator{zeroth(50, 1e-2), gaussian(20, 1e-3, true)} {
		if q := cost(m); !(q[2] < 1e-8) {
			t.Errorf("%s from 180°: median %g", m.name, q[2])
		}
	}
	for _, row := range d.Targets {
		for i, q := range row.Quantiles {
			if math.IsNaN(q[4]) || (i == 0 && !(q[3] < 1e-8)) {
				t.Errorf("%s, start %d: quantiles %g", row.Method, i, q)
			}
		}
	}
}

// TestDerivativesCommitted holds the committed results to what the report says.
func TestDerivativesCommitted(t *testing.T) {
	d := committed(t).Derivatives
	if d == nil {
		t.Fatal("no derivatives (run batchbench papers --only derivatives --out docs/results)")
	}
	checkDerivatives(t, d)
}

// TestGaussNewton: from near a solution a target is reached to rounding, by smoothed derivatives.
func TestGaussNewton(t *testing.T) {
	problems := targetProblems(generator(499), 3, 1, 0.3, func(g *rand.Rand) *geom.Convex {
		c, _ := roughEllipsoid(g, 12)
		return c
	})
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
