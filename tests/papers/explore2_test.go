package papers

import (
	"testing"
	"math/rand/v2"

	"gonum.org/v1/gonum/spatial/r3"
	"clearance/geom"
	"clearance/ref"
)

func roundScaled(scales ...float64) func(g *rand.Rand) geom.Shape {
	return func(g *rand.Rand) geom.Shape {
	scale := scales[g.IntN(len(scales))]
	axis := func() float64 {
		for {
			if a := 0.1 + 0.025*g.NormFloat64(); a >= 0.02 {
				return scale * a
			}
		}
	}
	return geom.Ellipsoid{SemiAxes: r3.Vec{X: axis(), Y: axis(), Z: axis()}}
	}
}
func cubeOf(h float64) func(g *rand.Rand) geom.Shape {
	return func(g *rand.Rand) geom.Shape { return geom.Box{HalfExtents: r3.Vec{X: h, Y: h, Z: h}} }
}

func TestExplore2(t *testing.T) {
	type fam struct {
		name string
		f    func(*rand.Rand) geom.Shape
	}
	for _, f := range []fam{{"round1", roundScaled(1)}} {
		for i, rg := range []regime{publishedRegimes[0],publishedRegimes[1],publishedRegimes[2],oneOf("-.1",-.1),oneOf("-.01",-.01),oneOf("-.001",-.001),oneOf("-.0001",-.0001),oneOf(".1",.1),oneOf(".01",.01),oneOf(".001",.001),oneOf(".0001",.0001)} {
			s := sample{f.f, rg, uint64(i)}
			ps := s.pairs(t, 300)
			var ws ref.Workspace
			cols := make([][]float64, 16)
			o := ref.Options{StopRule: ref.StopDuality, Tolerance: 1e-8, MaxIterations: 1000000}
			for j := range ps {
				p := &ps[j].pair
				add := func(c int, v int) { cols[c] = append(cols[c], float64(v)) }
				add(0, ref.FrankWolfe(p, o, &ws).Iterations)
				g := ref.GJK(p, o, &ws)
				add(1, g.Iterations)
				add(2, ref.Nesterov(p, o, false, &ws).Iterations)
				add(3, ref.Nesterov(p, o, true, &ws).Iterations)
				add(4, ref.Polyak(p, o, false, &ws).Iterations)
				c := textbook(p, rules{method: ref.MethodNesterov, tolerance: 1e-8})
				add(8, c.supports)
				add(9, c.projections)
			}
			names := []string{"FW", "GJK", "Nes", "NesN", "Pol", "", "", "", "tNes2x", "tNes2xp"}
			line := ""
			for k, n := range names {
				if n != "" {
				line += " " + n + " " + ms(cols[k])
				}
			}
			t.Logf("%s %s :%s", f.name, rg.name,  line)
		}
	}
	for _, h := range []float64{0.025, .05, .1, .25, .5} {
		for i, rg := range publishedRegimes {
			s := sample{cubeOf(h), rg, uint64(i)}
			
			ps := s.pairs(t, 60)
			line := ""
			for _, tol := range []float64{1e-5, 1e-6, 1e-7, 1e-8} {
			cols := make([][]float64, 16)
			var ws ref.Workspace
			o := ref.Options{StopRule: ref.StopDuality, Tolerance: tol, MaxIterations: 200000}
			for j := range ps {
				p := &ps[j].pair
				add := func(c int, v int) { cols[c] = append(cols[c], float64(v)) }
				add(0, ref.FrankWolfe(p, o, &ws).Iterations)
				add(1, ref.FrankWolfe(p, ref.Options{Tolerance: tol, MaxIterations: 200000}, &ws).Iterations)
				}
				line += " " + ms(cols[0])
			}
			t.Logf("cube %g %s:%s", h, rg.name, line)
		}
	}
}
