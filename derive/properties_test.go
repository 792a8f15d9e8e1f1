package derive

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
	"clearance/internal/testkit"
)

// eachRow calls f for rows of every pair of kinds: signed distances at three gaps, and growth distances.
func eachRow(t *testing.T, f func(name string, rng *rand.Rand, r *Row)) {
	t.Helper()
	shapes := shapesOfTest(t)
	for i, nameA := range kindNames {
		for j, nameB := range kindNames {
			if nameA == "halfspace" && nameB == "halfspace" {
				continue
			}
			a, b := shapes[nameA], shapes[nameB]
			rng := rand.New(rand.NewPCG(uint64(i), uint64(j)+100))
			for _, gap := range []float64{0.3, 1e-3, -0.03} {
				r := placedAtGap(rng, a, b, gap)
				f(fmt.Sprintf("%s × %s at %g", nameA, nameB, gap), rng, &r)
				if g := solveGrowth(a, b, r.PoseA, r.PoseB); g.Answered {
					f(fmt.Sprintf("%s × %s, growth distance %.2f", nameA, nameB, g.Value), rng, &g)
				}
			}
		}
	}
}

// TestGrowthAgainstDifferences compares derivatives of growth distances, below and above 1, with central differences.
func TestGrowthAgainstDifferences(t *testing.T) {
	var w Workspace
	compared, worst := 0, 0.0
	eachRow(t, func(name string, rng *rand.Rand, r *Row) {
		if !r.Growth {
			return
		}
		n, dev := compareWithDifference(t, &w, rng, r, name)
		compared += n
		worst = max(worst, dev)
	})
	t.Logf("%d rows compared, largest deviation %.1e", compared, worst)
	if compared < 600 {
		t.Errorf("only %d rows compared", compared)
	}
}

// TestProducts holds the vector-Jacobian product, the Jacobian-vector product and the Jacobian to one another, and to
// motions of which the derivative is known.
func TestProducts(t *testing.T) {
	var w Workspace
	full := 0
	eachRow(t, func(name string, rng *rand.Rand, r *Row) {
		d := w.Exact(r)
		if d.Smoothness() == None {
			t.Errorf("%s: no derivative", name)
		}
		if d.Smoothness().Full() {
			full++
		}
		twists := randomTwists(rng)
		c := Cotangent{rng.NormFloat64(), testkit.Normal(rng), testkit.Normal(rng), testkit.Normal(rng)}
		checkTransposed(t, name, &d, &twists, &c)
		checkCommonMotion(t, name, rng, r, &d)
		checkJacobian(t, name, &d, &twists)
	})
	if full < 1400 {
		t.Errorf("only %d rows with all derivatives", full)
	}
}

func checkTransposed(t *testing.T, name string, d *Derivative, twists *Twists, c *Cotangent) {
	t.Helper()
	tangent, gradient := d.JVP(twists), d.VJP(c)
	x, y := tangent.components(), c.components()
	left, right, scale := 0.0, 0.0, 1.0
	for i := range x {
		left += x[i] * y[i]
		scale += math.Abs(x[i] * y[i])
	}
	for i := range twists {
		right += twists[i] * gradient[i]
		scale += math.Abs(twists[i] * gradient[i])
	}
	if !(math.Abs(left-right) <= 1e-12*scale) {
		t.Errorf("%s: <c, J·t> = %g, <Jᵀ·c, t> = %g", name, left, right)
	}
}

// checkCommonMotion moves both bodies as one: the value stays, the normal rotates, the witnesses move along.
func checkCommonMotion(t *testing.T, name string, rng *rand.Rand, r *Row, d *Derivative) {
	t.Helper()
	v, omega := testkit.Normal(rng), testkit.Normal(rng)
	field := func(x r3.Vec) r3.Vec { return r3.Add(v, r3.Cross(omega, r3.Sub(x, r.PoseA.Position))) }
	var twists Twists
	twists.spin(0, v)
	twists.spin(3, omega)
	twists.spin(6, field(r.PoseB.Position))
	twists.spin(9, omega)
	got := d.JVP(&twists)
	_, n, a, b := d.Answer()
	want := Cotangent{Normal: r3.Cross(omega, n), WitnessA: field(a), WitnessB: field(b)}
	if !d.Smoothness().Full() {
		want = Cotangent{}
	}
	// The products that cancel grow with the inverse of the least curvature, or with the angle of two edges.
	tolerance := 1e-8
	if d.Smoothness().Full() && d.s.least < 1e-3 {
		tolerance = 1e-5
	}
	if !(deviation(got, want) <= tolerance) {
		t.Errorf("%s: moved as one: got %v, want %v", name, got, want)
	}
}

