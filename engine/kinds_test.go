package engine

import (
	"math/rand/v2"
	"testing"

	"clearance/batch"
	"clearance/engine/internal/vk"
	"clearance/geom"
	"clearance/internal/layout"
	"clearance/internal/testkit/rowcheck"
	"clearance/tests/conformance"
	"clearance/tests/need"

	"gonum.org/v1/gonum/spatial/r3"
)

// TestVariants: rows have the same bits whatever else the library holds, that is, in
// every pipeline, and libraries of other kinds get other pipelines.
func TestVariants(t *testing.T) {
	b := openSpecialised(t, Options{})
	g := rand.New(rand.NewPCG(5, 23))
	box := geom.Box{HalfExtents: r3.Vec{X: 0.2, Y: 0.5, Z: 0.3}}
	curved := []geom.Shape{
		geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.2, Y: 0.5, Z: 0.9}},
		geom.WithMargin(geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.7, Y: 0.1, Z: 0.3}}, 0.05),
	}
	turned := []geom.Shape{geom.Sphere{R: 0.4}, geom.Cone{R: 0.3, HalfLength: 0.5},
		geom.Cylinder{R: 0.2, HalfLength: 0.6}}
	powers := []geom.Shape{geom.Superquadric{SemiAxes: r3.Vec{X: 0.2, Y: 0.5, Z: 0.4}, Alpha1: 0.4, Alpha2: 1.3}}
	rounded := smoothShapes(t, g, 2)
	few, many := hullLibrary(t, g, 3, 10), hullLibrary(t, g, 3, 60)
	shapesOf := func(l *batch.Library) (all []geom.Shape) {
		for i := range l.Len() {
			all = append(all, l.Shape(int32(i)))
		}
		return all
	}
	others := append(append(append([]geom.Shape{geom.Halfspace{}, box}, curved...), turned...), powers...)
	others = append(others, rounded...)
	others = append(append(others, shapesOf(few)...), shapesOf(many)...)
	rows, masks := size(150, 200, 500), map[kinds]bool{allKinds: true}
	for name, c := range map[string]struct {
		shapes []geom.Shape
		have   kinds
	}{
		"ellipsoids":      {curved, plain},
		"box":             {[]geom.Shape{box, box}, plain},
		"round":           {turned, plain},
		"superquadrics":   {powers, 1 << geom.KindSuperquadric},
		"smooth":          {rounded, 1<<geom.KindSmoothHull | 1<<geom.KindSmoothRevolution},
		"scanned hulls":   {shapesOf(few), 1 << geom.KindConvex},
		"hulls":           {shapesOf(many), 1<<geom.KindConvex | withCells},
		"hulls and boxes": {append([]geom.Shape{box}, shapesOf(many)...), plain | 1<<geom.KindConvex | withCells},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "box" && name != "superquadrics" && name != "hulls" {
				need.Full(t, "pipelines take long to compile; boxes, superquadrics and hulls have three kinds of them")
			}
			masks[c.have] = true
			own, err := batch.NewLibrary(c.shapes, nil)
			if err != nil {
				t.Fatal(err)
			}
			packed, err := layout.Pack(own)
			if err != nil {
				t.Fatal(err)
			}
			if got := kindsOf(packed); got != c.have {
				t.Errorf("kinds %b, want %b", got, c.have)
			}
			full, err := batch.NewLibrary(append(c.shapes[:len(c.shapes):len(c.shapes)], others...), nil)
			if err != nil {
				t.Fatal(err)
			}
			pairs := scattered(g, own, rows)
			same := func(o batch.Options) {
				t.Helper()
				sameAll(t, name, direct(t, b, own, pairs, o), direct(t, b, full, pairs, o))
			}
			same(batch.Options{Method: batch.RTR}) // gjk, where no pair has RTR
			same(batch.Options{Precision: batch.Double})
			same(batch.Options{Query: batch.Collide, Columns: new(batch.Options).EffectiveColumns()})
			same(batch.Options{Query: batch.Growth, Precision: batch.Double, Columns: growthColumns})
			t.Run("momentum", func(t *testing.T) {
				need.Full(t, "the kinds of a pipeline are the same for every method, and TestConformance asks for each")
				same(batch.Options{})
				same(batch.Options{Precision: batch.Double, Method: batch.Polyak})
				same(batch.Options{Query: batch.Collide, Method: batch.Nesterov,
					Columns: new(batch.Options).EffectiveColumns()})
			})
		})
	}
	type proof struct{ have, boolean, fine uint32 }
	want := map[proof]bool{}
	for have := range masks { // of the queries and precisions above
		for _, p := range []proof{{uint32(have), 0, 0}, {uint32(have), 0, 1}, {uint32(have), 1, 0}} {
			want[p] = true
		}
	}
	for key := range b.pipelines.compiled {
		if passes[key.pass].name != "certify" {
			continue
		}
		p := proof{key.constants[0], key.constants[1], key.constants[2]}
		if !want[p] {
			t.Errorf("a pipeline that certifies was compiled for %+v", p)
		}
		delete(want, p)
	}
	if len(want) > 0 {
		t.Errorf("no pipeline that certifies for %v", want)
	}
}

