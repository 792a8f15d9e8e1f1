package ref

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
	"clearance/internal/testkit"
)

// frame sees a placed pair in the frame of A, as results do, but by quaternions
// applied to the poses, not by the matrices of Pair.
type frame struct {
	q     *placed
	shift r3.Vec  // from the origin of A to that of B, in the axes of the world
	slack float64 // 24 units of roundoff of the largest magnitude, see Pair.Roundoff
}

func (q *placed) frame() frame {
	p := q.pair()
	return frame{q, r3.Sub(q.pb.Position, q.pa.Position), p.Roundoff()}
}

// rotate returns R(q)·v for a unit q.
func rotate(q quat.Number, v r3.Vec) r3.Vec {
	p := quat.Mul(quat.Mul(q, quat.Number{Imag: v.X, Jmag: v.Y, Kmag: v.Z}), quat.Conj(q))
	s := 1 / (q.Real*q.Real + q.Imag*q.Imag + q.Jmag*q.Jmag + q.Kmag*q.Kmag)
	return r3.Scale(s, r3.Vec{X: p.Imag, Y: p.Jmag, Z: p.Kmag})
}

// dirB maps a direction from the frame of A to that of B, pointB a point, and
// fromB a point back.
func (f *frame) dirB(d r3.Vec) r3.Vec {
	return rotate(quat.Conj(f.q.pb.Rotation), rotate(f.q.pa.Rotation, d))
}

func (f *frame) pointB(x r3.Vec) r3.Vec {
	return rotate(quat.Conj(f.q.pb.Rotation), r3.Sub(rotate(f.q.pa.Rotation, x), f.shift))
}

func (f *frame) fromB(x r3.Vec) r3.Vec {
	return rotate(quat.Conj(f.q.pa.Rotation), r3.Add(rotate(f.q.pb.Rotation, x), f.shift))
}

// value is the support function of the whole D = A − B along the unit vector n: the
// signed distance is the largest −value(n) over all n.
func (f *frame) value(n r3.Vec) float64 {
	if h, ok := f.halfspaceValue(n); ok {
		return h
	}
	s := geom.Support(f.q.a, n)
	return r3.Dot(n, r3.Sub(s, f.fromB(geom.Support(f.q.b, f.dirB(r3.Scale(-1, n))))))
}

// halfspaceValue is value for a pair with a half-space: finite along its outward
// normal alone, which n must equal but for the rounding of a unit vector.
func (f *frame) halfspaceValue(n r3.Vec) (h float64, ok bool) {
	up := r3.Vec{Z: 1}
	switch {
	case f.q.a.Kind() == geom.KindHalfspace:
		if r3.Norm(r3.Sub(n, up)) > 16*eps {
			return math.Inf(1), true
		}
		low := f.fromB(geom.Support(f.q.b, f.dirB(r3.Scale(-1, up))))
		return f.q.a.Radius() - low.Z, true
	case f.q.b.Kind() == geom.KindHalfspace:
		if r3.Norm(r3.Add(f.dirB(n), up)) > 16*eps {
			return math.Inf(1), true
		}
		low := geom.Support(f.q.a, n)
		return f.q.b.Radius() - f.pointB(low).Z, true
	}
	return 0, false
}

// residualUnits is the accuracy of Residual in units of 24 roundings: superquadrics
// take some fifteen exponentials and logarithms.
func residualUnits(s geom.Shape) float64 {
	if s.Kind() == geom.KindSuperquadric {
		return 6
	}
	return 1
}

// tolerance is the gap that an answer to o must reach: by default 1e-12 × size, but of
// the depth of curved shapes 1e-8. A separation of curved shapes that EPA had to settle
// may have more than 1e-12, up to 1e-10.
func (f *frame) tolerance(o *Options, r *Result) float64 {
	p := f.q.pair()
	tol := o.Tolerance
	if tol == 0 {
		tol = 1e-12 * p.Size()
		if !p.polytopes() && !f.hasHalfspace() {
			tol = 1e-10 * p.Size()
			if r.Lower <= 0 {
				tol = 1e-8 * p.Size()
			}
		}
	}
	return max(tol, 4*f.slack)
}