// condition bounds what rounding errors are multiplied by, 1 or more: edges that are nearly parallel, and directions
// in which one shape is much flatter than the pair is curved across.
func condition(d *Derivative) float64 {
	c := max(1, (d.s.k[0]+d.s.k[2])/d.s.least)
	c *= c // once in the inverse, once in the product with a Hessian
	for i := range 2 {
		for j := 2; j < d.s.order; j++ {
			c = max(c, math.Abs(d.s.inverse[i][j]))
		}
	}
	return c
}

func checkJacobian(t *testing.T, name string, d *Derivative, twists *Twists) {
	t.Helper()
	value := d.Value()
	normal, a, b := d.Jacobian()
	got := d.JVP(twists)
	components := got.components()
	rows := []Twists{value, normal[0], normal[1], normal[2], a[0], a[1], a[2], b[0], b[1], b[2]}
	for i, row := range rows {
		sum, scale := 0.0, 1.0
		for j := range row {
			sum += row[j] * twists[j]
			scale += math.Abs(row[j] * twists[j])
		}
		if !(math.Abs(sum-components[i]) <= 1e-12*scale*condition(d)) {
			t.Errorf("%s: row %d of the Jacobian gives %g, the product %g", name, i, sum, components[i])
		}
	}
}

// TestSwap exchanges the shapes: normals change their sign, twists and witnesses their places.
func TestSwap(t *testing.T) {
	var w Workspace
	eachRow(t, func(name string, rng *rand.Rand, r *Row) {
		d := w.Exact(r)
		s := Row{A: r.B, B: r.A, PoseA: r.PoseB, PoseB: r.PoseA,
			Growth: r.Growth, CenterA: r.CenterB, CenterB: r.CenterA, Answered: r.Answered, Value: r.Value, Gap: r.Gap,
			Normal: r3.Scale(-1, r.Normal), WitnessA: r.WitnessB, WitnessB: r.WitnessA}
		e := w.Exact(&s)
		if d.Smoothness() != e.Smoothness() {
			t.Errorf("%s: %v, exchanged %v", name, d.Smoothness(), e.Smoothness())
			return
		}
		twists := randomTwists(rng)
		var exchanged Twists
		copy(exchanged[:6], twists[6:])
		copy(exchanged[6:], twists[:6])
		x, y := d.JVP(&twists), e.JVP(&exchanged)
		y.Normal = r3.Scale(-1, y.Normal)
		y.WitnessA, y.WitnessB = y.WitnessB, y.WitnessA
		if !(deviation(x, y) <= 1e-6) {
			t.Errorf("%s (%v): got %v, exchanged %v", name, d.Smoothness(), x, y)
		}
	})
}

// TestPolish disturbs answers as rounding to single precision does: derivatives of smooth rows and of unique features
// stay those of the exact answer.
func TestPolish(t *testing.T) {
	var w Workspace
	compared := 0
	eachRow(t, func(name string, rng *rand.Rand, r *Row) {
		d := w.Exact(r)
		rough := *r
		round := func(v r3.Vec) r3.Vec {
			noise := r3.Scale(2e-5, testkit.Normal(rng))
			return r3.Add(v, noise)
		}
		rough.Normal, rough.WitnessA, rough.WitnessB = r3.Unit(round(r.Normal)), round(r.WitnessA), round(r.WitnessB)
		e := w.Exact(&rough)
		if !d.Smoothness().Full() || d.s.least < 1e-2 || condition(&d) > 100 {
			return
		}
		twists := randomTwists(rng)
		if e.Smoothness() != d.Smoothness() {
			t.Errorf("%s: %v, rounded %v", name, d.Smoothness(), e.Smoothness())
			return
		}
		compared++
		if x, y := d.JVP(&twists), e.JVP(&twists); !(deviation(x, y) <= 1e-7) {
			t.Errorf("%s (%v): got %v, rounded %v", name, d.Smoothness(), x, y)
		}
	})
	if compared < 1000 {
		t.Errorf("only %d rows compared", compared)
	}
}

