package conformance

import (
	"testing"

	"clearance/geom"
)

// TestEveryKindHasAForm: every kind is put to the test.
func TestEveryKindHasAForm(t *testing.T) {
	tested := map[geom.Kind]bool{}
	for _, f := range Forms() {
		tested[f.Kind] = true
		if err := f.shape.Validate(); err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
		if f.Flat != flat(f.shape) {
			t.Errorf("%s: inradius %g, said to be flat: %t", f.Name, f.shape.Inradius(), f.Flat)
		}
	}
	for k := range geom.KindCount {
		if !tested[k] {
			t.Errorf("no form of %v; add one to Forms", k)
		}
	}
}
