package engine

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/geom"
	"clearance/internal/layout"
	"clearance/shaders"

	"gonum.org/v1/gonum/spatial/r3"
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

// TestChunkOf: the memory of a chunk has the rows of the list, their refusals, and the places of the columns.
func TestChunkOf(t *testing.T) {
	lib, err := batch.NewLibrary([]geom.Shape{geom.Sphere{R: 1}, geom.Box{HalfExtents: r3.Vec{X: 1, Y: 2, Z: 3}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	pairs := batch.NewPairs(3)
	pairs.ShapeB[1], pairs.ShapeB[2] = 1, 7 // there is no shape 7
	pairs.PositionB[3] = 5
	pairs.RotationA[8] = math.NaN()
	for _, p := range []batch.Precision{batch.Single, batch.Double} {
		c, err := ChunkOf(lib, pairs, &batch.Options{Precision: p})
		if err != nil {
			t.Fatal(err)
		}
		poses := recordsIn[layout.PoseRecord](c.Buffers["Poses"])
		templates := recordsIn[layout.TemplateRecord](c.Buffers["Templates"])
		if len(poses) != 6 || len(templates) != 3 {
			t.Fatalf("%d poses, %d templates", len(poses), len(templates))
		}
		if templates[1] != (layout.TemplateRecord{BodyA: 2, BodyB: 3, ShapeA: 0, ShapeB: 1}) {
			t.Errorf("row 1: %+v", templates[1])
		}
		if templates[2].ShapeA != layout.NoShape {
			t.Errorf("row 2 has a shape that is not there: %+v", templates[2])
		}
		if poses[3].Position != [3]float64{5, 0, 0} || poses[4].Rotation != [4]float64{} {
			t.Errorf("poses %+v", poses)
		}
		q := recordsIn[layout.QueryRecord](c.Query)[0]
		if q.Rows != 3 || q.Templates != 3 || q.Columns&uint32(batch.ColDistance) == 0 ||
			q.Columns&uint32(batch.ColStatus) == 0 {
			t.Errorf("query %+v", q)
		}
		recordsIn[layout.PairRecord](c.Buffers["Pairs"])[1] = layout.PairRecord{
			Translation: [3]float32{1, 2, 3}, TranslationLow: [3]float32{0x1p-30},
		}
		if at := c.Translation(1); at != [3]float64{1 + 0x1p-30, 2, 3} {
			t.Errorf("translation %v", at)
		}
		columns := c.Buffers["Columns"] // of which the distance is the first
		if p == batch.Double {
			recordsIn[float64](columns)[2] = 2.5
		} else {
			recordsIn[float32](columns)[2] = 2.5
		}
		if d := c.Distance(2); d != 2.5 {
			t.Errorf("%v: distance %g, want 2.5", p, d)
		}
	}
}

// TestRefined: rows that double precision had to go on from are counted, and are some of
// the rows, not none and not all: single precision ends far above what double asks for on
// curved shapes, and finds the very vertices of polytopes.
func TestRefined(t *testing.T) {
	for name, most := range map[string]bool{"ellipsoids": true, "boxes": false} {
		t.Run(name, func(t *testing.T) {
			b := open(t, Options{})
			lib, pairs := set(t, name, 0, 3000)
			job := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Precision: batch.Double}}
			rep := run(t, job, dispatch.Options{}, b, processor(t))
			answered := int64(rep.Done - rep.Declined())
			if n := b.Stats().Refined; n < 0 || n > answered || (n > answered/2) != most {
				t.Errorf("%s: %d of %d rows went on in double precision", name, n, answered)
			}
		})
	}
}

// TestBytes: the bytes of a pair list and of its answers, of chunks that copy and of those
// that do not; of a held batch the poses alone.
func TestBytes(t *testing.T) {
	eachPath(t, func(t *testing.T, o Options) {
		const rows = 640
		o.ChunkRows = 256
		b := open(t, o)
		lib, pairs := set(t, "boxes", 0, rows)
		moved := func(up, down uint64, do func()) {
			t.Helper()
			before := b.Stats()
			do()
			after := b.Stats()
			got := fmt.Sprintf("%d up, %d down", after.BytesUp-before.BytesUp, after.BytesDown-before.BytesDown)
			if want := fmt.Sprintf("%d up, %d down", rows*up, rows*down); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
		moved(2*poseBytes+templateBytes, 4*(1+9+1+1), func() { direct(t, b, lib, pairs, batch.Options{}) })
		moved(2*poseBytes+templateBytes, 8*(1+9)+4+4,
			func() { direct(t, b, lib, pairs, batch.Options{Precision: batch.Double}) })
		h := hold(t, b, lib, pairs)
		out := unanswered(rows, new(batch.Options))
		ask := func() {
			if err := h.Run(t.Context(), new(batch.Options), out); err != nil {
				t.Fatal(err)
			}
		}
		moved(2*poseBytes+templateBytes, 48, ask)
		moved(0, 48, ask)
		moved(2*poseBytes, 48, func() {
			if err := h.Update(t.Context(), pairs); err != nil {
				t.Fatal(err)
			}
			ask()
		})
	})
}
