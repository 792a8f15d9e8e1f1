package papers

import (
	"strings"
	"testing"
)

// checkRTR holds what the report says of RTR, on any number of pairs.
func checkRTR(t *testing.T, r *RTRResults) {
	t.Helper()
	if len(r.Cells) != 36 {
		t.Fatalf("%d cells, want 36", len(r.Cells))
	}
	for _, c := range r.Cells {
		if c.Undecided > 0 {
			t.Errorf("%s and %s: %d certified answers are undecided", c.A, c.B, c.Undecided)
		}
		if !(c.RTROptimality < c.EPAOptimality/100) {
			t.Errorf("%s and %s: optimality %g by RTR, %g by EPA", c.A, c.B, c.RTROptimality, c.EPAOptimality)
		}
		if !(c.RTRSteps < c.EPASteps) {
			t.Errorf("%s and %s: %g steps by RTR, %g by EPA", c.A, c.B, c.RTRSteps, c.EPASteps)
		}
	}
	sum := r.totals()
	if sum.Local*6 > sum.Pairs || sum.Local*40 < sum.Pairs {
		t.Errorf("%d of %d minima are local, want about a tenth", sum.Local, sum.Pairs)
	}
	// They are those of deep overlaps, and more starts find the way out.
	shallow, deep := RTRDepth{Local: []int{0, 0, 0, 0}}, r.Depths[len(r.Depths)-1]
	for _, d := range r.Depths[:2] {
		shallow.Pairs, shallow.Local[0] = shallow.Pairs+d.Pairs, shallow.Local[0]+d.Local[0]
	}
	if shallow.Local[0]*100 > shallow.Pairs {
		t.Errorf("%d of %d minima of shallow overlaps are local", shallow.Local[0], shallow.Pairs)
	}
	if !(deep.Local[1]*2 < deep.Local[0]) || deep.Local[3] > deep.Local[1] {
		t.Errorf("local minima of deep overlaps by starts: %v", deep.Local)
	}
	for _, c := range r.Choice {
		if strings.HasPrefix(c.Shape, "ellipsoid") && !c.Apart && c.Taken < 0.2 {
			t.Errorf("%s: auto takes RTR on %g of the penetrating pairs", c.Shape, c.Taken)
		}
		if c.Shape == "cube 3" && c.Taken > 0 {
			t.Errorf("auto takes RTR on a sharp cube")
		}
	}
	for _, m := range r.Meshes {
		if !(m.Errors.Hausdorff() < 0.15*m.Size) {
			t.Errorf("%s: the fit is off by %+v", m.Mesh, m.Errors)
		}
	}
}

// TestRTR repeats the comparison on few pairs.
func TestRTR(t *testing.T) {
	checkRTR(t, quick(t, "rtr").RTR)
}

// TestRTRCommitted holds the committed results to the same, and to the times the report speaks of.
func TestRTRCommitted(t *testing.T) {
	r := committed(t).RTR
	if r == nil {
		t.Fatal("the committed results hold no rtr (run lab papers --only rtr --out lab/results)")
	}
	checkRTR(t, r)
	for _, c := range r.Cells {
		if !(c.RTR < c.EPA) {
			t.Errorf("%s and %s: %g µs by RTR, %g by EPA", c.A, c.B, c.RTR, c.EPA)
		}
	}
	if d := r.Depths[0]; d.Local[0]*1000 > d.Pairs {
		t.Errorf("%d of %d of the shallowest minima are local, the report says 0.04 %%", d.Local[0], d.Pairs)
	}
	first, last := r.Times[0], r.Times[len(r.Times)-1]
	if !(last.EPA > 2*first.EPA && last.RTR < 1.5*first.RTR) {
		t.Errorf("from shallow %+v to deep %+v EPA's time should grow and RTR's hardly", first, last)
	}
	for _, m := range r.Meshes {
		if whole := m.Hull[len(m.Hull)-1]; !(whole < m.FitRTR) {
			t.Errorf("%s: EPA on the hull takes %g µs, RTR on the fit %g; the report says it is less", m.Mesh, whole,
				m.FitRTR)
		}
	}
	for _, c := range r.Choice {
		if !(c.Auto < 1.25*c.GJK) {
			t.Errorf("%s: auto %g µs, GJK and EPA %g", c.Shape, c.Auto, c.GJK)
		}
	}
}