// TestEveryKindHasAShader: rows of every kind beside a ball, in either order, are not declined for their kind. A kind
// that is forgotten in support.glsl is declined and answered by another back end, so nothing else notices.
func TestEveryKindHasAShader(t *testing.T) {
	b := open(t, Options{})
	eachKind(t, func(s geom.Shape, lib *batch.Library, pairs *batch.Pairs) {
		before := b.Stats().Declined.Kind
		for _, o := range []batch.Options{{}, {Query: batch.Growth}} {
			if err := b.Run(t.Context(), &batch.Job{Library: lib, Input: pairs, Options: o}, 0, 2,
				batch.NewResults(2, &o)); err != nil {
				t.Fatal(err)
			}
		}
		declined, why := b.Stats().Declined.Kind-before, conformance.NoShader[s.Kind()]
		switch {
		case declined > 0 && why == "":
			t.Errorf("%d of 4 rows of %v were declined; add the kind to shaders/support.glsl, or to "+
				"conformance.NoShader with a reason", declined, s.Kind())
		case declined == 0 && why != "":
			t.Errorf("rows of %v were answered; conformance.NoShader says %q", s.Kind(), why)
		}
	})
}

// TestEveryKindInTwoFloats: rows of every kind beside a ball are proved in sums of two floats, and the audit refutes
// none: a kind whose parameters support_two_floats.glsl takes for those of another one has a wrong answer.
func TestEveryKindInTwoFloats(t *testing.T) {
	b := open(t, Options{disable: vk.Float64})
	eachKind(t, func(s geom.Shape, lib *batch.Library, pairs *batch.Pairs) {
		o := batch.Options{Columns: batch.FileColumns}
		out := batch.NewResults(pairs.Len(), &o)
		job := &batch.Job{Library: lib, Input: pairs, Options: o, Results: out}
		before := b.Stats().Declined.Sum()
		if err := b.Run(t.Context(), job, 0, pairs.Len(), out); err != nil {
			t.Fatal(err)
		}
		declined, why := b.Stats().Declined.Sum()-before, conformance.NoTwoFloats[s.Kind()]
		switch {
		case declined > 0 && why == "":
			t.Errorf("%d of %d rows of %v were declined; add the kind to shaders/support_two_floats.glsl, or to "+
				"conformance.NoTwoFloats with a reason", declined, pairs.Len(), s.Kind())
		case declined == 0 && why != "":
			t.Errorf("rows of %v were answered; conformance.NoTwoFloats says %q", s.Kind(), why)
		case declined == 0:
			rowcheck.Audit(t, job)
		}
	})
}

// eachKind visits shapes of every kind, each with two rows of it beside a ball, in either order.
func eachKind(t *testing.T, visit func(s geom.Shape, lib *batch.Library, pairs *batch.Pairs)) {
	t.Helper()
	shapes := []geom.Shape{geom.Sphere{R: 0.5}}
	for _, f := range conformance.Forms() {
		shapes = append(shapes, f.Shape())
	}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	tested := map[geom.Kind]bool{}
	for i, s := range shapes {
		pairs := batch.NewPairs(2)
		away := geom.Translate(1, 2, 4) // outside the half-space
		pairs.SetRow(0, &batch.Row{ShapeA: int32(i), ShapeB: 0, PoseA: geom.IdentityPose(), PoseB: away})
		pairs.SetRow(1, &batch.Row{ShapeA: 0, ShapeB: int32(i), PoseA: away, PoseB: geom.IdentityPose()})
		visit(s, lib, pairs)
		tested[s.Kind()] = true
	}
	for k := range geom.KindCount {
		if !tested[k] {
			t.Errorf("no row of %v; add a form to tests/conformance", k)
		}
	}
}
