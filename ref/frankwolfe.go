package ref

import "gonum.org/v1/gonum/spatial/r3"

const defaultFrankWolfeIterations = 100_000

// FrankWolfe finds the distance of the cores with the Frank-Wolfe method and exact
// line search [Montaut2022, Alg. 1 and 3]: x moves to the point of the segment from
// x to the support vertex that is nearest to the origin, and nothing else is
// remembered. It converges slowly, like 1/ε on flat shapes; it stands here as the
// baseline of Table II, and because it is the simplest method there is.
//
// For intersecting cores x tends to the origin and never reaches it: with
// [StopGap] such a pair ends Undecided at the cap unless the radii decide it.
func FrankWolfe(p *Pair, o Options, ws *Workspace) Result {
	d := ws.descent()
	d.reset(p, &o, defaultFrankWolfeIterations)
	d.by = StepFrankWolfe
	for {
		d.support(d.x, true)
		if d.settled() {
			return d.result(false)
		}
		if d.iter >= d.cap {
			return d.result(d.best <= d.rounding)
		}
		if d.s.N == 0 {
			d.s.Lambda[0], d.s.N = 1, 1 // the latest vertex stands in slot 0
		} else {
			// The active set is {xₖ, sₖ}; it collapses to {xₖ₊₁} (Alg. 3, line 6).
			v, s := &d.s.V[0], d.latest()
			l0, l1 := s1d(v.W, s.W)
			v.A = r3.Add(r3.Scale(l0, v.A), r3.Scale(l1, s.A))
			v.B = r3.Add(r3.Scale(l0, v.B), r3.Scale(l1, s.B))
			v.W = r3.Sub(v.A, v.B)
		}
		d.x = d.s.V[0].W
		d.norm = norm(d.x)
		if d.norm <= d.rounding {
			return d.result(true)
		}
	}
}
