package engine

import (
	"math/rand/v2"
	"slices"
	"testing"

	"clearance/batch"
	"clearance/derive"
	"clearance/dispatch"
	"clearance/engine/internal/vk"
	"clearance/geom"
	"clearance/internal/testkit"
	"clearance/rollout"
	"clearance/tests/conformance"
)

// partWorlds are worlds of bodies of one to three parts of every form, some of them absent or with an invalid pose.
func partWorlds(t *testing.T, worlds int) (*batch.Bodies, *batch.Worlds) {
	t.Helper()
	rng := rand.New(rand.NewPCG(33, 9))
	var shapes []geom.Shape
	var list []batch.Body
	for i, f := range conformance.Forms() {
		shapes = append(shapes, f.Shape())
		if f.Shape().Kind() != geom.KindHalfspace {
			list = append(list, batch.Body{Parts: []batch.Part{{Shape: int32(i), Pose: testkit.Pose(rng, 0.5)}}})
		}
	}
	for i := range list {
		for k := range i % 3 {
			part := batch.Part{Shape: list[(i+k+1)%len(list)].Parts[0].Shape, Pose: testkit.Pose(rng, 1)}
			list[i].Parts = append(list[i].Parts, part)
		}
	}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	bodies, err := batch.NewBodies(lib, list)
	if err != nil {
		t.Fatal(err)
	}
	w := &batch.Worlds{M: 6}
	for i := range worlds * w.M {
		w.Bodies = append(w.Bodies, rng.Int32N(int32(len(list))))
		p := testkit.Pose(rng, 1.5)
		q := p.Rotation
		w.Poses = append(w.Poses, p.Position.X, p.Position.Y, p.Position.Z, q.Real, q.Imag, q.Jmag, q.Kmag)
		switch i % 97 {
		case 40:
			w.Bodies[i] = batch.Absent
		case 50:
			clear(w.Poses[7*i+3:])
		}
	}
	for i := range int32(w.M) {
		for k := range i {
			w.TemplateA, w.TemplateB = append(w.TemplateA, k), append(w.TemplateB, i)
		}
	}
	return bodies, w
}

// stepGradients are the gradients of a step of a rollout.
func stepGradients(t *testing.T, d *dispatch.Dispatcher, backend string, bodies *batch.Bodies, w *batch.Worlds,
	o rollout.Options, derivative batch.Derivative, operands []float64) []float64 {
	t.Helper()
	held, err := rollout.Hold(d, bodies, w, o, dispatch.Options{Backend: backend})
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	to := make([]float64, batch.BodyWidth*w.Count()*w.BodiesPerWorld())
	product := batch.RolloutProduct{Kind: batch.VJP, Operands: operands, Results: to}
	if len(operands) == held.Len() {
		product.Kind = batch.ValueVJP
	}
	if _, err := held.Multiply(t.Context(), w, nil, derivative, &product); err != nil {
		t.Fatal(err)
	}
	return to
}

// compareSteps compares the gradients of worlds of m bodies, most of which are not 0.
func compareSteps(t *testing.T, name string, got, want []float64, m int) {
	t.Helper()
	product := func(v []float64) *batch.Product { return &batch.Product{Kind: batch.VJP, Results: v} }
	compareProducts(t, product(got), product(want), batch.BodyWidth*m, nil, func(i int) string { return name })
	zeros := 0
	for _, v := range want {
		if v == 0 {
			zeros++
		}
	}
	if zeros > len(want)*9/10 {
		t.Errorf("%s: %d of %d numbers are 0", name, zeros, len(want))
	}
}

