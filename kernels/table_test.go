//go:build cgo

package kernels_test

import (
	"reflect"
	"testing"

	"clearance/batch"
	"clearance/geom"
	"clearance/kernels"
)

// The layout of tables depends on the vector width, so every variant has to have one,
// those of other machines as well.
func TestEveryVariantHasAWidth(t *testing.T) {
	lib, err := batch.NewLibrary([]geom.Shape{geom.Sphere{R: 1}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range kernels.Names() {
		if width := reflect.ValueOf(kernels.NewTable(lib, name)).Elem().FieldByName("width").Int(); width < 4 {
			t.Errorf("%s has vectors of %d lanes", name, width)
		}
	}
}
