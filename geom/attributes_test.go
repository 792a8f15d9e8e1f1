package geom_test

import (
	"math"
	"strings"
	"testing"

	"clearance/geom"
)

// Every attribute has a full row whose name is free, and its default passes its own check.
func TestAttributeRows(t *testing.T) {
	names := map[string]bool{"kind": true, "name": true, "margin": true, "mesh": true, "part": true}
	for a := range geom.AttributeCount {
		info := a.Info()
		if info.Name == "" || info.Plural == "" || info.Meaning == "" || info.Width < 1 || names[info.Name] {
			t.Errorf("attribute %d: the row %+v lacks something, or its name is taken", a, info)
		}
		names[info.Name] = true
		for k := range geom.KindCount {
			for _, p := range k.Params() {
				if a.ParameterOf(k) && p.Name == info.Name && (p.List || p.Width != info.Width) {
					t.Errorf("%s is a parameter of %v with other numbers", a, k)
				}
			}
		}
		for _, s := range samples(t) {
			v := a.Default(s)
			if v == nil || s.Kind().Traits().Unbounded {
				continue
			}
			if err := a.Check(s, v); err != nil {
				t.Errorf("the default: %v", err)
			}
			if err := a.Check(s, v[1:]); err == nil || !strings.Contains(err.Error(), info.Name) {
				t.Errorf("%s of %v with a number less: %v", a, s.Kind(), err)
			}
			for i := range v {
				for _, x := range []float64{math.NaN(), math.Inf(1)} {
					bad := append([]float64{}, v...)
					bad[i] = x
					if err := a.Check(s, bad); err == nil || !strings.Contains(err.Error(), info.Name) {
						t.Errorf("%s %v of %v: %v", a, bad, s.Kind(), err)
					}
				}
			}
		}
	}
}