func (f *frame) hasHalfspace() bool {
	return f.q.a.Kind() == geom.KindHalfspace || f.q.b.Kind() == geom.KindHalfspace
}

// certify checks an answer from the shapes and poses alone:
//
//   - its bounds are in order and its status is the one they prove;
//   - the plane across Normal proves Lower (of a Boolean answer another may);
//   - the witnesses lie in the shapes, Distance·Normal apart as far as the bounds
//     imply it, and prove the distance if it is positive;
//   - no direction that is tried refutes Upper.
func certify(q *placed, o *Options, r *Result) error {
	f := q.frame()
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for _, v := range []r3.Vec{r.Normal, r.WitnessA, r.WitnessB, {X: r.Distance, Y: r.Lower, Z: r.Upper}} {
		if !geom.Finite(v) {
			return fmt.Errorf("not finite: %+v", *r)
		}
	}
	if !(r.Lower <= r.Distance && r.Distance <= r.Upper) {
		bad("want lower ≤ distance ≤ upper, got %g, %g, %g", r.Lower, r.Distance, r.Upper)
	}
	if n := r3.Norm(r.Normal); !(math.Abs(n-1) <= 8*eps) {
		bad("|normal| − 1 = %g", n-1)
	}
	if err := f.checkStatus(o, r); err != nil {
		errs = append(errs, err)
	}
	if !o.Boolean {
		if h := f.value(r.Normal); !(-h >= r.Lower-f.slack) {
			bad("the plane across the normal proves %g, lower is %g (%g less)", -h, r.Lower, r.Lower+h)
		}
		errs = append(errs, f.checkWitnesses(o, r))
	}
	errs = append(errs, f.refute(r))
	return errors.Join(errs...)
}

func (f *frame) checkStatus(o *Options, r *Result) error {
	open := r.Gap() > f.tolerance(o, r)
	switch r.Status {
	case Separated:
		if !(r.Lower > 0) {
			return fmt.Errorf("separated, but lower is %g", r.Lower)
		}
	case Penetrating:
		if !(r.Upper < 0) {
			return fmt.Errorf("penetrating, but upper is %g", r.Upper)
		}
	case Touching:
		if r.Lower > 0 || r.Upper < 0 {
			return fmt.Errorf("touching, but the bounds are [%g, %g]", r.Lower, r.Upper)
		}
	case Undecided:
		if r.Gap() <= o.Tolerance {
			return fmt.Errorf("undecided, but the gap is %g", r.Gap())
		}
		return nil
	default:
		return fmt.Errorf("status is %v", r.Status)
	}
	if open && !o.Boolean && o.StopRule == StopGap && !(o.HasCutOff && r.Lower > o.CutOff) {
		return fmt.Errorf("%v, but the gap is %g, the tolerance %g", r.Status, r.Gap(), f.tolerance(o, r))
	}
	return nil
}

