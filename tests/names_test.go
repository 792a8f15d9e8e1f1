package tests

import (
	"fmt"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/layout"
	"clearance/ref"
)

// constants returns what shaders and SIMD kernels are given.
func constants(t *testing.T) map[string]uint32 {
	t.Helper()
	all := map[string]uint32{}
	for _, g := range layout.GLSLConstants() {
		for _, c := range g.Constants {
			if _, twice := all[c.Name]; twice {
				t.Errorf("%s is declared twice", c.Name)
			}
			all[c.Name] = c.Value
		}
	}
	return all
}

// TestLayoutCodes: the codes that shaders and SIMD kernels are given are those of Go,
// one by one, and there are no others of their prefixes.
func TestLayoutCodes(t *testing.T) {
	want := map[string]uint32{}
	put := func(prefix string, count uint8, name func(uint8) string) {
		for c := range count {
			want[prefix+strings.ToUpper(name(c))] = uint32(c)
		}
		want[prefix+"COUNT"] = uint32(count)
	}
	put("KIND_", uint8(geom.KindCount), func(c uint8) string { return geom.Kind(c).String() })
	put("STATUS_", uint8(batch.StatusCount), func(c uint8) string { return ref.Status(c).String() })
	put("QUERY_", uint8(batch.QueryCount), func(c uint8) string { return batch.Query(c).String() })
	got := constants(t)
	for name, v := range want {
		if g, ok := got[name]; !ok || g != v {
			t.Errorf("%s is %d (declared: %t), want %d", name, g, ok, v)
		}
	}
	for name, v := range got {
		for _, prefix := range []string{"KIND_", "STATUS_", "QUERY_"} {
			if _, ok := want[name]; strings.HasPrefix(name, prefix) && !ok {
				t.Errorf("%s = %d is no code of Go", name, v)
			}
		}
	}
}

// TestParameterNames: every parameter of a kind has an index below the size of a
// record, in the order of the names.
func TestParameterNames(t *testing.T) {
	got := constants(t)
	checked := 0
	for k := range geom.KindCount {
		for i, p := range layout.Params(k) {
			name := strings.ToUpper(fmt.Sprintf("%s_%s", k, p))
			if v, ok := got[name]; !ok || v != uint32(i) || v >= layout.ParamCount {
				t.Errorf("%s is %d (declared: %t), want %d, below %d", name, v, ok, i, layout.ParamCount)
			}
			checked++
		}
	}
	if checked < 15 {
		t.Errorf("checked %d parameters only", checked)
	}
}

// TestMethodNames: a method of batch that ref solves with bears the name of one of
// ref's, so that reports of both can be read side by side.
func TestMethodNames(t *testing.T) {
	names := map[string]bool{}
	for m := range ref.MethodCount {
		names[m.String()] = true
	}
	for _, m := range []batch.Method{batch.GJK, batch.Nesterov, batch.Polyak} {
		if !names[m.String()] {
			t.Errorf("ref has no method %v", m)
		}
	}
}

// TestNamesAreReadBack: every code's name is read back as that code, as files and the
// command line spell it.
func TestNamesAreReadBack(t *testing.T) {
	back := func(what string, count uint8, name func(uint8) string, parse func(string) (uint8, error)) {
		for c := range count {
			if got, err := parse(name(c)); err != nil || got != c {
				t.Errorf("%s %d is named %q, which is read back as %d (%v)", what, c, name(c), got, err)
			}
		}
		if _, err := parse(name(count)); err == nil {
			t.Errorf("%s %d does not exist, and yet its name %q is read", what, count, name(count))
		}
	}
	back("kind", uint8(geom.KindCount), func(c uint8) string { return geom.Kind(c).String() },
		func(s string) (uint8, error) { k, err := geom.ParseKind(s); return uint8(k), err })
	back("query", uint8(batch.QueryCount), func(c uint8) string { return batch.Query(c).String() },
		func(s string) (uint8, error) { q, err := batch.ParseQuery(s); return uint8(q), err })
	back("method", uint8(batch.MethodCount), func(c uint8) string { return batch.Method(c).String() },
		func(s string) (uint8, error) { m, err := batch.ParseMethod(s); return uint8(m), err })
	back("precision", uint8(batch.PrecisionCount), func(c uint8) string { return batch.Precision(c).String() },
		func(s string) (uint8, error) { p, err := batch.ParsePrecision(s); return uint8(p), err })
}