// TestPartGradientsLeft: worlds with rows that the device declines have the gradients of the host.
func TestPartGradientsLeft(t *testing.T) {
	const worlds = 40
	bodies, w := partWorlds(t, worlds)
	operands := make([]float64, w.Len())
	for i := range operands {
		operands[i] = 1 + float64(i%3)
	}
	b := open(t, Options{budget: 60})
	d := dispatch.New(kept{b}, processor(t))
	defer d.Close()
	d.SetDifferentiator(&derive.Differentiator{})
	for n, reduce := range map[int]rollout.Reduce{w.Len(): rollout.ReduceNone, worlds: rollout.ReduceWorld} {
		o := rollout.Options{Reduce: reduce}
		o.Precision = batch.Double
		before := b.Stats()
		got := stepGradients(t, d, b.Name(), bodies, w, o, batch.Derivative{}, operands[:n])
		after := b.Stats()
		if kept := after.Derived - before.Derived; kept == 0 || kept == after.Rows-before.Rows {
			t.Errorf("%v: %d rows, %d in worlds that are not left: want some of both", reduce,
				after.Rows-before.Rows, kept)
		}
		o.NoDeviceReduction = true
		want := stepGradients(t, d, b.Name(), bodies, w, o, batch.Derivative{}, operands[:n])
		compareSteps(t, reduce.String(), got, want, w.M)
	}
	// Worlds of shapes, and worlds that share their bodies.
	shapes, shared := *w, *w
	shapes.M, shapes.Bodies, shapes.Shapes = 0, nil, []int32{0, 2, 4, 6, 3, 1}
	shared.Bodies = []int32{0, 1, 2, 3, 4, 5}
	for _, w := range []*batch.Worlds{&shapes, &shared} {
		o := rollout.Options{Options: batch.Options{Precision: batch.Double}}
		before := b.Stats()
		got := stepGradients(t, d, b.Name(), bodies, w, o, batch.Derivative{}, operands)
		if n := b.Stats().Derived - before.Derived; n == 0 {
			t.Error("the device has derived no row")
		}
		o.NoDeviceReduction = true
		want := stepGradients(t, d, b.Name(), bodies, w, o, batch.Derivative{}, operands)
		compareSteps(t, "other worlds", got, want, w.BodiesPerWorld())
	}
}