// TestRowsWithoutAnswer: undecided and invalid rows, bounds, and numbers that are not finite give zeros.
func TestRowsWithoutAnswer(t *testing.T) {
	ball := geom.Sphere{R: 1}
	good := solve(ball, ball, geom.IdentityPose(), geom.Translate(3, 0, 0))
	var w Workspace
	if d := w.Exact(&good); d.Smoothness() != Smooth {
		t.Fatalf("two spheres: %v", d.Smoothness())
	}
	for name, change := range map[string]func(*Row){
		"undecided":       func(r *Row) { r.Answered = false },
		"NaN value":       func(r *Row) { r.Value = math.NaN() },
		"infinite value":  func(r *Row) { r.Value = math.Inf(1) },
		"NaN normal":      func(r *Row) { r.Normal.Y = math.NaN() },
		"zero normal":     func(r *Row) { r.Normal = r3.Vec{} },
		"NaN witness":     func(r *Row) { r.WitnessB.Z = math.NaN() },
		"a bound alone":   func(r *Row) { r.Gap = 0.5 },
		"two half-spaces": func(r *Row) { r.A, r.B = geom.Halfspace{}, geom.Halfspace{} },
	} {
		r := good
		change(&r)
		d := w.Exact(&r)
		g := d.VJP(&Cotangent{1, r3.Vec{X: 1}, r3.Vec{X: 1}, r3.Vec{X: 1}})
		if d.Smoothness() != None || g != (Twists{}) {
			t.Errorf("%s: %v, gradient %v", name, d.Smoothness(), g)
		}
	}
}

