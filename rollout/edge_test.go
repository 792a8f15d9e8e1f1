package rollout

import (
	"math"
	"testing"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/geom"
)

// inRow returns a world of all pairs of bodies of one shape, that many metres apart along x.
func inRow(shapes []int32, step float64) *batch.Worlds {
	w := &batch.Worlds{M: len(shapes), Bodies: shapes, AllPairs: true}
	for k := range shapes {
		p := geom.Translate(step*float64(k), 0, 0)
		w.Poses = appendPose(w.Poses, &p)
	}
	return w
}

// TestLeastOfAChain: the pairs of bodies next to one another are left out, as those of joined links are, and the
// others are beyond the largest distance. The world has a least distance, and its bounds hold.
func TestLeastOfAChain(t *testing.T) {
	bodies := bodiesOf(t, geom.Sphere{R: 0.5})
	w := inRow([]int32{0, 0, 0}, 10)
	w.SkipA, w.SkipB = []int32{0, 1}, []int32{1, 2}
	o := Options{Reduce: ReduceWorld, MaxDistance: 0.1, HasMaxDistance: true}
	r, _ := mustRun(t, dispatcher(t), bodies, w, o, "ref")
	d, gap := r.Distance().At(0), float64(r.Gap()[0])
	if batch.Status(r.Status()[0]) != batch.Separated || !(d-gap >= 0.0999 && d-gap <= 19 && d+gap >= 19) {
		t.Errorf("%v, distance %g ± %g, want an interval that holds 19 and begins about 0.1 or above",
			batch.Status(r.Status()[0]), d, gap)
	}
	w.SkipA, w.SkipB = append(w.SkipA, 0), append(w.SkipB, 2)
	if r, _ := mustRun(t, dispatcher(t), bodies, w, o, "ref"); !math.IsInf(r.Distance().At(0), 1) || r.Gap()[0] != 0 {
		t.Errorf("no pair is asked: distance %g ± %g, want +Inf ± 0", r.Distance().At(0), r.Gap()[0])
	}
}

// TestInvalidPairsOfAllPairs: two half-spaces, which have no depth, beside a body with a bad pose. The report names
// each.
func TestInvalidPairsOfAllPairs(t *testing.T) {
	bodies := bodiesOf(t, geom.Halfspace{}, geom.Sphere{R: 0.5})
	w := inRow([]int32{0, 0, 1}, 1)
	w.Poses[7*2] = math.NaN()
	job := &Job{Bodies: bodies, Worlds: w, Options: Options{MaxDistance: 1, HasMaxDistance: true}}
	rep, err := Run(t.Context(), dispatcher(t), job, dispatch.Options{Backend: "ref"})
	if err != nil {
		t.Fatal(err)
	}
	if rep.Counts[batch.Invalid] != 3 || len(rep.RowErrors) != 2 {
		t.Fatalf("counts %v, %d row errors, want 3 invalid rows by 2 errors", rep.Counts, len(rep.RowErrors))
	}
	for _, e := range rep.RowErrors {
		t.Log(e)
	}
}

// TestUpdateOfAnotherForm: the same poses in one world of many bodies are not those of many worlds of few.
func TestUpdateOfAnotherForm(t *testing.T) {
	bodies := bodiesOf(t, geom.Sphere{R: 0.5})
	w := inRow([]int32{0, 0, 0, 0}, 10)
	w.M, w.AllPairs, w.TemplateA, w.TemplateB = 2, false, []int32{0}, []int32{1}
	b, err := Hold(dispatcher(t), bodies, w, Options{}, dispatch.Options{Backend: "ref"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	other := *w
	other.M = 0
	if err := b.Update(&other); err == nil {
		t.Error("worlds of 2 bodies were updated by one world of 4")
	}
}

// bodiesOf returns bodies of one shape each.
func bodiesOf(t *testing.T, shapes ...geom.Shape) *batch.Bodies {
	t.Helper()
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	return batch.BodiesOfShapes(lib)
}
