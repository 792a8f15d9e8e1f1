package papers

import "testing"

// checkGrowth holds what the report says of the growth distance but times, on any number of pairs.
func checkGrowth(t *testing.T, g *GrowthResults) {
	t.Helper()
	for _, row := range g.Times {
		if row.Undecided > 0 || !(row.Gap <= growthTolerance*1.001) {
			t.Errorf("%s, %s, %s: %d undecided, largest gap %g", row.Set, row.Start, row.Method, row.Undecided, row.Gap)
		}
		if row.Method != "Newton" && !(row.Infeasibility < 1e-12) {
			t.Errorf("%s, %s, %s: infeasibility %g m", row.Set, row.Start, row.Method, row.Infeasibility)
		}
	}
	for _, set := range []string{"curved primitives", "meshes", smoothBodies} {
		ie, simplex := g.time(set, "cold", "IE"), g.time(set, "cold", "simplex")
		if ratio := simplex.Evaluations / ie.Evaluations; !(ratio > 0.9 && ratio < 1.1) {
			t.Errorf("%s: %g evaluations by the simplex method, %g by IE", set, simplex.Evaluations, ie.Evaluations)
		}
		gain := simplex.Evaluations / g.time(set, "warm", "simplex").Evaluations
		if mesh := set == "meshes"; mesh && !(gain > 2.5) || !mesh && !(gain > 0.9 && gain < 1.3) {
			t.Errorf("%s: a warm start divides the evaluations by %g", set, gain)
		}
	}
	newton, simplex := g.time(smoothBodies, "cold", "Newton"), g.time(smoothBodies, "cold", "simplex")
	if !(newton.Evaluations < 0.35*simplex.Evaluations) {
		t.Errorf("%g evaluations by Newton's method, %g by the simplex method", newton.Evaluations, simplex.Evaluations)
	}
	if warm := g.time(smoothBodies, "warm", "Newton"); !(warm.Evaluations < 0.7*newton.Evaluations) {
		t.Errorf("Newton's method: %g evaluations warm, %g cold", warm.Evaluations, newton.Evaluations)
	}
	for _, c := range g.Curves {
		// Linear: the digits of the second ten evaluations are about those of the third. Finite: all are there.
		at := func(k int) float64 { return c.Gap[k-1][1] }
		switch {
		case c.Set == "meshes" || c.Method == "Newton":
			if !(at(20) < 1e-12) {
				t.Errorf("%s, %s: median gap %g after 20 evaluations", c.Set, c.Method, at(20))
			}
		case !(at(20) < 0.05*at(10) && at(20) > 1e-9 && at(30) < 0.1*at(20) && at(60) < 1e-12):
			t.Errorf("%s, %s: median gaps %g, %g, %g, %g after 10, 20, 30 and 60 evaluations", c.Set, c.Method, at(10),
				at(20), at(30), at(60))
		}
	}
}

// TestGrowth repeats the experiments on few pairs.
func TestGrowth(t *testing.T) {
	checkGrowth(t, quick(t, "growth").Growth)
}

// TestGrowthCommitted holds the committed results to the same, and to the times that the report speaks of.
func TestGrowthCommitted(t *testing.T) {
	g := committed(t).Growth
	if g == nil {
		t.Fatal("the committed results have no growth (run lab papers --only growth --out lab/results)")
	}
	checkGrowth(t, g)
	for _, set := range []string{"curved primitives", "meshes", smoothBodies} {
		if simplex, ie := g.time(set, "cold", "simplex"), g.time(set, "cold", "IE"); !(simplex.Median < ie.Median) {
			t.Errorf("%s: %g µs by the simplex method, %g by IE", set, simplex.Median, ie.Median)
		}
	}
	if newton, simplex := g.time(smoothBodies, "cold", "Newton"), g.time(smoothBodies, "cold",
		"simplex"); !(newton.Median < simplex.Median) {
		t.Errorf("smooth bodies: %g µs by Newton's method, %g by the simplex method", newton.Median, simplex.Median)
	}
	times := map[string][]float64{}
	for _, v := range g.Vertices {
		times[v.Method] = append(times[v.Method], v.Median)
	}
	ends := func(method string) float64 { return times[method][len(times[method])-1] / times[method][0] }
	if all, table := ends("simplex, all vertices compared"), ends("simplex"); !(all > 100 && table < 5) {
		t.Errorf("from 10 to 10,000 points the time grows %g times with all vertices compared, %g times with the table",
			all, table)
	}
}