// TestUndetermined: pairs whose answer has a cone of normals, and pairs near them whose answer has one. An answer along
// any normal of the cone is not unique, and smoothing leaves it without derivatives.
func TestUndetermined(t *testing.T) {
	point := mustConvex(t, []r3.Vec{{}})
	box := geom.Box{HalfExtents: r3.Vec{X: 1, Y: 1, Z: 1}}
	disc := geom.Cylinder{R: 1, HalfLength: 1}
	unit := func(x, y, z float64) r3.Vec { return r3.Unit(r3.Vec{X: x, Y: y, Z: z}) }
	for _, c := range []struct {
		name   string
		a, b   geom.Shape
		at     r3.Vec
		growth bool
		normal r3.Vec
		want   bool
	}{
		{"corner", box, point, r3.Vec{X: 3, Y: 3, Z: 3}, true, unit(1, 1, 1), true},
		{"corner, along a face", box, point, r3.Vec{X: 3, Y: 3, Z: 3}, true, unit(1, 0, 0), true},
		{"corner, near a face", box, point, r3.Vec{X: 3, Y: 3, Z: 3}, true, unit(1, 1e-3, 1e-2), true},
		{"edge", box, point, r3.Vec{X: 3, Y: 3, Z: 1}, true, unit(2, 1, 0), true},
		{"edge, along a face", box, point, r3.Vec{X: 3, Y: 3, Z: 1}, true, unit(0, 1, 0), true},
		{"face", box, point, r3.Vec{X: 3, Y: 1, Z: 1}, true, unit(1, 0, 0), false},
		{"face, near an edge", box, point, r3.Vec{X: 3, Y: 3 - 1e-6, Z: 1}, true, unit(1, 0, 0), false},
		{"face, near a corner", box, point, r3.Vec{X: 3, Y: 3 - 1e-6, Z: 3 - 1e-6}, true, unit(1, 0, 0), false},
		{"no normal of it", box, point, r3.Vec{X: 3, Y: 1, Z: 1}, true, unit(1, 1, 0), false},
		{"boxes, corner", box, box, r3.Vec{X: 3, Y: 3, Z: 3}, true, unit(1, 0, 0), true},
		{"boxes, face", box, box, r3.Vec{X: 3, Y: 2, Z: 1}, true, unit(1, 0, 0), false},
		{"rim", disc, point, r3.Vec{X: 2, Z: 2}, true, unit(1, 0, 1), true},
		{"rim, along the disc", disc, point, r3.Vec{X: 2, Z: 2}, true, unit(0, 0, 1), true},
		{"disc", disc, point, r3.Vec{X: 1.2, Y: 0.9, Z: 2}, true, unit(0, 0, 1), false},
		{"margin", geom.WithMargin(box, 0.1), point, r3.Vec{X: 3, Y: 3, Z: 3}, true, unit(1, 1, 1), false},
		{"ball", box, geom.Sphere{R: 1}, r3.Vec{X: 3, Y: 3, Z: 3}, true, unit(1, 1, 1), false},
		{"equal points", point, point, r3.Vec{}, false, unit(1, 2, 3), true},
		{"corners that touch", box, box, r3.Vec{X: 2, Y: 2, Z: 2}, false, unit(1, 1, 0), true},
		{"edges that touch", box, box, r3.Vec{X: 2, Y: 2, Z: 1}, false, unit(1, 2, 0), true},
		{"faces that touch", box, box, r3.Vec{X: 2, Y: 1, Z: 1}, false, unit(1, 0, 0), false},
	} {
		pose := geom.Pose{Position: c.at, Rotation: geom.IdentityPose().Rotation}
		r := solve(c.a, c.b, geom.IdentityPose(), pose)
		if c.growth {
			r = solveGrowth(c.a, c.b, geom.IdentityPose(), pose)
		}
		r.Normal = c.normal
		var w Workspace
		d := Derivative{p: r.problem(), smoothness: NearSingular}
		if got := w.isUndetermined(&d, c.normal, r.Value); got != c.want {
			t.Errorf("%s: %v, want %v (value %g)", c.name, got, c.want, r.Value)
		}
		if !c.want {
			continue
		}
		if got := w.Exact(&r); got.Smoothness() != NotUnique {
			t.Errorf("%s: %v", c.name, got.Smoothness())
		}
		for _, mode := range []Mode{Gumbel, Gaussian} {
			if got := w.Of(&r, &Options{Mode: mode, Samples: 8}, 0); got.Smoothness() != NearSingular {
				t.Errorf("%s, %v: %v", c.name, mode, got.Smoothness())
			}
		}
	}
}

// TestGapsOfDirections: the least gap of a disc and of a regular polygon is the distance from the boundary of the face.
func TestGapsOfDirections(t *testing.T) {
	var corners []r3.Vec
	for k := range 7 {
		s, c := math.Sincos(2 * math.Pi * float64(k) / 7)
		corners = append(corners, r3.Vec{X: c, Y: s, Z: 1}, r3.Vec{X: c, Y: s, Z: -1})
	}
	point := mustConvex(t, []r3.Vec{{}})
	for _, c := range []struct {
		name      string
		a         geom.Shape
		inscribed float64
	}{
		{"disc", geom.Cylinder{R: 1, HalfLength: 1}, 1},
		{"heptagon", mustConvex(t, corners), math.Cos(math.Pi / 7)},
	} {
		for _, inside := range []float64{0, 2e-9, 1e-6, 1e-3} {
			// The ray leaves the prism so far from the rim, in the direction of the middle of a side.
			s, k := math.Sincos(math.Pi / 7)
			at := r3.Scale(2, r3.Vec{X: (c.inscribed - inside) * k, Y: (c.inscribed - inside) * s, Z: 1})
			pose := geom.Pose{Position: at, Rotation: geom.IdentityPose().Rotation}
			r := solveGrowth(c.a, point, geom.IdentityPose(), pose)
			p := r.problem()
			var w Workspace
			want := inside <= equalTolerance*p.size
			if got := w.undetermined(&p, r3.Vec{Z: 1}, 2); got != want {
				t.Errorf("%s, %g inside: %v", c.name, inside, got)
			}
		}
	}
}