// checkWitnesses checks membership of the witnesses, that they prove the distance, and
// that they lie Distance·Normal apart as far as the bounds imply it: with w the
// difference of the witnesses, |w| ≤ U and ⟨w, n⟩ ≥ L for the larger and the smaller
// magnitude of the two bounds, hence |w − Distance·n| ≤ √(U² − L²). [aligned] checks more.
func (f *frame) checkWitnesses(o *Options, r *Result) error {
	if r.Status == Undecided && o.MaxIterations > 0 && r.Iterations >= o.MaxIterations {
		return nil // capped, perhaps before there were witnesses
	}
	slack := f.slack
	if o.Method == MethodFrankWolfe {
		slack *= 8
	}
	inA, inB := f.q.a.Residual(r.WitnessA), f.q.b.Residual(f.pointB(r.WitnessB))
	if !(inA <= residualUnits(f.q.a)*slack) || !(inB <= residualUnits(f.q.b)*slack) {
		return fmt.Errorf("witnesses lie %g outside A and %g outside B, slack %g", inA, inB, slack)
	}
	between := r3.Sub(r.WitnessB, r.WitnessA)
	if r.Upper > 0 && !(r3.Norm(between) <= r.Distance+r.Gap()+slack) {
		return fmt.Errorf("witnesses are %g apart, distance + gap is %g", r3.Norm(between), r.Distance+r.Gap())
	}
	larger := max(math.Abs(r.Lower), math.Abs(r.Upper))
	allowed := r.Upper - r.Lower + math.Sqrt((r.Upper-r.Lower)*2*larger) + slack
	if off := r3.Norm(r3.Sub(between, r3.Scale(r.Distance, r.Normal))); !(off <= allowed) {
		return fmt.Errorf("witness B is %g from witness A + distance·normal, allowed are %g (upper − lower is %g)",
			off, allowed, r.Upper-r.Lower)
	}
	return nil
}

// aligned checks that WitnessB = WitnessA + Distance·Normal within Upper − Lower or the
// tolerance, which is what the default method gives on pairs in general position.
func (q *placed) aligned(o *Options, r *Result) error {
	f := q.frame()
	off := r3.Norm(r3.Sub(r3.Sub(r.WitnessB, r.WitnessA), r3.Scale(r.Distance, r.Normal)))
	if allowed := max(r.Upper-r.Lower, f.tolerance(o, r)) + f.slack; !(off <= allowed) {
		return fmt.Errorf("witness B is %g from witness A + distance·normal, allowed are %g (upper − lower is %g)",
			off, allowed, r.Upper-r.Lower)
	}
	return nil
}

// refute looks for a direction that proves more than Upper: the axes of both
// frames, random ones, and tilts of Normal by 1e-1 to 1e-8.
func (f *frame) refute(r *Result) error {
	if f.hasHalfspace() {
		return nil // one direction alone has a finite value, and gave Lower
	}
	try := func(n r3.Vec) error {
		n = r3.Scale(1/r3.Norm(n), n)
		if h := f.value(n); -h > r.Upper+f.slack {
			return fmt.Errorf("direction %v proves %g, upper is %g (%g less)", n, -h, r.Upper, -h-r.Upper)
		}
		return nil
	}
	g := rand.New(rand.NewPCG(math.Float64bits(r.Distance), uint64(r.Iterations)))
	for _, axis := range [3]r3.Vec{{X: 1}, {Y: 1}, {Z: 1}} {
		inB := rotate(quat.Conj(f.q.pa.Rotation), rotate(f.q.pb.Rotation, axis))
		for _, n := range [5]r3.Vec{axis, r3.Scale(-1, axis), inB, r3.Scale(-1, inB), testkit.Unit(g)} {
			if err := try(n); err != nil {
				return err
			}
		}
	}
	for _, tilt := range [8]float64{1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8} {
		if err := try(r3.Add(r.Normal, r3.Scale(tilt, testkit.Unit(g)))); err != nil {
			return err
		}
	}
	return nil
}

// describe prints a pair so that a failure can be repeated.
func (q *placed) describe() string {
	return fmt.Sprintf("A %s at %v, B %s at %v", shapeText(q.a), q.pa, shapeText(q.b), q.pb)
}

func shapeText(s geom.Shape) string {
	switch s := s.(type) {
	case *geom.Convex:
		if pts := s.Points(); len(pts) <= 12 {
			return fmt.Sprintf("convex%v", pts)
		}
		return fmt.Sprintf("convex of %d points", len(s.Points()))
	case geom.Rounded:
		return fmt.Sprintf("%s + margin %v", shapeText(s.Shape), s.Margin)
	}
	return fmt.Sprintf("%T%v", s, s)
}

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
func TestDepthCertificateAgreesWithEPA(t *testing.T) {
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
func TestDepthCertificateSymmetric(t *testing.T) {
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
