package papers

import (
	"fmt"
	"math"
	"testing"
	"math/rand/v2"
	"time"

	"clearance/geom"
	"clearance/ref"
)

func ms(v []float64) string {
	var s, q float64
	for _, x := range v {
		s += x
	}
	m := s / float64(len(v))
	for _, x := range v {
		q += (x - m) * (x - m)
	}
	return fmt.Sprintf("%.1f±%.1f", m, math.Sqrt(q/float64(len(v)-1)))
}

func TestExplore(t *testing.T) {
	type fam struct {
		name string
		f    func(*rand.Rand) geom.Shape
		rs   []regime
	}
	for _, f := range []fam{{"wide", wideEllipsoid, textRegimes}, {"round,text", roundEllipsoid, textRegimes}, {"wide,pub", wideEllipsoid, publishedRegimes}, {"published", roundEllipsoid, publishedRegimes}, {"cube", cube, textRegimes}, {"cube,pub", cube, publishedRegimes}, {"block", block, textRegimes}} {
		for i, rg := range f.rs {
			s := sample{f.f, rg, uint64(i)}
			t0 := time.Now()
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
				add(5, ref.GJKJohnson(p, o, &ws).Iterations)
				c := textbook(p, rules{method: ref.MethodGJK, tolerance: 1e-8})
				add(6, c.supports)
				add(7, c.projections)
				c = textbook(p, rules{method: ref.MethodNesterov, tolerance: 1e-8})
				add(8, c.supports)
				add(9, c.projections)
				c = textbook(p, rules{method: ref.MethodNesterov, tolerance: 1e-8, halfGrad: true})
				add(10, c.supports)
				c = textbook(p, rules{method: ref.MethodNesterov, tolerance: 1e-8, halfGrad: true, normalize: true, delta: func(k int) float64 { return float64(k+2) / float64(k+3) }})
				add(11, c.supports)
				c = textbook(p, rules{method: ref.MethodPolyak, tolerance: 1e-8, halfGrad: true, delta: func(k int) float64 { return 1 / float64(k+1) }})
				add(12, c.supports)
				c = textbook(p, rules{method: ref.MethodFrankWolfe, tolerance: 1e-8})
				add(13, c.supports)
			}
			names := []string{"FW", "GJK", "Nes", "NesN", "Pol", "John", "tGJK", "tGJKp", "tNes2x", "tNes2xp", "tNes1x", "tNesN(k+2)", "tPol1/k", "tFW"}
			line := ""
			for k, n := range names {
				line += " " + n + " " + ms(cols[k])
			}
			t.Logf("%s %s (%v):%s", f.name, rg.name, time.Since(t0), line)
		}
	}
}
