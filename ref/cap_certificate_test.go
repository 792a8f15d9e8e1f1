package ref

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/spatial/r3"
)

// settledPair runs RTR on a pair, and reports whether it ended in a local minimum that is to be proved.
func settledPair(p *Pair, o Options, ws *Workspace) (r Result, t trustRegion, ok bool) {
	r = RTR(p, o, ws)
	t = *ws.trustRegion()
	return r, t, r.Status == Undecided && t.h > 0 && t.norm <= t.stop
}

// Over the cap, D is as high as it is said to be: to all sides, out to the rim.
func TestCapsAreHigh(t *testing.T) {
	var ws Workspace
	for _, name := range smoothSetNames {
		pairs := 300
		if testing.Short() {
			pairs = 60
		}
		tried, held, wide := 0, 0, 0.0
		for _, p := range overlappingSmooth(name, 2, pairs) {
			for _, tol := range []float64{1e-4, 1e-10} {
				_, at, ok := settledPair(&p, Options{Tolerance: tol * p.Size()}, &ws)
				if !ok {
					continue
				}
				tried++
				c, ok := at.widestCap(&ws)
				if !ok {
					continue
				}
				held++
				wide += c.t
				if most := widestProved(&at, &ws); !(c.t <= most*(1+1e-9)) {
					t.Fatalf("%s, %s and %s: a cap of %g, %g is proved", name, p.A.Kind(), p.B.Kind(), c.t, most)
				}
				e, f := tangents(c.n)
				for k := range 24 {
					sin, cos := math.Sincos(2 * math.Pi * float64(k) / 24)
					for _, share := range []float64{0.01, 0.03, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 1} {
						u := unit(r3.Add(c.n, r3.Scale(share*c.t, r3.Add(r3.Scale(cos, e), r3.Scale(sin, f)))))
						if h := r3.Dot(u, at.p.Support(u).W); !(h >= c.low-at.rounding) {
							t.Fatalf("%s, %s and %s: %g of the way to the rim of a cap of %g D is %g high, %g is "+
								"claimed", name, p.A.Kind(), p.B.Kind(), share, c.t, h, c.low)
						}
					}
				}
			}
		}
		if tried < pairs/20 || held*10 < tried*9 {
			t.Errorf("%s: %d of %d minima have caps", name, held, tried)
		}
		t.Logf("%s: %d of %d minima have caps, of size %.2f on average", name, held, tried, wide/float64(held))
	}
}

// widestProved is the size of the widest cap by the definition: of all sizes over which the curvature exceeds the
// support value, those to which it then extends.
func widestProved(at *trustRegion, ws *Workspace) (most float64) {
	need := at.h + at.p.erodeA + at.p.erodeB
	for _, sizes := range capSizes {
		m := at.startCap(ws)
		for tau := sizes.from; tau <= sizes.to; tau *= 2 {
			if kappa, _ := m.widen(ws, tau); kappa >= need {
				most = max(most, capReach(0.5*kappa*tau/need))
			}
		}
	}
	return most
}

// The growth ½κτs beyond a cap of size τ, κ ≥ h, is at least h(√(1+s²)-1) as far as the cap extends, and not
// 2 % farther.
func TestCapReach(t *testing.T) {
	g := rand.New(rand.NewPCG(307, 308))
	beyond := 0
	for range 10_000 {
		h, tau := math.Exp(6*g.Float64()-3), math.Exp(-5*g.Float64())
		kappa := h * math.Exp(2*g.Float64())
		far := capReach(0.5 * kappa * tau / h)
		for k := range 51 {
			s := tau + (far-tau)*float64(k)/50
			if !(0.5*kappa*tau*s >= h*s*s/(1+math.Sqrt(1+s*s))*(1-1e-12)) {
				t.Fatalf("h %g, κ %g, τ %g: too little at %g of %g", h, kappa, tau, s, far)
			}
		}
		if far < maxCapSize {
			beyond++
			if s := 1.02 * far; 0.5*kappa*tau*s >= h*(math.Sqrt(1+s*s)-1) {
				t.Fatalf("h %g, κ %g, τ %g: the cap extends beyond %g", h, kappa, tau, far)
			}
		}
	}
	if beyond < 1000 {
		t.Errorf("%d caps do not reach the widest", beyond)
	}
}

