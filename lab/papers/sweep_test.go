package papers

import (
	"math"
	"testing"
)

// TestSweeps holds the figures to what the report says of them.
func TestSweeps(t *testing.T) {
	all := quick(t, "distance").Sweeps
	if len(all) != 4 {
		t.Fatalf("%d sweeps, want two kinds and two questions", len(all))
	}
	at := func(s *Sweep, d float64, method string) float64 {
		for _, p := range s.Points {
			for i, m := range s.Methods {
				if p.Distance == d && m == method {
					if !(p.Nanoseconds[i] > 0) {
						t.Errorf("%s at %g: time %g", method, d, p.Nanoseconds[i])
					}
					return p.Iterations[i].Mean
				}
			}
		}
		t.Fatalf("%s: no %s at %g", s.Shapes, method, d)
		return 0
	}
	e := &all[0]
	if n, g := at(e, 0.01, "nesterov"), at(e, 0.01, "gjk"); !(n < 0.9*g) {
		t.Errorf("ellipsoids 1 cm apart: Nesterov %g, GJK %g, want a clear gain", n, g)
	}
	if n, g := at(e, 1, "nesterov"), at(e, 1, "gjk"); !(n > 1.5*g) {
		t.Errorf("ellipsoids 1 m apart: Nesterov %g, GJK %g, want a clear loss", n, g)
	}
	if p, g := at(e, -0.02, "polyak"), at(e, -0.02, "gjk"); !(p > 2*g) {
		t.Errorf("ellipsoids 2 cm deep: Polyak as printed %g, GJK %g, want a clear loss", p, g)
	}
	// Boolean: one direction settles what is far apart.
	for _, s := range []*Sweep{&all[1], &all[3]} {
		if g := at(s, 1, "gjk"); !(g < 1.1) {
			t.Errorf("%s 1 m apart, Boolean: %g support points, want one", s.Shapes, g)
		}
	}
}

// TestConvergence: GJK gets nearer with every support point, Frank-Wolfe stays behind it.
func TestConvergence(t *testing.T) {
	curves := map[string]Curve{}
	for _, c := range quick(t, "convergence").Convergence {
		curves[c.Shapes+"/"+c.Method] = c
		for k := 1; k < len(c.Error); k++ {
			// The median of an error that falls falls, up to rounding of the distance.
			if c.Method == "gjk" && !(c.Error[k][1] <= c.Error[k-1][1]+1e-12) {
				t.Errorf("%s, gjk: error %g after %d support points, %g after one more", c.Shapes, c.Error[k-1][1], k,
					c.Error[k][1])
			}
		}
	}
	for _, shapes := range []string{"ellipsoids", "cubes"} {
		fw, g := curves[shapes+"/frank-wolfe"].Error, curves[shapes+"/gjk"].Error
		if !(fw[14][1] > 10*g[14][1]) {
			t.Errorf("%s after 15 support points: Frank-Wolfe off by %g, GJK by %g", shapes, fw[14][1], g[14][1])
		}
	}
	if n, g := curves["ellipsoids/nesterov"].Error[14][1], curves["ellipsoids/gjk"].Error[14][1]; !(n < g/10) {
		t.Errorf("ellipsoids after 15 support points: Nesterov off by %g, GJK by %g", n, g)
	}
}

// TestGeneric: the QP solver is slower than GJK, the more so the more faces; its answers
// are checked in the experiment.
func TestGeneric(t *testing.T) {
	rows := quick(t, "qp").Generic
	last := 1.0
	for _, g := range rows {
		ratio := g.QP / g.Mean[0]
		// A factor of about 10 a row in the report; 2 is beyond any noise.
		if !(ratio > 2*last) {
			t.Errorf("%d vertices: QP takes %g times GJK's time, %g with fewer", g.Vertices, ratio, last)
		}
		last = ratio
	}
}

// TestMeshTimes: every method has a time and a ratio of its own.
func TestMeshTimes(t *testing.T) {
	for _, m := range quick(t, "meshes").Meshes {
		for i, name := range m.Methods {
			if !(m.Mean[i] > 0) || !(m.Iterations[i] >= 1) || !(m.SpeedUp[i][0] <= m.SpeedUp[i][2]) ||
				math.IsNaN(m.SD[i]) {
				t.Errorf("%s, %s: %+v", m.Name, name, m)
			}
		}
		if m.SpeedUp[0] != [3]float64{1, 1, 1} {
			t.Errorf("%s: GJK over itself is %v", m.Name, m.SpeedUp[0])
		}
	}
}
