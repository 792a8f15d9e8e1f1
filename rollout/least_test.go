package rollout

import (
	"testing"

	"clearance/batch"
	"clearance/dispatch"
)

// TestLeastOfListedPairs: the least of a world has the same bits whether its pairs are listed or all pairs skip the
// others, and is that of all rows; and bounds rule out most pairs of parts either way.
func TestLeastOfListedPairs(t *testing.T) {
	d := dispatcher(t)
	type scene struct {
		bodies      *batch.Bodies
		listed, all *batch.Worlds
	}
	var onGround, furnished scene
	onGround.bodies, onGround.listed, onGround.all = figures(t, 24, 4)
	furnished.bodies, furnished.listed, furnished.all = kitchen(t, 16)
	for name, s := range map[string]scene{"figures": onGround, "kitchen": furnished} {
		for _, o := range []Options{{}, {HasMaxDistance: true}, {Options: batch.Options{Query: batch.Penetration}}} {
			solve := func(w *batch.Worlds, o Options) (*Results, Report) {
				o.Options.Precision = batch.Double
				job := &Job{Bodies: s.bodies, Worlds: w, Options: o}
				rep, err := Run(t.Context(), d, job, dispatch.Options{Backend: "cpu"})
				if err != nil {
					t.Fatal(err)
				}
				return job.Results, rep
			}
			rows, _ := solve(s.listed, Options{NoCulling: true, Options: o.Options})
			o.Reduce = ReduceWorld
			listed, rep := solve(s.listed, o)
			all, _ := solve(s.all, o)
			n := len(s.listed.TemplateA)
			for w := range listed.N {
				x := listed.Distance().F64[w]
				if x != all.Distance().F64[w] || listed.Gap()[w] != all.Gap()[w] ||
					listed.Status()[w] != all.Status()[w] {
					t.Fatalf("%s, %+v, world %d: listed %v ± %v, all pairs %v ± %v", name, o, w, x, listed.Gap()[w],
						all.Distance().F64[w], all.Gap()[w])
				}
				if p := listed.Pair[w]; p >= 0 {
					a, b := s.listed.TemplateA[p], s.listed.TemplateB[p]
					if pairKey(a, b) != pairKey(all.BodyA[w], all.BodyB[w]) {
						t.Errorf("%s, %+v, world %d: bodies %d and %d, of all pairs %d and %d", name, o, w, a, b,
							all.BodyA[w], all.BodyB[w])
					}
				}
				least := rows.Distance().F64[w*n]
				for _, y := range rows.Distance().F64[w*n : (w+1)*n] {
					least = min(least, y)
				}
				if beyond := o.HasMaxDistance && least > 0; !beyond && x != least {
					t.Errorf("%s, %+v, world %d: %v, the least row is %v", name, o, w, x, least)
				}
			}
			// Contacts are counted, so that all of them are solved. Cutting off at the row with the least lower bound
			// alone leaves over a hundred pairs of parts a world more.
			contacts := 0
			for _, y := range rows.Distance().F64 {
				if y <= 0 {
					contacts++
				}
			}
			if most := int64(contacts + 60*listed.N); rep.Solved > most {
				t.Errorf("%s, %+v: %d pairs of parts are solved in %d worlds with %d contacts", name, o, rep.Solved,
					listed.N, contacts)
			}
		}
	}
}