// A depth that caps prove is that of GJK and EPA, to the tightest tolerances, with witnesses that are points of the
// shapes; most are proved, some of them in a lower minimum than RTR found first, and in fewer steps.
func TestSurroundAgreesWithEPA(t *testing.T) {
	var ws Workspace
	pairs := 200
	if testing.Short() {
		pairs = 40
	}
	lower := 0
	for _, name := range smoothSetNames {
		tried, done, steps, stepsEPA := 0, 0, 0, 0
		for i, p := range overlappingSmooth(name, 3, pairs) {
			tol := []float64{1e-4, 1e-6, 1e-9}[i%3] * p.Size()
			r, at, ok := settledPair(&p, Options{Tolerance: tol}, &ws)
			if !ok || at.proveEllipsoids(&p, &r) {
				continue
			}
			tried++
			first := at.h
			if !at.certifyDepth(&p, &r, &ws) {
				continue
			}
			done++
			want := Solve(&p, Options{Tolerance: tol}, &ws)
			if steps, stepsEPA = steps+r.Iterations, stepsEPA+want.Iterations; want.Status == Undecided {
				t.Fatalf("%s, pair %d: EPA is undecided", name, i)
			}
			what := fmt.Sprintf("%s, pair %d, %s and %s", name, i, p.A.Kind(), p.B.Kind())
			if r.Status != Penetrating || !(r.Upper-r.Lower <= tol+4*p.Roundoff()) {
				t.Fatalf("%s: %v in [%g, %g], want a depth within %g", what, r.Status, r.Lower, r.Upper, tol)
			}
			if r.Lower > want.Upper || r.Upper < want.Lower {
				t.Fatalf("%s: caps prove [%g, %g], EPA [%g, %g]", what, r.Lower, r.Upper, want.Lower, want.Upper)
			}
			off := norm(r3.Sub(r3.Sub(r.WitnessB, r.WitnessA), r3.Scale(r.Distance, r.Normal)))
			if off > r.Gap()+4*p.Roundoff() {
				t.Fatalf("%s: witnesses are %g off, gap %g", what, off, r.Gap())
			}
			inB := p.rot.MulVecT(r3.Sub(r.WitnessB, p.trans))
			if a, b := p.A.Residual(r.WitnessA), p.B.Residual(inB); !(max(a, b) <= 1e-9*p.Size()) {
				t.Fatalf("%s: witnesses are %g and %g outside", what, a, b)
			}
			if at.h < first-tol {
				lower++
			}
		}
		t.Logf("%s: %d of %d are proved, in %d steps, by EPA in %d", name, done, tried, steps, stepsEPA)
		if tried < pairs/20 || done*10 < tried*9 {
			t.Errorf("%s: %d of %d minima are proved", name, done, tried)
		}
		if name != "superquadrics" && !(steps*10 < stepsEPA*9) {
			t.Errorf("%s: %d steps, EPA takes %d", name, steps, stepsEPA)
		}
	}
	if lower < pairs/10 {
		t.Errorf("%d pairs had a lower minimum, want some", lower)
	}
}

// An apex is as high as low along the rim of its cap, to rounding less, and there is none for a cap that
// rounding could leave.
func TestApex(t *testing.T) {
	g := rand.New(rand.NewPCG(305, 306))
	for range 1000 {
		c := capCertificate{n: testkit.Unit(g), t: math.Pow(10, 2.4*g.Float64()-2), low: math.Pow(10, 4*g.Float64()-4)}
		low := c.low * (1 - 0.5*g.Float64())
		e, f := tangents(c.n)
		sin, cos := math.Sincos(2 * math.Pi * g.Float64())
		rim := unit(r3.Add(c.n, r3.Scale(c.t, r3.Add(r3.Scale(cos, e), r3.Scale(sin, f)))))
		round := c.low * math.Pow(10, -6-8*g.Float64())
		v, ok := c.apex(low, round)
		if h := r3.Dot(rim, v.W); ok && !(h < low-2*round && h > low*(1-0.01*c.t*c.t)) {
			t.Fatalf("cap of %g: the apex is %g high along the rim, low is %g and rounding %g", c.t, h, low, round)
		}
		if _, ok := c.apex(low, low*c.t*c.t); ok {
			t.Fatalf("cap of %g: rounding of %g is as much as it rises by", c.t, low*c.t*c.t)
		}
		if _, ok := c.apex(low, 1e-15*low); !ok {
			t.Fatalf("cap of %g: no apex with hardly any rounding", c.t)
		}
	}
}

// Two equal minima on both sides, four, and six: what RTR finds is refuted nowhere, and proved.
func TestSurroundSymmetric(t *testing.T) {
	var ws Workspace
	for _, axes := range []r3.Vec{vec(1, 1, 1), vec(1, 1, 3), vec(1, 2, 3), vec(1, 1.01, 1.02)} {
		for _, alpha := range []float64{0.3, 0.5, 0.7, 1.3} {
			s := geom.Superquadric{SemiAxes: axes, Alpha1: alpha, Alpha2: alpha}
			p := NewPair(s, s, geom.IdentityPose(), geom.IdentityPose())
			o := Options{Method: MethodRTR, Tolerance: 1e-5 * p.Size(), WarmStart: vec(0.9, 0.2, 0.1)}
			r := Solve(&p, o, &ws)
			want := -2 * s.Inradius()
			if r.Status != Penetrating || !(r.Lower <= want && want <= r.Upper) {
				t.Errorf("%v, %g: %v in [%g, %g], want %g", axes, alpha, r.Status, r.Lower, r.Upper, want)
			}
		}
	}
}
