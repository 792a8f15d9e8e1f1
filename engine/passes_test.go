package engine

import (
	"slices"
	"strings"
	"testing"
	"time"

	"clearance/batch"
	"clearance/shaders"
)

// TestPasses: every row of the table names the buffers of its shader, reads and writes them as the shader declares, has
// memory for each, and values for its specialisation constants; and every shader of answers has a row.
func TestPasses(t *testing.T) {
	m := memory{new(library), new(inputs), new(work), new(scratch), new(derivation), new(reduction)}
	taken, names := map[string]bool{}, map[string]bool{}
	for i := range passes {
		p := &passes[i]
		if names[p.name] {
			t.Errorf("two passes are called %s", p.name)
		}
		names[p.name] = true
		s := p.shader()
		taken[s.Name] = true
		in, out := strings.Fields(p.in), strings.Fields(p.out)
		for _, b := range s.Buffers {
			m.buffer(b.Name)
			reads, writes := slices.Contains(in, b.Name), slices.Contains(out, b.Name)
			if !reads && !writes || reads && !b.Reads || writes && !b.Writes || !reads && !b.Writes ||
				!writes && !b.Reads {
				t.Errorf("%s: buffer %s: the row reads it: %t, writes it: %t; the shader declares %+v", p.name, b.Name,
					reads, writes, b)
			}
		}
		for _, name := range append(in, out...) {
			if !slices.ContainsFunc(s.Buffers, func(b shaders.Buffer) bool { return b.Name == name }) {
				t.Errorf("%s: the shader has no buffer %s", p.name, name)
			}
		}
		if len(s.Constants) > maxConstants {
			t.Errorf("%s has %d specialisation constants, room for %d", p.name, len(s.Constants), maxConstants)
		}
		for _, c := range s.Constants {
			new(question).constant(p, c.Name)
		}
		double := p.when&(hasDouble|provedInDouble|growthDistance|differentiated|selected|summed|reduced) != 0
		if s.Float64 && !double {
			t.Errorf("%s needs double precision, and devices without it take the pass", p.name)
		}
		if list, ok := p.rows.list(); ok && !slices.Contains(in, "Counts") {
			t.Errorf("%s takes list %d and does not read Counts", p.name, list)
		}
		if takesScratch := slices.Contains(out, "Quads"); takesScratch != (p.vertices != 0) {
			t.Errorf("%s: scratch memory for %d vertices", p.name, p.vertices)
		}
	}
	if shaders.Get("selftest_two_floats").Float64 {
		t.Error("the self-test of devices without double precision needs it")
	}
	for _, s := range shaders.All() {
		if !taken[s.Name] && !strings.HasPrefix(s.Name, "selftest") {
			t.Errorf("no pass takes %s.comp", s.Name)
		}
	}
}

// TestChains: the passes of calls, by their options and by what the device and the library have.
func TestChains(t *testing.T) {
	gpu := arithmetic{float64: true}
	twoFloats := arithmetic{float64: true, twoFloats: true}
	alone := arithmetic{twoFloats: true}
	for _, c := range []struct {
		arithmetic arithmetic
		phased     bool
		options    batch.Options
		method     batch.Method
		have       kinds
		boxes      bool
		want       string
	}{
		{gpu, false, batch.Options{}, batch.GJK, plain, false, "input gjk prove certify depth"},
		{gpu, true, batch.Options{}, batch.GJK, plain, true, "input gjk gjk-rest prove box_axes certify depth"},
		{gpu, true, batch.Options{}, batch.Nesterov, allKinds, false, "input gjk prove certify epa_float32 depth"},
		{gpu, false, batch.Options{Query: batch.Collide}, batch.GJK, allKinds, false, "input gjk prove certify depth"},
		{gpu, false, batch.Options{}, batch.Auto, plain, false,
			"input gjk prove trust_region certify depth_certificate depth"},
		{twoFloats, false, batch.Options{}, batch.GJK, plain, false,
			"input_two_floats gjk prove_two_floats prove-rest certify depth"},
		{twoFloats, false, batch.Options{Precision: batch.Double}, batch.GJK, plain, false,
			"input gjk prove certify depth"},
		{alone, false, batch.Options{}, batch.RTR, allKinds, true, "input_two_floats gjk prove_two_floats"},
		{gpu, true, batch.Options{Query: batch.Growth}, batch.Auto, allKinds, true,
			"input growth growth_prove growth_certify"},
		{twoFloats, false, batch.Options{Query: batch.Growth}, batch.GJK, plain, true,
			"input growth growth_certify-all"},
	} {
		p := pipelines{arithmetic: c.arithmetic, phased: c.phased}
		q := p.ask(&c.options, c.method, c.have, c.boxes)
		var got []string
		for i := range passes {
			if q.takes(&passes[i]) {
				got = append(got, passes[i].name)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%v %v by %v, %+v: %v, want %s", c.options.Precision, c.options.Query, c.method, c.arithmetic, got,
				c.want)
		}
	}
	for _, o := range []batch.Options{{Query: batch.Growth}, {Precision: batch.Double}} {
		p := pipelines{arithmetic: alone}
		if c, err := p.forQuery(&o, new(library)); c != nil || err != nil {
			t.Errorf("%+v without double precision: %v, %v", o, c, err)
		}
	}
}

// TestTimes: the time between two timestamps is that of the pass which the later one follows; passes that a chunk does
// not take have none.
func TestTimes(t *testing.T) {
	stamps := slices.Repeat([]time.Duration{-1}, stampCount)
	stamps[stampStart], stamps[stampUploaded], stamps[stampEnd] = 0, 5, 100
	stamps[stampPasses+1], stamps[stampPasses+4] = 15, 35
	var times Times
	if kernel := times.add(stamps); kernel != 30 {
		t.Errorf("the passes took %d, want 30", kernel)
	}
	want := Times{1: 10, 4: 20, len(passes): 5, len(passes) + 1: 65}
	if times != want {
		t.Errorf("times %v, want %v", times, want)
	}
	if times.Of(UploadTime) != 5 || times.Of(passes[1].name) != 10 {
		t.Errorf("times by name: %v, %v", times.Of(UploadTime), times.Of(passes[1].name))
	}
	if times.add(nil) != 0 {
		t.Error("a device without a clock tells the time")
	}
}