// TestSumsThatFit: worlds that exceed a chunk, groups and bodies whose loops exceed the limit, are left to the host.
func TestSumsThatFit(t *testing.T) {
	const far = loopLimit/4 + 1
	sums := func(sets, rows, groups int) *products { // one world, in which body 0 is in all sets
		s := &batch.Sums{Sets: []int32{0}, Groups: []int32{0}, Worlds: []int32{0, int32(groups)}, PerWorld: sets + 1}
		for i := range sets {
			s.Sets = append(s.Sets, int32((i+1)*rows))
			s.Bodies = append(s.Bodies, 0, int32(i+1))
		}
		for g := range groups {
			s.Groups = append(s.Groups, int32((g+1)*sets/groups))
		}
		s.Others, s.Positions = make([]float64, 2*groups), make([]float64, 3*s.PerWorld)
		p := &products{Product: &batch.Product{Kind: batch.ValueVJP, Sums: s, Operands: make([]float64, groups),
			Results: make([]float64, batch.BodyWidth*s.PerWorld)}}
		if err := p.Check(batch.NewPairs(sets * rows)); err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, c := range []struct {
		sets, rows, groups, chunk int
		fits                      bool
	}{{4, 2, 4, 8, true}, {4, 2, 4, 7, false}, {1, far - 1, 1, far, true}, {1, far, 1, far, false},
		{far - 1, 1, far - 1, far, true}, {far, 1, far, far, false}, {far, 1, 1, far, false}} {
		if got := sums(c.sets, c.rows, c.groups).fits(c.chunk); got != c.fits {
			t.Errorf("%+v: %t", c, got)
		}
	}
}

// TestPartGradientsFault: where the device fails, the worlds of that block and of later ones have the gradients of the
// host.
func TestPartGradientsFault(t *testing.T) {
	bodies, w := partWorlds(t, 20)
	operands := make([]float64, w.Len())
	for i := range operands {
		operands[i] = 1
	}
	b := openAlone(t, Options{})
	d := dispatch.New(kept{b}, processor(t))
	defer d.Close()
	d.SetDifferentiator(&derive.Differentiator{})
	o := rollout.Options{BlockPairs: 100}
	o.Precision = batch.Double
	disarm := vk.Inject(vk.Fault{Call: "vkAllocateMemory", Times: 1, Result: vk.ErrorOutOfDeviceMemory})
	defer disarm()
	got := stepGradients(t, d, b.Name(), bodies, w, o, batch.Derivative{}, operands)
	disarm()
	if n := b.Stats().Derived; n != 0 {
		t.Errorf("the device derived %d rows after a failure", n)
	}
	o.NoDeviceReduction = true
	want := stepGradients(t, d, b.Name(), bodies, w, o, batch.Derivative{}, operands)
	compareSteps(t, "after a failure", got, want, w.M)
}

// TestPartGradients: the gradients of bodies of parts on the device, of pairs and of the least of worlds, are those of
// answers that come to the host. They have the same bits in chunks, for any size of blocks and number of workers.
// Hardly a world is left to the host.
func TestPartGradients(t *testing.T) {
	const worlds = 80
	bodies, w := partWorlds(t, worlds)
	rng := rand.New(rand.NewPCG(33, 10))
	operands := make([]float64, batch.AnswerWidth*w.Len())
	for i := range operands {
		operands[i] = rng.NormFloat64()
	}
	all := *w
	all.TemplateA, all.TemplateB, all.AllPairs = nil, nil, true
	double := rollout.Options{Options: batch.Options{Precision: batch.Double}}
	single, every, near, least := double, double, double, double
	single.Precision, every.NoCulling, least.Reduce = batch.Single, true, rollout.ReduceWorld
	near.MaxDistance, near.HasMaxDistance = 0.5, true
	smoothed := batch.Derivative{Mode: batch.GumbelDerivative, Epsilon: 0.3}
	cases := []struct {
		name  string
		w     *batch.Worlds
		o     rollout.Options
		d     batch.Derivative
		width int
	}{{"pairs", w, double, batch.Derivative{}, batch.AnswerWidth},
		{"pairs in single precision", w, single, batch.Derivative{}, batch.AnswerWidth},
		{"values", w, every, batch.Derivative{}, 1},
		{"near pairs", w, near, batch.Derivative{}, batch.AnswerWidth},
		{"worlds", w, least, batch.Derivative{}, batch.AnswerWidth},
		{"worlds of all pairs", &all, least, batch.Derivative{}, batch.AnswerWidth},
		{"smoothed pairs", w, double, smoothed, batch.AnswerWidth}}
	earlier := make([][]float64, len(cases))
	inChunks(t, func(t *testing.T, b *Backend) {
		d := dispatch.New(kept{b}, processor(t))
		defer d.Close()
		d.SetDifferentiator(&derive.Differentiator{})
		for k, c := range cases {
			n := w.Len()
			if c.o.Reduce == rollout.ReduceWorld {
				n = worlds
			}
			vjp := func(o rollout.Options) []float64 {
				t.Helper()
				return stepGradients(t, d, b.Name(), bodies, c.w, o, c.d, operands[:c.width*n])
			}
			before := b.Stats()
			got := vjp(c.o)
			after := b.Stats()
			pieces := c.o
			pieces.BlockPairs, pieces.Workers = 50, 3
			if !slices.Equal(vjp(pieces), got) {
				t.Errorf("%s: other bits in blocks", c.name)
			}
			if earlier[k] != nil && !slices.Equal(got, earlier[k]) {
				t.Errorf("%s: other bits in chunks", c.name)
			}
			earlier[k] = got
			host := c.o
			host.NoDeviceReduction = true
			want := vjp(host)
			compareSteps(t, c.name, got, want, w.M)
			rows, derived := after.Rows-before.Rows, after.Derived-before.Derived
			if derived*10 < rows*9 || derived == 0 {
				t.Errorf("%s: of %d pairs of parts the worlds of %d are not left to the host", c.name, rows, derived)
			}
			t.Logf("%s: %d pairs of parts, %d in worlds that are not left, %d bytes read", c.name, rows, derived,
				after.BytesDown-before.BytesDown)
		}
	})
}
