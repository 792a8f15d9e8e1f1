package conformance

import (
	"testing"

	"clearance/dataset/generate"
	"clearance/geom"
	"clearance/internal/layout"
)

// TestEveryKindHasAForm: a kind that has a record in the layout, or that a generated
// set draws, is put to the test.
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
		if len(layout.Params(k)) > 0 && !tested[k] {
			t.Errorf("no form of %v, which has a record in the layout", k)
		}
	}
	g, err := generate.New("mixed", 1, generate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range g.Library().Len() {
		if k := g.Library().Shape(int32(i)).Kind(); !tested[k] {
			t.Fatalf("no form of %v, which the set mixed draws", k)
		}
	}
}
